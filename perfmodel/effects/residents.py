"""Occupancy: how many blocks of a contraction share a unit, and so hide each other's latency.

A block keeps a few steps of A and B in flight in shared memory and an fp32 accumulator in registers; as many fit
as both have room for. Assumes four stages, as CUTLASS's pipelines have on all GPUs since Ampere.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.tiles import LINE_BYTES, Tile

STAGES = 4
MOST = 8  # blocks of 256 threads that a unit's 64 warp slots hold; binds only for tiles below those that are tried


def resident(tile: Tile, shared_bytes: float) -> Any:
    """Blocks that are on a unit at the same time.

    >>> float(resident(Tile(64, 64), 100 * 1024)), float(resident(Tile(64, 64), 228 * 1024))
    (1.0, 3.0)
    """
    import numpy

    staged = STAGES * LINE_BYTES * (tile.m + tile.n)
    return numpy.clip(numpy.floor(shared_bytes / staged), 1, MOST)
