"""Conditions on real estimates: each value of the range is what ``estimate`` says of it."""

from __future__ import annotations

import pytest

from perfmodel import SolveError, dims, estimate, matmul, reals, solve, tile

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
        (lambda: solve(THIN, "h100-sxm", n, bound="compute", effects="real"), "ask in text"),
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
    assert "the least time is" in found.reason
    assert reals("time_s").name in str(found.relation)
