"""``perfmodel solve``: the values of one unknown for which a program on a chip does what is asked."""

from __future__ import annotations

import argparse
from typing import Any

from perfmodel.cli.answers import programs_of
from perfmodel.errors import SolveError
from perfmodel.solving import solve


def solved(options: argparse.Namespace) -> Any:
    """The answer with its working, or as plain data.

    >>> from perfmodel.cli.options import parser
    >>> given = ["solve", "matmul(n, n, n)", "n", "--on", "h100-sxm", "--bound", "compute"]
    >>> print(solved(parser().parse_args(given)).splitlines()[-2])
      answer    n >= 886
    """
    program, *more = programs_of(options)
    if more:
        raise SolveError("solve: give one program and one unknown")
    found = solve(
        program,
        options.on,
        options.unknown,
        bound=options.bound,
        fits=options.fits,
        where=options.where,
        effects=_effects(options.effects),
        within=_range(options.within),
    )
    return found.to_dict() if options.json else str(found.explain())


def _effects(text: str) -> Any:
    names = tuple(name.strip() for name in text.split(","))
    return names if len(names) > 1 else names[0]


def _range(text: str | None) -> Any:
    """The first and last value of a range such as ``1..4096``."""
    if text is None:
        return None
    first, dots, last = (part.strip() for part in text.partition(".."))
    if not (first.isdigit() and dots and last.isdigit()):
        raise SolveError(f"--within {text!r}: expected FIRST..LAST, such as --within 1..4096")
    return int(first), int(last)
