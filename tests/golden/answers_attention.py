"""Attention: score matrices, masks, intensities, utilisations, and the cache of keys and values."""

from __future__ import annotations

from typing import Any

import sympy

import perfmodel as pm
from golden.registry import Inputs, answers
from golden.tools import GIB, bytes_of, chip, elements_of, figures, moved, padded, stored


@answers("s0-8.1-attn-64k")
def two_score_matrices(given: Inputs) -> dict[str, Any]:
    p = pm.attention(given["n"], given["n"], 128, dtype=stored(given["b"]))
    size = bytes_of(p.tensors["S"], p.tensors["P"])
    return {"bytes": size, "gb": size / 1e9}


@answers("s0-8.5-flashmem-*")
def scores_or_log_sums(given: Inputs) -> dict[str, Any]:
    form = stored(given["b"])
    formats = {**dict.fromkeys("QKVSPO", form), "L": stored(given["stat"])}
    p = pm.attention(given["n"], given["n"], 128, lse=True, dtype=formats)
    return {
        "standard_gb": bytes_of(p.tensors["S"], p.tensors["P"]) / 1e9,
        "flash_mb": bytes_of(p.tensors["L"]) / 1e6,
    }


@answers("s0-8.3-causal")
def causal_blocks(given: Inputs) -> dict[str, Any]:
    """Blocks of equal size see each other as rows and keys do."""
    blocks = given["T"]
    return {"fraction": pm.causal().pairs(blocks, blocks) / pm.Mask("q", "kv").pairs(blocks, blocks)}


@answers("s0-ex9")
def backward_row_sums(given: Inputs) -> dict[str, Any]:
    def reads(first: str, second: str, columns: int) -> Any:
        factors = [pm.tensor(name, {"q": given["n"], "j": columns}) for name in (first, second)]
        return pm.fuse(pm.program(pm.sum(factors[0] * factors[1], "j"))).elements_read

    via_p, via_o = reads("P", "dP", given["n"]), reads("dO", "O", given["d"])
    return {"via_P": via_p, "via_O": via_o, "saving": via_p / via_o}


@answers("s2-3.3-attn-work")
def work_of_one_head(given: Inputs) -> dict[str, Any]:
    p = pm.attention(given["N"], given["N"], given["d"], dtype="fp32")
    return {
        "flops": p.flops_by_unit["matrix"],
        "gflop": p.flops_by_unit["matrix"] / 1e9,
        "macs": p.macs,
        "score_mb": bytes_of(p.tensors["S"]) / 1e6,
    }


@answers("s2-2.6-attn-intensity")
def intensity_of_one_head(given: Inputs) -> dict[str, Any]:
    p = pm.attention(given["N"], given["N"], given["d"], dtype="fp32")
    fused, staged = pm.fuse(p), pm.fuse(p, by="stage")
    return {
        "fused": fused.flops_by_unit["matrix"] / fused.bytes,
        "unfused": staged.flops_by_unit["matrix"] / staged.bytes,
    }


@answers("A03")
def causal_half_counted_whole(given: Inputs) -> dict[str, Any]:
    def share(rows: int) -> Any:
        return pm.causal().pairs(rows, rows) / pm.Mask("q", "kv").pairs(rows, rows)

    rows = given["S"]
    causal, full = [pm.fuse(pm.attention(rows, rows, 128, causal=masked)) for masked in (True, False)]
    seconds = causal.flops_by_unit["matrix"] / given["reported"]
    measured = pm.estimate(causal, chip(given["peak"], 2e12)).against(float(seconds))
    counted_whole = full.flops_by_unit["matrix"] / causal.flops_by_unit["matrix"]
    return {
        "utilization with the half count": measured.fraction_of_peak,
        "utilization with the full count": measured.fraction_of_peak * counted_whole,
        "exact causal fraction at S=16384": share(rows),
        "exact causal fraction at S=128": share(128),
    }


@answers("A09")
def keys_in_a_window(given: Inputs) -> dict[str, Any]:
    window, (long, short) = given["window"], given["S"]

    def average(rows: int) -> Any:
        return pm.causal(window=window).pairs(rows, rows) / rows

    convention = min(window, long) / 2  # the rule that the question puts to the test
    return {
        f"average keys, S={long}": average(long),
        "convention's value": convention,
        f"convention / exact, S={long}": convention / average(long),
        f"average keys, S={short}": average(short),
    }


