"""The kernels of a framework that bring the activations of a narrow product into its format, inside the measured time.

What differs is the recipe, not the chip: how often A is read (one pass with a scale that is known or of a block, a
second one after a maximum over the row, a third after one over the tensor), the time that a block needs for a row,
and the small kernels beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

from perfmodel.errors import PerfModelError, brief

AMOUNT = "expected a finite number of 0 or more"


def is_amount(value: Any) -> bool:
    """Whether a value is a finite number of 0 or more.

    >>> is_amount(2e-6), is_amount(-1), is_amount("a"), is_amount(True)
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return bool(isfinite(value) and float(value) >= 0)
    except OverflowError:
        return False


@dataclass(frozen=True, slots=True)
class Quantizer:
    """How a framework quantizes: ``passes`` over A, ``row_s`` of a block a row, ``other_s`` of its small kernels.

    A launches once more, and is written in the narrow format once. ``row_s`` is two or three memory latencies where
    a unit takes a row at a time, and nearly none where several rows are in flight.

    >>> Quantizer(passes=2).other_s
    0.0
    """

    passes: int = 1
    row_s: float = 0.0
    other_s: float = 0.0

    def __post_init__(self) -> None:
        if type(self.passes) is not int or self.passes < 1:
            raise PerfModelError(f"Quantizer: passes = {brief(self.passes)}: expected a whole number from 1 on")
        for name in ("row_s", "other_s"):
            if not is_amount(getattr(self, name)):
                raise PerfModelError(f"Quantizer: {name} = {brief(getattr(self, name))}: {AMOUNT}")


# By framework and format, as read off the smallest products (other_s) and the longest A (passes), on all chips alike:
# ai-dynamo/aiconfigurator, whose collectors time the layer as the framework calls it, the quantization included.
QUANTIZERS = {
    ("sglang", "fp8"): Quantizer(2, 0.04e-6, 0.4e-6),  # a maximum and a scale a row
    ("vllm", "fp8"): Quantizer(3, 0.9e-6, 0.7e-6),  # the same, a block of 1,024 threads a row
    ("trtllm", "fp8"): Quantizer(3, 0.0, 8e-6),  # one scale: a maximum over all of A, its inverse, and A times it
    ("sglang", "fp8_block"): Quantizer(1),
    ("trtllm", "fp8_block"): Quantizer(1, 0.0, 0.5e-6),
    ("vllm", "fp8_block"): Quantizer(1),
    ("sglang", "nvfp4"): Quantizer(1, 0.1e-6, 0.2e-6),
    ("trtllm", "nvfp4"): Quantizer(2, 0.1e-6, 2.5e-6),
    ("vllm", "nvfp4"): Quantizer(1, 0.14e-6, 2.5e-6),
}
