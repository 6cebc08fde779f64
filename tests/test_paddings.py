"""Paddings: where values end, and what is left of intervals before that."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.graph.intervals import Interval, Linear, Trip
from perfmodel.graph.nodes import Op
from perfmodel.graph.paddings import Padding, effective, valid_extents, valid_parts, valid_results
from perfmodel.graph.sums import lengths_sum


def padded_op(extent: int, multiple: int) -> Op:
    """A matmul whose rows are padded."""
    return pm.pad(pm.matmul(extent, 3, 2), m=multiple).ops[0]


def test_multiples_apply_one_after_another() -> None:
    """100 to 2 * 64, and that to 3 * 48."""
    assert Padding("n", 100, ()).padded == 100
    assert Padding("n", 100, (64,)).padded == 2 * 64
    assert Padding("n", 100, (64, 48)).padded == 3 * 48


def test_only_multiples_that_change_something_are_kept() -> None:
    """4 divides 100, 64 does not, and 32 divides 128."""
    assert effective([Padding("n", 100, (4, 64, 32))]) == (Padding("n", 100, (64,)),)
    assert effective([Padding("n", 128, (64, 32))]) == ()


def test_valid_extents_and_results_leave_the_padding_out() -> None:
    """5 rows of 8 hold 5 * 3 results."""
    op = padded_op(5, 4)
    assert dict(op.space)["m"] == 8
    assert valid_extents(op) == {"batch": 1, "m": 5, "n": 3, "k": 2}
    assert valid_results(op) == 5 * 3
    assert valid_results(pm.matmul(5, 3, 2).ops[0]) == 5 * 3


@given(st.integers(1, 9), st.integers(2, 6), st.integers(1, 10), st.integers(0, 2))
def test_valid_parts_hold_what_lies_before_the_padding(extent: int, multiple: int, size: int, halo: int) -> None:
    """Block by block: plain tiles, tiles that reach back over their neighbours, and no tiles."""
    op = padded_op(extent, multiple)
    padded = int(dict(op.space)["m"])
    trip = Trip("m", size, padded)
    tile = Interval.tile("m", size, padded)
    wide = Interval((Linear(-halo, (("m", size),)), Linear(0)), tile.stops)
    for part in (tile, wide):
        found = valid_parts(op, {"m": part}, {"m": trip})["m"]
        points = [n for b in range(int(trip.count)) for n in range(*map(int, part.at({"m": b}))) if n < extent]
        assert lengths_sum([found], {"m": trip}) == len(points)
    whole = valid_parts(op, {"m": Interval.whole(padded), "n": Interval.whole(3)}, {})
    assert {label: part.at({}) for label, part in whole.items()} == {"m": (0, extent), "n": (0, 3)}


def test_a_label_that_moves_another_is_not_taken_whole() -> None:
    """A diagonal: the lengths of both go together, block by block."""
    op = padded_op(5, 4)
    trip = Trip("m", 4, 8)
    tile = Interval.tile("m", 4, 8)
    found = valid_parts(op, {"m": tile, "n": tile}, {"m": trip})
    assert [found["m"].at({"m": b}) for b in range(2)] == [(0, 4), (4, 5)]
    assert lengths_sum(list(found.values()), {"m": trip}) == 4 * 4 + 1 * 4


@pytest.mark.parametrize("label", ["m", "q"])
def test_paddings_of_labels_that_a_part_lacks_do_not_matter(label: str) -> None:
    """An output has no reduced labels."""
    op = replace(padded_op(5, 4), padded=(Padding(label, 5, (4,)),))
    assert valid_parts(op, {"n": Interval.whole(3)}, {}) == {"n": Interval.whole(3)}


def test_results_are_found_by_the_labels_of_the_op() -> None:
    """A tensor that was made under labels of its own: its rows are m in the op, of which 5 of 8 are valid."""
    op = padded_op(5, 4)
    made = op.output.tensor.rename(m="row")
    named = replace(op, output=replace(op.output, tensor=replace(op.output.tensor, axes=made.axes)))
    assert valid_results(named) == valid_results(op) == 5 * 3
