"""Relations from sympy and from text: what is read, and what is refused by name."""

from __future__ import annotations

import pytest
import sympy

from perfmodel import PerfModelError, dims, reals, solve
from perfmodel.solving.relations import relation_of

n = dims("n")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("n <= 0.3e2", "n <= 30"),
        ("-n + 3 < 0", "n >= 4"),
        ("max(n, 7) == 7", "n <= 7"),
        ("ceil(n/4) <= 2", "n <= 8"),
        ("n**2 > 99", "n >= 10"),
        ("1/(n - 5) >= 0.1", "(n >= 6) & (n <= 15)"),  # a pole at 5, not a root
        ("min(n, 9) >= 10", "no whole number"),
    ],
)
def test_text_is_read_as_python_writes_it(text: str, answer: str) -> None:
    assert solve(text, "n").answer.startswith(answer)


@pytest.mark.parametrize(
    "text",
    ["", "n", "n = 3", "n != 3", "n <= x.y", "n <= f(3)", "n <= 'a'", "n <= True", "n <= 1/0", "n >= 1e999",
     "n <= 10**99999999", "((((10**16)**16)**16)**16)**16 <= n", "n" + "+n" * 6000 + " <= 3", "[n] <= 3",
     "n <= lambda: 3", "n @ n <= 3", "n <= max(3, key=n)", "(n + 1)**64**64 <= 3"],
)  # fmt: skip
def test_text_that_is_no_comparison_is_refused(text: str) -> None:
    with pytest.raises(PerfModelError):
        solve(text, "n")


def test_two_symbols_of_one_name_are_refused() -> None:
    """n from dims and a plain n are different: one would silently stay."""
    with pytest.raises(PerfModelError, match="different symbols of the name 'n'"):
        solve(n * sympy.Symbol("n") <= 9, "n")


def test_powers_have_a_limit() -> None:
    with pytest.raises(PerfModelError, match="a power above 64"):
        solve(sympy.Le((n + 1) ** 70, 10, evaluate=False), n)


def test_floats_are_the_decimals_that_are_written() -> None:
    assert relation_of(reals("r") <= 0.1).right == sympy.Rational(1, 10)
