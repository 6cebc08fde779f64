"""``suggest``: sizes near those wanted that suit a chip.

Conditions come first, on arrays of all candidates. What is left is estimated in full; where that were more than
``FULL`` estimates, on all machines together, those that rank best in a rough estimate (all effects, at a tile of
128 x 128 that is not searched) are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from perfmodel.catalogue import Machine, machine, named_apart
from perfmodel.effects import protocol as known_protocol
from perfmodel.errors import ExpressionError, LabelError, PerfModelError, SolveError, brief, did_you_mean, listed
from perfmodel.estimation import prepared
from perfmodel.estimation.names import names_of
from perfmodel.estimation.naming_apart import check_apart
from perfmodel.estimation.symbolic import with_symbols
from perfmodel.estimation.words import COUNTS, FACTS, fact
from perfmodel.expressions import compile_formula, dimension
from perfmodel.graph.programs import Program
from perfmodel.suggesting.candidates import Grid, grid_of
from perfmodel.suggesting.conditions import Condition, conditions_of, named, takes
from perfmodel.suggesting.odd_rows import rows_off
from perfmodel.suggesting.ranking import distances, front, ranked, scores
from perfmodel.suggesting.suggestions import ROW, Asked, Suggestion, Suggestions

FULL = 50_000
_ROUGH_TILE = (128, 128)
_BLOCK = 8192


def suggest(
    program: Program | Callable[..., Program],
    on: str | Path | Machine | Iterable[str | Path | Machine],
    within: float | Mapping[str, float] = 0.05,
    where: Any = None,
    top: int = 10,
    effects: str | Iterable[str] = "real",
    protocol: Any = None,
    **wanted: Any,
) -> Suggestions:
    """Sizes near those wanted, what each is worth on one or several machines, and why.

    ``wanted`` names symbols of the program (or labels, where it holds ints): a size, of which all within a share
    ``within`` are tried (by name too: ``{"h": 0.1}``, and 0.05 of the others), or several sizes to try. Several names
    are searched jointly. ``program`` may be a function of the names, which is called with symbols. ``where`` keeps
    candidates, as it asks in ``solve``: comparisons of the sizes, of counts (flops, memory_bytes, ...) and of facts of
    each machine (``"h % (8*heads) == 0 and memory_bytes <= capacity_bytes"``), a function of arrays by name, or
    several of these. A name may stand in ``where`` alone.

    Suggestions rank by their worth, ``gain - distance / 2``: the throughput over that of what is wanted, less half the
    relative distance, and 0.0005 more for each factor of two in a size, up to 128; 0.01 less where rows start off 16
    bytes, which costs what few have measured (such a row has a note). One is passed over only where a neighbour (as
    near as a fortieth of the range) that ranks before it, and has as many factors of two, is worth the same within a
    thousandth of the throughput (a hundredth, where its own rows alone are off 16 bytes). A name with several sizes has
    no distance, and its middle one stands for it in what is wanted. Of more than 50,000 candidates (on several
    machines, their share of them) those are estimated in full that rank best at a tile of 128 x 128. ``SolveError``
    where nothing is left, with what each condition leaves; ``LabelError`` for unknown sizes, and for one named like a
    column of the answer (gain), ``ExpressionError`` for unknown words of a condition.

    >>> from perfmodel import matmul
    >>> found = suggest(matmul(8192, 50257, 4096), "a100-sxm-80gb", n=50257)
    >>> any(each.sizes == {"n": 50304} for each in found.rows)
    True
    """
    made = _program(program, wanted, named(where, wanted))
    chips = named_apart([each if isinstance(each, Machine) else machine(each) for each in _several(on)])
    if not chips:
        raise PerfModelError("suggest: expected at least one machine: suggest(p, 'h100-sxm', n=50257)")
    if type(top) is not int or top < 1:
        raise PerfModelError(f"suggest: top={top!r}: expected how many suggestions are wanted")
    check_apart("suggest", wanted, [*ROW, f"{per_of(made)}_per_s"])
    asked = Asked(made, chips, names_of(effects), known_protocol(protocol))
    grid = grid_of(wanted, within)
    conditions = conditions_of(where, wanted, [_words(made, each, wanted) for each in chips])
    sizes = _allowed(grid, conditions)
    return _found(asked, grid, sizes, top)


def _program(given: Any, wanted: Mapping[str, Any], conditional: Collection[str]) -> Program:
    """The program with a symbol for each name that is wanted; those that conditions take need not be its own."""
    if isinstance(given, Program):
        program = with_symbols(given, _own(given, wanted, conditional), "suggest")
    elif callable(given):
        program = _called(given, [name for name in wanted if name not in conditional or takes(given, name)])
    else:
        program = given
    if not isinstance(program, Program):
        raise PerfModelError(f"suggest: expected a program, or a function that makes one, got {brief(program)}")
    symbols = [each.name for each in program.symbols]
    missing = [name for name in symbols if name not in wanted]
    if missing:
        near = did_you_mean(missing[0], wanted)
        raise LabelError(
            f"suggest: {listed(missing)} of {program.name} has no size{near}; want one, or bind it by at()"
        )
    return program


def _own(program: Program, wanted: Iterable[str], conditional: Collection[str]) -> list[str]:
    """The names that are the program's, or have to be."""
    known = {*[each.name for each in program.symbols], *program.labels}
    return [name for name in wanted if name in known or name not in conditional]


