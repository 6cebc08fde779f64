"""How long an estimate takes: a concrete matmul on a chip, and attention built and counted in symbols.

Warm figures are medians over many runs in one process. Cold ones are medians of first runs, each in an interpreter
of its own that has imported sympy and perfmodel: once with perfmodel's modules loaded beforehand, once with their
loading on the clock (they load when they are first used). The aims are printed beside the figures. Nothing is
asserted: a time is no test.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

import perfmodel as pm

COLD = """
from time import perf_counter as t
import sympy
import perfmodel as pm
{loaded}
start = t()
p = pm.attention(q="n", kv="n", d=128, heads=32, kv_heads=8, causal=True)
p.flops_by_unit, p.bytes
print(t() - start)
"""


def concrete() -> float:
    """The time of a matmul of ints on an H100 by the ideal roofline."""
    return float(pm.estimate(pm.matmul(4096, 4096, 4096), "h100-sxm", effects="ideal").time_s)


def symbolic(causal: bool) -> object:
    """Attention built in the symbol n, with its work by unit and its bytes."""
    p = pm.attention(q="n", kv="n", d=128, heads=32, kv_heads=8, causal=causal)
    return p.flops_by_unit, p.bytes


def warm_seconds(run: Callable[[], object], runs: int) -> float:
    """The median of so many runs, after a few that do not count."""
    for _ in range(3):
        run()
    found = []
    for _ in range(runs):
        start = perf_counter()
        run()
        found.append(perf_counter() - start)
    return median(found)


def cold_seconds(runs: int, loaded: str = "") -> float:
    """The median of first runs, each in a fresh interpreter, after what is ``loaded`` there."""
    command = [sys.executable, "-c", COLD.format(loaded=loaded)]
    return median(
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(runs)
    )


def row(what: str, seconds: float, aim: float) -> None:
    """One line: what was timed, how long it took, and the aim."""
    unit, factor = ("us", 1e6) if aim < 1e-3 else ("ms", 1e3)
    print(f"{what:<46} {seconds * factor:7.1f} {unit}   aim: at most {aim * factor:.0f} {unit}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=2000, help="runs of the concrete estimate (default: 2000)")
    repeat = parser.parse_args().repeat
    row("estimate(matmul(4096, 4096, 4096)), ideal", warm_seconds(concrete, repeat), 100e-6)
    row("attention in symbols, counted, warm", warm_seconds(lambda: symbolic(False), repeat // 20 + 1), 5e-3)
    row("causal attention in symbols, counted, warm", warm_seconds(lambda: symbolic(True), repeat // 20 + 1), 5e-3)
    cold = repeat // 200 + 1
    row("the same, cold", cold_seconds(cold, "import perfmodel.descriptors"), 100e-3)
    row("the same, cold, modules loaded on the clock", cold_seconds(cold), 100e-3)


if __name__ == "__main__":
    main()
