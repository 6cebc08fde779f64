"""What does attention move, and what do heads and masks change?"""

from __future__ import annotations

import perfmodel as pm

N = 65_536

print(f"One head of 128 at n = {N:,} in bf16, a kernel each for scores, softmax and weighted sum:\n")
staged = pm.fuse(pm.attention(q=N, kv=N, d=128), by="stage")
print(staged.traffic())
square = sum(staged.tensors[name].format.bytes_of(staged.tensors[name].extents) for name in ("S", "P"))
fused = pm.fuse(staged)
print(f"\nAnswer: S and P take {square / 1e9:.1f} GB; written once and read once, they move {2 * square / 1e9:.1f} GB.")
print(f"All of it moves {staged.bytes / 1e9:.1f} GB; in one kernel only Q, K, V and O do: {fused.bytes / 1e6:.1f} MB.")

print("\nBytes of K and V that one token of decode reads, 32 query heads of 128 over a context of n:\n")
for name, kv_heads in (("multi-head", 32), ("grouped-query", 8), ("multi-query", 1)):
    decode = pm.fuse(pm.attention(q=1, kv="n", d=128, heads=32, kv_heads=kv_heads))
    read = sum(moved.bytes for moved in decode.counted[0].transfers if moved.tensor in "KV")
    print(f"  {name:<14} {kv_heads:>2} K/V heads: {read}")

print(f"\nPairs of query and key at n = {N:,}, counted exactly:\n")
full = N * N
for name, pairs in (
    ("full", full),
    ("causal", pm.causal().pairs(N, N)),
    ("causal, window of 4096", pm.causal(window=4096).pairs(N, N)),
):
    print(f"  {name:<23} {pairs:>13,}  {pairs / full:.1%}")
ends = [pm.causal(align=align).pairs(4, 8) for align in ("end", "start")]
print("\nFLOPs follow the pairs. With 4 queries, 8 keys and a causal mask there are")
print(f"{ends[0]} pairs where the last query stands at the last key, {ends[1]} where the first stands at the first.")
