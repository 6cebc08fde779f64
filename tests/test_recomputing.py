"""recompute: what is dropped and made again, what that costs, and when it does not pay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differences import reals_of
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from staging import assert_counts_as_it_runs, assert_same_values, hulls
from strategies import VERBS, programs, staged

import perfmodel as pm

# Windows beside masks apart: what both read of one tensor in a fused kernel is a hull to the formula, parts to the run.
KINDS = [tuple(verb for verb in VERBS if verb not in out) for out in (("mask",), ("window", "roll"))]

n = pm.dims("n")
SIGMOIDS = pm.elementwise("sigmoid(sigmoid(sigmoid(x)))", "n")


def moved(p: pm.Program) -> Any:
    return p.elements_read + p.elements_written


def chain(length: int, size: int = 8) -> pm.Program:
    """A sigmoid of a sigmoid of ... x."""
    text = "x"
    for _ in range(length):
        text = f"sigmoid({text})"
    return pm.elementwise(text, size, dtype="fp64")


# ---------------------------------------------------------------------------- what it costs


def test_three_sigmoids_recomputed_move_5n() -> None:
    """Forward: x read, y written; backward: dy and x read, dx written. All three values are made again."""
    kept = pm.fuse(pm.grad(SIGMOIDS))
    p = pm.recompute(kept)
    assert (moved(kept), moved(p)) == (9 * n, (1 + 1) * n + (2 + 1) * n)
    assert p.flops_by_unit["special"] == (3 + 3) * n


def test_recomputing_may_add_bytes() -> None:
    """s(s(a+b+c+d)): kept 4 + 2 and 3 + 1; recomputed 4 + 1 and 5 + 1, for the backward reads four inputs again."""
    kept = pm.fuse(pm.grad(pm.elementwise("sigmoid(sigmoid(a + b + c + d))", "n")))
    p = pm.recompute(kept)
    assert moved(kept) == (4 + 2) * n + (3 + 1) * n
    assert moved(p) == (4 + 1) * n + (5 + 1) * n


def test_recomputing_may_add_live_bytes() -> None:
    """A pooled row is small, what was pooled is large: keeping that instead holds it while 2 x is pooled too.

    Held throughout: x and b of 4 x 64 and w of 4 numbers. At the peak also one tensor of 4 x 64, or two.
    """
    x, b = [pm.tensor(name, {"m": 4, "n": 64}, "fp32") for name in ("x", "b")]
    pooled = pm.sum(x + b, "n", name="pooled")
    y = pooled * pm.tensor("w", {"m": 4}, "fp32") + pm.sum(x * 2, "n")
    p = pm.grad(pm.program(y.named("y")), wrt="w")
    instead = pm.recompute(p, "pooled", keep="add")
    assert {"pooled"} == values_saved(p)
    assert {"add"} == values_saved(instead)
    large = 4 * 4 * 64
    assert 3 * large < p.memory_bytes < 4 * large < instead.memory_bytes
    assert ("intermediate", "add") in [row[1:3] for row in instead.memory().rows]
    again = pm.recompute(p, "pooled")  # from x and b, which are held anyway: the pooled row, 4 numbers, is gone
    assert again.memory_bytes == p.memory_bytes - 4 * 4


def test_the_softmax_of_attention_is_made_again_from_its_log_sum_exp() -> None:
    """FlashAttention's backward by the traffic rule: Q, K, V, dO and L read; dQ, dK, dV written; five contractions."""
    p = pm.attention("n", "n", 64, lse=True)
    g = pm.recompute(pm.fuse(pm.grad(p, of="O")))
    rows = [(tensor, way) for kernel, tensor, way, *_ in g.traffic().rows if kernel == "attention_2"]
    assert sorted(rows) == sorted(
        [(name, "read") for name in ("Q", "K", "V", "dO", "L")] + [(name, "write") for name in ("dQ", "dK", "dV")]
    )
    assert 2 * g.flops_by_unit["matrix"] == (2 + 5) * p.flops_by_unit["matrix"]


def test_a_tensor_between_kernels_of_one_section_is_made_again_too() -> None:
    """Without a gradient: the weights of a softmax, in the sum's kernel and in the quotient's, each from x."""
    m = pm.dims("m")
    p = pm.softmax("m", "n")
    q = pm.recompute(p, "exp")
    assert [(kernel.name, kernel.needed) for kernel in q.kernels] == [("sum", ("x",)), ("div", ("x", "sum"))]
    assert moved(q) == (m * n + m) + (m * n + m + m * n)
    assert q.flops - p.flops == m * n + m * n  # the maximum and the shift, twice instead of once
    assert pm.check(q)


