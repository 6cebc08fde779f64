"""One kernel on one machine: times by unit, the bound, rates, and the distance to the ridge."""

from __future__ import annotations

import math

import pytest
import sympy

import perfmodel as pm
from perfmodel.estimation import KernelEstimate
from perfmodel.estimation.kernels import UNDECIDED
from perfmodel.estimation.times import added, longest, ratio

MINE = pm.Machine(peak={"matrix bf16": 4e12, "vector bf16": 1e12, "special bf16": 1e11}, bandwidth_bytes_per_s=1e12)


def only(p: pm.Program, machine: pm.Machine = MINE) -> KernelEstimate:
    """The estimate of a program of one kernel."""
    (kernel,) = pm.estimate(p, machine).kernels
    return kernel


def test_units_overlap_and_the_longest_bounds() -> None:
    """Fused softmax of 10 x 100: 4000 vector FLOPs, 1000 exps, 4000 bytes: exps take longest, 10 ns."""
    kernel = only(pm.fuse(pm.softmax(10, 100)))
    assert kernel.unit_seconds() == {"vector": 4000 / 1e12, "special": 1000 / 1e11, "memory": 4000 / 1e12}
    assert kernel.time_s == kernel.compute_s == 1000 / 1e11
    assert (kernel.bound, kernel.bottleneck) == ("compute", "special bf16")


def test_formats_of_one_unit_take_turns() -> None:
    """Two formats on the matrix unit add up: 2 s and 3 s are 5 s, more than 4 s of memory."""
    machine = pm.Machine(peak={"matrix bf16": 1e12, "matrix fp8": 1e12}, bandwidth_bytes_per_s=1e12)
    p = pm.fuse(pm.sequence(pm.workload(2e12, 1e12, 1e12), pm.workload(3e12, 1e12, 1e12, dtype="fp8")))
    kernel = only(p, machine)
    assert kernel.unit_seconds() == {"matrix": 2.0 + 3.0, "memory": 4.0}
    assert kernel.time_s == 5.0
    assert kernel.bottleneck == "matrix fp8_e4m3"  # the format that has the most of the unit's time


@pytest.mark.parametrize(("flops", "read", "bound"), [
    (4e12, 1e12, "compute"), (4e12 - 1, 1e12, "memory"), (4e12, 1e12 + 1, "memory"), (4e12 + 1, 1e12, "compute"),
])  # fmt: skip
def test_equality_is_compute(flops: float, read: float, bound: str) -> None:
    """At the ridge both take a second and the bound is compute; one FLOP less or one byte more and it is memory."""
    kernel = only(pm.workload(flops, read))
    assert kernel.bound == bound


def test_equality_holds_through_rounding() -> None:
    """Rates that are no whole numbers round; equal times are still equal: compute."""
    for tenths in range(1, 60):
        machine = pm.Machine(peak=tenths * 0.1, bandwidth_bytes_per_s=tenths * 0.3 / 7)
        kernel = only(pm.workload(flops=7 * 1000, bytes_read=3 * 1000), machine)
        assert kernel.bound == "compute", tenths


def test_rates_and_the_distance_to_the_ridge() -> None:
    """1e12 FLOPs and 1e12 bytes take a second; the ridge is at 4 FLOP/B and the kernel at 1: a quarter of it."""
    kernel = only(pm.workload(1e12, 1e12))
    assert (kernel.flops_per_s, kernel.bytes_per_s) == (1e12, 1e12)
    assert kernel.ridge_ratio == (1e12 / 1e12) / MINE.ridge("bf16")


def test_a_kernel_that_moves_nothing_is_infinitely_far_past() -> None:
    """Without bytes there is no intensity: nan, and the bound is compute."""
    kernel = only(pm.workload(flops=1e12))
    assert math.isnan(kernel.ridge_ratio)
    assert (kernel.bound, kernel.bytes_per_s) == ("compute", 0.0)


def test_a_kernel_that_only_moves_data_has_no_compute_time() -> None:
    """A look-up: compute 0 s, memory-bound, at the bandwidth."""
    kernel = only(pm.embedding(8, 100, 16))
    assert kernel.compute_s == kernel.flops_per_s == kernel.ridge_ratio == 0
    assert kernel.bytes_per_s == pytest.approx(1e12, rel=1e-15)
    assert (kernel.bound, kernel.bottleneck) == ("memory", "memory")


def test_a_kernel_knows_its_name_and_repetition() -> None:
    """Times are of one run; how often it runs stands beside."""
    kernel = only(pm.workload(4e12, name="step").repeat(80))
    assert (kernel.name, kernel.repeat, kernel.time_s) == ("step", 80, 1.0)


def test_symbols_leave_the_bound_open() -> None:
    """Time is a Max of formulas, the bound "depends"."""
    n = pm.dims("n")
    kernel = only(pm.matmul(n, n, n))
    assert kernel.time_s == sympy.Max(2 * n**3 / 4000000000000, 6 * n**2 / 1000000000000)
    assert (kernel.bound, kernel.bottleneck) == (UNDECIDED, UNDECIDED) == ("depends", "depends")
    assert kernel.ridge_ratio == n / 12  # n / 3 over a ridge of 4


def test_longest_added_and_ratio_take_numbers_and_formulas() -> None:
    """The three ways in which times are put together keep floats floats and formulas formulas."""
    n = pm.dims("n")
    assert (longest([]), longest([1, 3, 2]), longest([n])) == (0.0, 3.0, n)
    assert longest([n, 2]).args == sympy.Max(n, 2, evaluate=False).args
    assert (added([]), added([1, 2.5]), added([n, 2 * n])) == (0.0, 3.5, 3 * n)
    assert (ratio(6, 4), ratio(6 * n, 2), ratio(6 * n, 3 * n)) == (1.5, 3 * n, 2.0)
    assert isinstance(ratio(6 * n, 3 * n), float)
    assert isinstance(ratio(sympy.Rational(5, 2), 5), float)
    assert math.isnan(ratio(0, 0.0))
    with pytest.raises(pm.DimensionError, match="beyond what a float holds"):
        ratio(10**400, 2)
