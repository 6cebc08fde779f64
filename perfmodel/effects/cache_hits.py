"""Cache hits: what a loop left in the last-level cache is not free; units stream it at a rate of their own.

A unit that streams (reads and writes as it goes) moves some 20 bytes a clock to and from the last-level cache: 4.9 TB/s
on an H100, 5.8 on an L40S, 6.7 on a B200 where all of it is resident (static fp8 quantization of ai-dynamo/
aiconfigurator; gpu-benches reads 5.3 TB/s on an A100, which is 35). The operands of a contraction have their own feed.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip
from perfmodel.effects.shapes import CONTRACTION, KernelShape

STREAM_BYTES = 20  # a clock and unit


def hits_s(shape: KernelShape, fetched: Any, chip: Chip) -> Any:
    """Seconds of the bytes that do not come from memory, ``fetched`` being those that do.

    >>> from perfmodel import elementwise, machine
    >>> from perfmodel.effects.shapes import shape_of
    >>> shape = shape_of(elementwise("2 * x", 2**20).counted[0]).numbers()
    >>> seconds = hits_s(shape, 0, Chip.of(machine("h100-sxm")))
    >>> f"{shape.bytes / seconds / 1e12:.1f} TB/s"
    '5.2 TB/s'
    """
    if shape.kind == CONTRACTION:
        return 0.0
    return (shape.bytes - fetched) / (STREAM_BYTES * chip.clock_hz * chip.units)
