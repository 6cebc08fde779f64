"""How a relation is solved: in closed form where there is one, else by a search that says which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sympy

from perfmodel.errors import SolveError
from perfmodel.expressions.relations import Relation
from perfmodel.solving.exactly import difference_at, holds_at
from perfmodel.solving.integers import MOST_SUMMED, by_bisection, by_pieces, by_trying, is_monotone
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

_FEW_SUMMED = 2**12  # the range of sums over blocks that is tried first


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
                tried = range_of(within) if tried is not None else _enclosing(relation, unknown)
                intervals, method, searched = by_trying(relation, unknown, tried), EXHAUSTIVE, (tried[0], tried[-1])
    else:
        intervals, method, searched = by_trying(relation, unknown, tried), EXHAUSTIVE, (tried[0], tried[-1])
    ends = searched if searched is not None else (least, most) if tried is not None else None
    nothing = "no whole number" if ends is None else f"no value of {ends[0]} .. {ends[1]}"
    reason = "" if intervals else _never(relation, unknown, crossings, nothing, ends or (1, None))
    answer = whole_answer(unknown, intervals)
    given = () if tried is None else among(unknown, tried)
    return Solution(made, unknown, relation, method, intervals, tuple(crossings), answer, reason, searched, given)


def _enclosing(relation: Relation, unknown: sympy.Symbol) -> Sequence[int]:
    """The range to try where none is given; of sums over blocks it doubles until both answers occur at its ends."""
    if not relation.difference.has(sympy.Sum):
        return range_of(None)
    most, first = _FEW_SUMMED, holds_at(relation, unknown, sympy.S.One)
    while most < MOST_SUMMED and by_trying(relation, unknown, [1, most]) == (((1, most),) if first else ()):
        most *= 2
    return range_of((1, most))


def _never(
    relation: Relation, unknown: sympy.Symbol, crossings: list[Any], nothing: str, ends: tuple[Any, Any] = (1, None)
) -> str:
    """Why a relation holds nowhere: where its two sides are equal, or what they are at the ends of the range."""
    if crossings:
        where = ", ".join(f"{unknown} = {float(each):.4g}" for each in crossings)
        return f"{nothing} satisfies {relation}: its sides are equal at {where}, and not beyond"
    said = [_sides_at(relation, unknown, end) for end in ends if end is not None]
    told = " and ".join([f"{sides} at {unknown} = {end}" for end, sides in zip(ends, said, strict=False) if sides])
    return f"{nothing} satisfies {relation}" + (f": the sides are {told}" if told else "")


def _sides_at(relation: Relation, unknown: sympy.Symbol, value: Any) -> str:
    """Both sides at a value as numbers; nothing where one has none."""
    both = (relation.left, relation.right)
    sides = [difference_at(Relation(side, "==", sympy.S.Zero), unknown, sympy.Integer(value)) for side in both]
    return "" if None in sides else " against ".join([f"{float(side):.4g}" for side in sides])
