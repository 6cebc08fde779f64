"""The fields of a number format: read, checked, completed and written out again.

Plain functions of plain values for ``number_formats``. A wrong field is a ``FormatError``, a wrong
extent a ``DimensionError``.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Collection, Mapping
from fractions import Fraction
from numbers import Rational
from typing import Any, NoReturn, TypeAlias

import sympy

from perfmodel.errors import DimensionError, FormatError, did_you_mean, listed
from perfmodel.expressions import LARGEST_SIZE, Size, as_size, size
from perfmodel.format_table import FLOAT_ENCODINGS, INT_ENCODINGS, largest_code

MOST_BITS = 4096  # a wider element, scale or zero point is a mistake of units
MOST_DIGITS = 24  # after the point: enough for any float worth writing, and short texts stay small numbers

# A number in text: 8, 4.85, 17/4. No exponents: "1e999999999" would fill the memory.
_NUMBER = re.compile(r"\d{1,24}(\.\d{1,24})?|\d{1,48}/0*[1-9]\d{0,24}", re.ASCII)

Encoding: TypeAlias = "tuple[int | None, int | None, int | None, str | None]"


def exact_bits(value: Any) -> int | Fraction:
    """The bits of an element as they are written, without rounding.

    >>> exact_bits(4.85), exact_bits("4.85"), exact_bits(4.0)
    (Fraction(97, 20), Fraction(97, 20), 4)
    >>> exact_bits(float("nan"))
    Traceback (most recent call last):
    perfmodel.errors.FormatError: Format: bits = nan: expected a number above 0 and at most 4096, such as 4 or '4.85'
    """
    bits = _fraction(value)
    if bits is None or not 0 < bits <= MOST_BITS or bits.denominator > 10**MOST_DIGITS:
        _refuse("bits", value, f"expected a number above 0 and at most {MOST_BITS}, such as 4 or '4.85'")
    return whole_if_possible(bits)


def _fraction(value: Any) -> Fraction | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):  # numpy's float64 too: its own repr has words around the digits
        return Fraction(float.__repr__(value)) if math.isfinite(value) else None
    if isinstance(value, str):
        text = value.strip()
        return Fraction(text) if _NUMBER.fullmatch(text) else None
    return Fraction(int(value.numerator), int(value.denominator)) if isinstance(value, Rational) else None


def whole_if_possible(value: int | Fraction) -> int | Fraction:
    """A whole Fraction as an int; anything else as it is.

    >>> whole_if_possible(Fraction(8, 2)), whole_if_possible(Fraction(9, 2))
    (4, Fraction(9, 2))
    """
    return int(value) if value.denominator == 1 else value


def whole(field: str, value: Any, least: int, most: int) -> int:
    """An integer field within its range.

    >>> whole("block", 32, 1, 100)
    32
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        _refuse(field, value, f"expected an integer from {least} to {most}")
    return number


def checked_name(field: str, value: Any) -> str:
    """A name: text of one line that can be printed.

    >>> checked_name("name", "my-4-bit")
    'my-4-bit'
    """
    if not (isinstance(value, str) and value.strip() == value and value.isprintable() and 0 < len(value) <= 100):
        _refuse(field, value, "expected a printable name of at most 100 characters")
    return value


def checked_block(block: Any, scale_bits: Any, zero_bits: Any) -> tuple[int | None, int, int]:
    """The block and what its elements share: either there is a block and something shared, or neither.

    >>> checked_block(128, 16, 4), checked_block(None, 0, 0)
    ((128, 16, 4), (None, 0, 0))
    """
    scale_bits, zero_bits = whole("scale_bits", scale_bits, 0, MOST_BITS), whole("zero_bits", zero_bits, 0, MOST_BITS)
    if block is not None:
        block = whole("block", block, 1, LARGEST_SIZE)
        if scale_bits + zero_bits == 0:
            _refuse("block", block, "its elements share nothing; give scale_bits or zero_bits, or leave block out")
    elif scale_bits + zero_bits:
        field, value = ("scale_bits", scale_bits) if scale_bits else ("zero_bits", zero_bits)
        _refuse(field, value, "give block, the number of elements that share it")
    return block, scale_bits, zero_bits


