"""Regions: what an op reads of a tensor, against running through its points one by one."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, bind, dims
from perfmodel.graph.building import contracted, gather, reduced, window
from perfmodel.graph.indexing import Affine, Gathered
from perfmodel.graph.masks import Mask, banded, causal
from perfmodel.graph.nodes import Access, Op, Tensor, mapped, tensor
from perfmodel.graph.regions import Region, access_region, joined, output_region, region_bytes
from perfmodel.graph.spans import HULL_NOTE, Lattice, Span, interval
from perfmodel.graph.tracing import program
from perfmodel.number_formats import Format
from perfmodel.transforms import fuse

h, w, n, m = dims("h w n m")

# extent, stride, taps, dilation, padding of one axis: dense, with gaps, ragged, dilated, padded, more padding than axis
GEOMETRIES = [
    (5, 1, 1, 1, 0), (5, 1, 3, 1, 1), (6, 2, 3, 1, 1), (7, 3, 2, 1, 0), (7, 3, 2, 1, 1), (8, 2, 3, 2, 2),
    (6, 1, 2, 3, 0), (9, 4, 1, 1, 0), (9, 4, 2, 2, 1), (1, 1, 1, 1, 0), (1, 3, 1, 1, 2), (2, 2, 3, 2, 3),
]  # fmt: skip
AXIS = st.tuples(st.integers(1, 30), st.integers(1, 5), st.integers(1, 5), st.integers(1, 4), st.integers(0, 5)).filter(
    lambda axis: axis[0] + 2 * axis[4] > axis[3] * (axis[2] - 1)
)


def op_of(made: Tensor) -> Op:
    assert made.producer is not None
    return made.producer


def viewed(x: Tensor, label: str, axis: tuple[Any, ...], out: str, tap: str) -> Tensor:
    """A window along one label, by its geometry (the extent is the tensor's own)."""
    _, stride, taps, dilation, padding = axis
    return window(x, label, out, tap, taps, stride=stride, dilation=dilation, padding=padding)


def pooled(first: tuple[int, ...], second: tuple[int, ...], dtype: str | Format = "bf16") -> Op:
    """A sum over windows along two axes, beside a third axis."""
    x = tensor("x", {"c": 2, "h": first[0], "w": second[0]}, dtype)
    seen = viewed(viewed(x, "h", first, "p", "r"), "w", second, "q", "s")
    return op_of(reduced("sum", seen, ("r", "s")))


def place(index: Any, point: dict[str, int]) -> int:
    """Where an index points, from the values of the labels."""
    if isinstance(index, str):
        return point[index]
    assert isinstance(index, Affine)
    found = index.offset + sum(step * point[label] for label, step in index.terms)
    return found if index.modulo is None else found % index.modulo


def elements(op: Op, access: Access) -> set[tuple[int, ...]]:
    """The elements that an op touches at its valid points: the oracle of this file."""
    extents = dict(op.space)
    found = set()
    for values in itertools.product(*[range(extent) for extent in extents.values()]):
        point = dict(zip(extents, values, strict=True))
        mask = op.mask
        if mask is not None:
            sizes = extents[mask.query], extents[mask.key]
            if not mask.allows(point[mask.query], point[mask.key], *sizes):
                continue
        found.add(tuple([place(index, point) for index in access.index]))
    limits = access.tensor.extents
    return {element for element in found if all(0 <= at < size for at, size in zip(element, limits, strict=True))}


def hull(touched: set[tuple[int, ...]]) -> int:
    """The elements of the smallest box around the touched ones."""
    sides = [max(at) - min(at) + 1 for at in zip(*touched, strict=True)]
    return math.prod(sides) if touched else 0


def read(op: Op, place: int = 0) -> Region:
    return access_region(op.reads[place], op)


# windows


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

MASKS = st.builds(
    Mask,
    st.just("q"),
    st.just("kv"),
    st.none() | st.integers(0, 9),
    st.none() | st.integers(0, 9),
    st.none() | st.integers(1, 9),
    st.sampled_from(["end", "start"]),
)
EXTENTS = st.integers(1, 9)


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
        region = access_region(access, op)
        assert (region.elements, region.note) == (len(elements(op, access)), "")


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


def rows_of(table: Tensor, index: str, count: Size = 5, label: str = "t") -> Tensor:
    return gather(table, table.labels[0], tensor(index, {label: count}, dtype="int32"))


def test_a_gather_reads_a_row_for_each_index() -> None:
    """5 rows of 8 however large the table is, more than the table where there are more indices, and 5 indices."""
    for rows in (2, 1000):
        op = op_of(rows_of(tensor("W", {"v": rows, "d": 8}), "ids"))
        assert [access_region(access, op).elements for access in op.reads] == [5 * 8, 5]


def test_a_gather_of_single_elements() -> None:
    """A table of one axis has rows of one element; an index of two labels makes a look-up for each pair."""
    op = op_of(gather(tensor("W", {"v": 99}), "v", tensor("ids", {"b": 3, "t": n}, "int32")))
    assert [access_region(access, op).elements for access in op.reads] == [3 * n, 3 * n]


def fused_reads(*outputs: Tensor) -> dict[str, int]:
    """Elements that the outputs read of each tensor, in one kernel."""
    rows = fuse(program(*outputs)).traffic().rows
    return {row[1]: row[3] for row in rows if row[2] == "read"}


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


# one load for a kernel


def test_a_tensor_under_two_views_is_loaded_once() -> None:
    """Rotary embedding reads x and x rolled; a blur reads a window and its centre; each loads x once."""
    x = tensor("x", {"i": n})
    assert fused_reads(x * x.roll("i", 1)) == {"x": n}
    windows = reduced("sum", window(x, "i", "p", "r", 3, padding=1), "r")
    assert fused_reads(windows, mapped("exp", x)) == {"x": n}


def test_a_product_of_a_tensor_with_itself_renamed_loads_it_once() -> None:
    """x x^T reads x, not two of it."""
    x = tensor("x", {"i": n, "k": m})
    assert fused_reads(contracted([x, x.rename(i="j")], ("i", "j"))) == {"x": n * m}


@given(first=AXIS, second=AXIS)
def test_two_windows_of_one_axis_are_joined(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """What either touches is loaded once; where only the hull of both is known, it says so."""
    assume(second[0] <= first[0])
    x = tensor("x", {"h": first[0]})
    assume(first[0] + 2 * second[4] > second[3] * (second[2] - 1))
    one, other = [op_of(reduced("sum", viewed(x, "h", axis, "p", "r"), "r")) for axis in (first, second)]
    both = joined(read(one), read(other))
    number = len(elements(one, one.reads[0]) | elements(other, other.reads[0]))
    assert both.elements == number if both.note == "" else both.elements >= number


BOXES = st.tuples(st.integers(0, 5), st.integers(1, 5), st.integers(0, 5), st.integers(1, 5))


@given(one=BOXES, other=BOXES)
def test_two_boxes_are_joined(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    """Boxes are counted exactly where one holds the other or they extend each other along one axis, else as a hull."""
    x = tensor("x", {"i": 10, "j": 10})

    def box(made: tuple[int, ...]) -> tuple[Region, set[tuple[int, int]]]:
        top, height, left, width = made
        inside = itertools.product(range(top, top + height), range(left, left + width))
        return Region(x, (interval(top, top + height), interval(left, left + width))), set(inside)

    both, touched = joined(box(one)[0], box(other)[0]), box(one)[1] | box(other)[1]
    assert both.elements == (len(touched) if both.note == "" else hull(touched))
    assert (both.note == "") == (len(touched) == hull(touched))
    assert joined(box(other)[0], box(one)[0]).elements == both.elements


def test_crossing_boxes_are_a_hull() -> None:
    """A row and a column of 4 x 4 are 4 + 4 - 1 elements; the box around them is counted and says so."""
    x = tensor("x", {"i": 4, "j": 4})
    cross = joined(Region(x, (interval(0, 1), interval(0, 4))), Region(x, (interval(0, 4), interval(1, 2))))
    assert (cross.elements, cross.note) == (4 * 4, HULL_NOTE)


# bytes

SCALED = Format(bits=4, block=4, scale_bits=8, zero_bits=3)


@given(first=AXIS, second=AXIS)
def test_parts_of_a_block_scaled_tensor_load_the_scales_that_they_touch(
    first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    """4 bits an element, and 8 + 3 bits for each block of 4 along a row that holds one of them."""
    op = pooled((min(first[0], 12), *first[1:4], first[4] + 6), second, SCALED)
    region = read(op)
    assume(region.spans is not None)
    touched = elements(op, op.reads[0])
    blocks = {(c, row, column // 4) for c, row, column in touched}
    assert region_bytes(region) == -(-(4 * len(touched) + (8 + 3) * len(blocks)) // 8)
    assert region.note == ""


@given(axis=AXIS)
def test_a_whole_tensor_costs_what_it_costs_to_store(axis: tuple[int, ...]) -> None:
    """Whole reads are bytes_of the tensor, with a scale for a ragged last block in each row."""
    x = tensor("x", {"c": 3, "h": axis[0]}, SCALED)
    op = op_of(mapped("exp", x))
    assert region_bytes(read(op)) == -(-3 * (4 * axis[0] + 11 * -(-axis[0] // 4)) // 8)


def test_a_gather_touches_scales_of_its_own() -> None:
    """A row of 10 has 3 blocks of 4; a single element along the blocks has its block's scale each time."""
    table = tensor("W", {"v": 100, "d": 10}, SCALED)
    assert region_bytes(read(op_of(rows_of(table, "ids")))) == -(-5 * (10 * 4 + 3 * 11) // 8)
    columns = gather(table, "d", tensor("ids", {"t": 5}, "int32"))
    assert region_bytes(read(op_of(columns))) == -(-5 * 100 * (4 + 11) // 8)
    single = gather(tensor("W", {"v": 100}, SCALED), "v", tensor("ids", {"t": 5}, "int32"))
    assert region_bytes(read(op_of(single))) == -(-5 * (4 + 11) // 8)


@pytest.mark.parametrize(("dtype", "bits"), [("int4", 4), ("fp6_e2m3", 6), (Format(bits="4.85"), 4.85), ("fp32", 32)])
def test_parts_round_up_once(dtype: str | Format, bits: float) -> None:
    """Every third of 10 elements is 4, in each of 3 rows."""
    x = tensor("x", {"c": 3, "h": 10}, dtype)
    op = op_of(reduced("sum", window(x, "h", "p", "r", 1, stride=3), "r"))
    assert region_bytes(read(op)) == math.ceil(3 * 4 * bits / 8)


def test_scales_of_symbolic_gaps_are_a_hull() -> None:
    """Every 8th of 8n elements skips blocks of 4: their number is known for ints only, and the region says so."""
    x = tensor("x", {"h": 8 * n}, SCALED)
    op = op_of(reduced("sum", window(x, "h", "p", "r", 1, stride=8), "r"))
    assert (read(op).elements, read(op).note) == (n, HULL_NOTE)
    number = op_of(reduced("sum", window(tensor("x", {"h": 8 * 6}, SCALED), "h", "p", "r", 1, stride=8), "r"))
    assert (region_bytes(read(number)), read(number).note) == (-(-6 * (4 + 11) // 8), "")
    assert bind(region_bytes(read(op)), {n: 6}) > region_bytes(read(number))


def test_symbolic_parts_have_symbolic_bytes() -> None:
    """Every second of 2n elements of 4 bits, two to a block of 4: n * 4 bits and a scale for each block begun."""
    x = tensor("x", {"h": 2 * n}, SCALED)
    op = op_of(reduced("sum", window(x, "h", "p", "r", 1, stride=2), "r"))
    for count in (1, 2, 3, 8):
        blocks = -(-(2 * count - 1) // 4)
        assert bind(region_bytes(read(op)), {n: count}) == -(-(4 * count + 11 * blocks) // 8)


def test_spans_equal_only_where_the_elements_are() -> None:
    """{0, 1, 5, 6} and {0, 2, 4, 6} have the same ends and number, so together they are a hull of 7."""
    x = tensor("x", {"i": 7})
    one, other = [
        Region(x, (Span(0, 7, 4, places=Lattice(0, steps)),)) for steps in (((1, 2), (5, 2)), ((2, 2), (4, 2)))
    ]
    assert (joined(one, other).elements, joined(one, one).elements) == (7, 4)


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
