"""A relation at one value of its unknown, in exact numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

import sympy

from perfmodel.errors import SolveError
from perfmodel.expressions.relations import CLOSE, Relation

_MOST_TERMS = 2**17


def difference_at(relation: Relation, unknown: sympy.Symbol, value: Any) -> Any:
    """left - right at a value: a number, 0 where both are equal, None where a side has no number there.

    >>> n = sympy.Symbol("n")
    >>> [difference_at(Relation(1 / n, "<=", sympy.S(2)), n, sympy.S(value)) for value in (0, 1)]
    [None, -1]
    """
    try:
        found = relation.difference.xreplace({**_sums(relation.difference, unknown, value), unknown: value})
    except (TypeError, ValueError, ZeroDivisionError):  # sympy's words for "no such number", as in Max(zoo, 1)
        return None
    if found.is_Rational:
        return found
    if not found.is_number or found.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
        return None
    return sympy.S.Zero if found.equals(0) else found


def holds_at(relation: Relation, unknown: sympy.Symbol, value: Any) -> bool:
    """Whether a relation holds at a value; it does not where a side has no number there.

    >>> n = sympy.Symbol("n")
    >>> [holds_at(Relation(1 / (n - 5), ">=", sympy.S(0)), n, sympy.S(value)) for value in (4, 5, 6)]
    [False, False, True]
    """
    difference = difference_at(relation, unknown, value)
    if difference is None:
        return False
    return relation.holds(0 if relation.rounded and _is_close(relation, unknown, value, difference) else difference)


def _is_close(relation: Relation, unknown: sympy.Symbol, value: Any, difference: Any) -> bool:
    """Whether the sides of a relation that holds a float differ by no more than rounding to a float does."""
    sides = [
        difference_at(Relation(side, "==", sympy.S.Zero), unknown, value) for side in (relation.left, relation.right)
    ]
    return None not in sides and bool(abs(difference) <= CLOSE * max(abs(side) for side in sides))


def _sums(expr: sympy.Expr, unknown: sympy.Symbol, value: Any) -> dict[Any, Any]:
    """The sums over blocks that a formula holds, each added up at a value (sympy would integrate some instead)."""
    return {each: _added(each, {unknown: value}) for each in expr.atoms(sympy.Sum)}


def _added(each: sympy.Sum, known: dict[Any, Any]) -> Any:
    ranges = []
    for _, first, last in each.limits:
        ends = [end.xreplace(known) for end in (first, last)]
        if not all(end.is_Integer for end in ends):
            raise SolveError(f"solve: {each}: a sum within a sum has no number here")
        ranges.append(range(int(ends[0]), int(ends[1]) + 1))
    count = sympy.prod([len(one) for one in ranges])
    if count > _MOST_TERMS:
        raise SolveError(f"solve: a sum over {count} blocks; at most {_MOST_TERMS} are added: within= a smaller range")
    indices = [limit[0] for limit in each.limits]
    terms = [
        each.function.xreplace({**known, **dict(zip(indices, map(sympy.Integer, places), strict=True))})
        for places in product(*ranges)
    ]
    return sympy.Add(*terms)
