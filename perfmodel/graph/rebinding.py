"""Kernels with sizes or labels changed throughout: binding symbols, renaming labels, retyping tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from perfmodel.expressions import Size, size
from perfmodel.graph.indexing import Affine, Axis, Gathered, Index, renamed, resized
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.masks import Mask
from perfmodel.graph.nodes import Access, Given, Op, Scalar, Tensor

Change = Callable[[Size], Size]
TensorChange = Callable[[Tensor], Tensor]


def changed_kernels(
    kernels: tuple[Kernel, ...], op_change: Callable[[Op], Op], repeat: Change | None = None
) -> tuple[Kernel, ...]:
    """Kernels with every op and repetition changed.

    >>> changed_kernels((), lambda op: op)
    ()
    """
    changed = []
    for kernel in kernels:
        times = repeat(kernel.repeat) if repeat else kernel.repeat
        changed.append(Kernel(kernel.name, tuple([op_change(op) for op in kernel.ops]), times, kernel.section))
    return tuple(changed)


def with_tensors(op: Op, change: TensorChange, index: Callable[[Index], Index] = lambda item: item) -> Op:
    """The op with each tensor that it touches, and each index, changed.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = mapped("exp", tensor("x", {"i": 4})).producer
    >>> with_tensors(op, lambda t: replace(t, name=t.name + "_new")).output.tensor.name
    'exp_new'
    """

    def access(item: Access) -> Access:
        return Access(change(item.tensor), tuple([index(part) for part in item.index]))

    inputs = tuple([item if isinstance(item, Scalar) else access(item) for item in op.inputs])
    return replace(op, inputs=inputs, output=access(op.output))


def with_sizes(op: Op, change: Change, mask: Callable[[Mask], Mask]) -> Op:
    """The op with every size changed: extents, window steps, mask bounds, given counts.

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

    given = op.given and Given(*[change(n) for n in (op.given.flops, op.given.special, op.given.bytes_read,
                                                     op.given.bytes_written)])  # fmt: skip
    found = with_tensors(op, tensor, index)
    return replace(found, space=axes(op.space), mask=op.mask and mask(op.mask), given=given)


def with_extents(op: Op, extents: Mapping[str, Size]) -> Op:
    """The op with the extents of some labels replaced.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> with_extents(mapped("exp", tensor("x", {"i": 4})).producer, {"i": 8}).space[0].extent
    8
    """

    def axes(found: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple([Axis(axis.label, extents.get(axis.label, axis.extent)) for axis in found])

    def access(item: Access) -> Access:
        sizes = [
            Axis(axis.label, extents.get(index, axis.extent) if isinstance(index, str) else axis.extent)
            for axis, index in zip(item.tensor.axes, item.index, strict=True)
        ]
        return Access(Tensor(item.tensor.name, tuple(sizes), item.tensor.format), item.index)

    inputs = tuple([item if isinstance(item, Scalar) else access(item) for item in op.inputs])
    return replace(op, inputs=inputs, output=access(op.output), space=axes(op.space))


def with_names(op: Op, labels: Mapping[str, str], tensors: Mapping[str, str], name: str) -> Op:
    """The op with labels and tensors renamed, under a name of its own.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = mapped("exp", tensor("x", {"i": 4})).producer
    >>> with_names(op, {"i": "j"}, {"x": "z"}, "exp_2").reads[0]
    Access(tensor=pm.tensor('z', {'j': 4}, dtype='bf16'), index=('j',))
    """

    def axes(found: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple([Axis(labels.get(axis.label, axis.label), axis.extent) for axis in found])

    def tensor(item: Tensor) -> Tensor:
        return Tensor(tensors.get(item.name, item.name), axes(item.axes), item.format)

    def index(item: Index) -> Index:
        item = renamed(item, labels)
        return Gathered(tensors.get(item.by, item.by), item.labels) if isinstance(item, Gathered) else item

    found = with_tensors(op, tensor, index)
    mask = op.mask and op.mask.renamed(labels)
    return replace(found, name=name, space=axes(op.space), mask=mask)


def tied_labels(kernels: tuple[Kernel, ...]) -> set[str]:
    """Labels that stand in windows, rolls or gathers: their extents follow from other sizes.

    >>> tied_labels(())
    set()
    """
    tied: set[str] = set()
    for kernel in kernels:
        for op in kernel.ops:
            for access in op.reads:
                for index in access.index:
                    if isinstance(index, Affine):
                        tied |= {label for label, _ in index.terms}
    return tied
