"""Formulas with ceilings between two without: ``x <= ceil(x) < x + 1``. Where both agree, a relation is decided.

Between them each whole number is tried, where these are few. So what repeats only after very many values is solved
without a class for each of them.
"""

from __future__ import annotations

from typing import Any

import sympy

from perfmodel.expressions.relations import Relation
from perfmodel.expressions.remainders import Mod
from perfmodel.solving.exactly import holds_at
from perfmodel.solving.integers import Intervals, by_pieces, joined, merged, without
from perfmodel.solving.patterns import Runs, of_intervals
from perfmodel.solving.pieces import NotRational
from perfmodel.solving.residues import divided

_MOST_TRIED = 2**12
_HELD = {"<=": (1, "<="), "<": (1, "<"), ">=": (0, ">="), ">": (0, ">"), "==": None}  # which envelope, against 0
_REFUTED = {"<=": ((0, ">"),), "<": ((0, ">="),), ">=": ((1, "<"),), ">": ((1, "<="),), "==": ((0, ">"), (1, "<"))}


def by_envelopes(relation: Relation, unknown: sympy.Symbol) -> Runs:
    """Where a relation holds, without end; ``NotRational`` where its envelopes leave too much open.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> by_envelopes(Relation(Mod(n, 1009) + n, "<=", sympy.S(1020)), n)
    (Run(first=1, last=510, period=1, mask=1), Run(first=1009, last=1014, period=1, mask=1))
    """
    if relation.rounded or relation.difference.has(sympy.Sum):
        raise NotRational(str(relation))
    bounds = envelope(relation.difference, unknown)
    held = _where(bounds, _HELD[relation.sign], unknown)
    refuted = [_where(bounds, each, unknown) for each in _REFUTED[relation.sign]]
    decided = joined(merged([held, *refuted]))
    left = without(((1, None),), decided)
    if any(last is None for _, last in left) or sum((last or 0) - first + 1 for first, last in left) > _MOST_TRIED:
        raise NotRational(f"{relation} between its envelopes")
    tried = [
        (value, value)
        for first, last in left
        for value in range(first, (last or 0) + 1)
        if holds_at(relation, unknown, sympy.Integer(value))
    ]
    return of_intervals(joined(merged([held, tuple(tried)])))


def _where(bounds: tuple[Any, Any], asked: Any, unknown: sympy.Symbol) -> Intervals:
    if asked is None:
        return ()
    which, sign = asked
    if not bounds[which].has(unknown):
        return ((1, None),) if Relation(bounds[which], sign, sympy.S.Zero).holds(bounds[which]) else ()
    return by_pieces(Relation(bounds[which], sign, sympy.S.Zero), unknown, 1, None)[0]


def envelope(expr: sympy.Expr, unknown: sympy.Symbol) -> tuple[Any, Any]:
    """A formula that is nowhere above, and one that is nowhere below, at positive whole numbers.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> envelope(sympy.ceiling(n / 4), n)
    (n/4, n/4 + 3/4)
    """
    if expr == unknown or expr.is_Rational:
        return expr, expr
    if isinstance(expr, (sympy.ceiling, sympy.floor)):
        low, high = envelope(expr.args[0], unknown)
        room = 1 - sympy.Rational(1, divided(expr.args[0]))
        return (low, high + room) if isinstance(expr, sympy.ceiling) else (low - room, high)
    if isinstance(expr, (sympy.Mod, Mod)) and expr.args[1].is_Rational and expr.args[1] > 0:
        return sympy.S.Zero, expr.args[1]
    if isinstance(expr, (sympy.Add, sympy.Max, sympy.Min)):
        ends = [envelope(each, unknown) for each in expr.args]
        return expr.func(*[low for low, _ in ends]), expr.func(*[high for _, high in ends])
    if isinstance(expr, sympy.Mul):
        return _of_product(expr, unknown)
    if isinstance(expr, sympy.Pow) and expr.exp.is_Integer and expr.exp > 0 and expr.base.is_nonnegative:
        low, high = envelope(expr.base, unknown)
        return _not_negative(low) ** expr.exp, high**expr.exp
    raise NotRational(str(expr))


def _of_product(expr: Any, unknown: sympy.Symbol) -> tuple[Any, Any]:
    number, factors = expr.as_coeff_mul()
    if not all(each.is_nonnegative for each in factors):
        raise NotRational(str(expr))
    ends = [envelope(each, unknown) for each in factors]
    low = number * sympy.Mul(*[_not_negative(each) for each, _ in ends])
    high = number * sympy.Mul(*[each for _, each in ends])
    return (low, high) if number > 0 else (high, low)


def _not_negative(low: Any) -> Any:
    return low if low.is_nonnegative else sympy.Max(low, 0)
