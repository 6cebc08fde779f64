"""What moves when elementwise chains, softmax and norms run one op a kernel, and when they are fused."""

from __future__ import annotations

from typing import Any

import perfmodel as pm
from golden.registry import Inputs, answers
from golden.tools import MANY, accesses, attained, bytes_of, figures, per, stored, streaming

N = pm.dims("n")


def _removed_pct(before: Any, after: Any) -> float:
    return float(100 * (1 - after / before))


@answers("s0-6.3-sin2cos2")
def sine_and_cosine(given: Inputs) -> dict[str, Any]:
    p = pm.elementwise("sin(x)**2 + cos(x)**2", N)
    fused = pm.fuse(p)
    return {
        "kernels": len(p.kernels),
        "reads_unfused": per(p.elements_read, N),
        "writes_unfused": per(p.elements_written, N),
        "total_unfused": accesses(p),
        "total_fused": accesses(fused),
        "speedup": accesses(p) / accesses(fused),
    }


@answers("s0-6.3-sin2cos2-measured")
def sine_and_cosine_measured(given: Inputs) -> dict[str, Any]:
    p = pm.elementwise("sin(x)**2 + cos(x)**2", given["n"], dtype="fp32")
    unfused, fused = attained(p, given["t0"]), attained(pm.fuse(p), given["t1"])
    return {
        "speedup": unfused.seconds / fused.seconds,
        "bw_unfused": unfused.bytes_per_s / 1e9,
        "bw_fused": fused.bytes_per_s / 1e9,
    }


@answers("s0-ex4")
def relu_of_affine(given: Inputs) -> dict[str, Any]:
    p = pm.elementwise("relu(x*w + b)", N)
    fused = pm.fuse(p)
    return {
        "kernels": len(p.kernels),
        "unfused": accesses(p),
        "fused": accesses(fused),
        "speedup": accesses(p) / accesses(fused),
    }


@answers("o-hh-cos")
def two_cosines(given: Inputs) -> dict[str, Any]:
    p = pm.elementwise("cos(cos(x))", N)
    fused = pm.fuse(p)
    return {"unfused": accesses(p), "fused": accesses(fused), "speedup": accesses(p) / accesses(fused)}


@answers("s2-4.1-fuse-E")
def three_loops_or_one(given: Inputs) -> dict[str, Any]:
    p = pm.elementwise("D + (A + B)*C", N, dtype="fp32")
    fused = pm.fuse(p)
    unfused_ops, fused_ops = [per(item.flops, N) / accesses(item) for item in (p, fused)]
    return {
        "unfused": unfused_ops,
        "fused": fused_ops,
        "gain": fused_ops / unfused_ops,
        "unfused_flop_per_byte": p.at(n=MANY).intensity,
        "fused_flop_per_byte": fused.at(n=MANY).intensity,
    }


@answers("s0-6.2-relu-bytes")
def relu_in_two_widths(given: Inputs) -> dict[str, Any]:
    wide, narrow = [pm.elementwise("relu(x)", 1, dtype=stored(given[key])) for key in ("b32", "b16")]
    return {
        "bytes_fp32": wide.bytes,
        "bytes_bf16": narrow.bytes,
        "intensity_ratio": narrow.intensity / wide.intensity,
    }


@answers("s0-6.2-copy-bw")
def copy_in_two_widths(given: Inputs) -> dict[str, Any]:
    wide, narrow = [
        attained(pm.elementwise("copy(x)", given["n"], dtype=dtype), given[key])
        for dtype, key in (("fp32", "t32"), ("bf16", "t16"))
    ]
    return {
        "bw_fp32": wide.bytes_per_s / 1e9,
        "bw_bf16": narrow.bytes_per_s / 1e9,
        "time_ratio": wide.seconds / narrow.seconds,
    }


@answers("s0-6.5-copy-transpose")
def copy_and_transpose(given: Inputs) -> dict[str, Any]:
    x = pm.tensor("x", {"i": given["n"], "j": given["n"]}, dtype="fp32")
    ordered, strided = [
        attained(pm.program(pm.einsum(pattern, x)), given[key]) for pattern, key in (("ij->ij", "t0"), ("ij->ji", "t1"))
    ]
    return {
        "slowdown": strided.seconds / ordered.seconds,
        "bw_ordered": ordered.bytes_per_s / 1e9,
        "bw_strided": strided.bytes_per_s / 1e9,
    }


@answers("s2-2.6-softmax-counts")
def softmax_counts(given: Inputs) -> dict[str, Any]:
    p = pm.softmax(int(given["M"]), int(given["N"]))
    fused = pm.fuse(p)
    return {
        "reads": p.elements_read,
        "writes": p.elements_written,
        "fused_reads": fused.elements_read,
        "fused_writes": fused.elements_written,
        "factor": p.bytes / fused.bytes,
    }


