"""Latency: the threads that hide it, beside a core run cycle by cycle; and what has to be in flight."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.mechanisms.hiding import busy_cycles


@given(st.integers(0, 40), st.integers(1, 12), st.integers(1, 12), st.integers(1, 3))
@settings(max_examples=150)
def test_a_core_is_busy_as_the_formula_says(latency: int, work: int, threads: int, rounds: int) -> None:
    """Cycle by cycle, after all threads have begun: the share of cycles that issue, exactly."""
    cycles, busy = busy_cycles(latency, work, threads, rounds)
    assert busy == pytest.approx(cycles * pm.latency_hiding(latency, work).busy_fraction(threads), abs=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 10**4), st.integers(1, 8))
def test_the_threads_that_hide_it_are_the_fewest(latency: int, work: int, schedulers: int) -> None:
    """With them every cycle issues; with one fewer, some do not."""
    found = pm.latency_hiding(latency, work, schedulers=schedulers)
    assert found.busy_fraction(found.threads) == 1
    if found.threads > 1:
        assert found.busy_fraction(found.threads - 1) < 1


def test_three_instructions_and_a_load_of_twelve_cycles() -> None:
    """1 + 12 / 3 threads, and 1 + 12 / 6 where each has six instructions; four schedulers need four times as many."""
    assert pm.latency_hiding(12, work_cycles=3).threads == 5
    assert pm.latency_hiding(12, work_cycles=6).threads == 3
    four = pm.latency_hiding(12, work_cycles=3, schedulers=4)
    assert four.threads == 4 * 5
    assert "4 schedulers x (1 + ceil(12 / 3)) = 20" in four.explain()
    assert four.busy_fraction(6) == (2 * 6 + 2 * 3) / (4 * 15)  # two of the schedulers have two threads


def test_little_is_bandwidth_times_latency() -> None:
    """2 TB/s for 500 ns is 1 MB; half of it in flight reaches half, and twice it no more than all."""
    found = pm.littles_law(2e12, 500e-9)
    assert found.bytes_in_flight == 1e6
    assert found.requests == -(-1_000_000 // 128)
    assert [found.bandwidth_with(each) for each in (5e5, 1e6, 2e6)] == [1e12, 2e12, 2e12]
    chip = pm.littles_law("h100-sxm", 600e-9)
    assert chip.bytes_per_unit == 3.35232e12 * 600e-9 / 132
    assert chip == pm.littles_law(pm.machine("h100-sxm"), 600e-9)


def test_what_was_given_stands_in_the_expression() -> None:
    """Arguments that are as usual are left out."""
    assert pm.latency_hiding(400, 20, schedulers=4).made == "latency_hiding(400, work_cycles=20, schedulers=4)"
    assert pm.littles_law("h100-sxm", 6e-7).made == "littles_law('h100-sxm', 6e-07)"


@pytest.mark.parametrize("value", [-1, True, 1.5, float("nan"), "12", None, 10**20])
def test_cycles_that_are_none_are_refused(value: Any) -> None:
    """Whole numbers only."""
    for arguments in ({"latency_cycles": value}, {"latency_cycles": 1, "work_cycles": value}):
        with pytest.raises(pm.DimensionError, match="latency_hiding: "):
            pm.latency_hiding(**arguments)
    with pytest.raises(pm.DimensionError, match="busy_fraction: threads"):
        pm.latency_hiding(12).busy_fraction(value)


@pytest.mark.parametrize("value", [0, -1.0, True, float("nan"), float("inf"), None, [1]])
def test_rates_and_times_that_are_none_are_refused(value: Any) -> None:
    """Positive and finite; a formula is written by hand."""
    with pytest.raises(pm.MachineError):
        pm.littles_law(value, 1e-6)
    with pytest.raises(pm.MachineError):
        pm.littles_law(1e12, value)
    with pytest.raises(pm.MachineError):
        pm.littles_law(1e12, 1e-6).bandwidth_with(value)
    with pytest.raises(pm.DimensionError, match="not a formula"):
        pm.littles_law(pm.reals("rate"), 1e-6)
    with pytest.raises(pm.DimensionError, match="request_bytes"):
        pm.littles_law(1e12, 1e-6, request_bytes=0)
