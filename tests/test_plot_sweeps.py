"""Sweeps: lines are the table's columns, quanta its tile sizes' multiples."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib import pyplot

import perfmodel as pm

TABLE = pd.DataFrame({"n": [3, 1, 2, 1, 2, 3], "time_s": [9e-6, 1e-6, 4e-6, 2e-6, 5e-6, 8e-6], "on": list("aaabbb")})


def test_lines_are_the_columns_in_order() -> None:
    drawn = pm.plot.sweep(TABLE, "n", by="on")
    first, second = drawn.get_lines()
    assert [list(axis) for axis in first.get_data()] == [[1, 2, 3], [1e-6, 4e-6, 9e-6]]
    assert [list(axis) for axis in second.get_data()] == [[1, 2, 3], [2e-6, 5e-6, 8e-6]]
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == ["a", "b"]
    assert (drawn.get_xlabel(), drawn.get_ylabel()) == ("n", "time")
    assert drawn.yaxis.get_major_formatter()(4e-3, 0) == "4 ms"


def test_quanta_are_marked_at_their_multiples() -> None:
    table = pd.DataFrame({"n": range(100, 521), "tile_fill": [0.5] * 421})
    drawn = pm.plot.sweep(table, "n", "tile_fill", quanta=128)
    assert [line.get_xdata()[0] for line in drawn.get_lines()[1:]] == [128, 256, 384, 512]
    assert drawn.yaxis.get_major_formatter()(0.5, 0) == "50%"
    many = pm.plot.sweep(table, "n", "tile_fill", quanta=1)
    assert len(many.get_lines()) <= 66  # marks stand apart, at multiples of a multiple


def test_several_quanta_are_told_apart() -> None:
    """A dash and a name each; 256 and 512 are marked as multiples of 256, not once more as ones of 128."""
    table = pd.DataFrame({"n": range(100, 521), "tile_fill": [0.5] * 421})
    drawn = pm.plot.sweep(table, "n", "tile_fill", quanta=[128, 192, 256])
    marks = [each for each in drawn.get_lines() if len(set(each.get_xdata())) == 1]
    by_dash: dict[str, list[int]] = {}
    for each in marks:
        by_dash.setdefault(each.get_color(), []).append(each.get_xdata()[0])
    assert list(by_dash.values()) == [[256, 512], [192, 384], [128]]
    names = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert names == ["tile fill", "multiples of 256", "multiples of 192", "multiples of 128"]


def test_ax_goes_in_and_comes_out() -> None:
    _, ax = pyplot.subplots()
    assert pm.plot.sweep(TABLE, "n", by="on", title="mine", ax=ax) is ax
    assert ax.get_title() == "mine"


def test_a_line_for_each_machine_of_a_sweep() -> None:
    """Several machines are told apart without being asked; one is named in the title."""
    table = pm.sweep(pm.matmul("n", 1024, 1024), {"n": [256, 512, 1024]}, ["h100-sxm", "l4"])
    lines = pm.plot.sweep(table, "n").get_lines()
    for line, chip in zip(lines, ("h100-sxm", "l4"), strict=True):
        times = [pm.estimate(pm.matmul(n, 1024, 1024), chip).time_s for n in (256, 512, 1024)]
        assert (line.get_label(), list(line.get_ydata())) == (chip, pytest.approx(times))
    one = table[table["machine"] == "l4"]
    assert len(pm.plot.sweep(one, "n").get_lines()) == 1
    assert pm.plot.sweep(one, "n", "flops_per_s").get_title() == "FLOP/s by n on l4"


def test_rows_that_say_the_same_are_one_point() -> None:
    """What does not depend on another column is drawn once."""
    table = pd.DataFrame({"n": [1, 1, 2], "time_s": [3.0, 3.0, 4.0]})
    assert list(pm.plot.sweep(table, "n").get_lines()[0].get_xdata()) == [1, 2]


def test_two_sizes_are_told_apart_by_the_second() -> None:
    """A table over n and k is refused with the column that gives lines, and drawn by it."""
    table = pm.sweep(pm.matmul("n", 1024, "k"), {"n": [256, 512], "k": [64, 128]}, "h100-sxm")
    with pytest.raises(pm.PerfModelError, match=r"several values of time_s at n = 256; by= takes one of k"):
        pm.plot.sweep(table, "n")
    assert len(pm.plot.sweep(table, "n", by="k").get_lines()) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pm.plot.sweep(TABLE, "n"), "several values of time_s at n = 1; by= takes one of on"),
        (lambda: pm.plot.sweep(TABLE.assign(one=1), "n", by="one"), "by='one' leaves several values"),
        (lambda: pm.plot.sweep(TABLE, "n", "time_ms"), "no column 'time_ms'"),
        (lambda: pm.plot.sweep(TABLE, "n", by="of"), "no column 'of'"),
        (lambda: pm.plot.sweep(TABLE, "n", "on"), "holds no numbers"),
        (lambda: pm.plot.sweep(TABLE[:0], "n"), "no rows"),
        (lambda: pm.plot.sweep({"n": [1]}, "n"), "expected a DataFrame"),
        (lambda: pm.plot.sweep(TABLE, "n", by="on", quanta=0), "positive whole numbers"),
        (lambda: pm.plot.sweep(TABLE.assign(time_s=float("inf")), "n"), "holds infinities"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message: str) -> None:
    with pytest.raises(pm.PerfModelError, match=message):
        call()


def test_one_line_says_its_machine_and_its_quantum() -> None:
    """In the legend where quanta are marked or the title is the user's own; rates are written FLOP/s and B/s."""
    table = pm.sweep(pm.matmul("n", "n", "n"), {"n": range(256, 1025, 64)}, "h100-sxm", ["flops_per_s", "bytes_per_s"])
    drawn = pm.plot.sweep(table, "n", "flops_per_s", quanta=256)
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == ["h100-sxm", "multiples of 256"]
    assert (drawn.get_title(), drawn.get_ylabel()) == ("FLOP/s by n on h100-sxm", "FLOP/s")
    assert pm.plot.sweep(table, "n", "bytes_per_s").get_ylabel() == "B/s"
    mine = pm.plot.sweep(table, "n", "flops_per_s", title="mine")
    assert [text.get_text() for text in mine.get_legend().get_texts()] == ["h100-sxm"]
    (named,) = pm.plot.sweep(table, "n", "flops_per_s", by="machine").get_legend().get_texts()
    assert named.get_text() == "h100-sxm"
