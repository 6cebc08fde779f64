"""An opaque workload: counts that are given rather than derived, for napkins that start from numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import sympy

from perfmodel.errors import DimensionError, ExpressionError, did_you_mean, listed
from perfmodel.expressions import Size, parse_size
from perfmodel.graph.nodes import Given, applied
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import program
from perfmodel.number_formats import Format, format

_UNITS = ("matrix", "vector")


def workload(
    flops: Any = 0,
    bytes_read: Any = 0,
    bytes_written: Any = 0,
    *,
    special: Any = 0,
    dtype: str | Format = "bf16",
    unit: str = "matrix",
    name: str = "workload",
) -> Program:
    """One opaque op with given counts: FLOPs, special operations, bytes read and written.

    Counts are numbers (a float is the decimal that it writes: ``6.3e24`` is exact), formulas or text. They need
    not be whole: a napkin may work in units of its own.

    >>> p = workload(flops=2e12, bytes_read=1e9, dtype="bf16")
    >>> p.intensity
    2000.0
    """
    if unit not in _UNITS:
        raise ExpressionError(
            f"workload: unit {unit!r} is not one of {listed(_UNITS)}{did_you_mean(str(unit), _UNITS)}"
        )
    counts = {"flops": flops, "special": special, "bytes_read": bytes_read, "bytes_written": bytes_written}
    given = Given(**{field: amount(value, f"workload: {field}") for field, value in counts.items()})
    if not any(value != 0 for value in (given.flops, given.special, given.bytes_read, given.bytes_written)):
        raise DimensionError("workload: nothing is given; expected flops=, bytes_read=, bytes_written= or special=")
    form = format(dtype)
    result = applied("opaque", unit, [], (), (), None, title=name, compute=form, stored=form, given=given)
    return program(result, name=name)


def amount(value: Any, what: str) -> Size:
    """A count that is zero or more, exactly: an int, a Rational or a formula.

    >>> amount(0.1, "bytes"), amount(1e9, "bytes")
    (1/10, 1000000000)
    """
    if isinstance(value, str):
        value = parse_size(value, what)
    if isinstance(value, sympy.Expr):
        if value.has(sympy.Float, sympy.nan, sympy.zoo, sympy.oo) or value.is_negative or value.is_real is False:
            raise DimensionError(f"{what} = {value}: expected zero or more, without floats inside a formula")
        return int(value) if value.is_Integer else value
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | Fraction)
        or not math.isfinite(value)
        or value < 0
    ):
        raise DimensionError(f"{what} = {value!r}: expected a number of zero or more, a formula, or text")
    exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    return exact.numerator if exact.denominator == 1 else sympy.Rational(exact.numerator, exact.denominator)
