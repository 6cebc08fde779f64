"""A reduced label in parts: what an op reads in one part, the partial result it makes, and how these are combined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from perfmodel.errors import DimensionError, TransformError
from perfmodel.expressions import Size, ceil_div, product
from perfmodel.graph.indexing import Affine, Axis, FreshNames, Index, labels_in
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.operands import Scalar
from perfmodel.graph.paddings import Bound
from perfmodel.graph.scattering import scatters
from perfmodel.graph.splits import mask_extents

_COMBINED = {"multiply-add": "sum", "mean": "sum"}  # what adds up partial results, where it is not the same again


@dataclass(frozen=True, slots=True)
class Part:
    """One label that is cut: the label of its parts, that within a part, how many there are, how long they are.

    >>> str(Part("k", "k_part", "k", 4, 3).index)
    '3*k_part + k'
    """

    label: str
    part: str
    inner: str
    number: Size
    length: Size

    @classmethod
    def of(cls, axis: Axis, names: tuple[str, str], number: Size) -> Part:
        """An axis in so many parts, under these names.

        >>> Part.of(Axis("k", 10), ("k_part", "k"), 4).length
        3
        """
        return cls(axis.label, *names, number, ceil_div(axis.extent, number))

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """The parts, and the places within one.

        >>> Part("k", "k_part", "k", 4, 3).axes
        (Axis(label='k_part', extent=4), Axis(label='k', extent=3))
        """
        return Axis(self.part, self.number), Axis(self.inner, self.length)

    @property
    def index(self) -> Affine:
        """Where a place of a part lies along the whole label.

        >>> Part("k", "k_part", "k", 4, 3).index.bound
        True
        """
        return Affine(((self.part, self.length), (self.inner, 1)), bound=True)

    def bound(self, op: Op) -> Bound:
        """Where the places of an op's parts end.

        >>> from perfmodel import matmul
        >>> Part("k", "k_part", "k", 4, 3).bound(matmul(4, 4, 10).ops[0]).extent
        10
        """
        return Bound(self.index, dict(op.space)[self.label])


class Names:
    """Names that are free in a program: of tensors, ops and kernels.

    >>> Names(["x"], [], []).tensors.fresh("x")
    'x_2'
    """

    def __init__(self, tensors: Iterable[str], ops: Iterable[str], kernels: Iterable[str]) -> None:
        self.tensors, self.ops, self.kernels = FreshNames(tensors), FreshNames(ops), FreshNames(kernels)


def partial_of(op: Op, parts: Sequence[Part], name: str) -> Op:
    """The op that makes a result for each part, along axes of their own before the others.

    >>> from perfmodel import matmul
    >>> op = partial_of(matmul(8, 8, 10).ops[0], [Part("k", "k_part", "k", 4, 3)], "C_partial")
    >>> op.output.tensor.labels
    ('k_part', 'batch', 'm', 'n')
    """
    made = op.output.tensor
    partial = Tensor(name, (*[part.axes[0] for part in parts], *made.axes), op.accumulate)
    return replace(
        op,
        function="sum" if op.function == "mean" else op.function,
        inputs=tuple([in_parts(item, parts) if isinstance(item, Access) else item for item in op.inputs]),
        output=partial.access,
        space=space_in_parts(op.space, parts),
        bounds=(*op.bounds, *[part.bound(op) for part in parts]),
    )


def space_in_parts(space: Sequence[Axis], parts: Sequence[Part]) -> tuple[Axis, ...]:
    """The axes of the parts first, and each label within its parts.

    >>> [axis.label for axis in space_in_parts([Axis("m", 8), Axis("k", 10)], [Part("k", "k_part", "k", 4, 3)])]
    ['k_part', 'm', 'k']
    """
    inner = {part.label: part.axes[1] for part in parts}
    return (*[part.axes[0] for part in parts], *[inner.get(axis.label, axis) for axis in space])


def in_parts(access: Access, parts: Sequence[Part]) -> Access:
    """What is read of a tensor that has the labels whole.

    >>> from perfmodel import tensor
    >>> str(in_parts(tensor("x", {"k": 10}).access, [Part("k", "k_part", "k", 4, 3)]).index[0])
    '3*k_part + k'
    """
    bound: dict[Index, Index] = {part.label: part.index for part in parts}
    return Access(access.tensor, tuple([bound.get(index, index) for index in access.index]))


def combined(op: Op, partial: Tensor, parts: tuple[Axis, ...], names: Names) -> list[Op]:
    """The ops that make an op's result of its partial ones.

    >>> from perfmodel import matmul
    >>> op = matmul(8, 8, 10).ops[0]
    >>> partial = partial_of(op, [Part("k", "k_part", "k", 4, 3)], "C_partial").output.tensor
    >>> [made.function for made in combined(op, partial, (Axis("k_part", 4),), Names([], [], []))]
    ['sum']
    """
    made = op.output.tensor
    mask = op.mask if op.mask is not None and {op.mask.query, op.mask.key} <= set(made.labels) else None
    adds = replace(
        op,
        name=names.ops.fresh(f"{op.name}_combine"),
        kind="reduce",
        function=_COMBINED.get(op.function, op.function),
        inputs=(partial.access,),
        space=(*made.axes, *parts),
        mask=mask,
        stage=stage_behind(op.stage),
        compute=op.accumulate,
        bounds=kept_bounds(op, made.axes),
    )
    if op.function != "mean":
        return [adds]
    points = product([axis.extent for axis in op.space if axis.label in op.reduced])
    if not isinstance(points, int):
        raise DimensionError(
            f"split: {op.name!r} is a mean over {points} elements: its parts are summed and divided by a number; "
            "bind the symbols with p.at(...)"
        )
    whole = Tensor(names.tensors.fresh(f"{made.name}_sum"), made.axes, op.accumulate)
    divides = replace(
        adds,
        name=names.ops.fresh(f"{op.name}_divide"),
        kind="map",
        function="div",
        inputs=(whole.access, Scalar(points)),
        space=made.axes,
    )
    return [replace(adds, output=whole.access), divides]


def stage_behind(stage: str) -> str:
    """The stage of what combines: by no part of its name it is picked together with the stage before it.

    >>> stage_behind("attention.values")
    'attention_combine.values_combine'
    """
    return ".".join([f"{name}_combine" for name in stage.split(".")]) if stage else ""


def kept_bounds(op: Op, axes: Sequence[Axis]) -> tuple[Bound, ...]:
    """The bounds of an op that lie over these axes alone.

    >>> from perfmodel import matmul
    >>> kept_bounds(matmul(4, 4, 4).ops[0], ())
    ()
    """
    labels = {axis.label for axis in axes}
    return tuple([item for item in op.bounds if {label for label, _ in item.index.terms} <= labels])


def with_places(op: Op, parts: Sequence[Part]) -> Op:
    """The op with a mask that lies over the places of its parts; without one that allows every pair.

    Refused are rows of a mask, indices other than the label itself, and padding.

    >>> from perfmodel import attention
    >>> with_places(attention(4, 8, 2, causal=True).ops[0], [Part("kv", "kv_part", "kv_inner", 2, 4)]).mask.key
    'kv_inner'
    """
    check_in_parts(op, [part.label for part in parts])
    mask, names = op.mask, {part.label: part.inner for part in parts}
    if mask is None or mask.key not in names:
        return op
    extents = mask_extents(op, mask)
    every = mask.pairs(*extents) == product(extents)
    return replace(op, mask=None if every else mask.renamed(names))


def check_in_parts(op: Op, labels: Sequence[str]) -> None:
    """Refuse the rows of a mask, labels in an index that is not the label itself, and padded ops.

    >>> from perfmodel import conv2d
    >>> check_in_parts(conv2d(height=6, width=6, c_in=2, c_out=2).ops[0], ["r"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    perfmodel.errors.TransformError: split: 'conv2d' reads 'x' at p + r: 'r' belongs to a window, a roll or a look-up
    """
    if op.padded:
        raise TransformError(
            f"split: {op.name!r} is padded, and parts that end where their label does have no padding: split or pad, "
            "not both"
        )
    if scatters(op):
        raise TransformError(
            f"split: {op.name!r} adds into places that an index names, which parts have no rule for; split the other "
            "kernels (only=)"
        )
    for label in labels:
        if op.mask is not None and (label == op.mask.query or (label == op.mask.key and op.function == "mean")):
            raise TransformError(
                f"split: {op.name!r} is masked over {label!r}; of a mask only the keys have parts, in sums and maxima"
            )
        for access in op.reads:
            for index in access.index:
                if not isinstance(index, str) and label in labels_in(index):
                    raise TransformError(
                        f"split: {op.name!r} reads {access.tensor.name!r} at {index}: {label!r} belongs to a window, a "
                        "roll or a look-up"
                    )
