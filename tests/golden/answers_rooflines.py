"""Ridge points, rooflines of single operators, and what-ifs on them."""

from __future__ import annotations

from typing import Any

import perfmodel as pm
from golden.registry import Inputs, answers
from golden.tools import MANY, chip, compute_bound_from, figures, stored, streaming, weights_only


@answers("s0-4-balance-*", "s0-5.4-m4-balance")
def balance(given: Inputs) -> dict[str, Any]:
    return {"balance": chip(given["peak"], given["bw"]).ridge("bf16")}


@answers("s3-5-ridge")
def ridge_fp16(given: Inputs) -> dict[str, Any]:
    return {"ridge": chip(given["peak"], given["bw"]).ridge("fp16")}


@answers("s2-4.5d-h100-ridge")
def ridge_of_two_bandwidths(given: Inputs) -> dict[str, Any]:
    h100 = chip(given["peak"], 3e12)
    faster = h100.replace(bandwidth_bytes_per_s=3.35e12)
    return {"ridge_3": h100.ridge("fp16"), "ridge_335": faster.ridge("fp16")}


@answers("o-sb-roof-v5e-ridge")
def ridge_v5e(given: Inputs) -> dict[str, Any]:
    return {"ridge": chip(1.97e14, 8.2e11).ridge("bf16")}


@answers("o-cs336-h100-ridge")
def ridge_h100(given: Inputs) -> dict[str, Any]:
    return {"ridge": chip(989e12, 3.35e12).ridge("bf16")}


def _placed(program: pm.Program, machine: pm.Machine, unit: float = 1e12) -> dict[str, Any]:
    """An operator on a roofline: intensity, attained rate, percent of peak, bound."""
    found = pm.estimate(program, machine)
    return {
        "intensity": program.intensity,
        "attainable": found.flops_per_s / unit,
        "pct_of_peak": 100 * found.fraction_of_peak,
        "bound": found.bound,
    }


@answers("s0-5.2-relu")
def relu(given: Inputs) -> dict[str, Any]:
    return _placed(pm.elementwise("relu(x)", given["n"]), chip(given["peak"], given["bw"]))


@answers("s0-5.2-gemv4096")
def gemv(given: Inputs) -> dict[str, Any]:
    n = int(given["n"])
    return _placed(pm.gemv(n, n), chip(given["peak"], given["bw"]))


@answers("s0-5.2-matmul4096")
def matmul(given: Inputs) -> dict[str, Any]:
    n = given["n"]
    return _placed(pm.matmul(n, n, n), chip(given["peak"], given["bw"]))


@answers("s0-5.4-m4-matmul*")
def matmul_on_a_laptop(given: Inputs) -> dict[str, Any]:
    n = given["n"]
    return _placed(pm.matmul(n, n, n, dtype="fp32"), chip(given["peak"], given["bw"]), unit=1e9)


@answers("s0-5.4-m4-x2")
def doubling_on_a_laptop(given: Inputs) -> dict[str, Any]:
    return _placed(pm.elementwise("2*x", MANY, dtype="fp32"), chip(given["peak"], given["bw"]), unit=1e9)


@answers("s0-5.4-m4-x2p1")
def fused_and_unfused_on_a_laptop(given: Inputs) -> dict[str, Any]:
    machine = chip(given["peak"], given["bw"])
    two = pm.elementwise("2*x + 1", MANY, dtype="fp32")
    one = pm.fuse(two)
    return {
        "intensity_fused": one.intensity,
        "attainable_fused": pm.estimate(one, machine).flops_per_s / 1e9,
        "attainable_two_kernels": pm.estimate(two, machine).flops_per_s / 1e9,
    }


@answers("s2-4.1-add-intensity")
def add(given: Inputs) -> dict[str, Any]:
    found = _placed(pm.elementwise("a + b", MANY, dtype="fp32"), chip(given["peak"], given["bw"]), unit=1e9)
    return {"intensity": found["intensity"], "attainable": found["attainable"], "pct": found["pct_of_peak"]}


