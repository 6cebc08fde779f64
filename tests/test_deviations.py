"""Bounds on what rounding does: never passed by a run that rounds, and not idle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from staging import arrays_of as whole_arrays_of, cuts, tiled
from strategies import programs

import perfmodel as pm
from perfmodel.graph.indexing import Gathered
from perfmodel.simulation.deviations import deviations

FORMATS = [
    "fp32",
    "tf32",
    "bf16",
    "fp16",
    "fp8_e4m3",
    "fp8_e5m2",
    "fp6_e2m3",
    "int8",
    "mxfp8",
    "mxfp6_e3m2",
    "mxfp4",
    "nvfp4",
]


def arrays_of(p: pm.Program, seed: int = 0, scale: float = 1.0) -> dict[str, np.ndarray]:
    """Numbers with many digits; whole numbers for what is looked up by."""
    draw = np.random.default_rng(seed)
    looked_up_by = {index.by for op in p.ops for a in op.reads for index in a.index if isinstance(index, Gathered)}
    return {
        name: values if name in looked_up_by else scale * draw.normal(size=values.shape)
        for name, values in whole_arrays_of(p, seed).items()
    }


def worst(p: pm.Program, arrays: dict[str, np.ndarray]) -> float:
    """The largest share of a bound that a rounding run uses (more than 1: it was passed)."""
    exact, found = pm.simulate(p, arrays).values, pm.simulate(p, arrays, rounding=True).values
    bounds = deviations(p, arrays)
    share = 0.0
    for name, value in exact.items():
        alike = (found[name] == value) | (np.isnan(found[name]) & np.isnan(value))
        with np.errstate(invalid="ignore"):
            seen = np.where(alike, 0.0, np.abs(found[name] - value))
        free = np.isinf(bounds[name]) | (seen <= 1e-9 * (1 + np.abs(value)))
        share = max(share, float(np.max(np.where(free, 0.0, seen / np.where(free, 1.0, bounds[name])), initial=0)))
    return share


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FORMATS), st.sampled_from(["fp32", "fp16", "bf16"]), st.integers(0, 99), st.data())
def test_a_cast_matmul_stays_within_its_bound(name: str, accumulate: str, seed: int, data: st.DataObject) -> None:
    """Whatever the format, the accumulator and the tiles; sometimes more than a hundredth of it is used."""
    p = pm.cast(pm.matmul(5, 35, 6), name, accumulate=accumulate)
    p = tiled(p, data.draw(cuts(p)))
    assert worst(p, arrays_of(p, seed)) <= 1


@settings(max_examples=60, deadline=None)
@given(programs(steps=5), st.sampled_from(FORMATS), st.integers(0, 99), st.data())
def test_any_cast_program_stays_within_its_bound(p: pm.Program, name: str, seed: int, data: st.DataObject) -> None:
    """Maps, reductions, contractions and windows, fused or not, tiled or not."""
    looked_up_by = {index.by for op in p.ops for a in op.reads for index in a.index if isinstance(index, Gathered)}
    assume(looked_up_by <= {item.name for item in p.inputs})
    p = pm.cast(p, tensors={item: "int32" if item in looked_up_by else name for item in p.tensors})
    p = tiled(pm.fuse(p) if data.draw(st.booleans()) else p, data.draw(cuts(p)))
    assert worst(p, arrays_of(p, seed)) <= 1


@pytest.mark.parametrize("name", FORMATS)
def test_bounds_are_not_idle(name: str) -> None:
    """A product of two numbers comes within a factor of twenty of its bound somewhere, in every format."""
    p = pm.cast(pm.elementwise("x*w", 256), name)
    assert 0.05 < worst(p, arrays_of(p, scale=3.0)) <= 1


def test_the_bound_of_a_long_sum_is_that_of_higham() -> None:
    """Whole numbers in fp16, 100 of them: 100 u / (1 - 100 u) of the sum of 100 ones, u = 2^-11, and its rounding."""
    p = pm.cast(pm.program(pm.sum(pm.tensor("x", {"i": 100}, dtype="fp32"), "i")), accumulate="fp16")
    bound = deviations(p, {"x": np.ones(100)})[p.returned[0]]
    u = 2.0**-11
    assert bound == pytest.approx(100 * u / (1 - 100 * u) * 100, rel=1e-3)


def test_where_a_value_may_overflow_there_is_no_bound() -> None:
    """300 * 300 is past 65504; a softmax is bounded all the same."""
    p = pm.elementwise("x*x", 1, dtype="fp16")
    assert deviations(p, {"x": np.array([300.0])})["y"].tolist() == [np.inf]
    soft = pm.softmax(4, 8, dtype="fp16")
    assert np.all(deviations(soft, arrays_of(soft))["y"] < 0.02)


def test_check_with_rounding_bounds_a_cast() -> None:
    """An attention in bf16, tiled and fused, differs from the exact one by less than its formats explain."""
    p = pm.tile(pm.fuse(pm.attention("n", "n", 64)), grid={"q": 64}, stream={"kv": 64})
    plain, found = pm.check(pm.cast(p, "bf16")), pm.check(pm.cast(p, "bf16"), rounding=True)
    assert plain
    assert found
    seen, bound = found.errors["O"]
    assert 0 < seen <= bound < 1
    assert repr(found).startswith("values within their formats' rounding, counts equal (at ")


def test_check_with_rounding_sees_another_program() -> None:
    """Three times is not twice, whatever bf16 does."""
    from dataclasses import replace

    twice, thrice = [pm.program((pm.tensor("x", {"i": 8}) * times).named("y")) for times in (2, 3)]
    assert not pm.check(replace(thrice, parent=twice), rounding=True)
    assert pm.check(thrice, rounding=True)


def test_repeated_programs_hand_their_errors_on() -> None:
    """Ten roundings of one more add up; each run's bound is that of all before it."""
    p = pm.elementwise("x*1.1", 8, dtype="bf16")
    arrays = arrays_of(p)
    bounds = [deviations(p.repeat(times, carry={"y": "x"}), arrays)["y"] for times in (1, 10)]
    assert np.all(bounds[1] > 5 * bounds[0])
    assert worst(p.repeat(10, carry={"y": "x"}), arrays) <= 1
    assert pm.check(p.repeat("n", carry={"y": "x"}), rounding=True)
