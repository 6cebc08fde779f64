"""The options of the commands on warps; the commands themselves load when they are run."""

from __future__ import annotations

import argparse

from perfmodel.cli.shared_options import Add

_INDEX = """\
An index is in t, the thread (and lane, warp; x, y, z, block with --block), with whole numbers, + - * // % ** << >>
& | ^ ~, comparisons, and, or, not, if else, min, max, abs. It is never run as code.
"""
_OCCUPANCY = """\
examples:
  perfmodel occupancy h100-sxm --threads 256 --registers 64
  perfmodel occupancy 8.0 --threads 128 --registers 96 --shared-bytes 40960
"""
_DIVERGENCE = f"""\
{_INDEX}
examples:
  perfmodel divergence "t % 2 == 0" --threads 128 --steps 10 10
  perfmodel divergence "5 - t % 3" --threads 32 --steps 1
"""
_TRANSACTIONS = f"""\
{_INDEX}
examples:
  perfmodel transactions "32*t" --element-bytes 4
  perfmodel transactions "4096*y + x" --block 8 4 --json
"""
_BANKS = f"""\
{_INDEX}
examples:
  perfmodel bank-conflicts "32*t"
  perfmodel bank-conflicts "32*t + (t ^ 5)" --element-bytes 4
"""


def add_warp_commands(add: Add) -> None:
    """Add the commands, each by ``add(name, about, examples, home)``.

    >>> from perfmodel.cli.options import parser
    >>> parser().parse_args(["occupancy", "9.0", "--threads", "128"]).threads
    128
    """
    made = add("occupancy", "blocks resident on a multiprocessor, what limits them", _OCCUPANCY, "warps.occupied")
    made.add_argument("machine", metavar="MACHINE", help="a chip, or a compute capability such as 9.0")
    _numbers(made, {"threads": 256, "registers": 64, "shared-bytes": 0, "carveout-bytes": None})
    made = add("divergence", "steps that warps issue for a branch or a loop", _DIVERGENCE, "warps.diverged")
    made.add_argument("condition", metavar="CONDITION", help="a condition of t; with one number of steps, turns of t")
    made.add_argument("--steps", metavar="N", type=int, nargs="+", default=[10, 10], help="of both sides, or of a turn")
    _numbers(made, {"threads": 128})
    _launch(made)
    made = add("transactions", "lines of memory that the threads of a warp touch", _TRANSACTIONS, "warps.transacted")
    made.add_argument("index", metavar="INDEX", help="the element that thread t reads")
    _numbers(made, {"element-bytes": 4, "line-bytes": 128, "sector-bytes": None, "offset-bytes": 0, "threads": 32})
    _launch(made)
    made = add("bank-conflicts", "passes over the banks of shared memory", _BANKS, "warps.banked")
    made.add_argument("index", metavar="INDEX", help="the element that thread t reads")
    _numbers(made, {"element-bytes": 4, "banks": 32, "bank-bytes": 4, "offset-bytes": 0, "threads": 32})
    _launch(made)


def _numbers(made: argparse.ArgumentParser, usual: dict[str, int | None]) -> None:
    for name, value in usual.items():
        said = "" if value is None else f"({value} unless given)"
        made.add_argument(f"--{name}", metavar="N", type=int, default=value, help=said)


def _launch(made: argparse.ArgumentParser) -> None:
    made.add_argument("--warp", metavar="N", type=int, default=32, help="threads of a warp (32 unless given)")
    made.add_argument("--block", metavar="N", type=int, nargs="+", help="the shape of a block: x, or x y, or x y z")
