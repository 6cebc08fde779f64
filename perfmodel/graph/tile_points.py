"""The points of an op in tiles: what is counted of its labels, without padding and without what bounds cut off."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from perfmodel.errors import DimensionError, TransformError
from perfmodel.expressions import Size, product
from perfmodel.graph.intervals import Interval, Trip
from perfmodel.graph.needs import Need
from perfmodel.graph.nodes import Op
from perfmodel.graph.paddings import valid_parts
from perfmodel.graph.parts import part_note
from perfmodel.graph.splits import bound_indices, mask_extents
from perfmodel.graph.sums import lengths_sum

if TYPE_CHECKING:
    from perfmodel.graph.tiled import Tiled


def valid_points(tiled: Tiled, need: Need, path: Collection[str]) -> Size:
    """Valid points of an op over all blocks and trips: those that its mask, its padding and its bounds allow.

    >>> from perfmodel import matmul, pad, tile
    >>> tiled = tile(pad(matmul(5, 8, 8), m=4), m=4, n=4).counted[0].tiled
    >>> valid_points(tiled, tiled.needs[0], ()) == 5 * 8 * 8
    True
    """
    op, mask = need.op, need.op.mask
    again = tiled.times(set(need.labels), path)
    parts = counted_parts(need, tiled.trips)
    if mask is None:
        return product([again, points_sum(need, list(parts.values()), tiled.trips)])
    others = [interval for labels, interval in parts.items() if not {mask.query, mask.key} & set(labels)]
    _check_masked(op, need.space[mask.query], need.space[mask.key])
    pairs = mask.pairs(*mask_extents(op, mask))
    return product([again, pairs, points_sum(need, others, tiled.trips)])


def _check_masked(op: Op, rows: Interval, keys: Interval) -> None:
    """Rows and keys of a masked op are disjoint tiles, so that each pair is met in one of them."""
    for label, interval in (("rows", rows), ("keys", keys)):
        if len(interval.starts) > 1 and len(interval.labels) > 1:
            raise TransformError(f"tile: {op.name!r} is masked and its {label} overlap between tiles")


def counted_parts(need: Need, trips: Mapping[str, Trip]) -> dict[tuple[str, ...], Interval]:
    """Intervals whose lengths multiply to the valid points of an op (which is padded, or split, or neither).

    >>> from perfmodel import matmul, pad
    >>> from perfmodel.graph.needs import needs_of
    >>> from perfmodel.graph.tilings import Tiling
    >>> need, = needs_of(pad(matmul(5, 8, 8), m=4).kernels[0], Tiling(), ["C"])
    >>> counted_parts(need, {})[("m",)].at({})
    (0, 5)
    """
    if bound_indices(need.op):
        return need.counted
    return {(label,): part for label, part in valid_parts(need.op, need.space, trips).items()}


def points_sum(need: Need, parts: Collection[Interval], trips: Mapping[str, Trip]) -> Size:
    """The sum over all blocks of the products of lengths, which are points: no hull will do.

    >>> points_sum(Need(None, {}, ()), [Interval.tile("m", 2, 5)], {"m": Trip("m", 2, 5)})
    5
    """
    if part_note(tuple(parts), trips):
        raise DimensionError(
            f"tile: {need.op.name!r} is split, and the points of its tiles are counted at given sizes; cut the "
            "parts in the grid, one a block, or bind the symbols with p.at(...)"
        )
    return lengths_sum(list(parts), trips)
