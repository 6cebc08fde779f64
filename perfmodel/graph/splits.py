"""Labels that are a place on one axis together: what ``pm.split`` makes of a reduced label, the ragged end included."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from perfmodel.expressions import Size
from perfmodel.graph.indexing import Affine
from perfmodel.graph.intervals import Interval, Linear, Trip
from perfmodel.graph.masks import Mask
from perfmodel.graph.nodes import Op
from perfmodel.graph.paddings import Bound
from perfmodel.graph.spans import Lattice, at_most, lattice_span


def bound_indices(op: Op) -> list[tuple[Affine, Size]]:
    """The bound indices of an op and of its reads, one for each set of labels, and the extents that bound them.

    >>> from perfmodel import matmul, split
    >>> [(str(index), extent) for index, extent in bound_indices(split(matmul(8, 8, 5), k=2).ops[0])]
    [('3*k_part + k', 5)]
    """
    found: dict[tuple[str, ...], tuple[Affine, Size]] = {
        tuple([label for label, _ in item.index.terms]): (item.index, item.extent) for item in op.bounds
    }
    for access in op.reads:
        for index, axis in zip(access.index, access.tensor.axes, strict=True):
            if isinstance(index, Affine) and index.bound:
                found.setdefault(tuple([label for label, _ in index.terms]), (index, axis.extent))
    return list(found.values())


def counted_extents(op: Op) -> dict[str, Size]:
    """Extents that multiply to an op's points, masks aside: by label, those of a bound index as one.

    >>> from perfmodel import matmul, split
    >>> counted_extents(split(matmul(8, 8, 5), k=2).ops[0])  # 5 elements of k, not 2 parts of 3
    {'batch': 1, 'm': 8, 'n': 8, 'k_part': 5}
    """
    extents = dict(op.space)
    for index, extent in bound_indices(op):
        steps = tuple([(step, extents.pop(label)) for label, step in index.terms])
        extents[index.terms[0][0]] = lattice_span(Lattice(index.offset, steps), extent).count
    return extents


def key_bound(op: Op) -> Bound | None:
    """What bounds the keys of a masked op, where they are in parts.

    >>> from perfmodel import attention
    >>> key_bound(attention(4, 8, 2, causal=True).ops[0]) is None
    True
    """
    key = None if op.mask is None else op.mask.key
    return next((item for item in op.bounds if key in [label for label, _ in item.index.terms]), None)


def mask_extents(op: Op, mask: Mask) -> tuple[Size, Size]:
    """The rows and keys that a mask of an op lies over: all keys, where they are in parts.

    >>> from perfmodel import attention
    >>> op = attention(4, 8, 2, causal=True).ops[0]
    >>> mask_extents(op, op.mask)
    (4, 8)
    """
    extents, bound = dict(op.space), key_bound(op)
    return extents[mask.query], extents[mask.key] if bound is None else bound.extent


def unmasked_extents(op: Op, mask: Mask) -> dict[str, Size]:
    """Extents that multiply, together with the pairs of the mask, to an op's points.

    >>> from perfmodel import attention
    >>> op = attention(4, 8, 2, causal=True).ops[0]
    >>> list(unmasked_extents(op, op.mask))
    ['batch', 'kv_head', 'group', 'd']
    """
    bound = key_bound(op)
    gone = {mask.query, mask.key} | ({label for label, _ in bound.index.terms} if bound else set())
    return {label: extent for label, extent in counted_extents(op).items() if label not in gone}


def all_places(op: Op, labels: Collection[str], space: Mapping[str, Interval]) -> Interval | None:
    """All elements that the labels of a bound index reach, where tiles of them meet each once; else None.

    >>> from perfmodel import matmul, split
    >>> op = split(matmul(8, 8, 5), k=2).ops[0]
    >>> all_places(op, ("k_part", "k"), {"k_part": Interval.tile("k_part", 1, 2), "k": Interval.whole(3)}).at({})
    (0, 5)
    """
    extents = dict(op.space)
    others = {name for label, found in space.items() if label not in labels for name in found.labels}
    for label in labels:
        interval, extent = space[label], extents[label]
        tiled = interval == Interval.tile(label, interval.stops[0].start, extent)
        if label in others or not (tiled or interval == Interval.whole(extent)):
            return None
    return Interval.whole(counted_extents(op)[next(iter(labels))])


def single(interval: Interval) -> bool:
    """Whether an interval surely holds no more than one element.

    >>> single(Interval.tile("m", 1, 6)), single(Interval.tile("m", 2, 6))
    (True, False)
    """
    return any(end.scaled(1, 1) == stop for end in interval.starts for stop in interval.stops)


def unclipped(interval: Interval) -> Interval:
    """A tile of one without the end of its axis, which it never passes.

    >>> len(unclipped(Interval.tile("m", 1, 6)).stops), len(unclipped(Interval.tile("m", 4, 6)).stops)
    (1, 2)
    """
    if len(interval.labels) != 1 or interval.starts != (Linear(0, ((interval.labels[0], 1),)),) or not single(interval):
        return interval
    return Interval(interval.starts, tuple([end for end in interval.stops if end.steps]))


def within_bound(hull: Interval, extent: Size) -> Interval:
    """A hull without ends that lie beyond the axis for sure.

    >>> within_bound(Interval.whole(6), 5).stops
    ()
    """
    return Interval(hull.starts, tuple([end for end in hull.stops if end.steps or not at_most(extent, end.start)]))


def tiles_in_parts(interval: Interval, trips: Sequence[Trip]) -> Size | None:
    """The sum of the lengths of tiles within parts, where these are one a block: all of the axis; else None.

    >>> part, tile = Linear(3, (("p", 3),)), Linear(2, (("p", 3), ("k", 2)))
    >>> found = Interval((tile.scaled(1, -2),), (part, tile, Linear(8)))
    >>> tiles_in_parts(found, (Trip("p", 1, 3), Trip("k", 2, 3)))  # parts of 3, 3 and 2, each in tiles of 2
    8
    """
    fixed = [end.start for end in interval.stops if not end.steps]
    if len(trips) != 2 or len(interval.starts) != 1 or len(fixed) != 1 or interval.starts[0].start != 0:
        return None
    start = interval.starts[0]
    steps = dict(start.steps)
    for part, tile in (trips, tuple(reversed(trips))):
        long, short = steps[part.label], steps[tile.label]
        if (part.size, tile.extent, tile.size) != (1, long, short):
            continue
        ends = {Linear(long, ((part.label, long),)), start.scaled(1, short), Linear(fixed[0])}
        if set(interval.stops) == ends and at_most(fixed[0], long * part.count):
            return fixed[0]
    return None
