"""Regions: what an op reads of a tensor, against running through its points one by one."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given, strategies as st
from touching import AXIS, EXTENTS, GEOMETRIES, MASKS, elements, fused_reads, hull, op_of, pooled, read, rows_of, viewed

from perfmodel.errors import DimensionError
from perfmodel.expressions import bind, dims
from perfmodel.graph.building import contracted, gather, reduced, window
from perfmodel.graph.indexing import Gathered
from perfmodel.graph.masks import Mask, banded, causal
from perfmodel.graph.nodes import mapped, tensor
from perfmodel.graph.regions import Region, access_region, output_region, region_bytes
from perfmodel.graph.spans import HULL_NOTE, interval
from perfmodel.graph.tracing import program

h, w, n, m = dims("h w n m")


@pytest.mark.parametrize("first", GEOMETRIES)
@pytest.mark.parametrize("second", GEOMETRIES)
def test_windows_along_two_axes_are_counted_exactly(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """Every pair of small geometries: dense, with gaps, ragged, dilated and padded."""
    op = pooled(first, second)
    region = read(op)
    assert (region.elements, region.note) == (len(elements(op, op.reads[0])), "")


@given(axis=AXIS, inner=AXIS)
def test_windows_of_windows_are_counted_exactly(axis: tuple[int, ...], inner: tuple[int, ...]) -> None:
    """A window over the outputs of a window is one index of three labels."""
    seen = viewed(tensor("x", {"h": axis[0]}), "h", axis, "p", "r")
    _, stride, taps, dilation, _ = inner
    assume(seen.extent("p") > dilation * (taps - 1))
    twice = window(seen, "p", "u", "v", taps, stride=stride, dilation=dilation)
    op = op_of(reduced("sum", twice, ("r", "v")))
    assert (read(op).elements, read(op).note) == (len(elements(op, op.reads[0])), "")


@given(axis=AXIS)
def test_a_whole_tensor_has_no_spans(axis: tuple[int, ...]) -> None:
    """Windows that touch everything are the tensor itself, which costs what it costs to store."""
    op = op_of(reduced("sum", viewed(tensor("x", {"h": axis[0]}), "h", axis, "p", "r"), "r"))
    everything = len(elements(op, op.reads[0])) == axis[0]
    assert (read(op) == Region(op.reads[0].tensor)) == everything


@given(axis=AXIS, other=AXIS)
def test_symbolic_windows_agree_with_numbers(axis: tuple[int, ...], other: tuple[int, ...]) -> None:
    """Formulas in two extents, bound, are the numbers themselves unless they say that the hull is counted."""
    x = tensor("x", {"h": h, "w": w})
    op = op_of(reduced("sum", viewed(viewed(x, "h", axis, "p", "r"), "w", other, "q", "s"), ("r", "s")))
    region, values = read(op), {h: axis[0], w: other[0]}
    number = tensor("x", {"h": axis[0], "w": other[0]})
    exact = op_of(reduced("sum", viewed(viewed(number, "h", axis, "p", "r"), "w", other, "q", "s"), ("r", "s")))
    counted = read(exact).elements
    assert bind(region.elements, values) >= counted
    assert region.note == HULL_NOTE or bind(region.elements, values) == counted


def test_padding_is_never_read() -> None:
    """A padded 3x3 window over 4 x 4 reads its 16 elements, not the 6 x 6 that it runs over."""
    assert read(pooled((4, 1, 3, 1, 1), (4, 1, 3, 1, 1))).elements == 2 * 4 * 4


def test_a_window_that_only_sees_padding_reads_nothing() -> None:
    """One element, three zeros on each side, a stride of 9: the one window of 1 stands on a zero."""
    op = op_of(reduced("sum", window(tensor("x", {"h": 1}), "h", "p", "r", 1, stride=9, padding=3), "r"))
    assert (read(op).elements, region_bytes(read(op))) == (0, 0)


def test_a_pointwise_convolution_of_stride_2_reads_a_quarter() -> None:
    """Every second row and column of 2 x 224 x 224."""
    assert read(pooled((224, 2, 1, 1, 0), (224, 2, 1, 1, 0))).elements == 2 * 112 * 112


def test_a_hull_shows_in_the_traffic() -> None:
    """Dilated windows of a symbolic number may leave gaps: the table has a note for the read, none for the write."""
    p = program(reduced("sum", window(tensor("x", {"h": h}), "h", "p", "r", 3, dilation=2), "r"))
    assert [row[-1] for row in p.traffic().rows] == [HULL_NOTE, ""]


# masks


@given(mask=MASKS, queries=EXTENTS, keys=EXTENTS)
def test_a_mask_limits_what_is_read_to_a_hull(mask: Mask, queries: int, keys: int) -> None:
    """Q, K and S are read in the smallest box that holds the rows and keys of valid pairs."""
    scores = tensor("S", {"q": queries, "kv": keys})
    out = contracted([scores, tensor("V", {"kv": keys, "d": 3})], ("q", "d"), mask=mask)
    op = op_of(out)
    for access in op.reads:
        assert access_region(access, op).elements == hull(elements(op, access))


@given(mask=MASKS, queries=EXTENTS, keys=EXTENTS, stride=st.integers(1, 3), taps=st.integers(1, 3))
def test_a_window_over_masked_labels(mask: Mask, queries: int, keys: int, stride: int, taps: int) -> None:
    """Where rows or keys see a window, it is read for the rows or keys of the mask alone."""
    rows = window(tensor("x", {"h": stride * (queries - 1) + taps}), "h", "q", "r", taps, stride=stride)
    columns = window(tensor("y", {"h": stride * (keys - 1) + taps}), "h", "kv", "r", taps, stride=stride)
    op = op_of(contracted([rows, columns], ("q", "kv"), mask=mask))
    for access in op.reads:
        region, touched = access_region(access, op), elements(op, access)
        assert (region.elements, region.note) == (len(touched), "")
        span = region.spans[0] if region.spans is not None else None
        assert span is None or (span.start, span.stop) == (min(touched)[0], max(touched)[0] + 1)


@given(mask=MASKS, queries=EXTENTS, keys=EXTENTS, stride=st.integers(1, 3))
def test_a_window_along_both_masked_labels_is_a_hull(mask: Mask, queries: int, keys: int, stride: int) -> None:
    """Element ``stride*q + kv`` of valid pairs: the hull of all pairs is counted, and it says so."""
    x = window(tensor("x", {"h": stride * (queries - 1) + keys}), "h", "q", "kv", keys, stride=stride)
    op = op_of(contracted([x, tensor("S", {"q": queries, "kv": keys})], ("q",), mask=mask))
    region = read(op)
    assert region.note == HULL_NOTE
    assert region.elements >= len(elements(op, op.reads[0]))


@given(mask=MASKS, queries=EXTENTS, keys=EXTENTS)
def test_a_masked_output_is_written_in_its_hull(mask: Mask, queries: int, keys: int) -> None:
    """Scores are written for the rows and keys of valid pairs; a result over rows alone is written whole."""
    a, b = tensor("Q", {"q": queries, "d": 2}), tensor("K", {"kv": keys, "d": 2})
    scores = contracted([a, b], ("q", "kv"), mask=mask)
    op = op_of(scores)
    assert output_region(op).elements == hull(elements(op, op.output))
    assert output_region(op_of(reduced("sum", scores, "kv"))).elements == queries


def test_symbolic_masks_limit_reads_by_formulas() -> None:
    """The last n of m keys' rows see a band of 2 keys before and their own: n + 2 keys where m has as many."""
    key = tensor("K", {"kv": m + n, "d": 8})
    op = op_of(contracted([tensor("Q", {"q": n, "d": 8}), key], ("q", "kv"), mask=banded("q", "kv", 2, 0)))
    count = read(op, 1).elements
    assert bind(count, {n: 4, m: 10}) == (4 + 2) * 8
    assert bind(count, {n: 4, m: 1}) == 5 * 8  # there are only 5


