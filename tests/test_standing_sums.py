"""Formulas in which sums stand, evaluated for arrays of sizes, beside sums that are added up in a loop."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.expressions import ceil_div, floor_div
from perfmodel.tile_search import standing_sums
from perfmodel.tile_search.standing_sums import evaluated

s, t = pm.dims("s t")
a, b = sympy.symbols("a b", integer=True, nonnegative=True)


def axes(first: list[int], second: list[int]) -> dict[str, np.ndarray]:
    """Sizes of s down and of t across."""
    return {"s": np.array(first)[:, None], "t": np.array(second)[None, :]}


SIZES = st.lists(st.integers(1, 12), min_size=1, max_size=5)


@given(SIZES, SIZES)
def test_a_sum_over_tiles_of_rows_is_added_for_every_size(rows: list[int], keys: list[int]) -> None:
    """Keys seen by tiles of rows, whole key tiles at a time: the number of terms depends on s, the terms on both."""
    formula = 3 * sympy.Sum(sympy.Min(12, t * ceil_div(sympy.Min(12, s * (a + 1)), t)), (a, 0, ceil_div(12, s) - 1)) + s

    def by_loop(row: int, key: int) -> int:
        tiles = -(-12 // row)
        return 3 * sum(min(12, key * -(-min(12, row * (tile + 1)) // key)) for tile in range(tiles)) + row

    assert evaluated(formula, axes(rows, keys)).tolist() == [[by_loop(row, key) for key in keys] for row in rows]


@given(SIZES, SIZES)
def test_a_sum_over_two_numbers_is_added_for_every_pair(first: list[int], second: list[int]) -> None:
    """Two loops whose numbers of trips depend on s and on t; terms may be 0."""
    term = sympy.Max(0, a * s + b * t - 10)
    formula = sympy.Sum(term, (a, 0, ceil_div(9, s) - 1), (b, 0, ceil_div(7, t) - 1))

    def by_loop(one: int, two: int) -> int:
        return sum(max(0, i * one + j * two - 10) for i in range(-(-9 // one)) for j in range(-(-7 // two)))

    assert evaluated(formula, axes(first, second)).tolist() == [[by_loop(i, j) for j in second] for i in first]


@given(SIZES, SIZES)
def test_a_sum_begins_where_it_says(rows: list[int], keys: list[int]) -> None:
    """Tiles of rows before the first that sees a key are left out: of 12 rows, those from 7 on see any."""
    term = sympy.Max(0, t * (s * (a + 1) - 7))
    found = evaluated(sympy.Sum(term, (a, floor_div(7, s), ceil_div(12, s) - 1)), axes(rows, keys))

    def by_loop(row: int, key: int) -> int:
        return sum(max(0, key * (row * (tile + 1) - 7)) for tile in range(7 // row, -(-12 // row)))

    assert found.tolist() == [[by_loop(row, key) for key in keys] for row in rows]


def test_terms_without_their_number_and_sums_of_fixed_length() -> None:
    """Four times t, and t times s tiles: neither holds the number of the term."""
    found = evaluated(sympy.Sum(t, (a, 0, 3)) + sympy.Sum(t, (a, 0, s - 1)), axes([1, 5], [2, 3]))
    assert found.tolist() == [[4 * 2 + 2, 4 * 3 + 3], [4 * 2 + 5 * 2, 4 * 3 + 5 * 3]]


def test_what_cannot_be_exact_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fractions, sums of them, what overflows and what takes minutes are refused, never approximated."""
    with pytest.raises(pm.DimensionError, match="not known to be whole"):
        evaluated(sympy.Sum(a / 3, (a, 0, s - 1)), axes([2], [2]))
    with pytest.raises(pm.DimensionError, match="not known to be whole"):
        evaluated(s / 3, axes([2], [2]))
    with pytest.raises(pm.DimensionError, match="would overflow"):
        evaluated(sympy.Sum(t**4, (a, 0, s - 1)), axes([2**10], [2**15]))
    monkeypatch.setattr(standing_sums, "MOST_TERMS", 10)
    with pytest.raises(pm.DimensionError, match="12 terms; at most 10 are added"):
        evaluated(sympy.Sum(a * t, (a, 0, s - 1)), axes([6], [1, 2]))
