"""Conditions on real estimates, which have no formula: each value of a range is estimated."""

from __future__ import annotations

from typing import Any

import sympy

from perfmodel.catalogue import Machine
from perfmodel.errors import SolveError
from perfmodel.estimation import estimate, estimate_many
from perfmodel.expressions import compile_formula, reals
from perfmodel.graph.programs import Program
from perfmodel.solving.domains import sizes_exist, taken_for_granted, where_all
from perfmodel.solving.integers import Intervals, runs_of
from perfmodel.solving.quantities import quantities
from perfmodel.solving.relations import relation_of
from perfmodel.solving.solutions import EXHAUSTIVE, Solution, whole_answer
from perfmodel.solving.unknowns import among

_TIME, _WITH_GRID = "time_s", "footprint_bytes"


def by_estimates(
    made: str, program: Program, chip: Machine | None, unknown: sympy.Symbol, where: Any, effects: Any, tried: Any
) -> Solution:
    """Where a condition on ``time_s`` (and counts) holds among the values of a range.

    >>> from perfmodel import dims, machine, matmul
    >>> found = by_estimates("solve(...)", matmul("n", 4096, 4096), machine("h100-sxm"), dims("n"),
    ...                      "time_s <= 1e-3", "real", range(1, 8193))
    >>> found.method, found.searched
    ('exhaustive search', (1, 8192))
    """
    import numpy

    if chip is None or not isinstance(where, str):
        raise SolveError(f"{made}: with effects={effects!r} ask in text: where='time_s <= 1e-3', of a machine")
    if (program.symbols and set(program.symbols) != {unknown}) or not unknown.is_integer:
        raise SolveError(f"{made}: real estimates take a dimension as the unknown, and values for all others")
    seconds = reals(_TIME)
    names = quantities(program, None) | {
        _TIME: lambda: seconds,
        "flops_per_s": lambda: sympy.sympify(program.flops, strict=True) / seconds,
        "bytes_per_s": lambda: sympy.sympify(program.bytes, strict=True) / seconds,
    }
    relation = relation_of(where, names)
    values = numpy.asarray(tried, dtype="int64")
    values = values[_inside(values, where_all(sizes_exist(program), unknown))]
    if not len(values):
        raise SolveError(f"{made}: no value of the range is a size of the program")
    seconds_at = _seconds(made, program, chip, unknown, effects, values)
    compiled = compile_formula({"difference": relation.difference}, symbols=[unknown, seconds])
    held = relation.compared(compiled({unknown.name: values, _TIME: seconds_at})["difference"])
    intervals = runs_of(values, held)
    searched = (int(values[0]), int(values[-1]))
    least = float(numpy.min(seconds_at))
    reason = "" if intervals else f"no value of {searched[0]} .. {searched[1]}: the least time is {least:.4g} s"
    answer = whole_answer(unknown, intervals)
    given = among(unknown, tried)
    return Solution(made, unknown, relation, EXHAUSTIVE, intervals, (), answer, reason, searched, given)


def _inside(values: Any, intervals: Intervals) -> Any:
    import numpy

    found = numpy.zeros(len(values), dtype=bool)
    for first, last in intervals:
        found |= (values >= first) & (values <= (values[-1] if last is None else last))
    return found


def _seconds(made: str, program: Program, chip: Machine, unknown: sympy.Symbol, effects: Any, values: Any) -> Any:
    """The time at each value; where a loop of the program is dropped, its estimate by itself."""
    found = estimate_many(program, chip, {unknown.name: values}, effects=effects)
    if found.unknown:
        raise SolveError(f"{made}: no time without a rate: {found.unknown[0]}")
    granted = taken_for_granted(program, _WITH_GRID)
    beyond = ~_inside(values, where_all(granted, unknown)) if granted else []
    seconds = found.time_s.copy()
    for place, value in enumerate(values.tolist()):
        if len(beyond) and beyond[place]:
            seconds[place] = estimate(program.at({unknown.name: value}), chip, effects=effects).time_s
    return seconds
