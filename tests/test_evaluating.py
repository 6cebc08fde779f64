"""Inputs of compiled formulas: whole numbers in any kind of array count alike, anything else is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pandas as pd
import pytest
import sympy

from perfmodel.errors import DimensionError, PerfModelError
from perfmodel.expressions import ceil_div, compile_formula, dims, evaluate, reals
from perfmodel.expressions.evaluating import BLOCK, checked_input, checked_number, is_array

m, n = dims("m n")
clk = reals("clk")
DOZENS = compile_formula(ceil_div(m, 12) + m)

WHOLE_ARRAYS = [
    [1, 12, 25],
    (1, 12, 25),
    [1.0, 12.0, 25.0],
    ["1", "3*4", "25"],
    [Fraction(1), Decimal(12), np.int8(25)],
    [np.array(1), 12, sympy.Integer(25)],
    np.array([1, 12, 25], dtype=object),
    pd.Series([1, 12, 25]),
    pd.Series([1, 12, 25], dtype="Int64"),
    pd.Index([1, 12, 25]),
    memoryview(bytes([1, 12, 25])),
    np.array([1, 12, 25], dtype=">i8"),
    np.array([25, 0, 12, 0, 1])[::-2],
    *(np.array([1, 12, 25], dtype) for dtype in "bBhHiIqQefd"),
]


@pytest.mark.parametrize("values", WHOLE_ARRAYS, ids=lambda values: getattr(values, "dtype", type(values).__name__))
def test_whole_numbers_of_every_kind_count_alike(values: Any) -> None:
    """m + ceil(m/12) at 1, 12 and 25, whatever holds them."""
    found = DOZENS(m=values)
    assert found.dtype == np.int64
    assert found.tolist() == [1 + 1, 12 + 1, 25 + 3]


@pytest.mark.parametrize("value", [25, 25.0, "25", np.int16(25), np.array(25), np.float32(25), Decimal(25)], ids=repr)
def test_a_number_gives_a_number(value: Any) -> None:
    """Also numpy's scalars and 0-d arrays: no array comes back."""
    found = DOZENS(m=value)
    assert (type(found), found) == (int, 28)


def test_one_point_in_an_array_gives_an_array() -> None:
    """The kind of result follows the kind of input, not its length."""
    assert DOZENS(m=[25]).tolist() == [28]
    assert DOZENS(m=[[25]]).shape == (1, 1)


BAD_ARRAYS = {
    "zero": [3, 0],
    "negative": np.array([3, -1]),
    "nan": np.array([3, float("nan")]),
    "infinite": np.array([3, float("inf")]),
    "fraction": np.array([3, 2.5]),
    "fraction32": np.array([3, 2.5], "f"),
    "bool": np.array([True, True]),
    "bool in a list": [3, True],
    "bool series": pd.Series([True]),
    "missing": pd.Series([3, None], dtype="Int64"),
    "none": [3, None],
    "text": np.array(["3"]),
    "bytes": [b"3"],
    "complex": np.array([3 + 0j]),
    "dates": np.array(["2024-01-01"], dtype="datetime64[D]"),
    "long double": np.array([3], "longdouble"),
    "formula": [3, m],
    "text formula": ["3*h"],
    "ragged": [[3], [3, 4]],
    "nested": [{3}],
    "too large": np.array([2**52 + 1]),
    "too large for int64": [10**30],
    "unsigned": np.array([2**63], "uint64"),
    "masked": np.ma.masked_array([3, 4], mask=[True, False]),
    "bfloat16": np.array([3], ml_dtypes.bfloat16),
    "last of many": np.array([3] * (2 * BLOCK) + [0]),
}


