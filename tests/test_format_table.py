"""The table of formats: limits against the bit patterns themselves, read by another library."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfmodel.errors import FormatError
from perfmodel.format_table import SCALED
from perfmodel.number_formats import Format, format

SMALL_FLOATS = {
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
    "fp8_e4m3": ml_dtypes.float8_e4m3fn,
    "fp8_e5m2": ml_dtypes.float8_e5m2,
    "fp8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "fp8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "fp6_e2m3": ml_dtypes.float6_e2m3fn,
    "fp6_e3m2": ml_dtypes.float6_e3m2fn,
    "fp4_e2m1": ml_dtypes.float4_e2m1fn,
}


def values_of_all_patterns(dtype: type, bits: int) -> np.ndarray:
    """Every pattern of an encoding, decoded by ml_dtypes or numpy."""
    word = np.uint16 if bits == 16 else np.uint8
    with np.errstate(invalid="ignore"):  # some patterns are NaN
        return np.arange(2**bits, dtype=word).view(dtype).astype(np.float64)


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_limits_are_those_of_all_bit_patterns(name: str) -> None:
    """The largest, the smallest and infinity are what another library reads from every pattern."""
    one = format(name)
    values = values_of_all_patterns(SMALL_FLOATS[name], one.bits)
    finite = values[np.isfinite(values)]
    assert one.max_finite == finite.max()
    assert one.min_subnormal == finite[finite > 0].min()
    assert one.has_infinity == bool(np.isinf(values).any())
    assert one.epsilon == finite[finite > 1].min() - 1


def test_a_scale_is_an_exponent_alone() -> None:
    """E8M0 has no sign, no zero and one NaN: its limits are those of all its patterns."""
    one, values = format("e8m0"), values_of_all_patterns(ml_dtypes.float8_e8m0fnu, 8)
    finite = values[np.isfinite(values)]
    assert (one.min_normal, one.max_finite) == (finite.min(), finite.max()) == (2.0**-127, 2.0**127)
    assert len(finite) == 2**8 - 1
    assert (one.min_subnormal, one.has_infinity, one.bits) == (None, False, 8)
    with pytest.raises(FormatError, match="exponents alone"):
        Format(bits=8, exponent_bits=4, mantissa_bits=3, encoding="powers")


@pytest.mark.parametrize("name", SCALED)
def test_block_scaled_formats_have_the_limits_of_their_elements(name: str) -> None:
    """A scale multiplies an element; what the element holds before that is said, and never left out."""
    one, element = format(name), format(SCALED[name][0])
    limits = ("max_finite", "min_normal", "min_subnormal", "epsilon")
    assert [getattr(one, limit) for limit in limits] == [getattr(element, limit) for limit in limits]
    assert one.max_finite is not None


@pytest.mark.parametrize("name", [*SMALL_FLOATS, "fp32", "fp64"])
def test_columns_and_limits_agree_with_finfo(name: str) -> None:
    """Bits, exponent, mantissa, limits and step agree with finfo of numpy and ml_dtypes."""
    one = format(name)
    info = ml_dtypes.finfo(SMALL_FLOATS.get(name) or {"fp32": np.float32, "fp64": np.float64}[name])
    assert (one.bits, one.exponent_bits, one.mantissa_bits) == (info.bits, info.nexp, info.nmant)
    assert one.max_finite == float(info.max)
    assert one.min_normal == float(info.smallest_normal)
    assert one.min_subnormal == float(info.smallest_subnormal)
    assert one.epsilon == float(info.eps)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fp8_e4m3", 2 ** (15 - 7) * (1 + 6 / 8)),  # exponent 15 with mantissa 110: 111 is NaN
        ("fp8_e5m2", 2 ** (30 - 15) * (1 + 3 / 4)),  # exponent 31 is infinity and NaN
        ("fp8_e4m3fnuz", 2 ** (15 - 8) * (1 + 7 / 8)),  # every magnitude is a number, the bias is 8
        ("fp16", 2 ** (30 - 15) * (2 - 2**-10)),
        ("tf32", 2**127 * (2 - 2**-10)),  # the exponent of fp32, the mantissa of fp16
        ("fp6_e2m3", 2 ** (3 - 1) * (1 + 7 / 8)),
        ("fp6_e3m2", 2 ** (7 - 3) * (1 + 3 / 4)),
        ("fp4_e2m1", 2 ** (3 - 1) * (1 + 1 / 2)),
        ("int8", 2**7 - 1),
        ("uint8", 2**8 - 1),
        ("int4", 2**3 - 1),
        ("int1", 1),  # -1, +1 or 0, 1: one either way
    ],
)
def test_largest_values_written_out(name: str, expected: float) -> None:
    """The largest value is that of the highest pattern which the specification leaves a number."""
    assert format(name).max_finite == expected


def test_golden_limits() -> None:
    """The round figures that people know: E4M3 448, E5M2 57344, fp16 65504 with a step of 2^-10."""
    assert format("fp8_e4m3").max_finite == 448
    assert format("fp8_e5m2").max_finite == 57344
    assert format("fp16").max_finite == 65504
    assert format("fp16").epsilon == 2**-10


def test_tf32_keeps_19_of_the_32_bits_it_is_stored_in() -> None:
    """A tf32 element takes 32 bits of memory, of which sign, exponent and mantissa are 19."""
    one = format("tf32")
    assert one.bits == 32
    assert 1 + one.exponent_bits + one.mantissa_bits == 19
    assert one.min_normal == format("fp32").min_normal


def test_integers_have_no_float_limits() -> None:
    """An integer has a largest value and nothing that belongs to floats."""
    one = format("int8")
    assert (one.min_normal, one.min_subnormal, one.epsilon, one.bias) == (None, None, None, None)
    assert not one.has_infinity
    assert type(one.max_finite) is int


def decoded(code: int, exponent_bits: int, mantissa_bits: int, bias: int, encoding: str) -> Fraction | None:
    """A magnitude by the words of the specifications; None for infinity and NaN."""
    exponent, mantissa = divmod(code, 2**mantissa_bits)
    if encoding == "ieee" and exponent == 2**exponent_bits - 1:
        return None
    if encoding == "one-nan" and code == 2 ** (exponent_bits + mantissa_bits) - 1:
        return None
    fraction = Fraction(mantissa, 2**mantissa_bits)
    return Fraction(2) ** (exponent - bias) * (1 + fraction) if exponent else Fraction(2) ** (1 - bias) * fraction


@given(
    exponent_bits=st.integers(2, 5),
    mantissa_bits=st.integers(1, 5),
    bias=st.integers(-20, 20),
    encoding=st.sampled_from(["ieee", "one-nan", "fnuz", "finite"]),
)
def test_limits_of_own_encodings(exponent_bits: int, mantissa_bits: int, bias: int, encoding: str) -> None:
    """For any encoding, the limits are the extremes of its patterns decoded one by one."""
    shape = (exponent_bits, mantissa_bits, bias, encoding)
    magnitudes = [decoded(code, *shape) for code in range(2 ** (exponent_bits + mantissa_bits))]
    positive = sorted(value for value in magnitudes if value)
    one = Format(
        bits=1 + exponent_bits + mantissa_bits,
        exponent_bits=exponent_bits,
        mantissa_bits=mantissa_bits,
        bias=bias,
        encoding=encoding,
    )
    assert one.max_finite == positive[-1]
    assert one.min_subnormal == positive[0]
    assert one.min_normal == decoded(2**mantissa_bits, *shape)


def test_a_float_without_mantissa_has_no_subnormals() -> None:
    """With no mantissa bits the smallest number is normal: E4M0 with a bias of 7 starts at 2^-6."""
    one = Format(bits=5, exponent_bits=4, mantissa_bits=0)
    assert one.min_subnormal is None
    assert one.min_normal == 2.0 ** (1 - 7)
    assert one.max_finite == 2.0 ** (14 - 7)  # exponent 15 is infinity
