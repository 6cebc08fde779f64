"""The columns of a sweep: counts from compiled formulas, times from estimates of many sizes at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import sympy

from perfmodel.catalogue import Machine
from perfmodel.errors import ExpressionError, PerfModelError, did_you_mean, listed
from perfmodel.estimation import Estimates, estimate, prepared
from perfmodel.estimation.values import peak_seconds
from perfmodel.estimation.words import COUNTS
from perfmodel.expressions import as_expression, compile_formula
from perfmodel.graph.programs import Program


class _Asked(Protocol):
    """What a question says of its quantities."""

    @property
    def metrics(self) -> tuple[str, ...]: ...
    @property
    def effects(self) -> Any: ...
    @property
    def protocol(self) -> Any: ...
    @property
    def tile(self) -> Any: ...
    @property
    def schedule(self) -> str: ...


TIMES = (
    "time_s", "ideal_time_s", "flops_per_s", "bytes_per_s", "bound", "is_least", "tile_m", "tile_n", "tile_splits",
    "fraction_of_peak", "fraction_of_bandwidth",
)  # fmt: skip
DEFAULT_COUNTS = ("flops", "bytes", "intensity")
DEFAULT_TIMES = ("time_s", "flops_per_s", "bytes_per_s", "bound")
_RATES = {"flops_per_s": "flops", "bytes_per_s": "bytes"}
_ready = lru_cache(maxsize=32)(prepared)
_FRACTIONS = ("fraction_of_peak", "fraction_of_bandwidth")  # in the order of ``peak_seconds``
TILES = {"tile_m": "m", "tile_n": "n", "tile_splits": "splits"}


def checked_metrics(given: Any, timed: bool) -> tuple[str, ...]:
    """The quantities asked for; all that are usual where none is named. ``ExpressionError`` for an unknown one.

    >>> checked_metrics(None, timed=False)
    ('flops', 'bytes', 'intensity')
    """
    known = COUNTS + (TIMES if timed else ())
    if given is None:
        return DEFAULT_COUNTS + (DEFAULT_TIMES if timed else ())
    names = tuple(dict.fromkeys(given)) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    if not names:
        raise ExpressionError(f"sweep: no quantity is asked for; there are {listed(known)}")
    for name in names:
        if name not in known:
            hint = " times need a machine: on=...;" if name in TIMES else ""
            raise ExpressionError(
                f"sweep: no quantity {name!r}{did_you_mean(str(name), known)};{hint} there are {listed(known)}"
            )
    return names


def columns_of(
    program: Program, sizes: Mapping[str, Any], count: int, chip: Machine | None, asked: _Asked
) -> dict[str, Any]:
    """The quantities of a program at so many points, as arrays in the order of the points.

    Points at which an assumption of the formulas does not hold (a tile that is larger than its extent) are counted
    one by one, exactly; all are, where the program has no formulas in symbols (tiles of formats that share scales).

    >>> import numpy
    >>> from perfmodel import matmul
    >>> from perfmodel.sweeping.sweeper import question
    >>> program = matmul("n", "n", "n")
    >>> asked = question(program, {"n": [1, 2]}, None, "flops")
    >>> columns_of(program, {"n": numpy.array([1, 2])}, 2, None, asked)
    {'flops': array([ 2, 16])}
    """
    import numpy

    try:
        broken = _broken(program, sizes, count)
        if broken is None:
            return _columns(program, sizes, count, chip, asked)
        whole = numpy.flatnonzero(~broken)
        kept = sizes if len(whole) == count else {name: values[whole] for name, values in sizes.items()}
        parts: list[tuple[Any, dict[str, Any]]] = []
        if len(whole):
            parts = [(None if len(whole) == count else whole, _columns(program, kept, len(whole), chip, asked))]
    except PerfModelError:
        if not sizes:
            raise
        broken, parts = numpy.ones(count, dtype=bool), []
    for place in numpy.flatnonzero(broken).tolist():
        bound = program.at({name: int(values[place]) for name, values in sizes.items()})
        parts.append(([place], _columns(bound, {}, 1, chip, asked)))
    return joined(parts, count)


def joined(parts: Sequence[tuple[Any, dict[str, Any]]], count: int) -> dict[str, Any]:
    """Columns of parts of the points, each put at its places; places of None are all of them.

    >>> import numpy
    >>> joined([([1], {"a": numpy.array([7])}), ([0], {"a": numpy.array([3])})], 2)
    {'a': array([3, 7])}
    """
    import numpy

    if len(parts) == 1 and parts[0][0] is None:
        return parts[0][1]
    found: dict[str, Any] = {}
    for name in parts[0][1]:
        kind = numpy.result_type(*[columns[name].dtype for _, columns in parts])
        found[name] = numpy.empty(count, dtype=kind)
        for places, columns in parts:
            found[name][places] = columns[name]
    return found


def _broken(program: Program, sizes: Mapping[str, Any], count: int) -> Any:
    """Whether something that the formulas take for granted does not hold, at each point; None where they hold."""
    import numpy

    if not program.assumptions:
        return None
    found = numpy.zeros(count, dtype=bool)
    for each in program.assumptions:
        names = {symbol.name for symbol in each.free_symbols}
        compiled = compile_formula({"low": each.lts, "high": each.gts}, symbols=names)
        sides = compiled({name: sizes[name] for name in names})
        strict = isinstance(each, (sympy.StrictLessThan, sympy.StrictGreaterThan))
        found |= sides["low"] >= sides["high"] if strict else sides["low"] > sides["high"]
    return found


def _columns(
    program: Program, sizes: Mapping[str, Any], count: int, chip: Machine | None, asked: _Asked
) -> dict[str, Any]:
    metrics = asked.metrics
    found: dict[str, Any] = {}
    for name in {_RATES.get(name, name) for name in metrics} & set(COUNTS):
        found[name] = _counted(getattr(program, name), sizes, count)
    if chip is not None and set(metrics) & set(_FRACTIONS):
        at_peak = peak_seconds(estimate(program, chip, effects="ideal"))
        found |= {name: _counted(each, sizes, count) for name, each in zip(_FRACTIONS, at_peak, strict=True)}
    if chip is not None and set(metrics) & set(TIMES):
        ready = _ready if sizes else prepared  # a program with sizes comes again, block after block
        timed = ready(program, chip, asked.effects, asked.protocol, tile=asked.tile, schedule=asked.schedule).at(sizes)
        found |= {name: _timed(name, timed, found, count) for name in metrics if name in TIMES[:1] + TIMES[2:]}
        if "ideal_time_s" in metrics:
            found["ideal_time_s"] = _filled(ready(program, chip, "ideal").at(sizes).time_s, count)
    return {name: found[name] for name in metrics}


def _timed(name: str, timed: Estimates, counts: Mapping[str, Any], count: int) -> Any:
    """One quantity of estimates of many sizes; a rate is nan where nothing has a known rate, a bound a code."""
    import numpy

    if name in TILES:
        return _filled(0 if timed.tiles is None else getattr(timed.tiles, TILES[name]), count).astype("int64")
    if name == "bound":
        return timed.bound_codes
    if name == "is_least":
        return numpy.full(count, bool(timed.unknown))
    if name not in _RATES and name not in _FRACTIONS:
        return _filled(getattr(timed, name), count)
    seconds = _filled(timed.time_s, count)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return counts[_RATES.get(name, name)] / seconds


def _counted(formula: Any, sizes: Mapping[str, Any], count: int) -> Any:
    expr = as_expression(formula)
    names = [each.name for each in expr.free_symbols]
    return _filled(compile_formula(expr)({name: sizes[name] for name in names}) if names else _number(expr), count)


def _number(expr: Any) -> int | float:
    return int(expr) if expr.is_Integer else float(expr)


def _filled(values: Any, count: int) -> Any:
    import numpy

    return numpy.broadcast_to(numpy.asarray(values), (count,))
