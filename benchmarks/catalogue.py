"""How long it takes to read one data sheet, and the whole catalogue, each in a fresh interpreter.

Seconds are those of the processor. perfmodel.catalogue and sympy are loaded beforehand. The aim for the whole
catalogue, every sheet read and checked, is 50 ms; what ``tomllib`` alone would take is printed beside it. Nothing is
asserted: a time is no test.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from statistics import median

SHEETS = Path(__file__).parents[1] / "hardware"
TIMED = "from time import process_time as t; {before}; start = t(); {timed}; print(t() - start)"
ROWS = {
    "one sheet": ("import perfmodel as pm, perfmodel.catalogue", "pm.machine('h100-sxm')"),
    "whole catalogue": ("import perfmodel as pm, perfmodel.catalogue", "pm.machines()"),
    "tomllib alone": (
        "import tomllib; from pathlib import Path",
        "[tomllib.loads(each.read_text()) for each in Path({folder!r}).glob('*.toml')]",
    ),
}


def seconds(before: str, timed: str) -> float:
    """Seconds of the processor for a line of code, in an interpreter of its own."""
    code = TIMED.format(before=before, timed=timed.format(folder=str(SHEETS)))
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=10, help="interpreters for each (default: 10)")
    repeat = parser.parse_args().repeat
    for name, (before, timed) in ROWS.items():
        found = [seconds(before, timed) for _ in range(repeat)]
        print(f"{name:16} {1e3 * median(found):6.1f} ms  (median of {repeat}; least {1e3 * min(found):.1f})")


if __name__ == "__main__":
    main()
