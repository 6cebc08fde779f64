"""Conditions joined by and, or and not: each comparison is solved by itself, and the answers are combined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import sympy

from perfmodel.expressions.relations import Joint
from perfmodel.solving.answers import ends_of, real_answer, whole_answer
from perfmodel.solving.exactly import holds_at
from perfmodel.solving.integers import Intervals, runs_of
from perfmodel.solving.patterns import Run, Runs, both, combine, either, of_intervals
from perfmodel.solving.pieces import between
from perfmodel.solving.solutions import ALGEBRA, Solution, with_pattern

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
    found = Solution(made, unknown, condition, method, values=values, given=given, searched=_searched(parts))
    if tried is not None:
        whole = _listed(condition, parts, tried)
        found = replace(found, intervals=whole, expression=whole_answer(unknown, whole))
    else:
        found = _whole(found, condition, parts, of_intervals(among))
    return found if found else replace(found, reason=_never(parts))


def _ascending(values: set[Any]) -> list[Any]:
    numbers = all(sympy.sympify(each, strict=True).is_number for each in values)
    return sorted(values, key=(lambda each: sympy.N(each, 30)) if numbers else str)


def _searched(parts: Sequence[Solution]) -> tuple[int, int] | None:
    """The range that every search covered whose end is one of the answer's."""
    ranges = [part.searched for part in parts if part.searched is not None and part.unknown_beyond is None]
    return (max(low for low, _ in ranges), min(high for _, high in ranges)) if ranges else None


def _folded(condition: Joint, answers: Sequence[Any], joins: Any) -> Any:
    """The condition with the answers in place of its comparisons, in order."""
    left = iter(answers)
    return condition.folded(lambda _: next(left), joins)


def _algebra(condition: Joint, parts: Sequence[Solution]) -> Any:
    joins = {"and": lambda each: sympy.And(*each), "or": lambda each: sympy.Or(*each), "not": lambda each: ~each[0]}
    return _folded(condition, [part.expression for part in parts], joins)


def _whole(found: Solution, condition: Joint, parts: Sequence[Solution], among: Runs) -> Solution:
    """The values that hold for certain; where a part claims nothing beyond a value, they end where that matters."""
    certain, possible = [], []
    for part in parts:
        open_end = () if part.unknown_beyond is None else (Run(part.unknown_beyond + 1, None),)
        certain.append(part.pattern)
        possible.append(combine([part.pattern, open_end], either))

    def asked(which: int) -> Runs:
        """Where the condition holds: 0 for certain, 1 at most."""

        def join(masks: list[int], full: int) -> int:
            pairs = list(zip(masks[: len(parts)], masks[len(parts) : -1], strict=True))
            joins = {
                "and": lambda each: tuple(both(list(side), full) for side in zip(*each, strict=True)),
                "or": lambda each: tuple(either(list(side), full) for side in zip(*each, strict=True)),
                "not": lambda each: (full & ~each[0][1], full & ~each[0][0]),
            }
            return int(_folded(condition, pairs, joins)[which]) & masks[-1]

        return combine([*certain, *possible, among], join)

    surely, maybe = asked(0), asked(1)
    open_values = combine([maybe, surely], lambda masks, full: masks[0] & ~masks[1])
    end = ends_of(open_values[0])[0] - 1 if open_values else None
    if found.searched is not None and _reaches(maybe, found.searched[1]):
        end = found.searched[1] if end is None else min(end, found.searched[1])
    if end is not None:
        surely = combine([surely, (Run(1, end),)], both)
    return with_pattern(replace(found, unknown_beyond=end), surely)


def _reaches(runs: Runs, end: int) -> bool:
    """Whether values lie beyond an end."""
    return bool(runs) and (runs[-1].last is None or (ends_of(runs[-1])[1] or 0) > end)


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
