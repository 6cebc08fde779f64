"""The one kind of op, and the tensors that it reads and writes.

An ``Op`` runs over a space of labelled axes, reads tensors through accesses and writes one. A
``Tensor`` knows its labelled axes and its number format; one that is the result of an expression also
remembers the op that made it, so that ordinary Python expressions build a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from perfmodel.errors import DimensionError, LabelError, did_you_mean, listed
from perfmodel.expressions import Size, product, size
from perfmodel.graph.algebra import Algebra, finite_number
from perfmodel.graph.functions import function as known_function
from perfmodel.graph.indexing import Affine, Axis, Index, checked_label, checked_name, checked_shift, distinct, renamed
from perfmodel.graph.masks import Mask
from perfmodel.graph.merging import accumulator, check_unmasked, merged_axes, merged_format, merged_mask
from perfmodel.graph.op_words import Written
from perfmodel.graph.operands import Given, Scalar
from perfmodel.graph.paddings import Bound, Padding
from perfmodel.number_formats import Format, format


@dataclass(frozen=True, slots=True)
class Tensor(Algebra):
    """Labelled axes with extents, a number format, and, in an expression, the op that made it.

    Arithmetic on tensors broadcasts over missing labels and builds a program: see ``pm.program``.
    Equality compares name, axes and format.

    >>> from perfmodel.expressions import dims
    >>> x = tensor("x", {"i": dims("m"), "j": 64}, dtype="fp32")
    >>> x
    pm.tensor('x', {'i': m, 'j': 64}, dtype='fp32')
    >>> (x * 2 + 1).producer.function
    'add'
    """

    name: str
    axes: tuple[Axis, ...]
    format: Format
    mask: Mask | None = field(default=None, compare=False)
    producer: Op | None = field(default=None, compare=False)
    base: Tensor | None = field(default=None, compare=False)
    index: tuple[Index, ...] = field(default=(), compare=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the axes, outermost first.

        >>> tensor("x", {"i": 2, "j": 3}).labels
        ('i', 'j')
        """
        return tuple([axis.label for axis in self.axes])

    @property
    def extents(self) -> tuple[Size, ...]:
        """The extents of the axes, outermost first.

        >>> tensor("x", {"i": 2, "j": 3}).extents
        (2, 3)
        """
        return tuple([axis.extent for axis in self.axes])

    @property
    def elements(self) -> Size:
        """The number of elements.

        >>> tensor("x", {"i": 2, "j": "n"}).elements
        2*n
        """
        return product(self.extents)

    @property
    def bytes(self) -> Size:
        """The bytes that the whole tensor takes, block scales included.

        >>> tensor("x", {"i": 2, "j": "n"}, dtype="fp32").bytes
        8*n
        """
        return self.format.bytes_of(self.extents)

    def extent(self, label: str) -> Size:
        """The extent of one label.

        >>> tensor("x", {"i": 2, "j": 3}).extent("j")
        3
        """
        for axis in self.axes:
            if axis.label == label:
                return axis.extent
        raise LabelError(
            f"tensor {self.name!r} has no label {label!r}; its labels are {listed(self.labels)}"
            f"{did_you_mean(label, self.labels)}"
        )

    def rename(self, names: Mapping[str, str] | None = None, **more: str) -> Tensor:
        """The same tensor seen under other labels (a view: it costs nothing).

        >>> tensor("x", {"token": 8}).rename(token="kv").labels
        ('kv',)
        """
        if names is not None and not isinstance(names, Mapping):
            raise LabelError(f"rename: expected labels such as x.rename(token='kv'), got {names!r}")
        changed = {**(names or {}), **more}
        for label in changed:
            self.extent(label)
        axes = [Axis(checked_label(changed.get(a.label, a.label)), a.extent) for a in self.axes]
        mask = self.mask.renamed(changed) if self.mask is not None else None
        seen = distinct(axes, f"rename: tensor {self.name!r}")
        index = tuple([renamed(item, changed) for item in self.access.index])
        return Tensor(self.name, seen, self.format, mask, self.producer, self.access.tensor, index)

    def roll(self, label: str, shift: Size) -> Tensor:
        """The same tensor read ``shift`` further along ``label``, wrapping around (a view).

        >>> str(tensor("x", {"d": 128}).roll("d", 64).index[0])
        '(d + 64) % 128'
        """
        extent = self.extent(label)
        access = self.access
        if label not in access.index:
            raise LabelError(f"roll: {label!r} of tensor {self.name!r} is already part of a window or roll")
        check_unmasked(self, label, "roll")
        rolled = Affine(((label, 1),), checked_shift(shift, "roll: shift"), extent)
        index = tuple([rolled if item == label else item for item in access.index])
        return Tensor(self.name, self.axes, self.format, self.mask, self.producer, access.tensor, index)

    def named(self, name: str) -> Tensor:
        """The same tensor under another name in the program.

        >>> (tensor("x", {"i": 4}) + 1).named("y").name
        'y'
        """
        checked_name(name, "tensor")
        return Tensor(name, self.axes, self.format, self.mask, self.producer, self.base, self.index)

    @property
    def access(self) -> Access:
        """How an op reads this tensor under its present labels.

        >>> tensor("x", {"i": 4}).access.index
        ('i',)
        """
        if self.base is not None:
            return Access(self.base, self.index)
        return Access(self, self.labels)

    def __repr__(self) -> str:
        axes = ", ".join(f"{axis.label!r}: {axis.extent}" for axis in self.axes)
        return f"pm.tensor({self.name!r}, {{{axes}}}, dtype={self.format.name!r})"

    def _map(self, function: str, *operands: Operand) -> Tensor:
        return mapped(function, *operands)


