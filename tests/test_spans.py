"""Spans: the elements of an axis that windows and rolls touch, against listing them one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import assume, given, strategies as st

from perfmodel.expressions import bind, ceil_div, dims, floor_div
from perfmodel.graph import spans
from perfmodel.graph.spans import (
    HULL_NOTE,
    Lattice,
    Span,
    at_most,
    blocks_touched,
    interval,
    lattice_span,
    united,
)

h, n, s = dims("h n s")


def touched(places: Lattice, extent: int) -> set[int]:
    """The elements of an axis at the places of a lattice, trip by trip: the oracle of this file."""
    found = set()
    for trips in itertools.product(*[range(count) for _, count in places.steps]):
        place = places.offset + sum(step * trip for (step, _), trip in zip(places.steps, trips, strict=True))
        found.add(place if places.modulo is None else place % places.modulo)
    return {place for place in found if 0 <= place < extent}


def windows(extent: int, stride: int, taps: int, dilation: int, padding: int) -> Lattice | None:
    """Every window that fits an axis padded on both ends, or None where none does."""
    count = (extent + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
    return Lattice(-padding, ((stride, count), (dilation, taps))) if count > 0 else None


def small_windows() -> Iterator[tuple[int, Lattice]]:
    sizes = itertools.product(range(1, 10), range(1, 5), range(1, 5), range(1, 4), range(5))
    for extent, *rest in sizes:
        found = windows(extent, *rest)
        if found is not None:
            yield extent, found


def check(span: Span, elements: set[int], extent: int) -> None:
    """An exact span counts the elements and has their ends; a hull holds them all and says so."""
    if span.note:
        assert span.note == HULL_NOTE
        assert len(elements) <= span.count == span.stop - span.start
        assert all(span.start <= place < span.stop for place in elements)
    else:
        assert span.count == len(elements)
        assert not elements or (span.start, span.stop) == (min(elements), max(elements) + 1)
        assert span.whole(extent) == (elements == set(range(extent)))
        assert span.places is not None or elements == set(range(span.start, span.stop))


def test_every_small_window_is_counted_exactly() -> None:
    """For all extents < 10, strides <= 4, taps <= 4, dilations <= 3 and paddings <= 4, with no hull among them."""
    for extent, places in small_windows():
        span = lattice_span(places, extent)
        assert span.note == "", (extent, places)
        check(span, touched(places, extent), extent)


def test_the_closed_forms_alone_are_exact_or_say_hull(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same windows where nothing may be listed: as symbols are counted. Both kinds of answer occur."""
    monkeypatch.setattr(spans, "MOST_LISTED", 0)
    noted = set()
    for extent, places in small_windows():
        span = lattice_span(places, extent)
        noted.add(bool(span.note))
        check(span, touched(places, extent), extent)
    assert noted == {True, False}


STEPS = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 8)), min_size=1, max_size=4).map(tuple)


@given(offset=st.integers(-30, 30), steps=STEPS, extent=st.integers(1, 60))
def test_any_lattice_is_counted_exactly(offset: int, steps: tuple[tuple[int, int], ...], extent: int) -> None:
    """Windows of windows have up to four labels in an index; they may miss the axis altogether."""
    places = Lattice(offset, steps)
    check(lattice_span(places, extent), touched(places, extent), extent)


@given(offset=st.integers(-30, 30), steps=STEPS)
def test_distinct_places_are_counted_or_undecided(offset: int, steps: tuple[tuple[int, int], ...]) -> None:
    """``distinct`` is the number of places wherever it gives one, and ``end`` is one past the last."""
    places = Lattice(offset, steps)
    every = {place - 100 for place in touched(Lattice(offset + 100, steps), 1000)}
    assert places.distinct in (None, len(every))
    assert places.end == places.least_end == max(every) + 1


@given(shift=st.integers(-20, 20), steps=STEPS, extent=st.integers(1, 40))
def test_a_roll_wraps_around(shift: int, steps: tuple[tuple[int, int], ...], extent: int) -> None:
    """Places modulo the extent are counted exactly too."""
    places = Lattice(shift, steps, modulo=extent)
    check(lattice_span(places, extent), touched(places, extent), extent)


