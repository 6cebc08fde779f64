"""Seconds of the quantization of A inside the time of a narrow product: a launch, passes over A, blocks of rows."""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip
from perfmodel.effects.quantizers import Quantizer
from perfmodel.effects.residency import missed
from perfmodel.effects.shapes import KernelShape

# A small kernel before another of a CUDA graph, from its start to the start of the next: it reads, writes and drains;
# on Blackwell's chips of two dies what one wrote has to be seen by the other (the layers of three frameworks on eight
# chips: 1.9 us on Ada, Hopper and GB202, 2.7 on B200 and its like).
SMALL_S = 1.9e-6
TWO_DIES_S = 0.8e-6


def quantized_s(shape: KernelShape, chip: Chip, quantizer: Quantizer) -> Any:
    """Seconds of the kernels before the product: A is read in 16 bits, and written in its own format.

    The second pass over A comes from the last-level cache where A fits, at the rate that feeds the units.

    >>> from perfmodel import machine, matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> shape, chip = shape_of(matmul(8, 8, 8, dtype="fp8").counted[0]).numbers(), Chip.of(machine("h100-sxm"))
    >>> bool(SMALL_S <= quantized_s(shape, chip, Quantizer()) < 1.1 * SMALL_S)
    True
    """
    import numpy

    elements = shape.batch * shape.m * shape.k
    memory = chip.bandwidth * chip.constants.memory_reach
    again = 2.0 * (quantizer.passes - 1)  # bytes an element, after the first pass
    from_memory: Any = 2 + shape.bits / 8
    seconds = 0.0
    if again and chip.cache_bytes is not None:
        lost = missed(2 * elements, chip.cache_bytes * chip.constants.cache_reach)
        cache = max(memory, chip.constants.feed_bytes_per_clock * chip.clock_hz * chip.units)
        seconds, from_memory = elements * again * (1 - lost) / cache, from_memory + again * lost
    else:
        from_memory += again
    moving = seconds + elements * from_memory / memory
    rows = quantizer.row_s * shape.batch * shape.m / chip.units
    small = SMALL_S + (TWO_DIES_S if chip.capability.startswith("10.") else 0.0)
    return small + quantizer.other_s + numpy.maximum(moving, rows)
