"""Formats, and what tensors and training states take in memory."""

from __future__ import annotations

from typing import Any

import perfmodel as pm
from golden.registry import Inputs, answers
from golden.tools import MANY, MIB, attained, bytes_of, figures, moved, padded, stored, streaming


@answers("s2-2.7-ai-*")
def intensity_of_a_width(given: Inputs) -> dict[str, Any]:
    fp32 = pm.elementwise("x + y", MANY, dtype="fp32")
    return {"factor": pm.cast(fp32, stored(given["b"])).intensity / fp32.intensity}


def _float(given: Inputs, encoding: str) -> pm.Format:
    """A float of one sign bit and the given exponent and mantissa."""
    e, m = given["e"], given["m"]
    return pm.Format(bits=1 + e + m, exponent_bits=e, mantissa_bits=m, bias=given["bias"], encoding=encoding)


@answers("s2-2.7-e4m3-max")
def largest_e4m3(given: Inputs) -> dict[str, Any]:
    form = _float(given, "one-nan")
    return {"max": form.max_finite, "bits": form.bits}


@answers("s2-2.7-e5m2-max")
def largest_e5m2(given: Inputs) -> dict[str, Any]:
    form = _float(given, "ieee")
    return {"max": form.max_finite, "bits": form.bits}


@answers("s2-2.7-fp16")
def fp16(given: Inputs) -> dict[str, Any]:
    form = _float(given, "ieee")
    return {"max": form.max_finite, "eps": form.epsilon}


@answers("s1-2.2.2-mxfp8")
def overhead_of_scales(given: Inputs) -> dict[str, Any]:
    plain, scaled = pm.format("fp8"), pm.format("mxfp8")
    return {"overhead_pct": float(100 * (scaled.effective_bits / plain.effective_bits - 1))}


@answers("o-nvfp4-block")
def one_block(given: Inputs) -> dict[str, Any]:
    block, fp16_ = [pm.format(name).bytes_of_elements(16) for name in ("nvfp4", "fp16")]
    return {"bytes": block, "share_pct": 100 * block / fp16_, "reduction": fp16_ / block}


@answers("o-cs336-gpt3-ffn")
def one_matrix(given: Inputs) -> dict[str, Any]:
    return {"mib": bytes_of(pm.tensor("W", {"i": 4 * 12288, "j": 12288}, dtype="fp32")) / MIB}


@answers("o-sb-l3-int4")
def weights_in_three_formats(given: Inputs) -> dict[str, Any]:
    sizes = {name: pm.format(name).bytes_of_elements(int(given["P"])) for name in ("bf16", "int8", "int4")}
    return {
        **{name: size / 1e9 for name, size in sizes.items()},
        "int4_chips": sizes["int4"] / 16e9,
        "bf16_chips": sizes["bf16"] / 16e9,
    }


@answers("s2-2.10-accumulators")
def accumulators(given: Inputs) -> dict[str, Any]:
    """What a block holds of its output while k streams by: all of it, or a row."""

    def held(rows: int) -> Any:
        p = pm.tile(pm.matmul(given["M"], given["N"], "k", dtype="fp32"), m=rows, n=given["N"], stream={"k": 16})
        sizes = [size for _, role, _, size in p.footprint().rows if role == "accumulator"]
        return sum(sizes) / pm.format("fp32").bytes_per_element

    return {"total": held(given["M"]), "per_row": held(1)}


def adam(parameters: Any, gradients: str = "bf16", kind: str = "adamw") -> pm.Program:
    """A step with fp32 parameters and moments, and a working copy in bf16."""
    formats = {"p": "fp32", "m": "fp32", "v": "fp32", "g": gradients}
    return pm.optimizer_step(int(parameters), kind, dtype=formats, copy="bf16")


def state(step: pm.Program, names: str = "pmvg") -> Any:
    """Bytes of parameters, moments and gradients that a step works on."""
    return bytes_of(*[step.tensors[name] for name in names])


@answers("o-el-states")
def mixed_precision_states(given: Inputs) -> dict[str, Any]:
    step = adam(given["P"])
    copy = bytes_of(step.tensors["p_copy"])
    return {"weights": copy / 1e9, "optimizer": state(step, "pmv") / 1e9, "total": (copy + state(step)) / 1e9}


