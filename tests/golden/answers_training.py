"""Training: what gradients cost in FLOPs and traffic, and what a layer keeps for its backward pass."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import perfmodel as pm
from golden.registry import Inputs, answers
from golden.tools import FREE, accesses, attained, bytes_of, chip, figures

N = pm.dims("n")


def _sigmoids() -> tuple[Any, Any]:
    """Three sigmoids, forward and backward each fused: all values kept, and all made again."""
    kept = pm.fuse(pm.grad(pm.elementwise("sigmoid(sigmoid(sigmoid(x)))", N)))
    return accesses(kept), accesses(pm.recompute(kept))


@answers("s1-2.2.4-recompute")
def three_sigmoids(given: Inputs) -> dict[str, Any]:
    stored, recomputed = _sigmoids()
    return {"stored": stored, "recomputed": recomputed}


@answers("s0-6.3-share")
def shares_removed(given: Inputs) -> dict[str, Any]:
    found = {}
    for name, text in (("sincos_pct", "sin(x)**2 + cos(x)**2"), ("relu_pct", "relu(x*w + b)")):
        p = pm.elementwise(text, N)
        found[name] = 100 * (1 - accesses(pm.fuse(p)) / accesses(p))
    stored, recomputed = _sigmoids()
    return {**found, "sigmoid_pct": 100 * (1 - recomputed / stored)}


# ---------------------------------------------------------------------------- FLOPs


def _training_flops(parameters: Any, tokens: Any) -> Any:
    """Forward and backward of so many parameters, each multiplied once a token."""
    return pm.grad(pm.gemv(parameters, 1, batch=tokens)).flops


@answers("o-sb-tf-q5")
def attention_equals_projections(given: Inputs) -> dict[str, Any]:
    width = int(given["D"])

    def attention(t: Any) -> Any:
        return pm.grad(pm.attention(t, t, 128, heads=width // 128)).flops_by_unit["matrix"]

    def projections(t: Any) -> Any:
        return 4 * pm.grad(pm.matmul(t, width, width)).flops

    t = pm.dims("t")
    return {"T": int(pm.solve(attention(t) >= projections(t), t))}


@answers("o-sb-train-total")
def a_training_run(given: Inputs) -> dict[str, Any]:
    flops = _training_flops(70 * 10**9, 15 * 10**12)
    run = pm.workload(flops=flops)
    seconds = pm.estimate(run, chip(8960 * 4.59e14 * 0.4, FREE)).time_s
    alone = pm.estimate(run, chip(4.59e14, FREE)).time_s
    return {
        "per_token": _training_flops(70 * 10**9, 1),
        "total": flops,
        "days": seconds / 86400,
        "years_1chip": alone / (365 * 86400),
    }


@answers("o-c6nd-gopher")
def six_n_d(given: Inputs) -> dict[str, Any]:
    return {"flops": _training_flops(int(given["P"]), int(given["D"]))}


@answers("o-chin-opt")
def compute_optimal(given: Inputs) -> dict[str, Any]:
    n = pm.dims("n")
    parameters = int(pm.solve(_training_flops(n, 20 * n) >= given["C"], n))
    return {"N": parameters, "D": 20 * parameters}


@answers("B03")
def a_cluster_is_not_one_gpu(given: Inputs) -> dict[str, Any]:
    flops = _training_flops(int(given["P"]), int(given["tokens"]))
    run, seconds = pm.workload(flops=flops), given["hours"] * 3600
    cluster, single = chip(given["GPUs"] * 312e12, FREE), chip(312e12, FREE)
    return {
        "total FLOPs": flops,
        "cluster rate": attained(run, seconds).flops_per_s,
        "MFU per GPU": pm.estimate(run, cluster).against(seconds).fraction_of_peak,
        "MFU when the GPU count is forgotten": pm.estimate(run, single).against(seconds).fraction_of_peak,
    }


@answers("N05")
def layers_again_but_not_the_head(given: Inputs) -> dict[str, Any]:
    layers, parameters = figures(given["layer params"].replace(",", ""))
    vocabulary, width = figures(given["head"])
    s = int(given["S"])
    projections = pm.gemv(layers * parameters, 1, batch=s)
    head = pm.gemv(vocabulary, width, batch=s)
    attention = pm.attention(s, s, 128, heads=width // 128, kv_heads=8, causal=True)

    def matrix(p: pm.Program) -> Any:
        return p.flops_by_unit["matrix"]

    forward = matrix(projections) + layers * matrix(attention)
    trained = matrix(pm.grad(projections)) + layers * matrix(pm.grad(attention))
    first, last = matrix(head), matrix(pm.grad(head))
    model = trained + last
    return {
        "model FLOPs per token": model / s / 1e9,
        "hardware FLOPs per token": (model + forward) / s / 1e9,
        "HFU / MFU": (model + forward) / model,
        "with the head at 4": Fraction(trained + forward + last + first, model),
        "with the head at 1": (trained + forward + first) / model,
    }


# ---------------------------------------------------------------------------- activations


def _layer(s: int, h: int, a: int) -> pm.Program:
    """A transformer layer of s tokens, width h and a heads, with dropout masks of a byte an element, trained.

    Norm, attention, projection, norm, and an MLP four times as wide with gelu: what is kept is what the linear layers,
    the products of attention, the softmax, the norms, gelu and the dropouts need.
    """
    x = pm.tensor("x", {"token": s, "h": h})

    def dropped(value: pm.Tensor, name: str) -> pm.Tensor:
        mask = pm.tensor(f"{name}_mask", dict(value.axes), dtype="uint8")
        return (value * mask).named(name)

    def weight(name: str, **axes: int) -> pm.Tensor:
        return pm.tensor(name, axes)

    normed = pm.layernorm(x, "h").named("normed")
    heads = {"a": a, "d": h // a}
    query, key, value = [
        pm.einsum("t h, h a d -> a t d", normed, weight(f"W_{name}", h=h, **heads), name=name) for name in "QKV"
    ]
    scores = pm.einsum("a t d, a u d -> a t u", query, key.rename(token="kv"), name="S")
    weights = pm.softmax(scores, "kv", name="P")
    mixed = pm.einsum("a t u, a u d -> t a d", dropped(weights, "P_dropped"), value.rename(token="kv"), name="O")
    projected = pm.einsum("t a d, a d h -> t h", mixed, weight("W_O", **heads, out=h), name="projected")
    middle = (dropped(projected.rename(out="h"), "attended") + x).named("middle")
    again = pm.layernorm(middle, "h").named("normed_again")
    wide = pm.einsum("t h, h f -> t f", again, weight("W_1", h=h, f=4 * h), name="wide")
    acted = pm.gelu(wide).named("acted")
    narrow = pm.einsum("t f, f h -> t h", acted, weight("W_2", f=4 * h, out=h), name="narrow")
    return pm.program((dropped(narrow.rename(out="h"), "fed") + middle).named("y"), name="layer")


KEPT = ("normed", "Q", "K", "V", "P", "P_dropped", "O", "middle", "normed_again", "wide", "acted")
SQUARE = ("P", "P_dropped", "P_dropped_mask")  # s x s a head


def _kept(s: int, h: int, a: int) -> dict[str, Any]:
    """Bytes that the backward of a layer reads of its forward, by tensor, weights apart; norms are made again."""
    p = pm.recompute(pm.grad(_layer(s, h, a)), keep=KEPT)
    return {name: size for name, _, size, *_ in p.saved.rows if not name.startswith("W_")}


def _parts(s: int, h: int, a: int) -> tuple[Any, Any]:
    """Bytes of the attention matrix's terms, and of the rest."""
    kept = _kept(s, h, a)
    square = sum(kept[name] for name in SQUARE)
    return square, sum(kept.values()) - square


