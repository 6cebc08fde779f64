"""``intervals``: what blocks need of an axis, held against the elements listed one by one."""

from __future__ import annotations

from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.graph.gaps import Gaps
from perfmodel.graph.intervals import Interval, Linear, Trip, surely_at_least

SIZES = st.integers(1, 6)


def listed(interval: Interval, number: int = 0) -> set[int]:
    """The elements of it in one block of m."""
    start, stop = interval.at({"m": number})
    return set(range(int(start), int(stop)))


# by hand


def test_tiles_cover_an_axis_and_the_last_is_ragged() -> None:
    """300 in tiles of 128: two whole ones and 300 - 256 = 44."""
    tile = Interval.tile("m", 128, 300)
    assert [tile.length_at({"m": number}) for number in range(3)] == [128, 128, 44]
    assert Trip("m", 128, 300).count == 3


def test_a_window_widens_a_tile_and_the_axis_clips_it() -> None:
    """Outputs [4 b, 4 b + 4) with 3 taps and padding 1 read [4 b - 1, 4 b + 5), of 8 elements: 5 and 5."""
    halo = Interval.tile("m", 4, 8).through(1, -1).widened(Interval.whole(3)).clipped(8)
    assert [halo.at({"m": number}) for number in range(2)] == [(0, 5), (3, 8)]


def test_strides_and_dilations_spread_it() -> None:
    """3 outputs at stride 2 with 2 taps of dilation 3 touch from 0 to 2 * 2 + 3 * 1: 8 places in the hull."""
    hull = Interval.whole(3).through(2, 0).widened(Interval.whole(2).through(3, 0))
    assert hull.at({}) == (0, 2 * 2 + 3 * 1 + 1)


def test_ends_that_cross_make_an_empty_interval() -> None:
    """Two taps at -2 and -1 of one element: nothing, not a length of -1."""
    outside = Interval((Linear(-2),), (Linear(0),)).clipped(1)
    assert outside.at({}) == (0, 0)
    assert Interval.between(3, 1).length_at({}) == 0


def test_neighbouring_tiles_share_halos_and_nothing_else() -> None:
    """Tiles are disjoint, windows of 3 over them are not, windows of 2 at stride 2 are again."""
    tile = Interval.tile("m", 4, 16)
    assert tile.disjoint("m")
    assert not tile.widened(Interval.whole(3)).disjoint("m")
    assert tile.through(2, 0).widened(Interval.whole(2)).disjoint("m")
    assert not Interval.whole(8).disjoint("m")


def test_symbols_are_told_from_numbers() -> None:
    """An interval is concrete where its ends and its windows are numbers."""
    n = pm.dims("n")
    assert Interval.tile("m", 4, 6).concrete
    assert not Interval.tile("m", 4, n).concrete
    assert not Interval((Linear(0),), (Linear(8),), Gaps(((n, Interval.whole(4)),), 0, 8)).concrete


def test_only_what_holds_for_all_values_is_sure() -> None:
    """n >= 1 for every symbol; n >= 2 is not sure, and neither is its opposite."""
    n = pm.dims("n")
    assert surely_at_least(n, 1)
    assert not surely_at_least(n, 2)
    assert not surely_at_least(1, n)


# laws


@given(SIZES, st.integers(1, 20))
def test_tiles_are_a_partition(size: int, extent: int) -> None:
    """Every element is in exactly one tile."""
    tile, trip = Interval.tile("m", size, extent), Trip("m", size, extent)
    found = [place for number in range(int(trip.count)) for place in sorted(listed(tile, number))]
    assert found == list(range(extent))


@given(SIZES, st.integers(1, 12), SIZES, st.integers(1, 3), st.integers(1, 3), st.integers(0, 4), st.integers(1, 20))
def test_windows_are_the_hull_and_gaps_count_what_is_in_it(
    size: int, extent: int, taps: int, stride: int, dilation: int, padding: int, axis: int
) -> None:
    """The interval is the hull of the places touched, inside the axis; with gaps, the touched ones are counted."""
    out, tap = Interval.tile("m", size, extent), Interval.whole(taps)
    hull = out.through(stride, -padding).widened(tap.through(dilation, 0)).clipped(axis)
    gaps = Gaps(((stride, out), (dilation, tap)), -padding, axis)
    assert gaps.concrete
    for number in range(int(Trip("m", size, extent).count)):
        every = {stride * o + dilation * t - padding for o in listed(out, number) for t in range(taps)}
        inside = {place for place in every if 0 <= place < axis}
        assert listed(hull, number) == {place for place in range(min(every), max(every) + 1) if 0 <= place < axis}
        assert gaps.count_at({"m": number}) == gaps.span_at({"m": number}).count == len(inside)


@given(st.integers(-9, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 5), st.integers(0, 5))
def test_placing_some_numbers_and_then_the_rest_is_placing_all(a: int, b: int, c: int, first: int, second: int) -> None:
    """a + b m + c n at m, then at n."""
    end = Linear(a, (("m", b), ("n", c)))
    assert end.placed({"m": first}).at({"n": second}) == end.at({"m": first, "n": second}) == a + b * first + c * second


@given(SIZES, st.integers(1, 12), SIZES, st.integers(1, 3))
def test_what_is_called_disjoint_shares_nothing(size: int, extent: int, taps: int, stride: int) -> None:
    """Where two blocks share an element they are not said to be disjoint."""
    part = Interval.tile("m", size, extent).through(stride, 0).widened(Interval.whole(taps))
    blocks = [listed(part, number) for number in range(int(Trip("m", size, extent).count))]
    shared = sum(map(len, blocks)) > len(set().union(*blocks))
    assert not (shared and part.disjoint("m"))
