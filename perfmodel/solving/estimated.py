"""Conditions on real estimates, which have no formula: each value of a range is estimated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import sympy

from perfmodel.catalogue import Machine
from perfmodel.errors import SolveError, listed
from perfmodel.estimation import estimate, estimate_many
from perfmodel.estimation.many import BOUNDS
from perfmodel.estimation.words import RATES
from perfmodel.expressions import compile_formula, parse_tree, reals
from perfmodel.expressions.conditions import relation_of
from perfmodel.expressions.relations import CLOSE, Relation, exact
from perfmodel.graph.programs import Program
from perfmodel.solving.answers import whole_answer
from perfmodel.solving.domains import sizes_exist, taken_for_granted, where_all
from perfmodel.solving.doubling import Beyond, beyond
from perfmodel.solving.integers import Intervals, runs_of
from perfmodel.solving.quantities import BESIDE, check_words, peak_seconds_of, quantities
from perfmodel.solving.solutions import DOUBLING, EXHAUSTIVE, Solution
from perfmodel.solving.unknowns import among

_TIME = "time_s"


def is_timed(where: Any) -> bool:
    """Whether a comparison names a time, or what is made of one.

    >>> is_timed("fraction_of_peak >= 1/2"), is_timed("bytes <= beside_bytes")
    (True, False)
    """
    if not isinstance(where, str):
        return False
    return any(
        isinstance(each, ast.Name) and each.id.removeprefix(BESIDE) in RATES
        for each in ast.walk(parse_tree(where, "where"))
    )


def by_estimates(
    made: str,
    programs: Sequence[Program],
    chip: Machine | None,
    unknown: sympy.Symbol,
    where: Any,
    effects: Any,
    tried: Any,
    onward: bool = False,
) -> Solution:
    """Where a condition on ``time_s``, rates, fractions and counts holds among the values of a range; ``onward``
    beyond it too, as far as doubling tells.

    >>> from perfmodel import dims, machine, matmul
    >>> found = by_estimates("solve(...)", [matmul("n", 4096, 4096)], machine("h100-sxm"), dims("n"),
    ...                      "time_s <= 1e-3", "real", range(1, 8193))
    >>> found.method, found.searched
    ('exhaustive search', (1, 8192))
    """
    if chip is None or not isinstance(where, str):
        raise SolveError(
            f"{made}: with effects={effects!r} ask bound='compute', or in text: where='time_s <= 1e-3', of a machine"
        )
    values = _sizes(made, programs, unknown, tried)
    names: dict[str, Callable[[], Any]] = {}
    for prefix, program in zip(("", BESIDE), programs, strict=False):
        names |= _names(program, chip, prefix)
    times = [reals(f"{prefix}{_TIME}") for prefix in ("", BESIDE)[: len(programs)]]
    relation = relation_of(where, names)
    check_words(relation, {unknown, *times}, names)
    compiled = compile_formula({"left": relation.left, "right": relation.right}, symbols=[unknown, *times])

    def sides(at: Any) -> tuple[Any, Any]:
        seconds = [_estimated(made, program, chip, unknown, effects, at)[0] for program in programs]
        found = compiled({unknown.name: at, **dict(zip(map(str, times), seconds, strict=True))})
        return found["left"], found["right"]

    def holds(at: Any) -> Any:
        return relation.compared(_difference(*sides(at)))

    return _solution(
        made, relation, unknown, values, holds, tried, onward, lambda: _nearest(values, unknown, *sides(values))
    )


def by_bounds(
    made: str,
    program: Program,
    chip: Machine | None,
    unknown: sympy.Symbol,
    bound: Any,
    effects: Any,
    tried: Any,
    onward: bool = False,
) -> Solution:
    """Where real estimates are bound by compute, by memory or by launches, among the values of a range (and beyond).

    >>> from perfmodel import dims, machine, matmul
    >>> by_bounds("solve(...)", matmul("n", "n", "n"), machine("h100-sxm"), dims("n"), "launch", "real",
    ...           range(1, 8193)).least
    1
    """
    if chip is None:
        raise SolveError("solve: bound= asks about a machine: solve(p, 'h100-sxm', n, bound='compute')")
    if bound not in BOUNDS:
        raise SolveError(f"solve: bound={bound!r}: expected one of {listed(BOUNDS)}")
    values = _sizes(made, [program], unknown, tried)

    def codes(at: Any) -> Any:
        return _estimated(made, program, chip, unknown, effects, at)[1]

    def others() -> str:
        found = codes(values)
        return f"all are bound by {listed([name for place, name in enumerate(BOUNDS) if (found == place).any()])}"

    relation = Relation(sympy.Symbol("bound"), "==", sympy.Symbol(bound))
    place = BOUNDS.index(bound)
    return _solution(made, relation, unknown, values, lambda at: codes(at) == place, tried, onward, others)


def _names(program: Program, chip: Machine, prefix: str) -> dict[str, Callable[[], Any]]:
    """The quantities by name, those of an estimate as formulas of its seconds."""
    seconds = reals(f"{prefix}{_TIME}")
    timed: dict[str, Callable[[], Any]] = {
        _TIME: lambda: seconds,
        "flops_per_s": lambda: sympy.sympify(program.flops, strict=True) / seconds,
        "bytes_per_s": lambda: sympy.sympify(program.bytes, strict=True) / seconds,
        "fraction_of_peak": lambda: peak_seconds_of(program, chip) / seconds,
        "fraction_of_bandwidth": lambda: (
            sympy.sympify(program.bytes, strict=True) / exact(chip.bandwidth_bytes_per_s) / seconds
        ),
    }
    return quantities(program, chip, prefix) | {f"{prefix}{name}": look for name, look in timed.items()}


def _sizes(made: str, programs: Sequence[Program], unknown: sympy.Symbol, tried: Any) -> Any:
    """The values of the range at which the programs' sizes exist."""
    import numpy

    if any(set(program.symbols) - {unknown} for program in programs) or not unknown.is_integer:
        raise SolveError(f"{made}: real estimates take a dimension as the unknown, and values for all others")
    values = numpy.asarray(tried, dtype="int64")
    values = values[
        _inside(values, where_all([each for program in programs for each in sizes_exist(program)], unknown))
    ]
    if not len(values):
        raise SolveError(f"{made}: no value of the range is a size of the program")
    return values


