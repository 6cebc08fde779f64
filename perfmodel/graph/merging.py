"""The space of an op that reads several tensors: the union of their axes, and their one mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from perfmodel.errors import DimensionError, LabelError
from perfmodel.expressions import Size
from perfmodel.graph.indexing import Axis
from perfmodel.graph.masks import Mask


class Labelled(Protocol):
    """Anything with a name, labelled axes and perhaps a mask: a tensor."""

    @property
    def name(self) -> str: ...
    @property
    def axes(self) -> tuple[Axis, ...]: ...
    @property
    def mask(self) -> Mask | None: ...


def merged_axes(tensors: Sequence[Labelled], verb: str) -> tuple[Axis, ...]:
    """The union of the tensors' axes, in the order of the one that has most of them.

    >>> from perfmodel.graph.nodes import tensor
    >>> [a.label for a in merged_axes([tensor("b", {"n": 8}), tensor("x", {"m": 4, "n": 8})], "add")]
    ['m', 'n']
    """
    longest = tensors[0]
    for other in tensors:
        if len(other.axes) > len(longest.axes):
            longest = other
    if len(tensors) == 1:
        return longest.axes
    extents: dict[str, Size] = dict(longest.axes)
    for other in tensors:
        for label, extent in other.axes:
            if extents.setdefault(label, extent) != extent:
                raise DimensionError(
                    f"{verb}: label {label!r} is {extent} in {other.name!r} and {extents[label]} elsewhere; "
                    "one label has one extent"
                )
    return tuple([Axis(label, extent) for label, extent in extents.items()])


def merged_mask(tensors: Sequence[Labelled], verb: str) -> Mask | None:
    """The one mask that restricts the tensors, if any does.

    >>> from perfmodel.graph.nodes import tensor
    >>> merged_mask([tensor("x", {"i": 4})], "add") is None
    True
    """
    found: Mask | None = None
    for item in tensors:
        if item.mask is None or item.mask == found:
            continue
        if found is not None:
            raise LabelError(
                f"{verb}: operands are restricted by two different masks "
                f"({found.describe()}; {item.mask.describe()}); use one mask for both"
            )
        found = item.mask
    return found
