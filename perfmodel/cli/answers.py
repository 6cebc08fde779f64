"""``perfmodel estimate`` and ``perfmodel explain``: programs from text, counted, and held against chips."""

from __future__ import annotations

import argparse
from itertools import product
from typing import Any

from perfmodel.catalogue import machine
from perfmodel.cli.ranges import pairs
from perfmodel.comparing import Comparison
from perfmodel.errors import PerfModelError
from perfmodel.estimation import Estimate, Measured, estimate
from perfmodel.expressions import Size
from perfmodel.graph.programs import Program
from perfmodel.reading import describe, read_size
from perfmodel.showing import percent, quantity
from perfmodel.transforms import cast, fuse


def estimated(options: argparse.Namespace) -> Any:
    """Each program on each machine: the workings and a comparison, or both as plain data.

    >>> from perfmodel.cli.options import parser
    >>> call = ["estimate", "gemv(8192, 8192)", "--on", "h100-sxm", "--effects", "ideal"]
    >>> print(estimated(parser().parse_args(call)).splitlines()[0])
    gemv(n=8192 k=8192, bf16) on h100-sxm: 40.05 us, memory-bound (hbm), 0.34 % of peak,
    """
    programs, chips = programs_of(options), [machine(name) for name in options.on]
    found = [
        estimate(program, chip, effects=options.effects, without=options.without)
        for program, chip in product(programs, chips)
    ]
    measured = _measured(options.measured, found)
    if options.json:
        return _as_data(programs, found, measured)
    parts = [str(each.explain()) for each in found]
    if measured is not None:
        parts[0] += f"\n{_beside(measured)}"
    return "\n\n".join([*parts, repr(Comparison(tuple(found)))] if len(found) > 1 else parts)


def counted(options: argparse.Namespace) -> Any:
    """The counts of each program with their formulas, or as plain data.

    >>> from perfmodel.cli.options import parser
    >>> print(counted(parser().parse_args(["explain", "matmul(m, n, k)"])).splitlines()[1])
      matmul: 2 m n k FLOP; 2 (m n + m k + n k) B
    """
    programs = programs_of(options)
    if options.json:
        return {"programs": [program.to_dict() for program in programs]}
    return "\n\n".join(str(program.explain()) for program in programs)


def programs_of(options: argparse.Namespace) -> list[Program]:
    """The programs that the text describes, with sizes, format and staging as the options say.

    >>> from perfmodel.cli.options import parser
    >>> [p.flops for p in programs_of(parser().parse_args(["explain", "matmul(m, 8, 8)", "--at", "m=4"]))]
    [512]
    """
    sizes = _sizes(options.at)
    return [_prepared(describe(text), sizes, options) for text in options.program]


def _prepared(program: Program, sizes: dict[str, Size], options: argparse.Namespace) -> Program:
    if sizes:
        program = program.at(sizes)
    if options.dtype is not None:
        program = cast(program, options.dtype)
    if options.fuse is not None:
        program = fuse(program, by=None if options.fuse is True else options.fuse)
    return program


def _sizes(given: list[str]) -> dict[str, Size]:
    """Sizes by name from texts such as ``n=4096``."""
    found = pairs(given, "--at", "expected NAME=SIZE, such as --at n=4096")
    return {name: read_size(value, f"--at {name}") for name, value in found.items()}


def _measured(seconds: float | None, found: list[Estimate]) -> Measured | None:
    if seconds is None:
        return None
    if len(found) > 1:
        raise PerfModelError("--measured: a time is of one program on one machine; give one of each")
    return found[0].against(seconds)


def _beside(measured: Measured) -> str:
    """A line of the working for a measured time."""
    return (
        f"  measured {quantity(measured.seconds, 's')}: {measured.ratio:.3g} times as long; "
        f"{quantity(measured.flops_per_s, 'FLOP/s')} ({percent(measured.fraction_of_peak)} of peak), "
        f"{quantity(measured.bytes_per_s, 'B/s')} ({percent(measured.fraction_of_bandwidth)} of bandwidth)"
    )


def _as_data(programs: list[Program], found: list[Estimate], measured: Measured | None) -> dict[str, Any]:
    return {
        "programs": [program.to_dict() for program in programs],
        "estimates": [each.to_dict() for each in found],
        "comparison": Comparison(tuple(found)).to_dict(),
        "measured": None if measured is None else measured.to_dict(),
    }
