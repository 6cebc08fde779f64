"""Symbols and sizes: every way to write a whole number is accepted, anything else is refused by name."""

from __future__ import annotations

import pickle
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sympy

from perfmodel.errors import DimensionError, ExpressionError, LabelError, PerfModelError
from perfmodel.expressions import (
    LARGEST_SIZE,
    dimension,
    dims,
    positive_real,
    reals,
    size,
    symbol_name,
    symbol_values,
)

m, n, h = dims("m n h")
clk = reals("clk")


class Width(IntEnum):
    """A whole number of a kind of its own."""

    WIDE = 128


class Text(str):
    """Text whose own methods lie."""

    def strip(self, chars: str | None = None) -> str:
        return "__import__('os')"

    def __str__(self) -> str:
        return "__import__('os')"


WHOLE_VALUES = [
    4096,
    4096.0,
    "4096",
    Text("4096"),
    "2**12",
    np.int8(64) * np.int64(64),
    np.uint64(4096),
    np.float32(4096),
    np.array(4096),
    np.array(4096.0),
    np.array(4096, dtype=object),
    Fraction(4096),
    Decimal(4096),
    sympy.Integer(4096),
    sympy.Float(4096),
    Width.WIDE * 32,
    pd.Series([4096])[0],
]

NOT_WHOLE = [
    0,
    -1,
    0.5,
    float("nan"),
    float("inf"),
    float("-inf"),
    1e300,
    True,
    False,
    None,
    b"4096",
    [4096],
    {4096},
    ...,
    1 + 0j,
    10**18,
    10**5000,
    -(10**5000),
    LARGEST_SIZE + 1,
    np.bool_(True),
    np.array(True),
    np.float64("nan"),
    np.float32("inf"),
    np.array(float("nan")),
    np.array([4, 5]),
    np.array("4", dtype=object),
    np.complex128(4),
    np.datetime64("2024-01-01"),
    np.timedelta64(5, "s"),
    pd.NA,
    pd.NaT,
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    Decimal("1e999999999"),
    Decimal("0.1"),
    Fraction(1, 3),
    Fraction(10**5000, 3),
    sympy.Rational(1, 2),
    sympy.Rational(10**5000, 3),
    sympy.nan,
    sympy.oo,
    sympy.zoo,
    sympy.I,
    sympy.pi,
    sympy.Float(0.5),
    sympy.true,
    sympy.Integer(0),
    -m,
    m / m - 1,
    m + 0.5,
    sympy.Symbol("m"),
    sympy.Symbol("m", integer=True),
    2 * sympy.Dummy("m", integer=True, positive=True),
    clk,
    m < n,
    "",
    " ",
    "0",
    "-3",
    "1/2",
    "1e18",
]


@pytest.mark.parametrize("value", WHOLE_VALUES, ids=repr)
def test_every_way_to_write_a_whole_number_gives_the_same_int(value: Any) -> None:
    """A size is a Python int, whatever kind of whole number it was."""
    found = size(value)
    assert (type(found), found) == (int, 4096)


@pytest.mark.parametrize("value", NOT_WHOLE, ids=lambda value: type(value).__name__)
def test_what_is_no_dimension_is_refused_by_name(value: Any) -> None:
    """Zero, negative, fractional, enormous, NaN, boolean and foreign values: an error of ours that names the field."""
    with pytest.raises(PerfModelError, match="batch") as caught:
        size(value, "batch")
    assert len(str(caught.value)) < 400


def test_the_largest_size_is_the_end_of_exact_float64() -> None:
    """2^52 is a size, the next whole number is not."""
    assert size(2**52) == LARGEST_SIZE == 2**52
    with pytest.raises(DimensionError, match=r"at most 2\^52"):
        size(2**52 + 1)


def test_a_size_may_be_a_formula_in_dims() -> None:
    """Expressions in positive integer symbols pass unchanged, also those whose sign is not known."""
    for formula in (3 * h, m - n, m * (m + 1) / 2, sympy.ceiling(m / 128), sympy.Max(m, n)):
        assert size(formula) is formula


