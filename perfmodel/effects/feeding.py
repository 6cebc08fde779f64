"""Operand feed: the matrix unit of a small tile waits for its operands.

A step of a block brings (tile m + tile n) rows of one 128-byte line from the L2 cache, and multiplies tile m *
tile n of them: the smaller the tile, the more bytes a FLOP. Each unit takes ``feed_bytes_per_clock`` from the L2
while all do (its bandwidth over units and clock; more where clusters of blocks share what they fetch). Where blocks are
fewer than units they share the same bandwidth among themselves, up to the port of a unit.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip
from perfmodel.effects.tiles import LINE_BYTES, Tile

# What a lone unit takes in a clock from the L2: two sectors. A guess for chips whose sheets do not say, of little
# weight: with 48 the errors of the chips that feed less are the same to a tenth of a percent.
PORT_BYTES = 64


def feed_s(tile: Tile, chip: Chip, width: Any = 1.0, busy: Any = 1.0) -> Any:
    """Seconds that the operands of one step take to arrive.

    ``width`` is the share of the feed that their alignment allows, ``busy`` the blocks a unit.

    >>> from perfmodel import machine
    >>> chip = Chip.of(machine("a100-sxm-80gb"))
    >>> float(feed_s(Tile(64, 64), chip) / feed_s(Tile(128, 128), chip))
    0.5
    >>> float(feed_s(Tile(64, 64), chip, busy=0.5) / feed_s(Tile(64, 64), chip))  # half of the units, twice as fast
    0.5
    """
    import numpy

    fed = chip.constants.feed_bytes_per_clock
    seconds = (tile.m + tile.n) * LINE_BYTES / (fed * chip.clock_hz * width)
    return seconds * numpy.clip(busy, min(1.0, fed / PORT_BYTES), 1.0)
