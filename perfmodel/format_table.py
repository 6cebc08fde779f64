"""The table of number formats, as plain data, and what the patterns of an encoding stand for.

No value is typed in: the largest, the smallest and the step of a format are computed from these
columns. Sources, by the short names used below:

- IEEE 754: IEEE 754-2019, table 3.5 (binary16, binary32, binary64).
- bf16: Intel, "BFLOAT16 Hardware Numerics Definition", 2018.
- TF32: NVIDIA A100 Tensor Core GPU Architecture whitepaper, 2020: the exponent of fp32 and the
  mantissa of fp16, 19 bits that matter, kept in 32-bit words.
- OFP8: OCP 8-bit Floating Point Specification (OFP8), revision 1.0, 2023, table 1. E5M2 follows
  IEEE 754; E4M3 has no infinities and gives up one magnitude, all ones, for NaN.
- FNUZ: Noune et al., "8-bit Numerical Formats for Deep Neural Networks", arXiv:2206.02915, as in
  AMD's CDNA 3: one zero, and its negative is the only NaN; the bias is one more than usual.
- MX: OCP Microscaling Formats (MX) Specification, version 1.0, 2023: FP6 and FP4 elements have
  neither infinity nor NaN (section 5.3); 32 elements, or 32 integers, share one 8-bit E8M0 scale (table 1, 5.4),
  an exponent alone: without sign and zero, its lowest pattern is 2^-127 and its highest NaN.
- NVFP4: NVIDIA, "Introducing NVFP4 for Efficient and Accurate Low-Precision Inference", 2025:
  16 E2M1 elements share one E4M3 scale.
- int1: NVIDIA, PTX ISA, ``mma`` with ``.b1``: bits under XOR (-1, +1) or AND (0, 1) and popcount.
"""

from __future__ import annotations

import math

# What an encoding gives up at the top of its range. Floats:
#   "ieee"     the highest exponent is kept for infinity and NaN
#   "one-nan"  only the highest magnitude is kept, for NaN
#   "fnuz"     nothing: NaN sits where negative zero would be
#   "finite"   nothing: every pattern is a number
#   "powers"   the highest magnitude, for NaN; there is no sign and no zero: every pattern is a power of two
# Integers: "signed" (two's complement), "unsigned", and "binary" (one bit for -1, +1 or 0, 1).
FLOAT_ENCODINGS = ("ieee", "one-nan", "fnuz", "finite", "powers")
INT_ENCODINGS = ("signed", "unsigned", "binary")

# name: (bits in memory, exponent bits, mantissa bits, bias, encoding, family)
FLOATS: dict[str, tuple[int, int, int, int, str, str]] = {
    "fp64": (64, 11, 52, 1023, "ieee", "fp64"),  # IEEE 754
    "fp32": (32, 8, 23, 127, "ieee", "fp32"),  # IEEE 754
    "tf32": (32, 8, 10, 127, "ieee", "tf32"),  # TF32
    "bf16": (16, 8, 7, 127, "ieee", "bf16"),  # bf16
    "fp16": (16, 5, 10, 15, "ieee", "fp16"),  # IEEE 754
    "fp8_e4m3": (8, 4, 3, 7, "one-nan", "fp8"),  # OFP8
    "fp8_e5m2": (8, 5, 2, 15, "ieee", "fp8"),  # OFP8
    "fp8_e4m3fnuz": (8, 4, 3, 8, "fnuz", "fp8"),  # FNUZ
    "fp8_e5m2fnuz": (8, 5, 2, 16, "fnuz", "fp8"),  # FNUZ
    "fp6_e2m3": (6, 2, 3, 1, "finite", "fp6"),  # MX
    "fp6_e3m2": (6, 3, 2, 3, "finite", "fp6"),  # MX
    "fp4_e2m1": (4, 2, 1, 1, "finite", "fp4"),  # MX
    "e8m0": (8, 8, 0, 127, "powers", "e8m0"),  # MX
}

# name: (bits, encoding, family)
INTEGERS: dict[str, tuple[int, str, str]] = {
    "int64": (64, "signed", "int64"),
    "int32": (32, "signed", "int32"),
    "int16": (16, "signed", "int16"),
    "int8": (8, "signed", "int8"),
    "uint8": (8, "unsigned", "int8"),
    "int4": (4, "signed", "int4"),
    "int1": (1, "binary", "int1"),  # int1
}

