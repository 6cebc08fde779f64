"""Numbers that are not above what they stand for."""

from __future__ import annotations

import math

import sympy

_DIGITS = 40


def below(value: sympy.Expr) -> int | float:
    """A real number as an int where it is one, else as the largest float that is not above it.

    >>> below(sympy.Integer(7)), below(sympy.sqrt(2)), below(sympy.Rational(1, 10)) == 0.1
    (7, 1.414213562373095, False)
    """
    if value.is_Integer:
        return int(value)
    exact = value if value.is_Rational else sympy.Rational(value.evalf(_DIGITS))
    near = float(exact)
    return math.nextafter(near, -math.inf) if sympy.Rational(near) > exact else near
