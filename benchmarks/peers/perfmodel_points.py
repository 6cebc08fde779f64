"""perfmodel, and the same formula by hand in numpy: the roofline with blocks of 256 x 128 in whole waves.

The argument says which: ``sweep`` (a table), ``many`` (``estimate_many``: an array), ``hand`` (numpy in blocks that
stay in the cache, then a table), ``model`` (a decode step of Llama 3.1 70B, all its kernels, by ``sweep``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy
import pandas
from rounds import answer, repository, shapes

import perfmodel as pm

sys.path += [str(repository() / "benchmarks"), str(repository() / "examples")]

from llama_decode_table import layer, stacked
from sweeping import EFFECTS, by_hand

BLOCK = 65_536
CHIP, TILE = pm.machine("a100-sxm-80gb"), (256, 128)
GEMM = pm.matmul("m", "n", "k")


def sweep(points: pandas.DataFrame) -> Any:
    return pm.sweep(GEMM, points, CHIP, "time_s", effects=EFFECTS, tile=TILE)["time_s"]


def many(points: pandas.DataFrame) -> Any:
    """Blocks as large as those of ``sweep``."""
    found = []
    for start in range(0, len(points), BLOCK):
        sizes = {name: points[name].to_numpy()[start : start + BLOCK] for name in "mnk"}
        found.append(pm.estimate_many(GEMM, CHIP, sizes, effects=EFFECTS, tile=TILE).time_s)
    return numpy.concatenate(found)


def hand(points: pandas.DataFrame) -> Any:
    return by_hand(points, CHIP)["time_s"]


def model() -> None:
    """A decode step over a context of 8,192 tokens: the ideal roofline of each kernel, summed."""
    program, count = stacked(layer(pm.dims("batch"))), 50_000
    ask: Callable[[int], Any] = lambda last: pm.sweep(  # noqa: E731
        program, {"batch": range(1, last + 1)}, CHIP, "time_s", effects="ideal"
    )["time_s"]
    answer(
        "Llama 3.1 70B, a decode step at a batch: the roofline of each of its kernels, summed (`sweep`)",
        count,
        lambda: ask(count),
        lambda: ask(1)[0],
    )


def gemm(name: str) -> None:
    count = 1_000_000
    ask = {"sweep": sweep, "many": many, "hand": hand}[name]
    points = pandas.DataFrame(shapes(count), columns=list("mnk"))
    how = {"sweep": "`sweep`, a table", "many": "`estimate_many`, arrays", "hand": "numpy by hand, a table"}[name]
    answer(
        f"a GEMM: the roofline with blocks of 256 x 128 in whole waves ({how})",
        count,
        lambda: ask(points),
        lambda: ask(pandas.DataFrame([(4096, 4096, 4096)], columns=list("mnk")))[0],
    )


model() if "model" in sys.argv else gemm(sys.argv[1])
