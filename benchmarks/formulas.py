"""A compiled roofline formula with ceilings beside the same formula by hand, and by sympy's lambdify, in one run.

The formula is the time of a bf16 matmul on 132 processors: blocks of 256 x 128, whole waves of blocks, and the
bytes of the three matrices, at random shapes. Printed are points a second (the best of the rounds, which take
turns, so that whatever slows the machine slows all three), their ratio, and at how many points the counts of
blocks and waves differ from those of whole-number arithmetic. The aim: at least 0.85 of the speed by hand, and
no count wrong. Nothing is asserted: a time is no test.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import sympy

from perfmodel.expressions import compile_formula, dims

PEAK = 989_400_000_000_000  # dense bf16 FLOP/s of an H100 SXM, from its data sheet
BANDWIDTH = 3_352_000_000_000  # bytes/s
PROCESSORS, BLOCK_M, BLOCK_N = 132, 256, 128
BYTES = 2

m, n, k = dims("m n k")
TILES = sympy.ceiling(m / BLOCK_M) * sympy.ceiling(n / BLOCK_N)
WAVES = sympy.ceiling(TILES / PROCESSORS)
TIME = sympy.Max(
    WAVES * PROCESSORS * 2 * BLOCK_M * BLOCK_N * k / PEAK,
    BYTES * (m * k + k * n + m * n) / sympy.Integer(BANDWIDTH),
)
Shapes = dict[str, Any]


def by_hand(shapes: Shapes, block: int) -> Any:
    """The time as someone who knows numpy writes it: blocks that stay in the cache, exact ceilings."""
    points = len(shapes["m"])
    result = np.empty(points)
    for start in range(0, points, block):
        m, n, k = (shapes[name][start : start + block].astype(np.float64) for name in "mnk")
        waves = np.ceil(np.ceil(m / BLOCK_M) * np.ceil(n / BLOCK_N) / PROCESSORS)
        compute = waves * k * (PROCESSORS * 2 * BLOCK_M * BLOCK_N / PEAK)
        memory = (m * k + k * n + m * n) * (BYTES / BANDWIDTH)
        result[start : start + block] = np.maximum(compute, memory)
    return result


def whole_counts(shapes: Shapes) -> dict[str, Any]:
    """Blocks and waves in whole numbers."""
    tiles = -(-shapes["m"] // BLOCK_M) * -(-shapes["n"] // BLOCK_N)
    return {"tiles": tiles, "waves": -(-tiles // PROCESSORS)}


def best_seconds(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least time of each way over the rounds; they take turns."""
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            start = perf_counter()
            way()
            best[name] = min(best[name], perf_counter() - start)
    return best


def print_speeds(shapes: Shapes, rounds: int, block: int) -> None:
    start = perf_counter()
    compiled = compile_formula(TIME)
    print(f"compiling takes {(perf_counter() - start) * 1e3:.1f} ms")
    plain = sympy.lambdify((m, n, k), TIME, "numpy")
    ways = {
        "by hand": lambda: by_hand(shapes, block),
        "compiled": lambda: compiled(shapes),
        "lambdify": lambda: plain(**shapes),
    }
    seconds = best_seconds(ways, rounds)
    points = len(shapes["m"])
    for name, least in seconds.items():
        print(f"{name:9} {points / least / 1e6:6.1f} M points/s")
    print(f"compiled against by hand {seconds['by hand'] / seconds['compiled']:.2f}  (aim: at least 0.85)")
    apart = np.max(np.abs(compiled(shapes) / by_hand(shapes, block) - 1))
    print(f"times differ by at most {apart:.1e} of themselves")


def print_wrong_counts(shapes: Shapes) -> None:
    right = whole_counts(shapes)
    compiled = compile_formula({"tiles": TILES, "waves": WAVES}, "m n k")(shapes)
    for name, formula in (("tiles", TILES), ("waves", WAVES)):
        plain = sympy.lambdify((m, n), formula, "numpy")(shapes["m"], shapes["n"])
        wrong = {"compiled": np.sum(compiled[name] != right[name]), "lambdify": np.sum(plain != right[name])}
        print(f"{name} that are wrong:", ", ".join(f"{way} {count}" for way, count in wrong.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=10**7, help="random shapes (default: 10^7)")
    parser.add_argument("--largest", type=int, default=16384, help="the largest of m, n, k (default: 16384)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of which the best counts (default: 3)")
    parser.add_argument("--block", type=int, default=8192, help="block of the formula by hand (default: 8192)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    shapes = {name: random.integers(1, given.largest + 1, given.points) for name in "mnk"}
    print(f"{given.points} random shapes up to {given.largest}, best of {given.rounds} rounds")
    print_speeds(shapes, given.rounds, given.block)
    print_wrong_counts(shapes)


if __name__ == "__main__":
    main()
