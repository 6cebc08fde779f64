"""What do tiles buy?  The same work in blocks: what moves, what is held, and what is made twice."""

from __future__ import annotations

import perfmodel as pm

N = 4096
matmul = pm.matmul(N, N, N, dtype="fp32")

print(f"A matmul, n = {N:,} in fp32, in T x T tiles of C.  Every block reads its rows of A and its columns of B:\n")
print("    T    GB read    FLOP/B")
for side in (1, 16, 128, 512):
    p = pm.tile(matmul, m=side, n=side)
    print(f"{side:5} {p.bytes_read / 1e9:10.2f} {p.intensity:9.1f}")
print("\nAs a formula:", pm.tile(pm.matmul("n", "n", "n", dtype="fp32"), m="T", n="T").bytes_read, "bytes read")

print("\nBoth of these hold a tile of A, of B and of C at a time, but one puts C down at every block of k:\n")
print("loops                         KiB held    GB moved    FLOP/B")
kept = pm.tile(matmul, m=64, n=64, stream={"k": 64})
spilled = pm.tile(matmul, stream={"k": 64, "m": 64, "n": 64}, spill=["C"])
for name, p in (("k inside, C kept", kept), ("k outside, C back and forth", spilled)):
    print(f"{name:27} {p.footprint_bytes / 2**10:10.0f} {p.bytes / 1e9:11.2f} {p.intensity:9.1f}")

print("\nBlocks in blocks in blocks: each level is asked only for what the tiles inside it need.\n")
blocked = matmul
for level, side, depth, room in (("l2", 256, 256, 2**20), ("l1", 64, 64, 48 * 2**10), ("registers", 8, 1, 512)):
    grid, stream = {"m": side, "n": side}, {"k": depth}
    blocked = pm.tile(blocked, grid=grid, stream=stream, level=level, capacity_bytes=room)
print("asked of      GB moved")
for level in ("l1", "l2", "memory"):
    moved = sum(row[4] for row in blocked.traffic(level).rows)
    print(f"{level:10} {moved / 1e9:11.2f}")
ridge = pm.machine("lecture-cpu").ridge("fp32")
print(f"\nThat is {blocked.intensity:.0f} FLOP a byte of memory: lecture-cpu needs {ridge:.1f} to keep its cores busy.")
try:
    pm.tile(matmul, grid={"m": 128, "n": 128}, stream={"k": 128}, level="l1", capacity_bytes=48 * 2**10)
except pm.CapacityError as error:
    print(f"Tiles of 128 in that L1 are refused:\n  {error}")
chip = pm.machine("h100-sxm")
on_chip = matmul
for level, side, depth in (("l2", 2048, 64), ("shared", 128, 64), ("registers", 128, 8)):
    most = chip.level(level).capacity_bytes
    on_chip = pm.tile(on_chip, grid={"m": side, "n": side}, stream={"k": depth}, level=level, capacity_bytes=most)
print(f"Under the capacities that {chip.name} lists, {', '.join(t.level for t in on_chip.kernels[0].tiles)}:", end=" ")
print(f"{on_chip.intensity:.0f} FLOP a byte.")

print("\nA 3 x 3 blur in two passes, of 4096 x 4096 pixels: three schedules of the same two sums.\n")
image = pm.tensor("image", {"y": N + 2, "x": N + 2}, dtype="fp32")
across = pm.sum(pm.window(image, "x", "col", "i", 3), "i", name="blur_x")
blur = pm.program(pm.sum(pm.window(across, "y", "row", "j", 3), "j", name="blur_y"))
print("blur_x is made              FLOP/pixel    MB moved    KiB held")
for name, p in (
    ("first, for all pixels", blur),
    ("for each pixel", pm.tile(pm.fuse(blur), row=1, col=1)),
    ("for each tile of 256 x 32", pm.tile(pm.fuse(blur), row=32, col=256)),
):
    print(f"{name:27} {p.flops / N**2:10.2f} {p.bytes / 1e6:11.1f} {p.footprint_bytes / 2**10:11.2f}")

print("\nA convolution to a map of 1 GiB, scale and bias, and a pool of 2 x 2, without what is only read:\n")
x = pm.tensor("x", {"batch": 1, "group": 1, "c": 3, "h": 2048, "w": 2048}, dtype="fp32")
weight = pm.tensor("weight", {"group": 1, "f": 64, "c": 3, "r": 3, "s": 3}, dtype="fp32")
scale, bias = [pm.tensor(name, {"f": 64}, dtype="fp32") for name in ("scale", "bias")]
y = pm.conv2d(x, weight, padding="same") * scale + bias
apart = pm.program(pm.pool2d(y, kernel=2))
for p in (apart, pm.fuse(apart, only=["mul", "add"]), pm.fuse(apart)):
    inputs = sum(row[4] for row in p.traffic().rows if row[1] in ("x", "weight", "scale", "bias"))
    print(f"kernels: {len(p.kernels)} {(p.bytes - inputs) / 2**30:9.2f} GiB")

print("\nAnd it is all the same function:", pm.check(pm.tile(pm.matmul("m", "n", "k"), m=2, n=3, stream={"k": 4})))
