"""A self-test on rooflines, and the tables of two lectures on what binds an operator."""

from __future__ import annotations

import perfmodel as pm

n = pm.dims("n")


def ask(question: str) -> None:
    """The head of a question."""
    print(f"\n{question}")


def placed(name: str, p: pm.Program, chip: pm.Machine) -> None:
    """A row: intensity, what is attained, which side binds."""
    e = pm.estimate(p, chip, effects="ideal")
    print(f"   {name:<22} {float(p.intensity):>8.4g} FLOP/B {e.flops_per_s / 1e12:>8.3g} TFLOP/s "
          f"{e.fraction_of_peak:>6.1%} of its unit, bound by {e.bound}")  # fmt: skip


ask("Self-test 1. Why does a GPU not have one large cache, as a CPU has?")
hide = pm.latency_hiding(400, work_cycles=10)
print(f"   Threads hide the latency instead: {hide.threads} of them, each with 10 cycles of work, cover 400 cycles;")
print("   and the area goes to arithmetic: what a program keeps on chip it names itself, so it need not be guessed.")

ask("Self-test 2. What does it mean that a programmer takes the cache's decisions?")
p = pm.tile(pm.matmul(4096, 4096, 4096), m=128, n=128, stream={"k": 32}, buffers=2)
print("   Which tiles are on chip, and when they are loaded, is written in the program; here two of each:")
print("   " + str(p.footprint()).replace("\n", "\n   "))

ask("Self-test 3. 400 TFLOP/s in fp16, 3 TB/s: the ridge? Which side limits 30 FLOP/B, and at what rate?")
gpu = pm.Machine(peak=400e12, bandwidth_bytes_per_s=3e12, name="gpu")
print(f"   ridge {gpu.ridge('fp16'):.1f} FLOP/B")
placed("30 FLOP/B", pm.workload(flops=30, bytes_read=1, dtype="fp16"), gpu)

ask("Self-test 4. 20 % fewer FLOPs, or 60 % fewer bytes: which helps, on either side of the ridge?")
for side, flops in (("memory-bound", 10), ("compute-bound", 1000)):
    before = pm.workload(flops=flops, bytes_read=1, dtype="fp16", name="before")
    cuts = [pm.workload(flops=0.8 * flops, bytes_read=1, dtype="fp16", name="fewer_flops"),
            pm.workload(flops=flops, bytes_read=0.4, dtype="fp16", name="fewer_bytes")]  # fmt: skip
    _, fewer_flops, fewer_bytes = pm.compare(before, *cuts, on=gpu).speedups
    print(f"   {side}: {fewer_flops:.2f}x with fewer FLOPs, {fewer_bytes:.2f}x with fewer bytes")

ask("Self-test 5. FlashAttention computes more, and is faster. Why?")
staged = pm.fuse(pm.attention(4096, 4096, 128, heads=8), by="stage")
flash = pm.tile(
    pm.online(pm.fuse(pm.attention(4096, 4096, 128, heads=8)), "kv"), grid={"kv_head": 1, "q": 128}, stream={"kv": 64}
)
h100 = pm.machine("h100-sxm")
print(f"   {flash.flops / staged.flops - 1:+.2%} FLOPs, {flash.bytes / staged.bytes - 1:+.0%} bytes: up the slope")
placed("three kernels", staged, h100)
placed("one kernel, streamed", flash, h100)

ask("Self-test 6. A tile's size: set by the cache on a CPU, by shared memory on a GPU. What follows?")
square, size = pm.matmul(4096, 4096, 4096, dtype="fp32"), pm.dims("T")
blocks = pm.tile(square, m=size, n=size, stream={"k": 32})
for name, room in (("32 KiB of L1", 32 * 1024), ("228 KiB of an SM", 228 * 1024)):
    found = pm.solve(blocks, size, where=f"footprint_bytes <= {room}")
    print(f"   {name}: {found.answer}; its reads are {blocks.at(T=found.most).bytes_read / 1e9:.2f} GB")
print("   A cache that is a little too small still works, slowly; shared memory that is too small does not launch.")

ask("Table. Balance points, and how compute outgrew bandwidth.")
for name in ("a100-sxm-80gb", "h100-sxm", "b200-sxm"):
    chip = pm.machine(name)
    print(f"   {name:<14} {chip.units} SMs, {chip.peak('bf16') / 1e12:.0f} TFLOP/s, "
          f"{chip.bandwidth_bytes_per_s / 1e12:.2f} TB/s: {chip.ridge('bf16'):.0f} FLOP/B")  # fmt: skip

ask("Table. Where common operators stand on an H100 (n = 4096, bf16).")
dot = pm.program(pm.sum(pm.tensor("x", {"i": 4096}) * pm.tensor("y", {"i": 4096}), "i"))
for name, p in (("ReLU", pm.elementwise("relu(x)", 4096)), ("dot product", pm.fuse(dot)), ("matrix x vector",
                pm.gemv(4096, 4096)), ("matrix x matrix", pm.matmul(4096, 4096, 4096))):  # fmt: skip
    placed(name, p, h100)

ask("Table. Decoding through a weight of 8192 x 8192 at growing batch.")
for batch in (1, 8, 64, 256, 1024):
    placed(f"batch {batch}", pm.gemv(8192, 8192, batch=batch), h100)
print(f"   compute binds where {pm.solve(pm.gemv(8192, 8192, batch=n), h100, n, bound='compute').answer}")

ask("Table. A laptop with 5.5 TFLOP/s in fp32 and 215 GB/s.")
laptop = pm.Machine(peak=5.519e12, bandwidth_bytes_per_s=215e9, name="laptop")
for name, p in (
    ("x*2", pm.elementwise("2*x", 2**24, dtype="fp32")),
    ("x*2 + 1, two kernels", pm.elementwise("2*x + 1", 2**24, dtype="fp32")),
    ("x*2 + 1, fused", pm.fuse(pm.elementwise("2*x + 1", 2**24, dtype="fp32"))),
    ("matmul 64", pm.matmul(64, 64, 64, dtype="fp32")),
    ("matmul 1024", pm.matmul(1024, 1024, 1024, dtype="fp32")),
    ("matmul 4096", pm.matmul(4096, 4096, 4096, dtype="fp32")),
):
    placed(name, p, laptop)

ask("Example. 16 cores at 3 GHz, 8 lanes with FMA, 20 GB/s: peak, ridge, and what a faster chip does for 0.6 FLOP/B?")
cpu = pm.Machine(units=16, rate_per_clock=8 * 2, clock_hz=3e9, bandwidth_bytes_per_s=20e9, name="cpu")
print(f"   {cpu.peak('fp32') / 1e9:.0f} GFLOP/s, ridge {cpu.ridge('fp32')} FLOP/B")
triad = pm.workload(flops=0.6, bytes_read=1, dtype="fp32")
print(
    f"   twice the peak: {pm.compare(triad, on=[cpu, cpu.replace(peak=2 * cpu.peak('fp32'))]).speedups[1]:.1f}x as fast"
)
for name, p in (("E = D + (A + B)*C", pm.elementwise("D + (A + B)*C", n)),):
    loops, one = p, pm.fuse(p)
    print(f"   {name}: {loops.flops / (loops.elements_read + loops.elements_written)} operations an access in loops, "
          f"{one.flops / (one.elements_read + one.elements_written)} fused")  # fmt: skip
