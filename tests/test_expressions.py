"""Exact arithmetic on sizes: ints stay ints, floats and text are refused; test_symbols has what a size is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

from perfmodel.errors import DimensionError, ExpressionError
from perfmodel.expressions import (
    as_expression,
    bind,
    ceil_div,
    dims,
    floor_div,
    is_concrete,
    largest,
    product,
    reals,
    remainder,
    scaled,
    smallest,
    total,
)

m, n, h = dims("m n h")
clk = reals("clk")
WHOLE = st.integers(-(10**12), 10**12)


@given(WHOLE, WHOLE.filter(bool))
def test_int_arithmetic_is_python_s(a: int, b: int) -> None:
    """On ints each function is the operator of Python and gives an int."""
    assert ceil_div(a, b) == -(-a // b)
    assert (floor_div(a, b), remainder(a, b)) == divmod(a, b)
    assert (largest(a, b), smallest(a, b)) == (max(a, b), min(a, b))
    assert (product([a, b, 3]), total([a, b, 3])) == (a * b * 3, a + b + 3)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 300))
def test_symbolic_arithmetic_bound_is_int_arithmetic(a: int, b: int, c: int) -> None:
    """Symbols first and numbers later gives what numbers at once give."""
    values = {m: a, n: b}
    for function in (ceil_div, floor_div, remainder, largest, smallest):
        assert bind(function(m * n, c), values) == function(a * b, c)
        assert bind(function(m, n), values) == function(a, b)
    assert bind(product([m, c, n]), values) == a * b * c
    assert bind(total([m, c, n]), values) == a + b + c
    assert bind(scaled(m, Fraction(17, 4)), {m: 4 * a}) == 17 * a


def test_arithmetic_on_ints_never_leaves_ints() -> None:
    """Not even through symbols that cancel, or numpy's ints, whose own product would wrap around."""
    for value in (
        product([m, 1 / m]),
        total([m, 3, -m]),
        scaled(6, Fraction(1, 3)),
        product([np.int64(2**62), 4]),
        bind(m + n, {m: 1, n: 2}),
    ):
        assert type(value) is int
    assert product([np.int64(2**62), 4]) == 2**64
    assert (product([]), total([])) == (1, 0)


def test_a_fraction_stays_exact() -> None:
    """A third of a size is a Rational, never a float."""
    assert scaled(1, Fraction(1, 3)) == sympy.Rational(1, 3)
    assert scaled(m, Fraction(1, 3)) == m / 3


@pytest.mark.parametrize("function", [ceil_div, floor_div, remainder])
@pytest.mark.parametrize("numerator", [5, m])
@pytest.mark.parametrize("zero", [0, sympy.Integer(0), m - m])
def test_division_by_zero_is_refused(function: Any, numerator: Any, zero: Any) -> None:
    """Neither ZeroDivisionError nor sympy's zoo gets out."""
    with pytest.raises(DimensionError, match="zero"):
        function(numerator, zero)


@pytest.mark.parametrize("bad", ["__import__('os')", "n", 0.5, None, [True], float("nan")])
def test_arithmetic_refuses_floats_and_text(bad: Any) -> None:
    """A float in a count rounds, and sympy would run text as code."""
    for function in (ceil_div, floor_div, remainder, largest, smallest, lambda *args: product(args)):
        with pytest.raises(ExpressionError):
            function(m, bad)
    with pytest.raises(ExpressionError):
        scaled(m, bad)


def test_extremes_of_nothing_are_refused() -> None:
    """The largest of no sizes is not a number."""
    for function in (largest, smallest):
        with pytest.raises(ExpressionError, match="at least one"):
            function()


def test_binding_refuses_text() -> None:
    """A replacement is a number or an expression; text would be run by sympy."""
    with pytest.raises(ExpressionError, match="got str"):
        bind(m, {m: "__import__('os').getcwd()"})
    with pytest.raises(ExpressionError):
        as_expression("2*m")


@pytest.mark.parametrize("formula", [n / (m - 1), sympy.Max(1 / (m - 1), n), sympy.Mod(n, m - 1), remainder(n, m - 1)])
def test_binding_to_no_number_is_refused(formula: Any) -> None:
    """A division by zero shows itself when m = 1 is bound."""
    with pytest.raises(DimensionError, match="m = 1"):
        bind(formula, {m: 1, n: 5})


def test_what_is_left_to_bind() -> None:
    """A number is concrete, a formula is not."""
    assert [is_concrete(value) for value in (4, sympy.Rational(1, 2), 2 * m)] == [True, True, False]


def test_an_even_least_over_an_even_number_is_still_rounded() -> None:
    """Min(2, 2 n)/6 is a third: sympy takes it for whole, so the rounding is done on 2/6 and 2 n/6."""
    even = smallest(2, 2 * n)
    assert bind(ceil_div(even, 6), {n: 5}) == 1
    assert bind(floor_div(even, 6), {n: 5}) == 0
    assert bind(ceil_div(m - largest(2, 2 * n), 6), {n: 5, m: 11}) == 1  # 1/6, up
    assert bind(floor_div(m * largest(2, 2 * n), 6), {n: 5, m: 1}) == 1  # 10/6, down


def test_a_quotient_of_many_choices_is_refused_and_not_searched_for_minutes() -> None:
    """Each Min or Max is taken outside a ceiling, which doubles the terms."""
    sizes = [sympy.Symbol(f"s{place}", integer=True, positive=True) for place in range(12)]
    numerator = sum(sympy.Max(size, place + 2) for place, size in enumerate(sizes))
    with pytest.raises(DimensionError, match="12 smallest and largest sizes"):
        ceil_div(numerator, 8)