@answers("s0-8.5-gpt2xl")
def share_of_the_attention_matrix(given: Inputs) -> dict[str, Any]:
    square, rest = _parts(given["s"], given["h"], given["a"])
    return {"share_pct": 100 * square / (square + rest), "more_than_half": square > rest}


@answers("o-ko-mtnlg")
def selective_recomputation(given: Inputs) -> dict[str, Any]:
    s, h, a = given["s"], given["h"], given["a"]
    square, rest = _parts(s, h, a)
    attention = pm.attention(s, s, h // a, heads=a).flops_by_unit["matrix"]
    return {
        "term": square / (s * h),
        "gb": (square + rest) / 1e9,
        "saved_pct": 100 * square / (square + rest),
        "overhead_pct": 100 * attention / _layer(s, h, a).flops_by_unit["matrix"],
    }


@answers("o-el-act")
def activations_over_tensor_parallel_chips(given: Inputs) -> dict[str, Any]:
    s, h, a, t = given["s"], given["h"], given["a"], given["t"]
    kept = _kept(s, h, a)
    whole = ("x", "normed", "middle", "normed_again", "attended_mask", "fed_mask")  # on every chip
    everywhere = sum(kept[name] for name in whole)
    square, rest = _parts(s, h, a)
    divided = (rest - everywhere) / t
    return {
        "none": given["L"] * (everywhere + divided + square / t) / 1e9,
        "selective": given["L"] * (everywhere + divided) / 1e9,
        "full": given["L"] * kept["x"] / 1e9,
    }


@answers("N03")
def flash_attention_keeps_no_square(given: Inputs) -> dict[str, Any]:
    s, h, a = given["s"], given["h"], given["a"]
    square, rest = _parts(s, h, a)
    flash = pm.attention(s, s, h // a, heads=a, lse=True)
    return {
        "with scores": (square + rest) / 1e9,
        "without": rest / 1e9,
        "share of the square term": square / (square + rest),
        "log-sum-exp": bytes_of(flash.tensors["L"]) / 1e6,
        "full recompute": _kept(s, h, a)["x"] / 1e6,
        "equal at s": float(Fraction(s * rest, square)),  # one grows with s, the other with its square
    }


@answers("o-sb-train-q2")
def optimizer_states_and_outputs_of_three_products(given: Inputs) -> dict[str, Any]:
    parameters = 13 * 10**9
    state = [pm.tensor("w", {"i": parameters}), *[pm.tensor(name, {"i": parameters}, "fp32") for name in ("m", "v")]]
    mlp = pm.gated_mlp(16 * 10**6, 5120, 5120 * 27 // 10)
    outputs = [mlp.tensors[name] for name in ("gate", "up", "y")]
    return {"state_gb": bytes_of(*state) / 1e9, "acts_tb": 40 * bytes_of(*outputs) / 1e12}
