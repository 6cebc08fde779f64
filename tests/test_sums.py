"""``sums``: closed forms of the lengths that blocks move, held against running through the blocks."""

from __future__ import annotations

from itertools import product as combinations
from typing import Any

import pytest
import sympy
from hypothesis import given, settings, strategies as st
from staging import evaluated

import perfmodel as pm
from perfmodel.expressions import Size
from perfmodel.graph.gaps import Gaps
from perfmodel.graph.intervals import Interval, Linear, Trip
from perfmodel.graph.sums import MOST_TERMS, floor_half, lengths_sum

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


def test_halos_by_hand() -> None:
    """8 outputs in tiles of 4, 3 taps, padding 1, of 8 elements: [0, 5) and [3, 8)."""
    assert lengths_sum([windowed(4, 8, 3, 1, 1, 8)], {"p": Trip("p", 4, 8)}) == 5 + 5


def test_padding_that_no_tap_leaves_counts_nothing() -> None:
    """3 outputs one by one, one tap, padding 2, one element: it alone is met, by the third; not -2 - 1 + 1."""
    assert lengths_sum([windowed(1, 3, 1, 1, 2, 1)], {"p": Trip("p", 1, 3)}) == 0 + 0 + 1


def test_a_known_number_of_tiles_does_not_make_the_signs_of_symbols_known() -> None:
    """Taps at 2 t - 2 of [0, n) over h outputs at stride 3: the first may meet padding alone, as at n = 1, h = 1."""
    n, h = pm.dims("n h")
    taps = Interval.tile("t", 1, 2).through(2, -2).widened(Interval.whole(h).through(3, 0)).clipped(n)
    formula = lengths_sum([taps], {"t": Trip("t", 1, 2)})
    assert evaluated(formula, {n: 1, h: 1}) == 0 + 1  # at -2 nothing, at 0 the element
    assert evaluated(formula, {n: 9, h: 3}) == 5 + 7  # [-2, 5) and [0, 7) inside [0, 9)


@pytest.mark.parametrize("trips", [MOST_TERMS, MOST_TERMS + 1])
def test_many_terms_of_symbols_stand_as_a_sum(trips: int) -> None:
    """A row of n or of less, whichever tile: written out while the terms are few, a standing sum beyond."""
    n = pm.dims("n")
    part = Interval((Linear(0, (("p", 1),)),), (Linear(n),))  # from p up to n: empty once p is past it
    formula = lengths_sum([part], {"p": Trip("p", 1, trips)})
    assert formula.has(sympy.Sum) == (trips > MOST_TERMS)
    assert evaluated(formula, {n: 4}) == 4 + 3 + 2 + 1


def test_distinct_elements_are_counted_in_numbers_and_hulls_in_symbols() -> None:
    """2 windows of one tap at stride 3, a tile: 2 elements of a hull of 4; 4 outputs make two tiles."""
    n = pm.dims("n")
    for extent, each in ((4, 2), (n, 4)):
        out = Interval.tile("p", 2, extent)
        hull = out.through(3, 0).clipped(3 * extent)
        part = Interval(hull.starts, hull.stops, Gaps(((3, out),), 0, 3 * extent))
        assert evaluated(lengths_sum([part], {"p": Trip("p", 2, extent)}), {n: 4}) == 2 * each


def test_too_many_blocks_are_refused() -> None:
    """Blocks that have to be listed are at most 2^22: the error says to take larger tiles."""
    tile = Interval.tile("p", 1, 2**23)
    with pytest.raises(pm.DimensionError, match=r"8388608 blocks to enumerate; .* take larger tiles"):
        lengths_sum([tile, tile], {"p": Trip("p", 1, 2**23)})


def test_half_of_an_even_number_stays_whole() -> None:
    """k (k - 1) / 2, in ints and in symbols."""
    n = pm.dims("n")
    assert floor_half(7 * 6) == 21
    assert floor_half(n * (n - 1)) == n * (n - 1) / 2


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_several_labels_and_intervals_sum_as_their_blocks(data: st.DataObject) -> None:
    """Two axes moved by two labels in any way, halos and all: in ints and in symbols, block by block."""
    sizes = {label: data.draw(SIZES) for label in ("p", "r")}
    extents = {label: data.draw(st.integers(sizes[label] + 1, 9)) for label in sizes}
    axes = [data.draw(st.integers(1, 12)) for _ in range(2)]
    moves = [data.draw(st.lists(st.sampled_from(("p", "r")), min_size=1, unique=True)) for _ in axes]
    shifts = [data.draw(st.integers(0, 3)) for _ in axes]

    def parts(known: dict[str, Any], ends: list[Any]) -> list[Interval]:
        found = []
        for labels, shift, end in zip(moves, shifts, ends, strict=True):
            part = Interval.between(-shift, 1 - shift)
            for label in labels:
                part = part.widened(Interval.tile(label, sizes[label], known[label]))
            found.append(part.clipped(end))
        return found

    trips = {label: Trip(label, sizes[label], extents[label]) for label in sizes}
    used = sorted({label for labels in moves for label in labels})
    expected = 0
    for numbers in combinations(*[range(int(trips[label].count)) for label in used]):
        at = dict(zip(used, numbers, strict=True))
        (a, b), (c, d) = [part.at(at) for part in parts(extents, axes)]
        expected += int((b - a) * (d - c))
    assert lengths_sum(parts(extents, axes), trips) == expected
    symbols = dict(zip(("p", "r", "x", "y"), pm.dims("P R X Y"), strict=True))
    in_symbols = {label: Trip(label, sizes[label], symbols[label]) for label in sizes}
    formula = lengths_sum(parts(symbols, [symbols["x"], symbols["y"]]), in_symbols)
    values = {symbols[label]: extents[label] for label in sizes} | {symbols["x"]: axes[0], symbols["y"]: axes[1]}
    assert evaluated(formula, values) == expected
