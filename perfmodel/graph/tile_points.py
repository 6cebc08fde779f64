"""The points of an op in tiles: what is counted of its labels, without padding and without what bounds cut off."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product as combinations
from math import prod
from typing import TYPE_CHECKING

from perfmodel.errors import DimensionError, TransformError
from perfmodel.expressions import Size, largest, product
from perfmodel.graph.crops import cropped, looks_of
from perfmodel.graph.intervals import Interval, Trip
from perfmodel.graph.masks import Mask
from perfmodel.graph.needs import Need
from perfmodel.graph.nodes import Op
from perfmodel.graph.paddings import valid_parts
from perfmodel.graph.parts import part_note
from perfmodel.graph.spans import at_most
from perfmodel.graph.splits import bound_indices, key_bound, mask_extents
from perfmodel.graph.sums import MOST_BLOCKS, lengths_sum
from perfmodel.graph.visiting import Visits

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
    pairs = mask.pairs(*mask_extents(op, mask)) if _apart(need, mask) else _repeated_pairs(tiled, need, mask)
    return product([again, pairs, points_sum(need, others, tiled.trips)])


def issued_points(tiled: Tiled, need: Need, path: Collection[str], labels: Collection[str]) -> Size:
    """Points of an op along some of its labels as hardware visits them: whole tiles, and no tile that is skipped.

    >>> from perfmodel import matmul, tile
    >>> tiled = tile(matmul(5, 8, 8), m=4).counted[0].tiled
    >>> issued_points(tiled, tiled.needs[0], (), ["m", "n"]) == 2 * 4 * 8
    True
    """
    around = [*tiled.grid, *path]
    visits = tiled.visits(need)
    one = visits is not None and visits.mask.key in labels and _one_tile_of_keys(tiled, need, visits, around)
    sizes = [_issued_length(tiled, need, label, masked=one) for label in labels]
    if visits is not None and (one or tiled.by_visits(visits, path)):
        around = [label for label in around if label not in visits.labels]
        sizes.append(visits.number)
    return product([*sizes, *[tiled.trips[label].count for label in around]])


def _one_tile_of_keys(tiled: Tiled, need: Need, visits: Visits, around: Collection[str]) -> bool:
    """Whether a tile of keys is said that holds all of them: it is visited whole, or skipped."""
    said = key_bound(need.op) is None and visits.mask.key not in tiled.trips and bool(_cuts(tiled, visits.mask.key))
    return said and visits.concrete and set(visits.labels) <= set(around)


def _issued_length(tiled: Tiled, need: Need, label: str, *, masked: bool) -> Size:
    """The length of a whole tile, also where the tile is larger than the extent and there is but one."""
    interval, mask = need.space[label], need.op.mask
    if masked and mask is not None and label in (mask.query, mask.key) and label not in tiled.trips:
        interval = Interval.whole(dict(need.op.space)[label])
    length = interval.full_length
    one = label not in tiled.trips and interval == Interval.whole(length)
    return largest(length, *_cuts(tiled, label)) if one else length


def _cuts(tiled: Tiled, label: str) -> list[Size]:
    return [cut.size for cut in tiled.tiling.cuts if cut.label == label]


def _check_masked(op: Op, rows: Interval, keys: Interval) -> None:
    """Rows and keys of a masked op are disjoint tiles, so that each pair is met in one of them."""
    for label, interval in (("rows", rows), ("keys", keys)):
        if len(interval.starts) > 1 and len(interval.labels) > 1:
            raise TransformError(f"tile: {op.name!r} is masked and its {label} overlap between tiles")


def _apart(need: Need, mask: Mask) -> bool:
    """Whether each pair of a mask lies in one tile: rows are disjoint tiles, and keys are, or follow the rows."""
    rows, keys = need.space[mask.query], need.space[mask.key]
    found = [rows, *([] if set(keys.labels) <= set(rows.labels) else [keys])]
    return key_bound(need.op) is not None or all(_disjoint(interval) for interval in found)


def _disjoint(interval: Interval) -> bool:
    """Whether an interval that one label moves surely moves by its length or more (others are not asked)."""
    if len(interval.labels) != 1:
        return True
    steps = [(start, stop) for start in interval.starts for stop in interval.stops if start.steps == stop.steps]
    return any(start.steps and at_most(stop.start - start.start, start.steps[0][1]) for start, stop in steps)


def _repeated_pairs(tiled: Tiled, need: Need, mask: Mask) -> Size:
    """The pairs of every tile, where tiles overlap and meet some of them again: at given sizes, tile by tile."""
    rows, keys = need.space[mask.query], need.space[mask.key]
    looks = looks_of(mask, *mask_extents(need.op, mask))
    labels = list(dict.fromkeys([*rows.labels, *keys.labels]))
    counts = [int(tiled.trips[label].count) for label in labels]
    if prod(counts) > MOST_BLOCKS:
        raise DimensionError(f"tile: {need.op.name!r} is masked, and more than {MOST_BLOCKS} tiles of it overlap")
    found = 0
    for numbers in combinations(*[range(count) for count in counts]):
        at = dict(zip(labels, numbers, strict=True))
        ends = [(int(start), max(int(start), int(stop))) for start, stop in (rows.at(at), keys.at(at))]
        lengths = [stop - start for start, stop in ends]
        part = cropped(mask, looks(*ends))
        found += lengths[0] * lengths[1] if part is None else int(part.pairs(*lengths))
    return found


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
