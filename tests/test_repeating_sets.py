"""Sets of whole numbers that repeat, against sets of their values."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import sympy
from hypothesis import given, settings, strategies as st

from perfmodel import dims, solve
from perfmodel.solving.answers import ends_of
from perfmodel.solving.patterns import Run, Runs, both, combine, either, listed, tidy

n = dims("n")
LAST = 400


@st.composite
def sets(draw: Any) -> Runs:
    """Runs apart from each other, the last perhaps without end."""
    cuts = sorted(draw(st.sets(st.integers(1, 150), min_size=2, max_size=6)))
    runs = []
    for first, after in list(pairwise([*cuts, None]))[:: draw(st.integers(1, 2))]:
        period = draw(st.integers(1, 7))
        runs.append(Run(first or 1, None if after is None else after - 1, period, draw(st.integers(0, 2**period - 1))))
    return tidy(runs)


def values(runs: Runs) -> set[int]:
    return {value for value in range(1, LAST) if any(run.has(value) for run in runs)}


@given(sets(), sets())
def test_what_is_joined_holds_the_values_of_both(one: Runs, other: Runs) -> None:
    assert values(combine([one, other], both)) == values(one) & values(other)
    assert values(combine([one, other], either)) == values(one) | values(other)
    assert values(combine([one], lambda masks, full: full & ~masks[0])) == set(range(1, LAST)) - values(one)


@given(sets())
def test_lists_and_ends_are_those_of_the_values(runs: Runs) -> None:
    intervals, complete = listed(runs)
    held = {value for first, last in intervals for value in range(first, min(last or LAST, LAST) + 1)}
    assert {value for value in held if value < LAST} == values(runs)
    assert complete == all(run.last is not None or run.period == 1 for run in runs)
    assert tidy(runs) == runs
    for run in runs:
        inside = sorted(values((run,)))
        first, last = ends_of(run)
        assert not inside or (first == inside[0] and (last is None or last == inside[-1]))


@given(
    *[st.integers(2, 12), st.integers(0, 11)] * 2,
    st.integers(1, 200),
    st.sampled_from(["and", "or", "and not", "or not"]),
)
@settings(max_examples=25)
def test_joint_conditions_are_what_trying_finds(
    one: int, rest: int, other: int, last: int, edge: int, join: str
) -> None:
    """Two remainders and an edge, joined."""
    found = solve(f"(n % {one} <= {rest} {join} n % {other} == {last}) and n >= {edge} or n*n == {edge}", n)
    joins = {
        "and": lambda a, b: a and b,
        "or": lambda a, b: a or b,
        "and not": lambda a, b: a and not b,
        "or not": lambda a, b: a or not b,
    }
    for at in (*range(1, LAST), 10**12 + 7, 2**60):
        expected = (joins[join](at % one <= rest, at % other == last) and at >= edge) or at * at == edge
        assert any(run.has(at) for run in found.pattern) == expected
        assert at % 7 or (found.expression.xreplace({n: sympy.Integer(at)}) == sympy.true) == expected