def _difference(left: Any, right: Any) -> Any:
    """left - right, and 0 where they differ by less than floats of such a size tell."""
    import numpy

    scale = numpy.maximum(numpy.abs(left), numpy.abs(right))
    return numpy.where(numpy.abs(left - right) <= float(CLOSE) * scale, 0, left - right)


def _nearest(values: Any, unknown: sympy.Symbol, left: Any, right: Any) -> str:
    """Where both sides come nearest to each other."""
    import numpy

    left, right = (numpy.broadcast_to(each, values.shape) for each in (left, right))
    place = int(numpy.argmin(numpy.abs(left - right) / numpy.maximum(numpy.abs(left), numpy.abs(right))))
    return f"nearest is {unknown} = {values[place]}, with {left[place]:.4g} against {right[place]:.4g}"


def _solution(
    made: str, relation: Relation, unknown: sympy.Symbol, values: Any, holds: Callable[[Any], Any], tried: Any,
    onward: bool, nearest: Callable[[], str],
) -> Solution:  # fmt: skip
    """The solution of what holds among values, and ``onward`` beyond them."""
    import numpy

    searched, given, method = (int(values[0]), int(values[-1])), among(unknown, tried), EXHAUSTIVE
    found = Beyond(runs_of(values, numpy.broadcast_to(holds(values), values.shape)), None, "")
    if onward and len(values) > 1:
        found = beyond(holds, found.intervals, searched[1])
        searched = searched if found.last is None else (searched[0], found.last)
        given, method = ((*given, f"tried {found.said}"), DOUBLING) if found.said else (given, method)
    reason = "" if found.intervals else f"no value of {searched[0]} .. {searched[1]}: {nearest()}"
    answer = whole_answer(unknown, found.intervals)
    return Solution(made, unknown, relation, method, found.intervals, (), answer, reason, searched, given)


def _inside(values: Any, intervals: Intervals) -> Any:
    import numpy

    found = numpy.zeros(len(values), dtype=bool)
    for first, last in intervals:
        found |= (values >= first) & (values <= (values[-1] if last is None else last))
    return found


def _estimated(made: str, program: Program, chip: Machine, unknown: sympy.Symbol, effects: Any, values: Any) -> Any:
    """The times and the codes of bounds; where a loop of the program is dropped, those of its estimate by itself."""
    import numpy

    if unknown not in program.symbols:
        alone = estimate(program, chip, effects=effects)
        return numpy.full(len(values), alone.time_s), numpy.full(len(values), BOUNDS.index(alone.bound))
    found = estimate_many(program, chip, {unknown.name: values}, effects=effects)
    if found.unknown:
        raise SolveError(f"{made}: no time without a rate: {found.unknown[0]}")
    granted = taken_for_granted(program)
    beyond = ~_inside(values, where_all(granted, unknown)) if granted else []
    seconds, codes = found.time_s.copy(), found.bound_codes.copy()
    for place, value in enumerate(values.tolist()):
        if len(beyond) and beyond[place]:
            alone = estimate(program.at({unknown.name: value}), chip, effects=effects)
            seconds[place], codes[place] = alone.time_s, BOUNDS.index(alone.bound)
    return seconds, codes
