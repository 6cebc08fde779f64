"""Compiled formulas give the right number at every point or none; test_compiling has how they are called."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

from perfmodel.errors import DimensionError
from perfmodel.expressions import bind, ceil_div, compile_formula, dims, evaluate, floor_div, reals, remainder
from perfmodel.expressions.evaluating import BLOCK

m, n, k = dims("m n k")
clk = reals("clk")

PROCESSORS = (108, 132, 148)  # of an A100, an H100 and a B200: 1/108, 1/132 and 1/148 are no binary fractions
TILES = ceil_div(m, 256) * ceil_div(n, 128)


def up(p: int, q: int) -> int:
    """Python's own exact ceiling."""
    return -(-p // q)


def near_multiples(of: int, count: int, seed: int) -> list[int]:
    """Random multiples of a number, and their neighbours."""
    chosen = random.Random(seed)
    return [max(1, of * chosen.randint(1, 10**6) + chosen.choice((-1, 0, 1))) for _ in range(count)]


@pytest.mark.parametrize("processors", PROCESSORS)
def test_blocks_and_waves_are_exact_at_random_shapes(processors: int) -> None:
    """Nested ceilings at 10^5 shapes, against Python's ints one by one."""
    chosen = np.random.default_rng(processors).integers(1, 32_768, (2, 100_000))
    found = evaluate({"tiles": TILES, "waves": ceil_div(TILES, processors)}, m=chosen[0], n=chosen[1])
    tiles = [up(a, 256) * up(b, 128) for a, b in chosen.T.tolist()]
    assert found["tiles"].tolist() == tiles
    assert found["waves"].tolist() == [up(count, processors) for count in tiles]


@pytest.mark.parametrize("q", [3, 7, 49, *PROCESSORS, 1000])
def test_ceilings_and_floors_are_exact_beside_multiples(q: int) -> None:
    """At a multiple of q, one below and one above, up to 10^9 and up to the largest sizes."""
    points = near_multiples(q, 20_000, q) + [q * (2**52 // q) + step for step in (-1, 0)]
    found = evaluate({"up": ceil_div(m, q), "down": floor_div(m, q), "rest": remainder(m, q)}, m=points)
    assert found["up"].tolist() == [up(p, q) for p in points]
    assert found["down"].tolist() == [p // q for p in points]
    assert found["rest"].tolist() == [p % q for p in points]


@given(st.integers(1, 2**52), st.integers(1, 2**52))
def test_a_quotient_of_symbols_is_rounded_exactly(p: int, q: int) -> None:
    """Numerator and denominator both vary, up to 2^52: float64 below, int64 at the end."""
    found = evaluate({"up": ceil_div(m, n), "down": floor_div(m, n), "rest": remainder(m, n)}, m=[p, 1], n=[q, 1])
    assert [int(found[name][0]) for name in ("up", "down", "rest")] == [up(p, q), p // q, p % q]


def test_a_sum_inside_a_ceiling_is_one_quotient() -> None:
    """m/3 + n/4 has the denominator 12; at m = 3, n = 4 the sum is 2, and not a little more."""
    points = np.arange(1, 200)
    found = evaluate(sympy.ceiling(m / 3 + n / 4), m=points[:, None], n=points)
    expected = [[up(4 * a + 3 * b, 12) for b in range(1, 200)] for a in range(1, 200)]
    assert found.tolist() == expected


def test_ceilings_move_into_maxima_and_choices() -> None:
    """The ceiling of a maximum of fractions is the maximum of their ceilings."""
    either = sympy.Piecewise((m / 3, m < n), (n / 7, True))
    formulas = {"max": sympy.ceiling(sympy.Max(m / 3, n / 7)), "either": sympy.ceiling(either)}
    found = evaluate(formulas, m=range(1, 60), n=list(range(60, 1, -1)))
    pairs = list(zip(range(1, 60), range(60, 1, -1), strict=True))
    assert found["max"].tolist() == [max(up(a, 3), up(b, 7)) for a, b in pairs]
    assert found["either"].tolist() == [up(a, 3) if a < b else up(b, 7) for a, b in pairs]


LEAVES = st.sampled_from([m, n, k]) | st.integers(1, 12).map(sympy.Integer)
CONDITIONS = (sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge, sympy.Eq, sympy.Ne)


def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.tuples(inner, inner)
    divided = st.tuples(inner, st.integers(1, 12) | st.sampled_from([m, n, k]))
    choices = st.tuples(st.sampled_from(CONDITIONS), inner, inner, inner)
    return st.one_of(
        pairs.map(lambda two: two[0] + two[1]),
        pairs.map(lambda two: two[0] - two[1]),
        pairs.map(lambda two: two[0] * two[1]),
        pairs.map(lambda two: sympy.Max(*two)),
        pairs.map(lambda two: sympy.Min(*two)),
        inner.map(abs),
        inner.map(lambda one: one**2),
        divided.map(lambda two: sympy.sympify(ceil_div(*two), strict=True)),
        divided.map(lambda two: sympy.sympify(floor_div(*two), strict=True)),
        divided.map(lambda two: sympy.sympify(remainder(*two), strict=True)),
        choices.map(lambda four: sympy.Piecewise((four[3], four[0](four[1] / 3, four[2] / 2)), (four[1], True))),
    )


FORMULAS = st.recursive(LEAVES, grown, max_leaves=6)
POINTS = st.lists(st.tuples(*[st.integers(1, 12)] * 3), min_size=1, max_size=5)


@given(FORMULAS, POINTS)
def test_a_compiled_formula_equals_the_bound_one(formula: Any, points: list[tuple[int, int, int]]) -> None:
    """Random trees of every kind of step, on arrays, on ints and on both, against sympy's numbers, exactly."""
    expected = [bind(formula, dict(zip((m, n, k), point, strict=True))) for point in points]
    compiled = compile_formula(formula, "m n k")
    found = compiled(dict(zip((m, n, k), zip(*points, strict=True), strict=True)))
    assert found.dtype == np.int64
    assert found.tolist() == expected
    assert [compiled(dict(zip("mnk", point, strict=True))) for point in points] == expected
    _, second, third = points[0]
    mixed = [bind(formula, {m: first, n: second, k: third}) for first in range(1, 9)]
    assert compiled(m=range(1, 9), n=second, k=third).tolist() == mixed


@given(st.lists(st.tuples(*[st.integers(1, 2**31)] * 3), min_size=1, max_size=5))
def test_large_counts_are_exact_or_refused(points: list[tuple[int, int, int]]) -> None:
    """2mnk - m + ceil(mn/132) is right to the last digit where it is below 2^63, and refused where it may not be."""
    arrays = dict(zip("mnk", np.array(points).T, strict=True))
    expected = [2 * a * b * c - a + up(a * b, 132) for a, b, c in points]
    largest = 2 * max(a for a, _, _ in points) * max(b for _, b, _ in points) * max(c for _, _, c in points)
    formula = compile_formula(2 * m * n * k - m + ceil_div(m * n, 132))
    if largest + up(largest, 132) < 2**63:
        assert formula(arrays).tolist() == expected
    elif largest >= 2**63:
        with pytest.raises(DimensionError, match="would overflow"):
            formula(arrays)


def test_counts_are_exact_on_both_sides_of_float64_s_end() -> None:
    """An odd product just above 2^53 would round in float64; the results are int64 on both sides."""
    low, high = 2**26 - 1, 2**27 + 1
    found = evaluate(m * n, m=[low, high], n=[low, high])
    assert found.dtype == np.int64
    assert found.tolist() == [low * low, high * high]
    assert high * high > 2**53 != float(high * high)


def test_the_way_of_counting_may_change_between_blocks() -> None:
    """Small sizes first and large ones later: each block is exact, and an overflow in the last is still seen."""
    rising = np.concatenate([np.full(BLOCK, 3), np.full(BLOCK, 2**27 + 1), np.full(5, 2**31)])
    assert evaluate(m * m, m=rising).tolist() == [9] * BLOCK + [(2**27 + 1) ** 2] * BLOCK + [2**62] * 5
    with pytest.raises(DimensionError, match="would overflow"):
        evaluate(2 * m * m, m=rising)


def test_what_would_overflow_is_refused_with_its_size() -> None:
    """2MNK at 2 million each is 1.6e19, beyond 2^63 = 9.2e18, where int64 wraps around silently."""
    million = np.array([2 * 10**6])
    assert evaluate(m * n * k, m=million, n=million, k=million)[0] == 8 * 10**18
    with pytest.raises(DimensionError, match=r"2\*.* would overflow: it reaches 16000000000000000000 for") as caught:
        evaluate(2 * m * n * k, m=million, n=million, k=million)
    assert all(f"{name} up to" in str(caught.value) for name in "mnk")


def test_what_only_passes_through_large_numbers_is_refused_too() -> None:
    """An intermediate of 2^66 would wrap even where the result is small."""
    with pytest.raises(DimensionError, match="would overflow"):
        evaluate(ceil_div(m**3 * n, m * n * 7 + 1), m=[2**20], n=[2**6])


def test_numbers_are_computed_with_python_s_own_ints() -> None:
    """No array, no limit: a count in plain ints is exact at any size."""
    found = evaluate(2 * m * n * k, m=2 * 10**6, n=2 * 10**6, k=2 * 10**6)
    assert (type(found), found) == (int, 2 * (2 * 10**6) ** 3)
    assert evaluate(ceil_div(m**3, n), m=2**52, n=3) == up(2**156, 3)


def test_a_time_is_float64() -> None:
    """2mnk/P with P = 989.4e12: near the exact fraction at each point, a float for plain numbers."""
    points = np.arange(1, 400)
    found = evaluate(2 * m * n * k / sympy.Integer(989_400 * 10**9), m=points, n=7, k=4096)
    assert found.dtype == np.float64
    exact = [float(Fraction(2 * a * 7 * 4096, 989_400 * 10**9)) for a in range(1, 400)]
    np.testing.assert_allclose(found, exact, rtol=1e-15)
    assert evaluate(m / 3, m=1) == 1 / 3


def test_the_ceilings_inside_a_time_are_exact() -> None:
    """A time is a whole number of waves at each point: 108 blocks are one wave, 109 two."""
    blocks = np.array(near_multiples(108, 10_000, 1))
    found = evaluate(ceil_div(m, 108) * k / clk, m=blocks, k=1, clk=2.0)
    assert (found * 2).tolist() == [up(count, 108) for count in blocks.tolist()]


def test_a_ceiling_inside_a_time_is_exact_or_refused() -> None:
    """Its argument may be beyond 2^52, where float64 would round it, but not beyond 2^63."""
    odd = np.array([2**27 + 1])
    assert evaluate(ceil_div(m * m, 2) / 2, m=odd)[0] == float(up((2**27 + 1) ** 2, 2)) / 2
    with pytest.raises(DimensionError, match="would overflow"):
        evaluate(ceil_div(m * m, 3) / 2, m=odd * 32)


def test_roots_logarithms_and_exponentials_are_numpy_s() -> None:
    """Not exact, hence only outside of counts."""
    points = np.arange(1, 50)
    formula = sympy.sqrt(m) + sympy.log(m) * sympy.exp(-m / 7) + m ** sympy.Rational(1, 3) + sympy.pi / sympy.sqrt(m)
    by_hand = np.sqrt(points) + np.log(points) * np.exp(-points / 7) + points ** (1 / 3) + np.pi / np.sqrt(points)
    np.testing.assert_allclose(evaluate(formula, m=points), by_hand, rtol=1e-14)
    assert evaluate(formula, m=9) == pytest.approx(by_hand[8], rel=1e-14)


def test_a_maximum_of_many_terms() -> None:
    """A hundred terms, each the largest somewhere, built unevaluated."""
    terms = [index * m - index**2 * 5 for index in range(1, 101)]
    found = evaluate(sympy.Max(*terms, evaluate=False), m=range(1, 1001))
    assert found.tolist() == [max(i * a - i * i * 5 for i in range(1, 101)) for a in range(1, 1001)]
