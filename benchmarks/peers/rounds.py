"""What the scripts of the peers share: shapes, and rounds that are timed and answered as lines of JSON.

It needs nothing but Python, since each peer runs it in its own environment.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any


def shapes(count: int) -> list[tuple[int, int, int]]:
    """So many sizes m, n, k of a GEMM, each from 1 to 16,384: the same ones in each environment."""
    draw = random.Random(0)
    return [(draw.randint(1, 16_384), draw.randint(1, 16_384), draw.randint(1, 16_384)) for _ in range(count)]


def answer(point: str, count: int, run: Callable[[], Any], sample: Callable[[], Any]) -> None:
    """Time ``run``, which asks ``count`` points, and print one line of JSON; with ``--wait``, one for each line read.

    ``sample`` is one answer in seconds: it shows that the peer answered, and warms it up.
    """
    found = float(sample())
    if "--wait" not in sys.argv:
        say(point, count, run, found)
        return
    print("{}", flush=True)  # ready
    for _ in sys.stdin:
        say(point, count, run, found)


def say(point: str, count: int, run: Callable[[], Any], sample: float) -> None:
    """One round: seconds of this process (user and system, all of its threads), and those of the clock."""
    clock, own = perf_counter(), process_time()
    run()
    own, clock = process_time() - own, perf_counter() - clock
    line = {"points": count, "seconds": own, "clock_seconds": clock, "points_per_s": count / own, "point": point}
    print(json.dumps(line | {"sample_s": sample}), flush=True)


def each(ask: Callable[..., Any], points: list[Any]) -> Callable[[], None]:
    """A loop that asks at one point after another."""

    def run() -> None:
        for point in points:
            ask(*point)

    return run


def repository() -> Path:
    """The folder that holds perfmodel's benchmarks and examples."""
    return Path(__file__).resolve().parents[2]
