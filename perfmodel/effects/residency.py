"""Cache reuse: what a loop touched last is still in the last-level cache, and need not come from memory.

An operand is missed by clip((touched / C - 1) / 0.4, 0, 1), where ``touched`` are the bytes that the loop touches
between two uses of it and C is the usable share ``cache_reach`` of the cache: a set-associative cache of hashed
addresses loses lines well before it is full, and one in two partitions holds a copy in each. Which bytes those are is
a property of the measurement (``perfmodel.effects.protocols``), not of the chip; without one nothing is resident. A
stream that is resident still flows at the bandwidth of the cache.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip
from perfmodel.effects.protocols import Protocol
from perfmodel.effects.shapes import KernelShape

RAMP = 0.4  # from the first lines lost to all of them, over the usable capacity: read off the timings of four chips


def missed(touched: Any, capacity: float) -> Any:
    """The share of an operand that comes from memory.

    >>> [round(float(missed(size, 100.0)), 3) for size in (90.0, 120.0, 200.0)]
    [0.0, 0.5, 1.0]
    """
    import numpy

    return numpy.clip((touched / capacity - 1) / RAMP, 0, 1)


def fetched_bytes(shape: KernelShape, chip: Chip, protocol: Protocol) -> Any:
    """The bytes that cross the memory level in one run of the loop.

    >>> from perfmodel import machine, matmul
    >>> from perfmodel.effects.protocols import COLD, WARM
    >>> from perfmodel.effects.shapes import shape_of
    >>> shape, chip = shape_of(matmul(512, 512, 512).counted[0]).numbers(), Chip.of(machine("h100-sxm"))
    >>> [float(fetched_bytes(shape, chip, each)) for each in (COLD, WARM)]
    [1572864.0, 0.0]
    """
    if protocol.cold or chip.cache_bytes is None:
        return shape.bytes
    capacity = chip.cache_bytes * chip.constants.cache_reach
    copies = _copies(shape, chip, protocol)
    parts = (shape.a_bytes, shape.b_bytes, shape.c_bytes)
    once = shape.bytes
    loop = once + sum((number - 1) * part for number, part in zip(copies, parts, strict=True))
    found = once - sum(parts)  # what has no role, such as a bias, is small
    found = found * missed(once, capacity)
    for rotated, part in zip(protocol.copies, parts, strict=True):
        found = found + part * missed(loop if rotated > 1 else once, capacity)
    return found


def _copies(shape: KernelShape, chip: Chip, protocol: Protocol) -> tuple[Any, ...]:
    import numpy

    if not protocol.until_l2 or chip.cache_bytes is None:
        return protocol.copies
    first, second, third = protocol.copies
    return first, numpy.clip(numpy.ceil(chip.cache_bytes / numpy.maximum(shape.b_bytes, 1)), 1, second), third
