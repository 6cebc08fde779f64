"""Rooflines: what is drawn is what the machine and the estimate say."""

from __future__ import annotations

from itertools import pairwise

import pytest
from matplotlib import pyplot

import perfmodel as pm

H = pm.machine("h100-sxm")
SMALL, LARGE = pm.matmul(64, 4096, 4096), pm.matmul(4096, 4096, 4096)


def lines(drawn: object) -> dict[str, list[tuple[float, float]]]:
    """The points of each line by its label."""
    return {each.get_label(): list(zip(*each.get_data(), strict=True)) for each in drawn.get_lines()}


def test_the_roof_bends_at_the_ridge() -> None:
    """Left of the ridge the roof is bandwidth times intensity, right of it the peak."""
    start, bend, stop = lines(pm.plot.roofline(SMALL, on=H))["h100-sxm"]
    assert bend == (pytest.approx(float(H.ridge("bf16"))), H.peak("bf16"))
    assert start[1] == pytest.approx(start[0] * H.bandwidth_bytes_per_s)
    assert stop[1] == H.peak("bf16")


@pytest.mark.parametrize("effects", ["ideal", "real"])
def test_programs_stand_at_their_intensity_and_speed(effects: str) -> None:
    found = lines(pm.plot.roofline(SMALL, LARGE, on=H, effects=effects, labels=["small", "large"]))
    for name, program in (("small", SMALL), ("large", LARGE)):
        point = next(points for label, points in found.items() if label.startswith(f"{name}: "))
        assert point == [(float(program.intensity), pm.estimate(program, H, effects=effects).flops_per_s)]


def test_a_path_has_an_arrow_for_each_step() -> None:
    steps = [pm.attention(512, 512, 64), pm.fuse(pm.attention(512, 512, 64), by="stage"), SMALL]
    drawn = pm.plot.roofline(*steps, on=H, path=True)
    arrows = [each for each in drawn.texts if each.get_text() == ""]
    assert [(each.xyann[0], each.xy[0]) for each in arrows] == [
        (float(one.intensity), float(other.intensity)) for one, other in pairwise(steps)
    ]


def test_ax_goes_in_and_comes_out() -> None:
    _, ax = pyplot.subplots()
    assert pm.plot.roofline(SMALL, on=["h100-sxm", "a100-sxm-80gb"], ax=ax) is ax
    assert (ax.get_xlabel(), ax.get_xscale(), ax.get_yscale()) == ("intensity in FLOP/B", "log", "log")
    assert ax.yaxis.get_major_formatter()(1e14, 0) == "100 TFLOP/s"
    assert [text.get_text() for text in ax.get_legend().get_texts()][:2] == ["h100-sxm", "a100-sxm-80gb"]


@pytest.mark.parametrize("program", [SMALL, LARGE, pm.matmul(1, 4096, 4096)])
@pytest.mark.parametrize("chip", ["h100-sxm", "a100-sxm-80gb", "mi300x"])
def test_text_stays_inside_narrow_axes(chip: str, program: pm.Program) -> None:
    """Three pictures side by side: neither the ridge nor the memories' names leave the axes to a side."""
    figure, parts = pyplot.subplots(1, 3, figsize=(12, 4), layout="constrained")
    for part in parts:
        pm.plot.roofline(program, on=chip, levels=True, ax=part)
    figure.canvas.draw()
    for part in parts:
        known = [level.name for level in pm.machine(chip).levels if level.bandwidth_bytes_per_s is not None]
        assert [each.get_text() for each in part.texts][1:] == known
        edges = part.get_window_extent()
        for text in part.texts:
            place = text.get_window_extent()
            assert edges.x0 <= place.x0, text.get_text()
            assert place.x1 <= edges.x1, text.get_text()
        for text in part.texts[1:]:
            assert edges.y0 <= text.get_window_extent().y0
            assert text.get_window_extent().y1 <= edges.y1


def test_levels_end_where_they_reach_the_peak() -> None:
    """A dashed roof is the bandwidth of all units' memories times the intensity."""
    drawn = pm.plot.roofline(SMALL, on=H, levels=True)
    dashed = [list(zip(*each.get_data(), strict=True)) for each in drawn.get_lines() if each.get_linestyle() == "--"]
    levels = {each.name: each for each in H.levels}
    rates = [levels["shared"].bandwidth_bytes_per_s * H.units, levels["l2"].bandwidth_bytes_per_s]
    for ((low, start), (edge, stop)), rate in zip(dashed, rates, strict=True):
        assert start == pytest.approx(low * rate)
        assert edge * rate == pytest.approx(stop)
        assert stop == H.peak("bf16")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pm.plot.roofline(pm.matmul("n", 8, 8), on=H), "holds symbols"),
        (lambda: pm.plot.roofline(3, on=H), "expected programs"),
        (lambda: pm.plot.roofline(SMALL, on="h100"), "several products"),
        (lambda: pm.plot.roofline(SMALL, on=H, labels=["a", "b"]), "2 labels for 1 programs"),
        (lambda: pm.plot.roofline(SMALL, on=H, ax=3), "expected the Axes"),
        (lambda: pm.plot.roofline(SMALL, on=[]), "expects machines"),
        (lambda: pm.plot.roofline(SMALL, on=H.replace(peak={"bf16": pm.reals("pk")})), "numbers for their peaks"),
        (lambda: pm.plot.roofline(pm.embedding(8, 100, 16), on=H), "does no FLOP"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message: str) -> None:
    with pytest.raises(pm.PerfModelError, match=message):
        call()
