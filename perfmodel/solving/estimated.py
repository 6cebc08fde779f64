"""Conditions on real estimates, which have no formula: each value of a range is estimated."""

from __future__ import annotations

from typing import Any

import sympy

from perfmodel.catalogue import Machine
from perfmodel.errors import SolveError
from perfmodel.estimation import estimate_many
from perfmodel.expressions import compile_formula, reals
from perfmodel.graph.programs import Program
from perfmodel.solving.integers import runs_of
from perfmodel.solving.quantities import quantities
from perfmodel.solving.relations import relation_of
from perfmodel.solving.solutions import EXHAUSTIVE, Solution, whole_answer

_TIME = "time_s"


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
    names = quantities(program, None) | {_TIME: lambda: seconds}
    relation = relation_of(where, names)
    values = numpy.asarray(tried, dtype="int64")
    found = estimate_many(program, chip, {unknown.name: values}, effects=effects)
    if found.unknown:
        raise SolveError(f"{made}: no time without a rate: {found.unknown[0]}")
    compiled = compile_formula({"difference": relation.difference}, symbols=[unknown, seconds])
    difference = compiled({unknown.name: values, _TIME: found.time_s})["difference"]
    held = relation.compared(difference)
    intervals = runs_of(values, held)
    searched = (int(values[0]), int(values[-1]))
    least = float(numpy.min(found.time_s))
    reason = "" if intervals else f"no value of {searched[0]} .. {searched[1]}: the least time is {least:.4g} s"
    answer = whole_answer(unknown, intervals)
    return Solution(made, unknown, relation, EXHAUSTIVE, intervals, (), answer, reason, searched)
