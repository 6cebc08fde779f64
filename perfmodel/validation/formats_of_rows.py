"""Number formats by the words that tables of measured times use."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from perfmodel.number_formats import Format, format
from perfmodel.validation.rows import Unmapped

_BLOCK = 128  # elements of one scale of "fp8_block" (DeepSeek-V3, arXiv 2412.19437, section 3.3: 1 x 128 and 128 x 128)
_SCALE_BITS = 32
_SHORT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "fp8": "fp8_e4m3", "fp4_mx": "mxfp4"}


class Formats(NamedTuple):
    """What a row's operands are stored in, computed in, and what it writes.

    >>> formats_of("fp8_block").stored.block, formats_of("fp8_block").compute
    (128, 'fp8_e4m3')
    """

    stored: Format
    compute: str | None  # where it is not the operands' own
    out: Format


@lru_cache(maxsize=256)
def formats_of(dtype: str, out: str = "") -> Formats:
    """The formats of a row by its ``dtype`` and the output that its remarks name; ``Unmapped`` where unknown.

    Narrow formats write bf16, int8 writes int32, others write what they read, where the row does not say.

    >>> [formats_of(name).out.name for name in ("bf16", "nvfp4", "int8", "fp16_fp32math")]
    ['bf16', 'bf16', 'int32', 'fp16']
    """
    if dtype == "fp8_block":
        stored = Format(bits=8, exponent_bits=4, mantissa_bits=3, block=_BLOCK, scale_bits=_SCALE_BITS)
        return Formats(stored, "fp8_e4m3", _named(out or "bf16"))
    math = dtype.endswith("_fp32math")
    stored = _named(dtype.removesuffix("_fp32math"))
    written = _named(out) if out else _written(stored)
    return Formats(stored, "fp32" if math else None, written)


def _written(stored: Format) -> Format:
    if stored.accumulator.startswith("int"):
        return format(stored.accumulator)
    return stored if stored.bits >= format("fp16").bits else format("bf16")


def _named(text: str) -> Format:
    try:
        return format(_SHORT.get(text, text))
    except ValueError:
        raise Unmapped(f"no number format {text!r}") from None
