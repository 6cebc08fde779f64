"""Kernels with sizes or labels changed throughout: binding symbols, renaming labels, retyping tensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import sympy

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, size
from perfmodel.graph.indexing import Affine, Axis, Gathered, Index, renamed, resized
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.masks import Mask
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.operands import Given, Scalar
from perfmodel.graph.paddings import Bound, Padding, effective

Change = Callable[[Size], Size]
TensorChange = Callable[[Tensor], Tensor]
GIVEN_FIELDS = ("flops", "special", "bytes_read", "bytes_written")
Place = tuple[str, int]  # a tensor and the number of one of its axes


def changed_kernels(
    kernels: tuple[Kernel, ...], op_change: Callable[[Op], Op], sizes: Callable[[Size, str], Size] | None = None
) -> tuple[Kernel, ...]:
    """Kernels with every op and repetition changed.

    >>> changed_kernels((), lambda op: op)
    ()
    """
    changed = []
    for kernel in kernels:
        found = replace(kernel, ops=tuple([op_change(op) for op in kernel.ops]))
        if sizes is not None:
            tiles = tuple([tiling.resized(sizes) for tiling in kernel.tiles])
            found = replace(found, repeat=sizes(kernel.repeat, "repeat"), tiles=tiles)
        changed.append(found)
    return tuple(changed)


def with_tensors(
    op: Op,
    change: TensorChange,
    index: Callable[[Index], Index] = lambda item: item,
    counted: Callable[[str, Size], tuple[str, Size]] | None = None,
) -> Op:
    """The op with each tensor that it touches, and each index, changed; and what its scalars count.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = mapped("exp", tensor("x", {"i": 4})).producer
    >>> with_tensors(op, lambda t: replace(t, name=t.name + "_new")).output.tensor.name
    'exp_new'
    """

    def access(item: Access) -> Access:
        return Access(change(item.tensor), tuple([index(part) for part in item.index]))

    def scalar(item: Scalar) -> Scalar:
        return item if counted is None else item.changed(counted)

    inputs = tuple([scalar(item) if isinstance(item, Scalar) else access(item) for item in op.inputs])
    return replace(op, inputs=inputs, output=access(op.output))


def with_sizes(op: Op, change: Change, mask: Callable[[Mask], Mask]) -> Op:
    """The op with every size changed: extents, window steps, mask bounds, paddings, given counts.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = mapped("exp", tensor("x", {"i": 4})).producer
    >>> with_sizes(op, lambda size: 2 * size, lambda mask: mask).space[0].extent
    8
    """

    def axes(found: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple([Axis(label, size(change(extent), label)) for label, extent in found])

    def tensor(item: Tensor) -> Tensor:
        return Tensor(item.name, axes(item.axes), item.format)

    def index(item: Index) -> Index:
        return resized(item, change)

    found = with_tensors(op, tensor, index, lambda label, extent: (label, size(change(extent), label)))
    given = op.given and _given_changed(op.name, op.given, change)
    padded = effective([_padding(item, size(change(item.extent), item.label), change) for item in op.padded])
    bounds = _bounds(op, index, change)
    return replace(
        found, space=axes(op.space), mask=op.mask and mask(op.mask), given=given, padded=padded, bounds=bounds
    )


def _bounds(op: Op, index: Callable[[Index], Index], change: Change) -> tuple[Bound, ...]:
    """The bounds of an op with their indices and their ends changed."""
    pairs = [(index(item.index), change(item.extent)) for item in op.bounds]
    return tuple([Bound(found, end) for found, end in pairs if isinstance(found, Affine)])


def _padding(item: Padding, extent: Size, change: Change) -> Padding:
    multiples = tuple([size(change(multiple), f"pad: {item.label}") for multiple in item.multiples])
    return Padding(item.label, extent, multiples)


def given_sizes(given: Given) -> tuple[Size, ...]:
    """The counts of an opaque op, in the order of its fields.

    >>> given_sizes(Given(flops=8, special=0, bytes_read=4, bytes_written=2))
    (8, 0, 4, 2)
    """
    return tuple([getattr(given, field) for field in GIVEN_FIELDS])


def affine_sizes(index: Affine) -> tuple[Size, ...]:
    """The steps, offset and modulus of a window or a roll.

    >>> affine_sizes(Affine((("p", 2), ("r", 1)), -3))
    (2, 1, -3)
    """
    steps = [step for _, step in index.terms]
    return (*steps, index.offset, *([] if index.modulo is None else [index.modulo]))


def _given_changed(name: str, given: Given, change: Change) -> Given:
    """Given counts with every size in them changed; none may become negative."""
    found = {field: change(value) for field, value in zip(GIVEN_FIELDS, given_sizes(given), strict=True)}
    for field, value in found.items():
        if value.is_negative if isinstance(value, sympy.Expr) else value < 0:
            raise DimensionError(f"{name}: {field} = {getattr(given, field)} would be {value}; a count is zero or more")
    return Given(**found)


def with_extents(op: Op, extents: Mapping[str, Size], axes: Mapping[Place, Size]) -> Op:
    """The op with the extents of some labels, and of the axes of tensors that they measure, replaced.

    A padded label's extent is the one at which its values end; it runs on to its multiple, as its axes have to.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> with_extents(mapped("exp", tensor("x", {"i": 4})).producer, {"i": 8}, {("x", 0): 8}).reads[0].tensor
    pm.tensor('x', {'i': 8}, dtype='bf16')
    """

    def tensor(item: Tensor) -> Tensor:
        found = [Axis(axis.label, axes.get((item.name, place), axis.extent)) for place, axis in enumerate(item.axes)]
        return Tensor(item.name, tuple(found), item.format)

    padded = [item._replace(extent=extents.get(item.label, item.extent)) for item in op.padded]
    ends = {**extents, **{item.label: item.padded for item in padded}}
    space = tuple([Axis(axis.label, ends.get(axis.label, axis.extent)) for axis in op.space])
    found = with_tensors(op, tensor, counted=lambda label, extent: (label, extents.get(label, extent)))
    return replace(found, space=space, padded=effective(padded))


def with_names(
    op: Op, labels: Mapping[str, str], tensors: Mapping[str, str], joined: Mapping[str, Tensor], name: str, stage: str
) -> Op:
    """The op with labels and tensors renamed, and some of its inputs another's results, under names of its own.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = mapped("exp", tensor("x", {"i": 4})).producer
    >>> with_names(op, {"i": "j"}, {"x": "z"}, {}, "exp_2", "").reads[0]
    Access(tensor=pm.tensor('z', {'j': 4}, dtype='bf16'), index=('j',))
    """

    def axes(found: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple([Axis(labels.get(axis.label, axis.label), axis.extent) for axis in found])

    def tensor(item: Tensor) -> Tensor:
        if item.name in joined:
            return joined[item.name]
        return Tensor(tensors.get(item.name, item.name), axes(item.axes), item.format)

    def index(item: Index) -> Index:
        item = renamed(item, labels)
        return Gathered(tensors.get(item.by, item.by), item.labels) if isinstance(item, Gathered) else item

    mask = op.mask and op.mask.renamed(labels)
    padded = tuple([item._replace(label=labels.get(item.label, item.label)) for item in op.padded])
    found = with_tensors(op, tensor, index, lambda label, extent: (labels.get(label, label), extent))
    bounds = _bounds(op, index, lambda extent: extent)
    return replace(found, name=name, stage=stage, space=axes(op.space), mask=mask, padded=padded, bounds=bounds)


@dataclass(frozen=True, slots=True)
class Measure:
    """Labels that have one extent because they index the same axes of tensors; ``tied`` where more follows from it.

    A tied extent stands in a window or a roll, whose other sizes were computed from it.

    >>> Measure(("i",), (("x", 0),), False).labels
    ('i',)
    """

    labels: tuple[str, ...]
    axes: tuple[Place, ...]
    tied: bool


def measures(kernels: tuple[Kernel, ...], alike: Iterable[tuple[str, str]] = ()) -> tuple[Measure, ...]:
    """The labels of a program, grouped by what they measure (a tensor seen under two labels joins them).

    ``alike`` pairs tensors of one shape, such as an output and the input that it becomes in the next run.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> x = tensor("x", {"i": 4})
    >>> op = mapped("mul", x, x.rename(i="j")).producer
    >>> measures((Kernel("k", (op,)),))[0].labels
    ('i', 'j')
    """
    groups = _Groups()
    tied: list[str | Place] = []
    for op in [op for kernel in kernels for op in kernel.ops]:
        for label, _ in op.space:
            groups.find(label)
        for access in (*op.reads, op.output):
            for place, index in enumerate(access.index):
                axis = (access.tensor.name, place)
                if isinstance(index, str):
                    groups.join(index, axis)
                elif isinstance(index, Affine):
                    tied += [axis, *[label for label, _ in index.terms]]
    pairs = list(alike)
    for name, place in [item for item in list(groups.parent) if not isinstance(item, str)]:
        for _, other in [pair for pair in pairs if pair[0] == name]:
            groups.join((name, place), (other, place))
    ends = {groups.find(item) for item in tied}
    return tuple([_measure(members, root in ends) for root, members in groups.members().items()])


def _measure(members: list[str | Place], tied: bool) -> Measure:
    labels = tuple([item for item in members if isinstance(item, str)])
    return Measure(labels, tuple([item for item in members if not isinstance(item, str)]), tied)


def joined_measures(
    found: Iterable[Measure], other: Iterable[Measure], tensors: Collection[str]
) -> tuple[Measure, ...]:
    """Measures of a program, joined where those of another are one; both have these tensors.

    >>> found = [Measure(("i",), (("x", 0),), False), Measure((), (("y", 0),), True)]
    >>> joined_measures(found, [Measure(("k",), (("x", 0), ("y", 0)), False)], ["x", "y"])
    (Measure(labels=('i',), axes=(('x', 0), ('y', 0)), tied=True),)
    """
    groups = _Groups()
    tied: list[str | Place] = []
    for measure in found:
        members: list[str | Place] = [*measure.labels, *measure.axes]
        for item in members:
            groups.join(members[0], item)
        tied += members if measure.tied else []
    for measure in other:
        known = [axis for axis in measure.axes if axis[0] in tensors and axis in groups.parent]
        for axis in known:
            groups.join(known[0], axis)
    ends = {groups.find(item) for item in tied}
    return tuple([_measure(members, root in ends) for root, members in groups.members().items()])


class _Groups:
    """Things that are joined pairwise, and the groups that this makes (union-find)."""

    def __init__(self) -> None:
        self.parent: dict[str | Place, str | Place] = {}

    def find(self, item: str | Place) -> str | Place:
        self.parent.setdefault(item, item)
        while self.parent[item] != item:
            self.parent[item] = self.parent[self.parent[item]]
            item = self.parent[item]
        return item

    def join(self, one: str | Place, other: str | Place) -> None:
        self.parent[self.find(other)] = self.find(one)

    def members(self) -> dict[str | Place, list[str | Place]]:
        found: dict[str | Place, list[str | Place]] = {}
        for item in list(self.parent):
            found.setdefault(self.find(item), []).append(item)
        return found
