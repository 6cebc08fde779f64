"""``sums``: closed forms of the lengths that blocks move, held against running through the blocks."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st
from staging import evaluated

import perfmodel as pm
from perfmodel.expressions import Size
from perfmodel.graph.intervals import Interval, Trip
from perfmodel.graph.sums import lengths_sum

SIZES = st.integers(1, 6)


def windowed(size: Size, extent: Size, taps: int, step: int, padding: int, axis: Size) -> Interval:
    """What a window over a tile of outputs reads of an axis."""
    out = Interval.tile("p", size, extent)
    return out.through(step, -padding).widened(Interval.whole(taps)).clipped(axis)


@settings(max_examples=200)
@given(SIZES, st.integers(1, 20), SIZES, st.integers(1, 4), st.integers(0, 4), st.integers(1, 30))
def test_one_label_sums_as_its_blocks(size: int, extent: int, taps: int, step: int, padding: int, axis: int) -> None:
    """Any stride, padding, window and ragged tile: the sum is that of the blocks one by one."""
    interval, trip = windowed(size, extent, taps, step, padding, axis), Trip("p", size, extent)
    each = [interval.at({"p": number}) for number in range(int(trip.count))]
    assert lengths_sum([interval], {"p": trip}) == sum(stop - start for start, stop in each)


@settings(max_examples=60)
@given(SIZES, st.integers(7, 20), SIZES, st.integers(1, 3), st.integers(0, 4), st.integers(-3, 3))
def test_formulas_bound_at_ints_are_the_sums_of_ints(
    size: int, extent: int, taps: int, step: int, padding: int, more: int
) -> None:
    """The same in symbols, closed or standing, at sizes of two tiles or more."""
    n = pm.dims("n")
    formula = lengths_sum([windowed(size, n, taps, step, padding, step * n + more)], {"p": Trip("p", size, n)})
    axis = step * extent + more
    interval = windowed(size, extent, taps, step, padding, axis)
    assert evaluated(formula, {n: extent}) == lengths_sum([interval], {"p": Trip("p", size, extent)})


def test_two_intervals_of_one_label_are_multiplied_block_by_block() -> None:
    """5 in tiles of 2: lengths 2, 2, 1 on both axes give 4 + 4 + 1, not 5 * 5."""
    tile = Interval.tile("m", 2, 5)
    assert lengths_sum([tile, tile], {"m": Trip("m", 2, 5)}) == 2 * 2 + 2 * 2 + 1 * 1


def test_intervals_of_different_labels_are_summed_apart() -> None:
    """5 x 7 in tiles of any size hold 5 * 7 elements."""
    trips = {"m": Trip("m", 2, 5), "n": Trip("n", 3, 7)}
    assert lengths_sum([Interval.tile("m", 2, 5), Interval.tile("n", 3, 7)], trips) == 5 * 7