def test_a_roll_of_a_whole_axis_touches_all_of_it() -> None:
    """Whatever the shift and the extent are, symbols included."""
    assert lattice_span(Lattice(s, ((1, n),), modulo=n), n) == interval(0, n)


@given(
    stride=st.integers(1, 5),
    taps=st.integers(1, 6),
    dilation=st.integers(1, 4),
    padding=st.integers(0, 6),
    extent=st.integers(1, 60),
)
def test_windows_of_symbolic_extent_agree_with_numbers(
    stride: int, taps: int, dilation: int, padding: int, extent: int
) -> None:
    """A formula in the extent, bound, is the count of the elements, or a hull of them that says so."""
    count = floor_div(h + 2 * padding - dilation * (taps - 1) - 1, stride) + 1
    assume(bind(count, {h: extent}) > 0)
    span = lattice_span(Lattice(-padding, ((stride, count), (dilation, taps))), h)
    places = windows(extent, stride, taps, dilation, padding)
    assert places is not None
    start, stop, number = [bind(value, {h: extent}) for value in (span.start, span.stop, span.count)]
    elements = touched(places, extent)
    assert len(elements) <= number
    if not span.note:
        assert number == len(elements)
        assert (start, stop) == (min(elements, default=0), max(elements, default=-1) + 1)


@pytest.mark.parametrize(
    ("stride", "taps", "padding", "count"),
    [
        (1, 3, 1, h),  # "same": every element
        (1, 3, 0, h),
        (2, 7, 3, h),  # ResNet's first layer
        (2, 3, 1, h),
        (2, 2, 0, 2 * (floor_div(h - 2, 2) + 1)),  # pooling: the last element of an odd extent is left out
        (2, 1, 0, floor_div(h - 1, 2) + 1),  # a 1x1 convolution of stride 2 reads every second element
        (4, 2, 0, 2 * (floor_div(h - 2, 4) + 1)),  # disjoint windows of 2
    ],
)
def test_the_usual_windows_have_short_formulas(stride: int, taps: int, padding: int, count: object) -> None:
    """No Min or Max is left where the extent decides, and nothing is a hull."""
    number = floor_div(h + 2 * padding - taps, stride) + 1
    span = lattice_span(Lattice(-padding, ((stride, number), (1, taps))), h)
    assert (span.note, span.count - count) == ("", 0)


def test_a_dilated_window_over_a_window_is_dense_whatever_the_extent() -> None:
    """3 taps reach 3 places however few windows there are, so that a dilation of 2 leaves no gap."""
    assert lattice_span(Lattice(0, ((1, h - 6), (2, 3), (1, 3))), h) == interval(0, h)


def test_what_symbols_leave_open_is_a_hull() -> None:
    """One window of a dilation has gaps, several may fill them: with a symbolic number the hull is counted."""
    assert lattice_span(Lattice(0, ((1, n), (2, 3))), n + 4) == Span(
        0, n + 4, n + 4, HULL_NOTE, Lattice(0, ((1, n), (2, 3)))
    )
    assert lattice_span(Lattice(0, ((s, n), (1, 2))), s * n).note == HULL_NOTE


def test_too_many_places_to_list_are_a_hull() -> None:
    """Windows that mix and are more than a million are not listed; the hull says so."""
    many = Lattice(0, ((2, 1_000_000), (3, 1_000_000)))
    assert many.listed(6_000_000) is None
    assert lattice_span(many, 6_000_000).note == HULL_NOTE


SPANS = st.tuples(st.integers(-6, 6), STEPS.filter(lambda steps: len(steps) < 3)).map(lambda made: Lattice(*made))


