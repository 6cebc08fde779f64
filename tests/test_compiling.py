"""Compiled formulas: how they are called, what they return and refuse; test_exactness has the numbers."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy

from perfmodel.errors import DimensionError, ExpressionError, LabelError, PerfModelError
from perfmodel.expressions import ceil_div, compile_formula, dims, evaluate, reals, remainder

m, n, k = dims("m n k")
clk = reals("clk")
TILES = ceil_div(m, 256) * ceil_div(n, 128)


def test_arrays_broadcast_and_keep_their_shape() -> None:
    """A column, a row and a number give a table; results do not depend on how the inputs lie in memory."""
    column, row = np.arange(1, 301)[:, None], np.arange(1, 201)
    table = evaluate(m * n + k, m=column, n=row, k=7)
    assert table.tolist() == [[a * b + 7 for b in range(1, 201)] for a in range(1, 301)]
    turned = np.asfortranarray(np.broadcast_to(column, (300, 200)))
    assert (evaluate(m * n + k, m=turned, n=row[::-1], k=7)[:, ::-1] == table).all()
    assert evaluate(m * n, m=np.ones((2, 0, 3), int), n=5).shape == (2, 0, 3)
    with pytest.raises(DimensionError, match=r"m \(2,\), n \(3,\)"):
        evaluate(m * n, m=[1, 2], n=[1, 2, 3])


def test_a_mapping_of_formulas_gives_a_dict() -> None:
    """Names in the order given; numbers, counts and times side by side."""
    found = evaluate({"two": 2, "count": m * n, "time": m / 3}, m=[3, 6], n=4)
    assert list(found) == ["two", "count", "time"]
    assert [value.tolist() for value in found.values()] == [[2, 2], [12, 24], [1.0, 2.0]]
    assert evaluate({"two": 2, "count": m * n}, m=3, n=4) == {"two": 2, "count": 12}


def test_a_formula_without_symbols_is_its_number() -> None:
    """An int, a fraction, and an int of many points."""
    assert (evaluate(5), evaluate(Fraction(1, 4)), evaluate(sympy.Integer(7))) == (5, 0.25, 7)
    assert compile_formula(5, symbols="m")(m=[1, 2, 3]).tolist() == [5, 5, 5]


def test_symbols_may_be_declared() -> None:
    """The function then takes them all, in text or as symbols; none of the formula's may be left out."""
    assert compile_formula(2 * m, symbols="n m").symbols == ("m", "n")
    assert compile_formula(2 * m, symbols=[n, "m"])(m=3, n=[1, 1]).tolist() == [6, 6]
    assert compile_formula(m / clk, symbols="m clk").symbols == ("clk", "m")
    with pytest.raises(LabelError, match="leaves out"):
        compile_formula(m * n, symbols="m")


@pytest.mark.parametrize(
    ("given_values", "said"),
    [
        ({"m": 1}, "no value for n"),
        ({}, "m, n"),
        ({"m": 1, "n": 1, "o": 1}, "no symbol 'o'"),
        ({"m": 1, "nn": 1}, "did you mean 'n'"),
        ([1, 2], "by name"),
    ],
)
def test_names_that_do_not_fit_are_refused(given_values: Any, said: str) -> None:
    """Missing and unknown names, with near misses, and values without names."""
    with pytest.raises(LabelError, match=said):
        compile_formula(m * n)(given_values)


def test_a_value_is_given_once() -> None:
    """By keyword or in the mapping, under its name or as its symbol."""
    assert evaluate(m * n, {m: 2}, n=3) == 6
    with pytest.raises(LabelError, match="twice"):
        evaluate(m * n, {m: 2, "n": 1}, m=3)


def test_two_symbols_of_one_name_are_refused() -> None:
    """m as a dimension and m as a quantity could not both be given by name."""
    with pytest.raises(LabelError, match="both named 'm'"):
        compile_formula(m + reals("m"))


@pytest.mark.parametrize("formula", ["2*m", "__import__('os')", True, None, [m], {}, {1: m}, {"a": "m"}, m < n, 1j])
def test_what_is_no_formula_is_refused(formula: Any) -> None:
    """Text above all: sympy would run it."""
    with pytest.raises(ExpressionError, match="compile"):
        compile_formula(formula)