def row_cost(bits: int | Fraction, shared_bits: int) -> tuple[int, int, int]:
    """``(e, s, d)``: a row takes ``(elements * e + blocks * s) / d`` bytes, in lowest terms.

    >>> row_cost(4, 8), row_cost(16, 0)  # mxfp4: half a byte an element, a byte a block; bf16: 2 bytes
    ((1, 2, 2), (2, 0, 1))
    """
    element, shared, byte = bits.numerator, shared_bits * bits.denominator, 8 * bits.denominator
    common = math.gcd(element, shared, byte)
    return element // common, shared // common, byte // common


def checked_encoding(
    bits: int | Fraction, kind: Any, exponent_bits: Any, mantissa_bits: Any, bias: Any, encoding: Any, zero_bits: int
) -> Encoding:
    """Exponent bits, mantissa bits, bias and encoding, completed and consistent with ``bits`` and ``kind``.

    >>> checked_encoding(8, "float", 4, 3, None, None, 0)
    (4, 3, 7, 'ieee')
    >>> checked_encoding(8, "int", None, None, None, None, 0)
    (None, None, None, 'signed')
    """
    if kind not in ("float", "int"):
        _refuse("kind", kind, "expected 'float' or 'int'")
    known = FLOAT_ENCODINGS if kind == "float" else INT_ENCODINGS
    if encoding is not None and encoding not in known:
        _refuse("encoding", encoding, f"kind {kind!r} has one of {listed(known)}{did_you_mean(encoding, known)}")
    if kind == "int":
        for field, value in (("exponent_bits", exponent_bits), ("mantissa_bits", mantissa_bits), ("bias", bias)):
            if value is not None:
                _refuse(field, value, "a format of kind 'int' has none")
        return None, None, None, _int_encoding(bits, encoding, zero_bits)
    if exponent_bits is None and mantissa_bits is None:
        if bias is not None or encoding is not None:
            _refuse("exponent_bits", None, "bias and encoding need exponent_bits and mantissa_bits beside them")
        return None, None, None, None
    return _float_encoding(bits, exponent_bits, mantissa_bits, bias, encoding or "ieee")


def _int_encoding(bits: int | Fraction, encoding: str | None, zero_bits: int) -> str | None:
    """Whole bits without a zero point are two's complement unless said; other integers only store."""
    if encoding is None:
        return "signed" if isinstance(bits, int) and not zero_bits else None
    if not isinstance(bits, int) or (encoding == "binary" and bits != 1):
        _refuse("bits", bits, f"the encoding {encoding!r} needs {'1 bit' if encoding == 'binary' else 'whole bits'}")
    return encoding


def _float_encoding(bits: int | Fraction, exponent_bits: Any, mantissa_bits: Any, bias: Any, encoding: str) -> Encoding:
    # Up to the widths of fp64, so that every value is a Python float, exactly.
    exponent_bits = whole("exponent_bits", exponent_bits, 1, 11)
    mantissa_bits = whole("mantissa_bits", mantissa_bits, 0, 52)
    signs = int(encoding != "powers")
    if encoding == "powers" and mantissa_bits:
        _refuse("mantissa_bits", mantissa_bits, "the encoding 'powers' has exponents alone")
    if signs + exponent_bits + mantissa_bits > bits:
        _refuse(
            "bits", bits, f"{'a sign, ' * signs}{exponent_bits} exponent and {mantissa_bits} mantissa bits do not fit"
        )
    bias = 2 ** (exponent_bits - 1) - 1 if bias is None else whole("bias", bias, -1023, 2048)
    code = largest_code(exponent_bits, mantissa_bits, encoding)
    if code < 1 << mantissa_bits:
        _refuse("exponent_bits", exponent_bits, f"the encoding {encoding!r} leaves no normal number; give more bits")
    if (code >> mantissa_bits) - bias > 1023 or 1 - bias - mantissa_bits < -1074:
        _refuse("bias", bias, "its values lie outside those of fp64")
    return exponent_bits, mantissa_bits, bias, encoding


