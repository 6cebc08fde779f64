"""Ten exercises of a lecture on GPUs and TPUs: question, working, answer, each in a few lines."""

from __future__ import annotations

import numpy as np

import perfmodel as pm

n, B, d = pm.dims("n B d")
lecture_h100 = pm.Machine(peak=990e12, bandwidth_bytes_per_s=3.35e12, units=132, name="the lecture's H100")


def exercise(number: int, question: str) -> None:
    """The head of an exercise."""
    print(f"\n{number}. {question}")


def show(*lines: object) -> None:
    """Working and answer, indented."""
    for line in lines:
        print("   " + str(line).replace("\n", "\n   "))


exercise(1, "400 TFLOP/s and 2 TB/s: where is the balance point, and what does an intensity of 50 FLOP/B attain?")
gpu = pm.Machine(peak=400e12, bandwidth_bytes_per_s=2e12, name="gpu")
e = pm.estimate(pm.workload(flops=50, bytes_read=1), gpu, effects="ideal")
show(f"balance point: {gpu.ridge('bf16')} FLOP/B; 50 lies below it, so memory bounds: {e.bound}")
show(f"answer: {e.flops_per_s / 1e12:.0f} TFLOP/s, {e.fraction_of_peak:.0%} of peak")

exercise(2, "Intensity of an n x n matmul in bf16? From which n on is it bound by compute on an H100?")
square = pm.matmul(n, n, n)
show(f"{square.flops} FLOP over {square.bytes} B = {square.intensity} FLOP/B")
show(pm.solve(square, lecture_h100, n, bound="compute").explain())

exercise(3, "Decoding: B tokens share a d x d weight in bf16, activations ignored. From which B on does compute bound?")
step = pm.gemv(d, d, batch=B)
weights = pm.workload(flops=step.flops, bytes_read=2 * d * d, dtype="bf16", name="weights_only")  # 2 bytes each
show(f"{weights.flops} FLOP over {weights.bytes} B = {weights.intensity} FLOP/B")
show(f"answer: {pm.solve(weights, lecture_h100, B, bound='compute').answer}, whatever d is")
with_activations = pm.solve(step.at(d=8192), lecture_h100, B, bound="compute")
show(f"with the activations of d = 8192 counted: {with_activations.answer}")

exercise(4, "y = relu(x*w + b) on vectors: kernels and traffic one op a kernel, and fused?")
chain = pm.elementwise("relu(x*w + b)", n)
fused = pm.fuse(chain)
for name, p in (("one op a kernel", chain), ("fused", fused)):
    show(f"{name}: kernels {len(p.kernels)}, reads {p.elements_read}, writes {p.elements_written} elements")
show(f"answer: at most {chain.bytes / fused.bytes} times as fast")

exercise(
    5, "A warp reads 32 bf16 neighbours (a) in a row, (b) in a column of a matrix with rows of 4096. Transactions?"
)
for name, index in (("a", "t"), ("b", "4096*t")):
    found = pm.transactions(index, element_bytes=2)
    show(f"({name}) {found.lines} of 128 B, {found.efficiency:.1%} of their bytes used")

exercise(6, "fp32 matmul of 4096, naive and in tiles of 128: bytes read, and intensity of the tiled one?")
matmul = pm.matmul(4096, 4096, 4096, dtype="fp32")
naive, tiled = pm.tile(matmul, m=1, n=1), pm.tile(matmul, m=128, n=128)
show(f"naive {naive.bytes_read:.3g} B, tiled {tiled.bytes_read:.3g} B")
show(f"answer: {tiled.flops / tiled.bytes_read} FLOP/B, which is T/4")

exercise(7, "132 SMs and tiles of 128 x 128: the largest n x n output in one wave, and one more?")
grid = pm.tile_grid(n, n, tile=(128, 128))
largest = pm.solve(grid.blocks <= 132, n)
show(f"{grid.blocks} <= 132: {largest.answer} ({largest.method})")
for size in (largest.most, largest.most + 1):
    show(pm.waves(pm.tile_grid(size, size, tile=(128, 128)), units=132))

exercise(8, "Online softmax over [1, 3] and then [2, 5]: maximum and sum after each block, and the result?")
p = pm.tile(pm.online(pm.fuse(pm.softmax(1, 4)), "n"), stream={"n": 2})
run = pm.simulate(p, {"x": np.array([[1.0, 3.0, 2.0, 5.0]])}, watch=("max", "sum"))
for block, name, values in run.watched:
    show(f"block {block}: {name} {float(values[0]):.4f}")
show(f"answer: softmax {run.values['y'][0].round(3)}")

exercise(9, "FlashAttention's backward needs D_i = sum_j P_ij dP_ij. Why is sum_k dO_ik O_ik the same, and worth it?")
forward = pm.attention(n, n, 128)
backward = pm.fuse(pm.grad(forward, of="O"))
regrouped = pm.reassociate(backward)
show("dP = dO V', so sum_j P_ij sum_k dO_ik V_jk = sum_k dO_ik sum_j P_ij V_jk, and that inner sum is O_ik")
show(f"reassociate does it; flops saved: {backward.flops - regrouped.flops}")
show(pm.check(regrouped))
via_p, via_o = (pm.program(pm.sum(pm.tensor("a", {"i": n, "j": w}) * pm.tensor("b", {"i": n, "j": w}), "j"))
                for w in (n, pm.dims("d")))  # fmt: skip
show(f"answer: elements read {pm.fuse(via_p).elements_read} through P, {pm.fuse(via_o).elements_read} through O")

exercise(
    10, "Hands on: (a) blocks that do not divide n, (b) the gain of fusing SiLU, (c) a systolic array with weights."
)
flash = pm.online(pm.fuse(pm.attention(37, 37, 8)), "kv")
for query, key in ((8, 4), (16, 5), (37, 7)):
    checked = pm.check(pm.tile(flash, grid={"q": query}, stream={"kv": key}))
    show(f"(a) blocks of {query} and {key} leave a ragged last one: {str(checked).splitlines()[-1]}")
silu = pm.elementwise("x / (1 + exp(0 - x))", n)
gain = silu.bytes / pm.fuse(silu).bytes
show(f"(b) {len(silu.kernels)} kernels move {silu.bytes} B, fused {pm.fuse(silu).bytes} B: {gain}x")
for flow in ("output", "weight"):
    show("(c) " + str(pm.systolic(512, 8, 8, rows=8, cols=8, dataflow=flow)).replace("\n", "\n    "))
