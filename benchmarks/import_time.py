"""How long ``import perfmodel`` takes beside ``import sympy``, in one run.

The two are imported in turn, each in an interpreter of its own, so that whatever slows the machine slows both.
The aim is a ratio of at most 1.1. Nothing is asserted: a time is no test.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from statistics import median

MODULES = ("sympy", "perfmodel")


def import_seconds(module: str) -> float:
    """Seconds that a fresh interpreter spends in ``import module``, its own start left out."""
    code = f"from time import perf_counter as t; start = t(); import {module}; print(t() - start)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(run.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=20, help="imports of each (default: 20)")
    repeat = parser.parse_args().repeat
    for module in MODULES:  # once for the byte code and the disk's cache
        import_seconds(module)
    rounds = [{module: import_seconds(module) for module in MODULES} for _ in range(repeat)]
    medians = {module: median(times[module] for times in rounds) for module in MODULES}
    for module, seconds in medians.items():
        print(f"import {module:10} {seconds * 1e3:7.1f} ms  (median of {repeat})")
    print(f"ratio {medians['perfmodel'] / medians['sympy']:.3f}  (aim: at most 1.1)")


if __name__ == "__main__":
    main()
