"""Labels resized throughout a program, with every axis that they measure; and the axes that are padded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfmodel.expressions import Size
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Tensor
from perfmodel.graph.paddings import Padding
from perfmodel.graph.rebinding import Place, changed_kernels, measures, with_extents


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
