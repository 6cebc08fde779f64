"""grad: the backward pass of a program, its values, its counts, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differences import assert_is_gradient, reals_of
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from reference import differences
from staging import assert_counts_as_it_runs, assert_same_values, hulls
from strategies import VERBS, programs, staged

import perfmodel as pm

# Windows beside masks apart: what both read of one tensor in a fused kernel is a hull to the formula, parts to the run.
KINDS = [tuple(verb for verb in VERBS if verb not in out) for out in (("mask",), ("window", "roll"))]

PROGRAMS = {
    "softmax": pm.softmax(3, 5, "fp64"),
    "softmax without its maximum": pm.softmax(3, 5, "fp64", form="naive"),
    "layernorm": pm.layernorm(3, 5, "fp64"),
    "layernorm by moments": pm.layernorm(3, 5, "fp64", form="moments"),
    "rmsnorm": pm.rmsnorm(3, 5, "fp64"),
    "gated mlp": pm.gated_mlp(2, 3, 4, dtype="fp64"),
    "matmul": pm.matmul(3, 4, 5, batch=2, dtype="fp64"),
    "gemv": pm.gemv(4, 5, batch=2, dtype="fp64"),
    "convolution": pm.conv2d(batch=2, height=6, width=5, c_in=4, c_out=2, kernel=3, stride=2, padding=1, groups=2),
    "dilated convolution": pm.conv2d(batch=1, height=7, width=6, c_in=2, c_out=3, kernel=2, dilation=2),
    "max pooling": pm.pool2d(batch=1, height=5, width=5, channels=2, kernel=3, stride=1, padding=1),
    "mean pooling": pm.pool2d(batch=1, height=5, width=4, channels=2, kernel=2, function="mean"),
    "look-up": pm.embedding(6, 4, 3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_of_a_descriptor_is_the_slope_of_its_loss(name: str) -> None:
    """Every input's gradient, along a random direction, and the counts of the run that made it."""
    p = PROGRAMS[name]
    g = pm.grad(p)
    arrays = reals_of(g)
    assert_is_gradient(p, g, arrays)
    for program in (g, pm.fuse(g)):
        assert_counts_as_it_runs(program, pm.simulate(program, arrays))


def test_a_rotary_embedding_is_turned_back() -> None:
    """What is read rolled by d/2 is added to the place that it came from, by a roll in the other direction."""
    axes = {"token": 3, "d": 4}
    p = pm.program(pm.rope(*[pm.tensor(name, axes, "fp64") for name in ("x", "cos", "sin")]).named("y"))
    g = pm.grad(p)
    assert_is_gradient(p, g, reals_of(g))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.data())
def test_the_gradient_of_a_random_program_is_its_slope_however_it_is_staged(data: Any) -> None:
    """Maps, reductions, contractions, masks, windows, rolls, look-ups: slopes, and counts as they run."""
    p = data.draw(programs(verbs=data.draw(st.sampled_from(KINDS))))
    try:
        g = pm.grad(p)
    except pm.TransformError as error:
        if "no output" in str(error) or "nothing flows" in str(error):  # all integers, or steps on every way
            return
        raise
    arrays = reals_of(g)
    with np.errstate(all="ignore"):
        run = pm.simulate(g, arrays)
        assume(all(np.isfinite(v).all() and np.abs(v).max(initial=0) < 1e4 for v in run.values.values()))
        assert_is_gradient(p, g, arrays)
        h = data.draw(staged(st.just(g)))
        again = pm.simulate(h, arrays)
    assert_same_values(again, run)
    if not hulls(h):
        assert_counts_as_it_runs(h, again)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.data())
def test_a_random_gradient_costs_what_the_reference_counts(data: Any) -> None:
    """Element by element and point by point, staged at random and repeated: FLOPs, traffic, footprint and memory."""
    try:
        g = pm.grad(data.draw(programs(steps=4)))
    except pm.TransformError:
        return
    g = data.draw(staged(st.just(g))).repeat(data.draw(st.integers(1, 3)))
    assert differences(g) == {}


# ---------------------------------------------------------------------------- attention


