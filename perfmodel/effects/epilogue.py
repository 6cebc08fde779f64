"""Epilogue: each block ends by converting its accumulators and storing them, while its matrix unit idles.

``tile_s`` is that time for a tile of 128 x 128 of 16-bit results; it grows with the bytes of the tile.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip
from perfmodel.effects.tiles import Tile


def epilogue_s(tile: Tile, chip: Chip, most: Any, out_bits: Any = 16) -> Any:
    """Seconds for the blocks of the busiest unit to store their results.

    >>> from perfmodel import machine
    >>> chip = Chip.of(machine("h100-sxm"))
    >>> round(float(epilogue_s(Tile(256, 128), chip, 1)) / chip.constants.tile_s, 6)
    2.0
    """
    return most * (chip.constants.tile_s * (out_bits / 16) / 128**2 * tile.m * tile.n)
