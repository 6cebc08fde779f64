"""The chips of the catalogue: every sheet loads, its figures agree with each other, and the known traps are avoided."""

from __future__ import annotations

import tomllib
from itertools import product
from pathlib import Path

import pytest

from perfmodel.catalogue import machine, machines
from perfmodel.errors import MachineError

SHEETS = Path(__file__).parents[1] / "hardware"
FIRST_FOURTEEN = {
    "v100-sxm2-16gb", "a100-sxm-40gb", "a100-sxm-80gb", "a100-pcie-80gb", "h100-sxm", "h100-pcie", "h200-sxm",
    "b200-sxm", "l4", "rtx-4090", "mi300x", "tpu-v5e", "tpu-v5p", "lecture-cpu",
}  # fmt: skip
T, G = 10**12, 10**9
NOT_TWICE = {("b300-sxm", "fp4"), ("trn2", "fp8")}  # 14 and 18 PFLOP/s; 1,299 and 2,563 TFLOP/s
MIB, GIB = 2**20, 2**30

each_chip = pytest.mark.parametrize("name", machines())


def test_the_first_fourteen_chips_are_there() -> None:
    """Every id that the design promises has a sheet, and every sheet is in the catalogue."""
    assert set(machines()) >= FIRST_FOURTEEN
    assert set(machines()) == {path.stem for path in SHEETS.glob("*.toml")}


# ---------------------------------------------------------------------------- every sheet against itself


@each_chip
def test_peaks_do_not_fall_with_narrower_formats(name: str) -> None:
    """On one unit a narrower format is at least as fast: fp8 >= bf16 >= tf32 >= fp32 >= fp64, int4 >= int8."""
    chip = machine(name)
    for unit, order in product(
        ("matrix", "vector"), (("fp4", "fp8", "bf16", "tf32", "fp32", "fp64"), ("int4", "int8"))
    ):
        peaks = [chip.find_peak(format, unit) for format in order]
        rates = [peak.flops_per_s for peak in peaks if peak is not None]
        assert rates == sorted(rates, reverse=True)


@each_chip
def test_no_vector_peak_is_above_the_matrix_peak(name: str) -> None:
    """Where both units have a format, the matrix unit is at least as fast, so that looking there first is right."""
    chip = machine(name)
    for peak in chip.peaks:
        if peak.unit == "vector" and (matrix := chip.find_peak(peak.format, "matrix")) is not None:
            assert matrix.flops_per_s >= peak.flops_per_s


@each_chip
def test_peaks_are_units_times_rate_times_clock(name: str) -> None:
    """A peak is within 3 % of units * FLOP a clock and unit * clock: no full die, no sparsity, no other clock."""
    chip = machine(name)
    for peak in chip.peaks:
        if peak.rate_per_clock is not None:
            assert peak.flops_per_s == pytest.approx(
                chip.units * peak.rate_per_clock * chip.clocks.of(peak.clock), rel=0.03
            )


@each_chip
def test_sparse_peaks_are_twice_the_dense(name: str) -> None:
    """Structured sparsity of 2 in 4 doubles the rate, two chips apart; it stands only under its own name."""
    for peak in machine(name).peaks:
        if peak.sparse_flops_per_s is not None and (name, peak.format) not in NOT_TWICE:
            assert peak.sparse_flops_per_s == pytest.approx(2 * peak.flops_per_s, rel=0.001)


@each_chip
def test_on_chip_levels_are_smaller_than_memory_and_faster(name: str) -> None:
    """A cache holds less than the device memory and delivers more; capacities are those of all units together."""
    chip = machine(name)
    for level in chip.levels:
        many = chip.units if level.scope == "unit" else 1
        assert many * level.capacity_bytes < (chip.capacity_bytes or 2**40)
        assert level.bandwidth_bytes_per_s is None or many * level.bandwidth_bytes_per_s > chip.bandwidth_bytes_per_s


@each_chip
def test_shared_memory_serves_128_bytes_a_clock(name: str) -> None:
    """32 banks * 4 B a clock on each SM, at the clock of the vector unit, wherever a sheet of NVIDIA's says a rate."""
    chip = machine(name)
    rates = [level.bandwidth_bytes_per_s for level in chip.levels if level.name == "shared"]
    for rate in rates if chip.vendor == "NVIDIA" else ():
        assert rate is None or rate == pytest.approx(32 * 4 * chip.clocks.of("vector"))


