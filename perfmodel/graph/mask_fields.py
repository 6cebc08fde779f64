"""What the fields of a mask may be: its labels, its alignment, how far a row sees, and which row is meant."""

from __future__ import annotations

import operator
from numbers import Real
from typing import Any

import sympy

from perfmodel.errors import DimensionError, LabelError, did_you_mean, listed
from perfmodel.expressions import Size, parse_size, size

_ALIGNMENTS = ("end", "start")


def check_names(query: str, key: str, align: str) -> None:
    """Two labels that differ, and an alignment that there is.

    >>> check_names("q", "kv", "end")
    """
    for field, label in (("query", query), ("key", key)):
        if not (isinstance(label, str) and label):
            raise LabelError(f"Mask: {field} = {label!r}; a label is a name such as 'q'")
    if query == key:
        raise LabelError(f"Mask: query and key are both {query!r}; a mask lies over two different labels")
    if align not in _ALIGNMENTS:
        near = did_you_mean(align, _ALIGNMENTS)
        raise LabelError(f"Mask: align = {align!r}; expected one of {listed(_ALIGNMENTS)}{near}")


def checked_reach(value: Any, field: str) -> Size | None:
    """How far a row sees on one side: None, 0 or a size.

    >>> checked_reach(0, "left"), checked_reach("w - 1", "left")
    (0, w - 1)
    """
    if isinstance(value, str):
        value = parse_size(value, field)
    if value is None or (isinstance(value, Real) and value == 0 and not isinstance(value, bool)):
        return None if value is None else 0
    if value.is_negative if isinstance(value, sympy.Expr) else type(value) is int and value < 0:
        raise DimensionError(f"Mask: {field} = {value}; the keys visible on one side are 0 or more, or None for all")
    return size(value, field)


def checked_place(value: Any, extent: int, label: str) -> int:
    """A row or a key by its number, checked against the extent.

    >>> checked_place(3, 4, "q")
    3
    """
    try:
        index = operator.index(value)
    except TypeError:
        raise DimensionError(f"Mask.allows: {label} = {value!r}; a position is an int") from None
    if not 0 <= index < extent:
        raise DimensionError(f"Mask.allows: {label} = {index}; positions run from 0 to {extent - 1}")
    return index