def naive_attention(arrays: dict[str, Any], allowed: Any) -> dict[str, Any]:
    """dQ, dK and dV by the textbook's formulas, in float64."""
    q, k, v, do = [arrays[name] for name in ("Q", "K", "V", "dO")]
    scores = np.where(allowed, np.einsum("bhgqd,bhkd->bhgqk", q, k), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    p = weights / weights.sum(-1, keepdims=True)
    dp = np.einsum("bhgqv,bhkv->bhgqk", do, v)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True))
    return {
        "dQ": np.einsum("bhgqk,bhkd->bhgqd", ds, k),
        "dK": np.einsum("bhgqk,bhgqd->bhkd", ds, q),
        "dV": np.einsum("bhgqk,bhgqv->bhkv", p, do),
    }


@pytest.mark.parametrize("lse", [False, True])
@pytest.mark.parametrize("softmax", ["safe", "naive"])
@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, None), (True, 3), (False, 2)])
def test_the_gradients_of_attention_are_those_of_the_formulas(
    causal: bool, window: int | None, softmax: str, lse: bool
) -> None:
    """dQ, dK, dV to 1e-12, with grouped heads, dv other than d, and fewer queries than keys; P from S or from S - L."""
    p = pm.attention(5, 7, 3, dv=4, heads=6, kv_heads=2, batch=2, causal=causal, window=window, lse=lse, dtype="fp64",
                     softmax=softmax)  # fmt: skip
    arrays = reals_of(pm.grad(p, of="O"))
    position = np.arange(5)[:, None] + 2
    behind = position - np.arange(7)
    allowed = np.ones((5, 7), dtype=bool)
    if causal or window is not None:
        last = window - 1 if window is not None else 7
        allowed = (behind <= last) & (behind >= (0 if causal else -last))
    expected = naive_attention(arrays, allowed)
    for program in (pm.grad(p, of="O"), pm.fuse(pm.grad(p, of="O")), pm.fuse(pm.grad(p, of="O"), by="stage")):
        values = pm.simulate(program, arrays).values
        for name, value in expected.items():
            np.testing.assert_allclose(values[name], value, rtol=1e-12, atol=1e-12)


def test_a_row_that_sees_no_key_has_no_gradient() -> None:
    """More queries than keys: the first rows see nothing, return 0, and pass nothing back."""
    p = pm.attention(5, 3, 2, causal=True, dtype="fp64")
    g = pm.grad(p)
    values = pm.simulate(g, reals_of(g)).values
    assert not values["dQ"][..., :2, :].any()
    assert all(np.isfinite(values[name]).all() for name in g.returned)


def test_the_backward_of_attention_does_twice_the_products_of_the_forward() -> None:
    """Two contractions forward, four backward, over the allowed pairs alone; one more where S is to be had again."""
    p = pm.attention("n", "n", 64, heads=8, kv_heads=2, causal=True)
    assert pm.grad(p).flops_by_unit["matrix"] == 3 * p.flops_by_unit["matrix"]


# ---------------------------------------------------------------------------- counts


@pytest.mark.parametrize("name", ["matmul", "gemv", "convolution", "dilated convolution"])
def test_training_takes_three_times_the_flops_of_the_forward(name: str) -> None:
    """Two contractions more: one for each factor, with the points of the forward one."""
    p = PROGRAMS[name]
    assert pm.grad(p).flops == 3 * p.flops


def test_one_gradient_takes_twice_the_flops() -> None:
    """With wrt= only what leads there is made: one contraction more."""
    p = pm.matmul("m", "n", "k")
    assert pm.grad(p, wrt="B").flops == 2 * p.flops
    assert pm.grad(p, wrt=["B"]).returned == ("C", "dB")


def test_three_sigmoids_move_9n_forward_and_backward() -> None:
    """Forward: x read, three values written; backward: dy and three values read, dx written."""
    n = pm.dims("n")
    p = pm.fuse(pm.grad(pm.elementwise("sigmoid(sigmoid(sigmoid(x)))", n)))
    assert p.elements_read + p.elements_written == (1 + 3) * n + (1 + 3 + 1) * n


def test_inputs_of_one_gradient_share_a_tensor() -> None:
    """a, b, c and d pass one thing back: it is written once, under the first name."""
    p = pm.grad(pm.elementwise("sigmoid(a + b + c + d)", 8))
    assert p.returned == ("y", "da")


def test_what_a_sum_passes_back_is_broadcast_and_only_written_for_an_input() -> None:
    """The gradient of sum(2 x): dy itself, doubled a row at a time, then written out over x: one copy."""
    x = pm.tensor("x", {"m": 4, "n": 8})
    g = pm.grad(pm.program(pm.sum(x * 2, "n").named("y")))
    assert [(op.function, op.output.tensor.labels) for op in g.kernels[2].ops + g.kernels[3].ops] == [
        ("mul", ("m",)), ("copy", ("m", "n")),
    ]  # fmt: skip


