"""The thought questions and tables of a lecture on networks and accelerators: convolutions, arrays, energy."""

from __future__ import annotations

import pandas as pd

import perfmodel as pm

n, B = pm.dims("n B")
lecture_gpu = pm.Machine(peak=989e12, bandwidth_bytes_per_s=3e12, name="989 TFLOP/s, 3 TB/s")
h100 = pm.machine("h100-sxm")


def ask(question: str) -> None:
    """The head of a question or table."""
    print(f"\n{question}")


def show(result: object) -> None:
    """A result, indented."""
    print("   " + str(result).replace("\n", "\n   "))


ask("Thought 1. y = W x with W of 4096 x 4096 in fp16: how much of 989 TFLOP/s, at batch 1, 32 and 256?")
step = pm.gemv(4096, 4096, batch=B, dtype="fp16")
for batch in (1, 32, 256):
    e = pm.estimate(step.at(B=batch), lecture_gpu, effects="ideal")
    rate = f"{e.flops_per_s / 1e12:.3g} TFLOP/s, {e.fraction_of_peak:.1%}"
    show(f"batch {batch}: {float(e.program.intensity):.3g} FLOP/B, {rate}")
show(f"answer: {lecture_gpu.ridge('fp16'):.0f} FLOP/B are needed; compute binds where "
     f"{pm.solve(step, lecture_gpu, B, bound='compute').answer}")  # fmt: skip
int8 = pm.cast(step.at(B=1), W="int8", compute="fp16")
show(f"with weights in int8: {pm.compare(step.at(B=1), int8, on=lecture_gpu).speedups[1]:.2f}x as fast")

ask("Thought 2. Why is online softmax exact, and what does it cost?")
attention = pm.attention(1024, 1024, 64)
flash = pm.tile(pm.online(pm.fuse(attention), "kv"), grid={"q": 64}, stream={"kv": 64})
show("max and sum are associative once old sums are multiplied by exp(m_old - m_new); simulated:")
show(pm.check(flash))
show(f"answer: {flash.flops - pm.fuse(attention).flops:,} FLOP more, {flash.flops / pm.fuse(attention).flops - 1:.2%}; "
     f"{flash.footprint_bytes / 1024:.0f} KiB a block instead of {attention.memory_bytes / 2**20:.1f} MiB")  # fmt: skip

ask("Thought 3. One user, one sequence, under 10 ms: is the most efficient accelerator the right one?")
for name in ("bf16", "int8", "int4"):  # every token reads each of 7e9 weights once, and does two FLOP with it
    token = pm.workload(flops=2 * 7e9, bytes_read=pm.format(name).bytes_of_elements(7 * 10**9))
    e = pm.estimate(token, h100, effects="ideal")
    show(f"a token through 7e9 weights in {name}: {e.time_s * 1e3:.1f} ms, bound by {e.bound}")
show(pm.systolic(1, 4096, 4096, rows=256, cols=256, dataflow="weight"))
show("answer: no. Its array stands idle at batch 1; bytes decide, so bandwidth and narrow weights come first")

ask("Table. Formats: bytes an element and intensity against fp32")
for name in ("fp32", "tf32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8", "int4", "mxfp8", "mxfp4", "nvfp4"):
    p = pm.matmul(4096, 4096, 4096, dtype=name)
    share = float(p.intensity / pm.matmul(4096, 4096, 4096, dtype="fp32").intensity)
    show(f"{name:<9} {float(pm.format(name).effective_bits) / 8:>6.4g} B, {share:.3g}x")

ask("Table. What an instruction's overhead of 30 pJ is beside its arithmetic")
for name in ("HFMA", "HDP4A", "HMMA"):
    show(pm.instruction_energy(name))

ask("Table. Matrix and vector peaks, and the share of the matrix unit")
for name in ("v100-sxm2-16gb", "a100-sxm-80gb", "h100-sxm", "b200-sxm"):
    chip = pm.machine(name)
    matrix, vector = chip.peak("fp16"), chip.peak("fp32", unit="vector")
    show(f"{name:<15} {matrix / 1e12:>6.0f} and {vector / 1e12:>5.1f} TFLOP/s: {matrix / (matrix + vector):.0%}")

ask("Table. A 3 x 3 convolution of 256 x 256 x 64 to 64, fp32, at 900 GB/s: implicit, and with im2col")
conv = pm.conv2d(height=256, width=256, c_in=64, c_out=64, padding=1, dtype="fp32")
v100 = pm.Machine(peak=15.7e12, bandwidth_bytes_per_s=900e9, name="v100")
show(pm.compare(conv, pm.im2col(conv), on=v100))

ask("Table. Convolution, scale and bias, ReLU, pooling: one op a kernel, and fused")
x = pm.tensor("x", {"batch": 8, "group": 1, "c": 32, "h": 64, "w": 64}, dtype="fp32")
weight = pm.tensor("weight", {"group": 1, "f": 64, "c": 32, "r": 3, "s": 3}, dtype="fp32")
scale, bias = (pm.tensor(name, {"f": 64}, dtype="fp32") for name in ("scale", "bias"))
block = pm.program(pm.pool2d(pm.relu(pm.conv2d(x, weight, padding=1) * scale + bias), kernel=2))
for name, p in (("one op a kernel", block), ("fused", pm.fuse(block))):
    show(f"{name}: {p.bytes / 1e6:.1f} MB, {p.flops_by_unit['matrix'] / 1e9:.2f} GFLOP on the matrix unit")

ask("Table. Work, span and parallelism")
for name, p in (("1024^3 matmul", pm.matmul(1024, 1024, 1024)), ("attention, n = 1024, d = 64", attention)):
    found = pm.work_span(p.macs, pm.work_span(p, reduction="serial", unit="mac").span)
    show(f"{name}: {found.work:.3g} multiply-adds, chain of {found.span}, parallelism {float(found.parallelism):.3g}")

ask("Table. Systolic arrays: filling, draining, padding")
rows = []
for size, k in ((4, 6), (8, 8), (8, 512)):
    a = pm.systolic(size, size, k, rows=size, cols=size)
    rows.append({"array": f"{size} x {size}", "k": k, "cycles": a.cycles, "used": f"{a.utilisation:.0%}"})
show(pd.DataFrame(rows).to_string(index=False))
ragged = pm.systolic(4096, 300, 300, rows=256, cols=256, dataflow="weight")
show(f"300 x 300 weights on 256 x 256 cells: {float(ragged.padding_fill):.0%} of the padded cells useful")
array = pm.Machine(units=256 * 256, rate_per_clock=2, clock_hz=0.7e9, bandwidth_bytes_per_s=34e9)
show(f"256 x 256 cells, a multiply-add each at 0.7 GHz: {array.peak('int8') / 1e12:.0f} TOP/s")

ask("Table. Energy: 1 pJ an integer operation, 20 pJ a FLOP, 26 and 1200 pJ for 64 bits of SRAM and DRAM")
lecture = pm.energy_tables()["lecture"]
show(pm.energy(pm.workload(flops=1e9, bytes_read=1e9), lecture))
ridge = lecture.ridge("fp32")
show(f"a read of 64 bits costs as much as {8 * ridge:.0f} FLOP: the energy ridge is {ridge:.2f} FLOP/B")
show(pm.efficiency_ladder(768e9, 100))
