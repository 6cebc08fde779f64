"""The arithmetic under masks: sums, bands and chunks in closed form, with as few Max as can be."""

from __future__ import annotations

from itertools import product

import pytest
import sympy
from hypothesis import given, strategies as st

from perfmodel.expressions import bind, dims
from perfmodel.graph.bands import at_most, band_pairs, chunk_pairs, greatest, least, positive_part, series

n, m = dims("n m")
REACHES = st.none() | st.integers(0, 12)


@pytest.mark.parametrize(
    ("smaller", "greater", "known"),
    [
        (3, 4, True),
        (4, 3, False),
        (n, n, True),
        (n, n + 1, True),
        (n, m, False),
        (1, n, True),
        (sympy.Max(0, n - m), n, True),
        (sympy.Max(0, n - m), m, False),
    ],
)
def test_at_most_knows_what_holds_for_all_values(smaller: object, greater: object, known: bool) -> None:
    """True only where no positive values of the symbols break it."""
    assert at_most(smaller, greater) is known


def test_extremes_without_a_choice_are_no_max_or_min() -> None:
    """Where the order is known the answer is one of the arguments; else one Max or Min, equal to sympy's own."""
    assert positive_part(n) == n
    assert positive_part(-n) == 0
    assert positive_part(n - 1) == n - 1  # n is 1 at least
    assert positive_part(n - m) == sympy.Max(0, n - m)
    assert least(n + 2, n, n + 1) == n
    assert least(n, m, m + 1) == sympy.Min(n, m)
    assert greatest(n + 2, n) == greatest(n, n + 2) == n + 2
    assert greatest(n, m) == sympy.Max(n, m)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=2))
def test_extremes_of_ints_are_those_of_python(values: list[int]) -> None:
    """Ints stay ints."""
    one, other = values
    assert (least(one, other), greatest(one, other), positive_part(one)) == (min(values), max(values), max(one, 0))


@given(before=st.integers(-9, 9), count=st.integers(0, 9))
def test_a_series_is_the_sum_of_its_terms(before: int, count: int) -> None:
    """For ints and for a formula of either sign."""
    terms = sum(max(term, 0) for term in range(before + 1, before + count + 1))
    assert series(before, count) == terms
    assert bind(series(n - m, count), {n: before + 20, m: 20}) == terms


def test_a_series_from_a_known_start_is_one_product() -> None:
    """From 0 the triangle, from n on count (2 n + count + 1) / 2."""
    assert series(0, n) == n * (n + 1) / 2
    assert series(n, m) == m * (2 * n + m + 1) / 2


@given(left=REACHES, right=REACHES, rows=st.integers(0, 9), columns=st.integers(0, 9), offset=st.integers(-12, 12))
def test_a_band_holds_the_pairs_counted_one_by_one(
    left: int | None, right: int | None, rows: int, columns: int, offset: int
) -> None:
    """Any offset, and no rows or columns at all, included."""
    distances = [j - i - offset for i, j in product(range(rows), range(columns))]
    inside = [d for d in distances if (left is None or d >= -left) and (right is None or d <= right)]
    assert band_pairs(left, right, rows, columns, offset) == len(inside)


@given(left=REACHES, right=REACHES, chunk=st.integers(1, 12), rows=st.integers(0, 20), keys=st.integers(0, 20))
def test_chunks_hold_the_pairs_counted_one_by_one(
    left: int | None, right: int | None, chunk: int, rows: int, keys: int
) -> None:
    """More rows than keys, fewer, none, and chunks longer than either."""
    shared = [j - i for i, j in product(range(rows), range(keys)) if i // chunk == j // chunk]
    inside = [d for d in shared if (left is None or d >= -left) and (right is None or d <= right)]
    assert chunk_pairs(left, right, chunk, rows, keys) == len(inside)
