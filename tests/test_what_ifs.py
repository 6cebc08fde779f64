"""What-ifs: Machine.replace changes what it names, scales what follows, and keeps account of sources."""

from __future__ import annotations

import pytest
import sympy

import perfmodel as pm
from perfmodel.catalogue import Clocks, Machine, Peak, machine
from perfmodel.expressions import reals

H100 = machine("h100-sxm")
CLK = reals("clk")


def chip(*peaks: Peak) -> Machine:
    return Machine.from_facts(name="chip", title="Chip", peaks=peaks, bandwidth_bytes_per_s=10)


def test_a_what_if_changes_what_it_names_and_nothing_else() -> None:
    """An H100 with twice the bandwidth has half the ridge and all else as it was."""
    twice = H100.replace(bandwidth_bytes_per_s=2 * H100.bandwidth_bytes_per_s)
    assert twice.ridge("bf16") == H100.ridge("bf16") / 2
    assert (twice.peaks, twice.levels, twice.capacity_bytes) == (H100.peaks, H100.levels, H100.capacity_bytes)
    assert H100.bandwidth_bytes_per_s == 3_352_320_000_000


def test_a_replaced_peak_serves_its_format_on_every_unit() -> None:
    """peak={"bf16": x} is the lecture's figure for bf16, wherever bf16 runs; fp8 stays the chip's."""
    lecture = H100.replace(peak={"bf16": 990e12}, bandwidth_bytes_per_s=3.35e12)
    assert (lecture.peak("bf16"), lecture.peak("bf16", "vector"), lecture.peak("fp8")) == (990e12, 990e12, 1978.9e12)
    assert lecture.ridge("bf16") == 990e12 / 3.35e12
    one = H100.replace(peak={"matrix bf16": 990e12})
    assert (one.peak("bf16"), one.peak("bf16", "vector")) == (990e12, 133.8e12)


def test_a_replaced_family_takes_all_its_members() -> None:
    """A what-if for fp8 replaces every fp8 entry; one for fp8_e5m2 stands beside the rest of the family."""
    old = chip(Peak("matrix", "fp8_e4m3", 4), Peak("matrix", "bf16", 2))
    assert old.replace(peak={"fp8": 9}).peak("fp8_e4m3") == 9
    new = H100.replace(peak={"fp8_e5m2": 9})
    assert (new.peak("fp8_e5m2"), new.peak("fp8_e4m3")) == (9, 1978.9e12)


def test_a_single_number_replaces_every_peak() -> None:
    """peak=x is x for every unit and format, those that the chip lacks included."""
    flat = H100.replace(peak=1e15)
    assert {flat.peak("fp4"), flat.peak("fp64", "vector"), flat.peak("bf16", "special")} == {10**15}


def test_other_units_and_clocks_scale_the_peaks() -> None:
    """Half the SMs have half the peak; each peak scales with its own clock, in symbols too."""
    half = H100.replace(units=66)
    assert (half.units, half.peak("bf16"), half.find_peak("bf16").sparse_flops_per_s) == (66, 494.7e12, 1978.9e12 / 2)
    slow = H100.replace(clock_hz=990e6)
    assert slow.peak("bf16", "vector") == 133.8e12 / 2
    assert slow.peak("bf16") == pytest.approx(989.4e12 * 990e6 / 1_829_520_100)
    assert slow.clocks == Clocks(990_000_000, 990_000_000)
    assert H100.replace(clock_hz=CLK).peak("bf16", "vector") == sympy.Rational(133_800_000_000_000, 1_980_000_000) * CLK


def test_units_that_a_machine_never_had_scale_nothing() -> None:
    """Saying how many units a machine of one's own has adds a fact and leaves its peak."""
    assert Machine(peak=7, bandwidth_bytes_per_s=1).replace(units=3, clock_hz=5).peak("bf16") == 7


def test_a_replaced_figure_is_the_users() -> None:
    """Sources follow: what was given says so, what was scaled says from what, doubts about the old figure are gone."""
    v5e = machine("tpu-v5e").replace(bandwidth_bytes_per_s=820e9, peak={"matrix bf16": 2e14})
    assert str(v5e.sources["bandwidth_bytes_per_s"]) == str(v5e.sources["matrix bf16"]) == "given by the user"
    assert "bandwidth_bytes_per_s" not in v5e.doubts
    assert "matrix bf16 rate_per_clock" not in v5e.sources
    scaled = H100.replace(units=66).sources
    assert scaled["matrix bf16"].title.startswith("scaled by units from: ")
    assert scaled["matrix bf16 sparse_flops_per_s"].title.startswith("scaled by units from: ")
    assert str(scaled["units"]) == "given by the user"


def test_a_what_if_has_a_name_of_its_own() -> None:
    """It is not taken for the catalogue's chip, and its repr is the expression that makes it."""
    changed = H100.replace(capacity_bytes=94e9)
    assert changed.name == "h100-sxm (capacity_bytes=9.4e10)"
    assert changed.replace(units=66).name == "h100-sxm (capacity_bytes=9.4e10, units=66)"
    assert repr(changed).startswith("pm.machine('h100-sxm').replace(capacity_bytes=94000000000.0)  # NVIDIA H100 SXM5")
    assert H100.replace(name="mine").name == "mine"


def test_what_was_changed_tells_what_ifs_apart() -> None:
    """Each figure stands in the name once, as it is now; two of one name have a number where they stand together."""
    two = [H100.replace(bandwidth_bytes_per_s=rate) for rate in (1e12, 2e12)]
    assert [each.name for each in two] == [f"h100-sxm (bandwidth_bytes_per_s={rate})" for rate in ("1e12", "2e12")]
    assert two[0].replace(bandwidth_bytes_per_s=2e12).name == two[1].name
    said = {("vector", "fp32"): 5e13, "bf16": 1e15}
    found = H100.replace(peak=said, levels={"l2": {"capacity_bytes": 2**26}}, bandwidth_bytes_per_s=pm.reals("b"))
    assert found.name == (
        "h100-sxm (peak vector fp32=5e13, peak bf16=1e15, bandwidth_bytes_per_s=b, levels l2 capacity_bytes=67108864)"
    )
    assert found.replace(peak=7).name.startswith("h100-sxm (bandwidth_bytes_per_s=b, levels l2")
    assert H100.replace().name == "h100-sxm"


def test_machines_of_one_name_are_numbered_side_by_side() -> None:
    """A sweep, a comparison, suggestions and a picture of two machines called custom name the second custom (2)."""
    slow, fast = (Machine(peak=1e12, bandwidth_bytes_per_s=rate) for rate in (1e9, 4e9))
    p, names = pm.matmul("n", 64, 64), ["custom", "custom (2)"]
    swept = pm.sweep(p, {"n": [64]}, [slow, fast], "time_s")
    assert swept["machine"].tolist() == names
    assert swept["time_s"][0] > swept["time_s"][1]
    assert [each.machine.name for each in pm.compare(p.at(n=64), on=[slow, fast]).estimates] == names
    assert f"time_s on {names[1]}" in pm.suggest(p, [slow, fast], n=64).table().columns
    shown = pm.plot.roofline(p.at(n=64), on=[slow, fast], dtype="fp32").get_legend_handles_labels()[1]
    assert [each.split(",")[0] for each in shown if "ridge" in each] == names
    assert pm.sweep(p, {"n": [64]}, [slow, slow], "time_s")["machine"].tolist() == ["custom", "custom"]
