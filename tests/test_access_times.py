"""Average memory access time: the formula, accesses one by one, refusals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.mechanisms.access_times import local_miss_rates


def test_levels_nest() -> None:
    """1 + 5 % of (10 + 20 % of 100)."""
    found = pm.amat([1, 10, 100], miss_rates=[0.05, 0.2])
    assert found.time == pytest.approx(1 + 0.05 * (10 + 0.2 * 100))
    assert found.reach == pytest.approx((1, 0.05, 0.05 * 0.2))
    assert sum(found.parts) == pytest.approx(found.time)
    assert pm.amat([7]).time == 7


@given(data=st.data(), times=st.lists(st.integers(0, 200), min_size=1, max_size=4))
def test_the_formula_is_the_mean_over_the_accesses(data: Any, times: list[int]) -> None:
    """Walk each access down to the level that answers; the local miss rates of the trace give the same mean."""
    served = data.draw(st.lists(st.integers(0, len(times) - 1), min_size=1, max_size=60))
    found = pm.amat(times, local_miss_rates(served, len(times)))
    spent = 0
    for level in served:
        for place in range(level + 1):
            spent += times[place]
    assert found.time == pytest.approx(spent / len(served))
    assert found.run(served) == pytest.approx(spent / len(served))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pm.amat([]), "0 times and 0 miss rates"),
        (lambda: pm.amat([1, 10]), "2 times and 0 miss rates"),
        (lambda: pm.amat([1, 10], [1.5]), "share of 0 to 1"),
        (lambda: pm.amat([1, 10], [float("nan")]), "miss_rates"),
        (lambda: pm.amat([-1]), "times"),
        (lambda: pm.amat("12"), "expected a list"),
        (lambda: pm.amat(4), "expected a list"),
        (lambda: pm.amat([1, 10], [0.5]).run([2]), "expected 0 to 1"),
        (lambda: pm.amat([1, 10], [0.5]).run([]), "0 accesses"),
        (lambda: pm.amat([1, 10], [0.5]).run([True]), "level True"),
    ],
)
def test_what_has_no_answer_is_refused(call: Any, words: str) -> None:
    """Errors of our own family that name the value and the rule."""
    with pytest.raises(pm.PerfModelError, match=words):
        call()


def test_what_was_given_is_shown() -> None:
    """Times in any exact form are the same times; the formula has them nested."""
    found = pm.amat([1, 10, 100], [0.05, 0.2])
    assert found == pm.amat((1.0, "10", 100), (0.05, 0.2))
    assert "1 + 0.05 * (10 + 0.2 * 100)" in repr(found)
    assert found.to_dict()["time"] == found.time
    assert "level 3  100 * 1 % = 1" in found.explain()
