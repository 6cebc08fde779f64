"""k-step latency: a block's steps follow one another no faster than its pipeline turns.

Where tiles are small, a step ends before the next operands are there; ``step_s`` is the time between two steps of
a lone block (memory latency over the stages in flight, barriers, the dependent multiply). Blocks that share a unit
hide each other's.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip


def least_step_s(chip: Chip, most: Any, resident: Any) -> Any:
    """Seconds that one step of all of a unit's blocks takes at least.

    >>> from perfmodel import machine
    >>> chip = Chip.of(machine("h100-sxm"))
    >>> float(least_step_s(chip, 4, 2) / chip.constants.step_s)
    2.0
    """
    import numpy

    return numpy.ceil(most / resident) * chip.constants.step_s
