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
    start, bend, stop = lines(pm.plot.roofline(SMALL, on=H))["h100-sxm, ridge at 295 FLOP/B"]
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
    naive = pm.attention(512, 512, 64)
    steps = [naive, pm.fuse(naive, by="stage"), SMALL]
    drawn = pm.plot.roofline(*steps, on=H, path=True)
    arrows = [each for each in drawn.texts if each.get_text() == ""]
    places = [float(each.flops_by_unit["matrix"] / each.bytes) for each in steps]
    ends = [place for each in arrows for place in (each.xyann[0], each.xy[0])]
    assert ends == pytest.approx([place for step in pairwise(places) for place in step])


def test_a_path_shows_which_steps_do_not_fit() -> None:
    """A fused kernel without tiles is one block of all its operands and more than an SM holds: hollow. Streaming alone
    cuts nothing, so that `online` stays there; the tile reads K and V again, fits, and stands to the left."""
    naive = pm.attention(4096, 4096, 128, heads=8)
    online = pm.online(pm.fuse(naive), "kv")
    tiled = pm.tile(online, grid={"kv_head": 1, "q": 128}, stream={"kv": 64})
    steps = [naive, pm.fuse(naive, by="stage"), pm.fuse(naive), online, tiled]
    drawn = pm.plot.roofline(*steps, on=H, path=True)
    points = [each for each in drawn.get_lines() if len(each.get_xdata()) == 1]
    assert [each.get_markerfacecolor() == "none" for each in points] == [False, False, True, True, False]
    _, _, fused, streamed, cut = [each.get_xdata()[0] for each in points]
    assert fused == streamed == 2 * 2 * 4096**2 * 128 / (4 * 2 * 4096 * 128)  # two contractions; Q, K, V and O once
    assert cut < fused / 10
    named = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert named[-1].startswith("hollow: a block does not fit")
    assert [each.split(":")[0] for each in named[3:5]] == ["-> fuse()", "-> online('kv')"]
    assert sum(each.get_text() == "" for each in drawn.texts) == 3  # none from fused to online, which do not move


def on_roof(drawn: object, chip: pm.Machine) -> bool:
    """Whether each point is at or below the highest line at its intensity."""
    best = max(each.get_ydata().max() for each in drawn.get_lines() if len(each.get_xdata()) > 1)
    points = [each.get_xydata()[0] for each in drawn.get_lines() if len(each.get_xdata()) == 1]
    return all(y <= min(best, x * chip.bandwidth_bytes_per_s) * (1 + 1e-9) for x, y in points)


@pytest.mark.parametrize("effects", ["ideal", "real"])
@pytest.mark.parametrize("chip", ["h100-sxm", "l4", "mi300x", "tpu-v5e"])
def test_no_point_stands_above_its_roof(chip: str, effects: str) -> None:
    """Not where a matrix unit and a vector unit work side by side, nor where formats have peaks of their own."""
    programs = [
        pm.fuse(pm.attention(4096, 4096, 128)),
        pm.fuse(pm.softmax(4096, 4096)),
        pm.matmul(4096, 4096, 4096),
        pm.matmul(4096, 4096, 4096, dtype="int8"),
    ]
    drawn = pm.plot.roofline(*programs, on=chip, effects=effects, dtype="bf16")
    assert on_roof(drawn, pm.machine(chip))


def test_another_peak_has_its_roof() -> None:
    """An fp8 matmul beside a bf16 one, whose roof gives the picture its name."""
    eight = pm.matmul(8192, 8192, 8192, dtype="fp8_e4m3")
    found = lines(pm.plot.roofline(LARGE, eight, on=H))
    roof = next(points for label, points in found.items() if label.startswith("matrix fp8"))
    assert {y for _, y in roof} == {H.peak("fp8")}


def test_work_beside_the_matrix_unit_does_not_lift_a_point() -> None:
    """Attention's 989 TFLOP/s are those of its two contractions; the softmax runs on the vector unit meanwhile."""
    fused = pm.fuse(pm.attention(4096, 4096, 128))
    (point,) = [each for each in pm.plot.roofline(fused, on=H).get_lines() if len(each.get_xdata()) == 1]
    assert point.get_ydata()[0] == pytest.approx(H.peak("bf16"))
    assert pm.estimate(fused, H, "ideal").flops_per_s > H.peak("bf16")


def test_ax_goes_in_and_comes_out() -> None:
    _, ax = pyplot.subplots()
    assert pm.plot.roofline(SMALL, on=["h100-sxm", "a100-sxm-80gb"], ax=ax) is ax
    assert (ax.get_xlabel(), ax.get_xscale(), ax.get_yscale()) == ("intensity in FLOP/B", "log", "log")
    assert ax.yaxis.get_major_formatter()(1e14, 0) == "100 TFLOP/s"
    assert [text.get_text() for text in ax.get_legend().get_texts()][:2] == [
        f"{each.name}, ridge at {each.ridge('bf16'):.3g} FLOP/B" for each in (H, pm.machine("a100-sxm-80gb"))
    ]


@pytest.mark.parametrize("chips", [["h100-sxm"], ["mi300x"], ["a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200-sxm"]])
def test_what_lines_are_stands_in_the_legend(chips: list[str]) -> None:
    """No word stands on another: ridges and memories are named in the legend, a dash a memory, a colour a chip."""
    drawn = pm.plot.roofline(SMALL, LARGE, on=chips, levels=True)
    drawn.figure.canvas.draw()
    assert not [each for each in drawn.texts if each.get_text()]
    boxes = [text.get_window_extent() for text in drawn.get_legend().get_texts()]
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
    edges = drawn.figure.bbox
    assert all(edges.x0 <= box.x0 and box.x1 <= edges.x1 and edges.y0 <= box.y0 for box in boxes)
    known = {
        level.name for chip in chips for level in pm.machine(chip).levels if level.bandwidth_bytes_per_s is not None
    }
    keys = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert {each.split(",")[0] for each in keys if each.endswith("all of a chip's")} == known


def test_levels_end_where_they_reach_the_peak() -> None:
    """A dashed roof is the bandwidth of all units' memories times the intensity."""
    drawn = pm.plot.roofline(SMALL, on=H, levels=True)
    dashed = [list(zip(*each.get_data(), strict=True)) for each in drawn.get_lines() if each.get_linewidth() == 1][:2]
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
        (
            lambda: pm.plot.roofline(SMALL, on="lecture-cpu", dtype="fp32"),
            "matmul has no place under the roof of lecture-cpu",
        ),
        (lambda: pm.plot.roofline(SMALL, on=H.replace(peak={"bf16": pm.reals("pk")})), "numbers for their peaks"),
        (lambda: pm.plot.roofline(pm.embedding(8, 100, 16), on=H), "does no FLOP"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message: str) -> None:
    with pytest.raises(pm.PerfModelError, match=message):
        call()


def test_a_bare_roof_says_whose_it_is() -> None:
    """Without programs the legend has the machine and its ridge."""
    (text,) = pm.plot.roofline(on="h100-sxm").get_legend().get_texts()
    assert text.get_text().startswith("h100-sxm, ridge at")
