"""Symbols and sizes: the only place where symbols are made.

sympy treats two symbols of one name and other assumptions as different, silently. Here every
dimension is a positive integer and every quantity a positive real, so one name is one symbol.
"""

from __future__ import annotations

import keyword
import math
import operator
import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from perfmodel.errors import DimensionError, ExpressionError, LabelError, brief, did_you_mean, listed
from perfmodel.expressions.arithmetic import LARGEST_SIZE, Size, as_size
from perfmodel.expressions.parsing import parse_size

_IDENTIFIER_RULE = "a name is a Python identifier (no keyword), and names are separated by spaces or commas"
_DIMENSION_RULE = "a dimension is a positive integer"


def dimension(name: str) -> sympy.Symbol:
    """The positive integer symbol of this name.

    >>> dimension("m").is_positive, dimension("m").is_integer
    (True, True)
    """
    return sympy.Symbol(_checked_name(name, "dims"), integer=True, positive=True)


def _checked_name(name: Any, verb: str) -> str:
    """An identifier, normalised as Python normalises it (NFKC), so that text finds the same symbol."""
    if not (isinstance(name, str) and name.isidentifier()) or keyword.iskeyword(name):
        raise ExpressionError(f"{verb}: {name!r} is not a name; {_IDENTIFIER_RULE}")
    return unicodedata.normalize("NFKC", name)


def dims(names: str) -> Any:
    """Positive integer symbols for dimensions: one symbol for one name, a tuple for several.

    >>> m, n, k = dims("m n k")
    >>> dims("m") == m
    True
    """
    found = tuple(dimension(name) for name in _split(names, "dims"))
    return found[0] if len(found) == 1 else found


def reals(names: str) -> Any:
    """Positive real symbols for what is not a count: a clock, a bandwidth, a time.

    >>> clk = reals("clk")
    >>> clk.is_positive, clk.is_integer
    (True, None)
    """
    found = tuple(
        sympy.Symbol(_checked_name(name, "reals"), real=True, positive=True) for name in _split(names, "reals")
    )
    return found[0] if len(found) == 1 else found


def _split(names: str, verb: str) -> list[str]:
    if not isinstance(names, str):
        raise ExpressionError(f"{verb}: expected names in a string such as 'm n k', got {names!r}")
    found = names.replace(",", " ").split()
    if not found:
        raise ExpressionError(f"{verb}: no name in {names!r}; {_IDENTIFIER_RULE}")
    return found


def size(value: Any, what: str = "size") -> Size:
    """A dimension, checked: an int, a sympy expression in ``dims`` symbols, or text.

    A whole float such as ``1e9`` is the int that it writes. ``what`` names the field in errors.

    >>> size(4096), size("3*h"), size(1e9)
    (4096, 3*h, 1000000000)
    >>> size(0, "n")
    Traceback (most recent call last):
    perfmodel.errors.DimensionError: n = 0: a dimension is a positive integer
    """
    if type(value) is int:
        if 0 < value <= LARGEST_SIZE:
            return value
        return _checked_int(value, what)
    if isinstance(value, sympy.Expr):
        return _checked_expression(value, what)
    if isinstance(value, str):
        return size(parse_size(value, what), what)
    return _checked_int(_as_int(value, what), what)


def _as_int(value: Any, what: str) -> int:
    """Whole numbers of other types (numpy's, Decimal, floats without a fraction) as a Python int."""
    if getattr(value, "shape", None) == () and getattr(getattr(value, "dtype", None), "kind", "") in "biufO":
        value = value.item()  # numpy's scalars and 0-d arrays
    if isinstance(value, bool):
        raise DimensionError(f"{what} = {value!r}: {_DIMENSION_RULE}, not a truth value")
    try:
        return operator.index(value)
    except Exception:  # whatever an object of the user's raises, it is no whole number
        pass
    if isinstance(value, (float, Fraction, Decimal)) and _is_whole(value):
        return int(value)
    raise DimensionError(
        f"{what} = {brief(value)}: {_DIMENSION_RULE}, a symbol of pm.dims, "
        f"or text such as '3*h'; got {type(value).__name__}"
    )


def _is_whole(value: float | Fraction | Decimal) -> bool:
    try:
        return math.isfinite(float(value)) and value == int(value)
    except (OverflowError, ValueError):
        return False


def _checked_int(value: int, what: str) -> int:
    if value <= 0:
        raise DimensionError(f"{what} = {brief(value)}: {_DIMENSION_RULE}")
    if value > LARGEST_SIZE:
        raise DimensionError(
            f"{what} = {brief(value)}: a dimension is at most 2^52 = {LARGEST_SIZE}, "
            "the range in which float64 and its ceilings count exactly"
        )
    return value


