"""Labels resized throughout a program, with every axis that they measure; and the axes that are padded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from perfmodel.expressions import Size, bind
from perfmodel.graph.indexing import labels_in
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Op, Tensor
from perfmodel.graph.paddings import Padding, effective
from perfmodel.graph.rebinding import Place, changed_kernels, measures, with_extents
from perfmodel.graph.scattering import scatters
from perfmodel.graph.splits import bound_indices


def resized_kernels(
    kernels: tuple[Kernel, ...], extents: Mapping[str, Size], alike: Iterable[tuple[str, str]] = ()
) -> tuple[Kernel, ...]:
    """Kernels with the extents of some labels replaced, and with them every axis that they measure.

    Labels that measure one axis are given one extent; padded ones are padded anew.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = mapped("exp", tensor("x", {"i": 4})).producer
    >>> resized_kernels((Kernel("k", (op,)),), {"i": 8})[0].ops[0].reads[0].tensor
    pm.tensor('x', {'i': 8}, dtype='bf16')
    """
    paddings = paddings_of(kernels)
    axes: dict[Place, Size] = {}
    for measure in measures(kernels, alike):
        for label in [label for label in measure.labels if label in extents][:1]:
            extent = extents[label]
            padding = paddings.get(label)
            axes.update(dict.fromkeys(measure.axes, padding._replace(extent=extent).padded if padding else extent))
    return changed_kernels(kernels, lambda op: with_extents(op, extents, axes))


def padded_kernels(
    kernels: tuple[Kernel, ...], paddings: Mapping[str, Padding], alike: Iterable[tuple[str, str]] = ()
) -> tuple[Kernel, ...]:
    """Kernels in which these labels run to their multiples, and the axes that they measure too.

    >>> from perfmodel import matmul
    >>> padded_kernels(matmul(8, 6, 8).kernels, {"n": Padding("n", 6, (4,))})[0].ops[0].output.tensor.extents
    (1, 8, 8)
    """

    def marked(op: Op) -> Op:
        own = {**{item.label: item for item in op.padded}, **paddings}
        return replace(op, padded=tuple([own[label] for label, _ in op.space if label in own]))

    ends = {label: item.extent for label, item in paddings.items()}
    return resized_kernels(changed_kernels(kernels, marked), ends, alike)


def idle_of(
    before: tuple[Kernel, ...], after: tuple[Kernel, ...], idle: Iterable[Padding], values: Mapping[Any, Size]
) -> tuple[Padding, ...]:
    """The paddings that change nothing when sizes have changed: those that were idle, and those that are no more.

    >>> from perfmodel import matmul, pad
    >>> idle_of(pad(matmul(8, 6, 8), n=4).kernels, matmul(8, 8, 8).kernels, (), {})
    (Padding(label='n', extent=6, multiples=(4,)),)
    """
    left = paddings_of(after)
    found = {item.label: item for item in (*idle, *paddings_of(before).values()) if item.label not in left}
    return tuple(
        [item._replace(multiples=tuple([bind(size, values) for size in item.multiples])) for item in found.values()]
    )


def repadded(
    kernels: tuple[Kernel, ...], idle: tuple[Padding, ...], alike: Iterable[tuple[str, str]] = ()
) -> tuple[tuple[Kernel, ...], tuple[Padding, ...]]:
    """Kernels in which labels of other extents run to their multiples again, and the paddings that stay idle.

    >>> from perfmodel import matmul
    >>> kernels, idle = repadded(matmul(8, 6, 8).kernels, (Padding("m", 4, (4,)), Padding("n", 4, (4,))))
    >>> kernels[0].ops[0].output.tensor.extents, [item.label for item in idle]
    ((1, 8, 8), ['m'])
    """
    if not idle:
        return kernels, ()
    extents = {label: extent for kernel in kernels for op in kernel.ops for label, extent in op.space}
    fixed = {label for kernel in kernels for op in kernel.ops for label in _fixed(op)}
    now = [item._replace(extent=extents[item.label]) for item in idle if item.label in extents.keys() - fixed]
    found = {item.label: item for item in effective(now)}
    left = tuple([item for item in idle if item.label not in found])
    return (padded_kernels(kernels, found, alike) if found else kernels), left


def _fixed(op: Op) -> set[str]:
    """The labels of an op that cannot be padded any more: of parts, and of places that it adds into."""
    if scatters(op):
        return {axis.label for axis in op.space}
    return {label for index, _ in bound_indices(op) for label in labels_in(index)}


def paddings_of(kernels: Iterable[Kernel]) -> dict[str, Padding]:
    """The padded labels of kernels, each with its padding (a label is padded alike throughout a program).

    >>> paddings_of([])
    {}
    """
    return {item.label: item for kernel in kernels for op in kernel.ops for item in op.padded}


def valid_axes(kernels: tuple[Kernel, ...], alike: Iterable[tuple[str, str]] = ()) -> dict[Place, Size]:
    """The padded axes of tensors, each with the extent at which its values end.

    >>> valid_axes(())
    {}
    """
    paddings = paddings_of(kernels)
    if not paddings:
        return {}
    return {
        axis: paddings[label].extent
        for measure in measures(kernels, alike)
        for label in measure.labels
        if label in paddings
        for axis in measure.axes
    }


def valid_shape(tensor: Tensor, ends: Mapping[Place, Size]) -> tuple[Size, ...]:
    """The extents of a tensor at which its values end, given those of padded axes.

    >>> from perfmodel.graph.nodes import tensor
    >>> valid_shape(tensor("x", {"i": 64, "j": 8}), {("x", 0): 50})
    (50, 8)
    """
    return tuple([ends.get((tensor.name, place), extent) for place, extent in enumerate(tensor.extents)])