@answers("H03")
def odd_head_size(given: Inputs) -> dict[str, Any]:
    def useful(multiple: int) -> float:
        exact, issued = [
            pm.attention(4096, 4096, d).flops_by_unit["matrix"] for d in (given["d"], padded(given["d"], multiple))
        ]
        return exact / issued

    return {
        **{f"pad to {multiple}": useful(multiple) for multiple in (32, 64, 128)},
        "measured ratio": given["measured"],
    }


def cache_bytes(
    layers: int, kv_heads: int, d: int, *, tokens: int = 1, dtype: Any = "bf16", window: int | None = None
) -> Any:
    """Bytes of K and V that one decode step reads over all layers: those that it has to find in the cache."""
    step = pm.attention(
        1, tokens, d, heads=kv_heads, kv_heads=kv_heads, causal=window is not None, window=window, dtype=dtype
    )
    return moved(step.repeat(layers), "K", "V", way="read")


@answers("o-sb-tf-kv8k")
def cache_int8(given: Inputs) -> dict[str, Any]:
    return {"gib": cache_bytes(64, 8192 // 128, 128, tokens=8192, dtype="int8") / GIB}


@answers("o-sb-l3-kv")
def cache_of_llama_70b(given: Inputs) -> dict[str, Any]:
    sequence = cache_bytes(80, 8, 128, tokens=32768, dtype="int8")
    return {
        "bytes": cache_bytes(80, 8, 128, dtype="int8"),
        "seq_gb": sequence / 1e9,
        "tb_240": 240 * sequence / 1e12,
    }


@answers("o-kp-kvflops")
def work_of_keys_and_values(given: Inputs) -> dict[str, Any]:
    both = pm.gemv(2 * given["d"], given["d"])  # K and V of one token, from one weight of d x 2d
    return {"flops": both.repeat(given["L"]).flops, "ratio": chip(312e12, 1.5e12).ridge("bf16")}


@answers("o-kp-kvbytes")
def cache_of_full_heads(given: Inputs) -> dict[str, Any]:
    size = cache_bytes(given["L"], given["d"] // 128, 128, dtype="fp16")
    return {"bytes": size, "tokens_16": 16e9 / size, "tokens_56": 56e9 / size}


@answers("C01")
def cache_of_three_sizes(given: Inputs) -> dict[str, Any]:
    small, middle, large = [figures(given[key]) for key in ("8B", "70B", "405B")]
    layers, kv_heads, d = large
    return {
        "8B bytes/token": cache_bytes(*small),
        "8B, 128,000 tokens": cache_bytes(*small, tokens=128_000) / GIB,
        "8B, 16,000 tokens": cache_bytes(*small, tokens=16_000) / GIB,
        "8B, 1,024 tokens": cache_bytes(*small, tokens=1_024) / GIB,
        "70B, 128,000 tokens": cache_bytes(*middle, tokens=128_000) / GIB,
        "405B, 128,000 tokens, 8 kv heads": cache_bytes(*large, tokens=128_000) / GIB,
        "405B, 128,000 tokens, 16 kv heads": cache_bytes(layers, 2 * kv_heads, d, tokens=128_000) / GIB,
    }


@answers("C03")
def derived_head_size(given: Inputs) -> dict[str, Any]:
    layers, kv_heads, d, hidden, heads = figures(given["32B"])
    right, derived = cache_bytes(layers, kv_heads, d), cache_bytes(layers, kv_heads, hidden // heads)
    small_layers, small_kv, small_d, small_hidden, small_heads = figures(given["0.6B"])
    small = [cache_bytes(small_layers, small_kv, size) for size in (small_d, small_hidden // small_heads)]
    query = pm.attention(1, 1, d, heads=heads, kv_heads=kv_heads).tensors["Q"]
    return {
        "32B right": right,
        "32B derived head size": derived,
        "ratio 32B": right / derived,
        "ratio 0.6B": small[0] / small[1],
        "q projection columns, 32B": elements_of(query),
    }


@answers("C05")
def half_the_layers_slide(given: Inputs) -> dict[str, Any]:
    def cache(layers: int) -> Any:
        return cache_bytes(layers, given["kv"], given["d"], dtype=stored(given["bf16"]))

    return {
        "bytes per token, all layers": cache(given["L"]),
        "bytes per token, full layers only": cache(given["L"] // 2),
        "tokens in 5.38 GiB": 5.38 * GIB / cache(given["L"]),
    }


@answers("C07")
def sliding_and_full_layers(given: Inputs) -> dict[str, Any]:
    sliding, full = figures(given["sliding"]), figures(given["full"])
    window, slack = given["window"], given["slack"]

    def cache(tokens: int, kept: int | None) -> Any:
        return (cache_bytes(*sliding, tokens=tokens, window=kept) + cache_bytes(*full, tokens=tokens)) / 1e9

    return {
        "bytes/token, sliding layer": cache_bytes(1, *sliding[1:]),
        "bytes/token, full layer": cache_bytes(1, *full[1:]),
        "4096 tokens, exact window": cache(4096, window),
        **{f"{tokens} tokens, window+{slack}": cache(tokens, window + slack) for tokens in (4096, 32768, 131072)},
        "131072 tokens if all 30 layers were full with the sliding shape": cache_bytes(
            sliding[0] + full[0], *sliding[1:], tokens=131072
        )
        / 1e9,
    }


@answers("C09")
def a_rule_that_forgets_heads(given: Inputs) -> dict[str, Any]:
    def tool(layers: int, heads: int, hidden: int) -> float:
        return 2 * layers * heads * hidden * 4 / 8  # the rule that the question puts to the test

    (l7, heads7, hidden7), (l70, heads70, kv70, hidden70) = figures(given["7B"]), figures(given["70B"])
    l13, hidden13 = figures(given["13B"])
    of_13b = cache_bytes(l13, hidden13 // 128, 128)
    return {
        "7B tool / right": tool(l7, heads7, hidden7) / cache_bytes(l7, heads7, hidden7 // heads7),
        "70B tool / right": tool(l70, heads70, hidden70) / cache_bytes(l70, kv70, hidden70 // heads70),
        "13B bytes per token": of_13b,
        "13B in MiB": of_13b / 2**20,
    }


@answers("F01")
def keys_outside_and_running_results_spilled(given: Inputs) -> dict[str, Any]:
    """Reads of FlashAttention-1 beside all that attention by stages moves; of M words a tile of keys has M / 4d."""
    words, rows = given["M"], given["N"]
    tile, tiles, d = pm.dims("bk t d")
    n = tile * tiles
    query, key, value = [pm.tensor(x, {y: n, z: d}) for x, y, z in (("Q", "q", "d"), ("K", "k", "d"), ("V", "k", "v"))]
    scores = pm.einsum("qd,kd->qk", query, key)
    top = pm.max(scores, "k").named("m")
    weights = pm.exp(scores - top)
    p = pm.program(pm.einsum("qk,kv->qv", weights, value).named("O"), pm.sum(weights, "k").named("l"), top)
    p = pm.tile(pm.online(pm.fuse(p), "k"), stream={"k": tile, "q": tile}, spill=["O", "l", "m"])
    plain = pm.fuse(pm.attention(n, n, d), by="stage")
    unfused = plain.elements_read + plain.elements_written

    def ratio(width: int) -> float:
        keys = words / (4 * width)
        at = {tile: keys, tiles: rows / keys, d: width}
        return float(sympy.sympify(unfused).xreplace(at) / sympy.sympify(p.elements_read).xreplace(at))

    again = sympy.Poly(p.elements_read, tile, tiles, d).coeff_monomial(d * n * tiles)
    pairs = sympy.Poly(unfused, tile, tiles, d).coeff_monomial(n**2)
    return {
        "M": words,
        "ratio unfused/flash d=64": ratio(64),
        "ratio d=128": ratio(128),
        "ratio d=256": ratio(256),
        "break-even d": float(pairs / again * words / 4) ** 0.5,  # again d n^2 / tile = pairs n^2, the tile M / 4d
    }
