"""What a person reads: quantities, percentages, formulas, tables, and values for JSON."""

from __future__ import annotations

import json
import pickle
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

from perfmodel.errors import PerfModelError
from perfmodel.expressions import bind, ceil_div, dims, floor_div, largest, parse_size, remainder, smallest
from perfmodel.showing import Table, Text, formula, percent, plain, plain_dict, quantity

m, n, k = dims("m n k")
PREFIXES = {
    "Y": 24,
    "Z": 21,
    "E": 18,
    "P": 15,
    "T": 12,
    "G": 9,
    "M": 6,
    "k": 3,
    "": 0,
    "m": -3,
    "u": -6,
    "n": -9,
    "p": -12,
}


def read_back(text: str) -> float:
    """The number that a quantity in bytes stands for."""
    number, unit = text.split()
    assert unit.endswith("B")
    return float(number) * 10.0 ** PREFIXES[unit[:-1]]


@given(value=st.floats(1e-12, 1e27) | st.integers(1, 10**27), sign=st.sampled_from([1, -1]))
def test_a_quantity_reads_back_within_its_digits(value: float, sign: int) -> None:
    """Four digits are kept, whatever the prefix; it never shows 1000 of one prefix for 1 of the next."""
    text = quantity(sign * value, "B")
    assert read_back(text) == pytest.approx(sign * value, rel=0.5e-3)
    if abs(value) < 0.9e27:
        assert abs(float(text.split()[0])) < 1000


def test_prefixes_are_decimal() -> None:
    """GB is 1e9 bytes, never 2^30."""
    assert quantity(2**30, "B") == "1.074 GB"
    assert quantity(10**9, "B") == "1 GB"
    assert quantity(80 * 10**9, "B") == "80 GB"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (999.94, "999.9 B"),
        (999.96, "1 kB"),
        (-5e9, "-5 GB"),
        (1e30, "1000000 YB"),
        (1e-15, "1e-15 B"),
        (Fraction(1, 4), "250 mB"),
        (sympy.Rational(4096), "4.096 kB"),
        (float("inf"), "inf B"),
        (float("nan"), "nan B"),
        (10**400, "over 1e308 B"),
        (-(10**400), "below -1e308 B"),
    ],
)
def test_quantities_at_the_edges(value: Any, text: str) -> None:
    """Zero, rounding up to a prefix, signs, and what is too large or small for a prefix or a float."""
    assert quantity(value, "B") == text


def test_a_quantity_may_lack_a_unit_and_may_be_a_formula() -> None:
    """Nothing is left hanging behind the number; a formula stands in the number's place."""
    assert quantity(4096) == "4.096 k"
    assert quantity(12) == "12"
    assert quantity(2 * m * n, "B") == "2 m n B"


def test_fewer_digits_on_request() -> None:
    """Two digits of 1.234 ms."""
    assert quantity(1.234e-3, "s", digits=2) == "1.2 ms"


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0, "0 %"),
        (0.0034, "0.34 %"),
        (0.027, "2.7 %"),
        (0.0999, "10 %"),
        (0.2132, "21 %"),
        (1.0, "100 %"),
        (12.5, "1250 %"),
    ],
)
def test_percentages_have_two_digits_and_are_whole_above_ten(fraction: float, text: str) -> None:
    """As the shares of peak in an estimate are written."""
    assert percent(fraction) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12, "12"),
        (2 * m * n * k, "2 m n k"),
        (m**2 + 2 * m * n, "m^2 + 2 m n"),
        (n * (n + 1) / 2, "n (n + 1) / 2"),
        (n - 1, "n - 1"),
        (1 - n, "1 - n"),
        (-n - m, "-m - n"),
        (-2 * n, "-2 n"),
        (-n / 2, "-n / 2"),
        (3 * n / 4, "3 n / 4"),
        ((m + n) / k, "(m + n) / k"),
        (m / (2 * n), "m / (2 n)"),
        (1 / n, "1/n"),
        (2**n, "2^n"),
        (ceil_div(n, 128), "ceil(n / 128)"),
        (floor_div(n, 2) ** 2, "floor(n / 2)^2"),
        (remainder(n, m), "mod(n, m)"),
        (2 * largest(0, n - m), "2 max(0, n - m)"),
        (smallest(m, n), "min(m, n)"),
        (sympy.log(m * n), "log(m n)"),
        (sympy.Float(2.5) * n, "2.5 n"),
        (sympy.Float(1) / 3, "0.3333"),
    ],
)
def test_formulas_are_written_as_one_writes_them(value: Any, text: str) -> None:
    """Products with spaces, powers with ^, one fraction bar, rounding by name, terms and factors in order."""
    assert formula(value, ["m", "n", "k"]) == text


