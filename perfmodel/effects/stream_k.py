"""Stream-K: a persistent block a unit, and all steps of all tiles dealt out in equal shares, so that no unit idles.

    share = ceil(tiles * steps / units) whole steps, where dealing out whole tiles gives ceil(tiles / units) * steps

A share that ends inside a tile cuts it: the unit that comes after writes its partial tile in fp32, and the one that
began the tile waits for it, reads it again and adds it up. Counted by bytes, at the rate at which the units are fed
from the L2 cache, and once by what any combination costs, ``split_s`` of the chip. Partial tiles of one tile are taken
to be added while others still compute (Osama, Merrill, Cecka, Garland and Owens 2023, "Stream-K: Work-centric Parallel
Decomposition for Dense Matrix-Matrix Multiplication on the GPU").
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip
from perfmodel.effects.splitting_k import PARTIAL_BYTES
from perfmodel.effects.tiles import Tile
from perfmodel.errors import DimensionError
from perfmodel.mechanisms.given_values import chosen

STATIC, STREAM_K = "static", "stream-k"
SCHEDULES = (STATIC, STREAM_K)


def checked_schedule(schedule: Any, given: tuple[int, ...] | None = None) -> str:
    """The name of a schedule; stream-k cuts k by itself, so that a fixed tile has no splits beside it.

    >>> checked_schedule("Stream_K")
    'stream-k'
    """
    found = chosen(schedule, SCHEDULES, "schedule", "estimate")
    if found == STREAM_K and given is not None and given[2:] not in ((), (1,)):
        raise DimensionError(
            f"estimate: tile={given} with schedule='stream-k': stream-k cuts k by itself; leave the splits out"
        )
    return found


def share(blocks: Any, steps: Any, units: Any) -> Any:
    """The steps of the unit that has most.

    >>> float(share(120, 28, 108))  # 3,360 steps over 108 units: 31.1
    32.0
    """
    import numpy

    return numpy.ceil(blocks * steps / units)


def cuts(blocks: Any, steps: Any, units: Any) -> Any:
    """How many shares begin inside a tile, and so leave a partial one.

    Share i begins at step i * share; of so many in a row, one in steps / gcd(share, steps) begins with a tile.

    >>> float(cuts(120, 28, 108)), float(cuts(216, 28, 108))  # 105 shares, 15 of them at a tile's start; 2 tiles each
    (90.0, 0.0)
    """
    import numpy

    each = share(blocks, steps, units)
    begun = numpy.ceil(blocks * steps / each) - 1  # beside the first
    common = numpy.gcd(numpy.asarray(each, dtype="int64"), numpy.asarray(steps, dtype="int64"))
    return begun - numpy.floor(begun * common / steps)


def fix_up_s(blocks: Any, steps: Any, tile: Tile, chip: Chip) -> Any:
    """Seconds of writing, awaiting and reading the partial tiles; none where no tile is cut.

    >>> from perfmodel import machine
    >>> chip = Chip.of(machine("a100-sxm-80gb"))
    >>> seconds = fix_up_s(120, 28, Tile(256, 128), chip)
    >>> rate = chip.constants.feed_bytes_per_clock * chip.clock_hz * 108
    >>> bool(seconds == chip.constants.split_s + 90 * 256 * 128 * (4 + 4) / rate)
    True
    >>> float(fix_up_s(216, 28, Tile(256, 128), chip))
    0.0
    """
    import numpy

    rate = chip.constants.feed_bytes_per_clock * chip.clock_hz * chip.units
    partial = cuts(blocks, steps, chip.units)
    return numpy.where(partial > 0, chip.constants.split_s + partial * (tile.m * tile.n * PARTIAL_BYTES) / rate, 0.0)
