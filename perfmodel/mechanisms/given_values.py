"""What is given to a mechanism, checked: whole numbers, exact ones, lists, words; and what may not be a symbol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from operator import index
from typing import Any

from perfmodel.errors import DimensionError, MachineError, PerfModelError, brief, did_you_mean, listed
from perfmodel.expressions import Size, as_expression, is_concrete

LARGEST = 2**53
_MOST = 10**30


def whole(value: Any, name: str, verb: str, least: int = 1, most: int = LARGEST) -> int:
    """An int in a range; booleans, other numbers and text are a ``DimensionError``.

    >>> whole(256, "threads", "occupancy")
    256
    >>> whole(True, "threads", "occupancy")
    Traceback (most recent call last):
    perfmodel.errors.DimensionError: occupancy: threads = True: expected a whole number of 1 or more
    """
    try:
        number = index(value) if type(value).__name__ not in ("bool", "bool_") else None
    except Exception:  # whatever an object of the user's raises, it is no whole number
        number = None
    if number is None or not least <= number <= most:
        above = f"from {least} to {most:,}" if most < LARGEST else f"of {least} or more"
        raise DimensionError(f"{verb}: {name} = {brief(value)}: expected a whole number {above}")
    return number


def exact(value: Any, what: str, error: type[PerfModelError] = MachineError) -> Fraction:
    """A number of 0 or more, exact: a float, or text, as it is written.

    >>> exact(0.38, "fp32 add"), exact("1.31", "fp32 mul")
    (Fraction(19, 50), Fraction(131, 100))
    """
    value = plain_number(value)
    try:
        plain = isinstance(value, int | float | str | Fraction | Decimal) and not isinstance(value, bool)
        found = Fraction(str(value) if isinstance(value, float | str) else value) if plain else Fraction(-1)
    except (ValueError, OverflowError, ZeroDivisionError):  # text that is no number, infinity, nan
        found = Fraction(-1)
    if not 0 <= found <= _MOST:
        raise error(f"{what} = {brief(value)}: expected a finite number of 0 or more")
    return found


def positive_number(value: Any, what: str) -> Any:
    """A number above 0 that no sum or ratio takes out of float64, exact where it is.

    >>> positive_number(80, "T4")
    80
    """
    found = plain_number(value)
    plain = isinstance(found, Real) and not isinstance(found, bool)
    if not plain or not 1e-100 <= found <= 1e100:
        raise DimensionError(f"{what} = {brief(value)}: expected a positive, finite number")
    return found


def plain_number(value: Any) -> Any:
    """numpy's numbers as Python's, anything else as it is.

    >>> plain_number(4), plain_number("4")
    (4, '4')
    """
    return value.item() if hasattr(value, "dtype") and getattr(value, "shape", None) == () else value


def in_order(values: Any, what: str, verb: str) -> Iterator[Any]:
    """The values of a list, one after another; text, bytes, a single number, and what has no order are refused.

    >>> list(in_order((1, 10), "times", "amat"))
    [1, 10]
    >>> in_order({1, 10}, "times", "amat")
    Traceback (most recent call last):
    perfmodel.errors.DimensionError: amat: times = {1, 10}: expected a list
    """
    other = isinstance(values, str | bytes | bytearray | memoryview | Mapping | Set)
    if other or not isinstance(values, Iterable) or getattr(values, "shape", None) == ():
        raise DimensionError(f"{verb}: {what} = {brief(values)}: expected a list")
    return iter(values)


def chosen(value: Any, known: Iterable[str], what: str, verb: str) -> str:
    """One word of a list, in lower case and with hyphens.

    >>> chosen("Stream_K", ("static", "stream-k"), "schedule", "waves")
    'stream-k'
    """
    names = list(known)
    word = value.strip().lower().replace("_", "-") if isinstance(value, str) else value
    if isinstance(word, str) and word in names:
        return str(word)
    raise PerfModelError(f"{verb}: {what} = {brief(value)}: expected one of {listed(names)}{did_you_mean(word, names)}")


def concrete(values: Iterable[Size], what: str, verb: str) -> None:
    """Refuse symbols where numbers are needed.

    >>> concrete([4, 8], "sizes", "waves")
    """
    formulas = [as_expression(value) for value in values if not is_concrete(value)]
    symbols = sorted({symbol.name for value in formulas for symbol in value.free_symbols})
    if symbols:
        raise DimensionError(f"{verb}: {what} needs numbers; give {listed(symbols)} values first")
