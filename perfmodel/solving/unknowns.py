"""Which symbol is asked for, and the range of values that it may have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sympy

from perfmodel.catalogue import Machine
from perfmodel.errors import SolveError, did_you_mean, listed
from perfmodel.expressions import LARGEST_SIZE, dimension, reals
from perfmodel.expressions.relations import Relation
from perfmodel.graph.programs import Program

SEARCHED = 2**20  # the range that is tried where nothing else is said: no model dimension is larger
ESTIMATED = 2**14  # the same for real estimates, of which there are a hundred thousand a second
_MOST_TRIED = 2**26
FIGURES = ("bandwidth_bytes_per_s", "capacity_bytes", "peak")


def unknown_of(subject: Program | Sequence[Relation], on: Any, given: Any) -> sympy.Symbol:
    """The symbol of an unknown given as symbol or name; ``SolveError`` where it does not occur.

    >>> from perfmodel import matmul
    >>> unknown_of(matmul("n", 64, 64), None, "n"), unknown_of(matmul(8, 64, 64), None, "m")
    (n, m)
    """
    if not isinstance(given, (str, sympy.Symbol)):
        raise SolveError(f"solve: the unknown is a symbol or its name, got {given!r}")
    name = str(given)
    symbols = {each.name: each for each in _symbols(subject, on)}
    if name in symbols:
        return symbols[name]
    labels = _fixed_labels(subject) if isinstance(subject, Program) else ()
    if name in labels:
        return dimension(name)
    if isinstance(subject, Program) and name in subject.labels:
        raise SolveError(f"solve: {name!r} is a label of size {subject.labels[name]}: solve for a symbol in it")
    known = (*symbols, *labels, *(FIGURES if isinstance(on, Machine) else ()))
    raise SolveError(f"solve: {name!r} does not occur{did_you_mean(name, known)}; there are {listed(known) or 'none'}")


def opened(chip: Machine | None, given: Any, program: Program) -> Machine | None:
    """The machine with a symbol for the figure that is asked for by its name: what a program's peak, say, has to be.

    >>> from perfmodel import machine, matmul
    >>> opened(machine("h100-sxm"), "bandwidth_bytes_per_s", matmul(8, 8, 8)).bandwidth_bytes_per_s
    bandwidth_bytes_per_s
    """
    name = str(given) if isinstance(given, (str, sympy.Symbol)) else ""
    if name not in FIGURES or name in {each.name for each in _symbols(program, chip)} | set(_fixed_labels(program)):
        return chip
    if chip is None:
        raise SolveError(f"solve: {name} is a figure of a machine: solve(p, 'h100-sxm', {name!r}, ...)")
    symbol = reals(name)
    if name != "peak":
        return chip.replace(**{name: symbol})
    formats = sorted({work.compute.name for item in program.counted for work in item.works if work.unit == "matrix"})
    if not formats:
        raise SolveError("solve: the program computes nothing on a matrix unit, so no peak of one bounds it")
    if len(formats) != 1:
        raise SolveError(
            f"solve: the peak of {listed(formats)}: ask of one, machine.replace(peak={{'bf16': pm.reals('peak')}})"
        )
    return chip.replace(peak={formats[0]: symbol})


def _symbols(subject: Program | Sequence[Relation], on: Any) -> set[sympy.Symbol]:
    if not isinstance(subject, Program):
        return {each for relation in subject for each in relation.difference.free_symbols}
    found = set(subject.symbols)
    if isinstance(on, Machine):
        rates = [peak.flops_per_s for peak in on.peaks]
        for value in (on.bandwidth_bytes_per_s, on.capacity_bytes, *rates):
            found |= getattr(value, "free_symbols", set())
    return found


def _fixed_labels(program: Program) -> tuple[str, ...]:
    """The labels whose size is an int: each may be asked for by its name."""
    return tuple(label for label, size in program.labels.items() if isinstance(size, int))


def prepared(program: Program, unknown: sympy.Symbol) -> Program:
    """The program with the unknown in it: a label that held an int measures the unknown instead.

    >>> from perfmodel import dims, matmul
    >>> prepared(matmul(8, 64, 64), dims("m")).flops
    8192*m
    """
    return program.at({unknown.name: unknown}) if unknown.name in _fixed_labels(program) else program


def range_of(within: Any, most: int = SEARCHED) -> Sequence[int]:
    """The values to try, ascending: a range, a pair (least, most), or values of one's own.

    >>> range_of((1, 4)), range_of([8, 2]), range_of(None)
    (range(1, 5), [2, 8], range(1, 1048577))
    """
    if within is None:
        return range(1, most + 1)
    if isinstance(within, range):
        return _checked(within if within.step > 0 else within[::-1])
    if isinstance(within, tuple) and len(within) == 2:
        return _checked(range(_whole(within[0]), _whole(within[1]) + 1))
    if isinstance(within, Iterable) and not isinstance(within, (str, bytes)):
        return _checked(sorted({_whole(each) for each in within}))
    raise SolveError(f"solve: within={within!r}: expected (least, most), a range or a list of whole numbers")


def among(unknown: sympy.Symbol, values: Sequence[int]) -> tuple[str, ...]:
    """What an answer takes for granted that tried some values of a range, not all: intervals are of neighbours tried.

    >>> n = sympy.Symbol("n")
    >>> among(n, range(1, 9)), among(n, [2, 8])
    ((), ('n is one of 2 values tried from 2 to 8',))
    """
    if isinstance(values, range) and values.step == 1:
        return ()
    return (f"{unknown} is one of {len(values)} values tried from {values[0]} to {values[-1]}",)


def _checked(values: Sequence[int]) -> Sequence[int]:
    if not values:
        raise SolveError("solve: within= holds no value")
    if values[0] < 1 or values[-1] > LARGEST_SIZE:
        raise SolveError(f"solve: within= holds {values[0]} .. {values[-1]}; sizes are 1 .. 2^52")
    if len(values) > _MOST_TRIED:
        raise SolveError(f"solve: within= holds {len(values)} values; at most {_MOST_TRIED} are tried")
    return values


def _whole(value: Any) -> int:
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        found = 0
    if isinstance(value, bool) or found != value:
        raise SolveError(f"solve: within= holds {value!r}; expected whole numbers")
    return found
