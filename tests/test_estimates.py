"""Estimates of whole programs: the figures of the napkin, sums over kernels, symbols, caveats."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import sympy

import perfmodel as pm

LECTURE = pm.machine("h100-sxm").replace(peak={"bf16": 990e12}, bandwidth_bytes_per_s=3.35e12)


@pytest.mark.parametrize(("machine", "n"), [(pm.machine("h100-sxm"), 886), (LECTURE, 887)])
def test_a_square_matmul_becomes_compute_bound(machine: pm.Machine, n: int) -> None:
    """n / 3 FLOP/B passes the ridge of 295 at n = 886 with the sheet's figures, at 887 with the lecture's."""
    assert pm.estimate(pm.matmul(n, n, n), machine, effects="ideal").bound == "compute"
    assert pm.estimate(pm.matmul(n - 1, n - 1, n - 1), machine, effects="ideal").bound == "memory"
    assert math.ceil(3 * machine.ridge("bf16")) == n


@pytest.mark.parametrize(("batch", "percent"), [(1, 0.3), (8, 2.7), (64, 21), (256, 82), (1024, 100)])
def test_decode_gains_with_the_batch(batch: int, percent: float) -> None:
    """A weight of 8192 x 8192 read for B tokens: 0.3, 2.7, 21, 82, 100 % of an H100's peak."""
    e = pm.estimate(pm.gemv(8192, 8192, batch=batch), "h100-sxm", effects="ideal")
    digits = 1 if percent < 10 else 0
    assert round(100 * e.fraction_of_peak, digits) == percent
    assert e.bound == ("compute" if batch == 1024 else "memory")


def test_the_time_is_the_larger_of_work_and_memory() -> None:
    """2 n^3 over the peak or 6 n^2 over the bandwidth, whichever is longer."""
    h100 = pm.machine("h100-sxm")
    for n in (64, 4096):
        work, memory = 2 * n**3 / h100.peak("bf16"), 3 * 2 * n**2 / h100.bandwidth_bytes_per_s
        e = pm.estimate(pm.matmul(n, n, n), h100, effects="ideal")
        assert e.time_s == max(work, memory)
        assert e.fraction_of_peak == work / max(work, memory)
        assert e.fraction_of_bandwidth == memory / max(work, memory)
        assert e.ridge_ratio == work / memory
        assert e.flops_per_s == 2 * n**3 / e.time_s
        assert e.bytes_per_s == 6 * n**2 / e.time_s


def test_a_program_takes_the_sum_of_its_kernels() -> None:
    """Each kernel takes its own maximum, so the sum may be more than the maximum of the sums."""
    machine = pm.Machine(peak=1e12, bandwidth_bytes_per_s=1e12)
    p = pm.sequence(pm.workload(3e12, 1e12, name="a"), pm.workload(1e12, 2e12, name="b").repeat(4))
    e = pm.estimate(p, machine)
    assert e.time_s == 3.0 + 4 * 2.0  # not max(3 + 4, 1 + 8) = 9
    assert e.shares == {"memory": 8.0, "matrix bf16": 3.0}
    assert (e.bound, e.bottleneck) == ("memory", "memory")
    assert e.fraction_of_peak == (3 + 4 * 1) / 11
    assert e.fraction_of_bandwidth == (1 + 4 * 2) / 11


def test_the_bound_is_that_of_the_larger_share() -> None:
    """Two compute-bound kernels of 2 s each on different units outweigh 3 s of memory, the largest single share."""
    machine = pm.Machine(peak=1e12, bandwidth_bytes_per_s=1e12)
    parts = [pm.workload(2e12), pm.workload(2e12, unit="vector"), pm.workload(bytes_read=3e12)]
    e = pm.estimate(pm.sequence(*parts), machine)
    assert (e.bottleneck, e.bound) == ("memory", "compute")
    even = pm.estimate(pm.sequence(pm.workload(3e12), pm.workload(bytes_read=3e12)), machine)
    assert even.bound == "compute"  # equality is compute