@answers("o-sb-gpu-add-*")
def add_two_vectors(given: Inputs) -> dict[str, Any]:
    p = pm.elementwise("a + b", given["n"], dtype="fp32")
    return {"intensity": p.intensity, "t": pm.estimate(p, streaming(3.35e12)).time_s * 1e3}


@answers("o-cs149-mul-bw")
def multiply_at_full_rate(given: Inputs) -> dict[str, Any]:
    machine = pm.Machine(units=5120, rate_per_clock=1, clock_hz=1.6e9, bandwidth_bytes_per_s=0.9e12)
    p = pm.elementwise("a * b", MANY, dtype="fp32")
    return {
        "tb_s": machine.peak("fp32") / p.intensity / 1e12,
        "eff_pct": 100 * pm.estimate(p, machine).fraction_of_peak,
    }


@answers("s3-q3")
def given_intensity(given: Inputs) -> dict[str, Any]:
    machine = chip(given["peak"], given["bw"])
    found = _placed(pm.workload(flops=given["I"], bytes_read=1, dtype="fp16"), machine)
    names = {"bound": "bound", "attainable": "attainable", "pct": "pct_of_peak"}
    return {"ridge": machine.ridge("fp16"), **{name: found[key] for name, key in names.items()}}


@answers("s3-q4-comp")
def cut_what_binds_and_what_does_not(given: Inputs) -> dict[str, Any]:
    machine = chip(1e12, 1e12)
    before = pm.workload(flops=100, bytes_read=10)
    fewer_flops, fewer_bytes = pm.workload(flops=80, bytes_read=10), pm.workload(flops=100, bytes_read=4)
    _, flops, size = pm.compare(before, fewer_flops, fewer_bytes, on=machine).speedups
    return {"cut_flops": flops, "cut_bytes": size}


@answers("s3-q5-flash")
def recompute_to_move_less(given: Inputs) -> dict[str, Any]:
    machine = chip(1e12, 1e12)  # a ridge of 1 FLOP/B
    before = pm.workload(flops=given["ratio"], bytes_read=1)
    after = pm.workload(flops=given["ratio"] * given["fl"], bytes_read=given["by"])
    return {
        "speedup": pm.compare(before, after, on=machine).speedups[1],
        "new_intensity_over_ridge": after.intensity / machine.ridge("bf16"),
    }


@answers("s2-4.1-double-peak")
def double_the_peak(given: Inputs) -> dict[str, Any]:
    after = chip(given["peak"], given["bw"])
    before = after.replace(peak=after.peak("fp32") / 2)
    p = pm.workload(flops=given["I"], bytes_read=1, dtype="fp32")
    return {"ridge": after.ridge("fp32"), "speedup": pm.compare(p, on=[before, after]).speedups[1]}


@answers("s0-ex2")
def square_matmul_from_which_n(given: Inputs) -> dict[str, Any]:
    def square(n: Any) -> pm.Program:
        return pm.matmul(n, n, n, dtype=stored(given["b"]))

    return {
        "intensity_at_900": square(900).intensity,
        "n_min": compute_bound_from(square, chip(given["peak"], given["bw"])),
    }


@answers("o-nv-gemm-n128")
def thin_gemm_on_v100(given: Inputs) -> dict[str, Any]:
    machine = chip(125e12, 900e9)
    p = pm.matmul(given["M"], given["N"], given["K"], dtype="fp16")
    return {
        "intensity": p.intensity,
        "ridge": machine.ridge("fp16"),
        "bound": pm.estimate(p, machine).bound,
    }


@answers("o-sb-tpu-q4-vmem")
def batch_where_the_times_cross(given: Inputs) -> dict[str, Any]:
    batch = pm.dims("B")
    p = pm.gemv(given["F"], given["D"], batch=batch, dtype="int8")
    (crossing,) = pm.solve(p, chip(given["C"], given["W"]), batch, bound="compute").values
    return {"B_crit": float(crossing)}


