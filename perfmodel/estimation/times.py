"""Arithmetic of times and amounts: floats where all is known, formulas elsewhere, errors beyond what a float holds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import sympy

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, is_concrete

_BEYOND = "beyond what a float holds"


def longest(seconds: Iterable[Any]) -> Any:
    """The largest of some times: a float, or a ``Max`` where they hold symbols; 0 for none.

    >>> longest([1, 2.5]), longest([])
    (2.5, 0.0)
    """
    found = list(seconds)
    if all(is_concrete(item) for item in found):
        return float(max(found, default=0.0))
    return sympy.Max(*found, evaluate=False) if len(found) > 1 else found[0]


def added(seconds: Iterable[Any]) -> Any:
    """The sum of some times: a float, or a formula.

    >>> added([1, 2.5])
    3.5
    """
    found = list(seconds)
    if not all(is_concrete(item) for item in found):
        return sympy.Add(*found)
    result = float(sum(found))
    if math.isinf(result):
        raise DimensionError(f"a time of more than 1e308 s: {_BEYOND}")
    return result


def repeated(seconds: Any, times: Size) -> Any:
    """The time of so many runs.

    >>> repeated(0.5, 80)
    40.0
    """
    try:
        return seconds * times
    except OverflowError:
        raise DimensionError(f"{seconds} s, {times.bit_length()} bits of times over: {_BEYOND}") from None


def ratio(amount: Any, seconds: Any) -> Any:
    """An amount over a time: a float, or a formula; nan where no part of the work has a known rate.

    >>> ratio(6, 3), ratio(6, 0.0)
    (2.0, nan)
    """
    if not (is_concrete(amount) and is_concrete(seconds)):
        found = amount / seconds
        return float(found) if is_concrete(found) else found
    if seconds == 0:
        return math.nan
    try:
        return float(amount) / float(seconds)
    except OverflowError:
        raise DimensionError(f"an amount or a time of more than 1e308: {_BEYOND}") from None