def test_a_bias_gets_the_sum_over_the_labels_that_it_lacks() -> None:
    """What was broadcast is summed: one FLOP a point of dy."""
    x, b = pm.tensor("x", {"m": 4, "n": 8}), pm.tensor("b", {"n": 8})
    g = pm.grad(pm.program((x + b).named("y")), wrt="b")
    assert g.kernels[-1].ops[0].kind == "reduce"
    assert g.flops == 4 * 8 + 4 * 8


def test_equal_maxima_share_what_flows_back() -> None:
    """Two elements attain the maximum: half to each, none to the third."""
    x = pm.tensor("x", {"n": 3}, "fp64")
    g = pm.grad(pm.program(pm.max(x, "n").named("y")))
    found = pm.simulate(g, {"x": [2.0, 1.0, 2.0], "dy": 1.0}).values["dx"]
    assert found.tolist() == [0.5, 0.0, 0.5]


def test_a_gradient_has_the_format_of_its_primal() -> None:
    """Weights in fp8, activations in bf16, scores in fp32: each cotangent is stored as its value is."""
    dtype: Any = {"Q": "bf16", "K": "fp8_e4m3", "V": "bf16", "S": "fp32", "P": "bf16", "O": "bf16"}
    g = pm.grad(pm.attention(4, 4, 8, dtype=dtype))
    named = {name: g.tensors[name].format.name for name in ("dQ", "dK", "dV", "dS", "dP")}
    assert named == {"dQ": "bf16", "dK": "fp8_e4m3", "dV": "bf16", "dS": "fp32", "dP": "bf16"}


def test_a_mean_divides_by_the_number_of_its_points_at_any_size() -> None:
    """The divisor is a count of points: it follows the size when that is bound, or a label is resized."""
    x = pm.tensor("x", {"m": 2, "n": "N"}, "fp64")
    g = pm.grad(pm.program(pm.mean(x, "n").named("y"))).at(N=4)
    for program, n in ((g, 4), (g.at(n=8), 8)):
        values = pm.simulate(program, {"x": np.ones((2, n)), "dy": np.ones(2)}).values
        assert values["dx"].tolist() == [[1 / n] * n] * 2


# ---------------------------------------------------------------------------- staging


def test_fusing_never_crosses_the_barrier() -> None:
    """Forward and backward stay two kernels: dy depends on y."""
    g = pm.fuse(pm.grad(pm.elementwise("relu(x*w + b)", "n")))
    assert [kernel.section for kernel in g.kernels] == [0, 1]


def test_backward_ops_have_a_stage_of_their_own() -> None:
    """By stage, the backward of the softmax is one kernel, and can be picked by name."""
    g = pm.fuse(pm.grad(pm.attention(4, 4, 8)), by="stage")
    assert [kernel.name for kernel in g.kernels][3:] == [
        "attention.values_backward", "attention.softmax_backward", "attention.scores_backward",
    ]  # fmt: skip


def test_a_gradient_has_a_gradient_of_its_own() -> None:
    """x^3 backward is dx = 3 x^2 dy; with a cotangent ddx, x gets 6 x dy ddx and dy gets 3 x^2 ddx: a third section."""
    twice = pm.grad(pm.grad(pm.elementwise("x**3", 4, dtype="fp64")), of="dx")
    assert twice.returned == ("y", "dx", "dx_2", "ddy")
    assert [kernel.section for kernel in pm.fuse(twice).kernels] == [0, 1, 2]
    arrays = reals_of(twice)
    x, dy, ddx = [arrays[name] for name in ("x", "dy", "ddx")]
    values = pm.simulate(twice, arrays).values
    np.testing.assert_allclose(values["dx_2"], 6 * x * dy * ddx, rtol=1e-12)
    np.testing.assert_allclose(values["ddy"], 3 * x**2 * ddx, rtol=1e-12)


def test_a_gradient_stands_in_a_sequence_as_any_program_does() -> None:
    """Twice in a row: the scattered places and the indices of the second keep their own names."""
    g = pm.grad(pm.embedding(4, 5, 3, dtype="fp64"))
    both = pm.sequence(g, g)
    arrays = reals_of(both)
    values = pm.simulate(both, arrays).values
    alone = {name: arrays[f"{name}_2"] for name in ("W", "ids", "dy")}
    np.testing.assert_array_equal(values["dW_2"], pm.simulate(g, alone).values["dW"])


