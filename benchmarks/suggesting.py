"""A search of a million joint candidates, with and without a condition; the aim is at most 2 s.

Seconds are of this process (the machine may be shared), the best of some rounds. Nothing is asserted.
"""

from __future__ import annotations

import argparse
from time import process_time
from typing import Any

import perfmodel as pm

CHIPS = ("h100-sxm", "a100-sxm-80gb", "b200-sxm", "h200-sxm")


def timed(rounds: int, program: pm.Program, on: Any, **asked: Any) -> tuple[float, Any]:
    best, found = float("inf"), None
    for _ in range(rounds):
        start = process_time()
        found = pm.suggest(program, on, **asked)
        best = min(best, process_time() - start)
    return best, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of which the best counts (default: 3)")
    rounds = parser.parse_args().rounds
    square: dict[str, Any] = {"within": 0.1, "h": 5000, "k": 5000}
    for where in (None, "h % 8 == 0 and k % 8 == 0", "h*k <= 24e6"):
        seconds, found = timed(rounds, pm.matmul(4096, "h", "k"), CHIPS[0], where=where, **square)
        print(
            f"{found.tried} candidates, {found.allowed} allowed by {where}, {found.estimated} in full: {seconds:.2f} s"
        )
        print(f"  best {found.best.sizes}: {found.best.gain:.3f} times the throughput")
    sizes = {"tokens": range(2000, 2100), "hidden": range(4000, 4100), "inner": range(14300, 14400)}
    for count in (1, 2, 4):
        seconds, found = timed(rounds, pm.gated_mlp("tokens", "hidden", "inner"), CHIPS[:count], **sizes)
        print(f"gated_mlp, {found.tried} candidates on {count} chips, {found.estimated} in full: {seconds:.2f} s")


if __name__ == "__main__":
    main()