# rolls


@given(shift=st.integers(-9, 9), extent=EXTENTS)
def test_a_roll_reads_all_of_its_axis(shift: int, extent: int) -> None:
    """Wrapping around changes the order, not the elements."""
    op = op_of(mapped("exp", tensor("x", {"i": extent}).roll("i", shift)))
    assert read(op) == Region(op.reads[0].tensor)


@given(shift=st.integers(-9, 9), extent=EXTENTS, taps=st.integers(1, 3), stride=st.integers(1, 4))
def test_a_window_over_a_roll(shift: int, extent: int, taps: int, stride: int) -> None:
    """What is seen through both is counted exactly."""
    assume(taps <= extent)
    op = op_of(
        reduced("sum", window(tensor("x", {"i": extent}).roll("i", shift), "i", "p", "r", taps, stride=stride), "r")
    )
    assert (read(op).elements, read(op).note) == (len(elements(op, op.reads[0])), "")


@given(mask=MASKS, queries=EXTENTS, keys=EXTENTS, shift=st.integers(-9, 9))
def test_a_roll_under_a_mask(mask: Mask, queries: int, keys: int, shift: int) -> None:
    """The rolled keys of the mask are counted exactly."""
    key = tensor("K", {"kv": keys, "d": 2}).roll("kv", shift)
    op = op_of(contracted([tensor("Q", {"q": queries, "d": 2}), key], ("q", "kv"), mask=mask))
    whole = op.mask.columns(queries, keys) == (0, keys) if op.mask is not None else True
    assert read(op, 1).elements == (keys if whole else len({k for k, _ in elements(op, op.reads[1])})) * 2