@answers("o-tpu1-MLP?", "o-tpu1-LSTM?", "o-tpu1-CNN?")
def tpu_v1(given: Inputs) -> dict[str, Any]:
    """So many MACs a weight byte: int8 weights that so many vectors share."""
    machine = chip(92e12, 34e9)
    found = pm.estimate(weights_only(pm.gemv(4096, 4096, batch=given["I"], dtype="int8")), machine)
    measured = found.against(found.program.flops / (given["meas"] * 1e12))
    return {
        "roof_tops": found.flops_per_s / 1e12,
        "bound": found.bound,
        "achieved_share": measured.flops_per_s / found.flops_per_s,
    }


@answers("o-nv-maxpool")
def max_pool(given: Inputs) -> dict[str, Any]:
    p = pm.pool2d(height=256, width=256, channels=64, kernel=3, stride=1, padding=1, dtype="fp16")
    return {"intensity": p.intensity}


@answers("o-roof-spmv")
def sparse_matrix_vector(given: Inputs) -> dict[str, Any]:
    """A multiply-add for each stored value; an index for each value, or for each block of 2 x 2."""
    n = 2**20
    values, work = pm.format("fp64").bytes_of_elements(n), pm.matmul(1, 1, n).flops
    per_value, per_block = [pm.format("int32").bytes_of_elements(pm.ceil_div(n, block)) for block in (1, 2 * 2)]
    csr, bcsr = [pm.workload(flops=work, bytes_read=values + index) for index in (per_value, per_block)]
    return {"csr": csr.intensity, "bcsr": bcsr.intensity}


@answers("o-roof-stencil")
def stencil(given: Inputs) -> dict[str, Any]:
    """Seven points of a periodic grid: a centre, six neighbours, two weights."""
    n = 64
    x = pm.tensor("x", {"i": n, "j": n, "k": n}, dtype="fp64")
    before = [x.roll(label, n - 1) for label in "ijk"]
    after = [x.roll(label, 1) for label in "ijk"]
    around = before[0] + before[1] + before[2] + after[0] + after[1] + after[2]
    p = pm.fuse(pm.program(0.5 * x + 0.1 * around))
    return {"no_wa": p.intensity, "wa": allocating(p).intensity}


@answers("M03")
def stream(given: Inputs) -> dict[str, Any]:
    form = stored(given["word"])
    copy, triad, add_ = [
        pm.fuse(pm.elementwise(text, 1, dtype=form, scalars=scalars))
        for text, scalars in (("copy(b)", ()), ("b + s*c", ("s",)), ("b + c", ()))
    ]
    update = pm.workload(flops=add_.flops, bytes_read=add_.bytes_read, bytes_written=add_.bytes_written)
    return {
        "copy counted": copy.bytes,
        "copy moved": allocating(copy).bytes,
        "copy correction": allocating(copy).bytes / copy.bytes,
        "triad correction": allocating(triad).bytes / triad.bytes,
        "add, no write-allocate": add_.intensity,
        "add, memory with write-allocate": allocating(add_).intensity,
        "x+=y": update.intensity,  # what it writes it has read already: nothing to allocate
    }


def allocating(p: pm.Program) -> pm.Program:
    """The program on a cache that reads each line before it is written to."""
    return pm.workload(flops=p.flops, bytes_read=p.bytes_read + p.bytes_written, bytes_written=p.bytes_written)


@answers("D01")
def critical_batch(given: Inputs) -> dict[str, Any]:
    bf16, int8, bandwidth = figures(given["v5e"])
    v5e = pm.Machine(peak={"bf16": bf16, "int8": int8}, bandwidth_bytes_per_s=bandwidth)
    h100 = chip(*figures(given["H100"]))

    def batch(machine: pm.Machine, arithmetic: str, weights: str) -> Any:
        one = weights_only(pm.gemv(8192, 8192, dtype={"x": arithmetic, "W": weights}))
        return machine.ridge(arithmetic) / one.intensity

    return {
        "v5e bf16": batch(v5e, "bf16", "bf16"),
        "v5e int8": batch(v5e, "int8", "int8"),
        "v5e int8 weights, bf16 math": batch(v5e, "bf16", "int8"),
        "H100 SXM bf16": batch(h100, "bf16", "bf16"),
    }
