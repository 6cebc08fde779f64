"""Power: what a board's watts allow of the published peak, on the matrix unit and on the vector unit."""

from __future__ import annotations

import pytest

import perfmodel as pm
from perfmodel.effects.chips import Chip
from perfmodel.effects.power import DRAWN, VECTOR_J, sustained_s


def fp32_share(name: str) -> float:
    """The share of the fp32 peak that large products sustain."""
    chip, peak = pm.machine(name), pm.machine(name).peak("fp32", unit="vector")
    return 1 / float(sustained_s(1.0, Chip.of(chip), bits=32, published=float(peak), unit="vector"))


def test_an_l4_has_watts_for_less_than_a_third_of_its_fp32_peak() -> None:
    """0.86 * 72 W / 7 pJ = 8.8 TFLOP/s, of 30.3: NeuSight's products take as long."""
    l4 = pm.machine("l4")
    assert fp32_share("l4") == pytest.approx(DRAWN * 72 / VECTOR_J / float(l4.peak("fp32", unit="vector")))
    assert 0.27 < fp32_share("l4") < 0.31


@pytest.mark.parametrize("name", ["a100-sxm-80gb", "t4", "v100-pcie-32gb", "h100-sxm"])
def test_chips_with_more_watts_a_flop_sustain_what_they_did(name: str) -> None:
    """Their boards have more than 7 pJ / 0.86 a FLOP at the share that their constants allow."""
    assert fp32_share(name) == pytest.approx(Chip.of(pm.machine(name)).constants.matrix_reach)


@pytest.mark.parametrize(("name", "form"), [("l4", "bf16"), ("l4", "tf32"), ("mi100", "fp32")])
def test_a_matrix_unit_is_not_bound_by_the_vector_units_energy(name: str, form: str) -> None:
    """Large products on it sustain the calibrated share, whatever the bits of their operands."""
    machine = pm.machine(name)
    chip, n = Chip.of(machine), 8192
    found = pm.estimate(pm.matmul(n, n, n, dtype=form), machine, ["roofline", "power"]).time_s
    assert found == pytest.approx(2 * n**3 / float(machine.peak(form)) / chip.constants.matrix_reach)
