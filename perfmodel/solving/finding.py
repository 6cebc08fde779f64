"""How a relation is solved: in closed form where there is one, else by a search that says which."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy

from perfmodel.errors import SolveError
from perfmodel.expressions.relations import Relation
from perfmodel.solving.exactly import difference_at, holds_at
from perfmodel.solving.integers import by_bisection, by_pieces, by_trying, is_monotone
from perfmodel.solving.pieces import NotRational
from perfmodel.solving.real_intervals import by_roots
from perfmodel.solving.solutions import (
    ALGEBRA,
    CLOSED,
    EXHAUSTIVE,
    MONOTONE,
    Solution,
    real_answer,
    whole_answer,
)
from perfmodel.solving.symbolic import by_algebra, without_positive_factors
from perfmodel.solving.unknowns import among, range_of


def found_in(made: str, relation: Relation, unknown: sympy.Symbol, within: Any = None) -> Solution:
    """The solution of a relation in one unknown.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> found_in("solve(...)", Relation(n * sympy.ceiling(n / 64), "<=", sympy.S(100)), n).method
    'monotone search'
    """
    if not relation.difference.has(unknown):
        holds = relation.as_sympy().doit()
        raise SolveError(f"{made}: {unknown} does not occur in {relation}, which is {holds} whatever it is")
    if relation.difference.free_symbols != {unknown}:
        alone = without_positive_factors(relation)
        if alone.difference.free_symbols == {unknown}:
            return replace(found_in(made, alone, unknown, within), relation=relation)
        answer, crossings = by_algebra(relation, unknown)
        return Solution(made, unknown, relation, ALGEBRA, (), tuple(crossings), answer)
    if unknown.is_positive is False:
        raise SolveError(f"{made}: {unknown} is never positive; sizes and rates are")
    if unknown.is_integer:
        return _whole(made, relation, unknown, within)
    return _real(made, relation, unknown)


def _real(made: str, relation: Relation, unknown: sympy.Symbol) -> Solution:
    try:
        intervals, crossings = by_roots(relation, unknown)
    except NotRational as why:
        raise SolveError(f"{made}: no closed form in {unknown}: {why}") from None
    answer = real_answer(
        unknown, intervals, lambda end: relation.holds(0) if end in crossings else holds_at(relation, unknown, end)
    )
    reason = "" if intervals else _never(relation, unknown, crossings, "no positive value")
    return Solution(made, unknown, relation, CLOSED, intervals, tuple(crossings), answer, reason)


def _whole(made: str, relation: Relation, unknown: sympy.Symbol, within: Any) -> Solution:
    tried = None if within is None else range_of(within)
    least, most = (1, None) if tried is None else (tried[0], tried[-1])
    crossings: list[Any] = []
    searched = None
    if tried is None or (isinstance(tried, range) and tried.step == 1):
        try:
            intervals, crossings = by_pieces(relation, unknown, least, most)
            method = CLOSED
        except NotRational:
            if is_monotone(relation, unknown):
                intervals, method = by_bisection(relation, unknown, least, most), MONOTONE
            else:
                tried = range_of(within)
                intervals, method, searched = by_trying(relation, unknown, tried), EXHAUSTIVE, (tried[0], tried[-1])
    else:
        intervals, method, searched = by_trying(relation, unknown, tried), EXHAUSTIVE, (tried[0], tried[-1])
    ends = searched if searched is not None else (least, most) if tried is not None else None
    nothing = "no whole number" if ends is None else f"no value of {ends[0]} .. {ends[1]}"
    reason = "" if intervals else _never(relation, unknown, crossings, nothing)
    answer = whole_answer(unknown, intervals)
    given = () if tried is None else among(unknown, tried)
    return Solution(made, unknown, relation, method, intervals, tuple(crossings), answer, reason, searched, given)


def _never(relation: Relation, unknown: sympy.Symbol, crossings: list[Any], nothing: str) -> str:
    """Why a relation holds nowhere: where its two sides are equal, or what they are at 1."""
    if crossings:
        where = ", ".join(f"{unknown} = {float(each):.4g}" for each in crossings)
        return f"{nothing} satisfies {relation}: its sides are equal at {where}, and not beyond"
    at = sympy.S.One
    sides = [difference_at(Relation(side, "==", sympy.S.Zero), unknown, at) for side in (relation.left, relation.right)]
    if None in sides:
        return f"{nothing} satisfies {relation}"
    left, right = (float(side) for side in sides)
    return f"{nothing} satisfies {relation}: at {unknown} = 1 the sides are {left:.4g} and {right:.4g}"
