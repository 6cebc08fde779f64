"""Indices and bounds of an op as they count from the corner of a tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfmodel.expressions import Size, largest, remainder, smallest
from perfmodel.graph.indexing import Affine, Gathered, Index, renamed
from perfmodel.graph.intervals import Interval
from perfmodel.graph.paddings import Bound
from perfmodel.graph.spots import Spot


def valid_length(spot: Spot, interval: Interval, extent: Size) -> Size:
    """How much of a tile lies before the padding.

    >>> valid_length(Spot({"m": 1}), Interval.tile("m", 4, 8), 5)
    1
    """
    return smallest(spot.length(interval), largest(0, extent - spot.start(interval)))


def within_scale(spot: Spot, inner: Interval, block: int) -> Size:
    """Where, among the elements that share a scale, a tile starts.

    >>> within_scale(Spot({"k": 1}), Interval.tile("k", 16, 64), 32)
    16
    """
    return remainder(spot.start(inner), block)


def plain_labels(index: Index) -> tuple[str, ...]:
    """The labels that an index is computed from (a look-up is computed from what it reads).

    >>> plain_labels(Affine((("p", 1), ("r", 1)), -1))
    ('p', 'r')
    """
    if isinstance(index, str):
        return (index,)
    return () if isinstance(index, Gathered) else tuple([label for label, _ in index.terms])


def offset_of(spot: Spot, index: Index, space: Mapping[str, Interval], part: Interval) -> Size:
    """How far an index of the tile lies from the start of the part that the tile holds.

    >>> rows = Interval.tile("m", 4, 8)
    >>> offset_of(Spot({"m": 1}), "m", {"m": rows}, Interval.whole(8))
    4
    """
    if isinstance(index, Gathered):
        return 0
    if isinstance(index, str):
        return spot.start(space[index]) - spot.start(part)
    found = index.offset - spot.start(part)
    for label, step in index.terms:
        found = found + step * spot.start(space[label])
    return found


def local_index(
    index: Index, names: Mapping[str, str], space: Mapping[str, Interval], part: Interval, spot: Spot
) -> Index:
    """An index that counts from the tile's corner; one that may run out of the part is a window onto it.

    >>> rows = Interval.tile("m", 4, 8)
    >>> local_index("m", {}, {"m": rows}, rows, Spot({"m": 1}))
    'm'
    """
    found, offset = renamed(index, names), offset_of(spot, index, space, part)
    if isinstance(found, Affine):
        return replace(found, offset=offset)
    if isinstance(found, Gathered):
        return found
    alike = offset == 0 and spot.length(space[str(index)]) == spot.length(part)
    return found if alike else Affine(((found, 1),), offset)


def local_bound(bound: Bound, names: Mapping[str, str], space: Mapping[str, Interval], spot: Spot) -> Bound:
    """A bound whose index counts from the tile's corner, and ends where the whole label does or before.

    >>> from perfmodel import matmul, split
    >>> bound, = split(matmul(8, 8, 5), k=2).ops[0].bounds
    >>> space = {"k_part": Interval.tile("k_part", 1, 2), "k": Interval.whole(3)}
    >>> local_bound(bound, {}, space, Spot({"k_part": 1})).index.offset
    3
    """
    index = renamed(bound.index, names)
    offset = offset_of(spot, bound.index, space, Interval.whole(bound.extent))
    return Bound(replace(index, offset=offset), bound.extent) if isinstance(index, Affine) else bound
