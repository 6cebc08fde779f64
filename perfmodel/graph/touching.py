"""What an index touches of an axis: the hull, what of it lies on the axis, and where windows leave gaps."""

from __future__ import annotations

from collections.abc import Mapping

from perfmodel.expressions import Size
from perfmodel.graph.gaps import Gaps
from perfmodel.graph.indexing import Affine, Gathered, Index
from perfmodel.graph.intervals import Interval, Linear, surely_at_least
from perfmodel.graph.splits import single, unclipped, within_bound


def index_interval(index: Index, space: Mapping[str, Interval], extent: Size) -> Interval:
    """The hull of what an index touches of an axis, clipped to it: padding is not read.

    >>> from perfmodel.graph.indexing import Affine
    >>> index_interval(Affine((("p", 1), ("r", 1)), -1), {"p": Interval.whole(4), "r": Interval.whole(3)}, 4).at({})
    (0, 4)
    """
    if isinstance(index, str):
        return space[index]
    if isinstance(index, Gathered) or index.modulo is not None:
        return Interval.whole(extent)
    hull = Interval((Linear(index.offset),), (Linear(index.offset + 1),))
    for label, step in index.terms:
        hull = hull.widened((unclipped(space[label]) if index.bound else space[label]).through(step, 0))
    hull = (within_bound(hull, extent) if index.bound else hull).clipped(extent)
    if _dense(index, space):
        return hull
    terms = tuple([(step, space[label]) for label, step in index.terms])
    return Interval(hull.starts, hull.stops, Gaps(terms, index.offset, extent))


def _dense(index: Affine, space: Mapping[str, Interval]) -> bool:
    """Whether windows overlap or touch whatever the tiles: each step is covered by the shorter steps alone."""
    lengths: list[tuple[Size, Size]] = []
    for label, step in index.terms:
        start, stop = space[label].at({}) if not space[label].labels else (0, 1)  # a tile has one element or more
        if not (space[label].labels and single(space[label])):
            lengths.append((step, stop - start))
    covered: Size = 1
    steps = [pair for pair in lengths if isinstance(pair[0], int)]
    steps.sort(key=lambda term: (term[0], not isinstance(term[1], int)))
    for step, length in steps + [pair for pair in lengths if not isinstance(pair[0], int)]:
        if not (length == 1 and step == 1) and not surely_at_least(covered, step):
            return False
        covered = covered + step * (length - 1)
    return True
