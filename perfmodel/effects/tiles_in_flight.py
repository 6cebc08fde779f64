"""Tiles in flight: blocks that run together share what they read through the L2 cache; later ones read it again.

The blocks of a wave lie in a patch as square as their tiles allow (libraries swizzle their order to that end), so the
patch reads its rows of A and its columns of B once. The next patch lies beside it and shares one of the two, the one
that is better kept, as long as that slab fits the cache; the other is read again, from memory where A and B together do
not fit: A once for each column of patches, or B once for each row of them.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip
from perfmodel.effects.residency import missed
from perfmodel.effects.shapes import KernelShape
from perfmodel.effects.tiles import Tile


def reread_bytes(shape: KernelShape, tile: Tile, chip: Chip) -> Any:
    """Bytes of A and B that come from memory again, beyond once.

    >>> from perfmodel import machine, matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> chip = Chip.of(machine("h100-sxm"))
    >>> small, large = [shape_of(matmul(n, n, n).counted[0]).numbers() for n in (1024, 16384)]
    >>> float(reread_bytes(small, Tile(128, 128), chip)), 1 < float(reread_bytes(large, Tile(128, 128), chip)) / 2**30
    (0.0, True)
    """
    import numpy

    if chip.cache_bytes is None:
        return 0.0
    lost = missed((shape.a_bytes + shape.b_bytes) / shape.batch, chip.cache_bytes * chip.constants.cache_reach)
    if not numpy.any(lost):
        return 0.0
    side = numpy.sqrt(chip.units * tile.m * tile.n)  # of the patch, in elements
    again_a = shape.a_bytes * numpy.maximum(shape.n / side - 1, 0)
    again_b = shape.b_bytes * numpy.maximum(shape.m / side - 1, 0)
    slab = missed(side * shape.k * shape.bits / 8, chip.cache_bytes * chip.constants.cache_reach)
    return lost * (numpy.minimum(again_a, again_b) + slab * numpy.maximum(again_a, again_b))
