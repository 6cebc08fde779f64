"""One weight for few tokens: matrix-vector products, decode steps, critical batches, quantised weights."""

from __future__ import annotations

from typing import Any

import perfmodel as pm
from golden.registry import Inputs, answers
from golden.tools import (
    MANY,
    attained,
    bytes_of,
    chip,
    compute_bound_from,
    figures,
    moved,
    reading,
    streaming,
    weights_only,
)


@answers("s0-5.3-decode-b*")
def decode(given: Inputs) -> dict[str, Any]:
    p = pm.gemv(given["d"], given["d"], batch=given["B"])
    found = pm.estimate(p, chip(given["peak"], given["bw"]))
    return {"intensity": p.intensity, "pct_of_peak": 100 * found.fraction_of_peak}


@answers("s0-ex3")
def least_batch(given: Inputs) -> dict[str, Any]:
    def step(batch: Any) -> pm.Program:
        return weights_only(pm.gemv(8192, 8192, batch=batch))

    return {
        "intensity_per_B": step(1).intensity,
        "B_min": compute_bound_from(step, chip(given["peak"], given["bw"])),
    }


@answers("s3-5-decode")
def decode_of_one_sequence(given: Inputs) -> dict[str, Any]:
    fp16 = weights_only(pm.gemv(4096, 4096, dtype="fp16")).intensity
    int8 = weights_only(pm.gemv(4096, 4096, dtype={"x": "fp16", "W": "int8", "y": "fp16"})).intensity
    return {"fp16": fp16, "int8": int8, "gap": chip(given["ridge"], 1).ridge("fp16") / fp16}


@answers("s2-q1-gemv-b*")
def batched_gemv(given: Inputs) -> dict[str, Any]:
    machine = chip(given["peak"], given["bw"])
    p = pm.gemv(given["n"], given["n"], batch=given["B"], dtype="fp16")
    weights, full = pm.estimate(weights_only(p), machine), pm.estimate(p, machine)
    return {
        "flops": p.flops,
        "weight_mb": bytes_of(p.tensors["W"]) / 1e6,
        "intensity_weights": weights.program.intensity,
        "intensity_full": p.intensity,
        "tflops": weights.flops_per_s / 1e12,
        "pct": 100 * weights.fraction_of_peak,
        "pct_full": 100 * full.fraction_of_peak,
    }


@answers("s2-q1-int8")
def quantised_gemv(given: Inputs) -> dict[str, Any]:
    fp16 = pm.gemv(4096, 4096, dtype="fp16")
    int8 = pm.cast(fp16, W="int8")
    both = weights_only(fp16), weights_only(int8)
    return {
        "intensity": both[1].intensity,
        "speedup": pm.compare(*both, on=chip(989e12, 3e12)).speedups[1],
    }


@answers("o-sb-roof-q1")
def critical_batch_int8(given: Inputs) -> dict[str, Any]:
    one = weights_only(pm.gemv(4096, 4096, dtype="int8"))
    ridge = chip(3.94e14, 8.1e11).ridge("int8")
    return {"intensity_per_B": one.intensity, "ridge": ridge, "B_crit": ridge / one.intensity}


@answers("o-sb-tpu-q3")
def weights_over_pcie(given: Inputs) -> dict[str, Any]:
    one = weights_only(pm.gemv(4 * 4096, 4096))
    return {"B_min": chip(9.2e14, 1.5e10).ridge("bf16") / one.intensity}


@answers("D05")
def four_bit_weights(given: Inputs) -> dict[str, Any]:
    bits, scale, group, zero, _ = figures(given["bits"])
    int4 = pm.Format(bits=bits, block=group, scale_bits=scale, zero_bits=zero)
    machine = chip(given["peak"], given["bw"])

    def steps(batch: int) -> list[pm.Program]:
        full = pm.gemv(5120, 5120, batch=batch, dtype="fp16")
        return [weights_only(full), weights_only(pm.cast(full, W=int4))]

    def gain(batch: int) -> Any:
        return pm.compare(*steps(batch), on=machine).speedups[1]

    fp16, quantised = [machine.ridge("fp16") / step.intensity for step in steps(1)]
    return {
        "bytes per weight": int4.bytes_per_element,
        "ridge FP16": fp16,
        "ridge 4 bit": quantised,
        **{f"ideal gain at {batch}": gain(batch) for batch in (32, 64, 256)},
    }