# ---------------------------------------------------------------------------- checkpoints


@pytest.mark.parametrize(
    ("segment", "kept"),
    [(1, [1, 2, 3, 4, 5, 6, 7, 8]), (3, [3, 6]), (4, [4, 8]), (9, []), (["sigmoid_2", "sigmoid_7"], [2, 7])],
)
def test_checkpoints_keep_every_kth_value_and_make_the_rest_again(segment: Any, kept: list[int]) -> None:
    """Nine sigmoids: what is kept crosses the barrier, the other eight but the output are computed once more."""
    g = pm.grad(chain(9))
    p = pm.recompute(g, segment=segment)
    names = {"sigmoid" if place == 1 else f"sigmoid_{place}" for place in kept}
    assert values_saved(p) - {"y"} == names
    assert p.flops_by_unit["special"] == (9 + 8 - len(kept)) * 8
    assert pm.check(p)


def test_a_checkpoint_every_kth_layer_holds_the_checkpoints_and_one_segment() -> None:
    """16 layers by 4, while the last segment goes back: x, dy and y, 3 checkpoints, 3 values of it, and a cotangent.

    Each value is 8 numbers of 8 bytes; a backward step of three ops (1 - y, times y, times d) holds two of its own.
    """
    g = pm.grad(chain(16))
    p = pm.recompute(g, segment=4)
    held = [row[1:3] for row in p.memory().rows]
    roles = {name: role for role, name in held}
    assert {"x", "dy", "y"} <= set(roles)
    assert {"sigmoid_4", "sigmoid_8", "sigmoid_12"} <= set(roles)
    assert not {"sigmoid_3", "sigmoid_7", "sigmoid_11"} & set(roles)
    assert p.memory_bytes == 8 * 8 * len(held)
    assert p.memory_bytes < g.memory_bytes


def test_a_residual_layer_is_passed_through_its_sum_alone() -> None:
    """Inside a block the input is still needed: the sums are the values that checkpoints keep."""
    x = pm.tensor("x", {"m": 4, "k": 8}, "fp64")
    h = pm.exp(x, name="h0")
    for place in (1, 2):
        weight = pm.tensor(f"W{place}", {"k": 8, "j": 8}, "fp64")
        inner = pm.relu(pm.einsum("mk,kj->mj", h, weight), name=f"r{place}")
        h = (pm.einsum("mj,kj->mk", inner, weight) + h).named(f"h{place}")
    g = pm.grad(pm.program(h))
    assert values_saved(pm.recompute(g, segment=1)) == {"h0", "h1"}
    assert pm.check(pm.recompute(g, segment=2))


def test_fused_checkpoints_are_one_kernel_with_the_backward() -> None:
    """A segment's kernels stand in the later section: fusing merges them with it."""
    p = pm.fuse(pm.recompute(pm.grad(chain(4)), segment=2))
    assert [kernel.section for kernel in p.kernels] == [0, 1]
    assert pm.check(p)


