"""A measured time beside an estimate: what it means, and times that no machine can reach."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy
import pytest

import perfmodel as pm

MINE = pm.Machine(peak=1e12, bandwidth_bytes_per_s=1e12, name="mine")
E = pm.estimate(pm.workload(flops=2e12, bytes_read=1e12), MINE)  # 2 s of work, 1 s of memory


def test_a_measured_time_becomes_rates() -> None:
    """5 s for 2e12 FLOPs and 1e12 bytes: 2.5 times the estimate, two fifths of the peak, a fifth of the bandwidth."""
    found = E.against(5)
    assert (found.seconds, found.ratio) == (5.0, 5 / 2)
    assert (found.flops_per_s, found.bytes_per_s) == (2e12 / 5, 1e12 / 5)
    assert (found.fraction_of_peak, found.fraction_of_bandwidth) == (2 / 5, 1 / 5)


def test_the_ideal_time_itself_is_possible() -> None:
    """A time equal to the ideal one is 100 %."""
    assert E.against(2.0).fraction_of_peak == 1
    e = pm.estimate(pm.matmul(4096, 4096, 4096), "h100-sxm", effects="ideal")
    assert e.against(e.time_s).fraction_of_peak == 1


def test_a_known_gemm_on_an_h100() -> None:
    """4096^3 in 200 us is 2 * 4096^3 / 200 us = 687 TFLOP/s, 69 % of 989.4."""
    found = pm.estimate(pm.matmul(4096, 4096, 4096), "h100-sxm", effects="ideal").against(200e-6)
    assert found.flops_per_s == 2 * 4096**3 / 200e-6
    assert round(100 * found.fraction_of_peak) == 69


def test_a_time_faster_than_the_machine_is_refused_with_the_usual_causes() -> None:
    """1.9 s for 2 s of work cannot be: the resource, the time that it needs, and what people usually got wrong."""
    with pytest.raises(pm.MachineError) as caught:
        E.against(1.9)
    message = str(caught.value)
    assert "against: 1.9 s is faster than mine can: matrix bf16 alone needs 2 s for workload" in message
    for cause in ("before the device had finished", "masked half counted whole", "sparsity", "another format, chip"):
        assert cause in message
    assert "fused" not in message


def test_kernels_that_ran_fused_are_a_cause_too() -> None:
    """An unfused estimate is slower than a fused kernel; the message says which program to hold it against."""
    p = pm.softmax(4096, 4096)
    fused = pm.estimate(pm.fuse(p), "h100-sxm").time_s
    with pytest.raises(pm.MachineError, match=r"its kernels need .*\(estimate pm.fuse\(p\)\)"):
        pm.estimate(p, "h100-sxm").against(1.1 * fused)
    assert pm.estimate(pm.fuse(p), "h100-sxm").against(1.1 * fused).ratio == pytest.approx(1.1)


@pytest.mark.parametrize("seconds", [0, -1, 0.0, float("nan"), float("inf"), True, False, None, "5", [5], ..., 1j,
                                     10**400, pm.dims("n"), numpy.nan, numpy.array([5.0, 6.0])])  # fmt: skip
def test_what_is_no_time_is_refused(seconds: object) -> None:
    """Zero, negative, not finite, truth values, text, symbols and arrays."""
    with pytest.raises(pm.DimensionError, match="against: seconds = "):
        E.against(seconds)


@pytest.mark.parametrize("seconds", [5, 5.0, Fraction(5), Decimal(5), numpy.float32(5), numpy.int64(5)])
def test_times_of_any_kind_of_number(seconds: object) -> None:
    """Ints, fractions and numpy's numbers are seconds too."""
    found = E.against(seconds)
    assert found == E.against(5)
    assert type(found.seconds) is float


def test_a_formula_has_no_measured_time() -> None:
    """Symbols have to be bound first, and the message says how."""
    with pytest.raises(pm.DimensionError, match=r"formula in symbols .* bind them first with p.at"):
        pm.estimate(pm.matmul("n", "n", "n"), MINE).against(1.0)


def test_an_estimate_of_nothing_takes_any_time() -> None:
    """Where no part has a known rate every time is possible and no ratio can be said."""
    found = pm.estimate(pm.workload(flops=1, dtype="mxfp4"), "h100-sxm").against(1.0)
    assert numpy.isnan(found.ratio)
    assert "against(1)" in repr(found)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["ratio"] == "nan"


def test_a_measured_time_is_a_value() -> None:
    """repr, plain data, equality and pickling."""
    found = E.against(5)
    lines = repr(found).splitlines()
    assert lines[0] == "estimate(workload(), 'mine').against(5)"
    assert lines[1] == "# measured 5 s, estimated 2 s: 2.5 times as long"
    assert lines[2] == "# attained 400 GFLOP/s (40 % of peak), 200 GB/s (20 % of bandwidth)"
    assert found.to_dict() == {
        "measured_s": 5.0, "estimated_s": 2.0, "ratio": 2.5, "flops_per_s": 4e11, "bytes_per_s": 2e11,
        "fraction_of_peak": 0.4, "fraction_of_bandwidth": 0.2,
    }  # fmt: skip
    assert found != E.against(6)
    assert pickle.loads(pickle.dumps(found)) == found


def test_data_that_fit_a_cache_may_beat_memory() -> None:
    """4 MB of softmax fit 50 MiB of L2: faster than memory is said, faster than the arithmetic is refused."""
    e = pm.estimate(pm.fuse(pm.softmax(1024, 1024)), "h100-sxm")  # 2 * 2 MB at 3.35 TB/s is 1.25 us
    found = e.against(1.0e-6)
    assert found.cached_in == "l2"
    assert "faster than memory" in repr(found)
    assert e.against(2e-6).cached_in is None
    with pytest.raises(pm.MachineError):
        e.against(1e-8)
    with pytest.raises(pm.MachineError, match="faster than h100-sxm can"):
        pm.estimate(pm.softmax(2**15, 2**15), "h100-sxm").against(1e-3)  # gigabytes fit no cache