@answers("s2-4.4B-softmax")
def softmax_times(given: Inputs) -> dict[str, Any]:
    p = pm.softmax(given["M"], given["N"], dtype=stored(given["b"]))
    fused = pm.fuse(p)
    unfused_time, fused_time = [pm.estimate(item, streaming(given["bw"])).time_s for item in (p, fused)]
    return {
        "matrix_mb": bytes_of(p.tensors["x"]) / 1e6,
        "read_mb": p.bytes_read / 1e6,
        "write_mb": p.bytes_written / 1e6,
        "total_mb": p.bytes / 1e6,
        "fused_mb": fused.bytes / 1e6,
        "t_naive": unfused_time * 1e3,
        "t_fused": fused_time * 1e3,
    }


@answers("L01")
def softmax_gain(given: Inputs) -> dict[str, Any]:
    def gain(p: pm.Program) -> float:
        return p.bytes / pm.fuse(p).bytes

    p = pm.softmax(int(given["M"]), int(given["N"]), dtype="fp32")
    return {
        "reads": p.elements_read,
        "writes": p.elements_written,
        "gain": gain(p),
        "gain at N=64": gain(pm.softmax(given["M"], 64, dtype="fp32")),
        "fused bytes": pm.fuse(p).bytes / 2**20,
    }


def conv_scale_pool(size: int) -> tuple[pm.Program, tuple[str, ...]]:
    """A convolution's fp32 output of so many bytes, scaled and shifted, then pooled 2 x 2: three kernels.

    Beside it, the convolution's own inputs.
    """
    filters = size // (4 * 2 * 2)
    x = pm.tensor("x", {"batch": 1, "group": 1, "c": 1, "h": 2, "w": 2}, dtype="fp32")
    weight = pm.tensor("weight", {"group": 1, "f": filters, "c": 1, "down": 1, "across": 1}, dtype="fp32")
    made = pm.conv2d(x, weight, name="made") * 2 + 1
    p = pm.program(pm.pool2d(made, kernel=2))
    return pm.fuse(p, only=("mul", "add")), ("x", "weight")


@answers("s2-4.4A-fuse")
def pooling_fused(given: Inputs) -> dict[str, Any]:
    machine = streaming(given["bw"] * 1e9)
    p, inputs = conv_scale_pool(int(given["g"] * 1e9))
    both = [pm.workload(bytes_read=item.bytes - own(item, inputs)) for item in (p, pm.fuse(p))]
    times = [pm.estimate(item, machine).time_s * 1e3 for item in both]
    return {
        "unfused": both[0].bytes / 1e9,
        "fused": both[1].bytes / 1e9,
        "t_unfused": times[0],
        "t_fused": times[1],
        "saved": times[0] - times[1],
        "ratio": pm.compare(*both, on=machine).speedups[1],
    }


def own(program: pm.Program, inputs: tuple[str, ...]) -> Any:
    """The bytes of a program's own inputs."""
    return bytes_of(*[program.tensors[name] for name in inputs])


@answers("s2-4.4-share")
def traffic_removed(given: Inputs) -> dict[str, Any]:
    p, inputs = conv_scale_pool(10**9)
    before, after = [item.bytes - own(item, inputs) for item in (p, pm.fuse(p))]
    m, n = pm.dims("m n")
    softmax = pm.softmax(m, n)
    return {
        "conv_pct": _removed_pct(before, after),
        "softmax_pct": _removed_pct(per(softmax.bytes, m, n), per(pm.fuse(softmax).bytes, m, n)),
    }


@answers("L03")
def activation_then_norm(given: Inputs) -> dict[str, Any]:
    """Bytes an element of long rows; a norm of two passes is two kernels, of one pass one."""
    m, n = pm.dims("m n")
    form = stored(given["bytes"])
    gate, up = [pm.tensor(name, {"m": m, "n": n}, dtype=form) for name in ("gate", "up")]
    p = pm.program(pm.rmsnorm(pm.silu(gate) * up, "n"))
    statistics = ("square", "mean", "add", "rsqrt")
    activated = pm.fuse(p, only=("silu", "mul"))
    two_passes = pm.fuse(activated, only=statistics)
    one_pass = pm.fuse(activated, only=(*statistics, "mul_2"))
    gelu = pm.elementwise("gelu(g)*u", N, dtype=form)
    apart, together = per(gelu.bytes, N), per(pm.fuse(gelu).bytes, N)
    return {
        "unfused, two-pass norm": per(two_passes.bytes, m, n),
        "unfused, one-pass norm": per(one_pass.bytes, m, n),
        "fused": per(pm.fuse(p).bytes, m, n),
        "gelu then mul, two kernels": apart,
        "gelu*u, one kernel": together,
        "GeGLU gain": apart / together,
    }


@answers("M05")
def layernorm_on_a100(given: Inputs) -> dict[str, Any]:
    _, rows, row, width = figures(given["bytes"])
    a100: Any = pm.machine("a100-sxm-40gb")
    x = pm.tensor("x", {"m": rows, "n": row}, dtype=stored(width))
    p = pm.fuse(pm.program(pm.layernorm(x, "n")))
    return {
        "bytes": p.bytes / 1e6,
        "least time": pm.estimate(p, a100, "ideal").time_s * 1e6,
        "time at 715 GB/s": pm.estimate(p, a100.replace(bandwidth_bytes_per_s=715e9), "ideal").time_s * 1e6,
        "fits L2 (40 MB)": p.bytes <= a100.level("l2").capacity_bytes,
        "rows per SM": rows / a100.units,
    }
