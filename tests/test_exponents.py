"""The exponents of a lower bound: exact, feasible, of least sum, and the best of those."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from perfmodel.bounds.exponents import exponents

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
ARRAYS = st.lists(st.frozensets(st.sampled_from("abcd"), min_size=1), min_size=2, max_size=4).map(tuple)


def of(*arrays: str) -> tuple[Fraction, ...]:
    """The exponents of arrays whose labels are letters."""
    return exponents(tuple(frozenset(labels) for labels in arrays))


def log_product(s: tuple[Fraction, ...]) -> float:
    """ln prod s^s, with 0^0 = 1: the smaller, the larger the bound."""
    return sum(float(value) * math.log(value) for value in s if value)


def feasible(s: tuple[Fraction, ...], arrays: tuple[frozenset[str], ...]) -> bool:
    """Whether the exponents of the arrays of each label sum to at least 1."""
    return all(
        sum(value for value, labels in zip(s, arrays, strict=True) if label in labels) >= 1
        for label in frozenset().union(*arrays)
    )


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        (("mk", "kn", "mn"), (HALF, HALF, HALF)),  # matmul: Loomis and Whitney
        (("bmk", "bkn", "bmn"), (HALF, HALF, HALF)),  # a batch label is in all three
        (("mk", "k", "m"), (1, 0, 0)),  # a matrix times a vector: the matrix has every label
        (("i", "j", "ij"), (0, 0, 1)),  # an outer product: the output has every label
        (("ijk", "ir", "jr", "kr"), (2 * THIRD, THIRD, THIRD, THIRD)),  # MTTKRP of a three-way tensor
        (("ijkl", "ir", "jr", "kr", "lr"), (Fraction(3, 4), *[Fraction(1, 4)] * 4)),  # and of a four-way one
        (("i",) * 2 + ("",), (HALF, HALF, 0)),  # a dot product: either vector would do
    ],
)
def test_known_contractions_have_their_exponents(arrays: tuple[str, ...], expected: tuple[Fraction, ...]) -> None:
    """The exponents that the sources give for matmul, MTTKRP and products with vectors."""
    assert of(*arrays) == expected


def test_of_exponents_of_one_sum_the_best_are_taken() -> None:
    """A ring of four matrices allows (a, 1-a, a, 1-a) for any a: prod s^s is 1 at a = 1 and 1/4 at a = 1/2."""
    assert of("ij", "jk", "kl", "il") == (HALF, HALF, HALF, HALF)


def test_where_the_best_exponents_are_irrational_a_point_beside_them_stands() -> None:
    """Arrays bd, acde, de, abc, e allow (t, t, ., 1-t, .), which is best at t = sqrt(2) - 1 = 0.41421..: 41/99."""
    arrays = ("bd", "acde", "de", "abc", "e")
    s = of(*arrays)
    assert feasible(s, tuple(map(frozenset, arrays)))
    assert all(isinstance(value, Fraction) for value in s)
    assert float(s[0]) == pytest.approx(math.sqrt(2) - 1, abs=1e-4)


def test_arrays_of_one_element_have_no_exponent() -> None:
    """Arrays of one element each: nothing is to be bounded, and every exponent is 0."""
    assert of("", "", "") == (0, 0, 0)


@settings(max_examples=60, deadline=None)
@given(ARRAYS)
def test_exponents_are_feasible_of_least_sum_and_best_of_those(arrays: tuple[frozenset[str], ...]) -> None:
    """On a grid no feasible point has a smaller sum, nor, of the same sum, a smaller prod s^s."""
    s = exponents(arrays)
    assert feasible(s, arrays)
    grid = [Fraction(value, 12) for value in (0, 3, 4, 6, 8, 9, 12)]
    for other in itertools.product(grid, repeat=len(arrays)):
        if feasible(other, arrays):
            assert sum(other) >= sum(s)
            assert sum(other) > sum(s) or log_product(other) >= log_product(s) - 1e-9


@settings(max_examples=60, deadline=None)
@given(ARRAYS, st.data())
def test_a_set_of_points_is_no_larger_than_its_projections_allow(
    arrays: tuple[frozenset[str], ...], data: st.DataObject
) -> None:
    """|V| <= prod |V_j|^s_j for random sets V of points: the inequality on which the bound rests."""
    labels = sorted(frozenset().union(*arrays))
    point = st.tuples(*[st.integers(0, 3)] * len(labels))
    points = data.draw(st.sets(point, min_size=1, max_size=40))
    most = 1.0
    for share, kept in zip(exponents(arrays), arrays, strict=True):
        places = [labels.index(label) for label in sorted(kept)]
        most *= len({tuple(p[place] for place in places) for p in points}) ** float(share)
    assert len(points) <= most * (1 + 1e-9)
