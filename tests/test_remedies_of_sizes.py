"""What the working of an estimate says of alignment and of smaller sizes is what estimates of them say."""

from __future__ import annotations

import re

import pytest

import perfmodel as pm
from perfmodel.estimation import EFFECTS
from perfmodel.showing import quantity


def remedy(estimate: pm.Estimate) -> str:
    return next((line for line in str(estimate.explain()).splitlines() if line.startswith("  remedy")), "")


@pytest.mark.parametrize("chip", ["a100-sxm-80gb", "h100-sxm", "l40s"])
@pytest.mark.parametrize("sizes", [(1793, 1793, 1793), (2049, 1793, 4096), (4100, 4100, 4099), (1025, 129, 8191)])
@pytest.mark.parametrize("tile", [None, (256, 128), (128, 64, 2)])
def test_a_remedy_promises_what_an_estimate_of_its_sizes_says(
    chip: str, sizes: tuple[int, int, int], tile: tuple[int, ...] | None
) -> None:
    said = remedy(pm.estimate(pm.matmul(*sizes), chip, tile=tile))
    if said:  # some sizes have no remedy that is worth a line
        changed = {name: int(value) for name, value in re.findall(r"\b([mnk]) = (\d+)", said)}
        smaller = dict(zip("mnk", sizes, strict=True)) | changed
        expected = quantity(pm.estimate(pm.matmul(**smaller), chip, tile=tile).time_s, "s")
        assert re.search(r"waves?, (.*):", said)[1] == expected  # type: ignore[index]


def test_a_remedy_aligns_k_where_its_rows_are_not() -> None:
    """1793 elements of 2 bytes are no multiple of 16 bytes; 1792 are. Of whole tiles k alone is left."""
    said = remedy(pm.estimate(pm.matmul(1793, 1793, 1793), "a100-sxm-80gb"))
    assert re.findall(r"\b([mnk]) = (\d+)", said) == [("m", "1792"), ("n", "1792"), ("k", "1792")]
    assert "k = 1792" in remedy(pm.estimate(pm.matmul(1792, 1792, 1793), "a100-sxm-80gb"))
    assert " k = " not in remedy(pm.estimate(pm.matmul(1793, 1793, 1793), "a100-sxm-80gb", without=["alignment"]))


def test_the_step_of_alignment_carries_what_leaving_it_out_gives_back() -> None:
    """The feed of a tile is computed first, at full width; what narrow loads add to it is alignment's."""
    given = pm.matmul(1793, 1793, 1793)
    found = pm.estimate(given, "a100-sxm-80gb", ["roofline", "tile quantization", "wave quantization", "operand feed",
                                                 "alignment"], tile=(256, 128))  # fmt: skip
    without = pm.estimate(given, "a100-sxm-80gb", found.effects, tile=(256, 128), without=["alignment"])
    steps = dict(found.steps)
    assert list(steps)[-1] == "alignment"
    assert steps["operand feed"] == without.time_s
    assert steps["alignment"] > 1.5 * steps["operand feed"]  # the fourth root of 2 bytes in 16: 1 / 0.59


def test_aligned_rows_have_nothing_to_align() -> None:
    steps = dict(pm.estimate(pm.matmul(1792, 1792, 1792), "a100-sxm-80gb").steps)
    assert steps["alignment"] == steps["operand feed"]


def test_the_feed_comes_before_its_alignment() -> None:
    assert EFFECTS.index("operand feed") < EFFECTS.index("alignment")
