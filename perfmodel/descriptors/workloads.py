"""An opaque workload: counts that are given rather than derived, for napkins that start from numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from perfmodel.descriptors.arguments import one_of
from perfmodel.errors import DimensionError, LabelError
from perfmodel.expressions import Size, dimension, parse_size, reals
from perfmodel.graph.nodes import applied
from perfmodel.graph.operands import Given
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import program
from perfmodel.number_formats import Format, format

_UNITS = ("matrix", "vector")
_LARGEST = 2**256  # a count beyond it is a mistake
_RULE = "expected a number from zero to 2^256, a formula, or text"


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
    one_of(unit, _UNITS, "workload: unit")
    if not (isinstance(name, str) and name.strip()):
        raise LabelError(f"workload: name = {name!r}: expected some text")
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
    if isinstance(value, sympy.Expr) and value.free_symbols:
        return _checked_formula(value, what)
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()  # numpy's scalars
    if isinstance(value, sympy.Rational):
        value = Fraction(value.numerator, value.denominator)
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not 0 <= value <= _LARGEST:
        raise DimensionError(f"{what} = {_shown(value)}: {_RULE}")
    exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    return exact.numerator if exact.denominator == 1 else sympy.Rational(exact.numerator, exact.denominator)


def _checked_formula(value: sympy.Expr, what: str) -> Size:
    """A formula in the symbols of ``dims`` and ``reals`` that may be zero or more."""
    for symbol in value.free_symbols:
        if symbol not in (dimension(symbol.name), reals(symbol.name)):
            raise DimensionError(
                f"{what} = {value}: the symbol {symbol.name!r} is neither a dimension nor a positive real; make it "
                f"with pm.dims({symbol.name!r}) or pm.reals({symbol.name!r})"
            )
    if value.has(sympy.Float, sympy.nan, sympy.zoo, sympy.oo) or value.is_negative or value.is_real is False:
        raise DimensionError(f"{what} = {value}: {_RULE}, without floats inside a formula")
    return value


def _shown(value: Any) -> str:
    return "an int of more than 256 bits" if isinstance(value, int) and value.bit_length() > 256 else repr(value)
