"""What an index touches of an axis, held against listing its places."""

from __future__ import annotations

from hypothesis import given, strategies as st

from perfmodel.graph.indexing import Affine
from perfmodel.graph.intervals import Interval
from perfmodel.graph.touching import index_interval


def test_padding_is_not_read() -> None:
    """3 taps over 4 outputs with padding 1: all 4 elements; with a stride of 2 and no overlap, gaps are kept."""
    space = {"p": Interval.whole(4), "r": Interval.whole(3)}
    assert index_interval(Affine((("p", 1), ("r", 1)), -1), space, 4).at({}) == (0, 4)
    apart = index_interval(Affine((("p", 3),), 0), space, 12)
    assert (apart.at({}), apart.length_at({})) == ((0, 10), 4)


@given(st.integers(1, 12), st.integers(1, 8), st.integers(1, 4), st.integers(1, 3), st.integers(-5, 5))
def test_an_interval_holds_every_place_on_the_axis(extent: int, outputs: int, step: int, taps: int, shift: int) -> None:
    """Padding lies outside the axis, and no interval does."""
    space = {"p": Interval.whole(outputs), "r": Interval.whole(taps)}
    start, stop = index_interval(Affine((("p", step), ("r", 1)), shift), space, extent).at({})
    places = [step * p + r + shift for p in range(outputs) for r in range(taps)]
    touched = [place for place in places if 0 <= place < extent]
    if touched:
        assert start <= min(touched) <= max(touched) < stop
    assert stop <= max(start, extent)
