"""From expressions to steps: which formulas are counts, which are refused, and what is shared."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import sympy
from hypothesis import given, strategies as st

from perfmodel.errors import DimensionError, ExpressionError
from perfmodel.expressions import ceil_div, compile_formula, dims, evaluate, reals
from perfmodel.expressions.bounding import Plan, exact_values, planned
from perfmodel.expressions.divisibility import is_multiple
from perfmodel.expressions.lowering import lowered
from perfmodel.expressions.steps import Step, linearized, share

m, n, k = dims("m n k")
clk = reals("clk")

COUNTS = {
    "pairs": n * (n + 1) / 2,
    "pairs, multiplied out": n**2 / 2 + n / 2,
    "pairs and a band": n * (n + 1) / 2 - (sympy.Max(0, n - m) + 1) * sympy.Max(0, n - m) / 2,
    "squares": n * (n + 1) * (2 * n + 1) / 6,
    "pairs of blocks": ceil_div(n, 128) * (ceil_div(n, 128) - 1) / 2,
    "halves that meet": m / 2 + n * (n + 1) / 2 + m / 2,
    "a choice": sympy.Piecewise((m, m / 3 < n / 7), (n, True)),
    "a choice by a quantity": sympy.Piecewise((m, clk < 2), (n, True)),
    "choices in conditions": sympy.Piecewise((m, sympy.ITE(m < n, n > 3, m > 4)), (n, True)),
    "two conditions": sympy.Piecewise((m, (m < n) & ~sympy.Eq(m, 3)), (n, (m > 5) | (n > 5)), (0, True)),
    "remainder of fractions": 6 * sympy.Mod(m / 2, sympy.Rational(1, 3)),
}


@pytest.mark.parametrize("formula", list(COUNTS.values())[:-1], ids=list(COUNTS)[:-1])
def test_whole_valued_formulas_are_counts(formula: Any) -> None:
    """They come back as int64, although some hold fractions, and equal sympy's numbers."""
    names = sorted(formula.free_symbols, key=str)
    for point in ((1, 1, 1), (2, 7, 3), (300, 7, 1), (5, 5, 5)):
        values = dict(zip(names, point, strict=False))
        found = evaluate(formula, {name: [value] for name, value in values.items()})
        assert found.dtype == "int64"
        assert found[0] == formula.xreplace({name: sympy.Integer(value) for name, value in values.items()})


@pytest.mark.parametrize("formula", [n / 2, m * n / 2, n * (n + 1) / 3, m / n, 2.0 * m, sympy.sqrt(m) ** 2 * clk, clk])
def test_other_formulas_are_times(formula: Any) -> None:
    """What may be a fraction at some point is float64 at all points."""
    assert evaluate(formula, {symbol: [2] for symbol in formula.free_symbols}).dtype == "float64"


def test_a_remainder_of_fractions_is_exact() -> None:
    """m/2 mod 1/3 is (3m mod 2)/6."""
    found = evaluate(COUNTS["remainder of fractions"], m=range(1, 9))
    assert found.tolist() == [3 * a % 2 for a in range(1, 9)]


