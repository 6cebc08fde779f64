"""Tables of four lectures on tiles, fusion, recomputation and what a warp reads: counted, not looked up."""

from __future__ import annotations

import perfmodel as pm

n, M, N, T = pm.dims("n M N T")


def table(title: str) -> None:
    """The head of a table."""
    print(f"\n{title}")


table("Reads of a matmul of 256 in fp32, by tile: 2 n^3 / T elements")
for size in (1, 4, 16, 64):
    p = pm.tile(pm.matmul(256, 256, 256, dtype="fp32"), m=size, n=size)
    print(f"   T = {size:<3} {p.elements_read:>11,} elements, {float(p.flops / p.bytes_read):g} FLOP/B")
print(f"   in general {pm.tile(pm.matmul(n, n, n), m=T, n=T).elements_read} elements")

table("The largest pair of fp32 tiles of T x T in 228 KiB, and what double buffering takes")
block = pm.tile(pm.matmul(4096, 4096, 4096, dtype="fp32"), grid={"m": T, "n": T}, stream={"k": T})
print("   with the accumulator:", pm.solve(block, T, where=f"footprint_bytes <= {228 * 1024}").answer)
print("   in registers instead:", pm.solve(2 * 4 * T**2 <= 228 * 1024, T).answer)
for copies in (1, 2):
    p = pm.tile(pm.matmul(4096, 4096, 4096), m=128, n=128, stream={"k": 64}, buffers=copies)
    print(f"   128 x 128 x 64 in bf16, {copies} of each stage: {p.footprint_bytes / 1024:.0f} KiB with the accumulator")

table("Block quantization: useful work in tiles of 128")
for size in (1024, 1025):
    p = pm.tile(pm.matmul(size, size, 1024), m=128, n=128)
    print(f"   n = {size}: {p.flops / p.issued_flops:.0%}")

table("Wave quantization: tiles of 256 x 128 on the 108 SMs of an A100")
for size in (1792, 1793, 2560):
    w = pm.waves(pm.tile_grid(size, size, tile=(256, 128)), units=108)
    print(f"   n = {size}: {w.blocks} blocks, {w.waves} waves, {w.wave_fill:.0%} full")
blocks = pm.tile_grid(n, n, tile=(256, 128)).blocks
print(f"   one wave while {pm.solve(blocks <= 108, n).answer}")

table("A vocabulary of 50257, padded")
padded = pm.pad(pm.matmul(1, 50257, 768), n=64)
print(f"   to {padded.labels['n']}: {padded.issued_flops / padded.flops - 1:.2%} more work for whole tiles")

table("A halo: a 3 x 3 convolution's tile of T x T reads (T + 2)^2")
for size in (32, 64):
    p = pm.tile(pm.conv2d(height=2050, width=2050, c_in=1, c_out=1), p=size, q=size)
    reads = 2048 * 2048 * (size + 2) ** 2 // size**2
    print(f"   T = {size}: {p.elements_read - 9 * (2048 // size) ** 2:,} reads of x = {reads:,}: "
          f"{(size + 2) ** 2 / size**2 - 1:.1%} more than it makes")  # fmt: skip

table("Blocks of b x b x b in fp32 against a ridge of 38.4 FLOP/B: where do they pass it?")
square = pm.matmul(n, n, n, dtype="fp32")
for size in (8, 32, 64, 128, 256):
    print(f"   b = {size:<4} {float(square.at(n=size).intensity):5.1f} FLOP/B")
print(f"   intensity {square.intensity}: past the ridge where {pm.solve(square, n, where='intensity >= 38.4').answer}")

table("Fusion and recomputation: elements moved for each of n")
three = pm.grad(pm.elementwise("sigmoid(sigmoid(sigmoid(x)))", n))
for name, p in (
    ("sin(x)^2 + cos(x)^2, an op a kernel", pm.elementwise("sin(x)**2 + cos(x)**2", n)),
    ("  fused", pm.fuse(pm.elementwise("sin(x)**2 + cos(x)**2", n))),
    ("relu(x*w + b), an op a kernel", pm.elementwise("relu(x*w + b)", n)),
    ("  fused", pm.fuse(pm.elementwise("relu(x*w + b)", n))),
    ("three sigmoids and back, results kept", pm.fuse(three)),
    ("  recomputed", pm.recompute(pm.fuse(three))),
):
    print(f"   {name:<40} {(p.elements_read + p.elements_written) / n}")

table("Softmax of M x N: passes, and one row at a time")
softmax = pm.softmax(M, N)
for name, p in (("an op a kernel", softmax), ("fused", pm.fuse(softmax))):
    at = pm.cast(p.at(M=4096, N=4096), "fp32")
    print(f"   {name}: reads {p.elements_read}, writes {p.elements_written}; 4096^2 in fp32 at 900 GB/s: "
          f"{at.bytes / 900e9 * 1e3:.3f} ms")  # fmt: skip

table("Attention: S and P of one head, against the log-sum-exp that streaming keeps")
for length in (4096, 16384, 65536):
    p = pm.attention(length, length, 128, lse=True)
    held = {name: p.tensors[name].format.bytes_of(p.tensors[name].extents) for name in "SP"}
    print(f"   n = {length}: {(held['S'] + held['P']) / 1e9:.2f} GB, {4 * length / 1e6:.3f} MB")
causal = pm.attention(n, n, 128, causal=True)
print(f"   a causal mask computes {causal.macs / pm.attention(n, n, 128).macs} of the pairs")

table("A warp's reads in segments of 128 B (fp32), and what branches cost (two sides of 10 steps)")
for index in ("t", "2*t", "32*t"):
    found = pm.transactions(index)
    print(f"   x[{index}]: {found.lines} transactions, {found.efficiency:.0%} of their bytes used")
for condition in ("t % 2 == 0", "(t // 32) % 2 == 0", "t < 100"):
    branch = pm.divergence(condition, threads=128, steps=(10, 10))
    print(f"   if {condition}: {branch.issued_steps} steps, {branch.active_fraction:.0%} of the lanes useful")

table("Occupancy of an H100's SM")
for threads, registers in ((256, 32), (256, 64), (128, 160)):
    print(f"   {threads} threads, {registers} registers: {pm.occupancy('h100-sxm', threads, registers).fraction:.0%}")
