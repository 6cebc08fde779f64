"""Slips that public tables of chips make, each held against the catalogue."""

from __future__ import annotations

import pytest

import perfmodel as pm
from perfmodel.catalogue import Machine, machine, machines
from perfmodel.catalogue.words import headline

MIB, GIB = 2**20, 2**30

# What the matrix unit of a compute capability multiplies: NVIDIA, CUDA programming guide, appendix on compute
# capabilities (7.0: the Volta whitepaper). Below 7.0 there is none.
MATRIX_FORMATS = {
    "5.2": "",
    "6.0": "",
    "6.1": "",
    "7.0": "fp16",
    "7.5": "fp16 int8 int4",
    "8.0": "fp64 tf32 bf16 fp16 int8 int4",
    "8.6": "tf32 bf16 fp16 int8 int4",
    "8.7": "tf32 bf16 fp16 int8 int4",
    "8.9": "tf32 bf16 fp16 fp8 int8 int4",
    "9.0": "fp64 tf32 bf16 fp16 fp8 int8",
    "10.0": "fp64 tf32 bf16 fp16 fp8 fp6 fp4 int8",
    "10.3": "tf32 bf16 fp16 fp8 fp6 fp4 int8",
    "12.0": "tf32 bf16 fp16 fp8 fp6 fp4 int8",
}
# Shared memory of an SM, in KiB, from the same tables (5.2 to 6.1: version 12 of the guide).
SHARED_KIB = {"5.2": 96, "6.0": 64, "6.1": 96, "7.0": 96, "7.5": 64, "8.0": 164, "8.6": 100, "8.7": 164, "8.9": 100,
              "9.0": 228, "10.0": 228, "10.3": 228, "12.0": 100}  # fmt: skip

each_chip = pytest.mark.parametrize("name", machines())
cuda_chip = pytest.mark.parametrize("name", [chip.name for chip in machines().chips if chip.compute_capability])


# ---------------------------------------------------------------------------- any chip


@each_chip
def test_no_dense_peak_is_the_sparse_one_of_its_format(name: str) -> None:
    """Whatever the accumulator, no dense peak of a format is within 3 % of the sparse peak of the same format."""
    peaks = machine(name).peaks
    for sparse in [peak for peak in peaks if peak.sparse_flops_per_s is not None]:
        dense = [peak.flops_per_s for peak in peaks if (peak.unit, peak.format) == (sparse.unit, sparse.format)]
        assert all(rate != pytest.approx(sparse.sparse_flops_per_s, rel=0.03) for rate in dense)


@each_chip
def test_capacities_are_binary_or_said_to_be_otherwise(name: str) -> None:
    """Whole GiB; or bytes that a device reports; a whole number of decimal GB is doubtful, as GiB may be meant."""
    chip = machine(name)
    if chip.capacity_bytes is not None and chip.capacity_bytes % 10**6 == 0:
        assert "capacity_bytes" in chip.doubts
        assert "printed as" in chip.doubts["capacity_bytes"] or "GiB" in chip.doubts["capacity_bytes"]
    elif chip.capacity_bytes is not None:
        note = dict(chip.figures)["capacity_bytes"].note
        assert chip.capacity_bytes % GIB == 0 or "device reports" in note


@cuda_chip
def test_a_matrix_unit_has_the_formats_of_its_compute_capability(name: str) -> None:
    """No fp8 on an A100, no int4 on Hopper, no fp64 on the matrix unit of a GeForce card or of Blackwell Ultra."""
    chip = machine(name)
    found = {peak.format for peak in chip.peaks if peak.unit == "matrix"}
    assert found <= set(MATRIX_FORMATS[chip.compute_capability].split())


@cuda_chip
def test_shared_memory_is_that_of_the_compute_capability(name: str) -> None:
    """100 KiB an SM on capability 12.0, where one table has 128; registers are 256 KiB on all."""
    chip = machine(name)
    assert chip.level("shared").capacity_bytes == SHARED_KIB[chip.compute_capability] * 1024
    assert chip.level("registers").capacity_bytes == 65536 * 4


@each_chip
def test_matrix_peaks_of_a_precise_accumulator_are_not_the_faster_ones(name: str) -> None:
    """Where a format has two peaks, the one into fp32 is the slower, and it is what peak() answers."""
    chip = machine(name)
    for peak in chip.peaks:
        if peak.unit == "matrix" and peak.accumulate == ("fp16",):
            assert chip.peak(peak.format, "matrix") < peak.flops_per_s


# ---------------------------------------------------------------------------- particular figures