@answers("D03")
def layers_in_four_bits(given: Inputs) -> dict[str, Any]:
    h, kv, ff = int(given["h"]), int(given["kv"]), int(given["ff"])
    layer = pm.sequence(pm.gemv(h, h), pm.gemv(kv, h), pm.gemv(kv, h), pm.gemv(h, h), pm.gated_mlp(1, h, ff))
    weights = [item.name for item in layer.inputs if item.name.startswith("W")]
    four_bits = pm.cast(layer, tensors=dict.fromkeys(weights, pm.Format(bits=given["bits"])))
    layers = moved(four_bits.repeat(given["L"]), *weights)
    head = bytes_of(pm.gemv(given["V"], h).tensors["W"])
    step = pm.estimate(reading(layers + head), streaming(273e9))
    return {
        "layer weights": layers / 1e9,
        "head": head / 1e9,
        "bound": 1 / step.time_s,
        "4.2 tokens/s as a share": 4.2 * step.time_s,
    }


@answers("D09")
def a_step_above_its_floor(given: Inputs) -> dict[str, Any]:
    machine = streaming(given["bw"])
    bf16, fp8 = [
        pm.estimate(reading(pm.format(name).bytes_of_elements(int(given["active"]))), machine)
        for name in ("bf16", "fp8")
    ]
    measured = bf16.against(given["measured"][0])
    return {
        "BF16 floor": bf16.time_s * 1e3,
        "FP8 floor": fp8.time_s * 1e3,
        "best saving": (bf16.time_s - fp8.time_s) * 1e3,
        "measured BF16 / floor": measured.ratio,
        "best saving as a share of 7.5 ms": (bf16.time_s - fp8.time_s) / measured.seconds,
    }


@answers("E03")
def experts_of_one_token(given: Inputs) -> dict[str, Any]:
    bits, both, group = figures(given["bits"])
    form = pm.Format(bits=bits, block=group, scale_bits=both // 2, zero_bits=both // 2)
    weights = ("W_gate", "W_up", "W_down")
    expert = pm.gated_mlp(1, given["h"], given["f"], dtype=dict.fromkeys(weights, form))
    routed = reading(moved(expert.repeat(given["k"]), *weights))
    return {
        "bytes per expert": moved(expert, *weights) / 1e6,
        "bandwidth alone": attained(routed, 0.439e-3).bytes_per_s / 1e9,
        "bandwidth chained": attained(routed, 0.292e-3).bytes_per_s / 1e9,
        "floor at 819 GB/s": pm.estimate(routed, streaming(819e9)).time_s * 1e3,
    }


def latent_attention(batch: int, queries: int, keys: int, heads: int, width: int, values: int) -> pm.Program:
    """Attention whose values are part of the keys: one latent cache, and beside it the rest of the key."""
    rows = {"b": batch, "q": queries, "h": heads}
    q_latent, q_rest = pm.tensor("q_latent", {**rows, "c": values}), pm.tensor("q_rest", {**rows, "r": width - values})
    latent = pm.tensor("latent", {"b": batch, "kv": keys, "c": values})
    rest = pm.tensor("rest", {"b": batch, "kv": keys, "r": width - values})
    scores = pm.einsum("b q h c, b kv c -> b q h kv", q_latent, latent)
    scores = scores + pm.einsum("b q h r, b kv r -> b q h kv", q_rest, rest)
    out = pm.einsum("b q h kv, b kv c -> b q h c", pm.softmax(scores, "kv"), latent)
    return pm.fuse(pm.program(out, name="latent_attention"))


@answers("F03")
def latent_decode(given: Inputs) -> dict[str, Any]:
    b, h, dk, dv = given["b"], given["h"], given["dk"], given["dv"]
    h20, h800 = chip(148e12, 4.0e12), chip(990e12, 3.35e12)
    p = latent_attention(b, given["sq"], given["sk"], h, dk, dv)
    long = latent_attention(b, 1, MANY, 128, dk, dv)
    measured = attained(p, 3.407e-3)
    rate = p.flops_by_unit["matrix"] / measured.seconds
    return {
        "TFLOP/s": rate / 1e12,
        "GB/s": measured.bytes_per_s / 1e9,
        "intensity": p.flops_by_unit["matrix"] / p.bytes,
        "ridge H20": h20.ridge("bf16"),
        "share of the H20 peak": rate / h20.peak("bf16"),
        "intensity, 1 query, 128 heads, long context": long.flops_by_unit["matrix"] / long.bytes,
        "ridge H800": h800.ridge("bf16"),
    }
