"""Values as number formats hold them: what a run rounds, and how.

A float is rounded once, to nearest, ties to even (IEEE 754-2019, section 4.3.1). The package ``ml_dtypes`` has the
narrow floats; it takes a float64 by way of float32, so values go to float32 rounded to odd first, which leaves
what the second rounding needs (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms
using rounding to odd", IEEE Transactions on Computers 57(4), 2008).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

from perfmodel.errors import FormatError, PerfModelError, listed
from perfmodel.format_table import FLOATS, INTEGERS, SCALED
from perfmodel.graph.nodes import Op
from perfmodel.number_formats import Format, format

TYPES = {
    "fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "tf32": "float32",
    "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2", "fp8_e4m3fnuz": "float8_e4m3fnuz",
    "fp8_e5m2fnuz": "float8_e5m2fnuz", "fp6_e2m3": "float6_e2m3fn", "fp6_e3m2": "float6_e3m2fn",
    "fp4_e2m1": "float4_e2m1fn",
}  # fmt: skip
KNOWN = tuple([name for name in (*FLOATS, *INTEGERS, *SCALED) if name not in ("int1", "e8m0")])
SCALE_EXPONENTS = (-127, 127)  # E8M0: OCP MX specification 1.0, section 5.4.1
TF32_BITS = 13  # the mantissa bits of fp32 that tf32 lacks


@dataclass(frozen=True, slots=True)
class Rounding:
    """What a run rounds: nothing, or operands, results and what is stored, each in its format.

    Block scales are a way of storing: an op that computes in a block-scaled format takes its operands as they
    are stored, and its result is rounded when it is stored.

    >>> Rounding(False).stored(1.01, format("bf16")), float(Rounding(True).stored(1.01, format("bf16")))
    (1.01, 1.0078125)
    """

    on: bool = False

    def operand(self, values: Any, op: Op) -> Any:
        """An operand in the compute format.

        >>> from perfmodel import matmul
        >>> float(Rounding(True).operand(1.001, matmul(2, 2, 2).ops[0]))
        1.0
        """
        return self._plain(values, op.compute)

    def result(self, values: Any, op: Op) -> Any:
        """What an op made: a map's result in the compute format, an accumulator in its own.

        >>> from perfmodel import matmul
        >>> float(Rounding(True).result(1 + 2**-10, matmul(2, 2, 2).ops[0])) == 1 + 2**-10  # fp32
        True
        """
        return self._plain(values, op.compute if op.kind == "map" else op.accumulate)

    def stored(self, values: Any, form: Format) -> Any:
        """Values of a tensor in its format.

        >>> float(Rounding(True).stored(1000.0, format("fp8_e4m3")))
        448.0
        """
        return rounded(values, form) if self.on else values

    def _plain(self, values: Any, form: Format) -> Any:
        return rounded(values, form) if self.on and form.block is None else values


def rounded(values: Any, form: Format) -> Any:
    """Values as a format holds them, as float64: to nearest, ties to even.

    Too large values become infinite where the format has 16 bits or more, as IEEE 754 has it, and the largest
    finite one where it has fewer, as OFP8's saturating conversion has it; integers saturate, and NaN becomes 0.
    Blocks run along the last axis. MX: the scale is 2^(floor(log2 of the largest magnitude) - the largest
    exponent of an element) (OCP MX specification 1.0, section 6.3). NVFP4: the largest magnitude over 6, in E4M3;
    the further scale of the tensor is left out.

    >>> rounded([1.01, 1e39], format("bf16")).tolist(), rounded([2.5, 200], format("int8")).tolist()
    ([1.0078125, inf], [2.0, 127.0])
    >>> rounded([7.9, 1, 0.3], format("mxfp4")).tolist()  # scale 2^(2 - 2)
    [6.0, 1.0, 0.5]
    """
    import numpy as np

    found = np.asarray(values, dtype=np.float64)
    if form.name not in KNOWN or format(form.name) != form:
        raise FormatError(f"simulate: how to round to {form.name} is not known; known are {listed(KNOWN, 40)}")
    with np.errstate(all="ignore"):
        if form.block is not None:
            return _by_block(found, form, form.block)
        return _whole(found, form) if form.kind == "int" else _floats(found, form)


def _whole(values: Any, form: Format) -> Any:
    import numpy as np

    most = int(form.max_finite or 0)
    least = -most - 1 if form.encoding == "signed" else 0
    return np.clip(np.rint(np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf)), least, most)


def _symmetric(values: Any, form: Format) -> Any:
    """Integers without the least one, which MXINT8 may leave out (OCP MX, section 5.3.4): -x is held where x is."""
    import numpy as np

    most = float(form.max_finite or 0)
    return np.clip(np.rint(values), -most, most)


def _floats(values: Any, form: Format) -> Any:
    import numpy as np

    if form.name == "fp64":
        return values
    if form.bits <= 8 and form.max_finite is not None:
        values = np.clip(values, -form.max_finite, form.max_finite)  # leaves NaN
    if form.name in ("fp32", "fp16"):  # numpy rounds these from float64 in one step
        return values.astype(TYPES[form.name]).astype(np.float64)
    odd = _to_odd(values)
    if form.name == "tf32":
        bits = odd.view(np.uint32)
        half, last = np.uint32(2 ** (TF32_BITS - 1) - 1), (bits >> np.uint32(TF32_BITS)) & np.uint32(1)
        near = ((bits + half + last) >> np.uint32(TF32_BITS)) << np.uint32(TF32_BITS)
        return np.where(np.isfinite(odd), near.view(np.float32), odd).astype(np.float64)
    found = odd.astype(_type(form.name)).astype(np.float64)
    return np.where(np.isnan(values), np.nan, found)  # fp6 and fp4 have no NaN; a run keeps it


def _to_odd(values: Any) -> Any:
    """Values as float32, cut towards zero, with the last bit set where something was cut off."""
    import numpy as np

    near = values.astype(np.float32)
    over = np.abs(near.astype(np.float64)) > np.abs(values)
    cut = np.where(over, np.nextafter(near, np.float32(0)), near).astype(np.float32)
    inexact = (cut.astype(np.float64) != values) & np.isfinite(values)
    return (cut.view(np.uint32) | inexact.astype(np.uint32)).view(np.float32)


def _by_block(values: Any, form: Format, block: int) -> Any:
    """Each block along the last axis over its own scale, rounded, and times the scale again."""
    import numpy as np

    rows = np.atleast_1d(values)
    count = rows.shape[-1]
    padded = np.zeros((*rows.shape[:-1], math.ceil(count / block) * block))
    padded[..., :count] = rows
    blocks = padded.reshape(*rows.shape[:-1], -1, block)
    element = unscaled(form)
    scale = scales(np.max(np.where(np.isfinite(blocks), np.abs(blocks), 0.0), axis=-1, keepdims=True), form)
    near = _symmetric if element.kind == "int" else _floats
    found = np.where(scale > 0, near(blocks / np.where(scale > 0, scale, 1.0), element) * scale, 0.0)
    if element.encoding in ("finite", "signed"):  # no NaN of its own: the scale's
        found = np.where(np.isnan(blocks).any(axis=-1, keepdims=True), np.nan, found)
    return found.reshape(padded.shape)[..., :count].reshape(values.shape)


def scales(largest: Any, form: Format) -> Any:
    """The scale of blocks whose largest magnitudes are these.

    >>> float(scales(12.0, format("mxfp4"))), float(scales(12.0, format("nvfp4")))  # 2^(3 - 2) and 12/6
    (2.0, 2.0)
    """
    import numpy as np

    top = float(form.max_finite or 1)
    if form.name == "nvfp4":
        return _floats(np.asarray(largest) / top, format("fp8_e4m3"))
    exponent = np.frexp(largest)[1] - math.frexp(top)[1]
    return np.where(np.asarray(largest) > 0, np.ldexp(1.0, np.clip(exponent, *SCALE_EXPONENTS)), 1.0)


@cache
def _type(name: str) -> Any:
    """The numpy type of a narrow float, from ml_dtypes."""
    import numpy as np

    try:
        import ml_dtypes
    except ImportError:
        raise PerfModelError(
            f"simulate: rounding to {name} needs the package ml_dtypes: pip install 'perfmodel[simulation]'"
        ) from None
    return np.dtype(getattr(ml_dtypes, TYPES[name]))


def unscaled(form: Format) -> Format:
    """The format of a block-scaled format's elements; another format is its own.

    >>> unscaled(format("mxfp4")).name
    'fp4_e2m1'
    """
    return format(SCALED[form.name][0]) if form.name in SCALED else form