@each_chip
def test_every_figure_has_a_source_with_a_date_and_no_source_is_idle(name: str) -> None:
    """A source and a date for every number; a source that no figure uses is not listed."""
    chip = machine(name)
    used = set(chip.sources.values())
    assert all(source.title and source.date for source in used)
    listed = tomllib.loads((SHEETS / f"{name}.toml").read_text())["sources"].values()
    assert {(source.title, source.date) for source in used} == {(entry["title"], entry["date"]) for entry in listed}


@each_chip
def test_the_values_are_those_of_the_sheet(name: str) -> None:
    """What the machine answers is what its sheet says, as an int wherever the figure is whole."""
    chip, sheet = machine(name), tomllib.loads((SHEETS / f"{name}.toml").read_text())
    assert chip.bandwidth_bytes_per_s == sheet["memory"]["bandwidth_bytes_per_s"]["value"]
    assert type(chip.bandwidth_bytes_per_s) is int
    assert [peak.flops_per_s for peak in chip.peaks] == [entry["flops_per_s"]["value"] for entry in sheet["peak"]]
    assert all(type(peak.flops_per_s) is int for peak in chip.peaks)


def test_the_table_in_the_readme_is_that_of_the_sheets() -> None:
    """hardware/README.md has what `perfmodel machines --markdown` prints."""
    assert f"\n\n{machines().markdown()}\n\n" in (SHEETS / "README.md").read_text()


# ---------------------------------------------------------------------------- ridge points


@pytest.mark.parametrize(
    ("name", "format", "peak", "bandwidth"),
    [
        ("a100-sxm-80gb", "bf16", 312 * T, 2039 * G),
        ("a100-sxm-80gb", "int8", 624 * T, 2039 * G),
        ("h100-sxm", "bf16", 989.4e12, 3352.32e9),  # 2619 MHz * 2 * 5120 bits / 8
        ("h200-sxm", "bf16", 989.4e12, 4800 * G),
        ("b200-sxm", "bf16", 2250 * T, 7672.32e9),
        ("mi300x", "bf16", 1307.4e12, 5300 * G),
        ("tpu-v5e", "bf16", 197 * T, 819 * G),
        ("lecture-cpu", "fp32", 16 * 3.0e9 * 8 * 2, 20 * G),
    ],
)
def test_ridge_is_peak_over_bandwidth(name: str, format: str, peak: float, bandwidth: float) -> None:
    """The ridge point of a chip is its dense peak over its bandwidth."""
    assert machine(name).ridge(format) == peak / bandwidth


# ---------------------------------------------------------------------------- traps in public tables


def test_counts_of_units_are_those_of_the_product() -> None:
    """Not the full die's: 144 SMs on GH100, 128 on GA100, 60 on AD104, 144 on AD102, 320 CUs on MI300X."""
    counts = {"a100-sxm-80gb": 108, "h100-sxm": 132, "h100-pcie": 114, "b200-sxm": 148, "l4": 58, "rtx-4090": 128}
    assert {name: machine(name).units for name in counts} == counts
    assert machine("mi300x").units == 8 * 38
    assert machine("v100-sxm2-16gb").units == 80


@pytest.mark.parametrize(
    ("name", "format", "dense"),
    [
        ("h100-sxm", "bf16", 989.4e12),  # 1979 is printed, with sparsity
        ("h100-pcie", "bf16", 756.5e12),  # 1513
        ("h200-sxm", "fp8", 1978.9e12),  # 3958
        ("b200-sxm", "fp8", 4500e12),  # 9000
        ("l4", "fp16", 121e12),  # 242
        ("a100-sxm-80gb", "int8", 624e12),  # 1248
    ],
)
def test_peaks_are_dense(name: str, format: str, dense: float) -> None:
    """The figure with sparsity that data sheets print large is not the peak."""
    assert machine(name).peak(format) == dense


def test_formats_that_a_chip_lacks_are_refused() -> None:
    """A100 has no fp8 (some tables list it), Hopper no int4, V100 no bf16: an error lists what there is."""
    with pytest.raises(MachineError, match=r"a100-sxm-80gb has no fp8 peak: matrix has .*int8.*Cast to bf16"):
        machine("a100-sxm-80gb").peak("fp8")
    with pytest.raises(MachineError, match=r"h100-sxm has no int4 peak.*Cast to int8"):
        machine("h100-sxm").peak("int4")
    with pytest.raises(MachineError, match=r"v100-sxm2-16gb has no bf16 peak: matrix has fp16; vector has fp64"):
        machine("v100-sxm2-16gb").peak("bf16")


