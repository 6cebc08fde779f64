"""Launch: the shortest that a kernel takes, and starting blocks on all units.

``launch_s`` is what the smallest kernel of a CUDA graph takes from one end to the next; a protocol adds what another
way of launching does. A kernel that fills the chip starts a block on each unit, which takes a little longer than one.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip

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