# name: (format of the elements, elements that share a scale, bits of the scale)
SCALED: dict[str, tuple[str, int, int]] = {
    "mxfp8": ("fp8_e4m3", 32, 8),  # MX
    "mxfp8_e5m2": ("fp8_e5m2", 32, 8),  # MX
    "mxfp6": ("fp6_e2m3", 32, 8),  # MX
    "mxfp6_e3m2": ("fp6_e3m2", 32, 8),  # MX
    "mxfp4": ("fp4_e2m1", 32, 8),  # MX
    "mxint8": ("int8", 32, 8),  # MX
    "nvfp4": ("fp4_e2m1", 16, 8),  # NVFP4
}

# Other names, lower case. fp8, fp6 and fp4 alone say only the width, which is all that storage needs;
# each stands for the member with the most mantissa bits. Write the full name where the range matters.
ALIASES: dict[str, str] = {
    "float64": "fp64",
    "double": "fp64",
    "f64": "fp64",
    "float32": "fp32",
    "single": "fp32",
    "f32": "fp32",
    "tensorfloat32": "tf32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "f16": "fp16",
    "fp8": "fp8_e4m3",
    "e4m3": "fp8_e4m3",
    "fp8_e4m3fn": "fp8_e4m3",
    "float8_e4m3fn": "fp8_e4m3",
    "e5m2": "fp8_e5m2",
    "float8_e5m2": "fp8_e5m2",
    "float8_e4m3fnuz": "fp8_e4m3fnuz",
    "float8_e5m2fnuz": "fp8_e5m2fnuz",
    "fp6": "fp6_e2m3",
    "e2m3": "fp6_e2m3",
    "float6_e2m3fn": "fp6_e2m3",
    "e3m2": "fp6_e3m2",
    "float6_e3m2fn": "fp6_e3m2",
    "fp4": "fp4_e2m1",
    "e2m1": "fp4_e2m1",
    "float4_e2m1fn": "fp4_e2m1",
    "float8_e8m0fnu": "e8m0",
    "binary": "int1",
    "mxfp8_e4m3": "mxfp8",
    "mxfp6_e2m3": "mxfp6",
    "mxfp4_e2m1": "mxfp4",
}


def largest_code(exponent_bits: int, mantissa_bits: int, encoding: str) -> int:
    """The pattern of the largest finite float, without its sign: what the encoding sets apart lies above.

    >>> largest_code(4, 3, "one-nan"), largest_code(5, 2, "ieee")  # 0b1111110, 0b1111011
    (126, 123)
    """
    patterns = 1 << exponent_bits + mantissa_bits
    if encoding == "ieee":
        return patterns - (1 << mantissa_bits) - 1
    return patterns - (2 if encoding in ("one-nan", "powers") else 1)


def magnitude(code: int, mantissa_bits: int, bias: int) -> float:
    """The value of a pattern without its sign: the exponent field above, the mantissa field below.

    >>> magnitude(126, 3, 7)  # 1.75 * 2^(15 - 7)
    448.0
    """
    exponent, significand = code >> mantissa_bits, code & (1 << mantissa_bits) - 1
    if exponent:
        significand += 1 << mantissa_bits  # the leading one that normal numbers do not store
    return math.ldexp(significand, max(exponent, 1) - bias - mantissa_bits)


def least_normal(mantissa_bits: int, bias: int, encoding: str | None) -> float:
    """The smallest float of full precision: exponent field 1, or the lowest pattern where that is no zero.

    >>> least_normal(3, 7, "one-nan") == 2**-6, least_normal(0, 127, "powers") == 2**-127
    (True, True)
    """
    return math.ldexp(1.0, (0 if encoding == "powers" else 1) - bias)


def largest_integer(bits: int, encoding: str) -> int:
    """The greatest integer; one bit is read as -1, +1 or as 0, 1, so 1 in either reading.

    >>> largest_integer(8, "signed"), largest_integer(8, "unsigned"), largest_integer(1, "binary")
    (127, 255, 1)
    """
    return (1 << bits - 1) - 1 if encoding == "signed" else (1 << bits) - 1
