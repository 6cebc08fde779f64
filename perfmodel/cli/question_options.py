"""The options of the commands that ask questions: solve; the commands themselves load when they are run."""

from __future__ import annotations

from perfmodel.cli.shared_options import Add, add_effects, add_program

_SOLVE = """\
The unknown is a symbol or a label of the program, "bits" or "W.bits". A condition compares counts (flops, bytes,
memory_bytes, footprint_bytes, ...), times and rates (time_s, flops_per_s, fraction_of_peak, ...), facts of the chip
(capacity_bytes, ...) and numbers.

examples:
  perfmodel solve "matmul(n, n, n)" n --on h100-sxm --bound compute
  perfmodel solve "attention(n, n, 128, heads=32)" n --on h100-sxm --fits
  perfmodel solve "gemv(8192, 8192, batch=b)" b --on h100-sxm --where "time_s <= 1e-4" --effects real --json
"""


def add_question_commands(add: Add) -> None:
    """Add the commands, each by ``add(name, about, examples, home)``.

    >>> from perfmodel.cli.options import parser
    >>> parser().parse_args(["solve", "matmul(n, n, n)", "n", "--fits", "--on", "h100-sxm"]).unknown
    'n'
    """
    made = add("solve", "for which values of one unknown a condition holds", _SOLVE, "solving.solved")
    add_program(made, several=False)
    add_effects(made, "ideal")
    option = made.add_argument
    option("unknown", metavar="UNKNOWN", help="a symbol or label of it, bits, or W.bits of a tensor W")
    option("--on", metavar="MACHINE", help="a chip, or a path in .toml")
    option("--bound", metavar="NAME", help="bound by compute, or by memory")
    option("--fits", action="store_true", help="fits the memory of the chip")
    option("--where", metavar="CONDITION", help="such as 'time_s <= 1e-3' or 'n %% 128 == 0 and bytes <= 1e9'")
    option("--within", metavar="FIRST..LAST", help="the values to try, where a search is needed")
