"""What the answers of the mechanisms share: how they are shown, shares of exact counts, choices from a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from fractions import Fraction
from typing import Any

from perfmodel.errors import DimensionError, PerfModelError, brief, did_you_mean, listed
from perfmodel.expressions import Size, as_expression, is_concrete
from perfmodel.showing import formula, percent
from perfmodel.shown import Shown as Shown


def share(part: Any, whole: Any) -> Any:
    """``part / whole``: a float of exact counts, or a formula.

    >>> import sympy
    >>> share(120, 216), share(sympy.Symbol("b"), 216)
    (0.5555555555555556, b/216)
    """
    if type(part) is int and type(whole) is int:
        return part / whole
    if is_concrete(part) and is_concrete(whole):
        return float(Fraction(part) / Fraction(whole))
    return as_expression(part) / as_expression(whole)


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


def plain_number(value: Any) -> Any:
    """numpy's numbers as Python's, anything else as it is.

    >>> plain_number(4), plain_number("4")
    (4, '4')
    """
    return value.item() if hasattr(value, "dtype") and getattr(value, "shape", None) == () else value


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


def number(value: Any, digits: int = 4) -> str:
    """A number or formula as it stands in a line.

    >>> import sympy
    >>> number(71648), number(1.1111111), number(sympy.Symbol("n") / 2)
    ('71,648', '1.111', 'n / 2')
    """
    if isinstance(value, int):
        return f"{value:,}"
    if is_concrete(value):
        return f"{float(value):.{digits}g}"
    return formula(value)


def part_of_all(fraction: Any) -> str:
    """A fraction as a percentage, or its formula.

    >>> import sympy
    >>> part_of_all(0.5555), part_of_all(sympy.Symbol("n"))
    ('56 %', 'n')
    """
    return percent(float(fraction)) if is_concrete(fraction) else formula(fraction)


def counted(value: Any, noun: str, plural: str = "") -> str:
    """A count with its noun, in the plural where it is not one.

    >>> import sympy
    >>> counted(1, "wave"), counted(1320, "block"), counted(sympy.Symbol("b"), "pass", "passes")
    ('1 wave', '1,320 blocks', 'b passes')
    """
    return f"{number(value)} {noun if value == 1 else plural or f'{noun}s'}"
