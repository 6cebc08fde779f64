"""reassociate: a sum of a product, taken through a contraction that is there already."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differences import reals_of
from staging import assert_counts_as_it_runs, assert_same_values

import perfmodel as pm
from perfmodel.graph import Tensor, banded, causal

m, n, h = pm.dims("m n h")


def tensors() -> tuple[Tensor, Tensor, Tensor]:
    """a_ij, b_ik and c_jk."""
    return (
        pm.tensor("A", {"i": m, "j": n}, "fp64"),
        pm.tensor("B", {"i": m, "k": h}, "fp64"),
        pm.tensor("C", {"j": n, "k": h}, "fp64"),
    )


def assert_same_function(p: pm.Program, q: pm.Program) -> None:
    """Both compute the same, to 1e-12, and what the second does is what its formulas say."""
    one, other = p.at(m=4, n=5, h=3), q.at(m=4, n=5, h=3)
    arrays = reals_of(one)
    run = pm.simulate(other, arrays)
    for name, value in pm.simulate(one, arrays).values.items():
        np.testing.assert_allclose(run.values[name], value, rtol=1e-12, atol=1e-12)
    assert_counts_as_it_runs(other, run)


def test_a_row_sum_goes_through_the_product_that_exists() -> None:
    """z_i = sum_j a_ij (sum_k b_ik c_jk) with y_ik = sum_j a_ij c_jk there: z_i = sum_k b_ik y_ik.

    The product over i, j, k that made X is not needed any more, nor are the two FLOPs for each i and j: two for each
    i and k instead.
    """
    a, b, c = tensors()
    y = pm.einsum("ij,jk->ik", a, c, name="Y")
    x = pm.einsum("ik,jk->ij", b, c, name="X")
    for z in (pm.einsum("ij,ij->i", a, x, name="Z"), pm.sum(a * x, "j", name="Z")):
        p = pm.program(y, z)
        q = pm.reassociate(p)
        assert p.flops - q.flops == 2 * m * n * h + 2 * m * n - 2 * m * h
        assert "X" not in q.tensors
        assert_same_function(p, q)


def test_a_total_goes_through_a_product_under_other_labels() -> None:
    """The trace of a b c: one number, sum_i,j,k a_ij b_jk c_ki, with c a there, written under labels of its own."""
    a = pm.tensor("A", {"i": m, "j": n}, "fp64")
    b = pm.tensor("B", {"j": n, "k": h}, "fp64")
    c = pm.tensor("C", {"k": h, "i": m}, "fp64")
    there = pm.einsum("k p, p r -> k r", c.rename(i="p"), a.rename(i="p", j="r"), name="CA")
    ab = pm.einsum("i j, j k -> i k", a, b, name="AB")
    p = pm.program(there, pm.einsum("i k, k i ->", ab, c, name="trace"))
    q = pm.reassociate(p, "trace")
    assert {access.tensor.name for access in q.ops[-1].reads} == {"B", "CA"}
    assert p.flops - q.flops == 2 * m * n * h + 2 * m * h - 2 * n * h
    assert_same_function(p, q)


def test_what_is_still_needed_stays() -> None:
    """X is an output: it is made as before, and only the sum takes the shorter way."""
    a, b, c = tensors()
    y, x = pm.einsum("ij,jk->ik", a, c, name="Y"), pm.einsum("ik,jk->ij", b, c, name="X")
    p = pm.program(y, x, pm.sum(a * x, "j", name="Z"))
    q = pm.reassociate(p)
    assert p.flops - q.flops == 2 * m * n - 2 * m * h
    assert_same_function(p, q)


@pytest.mark.parametrize("lse", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_the_row_sum_of_attention_becomes_that_of_its_output(causal: bool, lse: bool) -> None:
    """D = rowsum(P dP) = rowsum(dO O): the backward reads O, and the values stay, to 1e-12."""
    p = pm.attention(5, 7, 3, dv=4, heads=4, kv_heads=2, causal=causal, lse=lse, dtype="fp64")
    g = pm.fuse(pm.grad(p, of="O"))
    q = pm.reassociate(g)
    arrays = reals_of(g)
    assert_same_values(pm.simulate(q, arrays), pm.simulate(g, arrays))
    assert "O" in q.saved.to_dict()["tensor"]
    pairs = 2 * 2 * (sum(range(3, 8)) if causal else 5 * 7)
    assert g.flops - q.flops == 2 * pairs - 2 * (2 * 2 * 5 * 4)


def test_flash_attention_is_a_gradient_reassociated_and_recomputed() -> None:
    """Its backward reads Q, K, V, O, L and dO, writes dQ, dK and dV, and moves nothing of the size of S."""
    p = pm.attention("n", "n", 64, lse=True, causal=True)
    g = pm.recompute(pm.reassociate(pm.fuse(pm.grad(p, of="O"))), "P")
    rows = [(tensor, way) for kernel, tensor, way, *_ in g.traffic().rows if kernel == g.kernels[1].name]
    wanted = [(name, "read") for name in ("Q", "K", "V", "O", "L", "dO")]
    assert sorted(rows) == sorted([*wanted, *[(name, "write") for name in ("dQ", "dK", "dV")]])
    assert pm.check(g)


def refused() -> list[tuple[str, Any]]:
    """Programs whose sum may not be regrouped."""
    a, b, c = tensors()
    y, x = pm.einsum("ij,jk->ik", a, c, name="Y"), pm.einsum("ik,jk->ij", b, c, name="X")
    w = pm.tensor("W", {"j": n}, "fp64")
    masked = pm.einsum("ij,jk->ik", a, c, mask=causal("i", "j"), name="Y")
    other = pm.einsum("ik,jk->ij", b, c, mask=banded("i", "j", 1, 1), name="X")
    return [
        ("nothing is there", pm.program(pm.sum(a * x, "j", name="Z"))),
        ("another factor has the label", pm.program(y, pm.sum(a * x * w, "j", name="Z"))),
        ("the sum is not over that label", pm.program(y, pm.sum(a * x, "i", name="Z"))),
        ("the masks differ", pm.program(masked, pm.sum(a * x, "j", name="Z"))),
        ("both are masked, differently", pm.program(masked, pm.sum(a * other, "j", name="Z"))),
        ("it comes later", pm.program(pm.sum(a * x, "j", name="Z"), y)),
        ("it is a maximum", pm.program(y, pm.max(a * x, "j", name="Z"))),
        ("it is no product", pm.program(y, pm.sum(a + x, "j", name="Z"))),
    ]


@pytest.mark.parametrize(("why", "p"), refused())
def test_what_is_not_the_same_sum_is_refused(why: str, p: pm.Program) -> None:
    """No such contraction, one that stands for something else, or one that does not exist yet."""
    with pytest.raises(pm.TransformError, match=r"'Z' is no sum of a product that an earlier contraction"):
        pm.reassociate(p, "Z")
    with pytest.raises(pm.TransformError, match=r"no sum of .* has an earlier contraction"):
        pm.reassociate(p)


def test_names_programs_and_tiles_are_checked() -> None:
    """Unknown tensors, what is no program, and kernels whose tiles were chosen for the sum as it was."""
    p = pm.fuse(pm.grad(pm.attention(4, 4, 8)))
    with pytest.raises(pm.LabelError, match=r"makes no tensor 'sumn'"):
        pm.reassociate(p, "sumn")
    with pytest.raises(pm.TransformError, match=r"reassociate: expected a program"):
        pm.reassociate("p")  # type: ignore[arg-type]
    with pytest.raises(pm.TransformError, match=r"is tiled; reassociate first, then tile"):
        pm.reassociate(tiled())


def tiled() -> pm.Program:
    """The backward cut along rows."""
    return pm.tile(pm.grad(pm.attention(4, 4, 8), wrt="Q").pipe(pm.fuse), grid={"q": 2}, only="attention_2")