def test_a_formula_is_compiled_once() -> None:
    """The same formula is the same object; a count and a float of equal value are two."""
    assert compile_formula(ceil_div(m, 7)) is compile_formula(ceil_div(m, 7))
    assert [type(compile_formula(two)()) for two in (2, 2.0)] == [int, float]


def test_a_compiled_formula_is_a_value() -> None:
    """It compares, hashes, pickles, shows its formula and cannot be changed."""
    for formula in (ceil_div(m, 256) * remainder(n, 7), {"a": m, "b": clk / 2}):
        compiled = compile_formula(formula)
        again = pickle.loads(pickle.dumps(compiled))
        assert again == compiled
        assert hash(again) == hash(compiled)
        assert repr(compiled) == f"Compiled({formula})"
        with pytest.raises(AttributeError):
            compiled.formulas = ()  # type: ignore[misc]
    assert compile_formula(m) != compile_formula(n)


def test_no_text_of_the_user_gets_into_the_code() -> None:
    """A symbol may be called anything: in the code it is x0."""
    evil = sympy.Symbol("m\n    import os; os.abort()  #", integer=True, positive=True)
    compiled = compile_formula(ceil_div(evil, 3) * clk)
    assert "abort" not in compiled.source
    assert compiled({evil: [4], "clk": 1.5}).tolist() == [2 * 1.5]


def test_the_code_computes_common_parts_once() -> None:
    """Two ceilings and a product, though all three formulas hold them."""
    source = compile_formula({"tiles": TILES, "waves": ceil_div(TILES, 132), "work": TILES * k * 2}).source
    assert source.count("ceil(") == 3
    # m/256 and n/128 (exact as products with powers of two), the product of the two ceilings, times k, times 2
    assert source.count("multiply(") == 2 + 1 + 1 + 1
    assert source.count("divide(") == 1
    assert "**" not in source


BAD = [float("nan"), 0, -3, 2.5, True, "x", None, 10**18, 10**5000, [1, 0], [float("nan")]]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: type(bad).__name__)
def test_bad_values_never_give_a_number(bad: Any) -> None:
    """Whatever the way they come in, the error is ours and names the symbol."""
    for value in (bad, [bad], [1, bad]):
        with pytest.raises(PerfModelError, match="m"):
            evaluate(ceil_div(m, 3), m=value)


@pytest.mark.parametrize("largest", [2**10, 2**51])
def test_floats_are_the_counts_as_floats(largest: int) -> None:
    """floats gives what the call gives, rounded to float64 once, also where the counts go beyond 2^53."""
    sizes = {"m": np.array([1, 7, largest - 1]), "n": np.array([3, 1000, 1001])}
    formula = compile_formula({"product": m * n, "tiles": TILES, "m": m, "half": m / 2})
    found, exact = formula.floats(sizes), formula(sizes)
    for name in exact:
        assert found[name].dtype == np.float64
        assert found[name].tolist() == exact[name].astype(float).tolist()


def test_floats_of_symbols_beside_formulas() -> None:
    """Results that are the inputs themselves: each an array of its own, in the joint shape, inputs left alone."""
    rows, columns = np.arange(1, 20_001)[:, None], np.array([3, 4], dtype="int16")
    found = compile_formula({"m": m, "again": m, "n": n, "both": m * n - 1}).floats({"m": rows, "n": columns})
    assert all(each.dtype == "float64" and each.shape == (20_000, 2) for each in found.values())
    assert (found["m"] == rows).all()
    assert (found["n"] == columns).all()
    assert (found["both"] == rows * columns - 1).all()
    given = np.arange(1.0, 20_001.0)
    one = compile_formula({"m": m, "again": m}).floats({"m": given})
    one["m"][:] = 0
    assert (given == rows[:, 0]).all()
    assert (one["again"] == given).all()


def test_floats_of_numbers_are_floats() -> None:
    """A number for every symbol gives floats too."""
    assert isinstance(compile_formula(m * n).floats({"m": 2, "n": 3}), float)