@pytest.mark.parametrize("values", BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_what_is_no_array_of_dimensions_is_refused(values: Any) -> None:
    """One bad value among any number: an error of ours that begins with the symbol."""
    with pytest.raises(PerfModelError, match=r"^m"):
        DOZENS(m=values)


@pytest.mark.parametrize(("dtype", "held"), [("float16", 2**11), ("float32", 2**24), ("float64", 2**52)])
def test_floats_are_trusted_as_far_as_they_hold_whole_numbers(dtype: str, held: int) -> None:
    """float32 has 24 bits: up to 2^24 a value is the one that was meant, beyond it may have been rounded."""
    assert evaluate(m + 1, m=np.array([held], dtype)).tolist() == [held + 1]
    with pytest.raises(DimensionError, match=f"{dtype}: whole numbers are exact up to 2"):
        evaluate(m + 1, m=np.array([held * 2], dtype))


def test_a_masked_array_without_masked_values_is_an_array() -> None:
    """Only hidden values are a reason to stop."""
    assert DOZENS(m=np.ma.masked_array([25], mask=[False])).tolist() == [28]


@pytest.mark.parametrize("values", [[0.5, 2], np.array([0.5, 2], "f"), pd.Series([0.5, 2]), [Fraction(1, 2), "2"][:1]])
def test_quantities_are_any_positive_numbers(values: Any) -> None:
    """Floats, and ints beside them."""
    assert evaluate(1 / clk, clk=values).tolist() == [2.0, 0.5][: len(values)]


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_quantities_are_refused(bad: float) -> None:
    """Alone and in an array, by the name of the symbol."""
    for value in (bad, [1.0, bad], np.array([1.0, bad])):
        with pytest.raises(DimensionError, match=r"^clk = "):
            evaluate(m / clk, m=3, clk=value)


SINGULAR = {
    "quotient": m / (n - 4),
    "ceiling": ceil_div(m, n - 4),
    "remainder": sympy.Mod(m, n - 4),
    "root": sympy.sqrt(n - 5),
    "logarithm": sympy.log(n - 4),
    "power": (n - 5) ** sympy.Rational(1, 3),
    "exponential": sympy.exp(400 * (5 - n)) ** 2,
    "choice": sympy.Piecewise((m / (n - 4), n > 4), (0, True)),
}


@pytest.mark.parametrize("formula", SINGULAR.values(), ids=SINGULAR)
def test_a_point_without_a_value_is_refused(formula: Any) -> None:
    """At n = 4 each formula divides by zero, has no real value or overflows; numpy would go on with inf or nan.

    A choice is refused too where only the branch not taken has no value: all branches are computed.
    """
    compiled = compile_formula(formula, "m n")
    assert np.isfinite(compiled(m=[7, 8], n=[6, 7])).all()
    for n_values in (4, [6, 4]):
        with pytest.raises(DimensionError, match=r"n - 4|n - 5|5 - n|overflow"):
            compiled(m=[7, 8], n=n_values)
    with pytest.raises(DimensionError):
        compiled(m=7, n=4)


def test_a_divisor_that_could_be_zero_but_is_not_is_fine() -> None:
    """m - n has both signs in the bounds of the inputs, yet is never zero at a point."""
    found = evaluate(ceil_div(1000, m - n), m=[1, 5, 10], n=[4, 2, 20])
    assert found.tolist() == [-(-1000 // -3), -(-1000 // 3), -(-1000 // -10)]


def test_inputs_are_not_changed() -> None:
    """Blocks are computed in buffers of their own, never in the arrays given."""
    given = np.arange(1.0, 10.0)
    kept = given.copy()
    found = evaluate({"same": m, "half": m / 2}, m=given)
    assert (given == kept).all()
    found["same"][0] = 99
    assert (given == kept).all()


def test_block_by_block_is_all_at_once() -> None:
    """Lengths around the size of a block give what Python gives point by point."""
    for points in (1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3):
        values = np.arange(1, points + 1)
        assert DOZENS(m=values).tolist() == [a - (-a // 12) for a in range(1, points + 1)]


def test_the_helpers_say_what_a_value_is() -> None:
    """Arrays and lists stand for many numbers; text, numbers and 0-d arrays for one."""
    many = [[1], (1,), np.array([1]), pd.Series([1]), range(3), memoryview(b"a")]
    one = [1, 1.5, "1", b"1", None, np.array(1), np.float64(1), {1}, m]
    assert [is_array(value) for value in many + one] == [True] * len(many) + [False] * len(one)
    assert checked_input("m", [1.0], True).values.dtype == np.int64
    assert checked_number("m", "4096", True) == 4096
    with pytest.raises(DimensionError, match="bind it first"):
        checked_number("m", n, True)