def test_the_order_of_symbols_is_the_callers() -> None:
    """2 m n k of a matmul, 2 k n m where that is asked for; unknown symbols come last, by name."""
    assert formula(2 * m * n * k, ["m", "n", "k"]) == "2 m n k"
    assert formula(2 * m * n * k, ["k", "n", "m"]) == "2 k n m"
    assert formula(m * n * k, ["n"]) == "n k m"


SUMS = st.recursive(
    st.sampled_from([m, n, k, sympy.Integer(1), sympy.Integer(3)]),
    lambda inner: st.tuples(st.sampled_from(["add", "sub", "mul"]), inner, inner).map(lambda t: _combined(*t)),
    max_leaves=8,
)


def _combined(kind: str, a: Any, b: Any) -> Any:
    return {"add": a + b, "sub": a - b, "mul": a * b}[kind]


@given(value=SUMS)
def test_a_formula_means_what_it_says(value: Any) -> None:
    """Read as arithmetic, with products and powers spelled out, the text has the value of the expression."""
    text = formula(value, ["m", "n", "k"])
    spelled = text.replace(" - ", "-").replace(" + ", "+").replace(" ", "*").replace("^", "**")
    numbers = {m: 3, n: 5, k: 7}
    assert bind(parse_size(spelled), numbers) == bind(value, numbers)


TABLE = Table("sizes", ("tensor", "bytes"), (("x", 8), ("long", n), ("y<", 1.5)))


def test_a_table_lines_up() -> None:
    """Text to the left, numbers and formulas to the right, no blanks at the end of a line."""
    assert repr(TABLE).splitlines() == ["sizes", "tensor  bytes", "x           8", "long        n", "y<        1.5"]


def test_a_table_without_title_or_rows() -> None:
    """The head alone, and no empty line for a title."""
    assert repr(Table("", ("a", "b"), ())) == "a  b"


def test_a_table_in_a_notebook_is_escaped() -> None:
    """Names are text, never tags."""
    assert "<td>y&lt;</td>" in TABLE._repr_html_()
    assert TABLE._repr_html_().count("<tr>") == 1 + 3  # head and rows


def test_a_table_by_columns() -> None:
    """As plain data, formulas as text, and as a frame, which holds the formulas themselves."""
    assert TABLE.to_dict() == {"tensor": ["x", "long", "y<"], "bytes": [8, "n", 1.5]}
    frame = TABLE.to_frame()
    assert (list(frame.columns), list(frame["bytes"])) == (["tensor", "bytes"], [8, n, 1.5])
    assert list(Table("", ("a",), ()).to_frame().columns) == ["a"]


def test_a_frame_needs_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the error is our own and says what to install."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(PerfModelError, match=r"pip install 'perfmodel\[table\]'"):
        TABLE.to_frame()


def test_tables_are_values() -> None:
    """Equal, hashable, and the same after pickling."""
    again = pickle.loads(pickle.dumps(TABLE))
    assert again == TABLE
    assert hash(again) == hash(TABLE)


def test_text_shows_as_its_text() -> None:
    """At a prompt line by line, in a notebook preformatted and escaped; else it is a string."""
    text = Text("a < b\nc")
    assert (repr(text), text._repr_html_()) == ("a < b\nc", "<pre>a &lt; b\nc</pre>")
    assert text == "a < b\nc"
    assert pickle.loads(pickle.dumps(text)) == text


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (n + 1, "n + 1"),
        (sympy.Integer(4), 4),
        (np.int64(4), 4),
        (np.float64(0.5), 0.5),
        (Fraction(1, 3), "1/3"),
        (True, True),
        (None, None),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        ((1, [2.5, {"a": n}]), [1, [2.5, {"a": "n"}]]),
        ({"b", "a"}, ["a", "b"]),
        ({m: {1: 2}}, {"m": {"1": 2}}),
    ],
)
def test_plain_values_are_json(value: Any, found: Any) -> None:
    """Formulas as text, exact integers as ints, what JSON has no number for as text; the rest as it is."""
    assert plain(value) == found
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == found


def test_plain_dict_is_plain_of_each_value() -> None:
    """By name."""
    assert plain_dict({"n": n, "k": (1, 2.5)}) == {"n": "n", "k": [1, 2.5]}