@pytest.mark.parametrize(
    ("name", "format", "dense", "printed"),
    [
        ("l40s", "fp8", 733e12, 1466e12),
        ("b200-sxm", "fp8", 4500e12, 9000e12),
        ("h200-sxm", "fp16", 989.4e12, 1970e12),
        ("h200-sxm", "fp8", 1978.9e12, 3940e12),
        ("mi355x", "fp16", 2516.6e12, 5033e12),
        ("mi355x", "fp8", 5033e12, 10066e12),
        ("mi355x", "fp4", 10066e12, 20000e12),
        ("gh200-96gb", "bf16", 989e12, 1979e12),
        ("gb200", "bf16", 2500e12, 4500e12),
        ("rtx-5090", "fp4", 1676e12, 3352e12),
        ("orin-agx-64gb", "int8", 85e12, 275e12),  # 170 is sparse, and 275 adds two more units
        ("trn2", "fp8", 1299e12, 2563e12),
    ],
)
def test_sparse_peaks_that_are_printed_as_dense(name: str, format: str, dense: float, printed: float) -> None:
    """The dense figure, not the one that is printed in places."""
    assert machine(name).peak(format) == dense < printed


def test_a_sparse_peak_is_not_always_twice_the_dense() -> None:
    """B300 fp4 18 to 14, Trainium2 2,563 to 1,299: dividing by two would be wrong."""
    for name, format in (("b300-sxm", "fp4"), ("trn2", "fp8")):
        peak = machine(name).find_peak(format)
        assert peak.sparse_flops_per_s != 2 * peak.flops_per_s


def test_accumulators_of_geforce_cards() -> None:
    """fp16 and fp8 at half the rate into fp32, fp4 not halved; professional cards of the same die at the full rate."""
    for name in ("rtx-3090", "rtx-4090", "rtx-5090"):
        chip = machine(name)
        assert chip.peak("fp16", accumulate="fp16") == pytest.approx(2 * chip.peak("fp16"), rel=0.001)
    assert (machine("rtx-5090").peak("fp8"), machine("rtx-5090").peak("fp4")) == (419e12, 1676e12)
    per_sm = {name: machine(name).find_peak("fp16").rate_per_clock for name in ("rtx-3090", "a40", "a10")}
    assert per_sm == {"rtx-3090": 512, "a40": 1024, "a10": 1024}


def test_peaks_that_units_and_clocks_do_not_give() -> None:
    """H20 is capped, TPU v6e's published units cannot reach its peak: the peak is stored, with no rate beside it."""
    for name in ("h20", "tpu-v6e", "gb200"):
        assert machine(name).find_peak("bf16", "matrix").rate_per_clock is None
    h20 = machine("h20")
    assert h20.peak("bf16") == 148e12 < 0.3 * h20.units * 4096 * h20.clocks.vector_hz
    assert machine("gaudi3").peak("bf16") == pytest.approx(8 * 2 * 256 * 256 * 1.6e9, rel=0.001)  # 1835 is at 1.75 GHz


def test_int8_does_not_always_double() -> None:
    """CDNA 2 runs int8 at the fp16 rate; Blackwell Ultra has next to none, and no fp64 on its matrix unit."""
    for name in ("mi210", "mi250x"):
        assert machine(name).peak("int8") == machine(name).peak("fp16")
    assert (machine("b300-sxm").peak("int8"), machine("gb300").peak("int8")) == (153.5e12, 165e12)
    assert machine("b300-sxm").peak("fp64") == 1.25e12
    assert machine("mi250x").find_peak("int4") is None


def test_units_of_the_product_not_of_the_die() -> None:
    """GB200 152 where a B200 has 148, B300 148 of 160, L40S 142 of 144, T4 40 of 48, P100 56 of 60, A10 72 of 84."""
    counts = {"gb200": 152, "gb300": 152, "b300-sxm": 148, "l40s": 142, "t4": 40, "p100-pcie-16gb": 56, "a10": 72,
              "h20": 78, "gtx-1080-ti": 28, "mi325x": 304, "mi355x": 256}  # fmt: skip
    assert {name: machine(name).units for name in counts} == counts


def test_two_clocks_are_kept_apart() -> None:
    """A B200 at its vector clock would have 2,383 TFLOP/s of bf16, a GB200 2,568, a B300 2,464: all are below."""
    for name in ("b200-sxm", "gb200", "gb300", "b300-sxm", "h800"):
        chip = machine(name)
        assert chip.clocks.matrix_hz < chip.clocks.vector_hz
        assert chip.peak("bf16") < chip.units * chip.clocks.vector_hz * (4096 if name == "h800" else 8192)


@pytest.mark.parametrize(
    ("name", "bandwidth", "capacity", "memory"),
    [
        ("a100-pcie-80gb", 1935e9, 80 * GIB, "HBM2e"),  # 2039 is the SXM part
        ("a100-pcie-40gb", 1555e9, 40 * GIB, "HBM2"),  # HBM2e in one table
        ("a100-sxm-80gb", 2039e9, 80 * GIB, "HBM2e"),  # 2.39 in one table
        ("a10", 600.2e9, 24 * GIB, "GDDR6"),  # 28 GB in one table
        ("v100-sxm2-16gb", 898.048e9, 16 * GIB, "HBM2"),  # 32 GB in one table
        ("h100-sxm", 3352.32e9, 80 * GIB, "HBM3"),  # 3072 in one table
        ("h100-pcie", 2039.04e9, 80 * GIB, "HBM2e"),  # HBM3 in one table
        ("b200-sxm", 7672.32e9, 180 * GIB, "HBM3e"),  # 8 and 9 TB/s go round
        ("gb200", 7928.064e9, 198_674_743_296, "HBM3e"),  # 13.4 is the TB of a rack
        ("b300-sxm", 7750e9, 288_400_343_040, "HBM3e"),  # 288 GB, about decimal
        ("gb300", 7928.064e9, 298_013_687_808, "HBM3e"),  # 288 GB on the box as well
        ("mi300x", 5300e9, 192 * GIB, "HBM3"),  # 6.81 TB/s and 252 GiB in one table
        ("mi355x", 8000e9, 288 * GIB, "HBM3e"),
    ],
)
def test_memory_is_that_of_the_product(name: str, bandwidth: float, capacity: int, memory: str) -> None:
    """Bandwidth, bytes and type of this very product."""
    chip = machine(name)
    assert (chip.bandwidth_bytes_per_s, chip.capacity_bytes, chip.memory_type) == (bandwidth, capacity, memory)


