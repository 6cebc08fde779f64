"""Sweeps of a matmul, in one run: the real estimate, and tiles and waves at a fixed tile beside numpy by hand.

1. The real estimate (tile search, waves, every effect) over random shapes on four machines; the aim is 10^6 shapes in
   at most 40 s on one core.
2. Blocks and waves at a fixed tile of 256 x 128 on one machine, the roofline beside them: by hand, the formula is
   written in numpy and evaluated in blocks that stay in the cache; ``sweep`` derives it from the program, and gives a
   table. The aim is 0.85 of the points a second by hand.

Seconds are of this process (the machine may be shared); rounds take turns and the best of each counts. Nothing is
asserted: a time is no test.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pandas

import perfmodel as pm

CHIPS = ["a100-sxm-80gb", "h100-sxm", "l40s", "mi300x"]
EFFECTS = ("roofline", "tile quantization", "wave quantization")
BLOCK = 16_384


def shapes(count: int) -> pandas.DataFrame:
    random = np.random.default_rng(0)
    return pandas.DataFrame({name: random.integers(1, 16_385, count) for name in "mnk"})


def by_hand(points: pandas.DataFrame, chip: pm.Machine) -> pandas.DataFrame:
    """Seconds of blocks of 256 x 128 in whole waves and steps of 64, beside those of memory."""
    units, peak, bandwidth = chip.units, float(chip.peak("bf16")), float(chip.bandwidth_bytes_per_s)
    columns = {name: points[name].to_numpy() for name in "mnk"}
    found = np.empty(len(points))
    for start in range(0, len(points), BLOCK):
        m, n, k = (columns[name][start : start + BLOCK] for name in "mnk")
        blocks = -(-m // 256) * -(-n // 128)
        compute = -(-blocks // units) * (k * (2 * 256 * 128 * units / peak))
        memory = 2 * (m * k + k * n + m * n) / bandwidth
        found[start : start + BLOCK] = np.maximum(compute, memory)
    return pandas.DataFrame({**columns, "machine": chip.name, "time_s": found})


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = process_time()
    found = run()
    return process_time() - start, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", type=int, default=30_000, help="shapes of the real estimate (default: 30,000)")
    parser.add_argument("--fixed", type=int, default=1_000_000, help="shapes at the fixed tile (default: 1,000,000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the best counts (default: 5)")
    given = parser.parse_args()
    program, chip = pm.matmul("m", "n", "k"), pm.machine("a100-sxm-80gb")
    seconds, _ = timed(lambda: pm.sweep(program, shapes(given.real), CHIPS, "time_s"))
    million = seconds / given.real * 1e6
    print(f"real      {given.real} shapes x {len(CHIPS)} machines {seconds:6.2f} s: {million:.1f} s for 10^6 (aim: 40)")

    points = shapes(given.fixed)
    library: Callable[[], Any] = lambda: pm.sweep(program, points, chip, "time_s", effects=EFFECTS, tile=(256, 128))  # noqa: E731
    apart = float((library()["time_s"] / by_hand(points, chip)["time_s"] - 1).abs().max())
    rounds = [(timed(lambda: by_hand(points, chip))[0], timed(library)[0]) for _ in range(given.rounds)]
    hand, own = (min(column) for column in zip(*rounds, strict=True))
    print(f"by hand   {given.fixed} shapes {hand:6.3f} s: {given.fixed / hand / 1e6:.1f} million a second")
    print(f"sweep     {given.fixed} shapes {own:6.3f} s: {given.fixed / own / 1e6:.1f} million a second")
    print(f"          {hand / own:.2f} of the speed by hand (aim: 0.85); times differ by at most {apart:.0%}")


if __name__ == "__main__":
    main()