def _checked_expression(value: sympy.Expr, what: str) -> Size:
    value = as_size(value)
    if isinstance(value, int):
        return _checked_int(value, what)
    if isinstance(value, sympy.Float):
        return _checked_int(_as_int(float(value), what), what)
    for symbol in value.free_symbols:
        if symbol != sympy.Symbol(symbol.name, integer=True, positive=True):
            raise DimensionError(
                f"{what} = {brief(value)}: the symbol {symbol.name!r} is not a positive integer; "
                f"make it with pm.dims({symbol.name!r})"
            )
        if not symbol.name.isidentifier():
            raise DimensionError(f"{what} = {brief(value)}: a symbol has no name that can be written; use pm.dims")
    if value.has(AppliedUndef, sympy.factorial) or any(power.exp.free_symbols for power in value.atoms(sympy.Pow)):
        raise DimensionError(f"{what} = {brief(value)}: a size is made of + - * / // % and whole powers of symbols")
    if not value.free_symbols or value.is_integer is False or value.is_positive is False:
        raise DimensionError(f"{what} = {brief(value)}: {_DIMENSION_RULE}")
    if value.has(sympy.Float):
        raise DimensionError(f"{what} = {brief(value)}: a float in a dimension rounds; write a fraction")
    return value


def positive_real(value: Any, what: str = "value") -> float:
    """A quantity that is not a count, checked: positive and finite.

    >>> positive_real(1.755e9, "clk")
    1755000000.0
    >>> positive_real(float("nan"), "clk")
    Traceback (most recent call last):
    perfmodel.errors.DimensionError: clk = nan: a positive, finite number was expected
    """
    if getattr(value, "shape", None) == () and getattr(getattr(value, "dtype", None), "kind", "") in "biufO":
        value = value.item()
    plain = isinstance(value, (int, float, Fraction, Decimal, sympy.Expr))
    try:
        number = float(value) if plain and not isinstance(value, bool) else math.nan
    except (OverflowError, TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        raise DimensionError(f"{what} = {brief(value)}: a positive, finite number was expected")
    return number


def symbol_values(
    given: Mapping[Any, Any], symbols: Iterable[sympy.Symbol], verb: str = "at"
) -> dict[sympy.Symbol, Size]:
    """Values by name or symbol, as a mapping from the symbols of a formula to checked sizes.

    >>> n = dims("n")
    >>> symbol_values({"n": "2*h"}, [n])
    {n: 2*h}
    """
    by_name: dict[str, sympy.Symbol] = {}
    for symbol in symbols:
        if by_name.setdefault(symbol.name, symbol) != symbol:
            raise LabelError(f"{verb}: two different symbols are both named {symbol.name!r}; rename one")
    bound: dict[sympy.Symbol, Size] = {}
    for key, value in given.items():
        name = symbol_name(key)
        if name not in by_name:
            raise LabelError(
                f"{verb}: no symbol {name!r}; the symbols are {listed(sorted(by_name))}{did_you_mean(name, by_name)}"
            )
        symbol = by_name[name]
        bound[symbol] = size(value, name) if symbol.is_integer else _real(value, name)
    return bound


def symbol_name(key: Any) -> str:
    """The name of a symbol, or a name as Python writes it.

    >>> symbol_name(dims("n")), symbol_name("n")
    ('n', 'n')
    """
    return key.name if isinstance(key, sympy.Symbol) else unicodedata.normalize("NFKC", str(key))


def _real(value: Any, name: str) -> Any:
    """A formula as it is, an exact number exact, any other number as a checked float."""
    if isinstance(value, sympy.Expr) and value.free_symbols:
        return value
    checked = positive_real(value, name)
    return value if isinstance(value, (int, Fraction, sympy.Rational)) else checked


def by_name(values: Any) -> Any:
    """The columns of a pandas DataFrame, or the entries of a Series, by name; anything else as it is.

    >>> from pandas import DataFrame, Series
    >>> by_name(DataFrame({"n": [64, 128]})), by_name(Series({"n": 64})), by_name({"n": 3})
    ({'n': array([ 64, 128])}, {'n': 64}, {'n': 3})
    """
    if hasattr(values, "columns") and hasattr(values, "iloc"):
        return {name: values[name].to_numpy() for name in values.columns}
    if hasattr(values, "index") and hasattr(values, "iloc"):
        return values.to_dict()
    return values