def test_one_name_is_one_symbol() -> None:
    """Symbols made twice, from text or from dims, are equal; spaces and commas both separate."""
    assert dims("m n") == dims("m, n") == (m, n)
    assert dims("m") == dimension("m") == size("m") == m


def test_a_name_is_normalised_as_python_does() -> None:
    """The ligature fi and the micro sign mean in dims what they mean in text and in keywords."""
    assert dims("\ufb01") == size("\ufb01") == dims("fi")
    assert symbol_values({"\u00b5": 3}, [dims("\u03bc")]) == {dims("\u03bc"): 3}


@pytest.mark.parametrize("names", ["", "  ", ",", "2m", "m-n", "a.b", "lambda", "None", "x y; z", "a\x00b", 3, None])
@pytest.mark.parametrize("make", [dims, reals])
def test_what_is_no_name_is_refused(make: Any, names: Any) -> None:
    """Keywords too: they could be neither bound by keyword nor read from text."""
    with pytest.raises(ExpressionError, match=make.__name__):
        make(names)


def test_dimension_refuses_several_names() -> None:
    """dimension makes one symbol; two names are not a name."""
    with pytest.raises(ExpressionError, match="not a name"):
        dimension("m n")


def test_reals_are_positive_but_not_whole() -> None:
    """A clock need not be an integer."""
    assert clk.is_positive
    assert clk.is_integer is None
    assert reals("a b") == (reals("a"), reals("b"))


@pytest.mark.parametrize("value", [1.5, 2, np.float32(0.5), Fraction(1, 3), Decimal("0.1"), sympy.pi, np.array(2.5)])
def test_a_quantity_is_any_positive_number(value: Any) -> None:
    """positive_real gives the float nearest to it."""
    assert positive_real(value) == float(value)


@pytest.mark.parametrize(
    "value", [0, -1.0, float("nan"), float("inf"), True, "1", None, 1j, 10**400, sympy.I, m, [1.0]]
)
def test_what_is_no_quantity_is_refused(value: Any) -> None:
    """Nor is text read as one."""
    with pytest.raises(DimensionError, match="clk"):
        positive_real(value, "clk")


def test_symbol_values_checks_names_and_sizes() -> None:
    """Values by name or symbol, text as sizes, with near misses for a wrong name."""
    assert symbol_values({"m": "2*h", n: 3.0}, [m, n]) == {m: 2 * h, n: 3}
    assert symbol_values({"clk": 1.5e9}, [clk]) == {clk: 1.5e9}
    assert symbol_values({clk: 2 * reals("base")}, [clk]) == {clk: 2 * reals("base")}
    with pytest.raises(LabelError, match="did you mean 'clk'"):
        symbol_values({"clck": 1}, [clk, m])
    with pytest.raises(DimensionError, match="n = 0"):
        symbol_values({"n": 0}, [n])
    for bad in ("1", float("nan"), -1.0, 0):
        with pytest.raises(DimensionError, match="clk"):
            symbol_values({"clk": bad}, [clk])


def test_two_symbols_of_one_name_are_refused() -> None:
    """A real n and a whole n are different to sympy, and would be bound one without the other."""
    with pytest.raises(LabelError, match="both named 'n'"):
        symbol_values({"n": 1}, [n, reals("n")])


def test_a_symbol_s_name() -> None:
    """Symbols and text both have one, and symbols pickle."""
    assert (symbol_name(m), symbol_name("m")) == ("m", "m")
    assert pickle.loads(pickle.dumps(dims("m"))) == m


def test_sizes_are_polynomials() -> None:
    """A symbol in an exponent, a factorial or an unknown function could grow past every bound when it is bound."""
    n = dims("n")
    for wrong in (2**n, sympy.factorial(n), sympy.Function("f")(n), sympy.Symbol("", integer=True, positive=True)):
        with pytest.raises(DimensionError):
            size(wrong, "m")