def test_a_quotient_with_factors_of_fractions_is_rounded() -> None:
    """ceil((n/2 + 1) (n + 2 ceil(n/32))), which is a half where n is odd: bytes of a masked tensor with scales."""
    found = evaluate(sympy.ceiling((n / 2 + 1) * (n + 2 * sympy.ceiling(n / 32))), n=range(1, 70))
    assert found.tolist() == [-(-(a + 2) * (a + 2 * -(-a // 32)) // 2) for a in range(1, 70)]


REFUSED = {
    "ceiling of a root": sympy.ceiling(sympy.sqrt(n)),
    "floor of a logarithm": sympy.floor(sympy.log(n, 2)),
    "ceiling of a float": sympy.ceiling(0.1 * n),
    "ceiling of a quantity": sympy.ceiling(n / clk),
    "remainder of a root": sympy.Mod(sympy.sqrt(n), 2),
    "remainder of a float": sympy.Mod(0.5 * n, 3),
    "remainder by a quotient": sympy.Mod(n, m / k),
    "unknown function": sympy.Function("f")(n),
    "gamma": sympy.factorial(n),
    "sine": sympy.sin(n),
    "sum without end": sympy.Sum(n, (k, 1, sympy.oo)),
    "sum to a fraction": sympy.Sum(n, (k, 1, m / 2)),
    "derivative": sympy.Derivative(sympy.Function("f")(n), n),
    "imaginary": sympy.I * n,
    "infinite": sympy.oo,
    "not a number": sympy.nan,
    "huge number": n + 10**400,
    "huge float": n + sympy.Float("1e400"),
    "tiny fraction": n / sympy.Integer(10) ** 400,
    "huge power": n**65,
    "open choice": sympy.Piecewise((n, n > 3)),
    "equal reals": sympy.Piecewise((n, sympy.Eq(clk, 2)), (1, True)),
    "plain symbol": 2 * sympy.Symbol("x"),
    "signed symbol": sympy.Symbol("x", integer=True),
    "matrix": sympy.MatrixSymbol("A", 2, 2)[0, 0],
}


@pytest.mark.parametrize("formula", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_computed_exactly_is_refused(formula: Any) -> None:
    """With the piece at fault, before any number is computed."""
    with pytest.raises(ExpressionError, match=r"^compile: "):
        compile_formula(formula)


def test_a_deep_nest_is_refused() -> None:
    """Not Python's RecursionError."""
    formula = n
    for _ in range(150):
        formula = sympy.Max(1, sympy.Mul(2, sympy.Add(1, formula, evaluate=False), evaluate=False), evaluate=False)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(600)
    try:
        with pytest.raises(ExpressionError, match="nested too deeply"):
            compile_formula(formula)
    finally:
        sys.setrecursionlimit(limit)


@given(st.lists(st.integers(-6, 6), min_size=2, max_size=4), st.integers(1, 24))
def test_multiples_are_recognised_exactly(coefficients: list[int], divisor: int) -> None:
    """A polynomial is a multiple everywhere if and only if it is at one whole period of its residues."""
    polynomial = sympy.Add(*(c * n**power for power, c in enumerate(coefficients)))

    def value(a: int) -> int:
        return sum(c * a**power for power, c in enumerate(coefficients))

    assert is_multiple(polynomial, divisor) == all(value(a) % divisor == 0 for a in range(divisor))


def test_common_pairs_are_computed_once() -> None:
    """k*m*n, k*m and k*m + 1 hold one product k*m: two multiplications in all."""
    tape = lowered([k * m * n, k * m, k * m + 1])
    assert [step.op for step in tape.steps].count("mul") == 2


def test_pairs_are_shared_between_sums_too() -> None:
    """m + n + k and m + n + 1: two additions and one, not four."""
    tape = lowered([m + n + k, m + n + 1])
    assert [step.op for step in tape.steps].count("add") == 1 + 2


def test_sharing_leaves_each_sum_its_terms() -> None:
    """Terms that occur twice in a sum are still there twice."""
    nodes = [Step("symbol", value=name) for name in "abc"] + [Step("mul", (0, 0, 1)), Step("mul", (0, 0, 2))]
    share(nodes)
    tape = linearized(nodes, [3, 4])
    found = exact_values(tape, {"a": 5, "b": 7, "c": 11})
    assert [found[output] for output in tape.outputs] == [5 * 5 * 7, 5 * 5 * 11]
    assert [step.op for step in tape.steps].count("mul") == 1 + 2


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (2 * m * n + 1, "2*m*n + 1"),
        (ceil_div(m, 256), "ceil(m/256)"),
        (ceil_div(m + n, k), "ceil((m + n)/k)"),
        ((m + n) * k, "k*(m + n)"),
        (m - n, "m - n"),
        (sympy.Max(m, n - 1), "max(m, n - 1)"),
        (m / (n * k), "m/(k*n)"),
        (sympy.Piecewise((m, (m < n) & (n <= 2 * k)), (0, True)), "where(m < n and n <= 2*k, m, 0)"),
    ],
)
def test_steps_are_shown_as_a_person_writes_them(formula: Any, text: str) -> None:
    """So that an error names the part that overflows."""
    tape = lowered([formula])
    assert tape.text(tape.outputs[0]) == text


def test_a_long_step_is_shown_in_part() -> None:
    """A message stays readable, and quick to write, whatever the formula."""
    tape = lowered([sympy.Max(*(m**power + n for power in range(1, 40)), evaluate=False)])
    assert len(tape.text(tape.outputs[0])) <= 103


PLANS = {
    "small": (m * n, {"m": (1, 2**20), "n": (1, 2**20)}, False),
    "at the end of float64": (m * n, {"m": (1, 2**26), "n": (1, 2**26)}, True),
    "at the end of int64": (m * n, {"m": (1, 2**31), "n": (1, 2**31)}, True),
    "a large time": (m * n / 3, {"m": (1, 2**40), "n": (1, 2**40)}, False),
    "a large ceiling in a time": (ceil_div(m * n, 3) / 2, {"m": (1, 2**30), "n": (1, 2**30)}, True),
    "a large comparison in a time": (
        sympy.Piecewise((clk, m * n < 2**60), (1, True)),
        {"m": (1, 2**30), "n": (1, 2**30)},
        True,
    ),
}


@pytest.mark.parametrize(("formula", "bounds", "whole"), PLANS.values(), ids=PLANS)
def test_counts_are_planned_in_float64_below_2_to_the_52(formula: Any, bounds: Any, whole: bool) -> None:
    """Else in int64; a number that may round (the product in a time) needs neither."""
    assert planned(lowered([formula]), {"clk": (1.0, 2.0)} | bounds).whole == whole


def test_nothing_is_planned_beyond_int64() -> None:
    """2^63 itself is one too many."""
    with pytest.raises(DimensionError, match=rf"m\*n would overflow: it reaches {2**63} for m up to {2**31}"):
        planned(lowered([m * n]), {"m": (1, 2**31), "n": (1, 2**32)})
    with pytest.raises(DimensionError, match=r"beyond 2\^1024"):
        planned(lowered([m**64]), {"m": (1, 2**52)})


def test_guards_stand_only_where_bounds_leave_a_doubt() -> None:
    """m - n is never zero for m from 5 and n up to 4."""
    tape = lowered([1 / (m - n)])
    assert planned(tape, {"m": (5, 9), "n": (1, 4)}) == Plan()
    assert [rule for _, rule in planned(tape, {"m": (4, 9), "n": (1, 4)}).guards] == ["nonzero", "finite"]


def small_bounds(points: list[tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return {name: (min(values), max(values)) for name, values in zip("mn", zip(*points, strict=True), strict=True)}


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=6), st.data())
def test_bounds_hold_every_value(points: list[tuple[int, int]], data: st.DataObject) -> None:
    """What a formula takes at points lies in the interval found from the ends of its inputs."""
    formula = data.draw(
        st.sampled_from(
            [
                m - n * 3,
                ceil_div(m - n, 7) * n,
                abs(m - n) * -2,
                sympy.Mod(m - 20, n),
                sympy.floor(-m / n),
                sympy.Max(m - n, -5) ** 2,
                sympy.Min(m, n - 9) * m,
                sympy.Piecewise((m, m < n), (-n, True)),
            ]
        )
    )
    found = [formula.xreplace({m: sympy.Integer(a), n: sympy.Integer(b)}) for a, b in points]
    tape = lowered([formula * 2**46])
    whole = planned(tape, small_bounds(points)).whole
    assert whole or max(map(abs, found)) < 2**6
