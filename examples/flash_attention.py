"""What does FlashAttention save?  Attention, its backward pass and a decode step, each by a few transforms."""

from __future__ import annotations

from typing import Any

import perfmodel as pm

N, D = 8192, 128
HEADS: dict[str, Any] = {"heads": 32, "kv_heads": 8}


def line(name: str, p: pm.Program, work: Any = None) -> None:
    matrix = p.flops_by_unit["matrix"]
    note = "" if work is None else f"{matrix / work:8.2f}"
    print(f"{name:38}{len(p.kernels):8}{p.bytes / 1e9:12.2f}{matrix / p.bytes:10.0f}{note}")


print(f"n = {N:,}, 32 query heads of {D} over 8 of keys and values, bf16.\n")
print("forward                                kernels    GB moved    FLOP/B")
line("scores, softmax, weighted sum", pm.fuse(pm.attention(N, N, D, **HEADS), by="stage"))
for q_block in (16, 64, 128):
    line(f"flash_attention, {q_block} queries a block", pm.recipes.flash_attention(N, N, D, q_block=q_block, **HEADS))

p = pm.recipes.flash_attention(N, N, D, causal=True, **HEADS)
line("the same, causal", p)
print("\nThe recipe is these lines:", *p.history, sep="\n  ")
formula = pm.recipes.flash_attention("n", "n", "d", q_block="b").elements_read
print("\nAs a formula, a head reads:", formula, "elements")

print("\nforward and backward                   kernels    GB moved    FLOP/B    work")
plain = pm.grad(pm.attention(N, N, D, lse=True, **HEADS), of="O")
work = plain.flops_by_unit["matrix"]
line("the scores kept", pm.fuse(plain, by="stage"), work)
for combine, name in (("atomic", "made again; dQ added in memory"), ("kernel", "made again twice; no atomics")):
    line(name, pm.recipes.flash_attention_backward(N, N, D, combine=combine, **HEADS), work)
kept = pm.recipes.flash_attention_backward("n", "n", "d").saved
print("\nFor the backward pass a head keeps:", ", ".join(f"{row[0]} ({row[2]} B)" for row in kept.rows))

print("\na decode step over 65,536 tokens         blocks    GB moved    MB of them partial results")
for parts in (4, 16, 64):
    decode = pm.recipes.flash_decoding(65_536, D, parts=parts, **HEADS)
    partial = sum(row[4] for row in decode.traffic().rows if row[1].endswith("_partial"))
    blocks = HEADS["kv_heads"] * parts
    print(f"{f'flash_decoding in {parts} parts':38}{blocks:8}{decode.bytes / 1e9:12.3f}{partial / 1e6:10.2f}")