# gathers


def test_a_gather_reads_a_row_for_each_index() -> None:
    """5 rows of 8 however large the table is, more than the table where there are more indices, and 5 indices."""
    for rows in (2, 1000):
        op = op_of(rows_of(tensor("W", {"v": rows, "d": 8}), "ids"))
        assert [access_region(access, op).elements for access in op.reads] == [5 * 8, 5]


def test_a_gather_of_single_elements() -> None:
    """A table of one axis has rows of one element; an index of two labels makes a look-up for each pair."""
    op = op_of(gather(tensor("W", {"v": 99}), "v", tensor("ids", {"b": 3, "t": n}, "int32")))
    assert [access_region(access, op).elements for access in op.reads] == [3 * n, 3 * n]


def test_two_gathers_of_one_table_add() -> None:
    """Each index has rows of its own; the same index is looked up once for both of its uses."""
    table = tensor("W", {"v": 100, "d": 8})
    first, second = rows_of(table, "ids"), rows_of(table, "others")
    assert fused_reads(first, second) == {"W": 5 * 8 + 5 * 8, "ids": 5, "others": 5}
    assert fused_reads(first, rows_of(table, "ids")) == {"W": 5 * 8, "ids": 5}


def test_gathers_along_different_axes_add() -> None:
    """5 rows of 8, and 3 columns of 100."""
    table = tensor("W", {"v": 100, "d": 8})
    columns = gather(table, "d", tensor("picks", {"s": 3}, "int32"))
    assert fused_reads(rows_of(table, "ids"), columns)["W"] == 5 * 8 + 3 * 100


def test_gathers_add_to_what_is_read_otherwise() -> None:
    """All of 100 rows of 8, or every second, and 5 + 4 rows by two indices, in any order."""
    table = tensor("W", {"v": 100, "d": 8})
    half = reduced("sum", window(table, "v", "p", "r", 1, stride=2), "r")
    gathers = [rows_of(table, "ids"), rows_of(table, "others", 4, "u")]
    for rows, part in ((50, half), (100, mapped("exp", table))):
        for outputs in itertools.permutations([part, *gathers]):
            assert fused_reads(*outputs)["W"] == rows * 8 + 5 * 8 + 4 * 8


def test_a_region_keeps_which_index_looked_up() -> None:
    """The same count by another index is another region."""
    table = tensor("W", {"v": 100, "d": 8})
    region = read(op_of(rows_of(table, "ids")))
    assert region == Region(table, (None, interval(0, 8)), 5, Gathered("ids", ("t",)))


def test_a_window_that_does_not_fit_is_refused_before_it_is_counted() -> None:
    """Regions never see a window without a trip."""
    with pytest.raises(DimensionError, match="do not fit"):
        window(tensor("x", {"h": 4}), "h", "p", "r", 5)


def test_causal_attention_reads_every_score() -> None:
    """The hull of a triangle is the square."""
    scores = tensor("S", {"q": n, "kv": n})
    op = op_of(contracted([scores, tensor("V", {"kv": n, "d": 8})], ("q", "d"), mask=causal()))
    assert read(op).elements == n**2
