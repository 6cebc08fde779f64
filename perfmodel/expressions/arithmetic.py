"""Exact arithmetic on sizes: ints stay ints, everything else is a sympy expression.

A ``Size`` is a Python int or a sympy expression in positive integer symbols. These few
functions are the only arithmetic that the counting needs; each takes the int path without
touching sympy where every argument is an int. Text is never read here: sympy would evaluate it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import sympy
from sympy.core.cache import cacheit

from perfmodel.errors import DimensionError, ExpressionError
from perfmodel.expressions.remainders import Mod

Size: TypeAlias = "int | sympy.Expr"

# float64 holds every integer up to 2^53; sizes stop at 2^52 so that a ceiling of a true
# division is exact: with p + q <= 2^53 the quotient p/q of IEEE 754 never rounds across an integer.
LARGEST_SIZE = 2**52
_MOST_CHOICES = 8  # smallest and largest sizes in one quotient: each doubles the terms that are compared


def product(factors: Iterable[Size]) -> Size:
    """The product of sizes; 1 for none.

    >>> product([2, 3, 5])
    30
    """
    whole = 1
    symbolic: list[sympy.Expr] = []
    for factor in factors:
        if isinstance(factor, int):
            whole *= factor
        else:
            symbolic.append(_exact(factor))
    return as_size(sympy.Mul(whole, *symbolic)) if symbolic else whole


def total(terms: Iterable[Size]) -> Size:
    """The sum of sizes, added in one step (adding one by one is quadratic in sympy).

    >>> total([2, 3, 5])
    10
    """
    whole = 0
    symbolic: list[sympy.Expr] = []
    for term in terms:
        if isinstance(term, int):
            whole += term
        else:
            symbolic.append(_exact(term))
    return as_size(sympy.Add(whole, *symbolic)) if symbolic else whole


def as_size(value: Any) -> Size:
    """A sympy integer as a Python int; anything else as it is.

    >>> as_size(sympy.Integer(4))
    4
    """
    return int(value) if isinstance(value, sympy.Integer) else value


def as_expression(value: Any) -> sympy.Expr:
    """A number or an expression as sympy's; text is refused, because sympy would run it as code.

    >>> as_expression(3), as_expression(Fraction(1, 3))
    (3, 1/3)
    >>> as_expression("n")
    Traceback (most recent call last):
    perfmodel.errors.ExpressionError: 'n': expected a number or a sympy expression, got str
    """
    if isinstance(value, sympy.Expr):
        return value
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    if isinstance(value, float) and math.isfinite(value):
        return sympy.Float(float(value))
    try:
        if not isinstance(value, bool):
            return sympy.Integer(operator.index(value))
    except TypeError:
        pass
    raise ExpressionError(f"{value!r}: expected a number or a sympy expression, got {type(value).__name__}")


def _exact(value: Any) -> sympy.Expr:
    """As ``as_expression``, without floats: a count never rounds."""
    expression = as_expression(value)
    if isinstance(expression, sympy.Float):
        raise ExpressionError(f"{value!r}: a float in a count rounds; write an int or a Fraction")
    return expression


def _divided(numerator: Size, denominator: Size) -> sympy.Expr:
    if denominator == 0:
        raise DimensionError(f"{numerator} divided by zero")
    return _exact(numerator) / _exact(denominator)


def _chosen(choice: Any, *sizes: sympy.Expr) -> sympy.Expr:
    return choice(*sizes)


_extreme: Any = cacheit(_chosen)  # sympy remembers sums, but not Min and Max: to compare sizes takes it a millisecond


def _rounded(rounding: Any, numerator: Size, denominator: Size) -> sympy.Expr:
    """A quotient rounded; a Min or Max in it is taken outside: the least, rounded, is the least of the rounded.

    Inside, sympy 1.14 gets it wrong: it holds Min(2, 2*n)/6 for a whole number, because 2 and 6 are even.
    """
    quotient = _divided(numerator, denominator)
    if (
        not isinstance(numerator, sympy.Expr)
        or not numerator.has(sympy.Min, sympy.Max)
        or not _exact(denominator).is_positive
    ):
        return rounding(quotient)
    choices = numerator.atoms(sympy.Min, sympy.Max)
    if len(choices) > _MOST_CHOICES:
        raise DimensionError(
            f"a quotient of {len(choices)} smallest and largest sizes is computed at given sizes; bind the symbols "
            "with p.at(...)"
        )
    for term in sympy.Add.make_args(numerator):
        for choice in sympy.Mul.make_args(term):
            factor = term / choice
            if isinstance(choice, sympy.Min | sympy.Max) and (factor.is_positive or factor.is_negative):
                rest = numerator - term
                found = [_rounded(rounding, rest + factor * argument, denominator) for argument in choice.args]
                kind = sympy.Min if isinstance(choice, sympy.Min) == bool(factor.is_positive) else sympy.Max
                return _extreme(kind, *found)
    return rounding(quotient)


def ceil_div(numerator: Size, denominator: Size) -> Size:
    """The least integer not below ``numerator / denominator``, exactly.

    >>> ceil_div(1793, 256)
    8
    """
    if isinstance(numerator, int) and isinstance(denominator, int) and denominator:
        return -(-numerator // denominator)
    if denominator == 1 and isinstance(numerator, sympy.Expr) and numerator.is_integer:
        return numerator  # sympy takes a millisecond to find that out
    return as_size(_rounded(sympy.ceiling, numerator, denominator))


def floor_div(numerator: Size, denominator: Size) -> Size:
    """The greatest integer not above ``numerator / denominator``, exactly.

    >>> floor_div(1793, 256)
    7
    """
    if isinstance(numerator, int) and isinstance(denominator, int) and denominator:
        return numerator // denominator
    return as_size(_rounded(sympy.floor, numerator, denominator))


def remainder(numerator: Size, denominator: Size) -> Size:
    """What is left of ``numerator`` after whole ``denominator``s.

    >>> remainder(1793, 256)
    1
    """
    if isinstance(numerator, int) and isinstance(denominator, int) and denominator:
        return numerator % denominator
    if denominator == 0:
        raise DimensionError(f"{numerator} divided by zero")
    return as_size(Mod(_exact(numerator), _exact(denominator)))


def largest(*sizes: Size) -> Size:
    """The greatest of the sizes (``max`` for ints, ``sympy.Max`` otherwise).

    >>> largest(3, 7)
    7
    """
    if not sizes:
        raise ExpressionError("max: needs at least one size")
    if all(isinstance(size, int) for size in sizes):
        return max(sizes)
    return as_size(_extreme(sympy.Max, *map(_exact, sizes)))


def smallest(*sizes: Size) -> Size:
    """The least of the sizes (``min`` for ints, ``sympy.Min`` otherwise).

    >>> smallest(3, 7)
    3
    """
    if not sizes:
        raise ExpressionError("min: needs at least one size")
    if all(isinstance(size, int) for size in sizes):
        return min(sizes)
    return as_size(_extreme(sympy.Min, *map(_exact, sizes)))


def scaled(size: Size, factor: int | Fraction) -> Size:
    """``size * factor`` for a rational factor, without floats.

    >>> scaled(32, Fraction(17, 4))
    136
    """
    if isinstance(size, int):
        if isinstance(factor, int):
            return size * factor
        if isinstance(factor, Fraction):
            value = size * factor
            return value.numerator if value.denominator == 1 else as_expression(value)
    return as_size(sympy.Mul(_exact(factor), _exact(size)))


def share(part: Any, whole: Any) -> Any:
    """``part / whole``: a float of exact counts, or a formula.

    >>> share(120, 216), share(sympy.Symbol("b"), 216)
    (0.5555555555555556, b/216)
    """
    if type(part) is int and type(whole) is int:
        return part / whole
    if is_concrete(part) and is_concrete(whole):
        return float(Fraction(part) / Fraction(whole))
    return as_expression(part) / as_expression(whole)


def bind(value: Size, values: Mapping[sympy.Symbol, Size]) -> Size:
    """``value`` with symbols replaced (``xreplace``; ``subs`` costs a hundred times more).

    A value that has no answer there (a division by zero) is a ``DimensionError``.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> bind(2 * n**2, {n: 3})
    18
    """
    if isinstance(value, int):
        return value
    new = {key: as_expression(replacement) for key, replacement in values.items()}
    try:
        bound = as_size(value.xreplace(new))
    except (TypeError, ValueError, ZeroDivisionError) as error:  # sympy's word for "no such number"
        raise DimensionError(f"{value} at {_shown(new)}: no number ({error})") from None
    if not isinstance(bound, int) and bound.is_number and bound.is_finite is not True:
        raise DimensionError(f"{value} at {_shown(new)}: no finite number, it divides by zero")
    return bound


def _shown(values: Mapping[sympy.Symbol, sympy.Expr]) -> str:
    return ", ".join(f"{key} = {new}" for key, new in values.items())


def is_concrete(value: Any) -> bool:
    """Whether a value is a plain number rather than a formula in symbols.

    >>> is_concrete(4), is_concrete(sympy.Symbol("n"))
    (True, False)
    """
    return not isinstance(value, sympy.Expr) or not value.free_symbols
