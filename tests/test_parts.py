"""``parts``: bytes of what blocks move, bits packed and block scales counted, held against enumeration."""

from __future__ import annotations

from itertools import product as combinations

import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.graph.gaps import Gaps
from perfmodel.graph.intervals import Interval, Linear, Trip
from perfmodel.graph.parts import part_bytes, part_note, placed

SIZES = st.integers(1, 6)
SCALED = pm.Format(bits=4, block=3, scale_bits=8, zero_bits=3)  # 3 elements share 8 + 3 bits


# by hand


def test_bytes_of_ragged_tiles_are_those_of_the_tensor() -> None:
    """300 x 8 in bf16: each element once, 2 bytes."""
    part = (Interval.tile("m", 128, 300), Interval.whole(8))
    assert part_bytes(pm.format("bf16"), part, {"m": Trip("m", 128, 300)}) == 300 * 8 * 2


def test_bits_are_packed_and_rounded_up_once() -> None:
    """Tiles of 1 of 5 numbers of 4 bits: 20 bits are 3 bytes, not 5 times a byte."""
    assert part_bytes(pm.format("int4"), (Interval.tile("m", 1, 5),), {"m": Trip("m", 1, 5)}) == 3


def test_a_tile_moves_the_scale_of_each_block_that_it_touches() -> None:
    """64 numbers of 4 bits in tiles of 16: each block of 32 and its 8-bit scale is touched by two tiles."""
    trips = {"m": Trip("m", 16, 64)}
    assert part_bytes(pm.format("mxfp4"), (Interval.tile("m", 16, 64),), trips) == (64 * 4 + 4 * 8) // 8
    trips = {"m": Trip("m", 32, 64)}  # whole blocks: two scales
    assert part_bytes(pm.format("mxfp4"), (Interval.tile("m", 32, 64),), trips) == (64 * 4 + 2 * 8) // 8


def test_an_empty_part_moves_no_scale() -> None:
    """Nothing of a row, in the middle of a block: no element and no scale."""
    assert part_bytes(pm.format("mxfp4"), (Interval.between(3, 3),), {}) == 0


def test_gaps_that_jump_over_blocks_move_no_scale_of_them() -> None:
    """Elements 0 and 64: two elements of 4 bits in two blocks, the block between them stays."""
    far = Interval((Linear(0),), (Linear(65),), Gaps(((64, Interval.whole(2)),), 0, 96))
    assert part_bytes(pm.format("mxfp4"), (far,), {}) == (2 * 4 + 2 * 8) // 8


def test_a_label_that_moves_rows_and_columns_is_met_once() -> None:
    """The diagonal tiles of 4 x 4, in tiles of 2: 2 x 2 elements and one block of 2 a row, twice."""
    form = pm.Format(bits=4, block=2, scale_bits=8)
    tile = Interval.tile("m", 2, 4)
    assert part_bytes(form, (tile, tile), {"m": Trip("m", 2, 4)}) == 2 * (2 * 2 * 4 + 2 * 1 * 8) // 8


def test_scales_of_tiles_of_symbols_need_whole_blocks() -> None:
    """32 n numbers in tiles of 32 have n scales; tiles of 8 share them, which is counted in ints only."""
    n = pm.dims("n")
    extent = 32 * n
    whole = part_bytes(pm.format("mxfp4"), (Interval.tile("m", 32, extent),), {"m": Trip("m", 32, extent)})
    assert whole == 32 * n // 2 + n  # half a byte an element, a byte a block
    with pytest.raises(pm.DimensionError, match="cut the 32 elements that share a scale: take multiples"):
        part_bytes(pm.format("mxfp4"), (Interval.tile("m", 8, extent),), {"m": Trip("m", 8, extent)})


def test_a_hull_is_said_only_where_distinct_elements_are_not_counted() -> None:
    """Windows of 2 at stride 3: counted in numbers; in symbols, tiles of them are hulls."""
    n = pm.dims("n")
    for extent, note in ((4, ""), (n, "windows may leave gaps: the hull is counted")):
        out = Interval.tile("m", 2, extent)
        hull = out.through(3, 0).widened(Interval.whole(2))
        part = Interval(hull.starts, hull.stops, Gaps(((3, out), (1, Interval.whole(2))), 0, 3 * extent))
        assert part_note((part,), {"m": Trip("m", 2, extent)}) == note


# laws


@settings(max_examples=200)
@given(SIZES, st.integers(1, 9), SIZES, st.integers(1, 9), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2))
def test_bytes_are_those_of_the_elements_and_scales_listed(
    rows_size: int, rows: int, size: int, extent: int, stride: int, taps: int, padding: int
) -> None:
    """Every block of a window over two axes, element by element: bits, and the blocks of each of its rows."""
    trips = {"r": Trip("r", rows_size, rows), "m": Trip("m", size, extent)}
    axis = stride * (extent - 1) + taps
    out = Interval.tile("m", size, extent)
    hull = out.through(stride, -padding).widened(Interval.whole(taps)).clipped(axis)
    gaps = Gaps(((stride, out), (1, Interval.whole(taps))), -padding, axis)
    part = (Interval.tile("r", rows_size, rows), Interval(hull.starts, hull.stops, gaps))
    bits = 0
    for at_row, at in combinations(*[range(int(trips[label].count)) for label in ("r", "m")]):
        lines = min(rows_size, rows - rows_size * at_row)
        outs = range(size * at, min(size * at + size, extent))
        places = {stride * o + tap - padding for o in outs for tap in range(taps)}
        inside = {place for place in places if 0 <= place < axis}
        bits += lines * (len(inside) * 4 + len({place // 3 for place in inside}) * (8 + 3))
    assert part_bytes(SCALED, part, trips) == -(-bits // 8)


@given(SIZES, st.integers(1, 12), st.integers(1, 4), st.integers(0, 3))
def test_placed_is_the_interval_at_its_number(size: int, extent: int, taps: int, number: int) -> None:
    """Known numbers only fix where the interval lies, gaps included."""
    out = Interval.tile("m", size, extent)
    gaps = Gaps(((3, out), (1, Interval.whole(taps))), 0, 3 * extent)
    hull = out.through(3, 0).widened(Interval.whole(taps))
    part = Interval(hull.starts, hull.stops, gaps)
    number = min(number, int(Trip("m", size, extent).count) - 1)
    there = placed(part, {"m": number})
    assert there.at({}) == part.at({"m": number})
    assert there.length_at({}) == part.length_at({"m": number})
    assert placed(part, {"n": 5}) == part


def test_tiles_of_shared_scales_beyond_the_limit_are_refused() -> None:
    """2^40 columns in tiles of 4 would be listed one by one: 4 is no multiple of the 32 that share a scale."""
    p = pm.cast(pm.matmul(2**20, 2**40, 2**20), "mxfp4")
    with pytest.raises(pm.DimensionError, match="tiles to enumerate"):
        _ = pm.tile(p, n=4).bytes
