"""How a relation is solved: in closed form where there is one, else by a search that says which."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import sympy

from perfmodel.errors import SolveError
from perfmodel.expressions.relations import Relation
from perfmodel.solving.answers import real_answer, whole_answer
from perfmodel.solving.envelopes import by_envelopes
from perfmodel.solving.exactly import holds_at
from perfmodel.solving.integers import FURTHEST, MOST_SUMMED, by_bisection, by_pieces, by_trying, is_monotone, joined
from perfmodel.solving.patterns import MOST_LISTED, of_intervals
from perfmodel.solving.pieces import NotRational
from perfmodel.solving.real_intervals import by_roots
from perfmodel.solving.reasons import never
from perfmodel.solving.residues import by_residues, work_of
from perfmodel.solving.solutions import (
    ALGEBRA,
    CLOSED,
    ENVELOPES,
    EXHAUSTIVE,
    MONOTONE,
    RESIDUES,
    Solution,
    with_pattern,
)
from perfmodel.solving.symbolic import by_algebra, without_positive_factors
from perfmodel.solving.unknowns import among, range_of

_QUICK = 2**14  # parts of formulas in residue classes: below a second
_FEW_EXACT = 2**11  # values that are tried in exact numbers
_FEW_SUMMED = 2**12  # the range of sums over blocks that is tried first


def found_in(made: str, relation: Relation, unknown: sympy.Symbol, within: Any = None) -> Solution:
    """The solution of a relation in one unknown.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> found_in("solve(...)", Relation(n * sympy.ceiling(n / 64), "<=", sympy.S(100)), n).method
    'monotone search'
    """
    if not relation.difference.has(unknown):
        return _either_way(made, relation, unknown)
    if relation.difference.free_symbols != {unknown}:
        alone = without_positive_factors(relation)
        if alone.difference.free_symbols == {unknown}:
            return replace(found_in(made, alone, unknown, within), relation=relation)
        answer, crossings = by_algebra(relation, unknown)
        found = Solution(made, unknown, relation, ALGEBRA, (), tuple(crossings), answer)
        return replace(found, reason=_by_signs(relation, unknown)) if answer is sympy.false else found
    if unknown.is_positive is False:
        raise SolveError(f"{made}: {unknown} is never positive; sizes and rates are")
    if unknown.is_integer:
        return _whole(made, relation, unknown, within)
    return _real(made, relation, unknown)


def _either_way(made: str, relation: Relation, unknown: sympy.Symbol) -> Solution:
    """Every value or none, where an unknown that stands on both sides cancels; refused where it stands on none."""
    holds = relation.as_sympy().doit()
    if not (relation.left.has(unknown) or relation.right.has(unknown)) or holds not in (sympy.true, sympy.false):
        raise SolveError(f"{made}: {unknown} does not occur in {relation}, which is {holds} whatever it is")
    answer, intervals = (sympy.true, ((1 if unknown.is_integer else 0, None),)) if holds else (sympy.false, ())
    found = Solution(made, unknown, relation, CLOSED, intervals, (), answer)
    return found if holds else replace(found, reason=f"{unknown} cancels, and {relation} is false whatever it is")


def _by_signs(relation: Relation, unknown: sympy.Symbol) -> str:
    """Why a relation with other symbols never holds."""
    others = ", ".join(sorted(map(str, relation.difference.free_symbols - {unknown})))
    return f"it never holds: whatever {unknown} and {others} are, {relation} is false where they are positive"


def _real(made: str, relation: Relation, unknown: sympy.Symbol) -> Solution:
    try:
        intervals, crossings = by_roots(relation, unknown)
    except NotRational as why:
        raise SolveError(f"{made}: no closed form in {unknown}: {why}") from None
    answer = real_answer(
        unknown, intervals, lambda end: relation.holds(0) if end in crossings else holds_at(relation, unknown, end)
    )
    reason = "" if intervals else never(relation, unknown, crossings, (None, None), nothing="no positive value")
    return Solution(made, unknown, relation, CLOSED, intervals, tuple(crossings), answer, reason)


def _whole(made: str, relation: Relation, unknown: sympy.Symbol, within: Any) -> Solution:
    if within is None:
        return _endless(made, relation, unknown)
    tried = range_of(within)
    least, most, searched = tried[0], tried[-1], None
    crossings: list[Any] = []
    try:
        if not (isinstance(tried, range) and tried.step == 1):
            raise NotRational("a list of values")
        intervals, crossings = by_pieces(relation, unknown, least, most)
        method = CLOSED
    except NotRational:
        if isinstance(tried, range) and tried.step == 1 and is_monotone(relation, unknown):
            (intervals, _), method = by_bisection(relation, unknown, least, most), MONOTONE
        else:
            intervals, method, searched = by_trying(relation, unknown, tried), EXHAUSTIVE, (least, most)
    reason = "" if intervals else never(relation, unknown, crossings, (least, most))
    answer, given = whole_answer(unknown, intervals), among(unknown, tried)
    return Solution(made, unknown, relation, method, intervals, tuple(crossings), answer, reason, searched, given)


def _endless(made: str, relation: Relation, unknown: sympy.Symbol) -> Solution:
    """The solution among all whole numbers: proved, or with the last value that a search speaks of."""
    found = Solution(made, unknown, relation, CLOSED)
    try:
        intervals, crossings = by_pieces(relation, unknown, 1, None)
        found = replace(with_pattern(found, of_intervals(intervals)), values=tuple(crossings))
    except NotRational:
        found = _searched(found)
    reason = "" if found else never(relation, unknown, list(found.values), (1, found.unknown_beyond), found.method)
    return replace(found, reason=reason)


def _searched(found: Solution) -> Solution:
    """The solution of what has no polynomial pieces: by one edge, by residue classes, or by trying."""
    relation, unknown = found.relation, found.unknown
    monotone = is_monotone(relation, unknown)
    intervals, complete = by_bisection(relation, unknown, 1, None) if monotone else ((), False)
    if complete:
        return with_pattern(replace(found, method=MONOTONE), of_intervals(intervals))
    ways = ((RESIDUES, by_residues), (ENVELOPES, by_envelopes))
    for method, way in ways if work_of(relation) <= _QUICK else ways[::-1]:
        with suppress(NotRational):
            return with_pattern(replace(found, method=method), way(relation, unknown))
    if monotone:
        claimed = replace(found, method=MONOTONE, searched=(1, FURTHEST), unknown_beyond=FURTHEST)
        return with_pattern(claimed, of_intervals(intervals))
    try:
        tried = _enclosing(relation, unknown)
        intervals = by_trying(relation, unknown, tried)
    except SolveError:  # numbers beyond those of arrays
        if relation.difference.has(sympy.Sum):
            raise
        tried = range(1, _FEW_EXACT + 1)
        held = [(each, each) for each in tried if holds_at(relation, unknown, sympy.Integer(each))]
        intervals = joined(held)
    last = tried[-1]
    if len(intervals) > MOST_LISTED:
        last, intervals = intervals[MOST_LISTED][0] - 1, intervals[:MOST_LISTED]
    claimed = replace(found, method=EXHAUSTIVE, searched=(1, last), unknown_beyond=last)
    return with_pattern(claimed, of_intervals(intervals))


def _enclosing(relation: Relation, unknown: sympy.Symbol) -> Sequence[int]:
    """The range to try where none is given; of sums over blocks it doubles until both answers occur at its ends."""
    if not relation.difference.has(sympy.Sum):
        return range_of(None)
    most, first = _FEW_SUMMED, holds_at(relation, unknown, sympy.S.One)
    while most < MOST_SUMMED and by_trying(relation, unknown, [1, most]) == (((1, most),) if first else ()):
        most *= 2
    return range_of((1, most))
