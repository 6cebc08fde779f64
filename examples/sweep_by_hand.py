"""A formula of one's own, with ceilings, at a million shapes: compiled to numpy, and exact."""

from __future__ import annotations

import numpy
import sympy

import perfmodel as pm

SMS, TILE_M, TILE_N = 132, 128, 256

print(f"How much of a matmul's time is lost to whole tiles of {TILE_M} x {TILE_N} and whole waves of {SMS} blocks?\n")
m, n, k = pm.dims("m n k")
h100 = pm.machine("h100-sxm")
program = pm.matmul(m, n, k)
waves = pm.ceil_div(pm.ceil_div(m, TILE_M) * pm.ceil_div(n, TILE_N), SMS)
compute = waves * SMS * 2 * TILE_M * TILE_N * k / sympy.Integer(h100.peak("bf16"))
memory = program.bytes / sympy.Integer(h100.bandwidth_bytes_per_s)
ideal = pm.estimate(program, h100).time_s
print(f"  waves = {waves}\n  ideal = {ideal}\n  time  = Max(waves * one wave, memory)\n")

formula = pm.compile_formula({"waves": waves, "ideal": ideal, "time": sympy.Max(compute, memory)})
random = numpy.random.default_rng(0)
shapes = {name: random.integers(1, 8193, 1_000_000) for name in formula.symbols}
found = formula(shapes)

by_hand = -(-(-(-shapes["m"] // TILE_M) * -(-shapes["n"] // TILE_N)) // SMS)
plain = sympy.lambdify((m, n), waves, "numpy")(shapes["m"], shapes["n"])
share = found["ideal"] / found["time"]
print(f"{len(share):,} random shapes up to 8192:")
print(f"  waves that differ from integer arithmetic: {numpy.count_nonzero(found['waves'] != by_hand)}")
print(f"  and with sympy.lambdify, whose ceilings round: {numpy.count_nonzero(plain != by_hand):,}")
print(f"Answer: the median shape attains {numpy.median(share):.0%} of the ideal, one in ten less than ", end="")
print(f"{numpy.quantile(share, 0.1):.0%}.")
