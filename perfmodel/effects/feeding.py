"""Operand feed: the matrix unit of a small tile waits for its operands.

A step of a block brings (tile m + tile n) rows of one 128-byte line from the L2 cache, and multiplies tile m *
tile n of them: the smaller the tile, the more bytes a FLOP. Each unit takes ``feed_bytes_per_clock`` from the L2
while all do (its bandwidth over units and clock; more where clusters of blocks share what they fetch).
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip
from perfmodel.effects.tiles import LINE_BYTES, Tile


def feed_s(tile: Tile, chip: Chip, width: Any = 1.0) -> Any:
    """Seconds that the operands of one step take to arrive; ``width`` is the share that their alignment allows.

    >>> from perfmodel import machine
    >>> chip = Chip.of(machine("a100-sxm-80gb"))
    >>> feed_s(Tile(64, 64), chip) / feed_s(Tile(128, 128), chip)
    0.5
    """
    rate = chip.constants.feed_bytes_per_clock * chip.clock_hz
    return (tile.m + tile.n) * LINE_BYTES / (rate * width)
