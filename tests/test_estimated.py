"""Conditions on real estimates: each value of the range is what ``estimate`` says of it."""

from __future__ import annotations

import pytest

from perfmodel import SolveError, dims, estimate, matmul, reals, solve, sweep, tile

n = dims("n")
THIN = matmul(n, 1024, 1024)


def test_each_value_is_estimated() -> None:
    found = solve(THIN, "h100-sxm", n, where="time_s <= 6e-6", effects="real", within=(1, 600))
    held = [s for first, last in found.intervals for s in range(first, last + 1)]
    assert held == [s for s in range(1, 601) if estimate(THIN.at(n=s), "h100-sxm").time_s <= 6e-6]


def test_rates_follow_from_the_time() -> None:
    found = solve(THIN, "h100-sxm", n, where="flops_per_s >= 1.5e14", effects="real", within=(200, 600))
    held = [s for first, last in found.intervals for s in range(first, last + 1)]
    assert held == [s for s in range(200, 601) if estimate(THIN.at(n=s), "h100-sxm").flops_per_s >= 1.5e14]
    assert 0 < len(held) < 401


def test_one_effect_may_be_asked_for() -> None:
    ideal = solve(THIN, "h100-sxm", n, where="time_s <= 1e-5", within=(1, 8192))
    roofline = solve(THIN, "h100-sxm", n, where="time_s <= 1e-5", effects="roofline", within=(1, 8192))
    assert roofline.intervals == ideal.intervals


def test_values_without_a_loop_are_estimated_by_themselves() -> None:
    tiled = tile(matmul(n, n, n), grid={"m": 64, "n": 64}, stream={"k": 32})
    limit = estimate(tiled.at(n=20), "h100-sxm").time_s
    found = solve(tiled, "h100-sxm", n, where=f"time_s <= {limit!r}", effects="real", within=(1, 64))
    held = [s for first, last in found.intervals for s in range(first, last + 1)]
    assert held == [s for s in range(1, 65) if estimate(tiled.at(n=s), "h100-sxm").time_s <= limit]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: solve(THIN, n, where="time_s <= 1", effects="real"), "of a machine"),
        (lambda: solve(THIN, "h100-sxm", n, bound="power", effects="real"), "expected one of compute, memory, launch"),
        (lambda: solve(THIN, n, bound="compute", effects="real"), "asks about a machine"),
        (lambda: solve(matmul(n, "m", 8), "h100-sxm", n, where="time_s <= 1", effects="real"), "values for all others"),
        (lambda: solve(matmul(n, n, n, dtype="nvfp4"), "a100-sxm-80gb", n, where="time_s <= 1", effects="real"),
         "no time without a rate"),
    ],
)  # fmt: skip
def test_what_cannot_be_estimated_is_refused(asked, message: str) -> None:
    with pytest.raises(SolveError, match=message):
        asked()


def test_no_value_says_what_comes_nearest() -> None:
    found = solve(THIN, "h100-sxm", n, where="time_s <= 1e-9", effects="real", within=(1, 64))
    nearest = min(range(1, 65), key=lambda size: estimate(THIN.at(n=size), "h100-sxm").time_s)
    assert f"nearest is n = {nearest}, with" in found.reason
    assert reals("time_s").name in str(found.relation)


@pytest.mark.parametrize("quantity", ["fraction_of_peak", "fraction_of_bandwidth", "flops_per_s", "bytes_per_s"])
def test_quantities_are_those_of_the_estimate_and_of_the_sweep(quantity: str) -> None:
    """A value given back to solve is reached where the estimate has it; a sweep has the same column."""
    at = {s: getattr(estimate(THIN.at(n=s), "h100-sxm"), quantity) for s in range(64, 129)}
    found = solve(THIN, "h100-sxm", n, where=f"{quantity} >= {at[100]!r}", effects="real", within=(64, 128))
    held = [s for first, last in found.intervals for s in range(first, last + 1)]
    assert held == [s for s in at if at[s] >= at[100] * (1 - 1e-12)]
    table = sweep(THIN, {"n": list(at)}, on="h100-sxm", metrics=quantity)
    assert table[quantity].tolist() == pytest.approx(list(at.values()))


@pytest.mark.parametrize("bound", ["compute", "memory", "launch"])
def test_bounds_are_those_of_the_estimate(bound: str) -> None:
    """Also of a program whose loop is dropped at small sizes."""
    for program in (matmul(n, n, n), tile(matmul(n, n, n), grid={"m": 64, "n": 64}, stream={"k": 32})):
        tried = [16, 48, 64, 256, 1024, 2048, 4096, 8192]
        found = solve(program, "h100-sxm", n, bound=bound, effects="real", within=tried)
        held = [s for s in tried if any(first <= s <= last for first, last in found.intervals)]
        assert held == [s for s in tried if estimate(program.at(n=s), "h100-sxm").bound == bound]


def test_what_fits_is_the_same_with_all_effects() -> None:
    assert solve(matmul(n, n, n), "l4", n, fits=True, effects="real") == solve(matmul(n, n, n), "l4", n, fits=True)
