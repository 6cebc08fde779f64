"""Launch: the shortest that a kernel takes, and starting blocks on all units.

``launch_s`` is what the smallest kernel of a CUDA graph takes from one end to the next; a protocol adds what another
way of launching does. A kernel that fills the chip starts a block on each unit, which takes a little longer than one.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip
from perfmodel.effects.protocols import Protocol
from perfmodel.effects.shapes import KernelShape

START_S = 0.3e-6  # starting a block on every unit: their first instructions and translations


def launched_s(chip: Chip, blocks: Any = None, extra_s: float = 0.0) -> Any:
    """Seconds from the end of the kernel before to the first work of this one.

    >>> from perfmodel import machine
    >>> chip = Chip.of(machine("h100-sxm"))
    >>> launched_s(chip) == chip.constants.launch_s, bool(launched_s(chip, 132) > launched_s(chip, 1))
    (True, True)
    """
    import numpy

    alone = chip.constants.launch_s + extra_s
    return alone if blocks is None else alone + START_S * numpy.minimum(1.0, blocks / chip.units)


def extra_s(shape: KernelShape, chip: Chip, protocol: Protocol) -> Any:
    """Seconds of other kernels inside the time: each starts; one that quantizes reads A in 16 bits and writes it.

    >>> from perfmodel import machine, matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> shape, chip = shape_of(matmul(8, 8, 8, dtype="fp8").counted[0]).numbers(), Chip.of(machine("h100-sxm"))
    >>> extra_s(shape, chip, Protocol("mine")), extra_s(shape, chip, Protocol("q", kernels=("quantize",))) > 2e-6
    (0.0, True)
    """
    found: Any = 0.0
    for name in protocol.kernels:
        moved = shape.batch * shape.m * shape.k * (16 + shape.bits) / 8 if name == "quantize" else 0.0
        found = found + chip.constants.launch_s + moved / (chip.bandwidth * chip.constants.memory_reach)
    return found
