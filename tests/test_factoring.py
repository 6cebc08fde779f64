"""Factors that lack a label, pulled out behind the sum over it: which, in what order, and that values stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from staging import assert_same_values
from test_online import normal, simulated

import perfmodel as pm


def tensors() -> tuple[pm.Tensor, pm.Tensor, pm.Tensor]:
    x, v = pm.tensor("x", {"m": 4, "n": 6}), pm.tensor("v", {"n": 6, "k": 5})
    return x, v, pm.sum(x * x, "n") + 1


def functions(program: pm.Program) -> list[str]:
    """What each op applies, from the sum of squares on."""
    return [op.function for op in program.ops][3:]


@pytest.mark.parametrize(
    ("make", "after"),
    [
        (lambda x, v, r: pm.einsum("mn,nk->mk", x / r, v), ["multiply-add", "div"]),
        (lambda x, v, r: pm.einsum("mn,nk->mk", r * x, v), ["multiply-add", "mul"]),
        (lambda x, v, r: pm.einsum("mn,m,nk->mk", x, r, v), ["multiply-add", "mul"]),
        (lambda x, v, r: pm.sum(x / r, "n"), ["sum", "div"]),
        (lambda x, v, r: pm.mean(x * r, "n"), ["mean", "mul"]),
        (lambda x, v, r: pm.einsum("mn,m->m", x, r), ["sum", "mul"]),
        (lambda x, v, r: pm.sum(x / r / r, "n"), ["sum", "div", "div"]),
        (lambda x, v, r: pm.sum(x / r * 3, "n"), ["mul", "sum", "div"]),  # the 3 stays with x
        (lambda x, v, r: pm.sum(2 * (x / r) * x, "n"), ["mul", "mul", "sum", "div"]),
    ],
)
def test_factors_are_applied_once_after_the_sum(make: Any, after: list[str]) -> None:
    """Products and quotients with what is complete only after the loop, alone, twice, or inside another product."""
    p = pm.fuse(pm.program(make(*tensors()).named("y")))
    moved = pm.online(p, "n")
    assert functions(moved) == after
    arrays = normal(p)
    for item in (moved, pm.tile(moved, stream={"n": 4}), pm.tile(moved, grid={"m": 3}, stream={"n": 2})):
        assert_same_values(simulated(item, arrays), simulated(p, arrays))


def test_what_is_used_elsewhere_too_stays() -> None:
    """The quotient is an output: it is made, in a second pass, and the sum does without it."""
    x, v, r = tensors()
    quotient = (x / r).named("q")
    p = pm.online(pm.fuse(pm.program(pm.einsum("mn,nk->mk", quotient, v).named("y"), quotient)), "n")
    assert functions(p) == ["div", "multiply-add", "div"]


def test_a_divisor_that_carries_the_label_is_no_factor() -> None:
    """r / x is no product of r with a sum's term that can be taken apart: 1 / x would be another op."""
    x, v, r = tensors()
    with pytest.raises(pm.TransformError, match="'einsum' sums over 'n' what 'div' makes"):
        pm.online(pm.fuse(pm.program(pm.einsum("mn,nk->mk", r / x, v).named("y"))), "n")


def test_a_factor_that_is_summed_itself_stays() -> None:
    """r has the label m, over which the sum goes as well: it differs from term to term."""
    x, v, r = tensors()
    with pytest.raises(pm.TransformError, match="'einsum' sums over 'n'"):
        pm.online(pm.fuse(pm.program(pm.einsum("mn,nk->k", x / r, v).named("y"))), "n")


def test_a_row_without_a_key_stays_zero() -> None:
    """5 rows and 3 keys, causal from the end: two rows see none. 0 / 0 is kept out by one select an element."""
    p = pm.fuse(pm.attention(5, 3, 2, dv=4, causal=True, lse=True))
    moved = pm.online(p, "kv")
    pairs = 1 + 2 + 3
    assert p.flops - moved.flops == pairs - 2 * (5 * 4)  # q dv divisions and as many selects, for a division a pair
    run = simulated(pm.tile(moved, grid={"q": 2}, stream={"kv": 2}), normal(p))
    assert np.all(run.values["O"][..., :2, :] == 0)
    assert np.all(run.values["L"][..., :2] == -np.inf)
    assert np.all(np.isfinite(run.values["O"]))


def test_where_every_row_has_a_key_nothing_is_selected() -> None:
    """As many keys as rows: the first row sees one."""
    moved = pm.online(pm.fuse(pm.attention("n", "n", 2, causal=True)), "kv")
    assert [op.function for op in moved.ops][-2:] == ["multiply-add", "div"]


def test_padding_stays_with_the_labels_that_a_result_has() -> None:
    """Keys padded to 12 and rows to 8: the division after the sum knows of the rows alone; values as before."""
    p = pm.fuse(pm.attention(7, 10, 3, 4, lse=True))
    cut = pm.tile(pm.online(pm.pad(p, kv=4, q=4), "kv"), grid={"q": 4}, stream={"kv": 4})
    assert [[item.label for item in op.padded] for op in cut.ops if op.name == "div_2"] == [["q"]]
    arrays = normal(p)
    assert_same_values(simulated(cut, arrays), simulated(p, arrays))
