"""Amdahl's and Gustafson's laws, and the same work run event by event."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

import perfmodel as pm

SHARES = st.fractions(0, 1, max_denominator=50)


@given(parallel=SHARES, processors=st.integers(1, 40), pieces=st.integers(1, 4))
def test_the_laws_are_the_times_of_a_run(parallel: Fraction, processors: int, pieces: int) -> None:
    """A serial part, then equal pieces, so many a processor: one over the time, or the work done in a time of 1."""
    fixed, grown = pm.amdahl(parallel, processors), pm.gustafson(parallel, processors)
    assert float(1 / fixed.run(pieces * processors).makespan) == pytest.approx(fixed.speedup)
    run = grown.run(pieces * processors)
    assert run.makespan == 1
    assert float(run.busy) == pytest.approx(grown.speedup)


@given(parallel=SHARES, processors=st.integers(1, 1000))
def test_no_number_of_processors_passes_the_limit(parallel: Fraction, processors: int) -> None:
    """Amdahl: 1 / (1 - p) at most, and never more than the processors; Gustafson is never below."""
    fixed, grown = pm.amdahl(parallel, processors), pm.gustafson(parallel, processors)
    assert fixed.speedup <= fixed.limit
    assert 1 <= fixed.speedup <= grown.speedup <= processors + 1e-9
    assert fixed.efficiency == pytest.approx(fixed.speedup / processors)


def test_figures() -> None:
    """95 % parallel: 20 times at most; 8 processors 1 / (0.05 + 0.95 / 8)."""
    found = pm.amdahl(0.95, 8)
    assert (found.limit, found.speedup) == (20, pytest.approx(1 / (0.05 + 0.95 / 8)))
    assert pm.gustafson(0.95, 8).speedup == pytest.approx(0.05 + 0.95 * 8)
    assert (pm.amdahl(1, 8).limit, pm.gustafson(0, 8).limit) == (math.inf, 1)


def test_uneven_pieces_take_longer_than_the_law() -> None:
    """9 pieces on 8 processors need two rounds; the law takes work to be divided at will."""
    assert float(pm.amdahl(1, 8).run(9).makespan) == pytest.approx(2 / 9)


def test_processors_may_be_a_symbol() -> None:
    """The law as a formula, bound to a number, is the number's."""
    for law in (pm.amdahl, pm.gustafson):
        assert pm.evaluate(law(0.95, "n").speedup, n=8) == pytest.approx(law(0.95, 8).speedup)
        assert pm.evaluate(law(0.95, "n").efficiency, n=8) == pytest.approx(law(0.95, 8).efficiency)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pm.amdahl(1.1, 8), "share of 0 to 1"),
        (lambda: pm.amdahl(-0.1, 8), "0 or more"),
        (lambda: pm.amdahl(float("nan"), 8), "0 or more"),
        (lambda: pm.gustafson(None, 8), "parallel"),
        (lambda: pm.gustafson(0.5, 0), "processors = 0"),
        (lambda: pm.amdahl(0.5, "n").run(), "give n values"),
        (lambda: pm.amdahl(0.5, 4).run(0), "pieces = 0"),
        (lambda: pm.amdahl(0.5, 4).run(2**40), "too many"),
    ],
)
def test_what_has_no_answer_is_refused(call: Any, words: str) -> None:
    """Errors of our own family that name the value and the rule."""
    with pytest.raises(pm.PerfModelError, match=words):
        call()


def test_the_law_is_part_of_the_speedup() -> None:
    """The same share and processors under the other law are another speedup, and show its name."""
    assert pm.amdahl(0.5, 4) != pm.gustafson(0.5, 4)
    assert [value.made for value in (pm.amdahl(0.95, 8), pm.gustafson(0.5, "n"))] == [
        "amdahl(parallel=0.95, processors=8)", "gustafson(parallel=0.5, processors=n)",
    ]  # fmt: skip