Operand: TypeAlias = "Tensor | Scalar | int | float"


@dataclass(frozen=True, slots=True)
class Access:
    """A tensor and, for each of its axes, the index that finds an element.

    >>> tensor("x", {"i": 4}).access
    Access(tensor=pm.tensor('x', {'i': 4}, dtype='bf16'), index=('i',))
    """

    tensor: Tensor
    index: tuple[Index, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Op(Written):
    """One operation: its space, what it reads, the tensor that it writes, and its arithmetic.

    ``kind`` is "map", "reduce", "contract" or "opaque"; ``function`` says what is applied, reduced by,
    or contracted with. ``space`` is the union of the labels it touches.

    >>> y = mapped("exp", tensor("x", {"i": 4}))
    >>> y.producer.kind, y.producer.space
    ('map', (Axis(label='i', extent=4),))
    """

    name: str
    kind: str
    function: str
    inputs: tuple[Access | Scalar, ...]
    output: Access
    space: tuple[Axis, ...]
    mask: Mask | None
    stage: str
    compute: Format
    accumulate: Format
    given: Given | None = None
    padded: tuple[Padding, ...] = ()
    bounds: tuple[Bound, ...] = ()  # of labels that are split, where what the op reads does not end with them

    @property
    def reads(self) -> tuple[Access, ...]:
        """The tensor accesses among the inputs.

        >>> mapped("mul", tensor("x", {"i": 4}), 2).producer.reads[0].tensor.name
        'x'
        """
        return tuple([item for item in self.inputs if isinstance(item, Access)])

    @property
    def reduced(self) -> tuple[str, ...]:
        """The labels of the space that the output lacks.

        >>> mapped("exp", tensor("x", {"i": 4})).producer.reduced
        ()
        """
        kept = self.output.index
        return tuple([axis.label for axis in self.space if axis.label not in kept])


def tensor(name: str, axes: Mapping[str, Any], dtype: str | Format = "bf16") -> Tensor:
    """An input tensor: labelled axes, outermost first, and a number format.

    ``axes`` maps labels to sizes (int, ``dims`` expression, or text).

    >>> tensor("x", {"i": 8, "j": "n"})
    pm.tensor('x', {'i': 8, 'j': n}, dtype='bf16')
    """
    checked_name(name, "tensor")
    if type(axes) is not dict and not isinstance(axes, Mapping):
        raise LabelError(f"tensor {name!r}: axes map labels to sizes, such as {{'m': 4096}}; got {axes!r}")
    found = tuple([Axis(checked_label(label), size(extent, label)) for label, extent in axes.items()])
    return Tensor(name, found, format(dtype))


def mapped(
    function: str, *operands: Operand, name: str | None = None, stage: str = "", stored: Format | None = None
) -> Tensor:
    """A map op over the union of its operands' labels; missing labels broadcast.

    The result's labels stand in the order of the operand that has most of them.

    >>> x, b = tensor("x", {"m": 4, "n": 8}), tensor("b", {"n": 8})
    >>> mapped("add", b, x).labels
    ('m', 'n')
    """
    known = known_function(function)
    if len(operands) != known.arity:
        raise DimensionError(f"{function}: takes {known.arity} operands, got {len(operands)}")
    inputs = [item if isinstance(item, Tensor | Scalar) else Scalar(finite_number(item, function)) for item in operands]
    tensors = [item for item in inputs if isinstance(item, Tensor)]
    if not tensors:
        raise DimensionError(f"{function}: needs at least one tensor, got {listed(operands)}")
    axes = merged_axes(tensors, function)
    return applied(
        "map", function, inputs, axes, axes, merged_mask(tensors, function), name=name, stage=stage, stored=stored
    )


def applied(
    kind: str,
    function: str,
    inputs: list[Tensor | Scalar],
    space: tuple[Axis, ...],
    kept: tuple[Axis, ...],
    mask: Mask | None,
    *,
    name: str | None = None,
    stage: str = "",
    title: str | None = None,
    compute: Format | None = None,
    accumulate: Format | None = None,
    stored: Format | None = None,
    given: Given | None = None,
) -> Tensor:
    """The tensor that a new op writes: the one place where expressions make ops.

    ``name`` is the tensor's, ``title`` the op's; both default to the function. The compute format is the
    widest input, accumulation its natural accumulator, storage the widest input, unless said.

    >>> x = tensor("x", {"i": 4})
    >>> applied("reduce", "sum", [x], x.axes, (), None).axes
    ()
    """
    if compute is None or stored is None:
        wide = merged_format([item for item in inputs if isinstance(item, Tensor)])
        compute, stored = compute or wide, stored or wide
    reads = tuple([item.access if isinstance(item, Tensor) else item for item in inputs])
    title = title or function
    bare = Tensor(title if name is None else checked_name(name, "tensor"), kept, stored)
    output = Access(bare, bare.labels)
    accumulate = accumulate or accumulator(compute)
    op = Op(title, kind, function, reads, output, space, mask, stage, compute, accumulate, given)
    kept_mask = mask if mask is not None and {mask.query, mask.key} <= set(output.index) else None
    return Tensor(bare.name, kept, stored, kept_mask, op)
