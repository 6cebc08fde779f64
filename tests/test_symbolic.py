"""Formulas for the unknown while other symbols stay: checked at numbers."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, strategies as st

from perfmodel import Machine, PerfModelError, attention, dims, gemv, matmul, reals, solve

n, m, k, B = dims("n m k B")
pk, bw, cap = reals("pk bw cap")
CHIP = Machine(peak=pk, bandwidth_bytes_per_s=bw, capacity_bytes=cap, name="any")
ANSWERS = {
    "compute": (solve(matmul(n, n, n), CHIP, n, bound="compute"), sympy.Ge(n, 3 * pk / bw)),
    "fits": (solve(matmul(n, n, n), CHIP, n, fits=True), sympy.Le(n, sympy.sqrt(cap / 6))),
    "bandwidth": (solve(matmul(n, n, n), CHIP, "bw", bound="compute"), sympy.Ge(bw, 3 * pk / n)),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_unknown_stands_alone(name: str) -> None:
    found, expected = ANSWERS[name]
    assert found.method == "algebra"
    assert found.expression.lhs == expected.lhs
    assert type(found.expression) is type(expected)
    assert sympy.expand(found.expression.rhs - expected.rhs) == 0


@given(st.integers(1, 500), st.integers(1, 500), st.integers(1, 500), st.integers(1, 500))
def test_a_formula_says_what_numbers_say(size: int, batch: int, peak: int, rate: int) -> None:
    """2 B k^2 / pk >= 2 (k^2 + 2 B k) / bw, with B from the formula and from the sides."""
    found = solve(gemv(k, k, batch=B), CHIP, B, bound="compute").expression
    formula = found.subs({k: size, B: batch, pk: peak, bw: rate})
    compute, memory = sympy.Rational(2 * batch * size**2, peak), sympy.Rational(2 * (size**2 + 2 * batch * size), rate)
    assert bool(formula) == bool(compute >= memory)


def test_both_units_bound_a_time() -> None:
    """time_s <= t is n^3 within the peak and n^2 within the bandwidth."""
    found = solve(matmul(n, n, n), CHIP, n, where="time_s <= 1").expression
    for size, peak, rate in ((10, 2000, 600), (10, 1999, 600), (10, 2000, 599)):
        assert bool(found.subs({n: size, pk: peak, bw: rate})) == (2 * size**3 <= peak and 6 * size**2 <= rate)


def test_what_has_no_formula_says_so() -> None:
    with pytest.raises(PerfModelError, match="no closed form in n while B stay"):
        solve(attention(B, n, 64, causal=True), n, where="flops >= 1e9")
