"""Values of kinds that a call cannot take, arrays above all, are refused by perfmodel's own errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import perfmodel as pm

ARRAY = np.array(["a", "b"])
GIVEN = pm.matmul(64, 64, 64)


def many(sizes: Any) -> Any:
    return pm.estimate_many(pm.matmul("m", 64, 64), "h100-sxm", sizes)


CALLS: dict[str, Callable[[], Any]] = {
    "sizes that are no mapping": lambda: many(5),
    "a size in words": lambda: many({"m": "abc"}),
    "sizes of several kinds": lambda: many({"m": [4, {}]}),
    "sizes in ragged lists": lambda: many({"m": [4, [1, 2]]}),
    "a size beyond a float": lambda: many({"m": 10**400}),
    "a size beyond printing": lambda: many({"m": 10**5000}),
    "a size in symbols": lambda: many({"m": pm.dims("n")}),
    "a list of protocols": lambda: pm.estimate(GIVEN, "h100-sxm", protocol=["vidur"]),
    "an array of protocols": lambda: pm.estimate(GIVEN, "h100-sxm", protocol=ARRAY),
    "an array of effects": lambda: pm.estimate(GIVEN, "h100-sxm", effects=[ARRAY]),
    "arrays left out": lambda: pm.estimate(GIVEN, "h100-sxm", without=np.array([[1, 2]])),
    "an array as schedule": lambda: pm.waves(10, schedule=ARRAY),
    "an array as dataflow": lambda: pm.systolic(8, 8, 8, dataflow=ARRAY),
    "an array as unit": lambda: pm.workload(flops=8, unit=ARRAY),
    "an array as the unit of a span": lambda: pm.work_span(8, 2, unit=ARRAY),
    "an array as energy levels": lambda: pm.energy(GIVEN, levels=ARRAY),
    "an array as one energy level": lambda: pm.energy(GIVEN, levels={"memory": ARRAY}),
    "an array as scope": lambda: pm.Machine(
        peak=1e12, bandwidth_bytes_per_s=1e9, levels={"l2": {"bandwidth_bytes_per_s": 1e9, "scope": ARRAY}}
    ),
    "nothing as spill": lambda: pm.best_tiles(GIVEN, "h100-sxm", spill=None),
    "an array as a measure": lambda: pm.best_tiles(GIVEN, "h100-sxm", by=ARRAY),
    "an array as a level": lambda: pm.best_tiles(GIVEN, "h100-sxm", level=ARRAY),
    "a number as symbols": lambda: pm.compile_formula(pm.dims("n"), symbols=5),
    "a formula as the least capacity": lambda: pm.machines(min_capacity_bytes=pm.dims("n")),
    "a formula as the least bandwidth": lambda: pm.machines(min_bandwidth_bytes_per_s=pm.dims("n")),
    "text as the size of a check": lambda: pm.check(GIVEN, sizes={"m": "q"}),
    "bytes as times": lambda: pm.amat(b"1"),
    "bytes as miss rates": lambda: pm.amat([1, 10], miss_rates=b"1"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_foreign_value_is_refused_by_our_own_error(call: Callable[[], Any]) -> None:
    with pytest.raises(pm.PerfModelError):
        call()


def test_large_whole_numbers_in_python_are_sizes() -> None:
    """A list of ints is taken as numpy has it, up to the largest that floats count exactly."""
    assert many({"m": [1, 2**40]}).time_s.shape == (2,)
    with pytest.raises(pm.DimensionError, match="at most 2"):
        many({"m": [2**70]})
