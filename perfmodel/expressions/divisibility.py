"""Whether a polynomial is a multiple of a number wherever its variables are whole.

``n*(n + 1)/2`` is a count although it has a half in it: the causal pairs of n queries.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

_LARGEST_DIVISOR = math.factorial(10)  # a larger one would need a polynomial of degree eleven
_MOST_POINTS = 1000


def is_multiple(expr: Any, divisor: int) -> bool:
    """Whether a polynomial in whole numbers is always a multiple of ``divisor``.

    Anything that is no sum, product or power (a ceiling, say) counts as one whole variable. A
    polynomial is a multiple everywhere if it is on the grid 0..degree of each variable, as its
    finite differences are then multiples too (Polya, "Ueber ganzwertige ganze Funktionen", 1915).
    False also where that grid has more than a thousand points.

    >>> import sympy
    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> is_multiple(n * (n + 1), 2), is_multiple(n, 2)
    (True, False)
    """
    if divisor > _LARGEST_DIVISOR:
        return False
    degrees = _degrees(expr)
    if math.prod(degree + 1 for degree in degrees.values()) > _MOST_POINTS:
        return False
    grid = itertools.product(*(range(degree + 1) for degree in degrees.values()))
    return all(_at(expr, dict(zip(degrees, point, strict=True))) % divisor == 0 for point in grid)


def _degrees(expr: Any) -> Counter[Any]:
    """The degree of a polynomial in each of its variables, at most."""
    if expr.is_Rational:
        return Counter()
    parts = [_degrees(arg) for arg in expr.args] if expr.is_Add or expr.is_Mul else []
    if expr.is_Add:
        return Counter({atom: max(part[atom] for part in parts) for part in parts for atom in part})
    if expr.is_Mul:
        return sum(parts, Counter())
    if _is_power(expr):
        return Counter({atom: degree * int(expr.exp) for atom, degree in _degrees(expr.base).items()})
    return Counter({expr: 1})


def _at(expr: Any, point: Mapping[Any, int]) -> Fraction:
    if expr.is_Rational:
        return Fraction(int(expr.p), int(expr.q))
    if expr.is_Add:
        return sum((_at(arg, point) for arg in expr.args), Fraction(0))
    if expr.is_Mul:
        return math.prod((_at(arg, point) for arg in expr.args), start=Fraction(1))
    if _is_power(expr):
        return _at(expr.base, point) ** int(expr.exp)
    return Fraction(point[expr])


def _is_power(expr: Any) -> bool:
    return bool(expr.is_Pow and expr.exp.is_Integer and expr.exp.is_positive)