def test_figures_of_another_variant() -> None:
    """V100 SXM2 125 and PCIe 112; MI300X tf32 653.7, not the MI300A's; MI355X 2,516.6, MI350X 2,306.9; TPU v3 123."""
    assert (machine("v100-sxm2-16gb").peak("fp16"), machine("v100-pcie-32gb").peak("fp16")) == (125e12, 112e12)
    assert machine("mi300x").peak("tf32") == machine("mi325x").peak("tf32") == 653.7e12
    assert (machine("mi355x").peak("bf16"), machine("mi350x").peak("bf16")) == (2516.6e12, 2306.9e12)
    assert machine("tpu-v3").peak("bf16") == 123e12
    assert (machine("mi325x").tdp_w, machine("mi300x").tdp_w) == (1000, 750)
    assert machine("mi355x").level("infinity-cache").capacity_bytes == 256 * MIB
    assert machine("rtx-pro-6000-server").compute_capability == machine("rtx-5090").compute_capability == "12.0"


def test_figures_of_another_unit() -> None:
    """H100 fp16 is 133.8 on the vector unit and 989.4 on the matrix unit; final clocks, not the announced 60 and 30."""
    h100 = machine("h100-sxm")
    assert (h100.peak("fp16", "vector"), h100.peak("fp16", "matrix")) == (133.8e12, 989.4e12)
    assert (h100.peak("fp32"), h100.peak("fp64", "vector")) == (66.9e12, 33.5e12)
    assert (machine("mi300x").peak("fp16"), machine("mi300x").peak("fp32")) == (1307.4e12, 163.4e12)
    assert machine("orin-agx-64gb").peak("fp32") == 5.3e12
    assert machine("apple-m4-max-40core").peak("fp32") == 17.2e12  # 46 is printed
    assert machine("epyc-9654").peak("fp32") == pytest.approx(96 * 32 * 2.4e9, rel=0.001)  # 1.84 is printed


def test_the_ports_of_local_memory_are_no_bandwidth() -> None:
    """Groq's 80 TB/s is doubtful as a bandwidth; a wafer of SRAM with no published dense peak has no sheet."""
    assert "on-chip ports" in machine("groq-lpu-v1").doubts["bandwidth_bytes_per_s"]
    with pytest.raises(pm.MachineError, match="no chip 'wse-3'"):
        machine("wse-3")


def test_seven_percent_between_gb_and_gib_are_said() -> None:
    """820 GB/s or GiB/s on Trainium, 800 on a TPU v5e: the bandwidth is marked, with what is printed."""
    for name in ("trn1", "inf2", "tpu-v5e"):
        assert "GiB/s" in machine(name).doubts["bandwidth_bytes_per_s"]
    assert machine("trn1").bandwidth_bytes_per_s == 820 * GIB


def test_fp4_has_two_exponent_bits() -> None:
    """MXFP4 is E2M1, not E1M2: its values are 0, 0.5, 1, 1.5, 2, 3, 4, 6."""
    mxfp4 = pm.format("mxfp4")
    assert (mxfp4.exponent_bits, mxfp4.mantissa_bits, mxfp4.effective_bits) == (2, 1, 4 + 8 / 32)


# ---------------------------------------------------------------------------- doubts reach the estimate


@each_chip
def test_doubts_reach_the_estimate(name: str) -> None:
    """A doubtful peak or bandwidth that an estimate rests on is among its caveats, and one that it does not is not."""
    chip = machine(name)
    peak = headline(chip)
    program = pm.workload(flops=1e15, bytes_read=1e6, dtype=peak.format)
    said = pm.estimate(program, chip, effects="ideal").caveats
    for figure, doubt in chip.doubts.items():
        caveat = f"{figure} of {name} is doubtful: {doubt}"
        assert (caveat in said) == (figure in (peak.label, "bandwidth_bytes_per_s"))


def test_a_doubt_is_gone_with_its_figure() -> None:
    """A what-if that gives a figure anew is not doubtful any more."""
    own = machine("b300-sxm").replace(peak={"matrix fp4": 13e15})
    assert isinstance(own, Machine)
    assert "matrix fp4" in machine("b300-sxm").doubts
    assert "matrix fp4" not in own.doubts