def test_a_repeated_layer_keeps_what_its_backward_reads_once_a_run() -> None:
    """Ten layers s(s(x)): ten y (each the next x) and ten inner values, an x and a dy that are passed on, and dx.

    Recomputed, each layer keeps its own x, and nothing else: ten x, and the last y.
    """
    layer = pm.grad(pm.elementwise("sigmoid(sigmoid(x))", 8, dtype="fp32"))
    carry = {"y": "x", "dx": "dy"}
    kept = pm.fuse(layer).repeat(10, carry=carry)
    again = pm.recompute(pm.fuse(layer)).repeat(10, carry=carry)
    vector = 4 * 8
    assert {row[2]: row[3] // vector for row in kept.memory().rows} == {
        "y": 10,
        "sigmoid": 10,
        "x": 1,
        "dy": 1,
        "dx": 1,
    }
    assert {row[2]: row[3] // vector for row in again.memory().rows} == {"x": 10, "y": 1, "dy": 1, "dx": 1}


# ---------------------------------------------------------------------------- laws


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.data())
def test_recomputing_changes_no_value_and_counts_stay_those_of_the_run(data: Any) -> None:
    """Random gradients, staged at random, with some or all of what they save dropped: as many operations or more."""
    try:
        g = data.draw(staged(st.just(pm.grad(data.draw(programs(verbs=data.draw(st.sampled_from(KINDS))))))))
    except pm.TransformError:
        return
    names = sorted(values_saved(g))
    assume(names)
    some = data.draw(st.lists(st.sampled_from(names), unique=True))
    how = data.draw(st.sampled_from(("names", "segment")))
    p = pm.recompute(g, *some) if how == "names" else pm.recompute(g, segment=data.draw(st.integers(1, 3)))
    arrays = reals_of(g)
    with np.errstate(all="ignore"):
        before, after = pm.simulate(g, arrays), pm.simulate(p, arrays)
    assert_same_values(after, before)
    if how == "names":
        assert not set(some or names) & values_saved(p)
        assert sum(p.flops_by_unit.values()) >= sum(g.flops_by_unit.values())
    if not hulls(p):
        assert_counts_as_it_runs(p, after)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.data())
def test_no_bytes_are_added_where_the_inputs_are_read_behind_the_barrier_anyway(data: Any) -> None:
    """Whole tensors: a backward kernel that reads nothing new, and no longer what is dropped, moves no more."""
    try:
        g = pm.fuse(pm.grad(data.draw(programs(verbs=("map", "reduce", "contract", "input")))))
    except pm.TransformError:
        return
    names = sorted(values_saved(g))
    assume(names)
    p = pm.recompute(g, *data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True)))
    assume(not read_behind(p) - read_behind(g))
    assert p.bytes <= g.bytes


def read_behind(p: pm.Program) -> set[tuple[str, str]]:
    """What the kernels of later sections read, kernel by kernel."""
    return {(kernel.name, name) for kernel in p.kernels if kernel.section for name in kernel.needed}


def values_saved(p: pm.Program) -> set[str]:
    """Names of the forward values that the backward reads."""
    return {row[0] for row in p.saved.rows if row[1] == "value"}


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda g: pm.recompute(g, "x"), pm.LabelError, r"recompute: 'x' is an input of elementwise"),
        (lambda g: pm.recompute(g, "sigmoit"), pm.LabelError, r"'sigmoit' is no tensor .* \(did you mean 'sigmoid'"),
        (lambda g: pm.recompute(g, "dx"), pm.TransformError, r"'dx' stays inside .* or only leaves"),
        (lambda g: pm.recompute(g, "y", keep="y"), pm.TransformError, r"nothing of elementwise is left to drop"),
        (lambda g: pm.recompute(g, "y", segment=2), pm.TransformError, r"name no tensors besides"),
        (lambda g: pm.recompute(g, segment=0), pm.TransformError, r"segment=0; a segment is one layer or more"),
        (lambda g: pm.recompute(g, segment=True), pm.TransformError, r"segment=True"),
        (lambda g: pm.recompute(g, segment="z"), pm.LabelError, r"segment='z' is no tensor"),
        (lambda g: pm.recompute(SIGMOIDS), pm.TransformError, r"saves nothing for a later section"),
        (lambda g: pm.recompute(g, 3), pm.LabelError, r"recompute: .*expected a name or several"),
        (lambda g: pm.recompute(g, keep=2.5), pm.LabelError, r"recompute: keep=2.5: expected a name or several"),
        (lambda g: pm.recompute(g, segment=2.5), pm.LabelError, r"segment=2.5: expected a name or several"),
        (lambda g: pm.recompute(None), pm.TransformError, r"recompute: expected a program"),
    ],
)
def test_what_cannot_be_recomputed_is_refused(make: Any, error: type[Exception], message: str) -> None:
    """Inputs, unknown names, values that nothing reads back, contradictions."""
    with pytest.raises(error, match=message):
        make(pm.fuse(pm.grad(SIGMOIDS)))


def test_a_tiled_kernel_is_refused() -> None:
    """The tiles were chosen for what the kernel held: recompute first."""
    g = pm.grad(pm.elementwise("sigmoid(sigmoid(x))", 8))
    g = pm.tile(pm.fuse(g), grid={"i": 4})
    with pytest.raises(pm.TransformError, match=r"is tiled; recompute first, then tile"):
        pm.recompute(g)