@given(one=SPANS, other=SPANS, extent=st.integers(1, 30))
def test_two_spans_of_one_axis_are_united(one: Lattice, other: Lattice, extent: int) -> None:
    """What either touches is counted once, or the hull of both says so."""
    both = united(lattice_span(one, extent), lattice_span(other, extent))
    check(both, touched(one, extent) | touched(other, extent), extent)


@given(one=SPANS, other=SPANS, extent=st.integers(1, 30))
def test_a_span_covers_only_what_it_holds(one: Lattice, other: Lattice, extent: int) -> None:
    """``covers`` is never true of a span with an element outside, and is true of a span and itself."""
    first, second = lattice_span(one, extent), lattice_span(other, extent)
    assert first.covers(first)
    assert not first.covers(second) or touched(other, extent) <= touched(one, extent)


def test_nothing_adds_nothing() -> None:
    """A span that touches no element is part of any other, wherever it stands."""
    assert united(interval(5, 5), interval(0, 2)) == united(interval(0, 2), interval(5, 5)) == interval(0, 2)


def test_symbolic_intervals_unite_where_their_order_is_known() -> None:
    """[0, n) and [0, n + 4) are [0, n + 4); of [0, n) and [8, 16) only the hull is known."""
    assert united(interval(0, n), interval(0, n + 4)) == interval(0, n + 4)
    assert united(interval(0, n), interval(8, 16)).note == HULL_NOTE


@given(places=SPANS, extent=st.integers(1, 60), block=st.integers(1, 9), rolled=st.booleans())
def test_blocks_of_a_span_are_counted(places: Lattice, extent: int, block: int, rolled: bool) -> None:
    """The blocks (of a scale each) that hold a touched element, listed one by one."""
    places = replace(places, modulo=extent if rolled else None)
    blocks = {place // block for place in touched(places, extent)}
    assert blocks_touched(lattice_span(places, extent), block) == (len(blocks), True)


def test_blocks_of_a_symbolic_span() -> None:
    """With steps up to a block every block of the hull is touched; with longer ones that is an upper bound."""
    assert blocks_touched(Span(0, 32 * n, 2 * n, places=Lattice(0, ((16, 2 * n),))), 32) == (n, True)
    assert blocks_touched(Span(0, 64 * n - 63, n, places=Lattice(0, ((64, n),))), 32) == (2 * n - 1, False)


@given(stride=st.integers(1, 6), padding=st.integers(-8, 8), extent=st.integers(1, 40), gap=st.integers(-8, 8))
def test_a_known_order_holds_at_every_value(stride: int, padding: int, extent: int, gap: int) -> None:
    """Where at_most says yes of floors of a symbol, the numbers agree."""
    rounded = stride * floor_div(h + padding, stride)
    for smaller, greater in ((rounded, h + gap), (h + gap, rounded), (rounded, 2 * rounded + gap)):
        if at_most(smaller, greater):
            assert bind(smaller, {h: extent}) <= bind(greater, {h: extent})


def test_floors_are_bounded_on_both_sides() -> None:
    """h - 1 <= 2 floor(h / 2) <= h, also of a floor inside a floor; h itself need not be even."""
    even = 2 * floor_div(h, 2)
    assert at_most(even, h)
    assert at_most(h - 1, even)
    assert not at_most(h, even)
    assert at_most(2 * floor_div(floor_div(h, 3), 2), h)


def test_ceilings_are_bounded_as_floors_are() -> None:
    """4 parts of ceil(h/4) reach the end of h, and less than 4 beyond it."""
    parts = 4 * ceil_div(h, 4)
    assert at_most(h, parts)
    assert at_most(parts, h + 3)
    assert not at_most(parts, h + 2)
    assert at_most(h, n * ceil_div(h, n))


def test_parts_one_after_another_fill_an_axis_in_symbols() -> None:
    """n parts of s places touch n s of them; cut off at the end, all of the axis."""
    assert (Lattice(0, ((s, n), (1, s))).distinct - n * s).expand() == 0
    assert lattice_span(Lattice(0, ((ceil_div(h, 4), 4), (1, ceil_div(h, 4)))), h) == interval(0, h)
