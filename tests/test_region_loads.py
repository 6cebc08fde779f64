"""Regions together and in bytes: what a kernel loads once, and the scales that come with it."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import assume, given, strategies as st
from touching import AXIS, elements, fused_reads, hull, op_of, pooled, read, rows_of, viewed

from perfmodel.expressions import bind, dims
from perfmodel.graph.building import contracted, gather, reduced, window
from perfmodel.graph.nodes import mapped, tensor
from perfmodel.graph.regions import Region, joined, region_bytes
from perfmodel.graph.spans import HULL_NOTE, Lattice, Span, interval
from perfmodel.number_formats import Format

n, m = dims("n m")

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
