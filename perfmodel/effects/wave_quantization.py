"""Wave quantization: a unit runs whole blocks, so the slowest one has ceil(blocks / units) of them.

Static schedule: blocks are dealt out evenly, and the kernel ends with the unit that has most (NVIDIA, Matrix
Multiplication Background User's Guide, "wave quantization"). A persistent or stream-K schedule (Osama et al. 2023,
"Stream-K") cuts the last wave along k, so that each unit has blocks / units of work and pays for one more
combination.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.tile_quantization import over, rounded_up


def most_blocks(blocks: Any, units: Any, whole: bool = True) -> Any:
    """The blocks of the busiest unit; without the effect the average. An array of blocks is used up.

    >>> float(most_blocks(120, 108)), float(most_blocks(54, 108, whole=False))
    (2.0, 0.5)
    """
    found = over(blocks, units)
    return rounded_up(found) if whole else found


def last_wave_fill(blocks: int, units: int) -> float:
    """The share of units that the last wave keeps busy.

    >>> round(last_wave_fill(120, 108), 2), last_wave_fill(216, 108)
    (0.11, 1.0)
    """
    rest = blocks % units
    return rest / units if rest else 1.0
