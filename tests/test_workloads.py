"""Workloads: napkins that start from numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest
import sympy
from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.descriptors.workloads import amount


def test_a_workload_has_the_counts_that_it_is_given() -> None:
    """FLOPs, special operations, bytes read and written come back as they went in."""
    p = pm.workload(flops=2e12, bytes_read=1e9, bytes_written=5e8, special=3)
    assert p.flops_by_unit == {"matrix": 2 * 10**12, "vector": 0, "special": 3}
    assert (p.bytes_read, p.bytes_written, p.bytes) == (10**9, 5 * 10**8, 15 * 10**8)
    assert p.intensity == 2e12 / 1.5e9
    assert p.macs == 0


def test_the_unit_and_the_format_can_be_said() -> None:
    """Work of the vector unit in fp32; the name is the program's."""
    p = pm.workload(flops=8, dtype="fp32", unit="vector", name="napkin")
    assert p.flops_by_unit["vector"] == 8
    assert p.flops_by_format == {("vector", "fp32"): 8}
    assert p.name == "napkin"


def test_formulas_and_text_are_counts_too() -> None:
    """Symbols of dims and reals, or text, which binds like any other formula."""
    n, x = pm.dims("n"), pm.reals("x")
    p = pm.workload(flops=2 * n**3, bytes_read="6*n**2")
    assert p.intensity == n / 3
    assert (p.at(n=8).flops, p.at(n=8).bytes) == (2 * 8**3, 6 * 8**2)
    assert pm.workload(flops=x).flops == x


@given(st.floats(0, 1e30))
def test_a_float_is_the_decimal_that_it_writes(value: float) -> None:
    """0.1 is a tenth and 6.3e24 a whole number: exactly what repr writes."""
    found = amount(value, "flops")
    assert Fraction(int(sympy.numer(found)), int(sympy.denom(found))) == Fraction(repr(value))


@pytest.mark.parametrize(("value", "exact"), [
    (0.1, sympy.Rational(1, 10)), (6.3e24, 63 * 10**23), (Fraction(1, 3), sympy.Rational(1, 3)), (7, 7), (0, 0),
    (sympy.Rational(5, 2), sympy.Rational(5, 2)), (sympy.Integer(4), 4), (numpy.float64(2.5), sympy.Rational(5, 2)),
    (numpy.int64(12), 12), ("2**10", 1024), (2**256, 2**256),
])  # fmt: skip
def test_numbers_of_any_kind_are_exact(value: object, exact: object) -> None:
    """Ints, fractions, sympy's and numpy's numbers and text."""
    assert amount(value, "flops") == exact


@pytest.mark.parametrize("value", [
    -1, -0.5, float("nan"), float("inf"), True, None, [], {}, "a b", "", "-1", "x; y", "__import__('os')", 2**256 + 1,
    10**400, "1e400", sympy.nan, sympy.oo, sympy.zoo, sympy.Symbol("n"), sympy.Symbol("n", integer=True), -pm.dims("n"),
    0.5 * pm.dims("n"), sympy.I, sympy.true, sympy.pi, numpy.nan, numpy.array([1, 2]), numpy.bool_(True), b"4", 1j,
    ..., pm.format("bf16"),
])  # fmt: skip
@pytest.mark.parametrize("field", ["flops", "bytes_read", "bytes_written", "special"])
def test_what_is_no_count_is_refused_by_name(value: object, field: str) -> None:
    """Negative, not finite, truth values, symbols that are not positive, floats in formulas: the field is named."""
    with pytest.raises(pm.PerfModelError, match=f"workload: {field}"):
        pm.workload(**{"name": "napkin", field: value})


@pytest.mark.parametrize(("call", "said"), [
    (lambda: pm.workload(), "workload: nothing is given"),
    (lambda: pm.workload(flops=0), "workload: nothing is given"),
    (lambda: pm.workload(flops=4, unit="tensor"), "workload: unit = 'tensor': expected one of matrix, vector"),
    (lambda: pm.workload(flops=4, unit="vectr"), "did you mean 'vector'"),
    (lambda: pm.workload(flops=4, dtype="b16"), "did you mean 'bf16'"),
    (lambda: pm.workload(flops=4, dtype={"x": "bf16"}), "format: expected a name"),
    (lambda: pm.workload(flops=4, name=""), "workload: name = ''"),
    (lambda: pm.workload(flops=4, name=4), "workload: name = 4"),
])  # fmt: skip
def test_a_wrong_call_says_what_is_wrong(call: object, said: str) -> None:
    """Nothing given, units and formats that do not exist, names that are none."""
    with pytest.raises(pm.PerfModelError, match=said):
        call()
