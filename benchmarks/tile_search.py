"""The search of a million combinations of tile sizes of a matmul, beside the same formula in numpy by hand, in one run.

The matmul is 100 x 100 x 100 with every size of m, n and k to try, in bf16, under a capacity. By hand, the bytes and
the footprint are written down, evaluated for all sizes and the least looked up; ``best_tiles`` derives them from the
program, for each set of labels that stay whole. Printed are the seconds of the first call (modules loaded before it)
and the least of the rounds, which take turns; the aim is at most 0.5 s for the first. Nothing is asserted: a time is
no test.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np

import perfmodel as pm


def by_hand(extent: int, room: int) -> tuple[int, ...]:
    """The least bytes, then the smaller footprint, then the larger tiles, of all sizes that fit."""
    m, n, k = np.ix_(*[np.arange(1, extent + 1)] * 3)
    matrix = 2 * extent * extent
    moved = matrix * (-(-extent // n) + -(-extent // m) + 1) + np.zeros_like(k)
    held = 2 * (m * k + k * n + m * n)
    places = np.flatnonzero(held <= room)
    for key in (moved, held):
        values = key.reshape(-1)[places]
        places = places[values == values.min()]
    best = int(places[-1])
    sizes = [int(number) + 1 for number in np.unravel_index(best, moved.shape)]
    return (*sizes, int(moved.flat[best]), int(held.flat[best]))


def searched(extent: int, room: int) -> tuple[int, ...]:
    """The same by the library."""
    found = pm.best_tiles(pm.matmul(extent, extent, extent), sizes="all", capacity_bytes=room)
    return found.leading[0]


def timed(run: Any, *args: int) -> tuple[float, tuple[int, ...]]:
    start = perf_counter()
    found = run(*args)
    return perf_counter() - start, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extent", type=int, default=100, help="m, n and k (default: 100, a million combinations)")
    parser.add_argument("--capacity", type=int, default=8192, help="bytes that a block may hold (default: 8192)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the best counts (default: 5)")
    given = parser.parse_args()
    asked = (given.extent, given.capacity)
    searched(2, 64)  # loads the modules
    first, answer = timed(searched, *asked)
    rounds = [(timed(by_hand, *asked), timed(searched, *asked)) for _ in range(given.rounds)]
    hand = min(seconds for (seconds, _), _ in rounds)
    warm = min(seconds for _, (seconds, _) in rounds)
    print(f"{given.extent**3} combinations, best of {given.rounds} rounds")
    print(f"first call {first * 1e3:7.1f} ms  (aim: at most 500 ms for 10^6)")
    print(f"later ones {warm * 1e3:7.1f} ms")
    print(f"by hand    {hand * 1e3:7.1f} ms: the library takes {warm / hand:.2f} times as long")
    print("m, n, k, bytes, footprint:", answer, "as by hand" if answer == by_hand(*asked) else "NOT as by hand")


if __name__ == "__main__":
    main()
