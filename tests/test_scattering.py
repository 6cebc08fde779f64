"""Ops that add into places that an index names: what they compute, and what they move."""

from __future__ import annotations

import numpy as np
import pytest
from staging import assert_counts_as_it_runs

import perfmodel as pm


def test_overlapping_windows_add_up() -> None:
    """Each element of x gets what every window that read it passes back: 1, 2, 3, 3, 2, 1 for three taps."""
    x = pm.window(pm.tensor("x", {"h": 6}, "fp64"), "h", "p", "r", 3)
    g = pm.grad(pm.program(pm.sum(x, "r").named("y")))
    run = pm.simulate(g, {"x": np.zeros(6), "dy": np.ones(4)})
    assert run.values["dx"].tolist() == [1, 2, 3, 3, 2, 1]
    assert_counts_as_it_runs(g, run)


def test_padding_gets_nothing_and_strides_leave_gaps() -> None:
    """Stride 2 from the padding on: places -1, 1, 3 and 5 of an axis of 6."""
    x = pm.window(pm.tensor("x", {"h": 6}, "fp64"), "h", "p", "r", 1, stride=2, padding=1)
    g = pm.grad(pm.program(pm.sum(x, "r").named("y")))
    run = pm.simulate(g, {"x": np.zeros(6), "dy": np.ones(4)})
    assert run.values["dx"].tolist() == [0, 1, 0, 1, 0, 1]


def test_rows_looked_up_twice_get_both_parts_and_the_table_is_written_once() -> None:
    """dW: reads dy and the indices, writes the whole table, adds once an element of dy."""
    g = pm.grad(pm.embedding("t", "v", "h"))
    scatter = g.ops[-1]
    assert scatter.output.tensor.name == "dW"
    t, v, h = pm.dims("t v h")
    assert g.flops == t * h
    last = [row for row in g.traffic().rows if row[0] == "dW"]
    assert [(row[1], row[2], row[3]) for row in last] == [
        ("dy", "read", t * h), ("ids", "read", t), ("dW", "write", v * h),
    ]  # fmt: skip
    run = pm.simulate(g.at(t=3, v=3, h=1), {"W": np.zeros((3, 1)), "ids": [2, 0, 2], "dy": [[1.0], [2.0], [4.0]]})
    assert run.values["dW"].tolist() == [[2], [0], [5]]


def test_tiles_inside_an_outer_tile_that_cuts_nothing_are_refused_too() -> None:
    """dx of a convolution is not tiled at any level: q runs to 3, so l2 tiles of 3 leave it to the tiles inside."""
    g = pm.grad(pm.conv2d(height=5, width=5, c_in=1, c_out=1))
    outer = pm.tile(g, stream={"q": 3}, level="l2")
    for level in ("shared", "registers"):
        with pytest.raises(pm.TransformError, match=r"'dx' adds into places .* name the kernels to cut in only="):
            pm.tile(outer, stream={"q": 1}, level=level)
    others = [kernel.name for kernel in g.kernels if kernel.name != "dx"]
    assert pm.check(pm.tile(outer, stream={"q": 1}, only=others))


def test_levels_that_cut_nothing_count_as_no_tile() -> None:
    """Tiles as large as q at two levels: dx is added to as a whole, and each level moves what no tile moves."""
    g = pm.grad(pm.conv2d(height=5, width=5, c_in=1, c_out=1))
    twice = pm.tile(pm.tile(g, stream={"q": 3}, level="l2"), stream={"q": 3})
    assert twice.bytes == sum(row[4] for row in twice.traffic("l2").rows) == g.bytes
    assert pm.check(twice)
