"""Calibrated constants: eight at most, physical, sourced, borrowed where a chip has none, read from its sheet."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfmodel as pm
from perfmodel.effects.constants import NAMES, constants_of

FULL = (
    "h100-sxm",
    "h200-sxm",
    "a100-sxm-80gb",
    "b200-sxm",
    "b300-sxm",
    "gb200",
    "gb300",
    "l40s",
    "rtx-pro-6000-server",
)
SHEET = Path(__file__).parents[1] / "hardware" / "h100-sxm.toml"


@pytest.mark.parametrize("name", FULL)
def test_a_calibrated_chip_has_the_eight_and_their_source(name: str) -> None:
    """All eight are its own, and each says that it was read off timings, of what and by what."""
    chip = pm.machine(name)
    assert constants_of(chip)[1] == ""
    assert len(NAMES) == 8
    for each in NAMES:
        assert "Read off timings" in str(chip.sources[each])


def test_an_mi355x_has_the_share_of_its_peak_from_elsewhere_and_the_rest_from_timings() -> None:
    """Its own eight, of which the best matmul of a search gives the share that its power allows."""
    chip = pm.machine("mi355x")
    assert constants_of(chip)[1] == ""
    kept = {name for name in NAMES if "Read off timings" not in str(chip.sources[name])}
    assert kept == {"matrix_reach"}


@pytest.mark.parametrize("name", FULL)
def test_constants_are_physical(name: str) -> None:
    """Shares lie under one, a launch takes microseconds, a step is shorter than the end of a tile."""
    found = constants_of(pm.machine(name))[0]
    assert found is not None
    assert all(0.4 < share < 1 for share in (found.matrix_reach, found.memory_reach, found.cache_reach))
    assert 1e-6 < found.launch_s < 4e-6
    assert 1e-6 < found.split_s < 5e-6
    assert found.step_s < found.tile_s < found.launch_s * 2
    assert 8 <= found.feed_bytes_per_clock <= 128  # a unit's port to the L2 is 64 bytes, twice that in clusters


@pytest.mark.parametrize(("name", "lender"), [
    ("h100-pcie", "h100-sxm"), ("rtx-4090", "l40s"), ("a10", "l40s"), ("rtx-5090", "rtx-pro-6000-server"),
    ("v100-sxm2-16gb", "a100-sxm-80gb"), ("mi300x", "mi355x"), ("mi350x", "mi355x"),
    ("mi210", "mi355x"), ("tpu-v5e", ""), ("lecture-cpu", ""),
])  # fmt: skip
def test_the_nearest_relative_lends(name: str, lender: str) -> None:
    """By vendor, memory and architecture; machines that are no GPUs have no relative."""
    assert constants_of(pm.machine(name))[1] == lender


def test_a_chips_own_figures_go_before_those_lent() -> None:
    """An A100 PCIe has its own share of the bandwidth, and the A100 SXM's launch."""
    own, lent = constants_of(pm.machine("a100-pcie-40gb"))[0], constants_of(pm.machine("a100-sxm-80gb"))[0]
    assert own is not None
    assert lent is not None
    assert own.memory_reach != lent.memory_reach
    assert own.launch_s == lent.launch_s


def test_a_power_limited_relative_lends_by_its_watts() -> None:
    """An H100 PCIe has 350 W for 756 TFLOP/s, the SXM 700 W for 989: a smaller share of its peak."""
    pcie, sxm = constants_of(pm.machine("h100-pcie"))[0], constants_of(pm.machine("h100-sxm"))[0]
    assert pcie is not None
    assert sxm is not None
    assert pcie.matrix_reach == pytest.approx(sxm.matrix_reach * (350 / 756.5 / (700 / 989.4)) ** 0.5, rel=1e-3)


@pytest.mark.parametrize(("old", "new", "said"), [
    ("memory_reach = { value = ", "memory_reach = { value = 1", "expected 0.01 to 1 the bandwidth"),
    ("launch_s = { value = ", "lunch_s = { value = ", "unknown key 'lunch_s'"),
])  # fmt: skip
def test_the_sheet_is_checked(tmp_path: Path, old: str, new: str, said: str) -> None:
    """A share above one and a misspelt key are refused by name."""
    text = SHEET.read_text()
    start = text.index(old)
    broken = text[:start] + new + text[start + len(old) :]
    (tmp_path / "mine.toml").write_text(broken)
    with pytest.raises(pm.MachineError, match=said):
        pm.machine(str(tmp_path / "mine.toml"))
