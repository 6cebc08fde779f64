"""What a value becomes while a reduction over a label runs: the rules of ``online``, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from test_online import norm_into_matmul, passes

import perfmodel as pm
from perfmodel.graph import contracted
from perfmodel.graph.running import running_of


def states(*results: pm.Tensor, label: str = "n") -> dict[str, str]:
    """The state of each value of a program that is not fixed, and what it goes by."""
    found = running_of(pm.program(*results).ops, label, refuse=False).states
    return {name: f"{state.kind} {state.by}" for name, state in found.items()}


def x_and_top() -> tuple[pm.Tensor, pm.Tensor]:
    x = pm.tensor("x", {"m": 4, "n": 8})
    return x, pm.max(x, "n").named("R")


# the rules


def test_a_shift_by_a_maximum_and_what_is_fixed_stays_a_shift() -> None:
    """x - R, and x - R + b, for any x; R - x is none."""
    x, top = x_and_top()
    b = pm.tensor("b", {"n": 8})
    assert states(((x - top) + b).named("s"))["s"] == "shifted R"
    assert states((b - top).named("s"))["s"] == "shifted R"
    assert states((top - x).named("s"))["s"] == "waiting sub"
    assert "s" not in states((x + b).named("s"), top)  # fixed


def test_the_exponential_of_a_shift_is_scaled_and_stays_so_times_what_is_fixed() -> None:
    """exp(x - R) b, b exp(x - R), exp(x - R) / b; a fixed value over a scaled one is not."""
    x, top = x_and_top()
    w, b = pm.exp(x - top), pm.tensor("b", {"n": 8})
    for scaled in (w * b, b * w, w / b, -w, w * 2):
        assert states(scaled.named("s"))["s"] == "scaled R"
    assert states((b / w).named("s"))["s"] == "waiting div"
    assert states((w * w).named("s"))["s"] == "waiting mul"
    assert states((w + b).named("s"))["s"] == "waiting add"


def test_only_a_maximum_of_fixed_values_is_followed() -> None:
    """A sum, a minimum, or what is computed from a maximum is waited for."""
    x, top = x_and_top()
    for result in (pm.sum(x, "n"), pm.min(x, "n"), top + 1):
        assert states((x - result).named("s"))["s"].startswith("waiting")


def test_what_lacks_the_label_and_needs_the_loop_is_late() -> None:
    """log(sum) is complete after the loop; a value of another input is fixed."""
    x, _ = x_and_top()
    assert states(pm.log(pm.sum(x, "n")).named("L")) == {"sum": "late sum", "L": "late log"}


# what is refused


def test_layernorm_is_refused_in_two_passes_and_allowed_by_moments() -> None:
    """The variance sums squares of what lacks its mean; sums of x and of x^2 need one pass as they are."""
    with pytest.raises(pm.TransformError, match="online: 'mean_2' takes the mean over 'n' of what 'sub' makes"):
        pm.online(pm.fuse(pm.layernorm(4, 8)), "n")
    p = pm.tile(pm.online(pm.fuse(pm.layernorm(4, 8, form="moments")), "n"), stream={"n": 4})
    assert passes(p) == ["n", "n"]  # the moments, then the output


def test_a_matmul_of_a_layernorm_is_refused() -> None:
    """x - mean would have to be summed before the mean is known."""
    with pytest.raises(pm.TransformError, match="'einsum' sums over 'n' what 'sub' makes"):
        pm.online(pm.fuse(norm_into_matmul("moments")), "n")


@pytest.mark.parametrize(
    ("tiles", "reason"),
    [
        ([{"stream": {"kv": 5, "dv": 2, "q": 3}}], "'max' would run again for each tile of 'dv' inside the loop"),
        ([{"stream": {"kv": 5}, "level": "l2"}, {"grid": {"dv": 3}}], "run again for each tile of 'dv'"),
        ([{"stream": {"kv": 5, "dv": 2}, "level": "l2"}, {"grid": {"q": 3}}], "both have to run in one"),
    ],
)
def test_orders_in_which_a_sum_would_miss_a_move_are_refused(tiles: list[dict[str, Any]], reason: str) -> None:
    """Each move of the maximum has to meet each sum once."""
    scores, v = pm.tensor("S", {"q": 9, "kv": 9}), pm.tensor("V", {"kv": 9, "dv": 4})
    weights = pm.exp(scores - pm.max(scores, "kv"))
    p = pm.online(pm.fuse(pm.program(contracted([weights, v], ("q", "dv"), name="U"))), "kv")
    for cut in tiles[:-1]:
        p = pm.tile(p, **cut)
    with pytest.raises(pm.TransformError, match=reason):
        pm.tile(p, **tiles[-1])


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda p: pm.online(p, "b"), pm.LabelError, "online: attention has no label 'b'; its labels are"),
        (lambda p: pm.online(p, "d"), pm.TransformError, "no kernel of attention needs the result of a reduction"),
        (lambda p: pm.online(pm.tile(p, q=2), "kv"), pm.TransformError, "is tiled; online first, then tile"),
        (lambda p: pm.online(3, "kv"), pm.TransformError, "online: expected a program, got 3"),
        (lambda p: pm.online(p, "kv", only="rows"), pm.TransformError, "has no kernel, stage or op 'rows'"),
        (lambda p: pm.fuse(pm.sequence(pm.online(p, "kv"), p)), pm.TransformError, "fuse first, then online"),
    ],
)
def test_errors(call: Any, kind: type[pm.PerfModelError], message: str) -> None:
    """Each names the verb, what is wrong and the rule."""
    with pytest.raises(kind, match=message):
        call(pm.fuse(pm.attention(4, 4, 2)))


def test_it_must_be_fused_first() -> None:
    """One op a kernel: no kernel uses the result of its own reduction."""
    with pytest.raises(pm.TransformError, match="fuse the reduction with what uses it first"):
        pm.online(pm.attention(4, 4, 2), "kv")


def test_it_is_kept_through_sequences_and_remembered() -> None:
    """A later program's labels are renamed where they are taken, and its online label with them."""
    p = pm.online(pm.fuse(pm.softmax(4, 8)), "n")
    assert p.history == ("softmax", "fuse()", "online('n')")
    both = pm.sequence(p, p)
    assert [kernel.online for kernel in both.kernels] == [("n",), ("n_2",)]
    assert pm.online(p, "n").kernels == p.kernels
