"""Counting programs of 100 and of 1,000 ops: FLOPs, bytes and footprint, with everything loaded, in milliseconds.

Four kinds of program, in ints and in symbols: a chain of elementwise ops, one op a kernel; the same in one kernel;
a stack of transformer layers (attention and a gated MLP, in kernels by stage), each laid out with weights of its own;
the same with every kernel in tiles; and products of ever other widths in tiles, of which no two are alike. Each count
starts from a program that has counted nothing yet, and nothing of an earlier round is looked up. Printed are the least
of the rounds, and what one of 1,000 ops takes over one of 100: the aim is at most 25 ms for 100 ops, and a ratio of 1.
Nothing is asserted: a time is no test.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from time import process_time
from typing import Any

from forgetting import forget_counts

import perfmodel as pm

HEADS, WIDTH, HIDDEN = 8, 64, 1024


def chain(ops: int, n: Any) -> pm.Program:
    """relu(x + b) over and over: each op reads the result of the one before."""
    x, b = pm.tensor("x", {"i": n}), pm.tensor("b", {"i": n})
    for place in range(ops):
        x = pm.relu(x) if place % 2 else x + b
    return pm.program(x.named("y"), name="chain")


def fused_chain(ops: int, n: Any) -> pm.Program:
    """The same in one kernel."""
    return pm.fuse(chain(ops, n))


def attended(x: pm.Tensor, layer: int) -> pm.Tensor:
    """Attention of a layer's tokens to one another, added to them."""
    heads = {"kv_head": HEADS, "group": 1, "d": WIDTH}
    model = {"m": HEADS * WIDTH}
    projections = [pm.tensor(f"W{name}{layer}", {**model, **heads}) for name in "qkv"]
    back = pm.tensor(f"Wo{layer}", {**heads, **model})
    query, key, value = [pm.einsum("t m, m kv_head group d -> kv_head group t d", x, each) for each in projections]
    key = key.rename(t="u")
    value = value.rename(t="u", d="e")
    scores = pm.einsum("kv_head group t d, kv_head group u d -> kv_head group t u", query, key)
    weights = pm.softmax(scores, "u", stage=f"softmax{layer}")
    mixed = pm.einsum("kv_head group t u, kv_head group u e -> kv_head group t e", weights, value)
    return pm.einsum("kv_head group t d, kv_head group d m -> t m", mixed.rename(e="d"), back) + x


def expanded(x: pm.Tensor, layer: int) -> pm.Tensor:
    """A gated MLP of a layer, added to its tokens."""
    up, gate = [pm.tensor(f"W{name}{layer}", {"m": HEADS * WIDTH, "h": HIDDEN}) for name in ("up", "gate")]
    down = pm.tensor(f"Wdown{layer}", {"h": HIDDEN, "m": HEADS * WIDTH})
    wide = pm.silu(pm.einsum("t m, m h -> t h", x, gate)) * pm.einsum("t m, m h -> t h", x, up)
    return pm.einsum("t h, h m -> t m", wide, down) + x


def layers(ops: int, n: Any) -> pm.Program:
    """Layers of attention and MLP, each with weights of its own, until there are so many ops."""
    x, layer, found = pm.tensor("x", {"t": n, "m": HEADS * WIDTH}), 0, 0
    while found < ops:
        x = expanded(attended(x, layer), layer)
        layer += 1
        found += OPS_OF_LAYER
    return pm.fuse(pm.program(x.named("y"), name="layers"), by="stage")


def tiled_layers(ops: int, n: Any) -> pm.Program:
    """The same with the tokens of every kernel cut in tiles of 64."""
    return pm.tile(layers(ops, n), grid={"t": 64})


def tiled_funnel(ops: int, n: Any) -> pm.Program:
    """A product and an activation over and over, in one kernel each time, to a width that was not there before."""
    x = pm.tensor("x", {"t": n, "h0": 64})
    for place in range(ops // 2):
        old, new, stage = f"h{place}", f"h{place + 1}", f"layer{place}"
        weights = pm.tensor(f"W{place}", {old: 64 + place, new: 65 + place})
        x = pm.relu(pm.einsum(f"t {old}, {old} {new} -> t {new}", x, weights, stage=stage), stage=stage)
    program = pm.fuse(pm.program(x.named("y"), name="funnel"), by="stage")
    for place, kernel in enumerate(program.kernels):
        program = pm.tile(program, grid={"t": 64}, stream={f"h{place}": 32}, only=kernel.name)
    return program


OPS_OF_LAYER = len(pm.program(expanded(attended(pm.tensor("x", {"t": 8, "m": HEADS * WIDTH}), 0), 0)).ops)


def counted(program: pm.Program) -> tuple[Any, ...]:
    """What is counted, of a program that has counted nothing yet."""
    fresh = replace(program)
    return fresh.flops, fresh.bytes, fresh.footprint_bytes


def least(run: Callable[[], Any], rounds: int) -> float:
    """The least milliseconds of the rounds, of the processor: it does not matter what else runs."""
    found = []
    for _ in range(rounds):
        forget_counts()
        start = process_time()
        run()
        found.append(process_time() - start)
    return 1e3 * min(found)


def print_kind(name: str, make: Callable[[int, Any], pm.Program], size: Any, ops: tuple[int, int], rounds: int) -> None:
    small, large = [make(number, size) for number in ops]
    counted(small), counted(large)  # loads and warms what there is to warm
    few, many = [least(lambda p=p: counted(p), rounds) for p in (small, large)]  # type: ignore[misc]
    print(
        f"{name:16} n = {size!s:5} {len(small.ops):4} ops {few:6.2f} ms {len(large.ops):5} ops {many:7.2f} ms, "
        f"each {many / few * len(small.ops) / len(large.ops):.2f} times as long"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=int, nargs=2, default=(100, 1000), help="sizes of the programs (100 1000)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of which the best counts (default: 7)")
    given = parser.parse_args()
    kinds = {"one op a kernel": chain, "the same fused": fused_chain, "layers": layers, "layers in tiles": tiled_layers}
    kinds |= {"funnel in tiles": tiled_funnel}
    for name, make in kinds.items():
        for size in (4096, pm.dims("n")):
            print_kind(name, make, size, tuple(given.ops), given.rounds)


if __name__ == "__main__":
    main()
