"""Unknowns that are positive reals: intervals with the ends at which the relation holds."""

from __future__ import annotations

import pytest
import sympy

from perfmodel import PerfModelError, reals, solve
from perfmodel.expressions.relations import Relation
from perfmodel.solving.real_intervals import by_roots

r = reals("r")
oo = sympy.oo


@pytest.mark.parametrize(
    ("relation", "intervals", "answer"),
    [
        (sympy.Ge(r**2 - 5 * r + 6, 0), ((0, 2), (3, oo)), (r >= 3) | (r <= 2)),
        (sympy.Gt(r**2 - 5 * r + 6, 0), ((0, 2), (3, oo)), (r > 3) | (r < 2)),
        (sympy.Le((r - 2) ** 2, 0, evaluate=False), ((2, 2),), sympy.Eq(r, 2)),  # the sides touch
        (sympy.Gt((r - 2) ** 2, 0, evaluate=False), ((0, 2), (2, oo)), (r > 2) | (r < 2)),
        (sympy.Eq(r**3 - 7 * r + 6, 0), ((1, 1), (2, 2)), sympy.Eq(r, 1) | sympy.Eq(r, 2)),
        (sympy.Ge(1 / (r - 5), sympy.Rational(1, 10)), ((5, 15),), (r > 5) & (r <= 15)),  # no number at 5
        (sympy.Eq(sympy.Max(r, 4), 4, evaluate=False), ((0, 4),), r <= 4),  # equal on a whole interval
    ],
)
def test_intervals_have_the_ends_that_hold(relation, intervals, answer) -> None:
    found = solve(relation, r)
    assert found.intervals == intervals
    assert found.expression == answer


def test_a_ceiling_of_a_real_has_no_closed_form() -> None:
    with pytest.raises(PerfModelError, match="no closed form in r"):
        solve(sympy.Ge(sympy.ceiling(r), 3), r)


def test_a_negative_unknown_is_refused() -> None:
    with pytest.raises(PerfModelError, match="never positive"):
        solve(sympy.Symbol("x", negative=True) * 3 + 4 <= 0, "x")


def test_roots_stay_exact() -> None:
    assert by_roots(Relation(r**2, ">=", sympy.Integer(2)), r) == (((sympy.sqrt(2), oo),), [sympy.sqrt(2)])
