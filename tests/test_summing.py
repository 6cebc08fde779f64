"""Finite sums in formulas: compiled, they are what a loop adds up, at numbers and at arrays."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.expressions import ceil_div, summing

m, n = pm.dims("m n")
i, j = sympy.symbols("i j", integer=True, nonnegative=True)
SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=6)


@given(SIZES, st.integers(1, 9))
def test_a_sum_is_added_up_at_every_point(lengths: list[int], step: int) -> None:
    """Keys that tiles of rows see, at single sizes and at all of them at once."""
    formula = 3 * sympy.Sum(sympy.Min(n, m * (i + 1)), (i, 0, ceil_div(n, m) - 1)) + m
    loops = [3 * sum(min(a, step * (b + 1)) for b in range(-(-a // step))) + step for a in lengths]
    assert pm.evaluate(formula, n=lengths, m=step).tolist() == loops
    assert [pm.evaluate(formula, n=a, m=step) for a in lengths] == loops


def test_numbers_inside_numbers_and_limits_of_their_own() -> None:
    """The inner number runs up to the outer one; a sum may begin past 0, and a name of a symbol is no matter."""
    triangle = sympy.Sum(i * j + m, (i, 0, j), (j, 2, m))
    loop = [sum(a * b + size for b in range(2, size + 1) for a in range(b + 1)) for size in (1, 2, 30, 400)]
    assert pm.evaluate(triangle, m=[1, 2, 30, 400]).tolist() == loop
    shadow = pm.dims("i") * sympy.Sum(i, (i, 1, n))
    assert pm.evaluate(shadow, i=7, n=4) == 7 * (1 + 2 + 3 + 4)
    assert pm.evaluate(sympy.Sum(m, (i, 1, n)), m=5, n=3) == 3 * 5


def test_a_sum_of_quantities_is_a_quantity() -> None:
    """Half of 1 + 2 + 3."""
    assert pm.evaluate(sympy.Sum(pm.reals("x") * i, (i, 1, n)), x=[0.5], n=3).tolist() == [0.5 * (1 + 2 + 3)]


def test_many_terms_are_added_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces that end inside a point's terms: sums of 1 to 9, of nothing, of 1 to 100."""
    monkeypatch.setattr(summing, "_AT_ONCE", 7)
    found = pm.evaluate(sympy.Sum(i, (i, 1, n - 1)), n=[10, 1, 101])
    assert found.tolist() == [9 * 10 // 2, 0, 100 * 101 // 2]


def test_what_cannot_be_added_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What overflows, has fewer terms than none, or takes minutes."""
    with pytest.raises(pm.DimensionError, match="overflow"):
        pm.evaluate(sympy.Sum(m**4, (i, 1, n)), m=[2**15], n=2**10)
    with pytest.raises(pm.DimensionError, match="has -2 terms"):
        pm.evaluate(sympy.Sum(i, (i, 4, n)), n=1)
    monkeypatch.setattr(summing, "MOST_TERMS", 10)
    for sizes in (12, np.array([3, 9])):
        with pytest.raises(pm.DimensionError, match="12 terms; at most 10 are added"):
            pm.evaluate(sympy.Sum(i, (i, 1, n)), n=sizes)


@pytest.mark.parametrize("blocks", [(4, 6), (5, 5), (8, 2), (2, 8)])
@given(q=st.integers(9, 60), kv=st.integers(9, 60))
def test_masked_attention_is_evaluated(blocks: tuple[int, int], q: int, kv: int) -> None:
    """Sums over tiles of rows of what their tiles of keys hold: as the program bound there."""
    p = pm.recipes.flash_attention("q", "kv", 4, causal=True, q_block=blocks[0], kv_block=blocks[1])
    bound = p.at(q=q, kv=kv)
    assert pm.evaluate({"bytes": p.bytes, "issued": p.issued_flops}, q=q, kv=kv) == {
        "bytes": bound.bytes,
        "issued": bound.issued_flops,
    }