def decimal(value: int | Fraction) -> str:
    """A rational as text, exact: as a decimal where that is short, else as a fraction.

    >>> decimal(Fraction(97, 20)), decimal(Fraction(1, 3)), decimal(8)
    ('4.85', '1/3', '8')
    """
    text = f"{float(value):.12g}"
    return text if "e" not in text and Fraction(text) == value else str(value)


def default_name(bits: int | Fraction, block: int | None) -> str:
    """The name of a format that was given none.

    >>> default_name(Fraction(97, 20), None), default_name(4, 128)
    ('4.85-bit', '4-bit/128')
    """
    return f"{decimal(bits)}-bit" + (f"/{block}" if block else "")


def arguments(fields: Mapping[str, Any]) -> str:
    """The keywords that make a format of these fields, without those at their defaults.

    >>> arguments({"name": "4-bit/64", "bits": 4, "block": 64, "kind": "float", "family": "4-bit/64", "zero_bits": 0})
    'bits=4, block=64'
    """
    bits, name = fields["bits"], fields["name"]
    encoding = "ieee" if fields["kind"] == "float" else "signed" if not fields["zero_bits"] else None
    usual = {"name": default_name(bits, fields["block"]), "kind": "float", "family": name, "encoding": encoding}
    usual |= {"scale_bits": 0, "zero_bits": 0}
    shown = dict(fields) | {"bits": bits if isinstance(bits, int) else decimal(bits)}
    return ", ".join(f"{key}={value!r}" for key, value in shown.items() if value not in (None, usual.get(key)))


def storage_text(bits: int | Fraction, block: int | None, scale_bits: int, zero_bits: int) -> str:
    """What an element takes, as the comment of a repr.

    >>> storage_text(4, 128, 16, 4)
    '4 bits + 16-bit scale + 4-bit zero a 128 = 4.15625 bits'
    """
    text = f"{decimal(bits)} bit" + "s" * (bits != 1)
    if block is None:
        return text
    text += f" + {scale_bits}-bit scale" * bool(scale_bits) + f" + {zero_bits}-bit zero" * bool(zero_bits)
    return f"{text} a {block} = {decimal(bits + Fraction(scale_bits + zero_bits, block))} bits"


def limits_text(exponent_bits: int | None, mantissa_bits: int | None, largest: float | int | None) -> str:
    """The shape and the largest value of an encoding, as the end of the comment of a repr.

    >>> limits_text(2, 1, 6.0), limits_text(None, None, 127), limits_text(None, None, 2**99 - 1)
    ('; E2M1, max 6', '; max 127', '; max 2^99 - 1')
    """
    if largest is None:
        return ""
    shape = "" if exponent_bits is None else f"E{exponent_bits}M{mantissa_bits}, "
    whole_number = isinstance(largest, int) and largest > 2**64
    return f"; {shape}max " + (f"2^{int(largest).bit_length()} - 1" if whole_number else f"{largest:.6g}")


def checked_extents(extents: Collection[Size]) -> tuple[Size, ...]:
    """The extents of a tensor in order, each a positive size.

    >>> checked_extents((2, "n"))
    (2, n)
    """
    try:
        if not isinstance(extents, (tuple, list)) and isinstance(extents, (str, bytes, Mapping)):
            raise TypeError
        return tuple(_formula_or(extent, "extent") for extent in extents)
    except TypeError:
        shown = repr(extents)[:60]
        raise DimensionError(f"extents = {shown}: expected sizes in order, such as (4096, 128)") from None


def checked_count(elements: Size) -> Size:
    """A number of elements, which may be 0.

    >>> checked_count(0), checked_count(10)
    (0, 10)
    """
    return 0 if type(elements) is int and elements == 0 else _formula_or(elements, "elements")


def _formula_or(value: Any, what: str) -> Size:
    """A positive int of any size or a formula as it is; the rest as ``size`` reads or refuses it."""
    if type(value) is int and value > 0:
        return value
    value = as_size(value)
    return value if isinstance(value, sympy.Expr) and not value.is_number else size(value, what)


def _refuse(field: str, value: Any, rule: str) -> NoReturn:
    raise FormatError(f"Format: {field} = {repr(value)[:60]}: {rule}")
