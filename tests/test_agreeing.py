"""Peaks against units, rate per clock and clock: a sheet or a what-if that contradicts itself is refused."""

from __future__ import annotations

import re

import pytest
from test_machine_files import SMALL, TEXTS, edited, read

from perfmodel import Machine, MachineError, dims, machine
from perfmodel.catalogue.agreeing import check_agreement
from perfmodel.catalogue.parts import Clocks, Peak


def test_the_full_die_of_an_h100_is_refused() -> None:
    """144 SMs stand on the full die, 132 in the product: 9 % more than its peak."""
    wrong = TEXTS["h100-sxm"].replace("count = { value = 132", "count = { value = 144")
    with pytest.raises(MachineError, match=r"66\.9 TFLOP/s, but 144 units \* 256 .*8% off.*the full die's units"):
        read(wrong)


def test_one_clock_in_place_of_two_is_refused() -> None:
    """The matrix peaks of an H100 stand at 1.83 GHz; without that clock they would be held to the boost of 1.98."""
    wrong = re.sub(r"matrix_hz = .*\n", "", TEXTS["h100-sxm"])
    with pytest.raises(MachineError, match=r"1\.98 GHz \(matrix_hz\).*8% off.*a boost clock"):
        read(wrong)


@pytest.mark.parametrize(("flops", "fits"), [("8.2e12", True), ("7.8e12", True), ("8.3e12", False), ("7.7e12", False)])
def test_three_percent_are_allowed(flops: str, fits: bool) -> None:
    """4 units * 2000 FLOP a clock * 1 GHz = 8 TFLOP/s: 2.5 % either way are rounding, 3.8 % are a contradiction."""
    text = edited("flops_per_s = { value = 8e12", f"flops_per_s = {{ value = {flops}")
    if fits:
        assert read(text).peak("fp16") == float(flops)
    else:
        with pytest.raises(MachineError, match="one of them is wrong"):
            read(text)


def test_figures_that_a_what_if_completes_have_to_agree() -> None:
    """A sheet without a clock says nothing of its peak; a clock that is added later has to fit it."""
    chip = read(re.sub(r"\[clock\]\n.*\n", "", SMALL))
    assert chip.replace(clock_hz=1e9).peak("fp16") == 8e12
    with pytest.raises(MachineError, match=r"replace: chip: matrix fp16: .*4 units \* 2000 .* \* 2 GHz"):
        chip.replace(clock_hz=2e9)


def test_what_scales_stays_in_proportion() -> None:
    """Other units or another clock scale the peaks with them, so no what-if of a shipped chip contradicts itself."""
    for name in ("h100-sxm", "l40s", "b200-sxm", "mi300x", "gaudi3"):
        chip = machine(name)
        bigger = chip.replace(units=chip.units * 3, clock_hz=2.5e9)
        check_agreement(bigger.peaks, bigger.units, bigger.clocks, name)


def test_formulas_and_gaps_are_no_contradiction() -> None:
    """What is a symbol or unknown cannot be held against the rest."""
    clk = dims("clk")
    check_agreement([Peak("matrix", "bf16", 1e12, rate_per_clock=4)], 2, Clocks(clk, clk), "x")
    check_agreement([Peak("matrix", "bf16", 1e12)], 2, Clocks(1e9), "x")
    assert Machine(units=2, rate_per_clock=4, clock_hz=clk, bandwidth_bytes_per_s=1).peak("bf16") == 8 * clk
