"""Relatives: whose constants a chip borrows is a rule over the data sheets, and what it owes to them is said."""

from __future__ import annotations

from dataclasses import fields

import perfmodel as pm
from perfmodel import machine
from perfmodel.catalogue.tables import CALIBRATED
from perfmodel.effects.chips import borrowed, chip_of, clock_of, lacking
from perfmodel.effects.constants import NAMES, constants_of, own_constants
from perfmodel.effects.relatives import relative_of

GPUS = [machine(name) for name in pm.machines(kind="gpu")]
LENDERS = [each for each in GPUS if len(own_constants(each)) == len(CALIBRATED)]


def test_the_constants_are_those_that_sheets_may_have() -> None:
    """The loader's list and the effects' are one."""
    assert NAMES == CALIBRATED


def test_a_chip_of_the_vendor_goes_before_all_others() -> None:
    """Wherever one of a GPU's vendor has all constants, one of that vendor lends them."""
    for chip in GPUS:
        found = relative_of(chip)
        if any(each.vendor == chip.vendor and each.name != chip.name for each in LENDERS):
            assert found is not None
            assert found.vendor == chip.vendor
        assert found is None or found in LENDERS


def test_data_centre_and_graphics_chips_borrow_from_their_like() -> None:
    """Chips of one generation with stacked and with graphics memory are different chips: GA100 and GA102."""
    like = {"h800": "h100-sxm", "gh200-141gb": "h200-sxm", "a100-pcie-40gb": "a100-sxm-80gb", "a10": "l40s",
            "t4": "l40s", "v100-sxm2-16gb": "a100-sxm-80gb", "rtx-5090": "rtx-pro-6000-server"}  # fmt: skip
    assert {name: relative_of(machine(name)).name for name in like} == like


def test_constants_of_another_vendor_are_said_to_be_that() -> None:
    """Where no chip of a vendor has constants, the caveat of the estimate says whose stand in, and why."""
    for chip in GPUS:
        lender = constants_of(chip)[1]
        foreign = bool(lender) and machine(lender).vendor != chip.vendor
        assert any(f"no chip of {chip.vendor} has all" in text for text in borrowed(chip)) == foreign
        if lender:
            assert borrowed(chip)[0] in pm.estimate(pm.matmul(64, 64, 64, dtype="fp32"), chip).caveats


def test_a_compute_capability_tells_whose_chip_it_is() -> None:
    """A sheet of one's own that gives 9.0, and neither vendor nor architecture, is nearest to Hopper."""
    facts = {each.name: getattr(machine("h100-sxm"), each.name) for each in fields(machine("h100-sxm"))}
    plain = {"name": "own", "vendor": "", "architecture": "", "memory_type": "", "year": None, "figures": ()}
    for capability, lender in (("9.0", "h100-sxm"), ("8.0", "a100-sxm-80gb"), ("8.9", "l40s"), ("10.0", "b200-sxm")):
        found = relative_of(pm.Machine.from_facts(**facts | plain | {"compute_capability": capability}))
        assert found is not None
        assert found.name == lender


def test_a_vendor_without_constants_borrows_from_the_oldest_of_like_memory() -> None:
    """A maker's first GPU with stacked memory borrows an A100's, one with graphics memory an L40S's; and it is said."""
    h = machine("h100-sxm")
    facts = {each.name: getattr(h, each.name) for each in fields(h)}
    facts |= {"name": "first", "vendor": "Nobody", "architecture": "One", "figures": (), "compute_capability": None}
    for memory, lender in (("HBM4", "a100-sxm-80gb"), ("GDDR7", "l40s"), ("LPDDR5", None)):
        chip = pm.Machine.from_facts(**facts | {"memory_type": memory})
        found = relative_of(chip)
        assert (found and found.name) == lender
        said = ("calibrated constants that first lacks are those of {}, the oldest of its kind of memory: no chip of "
                "Nobody has all of its own")  # fmt: skip
        assert borrowed(chip) == (() if lender is None else (said.format(lender),))


def test_own_constants_go_before_lent_ones() -> None:
    """A chip that has some of its own borrows only the others."""
    chip = machine("v100-sxm2-16gb")
    found, lender = constants_of(chip)
    own = own_constants(chip)
    assert 0 < len(own) < len(NAMES)
    assert all(getattr(found, name) == value for name, value in own.items())
    assert found.step_s == own_constants(machine(lender))["step_s"]


def test_units_without_a_clock_still_have_tiles_and_waves() -> None:
    """An H100 NVL lists 132 SMs and no clock: 835e12 / (132 * 4096) = 1.54 GHz, and the caveat says so."""
    nvl = machine("h100-nvl")
    assert clock_of(nvl) == 835e12 / (132 * 4096)
    e = pm.estimate(pm.matmul(4096, 4096, 4097), nvl)
    assert {"tile quantization", "wave quantization"} <= set(dict(e.steps))
    assert e.time_s > e.ideal_time_s
    assert any("lists no clock: 1.544 GHz follows from its peak" in text for text in e.caveats)


def test_what_keeps_the_effects_away_is_said_exactly() -> None:
    """Gaudi is no GPU; a machine of one's own lacks what it was not given; formulas are formulas."""
    e = pm.estimate(pm.matmul(64, 64, 64), "gaudi3")
    assert any(text.endswith("modelled on GPUs, and gaudi3 is an npu") for text in e.not_modelled)
    mine = pm.Machine(peak=1e12, bandwidth_bytes_per_s=1e9, units=8, clock_hz=1e9, name="mine")
    assert lacking(mine) == "mine lists no calibrated constants or relative that lends them, which they need"
    loose = machine("h100-sxm").replace(bandwidth_bytes_per_s=pm.reals("b"))
    assert chip_of(loose) is None
    assert lacking(loose).startswith("formulas of h100-sxm (bandwidth_bytes_per_s=b) (bandwidth)")
    assert lacking(machine("h100-sxm")) == ""
