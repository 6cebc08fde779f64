"""Softmax and log-sum-exp are found where nothing else uses their parts, and differentiated as one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differences import assert_is_gradient, reals_of
from staging import run_on

import perfmodel as pm
from perfmodel.graph import Tensor
from perfmodel.transforms.normalised import normalised


def scores() -> Tensor:
    return pm.tensor("x", {"m": 3, "n": 5}, "fp64")


def parts(x: Tensor, label: str = "n") -> tuple[Tensor, Tensor, Tensor]:
    """The maximum, the weights and their sum."""
    top = pm.max(x, label)
    weights = pm.exp(x - top)
    return top, weights, pm.sum(weights, label)


def groups(*outputs: Tensor) -> int:
    p = pm.program(*outputs)
    return len(normalised(p.ops, p.returned))


def test_softmax_alone_log_sum_exp_alone_and_both_are_found() -> None:
    """Each is one group; so are two softmaxes two."""
    top, weights, total = parts(scores())
    share, log = weights / total, top + pm.log(total)
    assert groups(share) == groups(log) == groups(share, log) == 1
    twice = pm.softmax(pm.softmax(scores(), "n"), "n")
    assert groups(twice) == 2


def test_a_part_that_is_used_otherwise_is_no_group() -> None:
    """The sum, the weights or the maximum as an output, or in another op."""
    top, weights, total = parts(scores())
    share = weights / total
    assert groups(share, total) == groups(share, weights) == groups(share, top) == 0
    assert groups(share, (total * 2).named("double")) == 0
    assert groups(share + top) == 0


def test_a_maximum_over_other_labels_stays_outside_of_the_group() -> None:
    """The maximum of all of x is taken off first; the softmax is that of what is left."""
    x = scores()
    weights = pm.exp(x - pm.max(x, ("m", "n")))
    p = pm.program((weights / pm.sum(weights, "n")).named("y"))
    (group,) = normalised(p.ops, p.returned)
    assert group.scores.tensor.name == "sub"
    assert_is_gradient(p, pm.grad(p), reals_of(pm.grad(p)))


@pytest.mark.parametrize("returned", ["share", "log", "both", "share and sum", "share and maximum"])
def test_the_rule_and_the_ops_one_by_one_have_the_same_slopes(returned: str) -> None:
    """As one group (nothing flows through the maximum), and, where a part is an output too, op by op."""
    top, weights, total = parts(scores())
    found = {"share": weights / total, "log": top + pm.log(total), "sum": total, "maximum": top}
    names = ["share", "log"] if returned == "both" else returned.split(" and ")
    p = pm.program(*[found[name].named(name) for name in names])
    g = pm.grad(p)
    assert_is_gradient(p, g, reals_of(g))


def test_the_maximum_passes_nothing_back() -> None:
    """A softmax is differentiated without a comparison with its maximum: P (dP - rowsum(P dP)), four ops."""
    p = pm.softmax("m", "n")
    backward = pm.grad(p).ops[len(p.ops) :]
    assert [op.function for op in backward] == ["mul", "sum", "sub", "mul"]


def test_a_log_sum_exp_alone_is_differentiated_by_the_softmax_that_it_gives() -> None:
    """dx = exp(x - L) dL: a shift, an exponential and a product, and nothing through the maximum."""
    top, _, total = parts(scores())
    p = pm.program((top + pm.log(total)).named("L"))
    g = pm.grad(p)
    assert [op.function for op in g.ops[len(p.ops) :]] == ["sub", "exp", "mul"]


def test_a_cotangent_of_the_log_sum_exp_is_added_by_the_row() -> None:
    """dL goes to the scores through the softmax: dS = P (dP - (rowsum(P dP) - dL))."""
    p = pm.attention(3, 4, 2, lse=True, dtype="fp64")
    g = pm.grad(p)
    arrays: dict[str, Any] = reals_of(g)
    assert_is_gradient(p, g, arrays)
    zero = {**arrays, "dL": np.zeros_like(arrays["dL"])}
    alone = run_on(pm.grad(p, of="O"), arrays).values["dQ"]
    np.testing.assert_allclose(pm.simulate(g, zero).values["dQ"], alone, rtol=1e-12, atol=1e-12)
