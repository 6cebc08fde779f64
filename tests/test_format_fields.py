"""Formats of one's own: what their fields mean, and that nothing wrong in them gives a number."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

from perfmodel.errors import FormatError
from perfmodel.number_formats import Format, format


@pytest.mark.parametrize(
    "written", ["4.85", " 4.85 ", 4.85, "97/20", Fraction(97, 20), np.float64(4.85), sympy.Rational(97, 20)]
)
def test_bits_are_read_as_they_are_written(written: object) -> None:
    """4.85 is 485/100, not the binary float nearest to it."""
    assert Format(bits=written).bits == Fraction(485, 100)


@pytest.mark.parametrize("written", [4, 4.0, "4", "4.0", Fraction(8, 2), np.int32(4), sympy.Integer(4)])
def test_whole_bits_are_ints(written: object) -> None:
    """Whole bits are ints however they are written."""
    bits = Format(bits=written).bits
    assert bits == 4
    assert type(bits) is int


def test_own_formats_only_store_unless_encoded() -> None:
    """Without exponent and mantissa a format has no limits; with them it has those of its encoding."""
    plain = Format(bits="4.85")
    assert (plain.name, plain.family, plain.kind) == ("4.85-bit", "4.85-bit", "float")
    assert (plain.max_finite, plain.min_normal, plain.min_subnormal, plain.epsilon) == (None, None, None, None)
    assert Format(bits=4, block=128, scale_bits=16, zero_bits=4).name == "4-bit/128"
    assert Format(bits=16, exponent_bits=5, mantissa_bits=10).max_finite == format("fp16").max_finite
    assert Format(bits=3, kind="int").max_finite == 2**2 - 1
    assert Format(bits=3, kind="int", encoding="unsigned").max_finite == 2**3 - 1
    assert Format(bits="2.5", kind="int").max_finite is None
    assert Format(bits=4, kind="int", block=32, zero_bits=4).max_finite is None


REFUSED = [
    {"bits": 0},
    {"bits": -8},
    {"bits": 4097},
    {"bits": True},
    {"bits": None},
    {"bits": float("nan")},
    {"bits": float("inf")},
    {"bits": 1e-300},
    {"bits": np.bool_(True)},
    {"bits": 4j},
    {"bits": ""},
    {"bits": "four"},
    {"bits": "4/0"},
    {"bits": "1e999999999"},
    {"bits": "4.85; import os"},
    {"bits": "\u0664"},
    {"bits": 4, "block": 0, "scale_bits": 8},
    {"bits": 4, "block": -32, "scale_bits": 8},
    {"bits": 4, "block": 2.5, "scale_bits": 8},
    {"bits": 4, "block": True, "scale_bits": 8},
    {"bits": 4, "block": 10**18, "scale_bits": 8},
    {"bits": 4, "block": 32},
    {"bits": 4, "scale_bits": 8},
    {"bits": 4, "zero_bits": 4},
    {"bits": 4, "block": 32, "scale_bits": -8},
    {"bits": 4, "block": 32, "scale_bits": 4097},
    {"bits": 4, "block": 32, "scale_bits": 8, "zero_bits": 0.5},
    {"bits": 4, "block": 32, "scale_bits": None},
    {"bits": 4, "kind": "complex"},
    {"bits": 4, "kind": None},
    {"bits": 4, "name": 7},
    {"bits": 4, "name": "a\nb"},
    {"bits": 4, "name": "x" * 101},
    {"bits": 4, "family": ["fp4"]},
    {"bits": 8, "exponent_bits": 4},
    {"bits": 8, "mantissa_bits": 3},
    {"bits": 8, "bias": 7},
    {"bits": 8, "encoding": "ieee"},
    {"bits": 8, "exponent_bits": 5, "mantissa_bits": 3},
    {"bits": 8, "exponent_bits": 0, "mantissa_bits": 7},
    {"bits": 8, "exponent_bits": 1, "mantissa_bits": 3},
    {"bits": 8, "exponent_bits": 4, "mantissa_bits": 3, "encoding": "iee"},
    {"bits": 8, "exponent_bits": 4, "mantissa_bits": 3, "encoding": "signed"},
    {"bits": 8, "exponent_bits": 4, "mantissa_bits": 3, "bias": 7.5},
    {"bits": 8, "exponent_bits": 4, "mantissa_bits": 3, "bias": -1023},
    {"bits": 64, "exponent_bits": 11, "mantissa_bits": 52, "bias": 1022},
    {"bits": 64, "exponent_bits": 11, "mantissa_bits": 52, "bias": 1024},
    {"bits": 128, "exponent_bits": 15, "mantissa_bits": 112},
    {"bits": 8, "kind": "int", "exponent_bits": 4},
    {"bits": 8, "kind": "int", "bias": 0},
    {"bits": 8, "kind": "int", "encoding": "ieee"},
    {"bits": 8, "kind": "int", "encoding": "binary"},
    {"bits": "2.5", "kind": "int", "encoding": "signed"},
]


@pytest.mark.parametrize("fields", REFUSED, ids=str)
def test_formats_that_cannot_be_are_refused(fields: dict[str, object]) -> None:
    """Each set has one wrong field, and the message names a field that was given, and its value."""
    named = "|".join({*fields, "exponent_bits", "mantissa_bits"})  # or the one that is missing beside it
    with pytest.raises(FormatError, match=rf"^Format: ({named}) = "):
        Format(**fields)


anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12), st.fractions(), st.complex_numbers()
)
often_right = st.one_of(st.integers(1, 64), st.integers(1, 64), anything)  # so that whole formats come out as well


@given(bits=often_right, block=often_right, scale_bits=often_right, zero_bits=often_right)
def test_any_input_gives_a_format_or_a_format_error(**fields: object) -> None:
    """Whatever is given, a Format comes back whole or a FormatError does."""
    try:
        one = Format(**fields)
    except FormatError:
        return
    assert 0 < one.bits <= one.effective_bits <= one.bits + one.scale_bits + one.zero_bits
    blocks = ceil(Fraction(5, one.block or 5))
    assert one.bytes_of((3, 5)) == ceil(3 * (5 * one.bits + blocks * (one.scale_bits + one.zero_bits)) / Fraction(8))


def test_bits_too_fine_to_be_meant_are_refused_as_bits() -> None:
    """A float of hundreds of decimals is refused as such, not by what follows from it."""
    with pytest.raises(FormatError, match=r"bits = 1e-300: expected a number above 0"):
        Format(bits=1e-300)


def test_an_unknown_encoding_gets_a_near_miss() -> None:
    """A misspelt encoding is answered with the one that was meant."""
    with pytest.raises(FormatError, match=r"encoding = 'iee': .*did you mean 'ieee'"):
        Format(bits=8, exponent_bits=4, mantissa_bits=3, encoding="iee")