def test_a_repeated_layer_is_differentiated_once_and_then_repeated() -> None:
    """80 layers: 80 forward and 80 backward runs, each of the same cost."""
    layer = pm.gemv(8, 8, batch=4)
    with pytest.raises(pm.TransformError, match=r"runs 80 times; take the gradient of one run"):
        pm.grad(layer.repeat(80))
    assert pm.grad(layer).repeat(80, carry={"y": "x", "dx": "dy"}).flops == 80 * 3 * layer.flops


def test_the_gradient_of_a_symbolic_program_is_that_of_its_sizes() -> None:
    """grad then at, or at then grad: the same program."""
    p = pm.rmsnorm("m", "n")
    assert pm.grad(p).at(m=4, n=8).kernels == pm.grad(p.at(m=4, n=8)).kernels


def test_check_holds_a_fused_gradient_against_the_unfused_one() -> None:
    """The forward program computes no gradients: the first of the history that does is the reference."""
    assert pm.check(pm.fuse(pm.grad(pm.softmax("m", "n"))))


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pm.grad(pm.matmul(4, 4, 4), wrt="X"), pm.LabelError, r"grad: matmul has no input 'X'"),
        (lambda: pm.grad(pm.matmul(4, 4, 4), of="A"), pm.LabelError, r"grad: matmul has no output 'A'"),
        (lambda: pm.grad(pm.embedding(4, 4, 4), wrt="ids"), pm.TransformError, r"'ids' is an index or an integer"),
        (lambda: pm.grad(pm.workload(flops=4)), pm.TransformError, r"given counts and no arithmetic"),
        (lambda: pm.grad(pm.elementwise("sign(x)", 4)), pm.TransformError, r"nothing flows from y to x"),
        (lambda: pm.grad(pm.elementwise("x * dy", 4)), pm.LabelError, r"has a tensor 'dy', which grad makes"),
        (lambda: pm.grad(pm.grad(pm.embedding(4, 4, 4)), of="dW"), pm.TransformError, r"'dW' adds into places"),
        (lambda: pm.grad(pm.matmul(4, 4, 4), wrt=3), pm.LabelError, r"grad: wrt=3: expected a name or several"),
        (lambda: pm.grad(pm.matmul(4, 4, 4), of=[None]), pm.LabelError, r"grad: of=\[None\]: expected a name"),
        (lambda: pm.grad(pm.matmul(4, 4, 4), wrt=[]), pm.TransformError, r"no output of matmul depends on"),
        (lambda: pm.grad(3), pm.TransformError, r"grad: expected a program, got 3"),  # type: ignore[arg-type]
    ],
)
def test_what_has_no_gradient_is_refused(make: Any, error: type[Exception], message: str) -> None:
    """Unknown names, indices, opaque ops, steps, and names that are taken."""
    with pytest.raises(error, match=message):
        make()


def test_a_block_may_not_add_where_others_add() -> None:
    """A tiled scatter would need atomics: that is refused, not miscounted."""
    g = pm.grad(pm.conv2d(batch=1, height=8, width=8, c_in=2, c_out=2), wrt="x")
    with pytest.raises(pm.TransformError, match=r"adds into places that other blocks add into"):
        pm.tile(g, grid={"batch": 1, "p": 2}, only="dx")


def test_a_long_chain_is_walked_in_the_order_of_the_backward_pass() -> None:
    """100 maps: the last value is read first, the first one last, so that each is let go as it was made."""
    text = "x"
    for _ in range(100):
        text = f"sigmoid({text})"
    g = pm.grad(pm.elementwise(text, "n"))
    made = [op.output.tensor.name for op in g.ops[:100]]
    saved = [name for kernel in g.kernels[100:] for name in kernel.needed if name in made]
    assert list(dict.fromkeys(saved)) == made[::-1]


def test_a_padded_program_is_refused_and_a_gradient_can_be_padded() -> None:
    """Pad after: forward and backward then run to the same multiples, and give the same values."""
    with pytest.raises(pm.TransformError, match="take the gradient first, then pad both"):
        pm.grad(pm.pad(pm.softmax(5, 6), n=4))
    assert pm.check(pm.pad(pm.grad(pm.softmax(5, 6)), n=4))
