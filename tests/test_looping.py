"""Repeated programs run as often as they say, each run on what the last handed to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from staging import arrays_of, assert_counts_as_it_runs, hulls
from strategies import composed

import perfmodel as pm

RELU = pm.program(pm.relu(pm.matmul(pm.tensor("x", {"m": 3, "k": 4}), pm.tensor("w", {"k": 4, "n": 4}))).named("y"))
LAYERS = RELU.repeat(3, carry={"y": "x"})


def layers_of(x: np.ndarray, weights: list[np.ndarray]) -> np.ndarray:
    """The same in numpy."""
    for w in weights:
        x = np.maximum(x @ w, 0)
    return x


@pytest.mark.parametrize(
    "p",
    [LAYERS, pm.fuse(LAYERS), pm.tile(pm.fuse(LAYERS), grid={"m": 2}, stream={"k": 3})],
    ids=["plain", "fused", "tiled"],
)
def test_three_layers_are_three_products(p: pm.Program) -> None:
    """relu(x w), three times over with one w, however it is staged; the counts are three times those of one run."""
    arrays = arrays_of(RELU)
    run = pm.simulate(p, arrays)
    np.testing.assert_array_equal(run.values["y"], layers_of(arrays["x"], [arrays["w"]] * 3))
    assert_counts_as_it_runs(p, run)
    assert run.counts.operations["matrix"] == 3 * 2 * 3 * 4 * 4
    assert run.counts.stores["y"] == 3 * 3 * 4


def test_each_run_may_have_a_weight_of_its_own() -> None:
    """An axis before the others holds one weight a run."""
    arrays = arrays_of(RELU) | {"w": np.random.default_rng(1).integers(-3, 4, size=(3, 4, 4)).astype(float)}
    run = pm.simulate(LAYERS, arrays)
    np.testing.assert_array_equal(run.values["y"], layers_of(arrays["x"], list(arrays["w"])))


def test_what_all_runs_share_or_hand_on_has_no_such_axis() -> None:
    """A shared weight and a carried input are one array."""
    shared = RELU.repeat(3, carry={"y": "x"}, shared="w")
    for p, name, shape in ((shared, "w", (3, 4, 4)), (LAYERS, "x", (3, 3, 4))):
        with pytest.raises(pm.DimensionError, match=f"simulate: '{name}' has shape"):
            pm.simulate(p, arrays_of(RELU) | {name: np.ones(shape)})
    with pytest.raises(pm.DimensionError, match=r"are \(4, 4\), or \(3, 4, 4\) for one a run"):
        pm.simulate(LAYERS, arrays_of(RELU) | {"w": np.ones((2, 4, 4))})


def test_repetitions_in_a_row_start_from_what_the_last_ones_made() -> None:
    """x doubled twice, then 1 added three times: 4 x + 3."""
    double, more = pm.elementwise("x*2", 4), pm.elementwise("x + 1", 4)
    p = pm.sequence(double.repeat(2, carry={"y": "x"}), more.repeat(3, carry={"y": "x"}), join={"y": "x"})
    x = np.arange(4.0)
    for staged in (p, pm.fuse(p), pm.tile(p, i=3)):
        run = pm.simulate(staged, {"x": x})
        np.testing.assert_array_equal(run.values["y_2"], 4 * x + 3)
        assert_counts_as_it_runs(staged, run)


def test_repetitions_of_repetitions_run_inside_each_other() -> None:
    """Twice (x doubled twice, then 1 added three times): 4 (4 x + 3) + 3, not all doublings first."""
    double, more = pm.elementwise("x*2", 4), pm.elementwise("x + 1", 4)
    p = pm.sequence(double.repeat(2, carry={"y": "x"}), more.repeat(3, carry={"y": "x"}), join={"y": "x"})
    twice = p.repeat(2, carry={"y_2": "x"})
    run = pm.simulate(twice, {"x": np.arange(4.0)})
    np.testing.assert_array_equal(run.values["y_2"], 4 * (4 * np.arange(4.0) + 3) + 3)
    assert_counts_as_it_runs(twice, run)


def test_each_outer_run_starts_from_the_input_where_nothing_is_handed_on() -> None:
    """Twice doubled, three times from the same x: 4 x, not 64 x."""
    p = pm.elementwise("x*2", 4).repeat(2, carry={"y": "x"}).repeat(3)
    np.testing.assert_array_equal(pm.simulate(p, {"x": np.arange(4.0)}).values["y"], 4 * np.arange(4.0))


def test_an_input_is_not_written_over() -> None:
    """The caller's arrays are what they were."""
    x = np.ones(4)
    pm.simulate(pm.elementwise("x*2", 4).repeat(3, carry={"y": "x"}), {"x": x})
    np.testing.assert_array_equal(x, np.ones(4))


def test_repetitions_that_nothing_explains_are_refused() -> None:
    """A kernel said to run 3 times by hand hands on nobody knows what."""
    p = pm.elementwise("x*2", 4)
    by_hand = replace(p, kernels=tuple([replace(kernel, repeat=3) for kernel in p.kernels]))
    for use in (lambda: pm.simulate(by_hand, {"x": np.ones(4)}), lambda: pm.check(by_hand)):
        with pytest.raises(pm.PerfModelError, match="runs 3 times, and nothing says what one run hands to the next"):
            use()


def test_check_runs_a_symbol_of_layers_three_times() -> None:
    """80 layers or n of them are checked at three, transformed before or after they are repeated."""
    layer = pm.program(
        pm.relu(pm.matmul(pm.tensor("x", {"m": "m", "k": "d"}), pm.tensor("w", {"k": "d", "n": "d"}))).named("y")
    )
    for times in ("layers", 80):
        after = pm.tile(pm.fuse(layer.repeat(times, carry={"y": "x"})), m=64, stream={"k": 32})
        before = pm.tile(pm.fuse(layer), m=64, stream={"k": 32}).repeat(times, carry={"y": "x"})
        assert pm.check(after)
        assert pm.check(before)


def test_check_sees_what_is_handed_on() -> None:
    """A program that claims to come from one with another carry differs from it in value."""
    x, z = pm.tensor("x", {"i": 4}), pm.tensor("z", {"i": 4})
    p = pm.program((x * 2 + z).named("y"))
    one, other = p.repeat(2, carry={"y": "x"}, shared="z"), p.repeat(2, carry={"y": "z"}, shared="x")
    found = pm.check(replace(one, parent=replace(other, parent=None)))
    assert "value of y" in repr(found)
    assert found.counts_equal


@settings(max_examples=40)
@given(composed())
def test_counts_of_any_sequence_of_repetitions_are_those_of_its_formulas(p: pm.Program) -> None:
    """Every load, store and operation, so often as the formulas say (a hull with gaps says that it counts more)."""
    assume(not hulls(p))
    for staged in (p, p.repeat(2)):
        assert_counts_as_it_runs(staged, pm.simulate(staged, arrays_of(p)))


def test_a_program_of_a_thousand_million_runs_is_refused() -> None:
    """It would run for days; the counts are there all the same, 10^9 times 4 multiplications."""
    p = pm.elementwise("x * 2", 4).repeat(10**9, carry={"y": "x"})
    assert p.flops == 4 * 10**9
    with pytest.raises(pm.PerfModelError, match="runs 1000000000 kernels one by one; at most"):
        pm.simulate(p, {"x": np.ones(4)})
