"""The options of the commands that ask questions: solve; the commands themselves load when they are run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

Run = Callable[[argparse.Namespace], Any]

_SOLVE = """\
The unknown is a symbol or a label of the program, "bits" or "W.bits". A condition compares counts (flops, bytes,
memory_bytes, footprint_bytes, ...), times and rates (time_s, flops_per_s, fraction_of_peak, ...), facts of the chip
(capacity_bytes, ...) and numbers.

examples:
  perfmodel solve "matmul(n, n, n)" n --on h100-sxm --bound compute
  perfmodel solve "attention(n, n, 128, heads=32)" n --on h100-sxm --fits
  perfmodel solve "gemv(8192, 8192, batch=b)" b --on h100-sxm --where "time_s <= 1e-4" --effects real --json
"""


def add_question_commands(add: Callable[[str, str, str, Run], argparse.ArgumentParser]) -> None:
    """Add the commands, each by ``add(name, about, examples, run)``.

    >>> from perfmodel.cli.options import parser
    >>> parser().parse_args(["solve", "matmul(n, n, n)", "n", "--fits", "--on", "h100-sxm"]).unknown
    'n'
    """
    option = add("solve", "for which values of one unknown a condition holds", _SOLVE, _solve).add_argument
    option("program", metavar="PROGRAM", nargs=1, help="a description such as 'matmul(n, n, n)'")
    option("unknown", metavar="UNKNOWN", help="a symbol or label of it, bits, or W.bits of a tensor W")
    option("--on", metavar="MACHINE", help="a chip, or a path in .toml")
    option("--bound", metavar="NAME", help="bound by compute, or by memory")
    option("--fits", action="store_true", help="fits the memory of the chip")
    option("--where", metavar="CONDITION", help="such as 'time_s <= 1e-3' or 'n %% 128 == 0 and bytes <= 1e9'")
    option("--effects", metavar="NAMES", default="ideal", help="ideal (default), real, or effects by name with commas")
    option("--within", metavar="FIRST..LAST", help="the values to try, where a search is needed")
    option("--at", metavar="NAME=SIZE", action="append", default=[], help="give a symbol or label a size (repeatable)")
    option("--dtype", metavar="FORMAT", help="cast every tensor to this number format")
    option("--fuse", metavar="stage", nargs="?", const=True, help="fuse all, or by stage; put it last")


def _solve(options: argparse.Namespace) -> Any:
    from perfmodel.cli.solving import solved

    return solved(options)