def _called(make: Callable[..., Any], names: list[str]) -> Any:
    """What a function makes of a symbol for each name."""
    said = f"suggest: {getattr(make, '__name__', brief(make))}({', '.join(names)})"
    try:
        return make(**{name: dimension(name) for name in names})
    except PerfModelError:
        raise
    except TypeError as error:
        raise ExpressionError(f"{said}: {error}") from None
    except Exception as error:  # any that a user's function raises
        raise PerfModelError(f"{said}: {type(error).__name__}: {error}") from error


def _words(program: Program, chip: Machine, wanted: Iterable[str]) -> dict[str, Callable[[], Any]]:
    """The counts and the machine's facts that a condition may name; names of sizes stand for the sizes."""
    counts: dict[str, Callable[[], Any]] = {name: partial(getattr, program, name) for name in COUNTS}
    facts: dict[str, Callable[[], Any]] = {name: partial(fact, chip, name, "suggest") for name in FACTS}
    return {name: look for name, look in (counts | facts).items() if name not in wanted}


def _several(on: Any) -> list[Any]:
    return [on] if isinstance(on, (str, Path, Machine)) or not isinstance(on, Iterable) else list(on)


def _allowed(grid: Grid, conditions: tuple[Condition, ...]) -> dict[str, Any]:
    """The candidates that every condition keeps; ``SolveError`` with what each leaves where there is none."""
    sizes, said = grid.columns(), []
    for condition in conditions:
        kept = condition.holds(sizes)
        sizes = {name: values[kept] for name, values in sizes.items()}
        left = len(next(iter(sizes.values())))
        said.append(f"{condition.text!r} leaves {left}")
        if not left:
            raise SolveError(f"suggest: of {len(grid)} candidates {', then '.join(said)}{_alone(grid, condition)}")
    return sizes


def _alone(grid: Grid, condition: Condition) -> str:
    """What the last condition leaves when it stands alone."""
    left = int(condition.holds(grid.columns()).sum())
    return f" (alone it leaves {left}: the conditions contradict each other here)" if left else "; widen within="


def _found(asked: Asked, grid: Grid, sizes: dict[str, Any], top: int) -> Suggestions:
    import numpy

    allowed, most = len(next(iter(sizes.values()))), max(1, FULL // len(asked.machines))
    wanted = _worth(asked, {name: numpy.array([size]) for name, size in grid.wanted.items()})
    if allowed > most:
        rough_gain = _gains(_worth(asked, sizes, _ROUGH_TILE), wanted)
        rough = scores(rough_gain, distances(grid, sizes), sizes, rows_off(asked.program, sizes))
        kept = numpy.sort(numpy.argpartition(-rough, most)[:most])
        sizes = {name: values[kept] for name, values in sizes.items()}
    worth = _worth(asked, sizes)
    gain, distance, off = _gains(worth, wanted), distances(grid, sizes), rows_off(asked.program, sizes)

    def row(place: int) -> Suggestion:
        times = tuple([float(each[place]) for each in worth["times"]])
        at = {name: int(values[place]) for name, values in sizes.items()}
        return Suggestion(at, times, int(worth["work"][place]), float(gain[place]), float(distance[place]), asked,
                          worth["per"])  # fmt: skip

    base = Suggestion(dict(grid.wanted), tuple([float(each[0]) for each in wanted["times"]]), int(wanted["work"][0]),
                      1.0, 0.0, asked, worth["per"])  # fmt: skip
    rows = [row(place) for place in ranked(grid, sizes, gain, distance, top, off)]
    near, small = [tuple([row(place) for place in front(cost, gain)]) for cost in (distance, worth["work"])]
    return Suggestions(tuple(rows), near, small, base, len(grid), allowed, len(gain), asked)


def _worth(asked: Asked, sizes: Mapping[str, Any], tile: Any = None) -> dict[str, Any]:
    """The work of each candidate (FLOPs, or bytes where there are none), and its seconds on each machine."""
    import numpy

    count = len(next(iter(sizes.values())))
    per = per_of(asked.program)
    formula = compile_formula(getattr(asked.program, per))
    work = numpy.broadcast_to(formula({name: sizes[name] for name in formula.symbols}), (count,))
    return {"per": per, "work": work, "times": [_times(asked, each, sizes, count, tile) for each in asked.machines]}


def per_of(program: Program) -> str:
    """What throughput counts: FLOPs, or bytes where there are none.

    >>> from perfmodel import embedding, matmul
    >>> per_of(matmul(8, 8, 8)), per_of(embedding(64, 1000, 8))
    ('flops', 'bytes')
    """
    return "flops" if program.flops != 0 else "bytes"


def _times(asked: Asked, chip: Machine, sizes: Mapping[str, Any], count: int, tile: Any) -> Any:
    """Seconds at each candidate, in blocks that stay in the cache."""
    import numpy

    found = numpy.empty(count)
    own = [each.name for each in asked.program.symbols]
    ready = prepared(asked.program, chip, asked.effects, asked.protocol, tile=tile)
    for start in range(0, count, _BLOCK):
        found[start : start + _BLOCK] = ready.at({name: sizes[name][start : start + _BLOCK] for name in own}).time_s
    return found


def _gains(worth: Mapping[str, Any], wanted: Mapping[str, Any]) -> Any:
    """The throughput of each candidate over that of what is wanted: the geometric mean over the machines."""
    import numpy

    ratios = [
        (worth["work"] / times) / (wanted["work"] / base)
        for times, base in zip(worth["times"], wanted["times"], strict=True)
    ]
    return numpy.exp(sum([numpy.log(each) for each in ratios]) / len(ratios))
