"""``perfmodel solve``: the values of one unknown for which a program on a chip does what is asked."""

from __future__ import annotations

import argparse
from typing import Any

from perfmodel.cli.answers import programs_of
from perfmodel.errors import SolveError
from perfmodel.solving import Solution, solve


def solved(options: argparse.Namespace) -> Solution:
    """The answer.

    >>> from perfmodel.cli.options import parser
    >>> given = ["solve", "matmul(n, n, n)", "n", "--on", "h100-sxm", "--bound", "compute"]
    >>> int(solved(parser().parse_args(given)))
    886
    """
    program, *more = programs_of(options)
    if more:
        raise SolveError("solve: give one program and one unknown")
    return solve(
        program,
        options.on,
        options.unknown,
        bound=options.bound,
        fits=options.fits,
        where=options.where,
        effects=options.effects,
        within=_range(options.within),
    )


def _range(text: str | None) -> Any:
    """The first and last value of a range such as ``1..4096``."""
    if text is None:
        return None
    first, dots, last = (part.strip() for part in text.partition(".."))
    if not (first.isdigit() and dots and last.isdigit()):
        raise SolveError(f"--within {text!r}: expected FIRST..LAST, such as --within 1..4096")
    return int(first), int(last)