def test_repeated_layers_cost_so_many_times() -> None:
    """80 equal layers take 80 times one."""
    one, all_ = pm.matmul(8, 8192, 8192), pm.matmul(8, 8192, 8192).repeat(80)
    assert pm.estimate(all_, "h100-sxm").time_s == pytest.approx(80 * pm.estimate(one, "h100-sxm").time_s, rel=1e-15)


SIZES = {"m": 300, "n": 500, "k": 700}
PROGRAMS: dict[str, Any] = {
    "matmul": lambda m, n, k: pm.matmul(m, n, k),
    "gemv": lambda m, n, k: pm.gemv(n, k, batch=m),
    "softmax": lambda m, n, k: pm.softmax(m, n),
    "attention": lambda m, n, k: pm.fuse(pm.attention(q=m, kv=n, d=k, heads=4, causal=True), by="stage"),
    "gated_mlp": lambda m, n, k: pm.gated_mlp(m, n, k).repeat(m),
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_formula_bound_is_the_concrete_time(kind: str) -> None:
    """A symbolic program on a symbolic machine is a formula; with values in place it is the estimate of the ints."""
    make = PROGRAMS[kind]
    peak, special, bandwidth = pm.reals("peak special bandwidth")
    rates = {"matrix bf16": peak, "vector bf16": peak / 16, "special fp32": special}
    formula = pm.estimate(make(*pm.dims("m n k")), pm.Machine(peak=rates, bandwidth_bytes_per_s=bandwidth))
    assert formula.bound == formula.bottleneck == "depends"
    assert formula.shares == {}
    values = {peak: 10**15, special: 4 * 10**12, bandwidth: 3 * 10**12}
    numbers = {"matrix bf16": 1e15, "vector bf16": 1e15 / 16, "special fp32": 4e12}
    machine = pm.Machine(peak=numbers, bandwidth_bytes_per_s=3e12)
    exact = pm.estimate(make(*SIZES.values()), machine)
    bound = {**values, **{pm.dims(key): value for key, value in SIZES.items()}}
    for name in ("time_s", "flops_per_s", "bytes_per_s", "fraction_of_peak", "fraction_of_bandwidth", "ridge_ratio"):
        found = getattr(formula, name).xreplace(bound)
        assert float(found) == pytest.approx(getattr(exact, name), rel=1e-12), name


def test_symbols_in_the_program_or_in_the_machine_alone() -> None:
    """Either makes a formula, in just those symbols."""
    n, clock = pm.dims("n"), pm.reals("clock")
    by_size = pm.estimate(pm.matmul(n, n, n), "h100-sxm").time_s
    by_clock = pm.estimate(
        pm.matmul(64, 64, 64), pm.Machine(units=4, rate_per_clock=8, clock_hz=clock, bandwidth_bytes_per_s=1e9)
    ).time_s
    assert by_size.free_symbols == {n}
    assert by_clock.free_symbols == {clock}
    assert float(by_clock.xreplace({clock: sympy.Integer(10**9)})) == max(2 * 64**3 / (4 * 8 * 1e9), 6 * 64**2 / 1e9)


def test_unknown_rates_are_said_and_only_peak_raises() -> None:
    """bf16 on a V100 is timed by its memory alone, and not_modelled says so first."""
    v100 = pm.machine("v100-sxm2-16gb")
    e = pm.estimate(pm.matmul(4096, 4096, 4096), v100, effects="ideal")
    assert e.time_s == 3 * 2 * 4096**2 / v100.bandwidth_bytes_per_s
    assert e.not_modelled[0] == "matrix bf16: v100-sxm2-16gb lists no such rate"
    assert e.fraction_of_peak == 0
    with pytest.raises(pm.MachineError):
        v100.peak("bf16")


def test_nothing_known_is_no_time() -> None:
    """A workload of an unknown rate and no bytes takes no time that could be said: rates are nan, also in JSON."""
    e = pm.estimate(pm.workload(flops=1e12, dtype="mxfp4"), "h100-sxm")
    assert e.time_s == 0
    assert all(math.isnan(getattr(e, name)) for name in ("flops_per_s", "fraction_of_peak", "ridge_ratio"))
    assert "no part of it has a known rate" in repr(e)
    assert json.loads(json.dumps(e.to_dict(), allow_nan=False))["flops_per_s"] == "nan"


def test_fp32_on_an_h100_brings_a_caveat() -> None:
    """No matrix unit for fp32: the vector unit's 66.9 TFLOP/s, and a remark."""
    e = pm.estimate(pm.matmul(4096, 4096, 4096, dtype="fp32"), "h100-sxm", effects="ideal")
    assert e.bottleneck == "vector fp32"
    assert e.time_s == 2 * 4096**3 / pm.machine("h100-sxm").peak("fp32")
    assert e.caveats == ("h100-sxm has no matrix unit for fp32: contractions run on the vector unit",)


def test_doubtful_figures_are_said_where_they_are_used() -> None:
    """fp8 on a TPU v5p rests on an emulated peak and a doubtful bandwidth; bf16 on an H100 on nothing doubtful."""
    e = pm.estimate(pm.matmul(64, 64, 64, dtype="fp8_e4m3"), "tpu-v5p")
    assert [text.split(" is doubtful")[0] for text in e.caveats] == [
        "matrix fp8 of tpu-v5p", "bandwidth_bytes_per_s of tpu-v5p",
    ]  # fmt: skip
    assert pm.estimate(pm.matmul(64, 64, 64), "h100-sxm").caveats == ()


@pytest.mark.parametrize("make", PROGRAMS.values(), ids=PROGRAMS)
def test_every_estimate_is_plain_data_text_and_markup(make: Any) -> None:
    """repr, explain, HTML, LaTeX and JSON of numbers and of formulas."""
    for sizes in (SIZES.values(), pm.dims("m n k")):
        e = pm.estimate(make(*sizes), "h100-sxm")
        data = json.loads(json.dumps(e.to_dict(), allow_nan=False))
        assert data["machine"] == "h100-sxm"
        assert len(data["kernels"]) == len(e.kernels)
        assert repr(e).startswith("estimate(")
        assert e._repr_html_().startswith("<pre>")
        assert e._repr_latex_().startswith("$t = ")


def test_the_data_has_the_numbers() -> None:
    """to_dict holds what the properties say, kernel by kernel and term by term."""
    e = pm.estimate(pm.matmul(64, 64, 64), "h100-sxm")
    data = e.to_dict()
    names = ("time_s", "ideal_time_s", "bound", "bottleneck", "flops_per_s", "bytes_per_s", "fraction_of_peak",
             "fraction_of_bandwidth", "ridge_ratio")  # fmt: skip
    assert [data[name] for name in names] == [getattr(e, name) for name in names]
    assert (data["flops"], data["bytes"]) == (2 * 64**3, 3 * 2 * 64**2)
    (kernel,) = data["kernels"]
    assert kernel["terms"]["hbm"]["amount"] == 3 * 2 * 64**2
    assert kernel["terms"]["matrix bf16"]["seconds"] == 2 * 64**3 / pm.machine("h100-sxm").peak("bf16")


def test_kernels_that_are_alike_are_estimated_as_each() -> None:
    """The two equal products of a gated MLP share their work: times are those of estimate, kernel by kernel."""
    program = pm.gated_mlp("t", 4096, 1000)
    found = pm.estimate_many(program, "h100-sxm", {"t": [100, 129]})
    one = pm.estimate(program.at(t=129), "h100-sxm")
    assert [float(each.seconds()[1]) for each in found.kernels] == pytest.approx([each.time_s for each in one.kernels])
    assert len({id(each) for each in found.kernels}) == len(found.kernels) - 1
