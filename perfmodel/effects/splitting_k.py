"""Split-K: blocks that share a tile leave partial sums, which a second pass adds.

Costs ``split_s`` (the second kernel, or the wait for the last block), and fp32 partial results written to and read
from the L2 cache at the rate at which units are fed from it.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip
from perfmodel.effects.shapes import KernelShape
from perfmodel.effects.tiles import Tile

PARTIAL_BYTES = 2 * 4  # an fp32 partial sum, written and read


def split_s(shape: KernelShape, tile: Tile, chip: Chip) -> Any:
    """Seconds that the combination takes; none where k is not split.

    >>> from perfmodel import machine, matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> shape = shape_of(matmul(64, 64, 4096).counted[0]).numbers()
    >>> float(split_s(shape, Tile(64, 64), Chip.of(machine("h100-sxm"))))
    0.0
    """
    import numpy

    rate = chip.constants.feed_bytes_per_clock * chip.clock_hz * chip.units
    each = shape.batch * shape.m * shape.n * PARTIAL_BYTES / rate
    return numpy.where(tile.splits > 1, chip.constants.split_s + each * tile.splits, 0.0)
