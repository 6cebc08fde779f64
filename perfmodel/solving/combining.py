"""Conditions joined by and, or and not: each comparison is solved by itself, and the answers are combined."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import sympy

from perfmodel.expressions.relations import Joint
from perfmodel.solving.exactly import holds_at
from perfmodel.solving.integers import Intervals, common, joined, merged, runs_of, without
from perfmodel.solving.pieces import between
from perfmodel.solving.solutions import ALGEBRA, Solution, real_answer, whole_answer

_MOST_SAID = 3  # answers of single comparisons that a reason repeats


def combined(made: str, condition: Joint, parts: Sequence[Solution], among: Intervals, tried: Any = None) -> Solution:
    """The solution of a joint condition from those of its comparisons, in their order.

    ``among`` are the whole numbers asked of (all at which the sizes exist), ``tried`` those of a list.

    >>> from perfmodel import solve
    >>> solve("n % 8 == 0 and 100 <= n < 120", "n").intervals
    ((104, 104), (112, 112))
    >>> solve("n < 8 or not n <= 30", "n").answer
    'n <= 7 or n >= 31'
    """
    unknown = parts[0].unknown
    method = " and ".join(dict.fromkeys(each.method for each in parts))
    given = tuple(dict.fromkeys(each for part in parts for each in part.given))
    values = tuple(_ascending({each for part in parts for each in part.values}))
    if any(part.method == ALGEBRA for part in parts):
        return Solution(made, unknown, condition, method, (), values, _algebra(condition, parts), given=given)
    if not unknown.is_integer:
        intervals, answer = _real(condition, parts)
        reason = "" if intervals else _never(parts)
        return Solution(made, unknown, condition, method, intervals, values, answer, reason, given=given)
    searched = _searched(parts)
    if searched is not None:
        among = common(among, (searched,))
    whole = _listed(condition, parts, tried) if tried is not None else _whole(condition, parts, among)
    answer = whole_answer(unknown, whole)
    reason = "" if whole else _never(parts)
    return Solution(made, unknown, condition, method, whole, values, answer, reason, searched, given)


def _ascending(values: set[Any]) -> list[Any]:
    numbers = all(sympy.sympify(each, strict=True).is_number for each in values)
    return sorted(values, key=(lambda each: sympy.N(each, 30)) if numbers else str)


def _searched(parts: Sequence[Solution]) -> tuple[int, int] | None:
    """The range that every search covered."""
    ranges = [part.searched for part in parts if part.searched is not None]
    return (max(low for low, _ in ranges), min(high for _, high in ranges)) if ranges else None


def _folded(condition: Joint, answers: Sequence[Any], joins: Any) -> Any:
    """The condition with the answers in place of its comparisons, in order."""
    left = iter(answers)
    return condition.folded(lambda _: next(left), joins)


def _algebra(condition: Joint, parts: Sequence[Solution]) -> Any:
    joins = {"and": lambda each: sympy.And(*each), "or": lambda each: sympy.Or(*each), "not": lambda each: ~each[0]}
    return _folded(condition, [part.expression for part in parts], joins)


def _whole(condition: Joint, parts: Sequence[Solution], among: Intervals) -> Intervals:
    def every(each: list[Intervals]) -> Intervals:
        found = each[0]
        for one in each[1:]:
            found = common(found, one)
        return found

    joins = {
        "and": every,
        "or": lambda each: joined(merged(each)),
        "not": lambda each: without(((1, None),), each[0]),
    }
    return common(_folded(condition, [part.intervals for part in parts], joins), among)


def _listed(condition: Joint, parts: Sequence[Solution], tried: Any) -> Intervals:
    """The values of a list for which the condition holds, neighbours as one interval."""
    import numpy

    values = numpy.asarray(tried, dtype="int64")
    held = []
    for part in parts:
        inside = numpy.zeros(len(values), dtype=bool)
        for first, last in part.intervals:
            inside |= (values >= first) & (values <= (values[-1] if last is None else last))
        held.append(inside)
    joins = {"and": numpy.logical_and.reduce, "or": numpy.logical_or.reduce, "not": lambda each: ~each[0]}
    return runs_of(values, _folded(condition, held, joins))


def _real(condition: Joint, parts: Sequence[Solution]) -> tuple[tuple[tuple[Any, Any], ...], Any]:
    """The intervals of positive reals: what holds changes at the ends of the parts' intervals alone."""
    cuts = {end for part in parts for pair in part.intervals for end in pair if end not in (0, sympy.oo)}
    edges = [sympy.S.Zero, *_ascending(cuts), sympy.oo]
    joins = {"and": all, "or": any, "not": lambda each: not each[0]}

    def holds(value: Any) -> bool:
        return bool(_folded(condition, [_has(part, value) for part in parts], joins))

    found: list[tuple[Any, Any]] = []
    for low, high in pairwise(edges):
        at_low = low != 0 and holds(low)
        beyond = holds(between(low, high))
        if at_low and found and found[-1][1] == low:
            found[-1] = (found[-1][0], high if beyond else low)
        elif beyond:
            found.append((low, high))
        elif at_low:
            found.append((low, low))
    return tuple(found), real_answer(parts[0].unknown, tuple(found), holds)


def _has(part: Solution, value: Any) -> bool:
    """Whether a solution in positive reals holds a value; ends are decided by its relation."""
    if any(low < value and value < high for low, high in part.intervals):
        return True
    if not any(value in pair for pair in part.intervals):
        return False
    return part.relation.holds(0) if value in part.values else holds_at(part.relation, part.unknown, value)


def _never(parts: Sequence[Solution]) -> str:
    """Why nothing is left: where each comparison holds by itself."""
    said = [f"{part.relation} where {part.answer}" if part else part.reason for part in parts[:_MOST_SAID]]
    more = f", and {len(parts) - _MOST_SAID} more" if len(parts) > _MOST_SAID else ""
    return f"no value satisfies all of it: {'; '.join(said)}{more}"
