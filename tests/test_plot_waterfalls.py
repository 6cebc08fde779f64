"""Waterfalls: bars are the differences between the steps of an estimate."""

from __future__ import annotations

from itertools import pairwise

import pytest
from matplotlib import pyplot

import perfmodel as pm

ONE = pm.estimate(pm.matmul(1793, 1793, 1793), "a100-sxm-80gb")
OTHER = pm.estimate(pm.matmul(1792, 1792, 1792), "a100-sxm-80gb")


def bars(drawn: object) -> list[tuple[float, float]]:
    """Start and length of each bar that has one."""
    return [(each.get_x(), each.get_width()) for each in drawn.patches if each.get_width()]


def test_bars_lead_from_the_roofline_to_the_estimate() -> None:
    drawn = pm.plot.waterfall(ONE)
    names = [text.get_text() for text in drawn.get_yticklabels()]
    steps = dict(ONE.steps)
    assert names[0] == "roofline"
    assert names[-1] == "estimate"
    found = dict(zip(names, bars(drawn), strict=True))
    before = 0.0
    for name, after in steps.items():
        if name in found:
            assert found[name] == pytest.approx((before, after - before))
        before = after
    assert found["estimate"] == pytest.approx((0, ONE.time_s))


def test_effects_that_change_nothing_are_left_out() -> None:
    names = [text.get_text() for text in pm.plot.waterfall(ONE).get_yticklabels()]
    assert "row passes" not in names
    assert pm.plot.waterfall(pm.estimate(pm.matmul(64, 64, 64), "h100-sxm", "ideal")).patches[0].get_width() > 0


def test_several_stand_side_by_side() -> None:
    _, ax = pyplot.subplots()
    drawn = pm.plot.waterfall(ONE, OTHER, labels=["1793", "1792"], ax=ax)
    assert drawn is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1793", "1792"]
    assert {(0.0, ONE.time_s), (0.0, OTHER.time_s)} <= set(bars(drawn))
    assert ax.get_xlabel() == "time"
    assert ax.xaxis.get_major_formatter()(5e-3, 0) == "5 ms"


def names(*estimates: pm.Estimate) -> list[str]:
    return [text.get_text() for text in pm.plot.waterfall(*estimates).get_legend().get_texts()]


def test_several_are_called_by_what_differs() -> None:
    """Sizes, the machine, what was done to a program, the effects; a number where nothing does."""
    assert names(ONE, OTHER) == ["matmul(m=1793 n=1793 k=1793, bf16)", "matmul(m=1792 n=1792 k=1792, bf16)"]
    assert names(ONE, pm.estimate(ONE.program, "h100-sxm")) == ["a100-sxm-80gb", "h100-sxm"]
    assert names(ONE, pm.estimate(ONE.program, "a100-sxm-80gb", tile=(128, 128)))[1] == "tile 128 x 128"
    assert names(ONE, ONE) == ["matmul(m=1793 n=1793 k=1793, bf16) (1)", "matmul(m=1793 n=1793 k=1793, bf16) (2)"]


def test_time_saved_goes_backwards() -> None:
    """The power effect of attention's longest kernels is negative: the bar starts where the one above ends."""
    found = pm.estimate(pm.fuse(pm.attention(4096, 4096, 128, heads=8), by="stage"), "h100-sxm")
    change = min(after - before for (_, before), (_, after) in pairwise(found.steps))
    if change < -5e-3 * found.time_s:
        assert min(length for _, length in bars(pm.plot.waterfall(found))) == pytest.approx(change)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pm.plot.waterfall(), "at least one estimate"),
        (lambda: pm.plot.waterfall(pm.matmul(8, 8, 8)), "expected estimates"),
        (lambda: pm.plot.waterfall(pm.estimate(pm.matmul("n", 8, 8), "h100-sxm", "ideal")), "holds symbols"),
        (lambda: pm.plot.waterfall(ONE, labels=[]), "0 labels for 1 estimates"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message: str) -> None:
    with pytest.raises(pm.PerfModelError, match=message):
        call()