def test_a_geforce_card_halves_its_rate_where_sums_are_kept_in_fp32() -> None:
    """RTX 4090: 165.2 TFLOP/s fp16 and 330.3 fp8 into fp32, twice that into fp16; fp32 is what is meant unless said."""
    chip = machine("rtx-4090")
    assert chip.peak("fp16") == chip.peak("fp16", accumulate="fp32") == 165.2e12
    assert chip.peak("fp16", accumulate="fp16") == 330.3e12
    assert (chip.peak("fp8"), chip.peak("fp8", accumulate="fp16")) == (330.3e12, 660.6e12)
    with pytest.raises(MachineError, match="bf16 peak accumulates in fp32, not in fp16"):
        chip.peak("bf16", accumulate="fp16")


def test_hopper_and_blackwell_have_two_clocks() -> None:
    """Vector peaks are at the boost clock; matrix peaks at a lower one: 1.98 GHz would give 1070 TFLOP/s."""
    for name in ("h100-sxm", "h100-pcie", "h200-sxm", "b200-sxm"):
        assert machine(name).clocks.matrix_hz < machine(name).clocks.vector_hz
    h100 = machine("h100-sxm")
    assert h100.peak("fp32") == pytest.approx(132 * 256 * 1.98e9, rel=0.001)
    assert h100.peak("bf16") < 0.93 * 132 * 4096 * 1.98e9


def test_variants_have_their_own_bandwidth_and_memory() -> None:
    """PCIe parts are not SXM parts: 1935 GB/s and 1.41 GHz on the A100 PCIe, HBM2e on the H100 PCIe."""
    assert machine("a100-pcie-80gb").bandwidth_bytes_per_s == 1935 * G
    assert machine("a100-sxm-40gb").bandwidth_bytes_per_s == 1555 * G
    assert (machine("h100-pcie").memory_type, machine("a100-sxm-40gb").memory_type) == ("HBM2e", "HBM2")
    assert machine("mi300x").bandwidth_bytes_per_s == 5300 * G  # 6.81 TB/s is printed, and 252 GiB
    assert machine("mi300x").peak("tf32") == 653.7e12  # 490.3 is the MI300A


def test_capacities_are_bytes_in_the_base_that_the_chip_has() -> None:
    """The same label has several bases: 80 GB, 141 GB, 180 GB and 24 GB are binary here, and stored as bytes."""
    held = {"h100-sxm": 80, "h200-sxm": 141, "b200-sxm": 180, "rtx-4090": 24, "mi300x": 192, "tpu-v5p": 95}
    assert {name: machine(name).capacity_bytes for name in held} == {name: size * GIB for name, size in held.items()}
    assert machine("lecture-cpu").capacity_bytes is None


def test_on_chip_memory_is_that_of_the_product() -> None:
    """50 MiB of L2 on an H100 (the full die has 60), 72 on a 4090 (96); 228 KiB of shared memory on Hopper."""
    assert machine("h100-sxm").level("l2").capacity_bytes == 50 * MIB
    assert machine("rtx-4090").level("l2").capacity_bytes == 72 * MIB
    assert machine("h100-sxm").level("shared").capacity_bytes == 228 * 1024
    assert machine("h100-sxm").level("registers").capacity_bytes == 65536 * 4


def test_compute_capabilities_are_not_confused() -> None:
    """B200 is 10.0 (12.0 is the GeForce die); chips that are not CUDA's have none."""
    found = {
        name: machine(name).compute_capability for name in ("b200-sxm", "l4", "h200-sxm", "v100-sxm2-16gb", "mi300x")
    }
    assert list(found.values()) == ["10.0", "8.9", "9.0", "7.0", None]


def test_special_functions_run_at_sixteen_a_clock_and_sm() -> None:
    """The rate of exp2 and its like: SMs * 16 * clock, and absent where nothing documents it."""
    assert machine("a100-sxm-80gb").peak("fp32", "special") == 108 * 16 * 1_410_000_000
    assert machine("h100-sxm").peak("fp32", "special") == 132 * 16 * 1_980_000_000
    assert machine("tpu-v5e").find_peak("fp32", "special") is None


def test_doubtful_figures_are_marked() -> None:
    """Figures on which sources disagree carry a caveat under the name that an estimate uses."""
    assert "800 GiB/s" in machine("tpu-v5e").doubts["bandwidth_bytes_per_s"]
    assert "2.46e12" in machine("tpu-v5p").doubts["bandwidth_bytes_per_s"]
    assert machine("rtx-4090").find_peak("tf32").label in machine("rtx-4090").doubts
    assert machine("a100-sxm-80gb").caveats == ()
    assert list(machine("h100-sxm").doubts) == ["l2 bandwidth_bytes_per_s"]
