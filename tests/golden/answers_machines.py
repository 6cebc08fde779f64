"""Facts of chips, peaks derived from units and clocks, utilisations against peaks."""

from __future__ import annotations

from typing import Any

import perfmodel as pm
from golden.registry import Inputs, answers
from golden.tools import KIB, chip


def _of_units(units: Any, rate: Any, clock: Any) -> pm.Machine:
    """A machine of which only units, FLOP a clock and unit, and clock matter."""
    return pm.Machine(units=units, rate_per_clock=rate, clock_hz=clock, bandwidth_bytes_per_s=1e12)


def _matrix_over_vector(product: str) -> Any:
    """The matrix unit's 16-bit peak of a chip of the catalogue over that of its fp32 lanes."""
    return pm.machine(product).peak("fp16", "matrix") / pm.machine(product).peak("fp32", "vector")


@answers("s0-2.1-tc-vs-fp32")
def matrix_over_vector(given: Inputs) -> dict[str, Any]:
    ratio = _matrix_over_vector("h100-sxm")
    return {"ratio": ratio, "more_than_10": ratio > 10}


@answers("s2-2.9-a100-ratio")
def matrix_over_vector_on_a100(given: Inputs) -> dict[str, Any]:
    return {"ratio": _matrix_over_vector("a100-sxm-80gb")}


@answers("s2-2.9-tc-share")
def share_of_the_matrix_unit(given: Inputs) -> dict[str, Any]:
    """The share of a chip's FLOPs that are its matrix unit's: of both units at once, for as long as each is busy."""
    products = {"v100": "v100-sxm2-16gb", "a100": "a100-sxm-80gb", "h100": "h100-sxm", "b200": "b200-sxm"}
    shares = {}
    for name, product in products.items():
        chip = pm.machine(product)
        matrix = pm.workload(flops=chip.peak("fp16", "matrix"), dtype="fp16", unit="matrix")
        both = pm.sequence(matrix, pm.workload(flops=chip.peak("fp32", "vector"), dtype="fp32", unit="vector"))
        shares[f"{name}_pct"] = 100 * matrix.flops / both.flops
    return {**shares, "list_is_rising": list(shares.values()) == sorted(shares.values())}


@answers("s0-4-growth")
def growth(given: Inputs) -> dict[str, Any]:
    before, after = chip(given["f0"], given["b0"]), chip(given["f1"], given["b1"])
    return {
        "compute_growth": after.peak("bf16") / before.peak("bf16"),
        "bw_growth": after.bandwidth_bytes_per_s / before.bandwidth_bytes_per_s,
    }


@answers("s0-2.2-regfile")
def register_file(given: Inputs) -> dict[str, Any]:
    return {"size": pm.Format(bits=given["bits"]).bytes_of_elements(given["regs"]) / KIB}


@answers("s0-2.1-sm-counts")
def units(given: Inputs) -> dict[str, Any]:
    names = {"a100": "a100-sxm-80gb", "h100": "h100-sxm", "b200": "b200-sxm"}
    return {name: pm.machine(product).units for name, product in names.items()}


@answers("s2-4.1-cpu-peak")
def cpu_peak(given: Inputs) -> dict[str, Any]:
    machine = pm.Machine(
        units=given["cores"],
        rate_per_clock=given["simd"] * given["fma"],
        clock_hz=given["clk"],
        bandwidth_bytes_per_s=given["bw"],
    )
    return {"peak": machine.peak("fp32") / 1e9, "ridge": machine.ridge("fp32")}


@answers("s2-1-tc-shape")
def peak_of_a_shape(given: Inputs) -> dict[str, Any]:
    def peak(m: int, n: int, k: int) -> float:
        return _of_units(given["tcs"], pm.matmul(m, n, k).flops, given["clk"]).peak("fp16") / 1e12

    return {
        "peak_4x8_8x4": peak(4, 4, 8),
        "peak_8x4_4x8": peak(8, 8, 4),
        "published": pm.machine("a100-sxm-80gb").peak("fp16") / 1e12,
    }


@answers("s2-2.8-mma-fmas")
def multiply_adds_of_an_instruction(given: Inputs) -> dict[str, Any]:
    p = pm.matmul(given["m"], given["n"], given["k"])
    return {"fmas": p.macs, "flops": p.flops}


def _lanes(product: str, flops_a_lane: int) -> Any:
    """The fp32 lanes of a chip; a lane that multiplies and adds does 2 FLOP a clock."""
    machine: Any = pm.machine(product)
    return machine.units * machine.find_peak("fp32", "vector").rate_per_clock / flops_a_lane


@answers("o-sb-gpu-cores")
def lanes(given: Inputs) -> dict[str, Any]:
    return {"h100": _lanes("h100-sxm", 2), "b200": _lanes("b200-sxm", 2), "v5p": _lanes("tpu-v5p", 1)}


@answers("o-sb-gpu-vec")
def vector_peak_without_fma(given: Inputs) -> dict[str, Any]:
    base, boost = [_of_units(_lanes("h100-sxm", 2), 1, clock).peak("fp32") for clock in (1.59e9, 1.98e9)]
    return {"base": base / 1e12, "boost": boost / 1e12, "ratio": pm.machine("h100-sxm").peak("bf16") / boost}


@answers("o-sb-gpu-q6")
def clock_from_peak(given: Inputs) -> dict[str, Any]:
    """The clock at which the lanes of the catalogue's B200 make 80 TFLOP/s."""
    chip: Any = pm.machine("b200-sxm")
    clock = pm.reals("clk")
    lanes = _of_units(chip.units, chip.find_peak("fp32", "vector").rate_per_clock, clock)
    (crossing,) = pm.solve(lanes.peak("fp32") >= 80e12, clock).values
    return {"ghz": crossing / 1e9}


@answers("o-sb-gpu-tc")
def rate_from_peak(given: Inputs) -> dict[str, Any]:
    return {"flops": 990e12 / _of_units(132 * 4, 1, 1.76e9).peak("bf16")}


@answers("o-tpu1-peak")
def systolic_peak(given: Inputs) -> dict[str, Any]:
    return {"tops": _of_units(256 * 256, 2, 700e6).peak("int8") / 1e12}


@answers("B07")
def peak_by_accumulator(given: Inputs) -> dict[str, Any]:
    def peak(m: int, n: int, k: int) -> float:
        rate = pm.matmul(m, n, k).flops  # 64 multiply-adds a clock are a 4 x 4 x 4 product
        return _of_units(given["SM"] * given["TC/SM"], rate, given["GHz"] * 1e9).peak("fp16") / 1e12

    return {"FP32 accumulate": peak(4, 4, 4), "FP16 accumulate": peak(8, 4, 4)}


@answers("B01")
def utilisation_above_one(given: Inputs) -> dict[str, Any]:
    achieved = given["shown"] * chip(given["fixed peak"], 1e12).peak("bf16")

    def utilisation(peak: float) -> float:
        return pm.estimate(pm.workload(flops=achieved), chip(peak, 1e12)).against(1.0).fraction_of_peak

    return {
        "achieved": achieved / 1e12,
        "MFU dense": utilisation(given["H100 dense bf16"]),
        "MFU with the sparse figure (wrong)": utilisation(given["sparse"]),
    }