@answers("o-zero-0")
def every_rank_holds_all(given: Inputs) -> dict[str, Any]:
    step = adam(given["P"])
    return {"gb": (bytes_of(step.tensors["p_copy"]) + state(step)) / 1e9}


@answers("o-zero-2")
def ranks_share_gradients_and_states(given: Inputs) -> dict[str, Any]:
    copy = bytes_of(adam(given["P"]).tensors["p_copy"])
    return {"gb": (copy + state(adam(pm.ceil_div(int(given["P"]), given["N"])))) / 1e9}


@answers("N01")
def bytes_a_parameter(given: Inputs) -> dict[str, Any]:
    with_bf16, with_fp32 = adam(given["N"]), adam(given["N"], "fp32", "adam")
    copy = bytes_of(with_bf16.tensors["p_copy"])
    fused = pm.fuse(with_fp32)
    return {
        "12": state(with_fp32, "pmv") / 1e9,
        "16": (copy + state(with_bf16)) / 1e9,
        "18": (copy + state(with_fp32)) / 1e9,
        "20": (copy + state(with_fp32) + state(with_bf16, "g")) / 1e9,
        "step traffic per parameter": fused.bytes / given["N"],
        "step time": pm.estimate(fused, streaming(3.35e12)).time_s * 1e3,
    }


@answers("M01")
def working_sets(given: Inputs) -> dict[str, Any]:
    array = pm.tensor("a", {"i": 1_048_576}, dtype="fp64")
    _, rows = figures(given["b"])

    def in_and_out(n: int) -> float:
        return pm.program(pm.einsum("ij->ij", pm.tensor("x", {"i": rows, "j": n}, dtype="fp16"))).bytes / MIB

    filled = attained(pm.workload(bytes_written=given["c"]), 8.182e-6)
    return {
        "a: array": bytes_of(array) / MIB,
        "a: 4 arrays": bytes_of(*4 * [array]) / MIB,
        **{f"b: N={n}": in_and_out(n) for n in (4096, 8192, 16384)},
        "c: rate": filled.bytes_per_s / 1e12,
        "c: share": filled.bytes_per_s / streaming(1.792e12).bandwidth_bytes_per_s,
    }


# ------------------------------------------------------------------ sizes that are filled up


@answers("s0-3.1-launch-1000")
def launched_threads(given: Inputs) -> dict[str, Any]:
    threads = padded(given["n"], given["block"])
    return {"blocks": pm.ceil_div(given["n"], given["block"]), "threads": threads, "idle": threads - given["n"]}


@answers("s0-7-pad-vocab")
def padded_vocabulary(given: Inputs) -> dict[str, Any]:
    """The product of the output layer with its table of a row a word, and the size that suits a chip of tiles of m."""
    head = pm.matmul("tokens", given["v"], 768)
    filled = pm.pad(head, n=given["m"])
    growth = moved(filled, "B") / moved(head, "B")
    rows = filled.labels["n"]
    return {"padded": rows, "added": rows - given["v"], "growth_pct": 100 * (growth - 1)}


@answers("s2-2.10-pad")
def padded_weight_tile(given: Inputs) -> dict[str, Any]:
    filled = pm.pad(pm.matmul(1, given["n"], given["n"]), n=given["A"], k=given["A"])
    return {"useful_pct": 100 * filled.flops / filled.issued_flops}


@answers("H05")
def width_over_ranks(given: Inputs) -> dict[str, Any]:
    """A layer whose width is cut over ranks, each of which fills up its part."""
    width, ranks = given["width"], given["tp"]

    def on_ranks(degree: int, multiple: int) -> pm.Program:
        return pm.pad(pm.matmul(1, pm.ceil_div(width, degree), 64, batch=degree), n=multiple)

    whole = pm.matmul(1, width, 64)
    first, second = [on_ranks(ranks, multiple) for multiple in (32, 128)]
    exact = [degree for degree in range(1, 17) if on_ranks(degree, 128).issued_flops == whole.flops]
    return {
        "multiple of 32": first.labels["n"],
        "multiple of 128": second.labels["n"],
        "extra over 352": second.issued_flops / first.issued_flops - 1,
        "extra over 2048/6": second.issued_flops / whole.flops - 1,
        "degrees without padding": len(exact),
    }
