"""How long it takes to derive: FlashAttention in tiles with its costs in symbols, and the gradient of 100 ops.

FlashAttention is made from attention by fuse, online and tile, and its FLOPs, bytes and footprint are counted, all
anew in each round: nothing that the library has counted before is looked up; what sympy remembers stays. Beside it
stands attention as described, one op a kernel, counted alike in the same run. The gradient is that of a chain and of
layers of 100 ops. Printed are the least milliseconds of the rounds and the aims. Nothing is asserted: a time is no
test.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time
from typing import Any

from counting import chain, layers
from forgetting import forget_counts

import perfmodel as pm

N, D, ROWS, KEYS = pm.dims("n d bq bkv")
KINDS: dict[str, dict[str, Any]] = {
    "FlashAttention": {},
    "causal": {"causal": True},
    "causal, grouped heads, log-sum-exp": {"causal": True, "kv_heads": 2, "lse": True},
    "a sliding window": {"causal": True, "window": 256},
}


def described(kind: dict[str, Any]) -> pm.Program:
    """Attention, one op a kernel."""
    return pm.attention(q=N, kv=N, d=D, heads=8, **kind)


def flash(kind: dict[str, Any]) -> pm.Program:
    """The same in one kernel, in tiles of symbols, its sums corrected as they run."""
    return pm.tile(pm.online(pm.fuse(described(kind)), "kv"), grid={"q": ROWS}, stream={"kv": KEYS})


def costs(program: pm.Program) -> tuple[Any, ...]:
    """What is counted of it."""
    return program.flops, program.bytes, program.footprint_bytes


def least(run: Callable[[], Any], rounds: int) -> float:
    """The least milliseconds of the rounds, of the processor, each without what was counted before."""
    found = []
    for _ in range(rounds + 1):  # the first warms
        forget_counts()
        start = process_time()
        run()
        found.append(process_time() - start)
    return 1e3 * min(found[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="rounds of which the best counts (default: 20)")
    rounds = parser.parse_args().rounds
    for name, kind in KINDS.items():
        plain = least(lambda k=kind: costs(described(k)), rounds)  # type: ignore[misc]
        whole = least(lambda k=kind: costs(flash(k)), rounds)  # type: ignore[misc]
        print(f"{name:36} {whole:6.2f} ms   aim: at most 10 ms   ({whole / plain:.1f} times attention by ops)")
    for name, program in (("a chain", chain(100, N)), ("layers", layers(100, N))):
        wanted = [item.name for item in program.inputs]
        taken = least(lambda p=program, w=wanted: pm.grad(p, wrt=w), rounds)  # type: ignore[misc]
        print(f"{f'gradient of {name}, {len(program.ops)} ops':36} {taken:6.2f} ms   aim: at most 50 ms")


if __name__ == "__main__":
    main()
