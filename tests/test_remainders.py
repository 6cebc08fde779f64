"""Remainders as formulas: right wherever sympy's own are not, and simple where that is safe."""

from __future__ import annotations

import pickle

import pytest
import sympy
from hypothesis import given, strategies as st

from perfmodel.expressions import bind, dims, remainder
from perfmodel.expressions.remainders import Mod

m, n = dims("m n")
SMALL = st.integers(1, 12)


@given(SMALL, SMALL, SMALL, SMALL, SMALL)
def test_remainders_of_remainders_are_right(a: int, b: int, factor: int, q: int, r: int) -> None:
    """Sums, products and powers of remainders, bound, against Python's %; sympy's Mod gives 2*(m % 3) for the first."""
    inner, value = remainder(m, q), a % q
    formulas = {
        factor * inner: factor * value,
        n * inner**2: b * value**2,
        n + factor * inner: b + factor * value,
        -inner - n: -value - b,
    }
    for formula, number in formulas.items():
        assert bind(remainder(formula, r), {m: a, n: b}) == number % r
        assert bind(remainder(formula, n), {m: a, n: b}) == number % b


def test_multiples_of_the_divisor_drop_out() -> None:
    """Whole multiples and the divisor's share of a constant."""
    assert remainder(16 * n, 16) == 0
    assert remainder(m * n, n) == 0
    assert remainder(n + 48, 16) == remainder(n, 16)
    assert remainder(n + 19, 16) == remainder(n + 3, 16)
    assert remainder(n - 1, 16) == remainder(n + 15, 16)
    assert remainder(remainder(m, n), n) == remainder(m, n)
    assert remainder(n, 1) == 0


def test_what_is_known_of_a_remainder() -> None:
    """It is a whole number and not negative, so sympy drops a maximum with zero."""
    assert Mod(m, n).is_integer
    assert Mod(m, n).is_nonnegative
    assert sympy.Max(0, remainder(m, 16)) == remainder(m, 16)
    assert Mod(m, -n).is_nonpositive
    assert Mod(m, sympy.Symbol("x", real=True)).is_integer is None


def test_numbers_have_the_remainder_of_python() -> None:
    """The sign follows the divisor; fractions have one too."""
    for a in range(-7, 8):
        for b in (-3, 3):
            assert Mod(sympy.Integer(a), sympy.Integer(b)) == a % b
    assert Mod(sympy.Rational(7, 2), 1) == sympy.Rational(1, 2)
    with pytest.raises(ZeroDivisionError):
        Mod(m, 0)


def test_a_remainder_is_shown_as_sympy_shows_it() -> None:
    """In text and in LaTeX; and it pickles."""
    assert str(2 * remainder(m, 16)) == "2*(Mod(m, 16))"
    assert sympy.latex(remainder(m, 16)) == r"m \bmod 16"
    assert pickle.loads(pickle.dumps(Mod(m, 16))) == Mod(m, 16)
