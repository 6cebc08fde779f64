"""The signs of polynomials at whole numbers, against each value."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st

from perfmodel.solving.polynomials import plus, sign_at, sign_runs, times, value_at

POLYNOMIALS = st.lists(st.integers(-200, 200), min_size=1, max_size=5).map(lambda each: plus(tuple(each), (0,)))


@given(POLYNOMIALS, st.integers(0, 30), st.one_of(st.none(), st.integers(30, 200)))
def test_runs_are_the_signs_of_each_value(poly: tuple[int, ...], first: int, last: int | None) -> None:
    runs = sign_runs(poly, first, last)
    assert (runs[0][0], runs[-1][1]) == (first, last)
    assert all(one[1] + 1 == other[0] and one[2] != other[2] for one, other in pairwise(runs))
    for low, high, sign in runs:
        for at in (
            *range(low, min(low + 40, high if high is not None else low + 40) + 1),
            10**30 if high is None else high,
        ):
            assert sign_at(poly, at) == sign


@given(st.lists(st.integers(0, 12), min_size=1, max_size=4))
def test_every_root_is_met(roots: list[int]) -> None:
    """The product of t - root is 0 at each root, and nowhere else."""
    poly: tuple[int, ...] = (1,)
    for root in roots:
        poly = times(poly, (-root, 1))
    zeros = [at for low, high, sign in sign_runs(poly, 0, None) if sign == 0 for at in range(low, (high or 0) + 1)]
    assert zeros == sorted(set(roots))


@given(POLYNOMIALS, POLYNOMIALS, st.integers(-50, 50))
def test_sums_and_products_are_those_of_values(one: tuple[int, ...], other: tuple[int, ...], at: int) -> None:
    assert value_at(plus(one, other), at) == value_at(one, at) + value_at(other, at)
    assert value_at(times(one, other), at) == value_at(one, at) * value_at(other, at)
