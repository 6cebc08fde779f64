"""What an op takes from several tensors: the union of their axes, their one mask, their widest format."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from perfmodel.errors import DimensionError, LabelError
from perfmodel.graph.indexing import Axis
from perfmodel.graph.masks import Mask
from perfmodel.number_formats import Format, format, widest


class Labelled(Protocol):
    """Anything with a name, labelled axes, a format and perhaps a mask: a tensor."""

    @property
    def name(self) -> str: ...
    @property
    def axes(self) -> tuple[Axis, ...]: ...
    @property
    def mask(self) -> Mask | None: ...
    @property
    def format(self) -> Format: ...


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
    found = {axis.label: axis for axis in longest.axes}
    for other in tensors:
        if other is longest:
            continue
        for axis in other.axes:
            known = found.setdefault(axis.label, axis)
            if known is not axis and known.extent != axis.extent:
                where = next(item.name for item in tensors if known in item.axes)
                raise DimensionError(
                    f"{verb}: label {axis.label!r} is {known.extent} in {where!r} and {axis.extent} in {other.name!r}; "
                    "one label has one extent"
                )
    return tuple(found.values())


def merged_mask(tensors: Sequence[Labelled], verb: str, mask: Mask | None = None) -> Mask | None:
    """The one mask that restricts the tensors, if any does; ``mask`` is one more.

    >>> from perfmodel.graph.nodes import tensor
    >>> merged_mask([tensor("x", {"i": 4})], "add") is None
    True
    """
    if mask is not None and not isinstance(mask, Mask):
        raise LabelError(f"{verb}: mask = {mask!r}; expected a mask such as pm.causal()")
    found = mask
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


def check_unmasked(tensor: Labelled, label: str, verb: str) -> None:
    """Refuse a label that the tensor's mask lies over: seen elsewhere, it would be another mask.

    >>> from perfmodel.graph.nodes import tensor
    >>> check_unmasked(tensor("x", {"i": 4}), "i", "roll")
    """
    if tensor.mask is not None and label in (tensor.mask.query, tensor.mask.key):
        raise LabelError(f"{verb}: {label!r} of tensor {tensor.name!r} is restricted by a mask")


def merged_format(tensors: Sequence[Labelled]) -> Format:
    """The widest format of the tensors.

    >>> from perfmodel.graph.nodes import tensor
    >>> merged_format([tensor("x", {"i": 4}, "fp8"), tensor("y", {"i": 4}, "bf16")]).name
    'bf16'
    """
    first = tensors[0].format
    return first if all(other.format is first for other in tensors) else widest([item.format for item in tensors])


@lru_cache(maxsize=256)
def accumulator(compute: Format) -> Format:
    """The format in which sums of this one are kept, unless said otherwise.

    >>> from perfmodel.number_formats import format
    >>> accumulator(format("bf16")).name
    'fp32'
    """
    return format(compute.accumulator)
