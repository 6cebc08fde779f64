"""Outer tiles that look alike to the tiles inside them: how many there are of each kind, and one of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product as combinations

from perfmodel.errors import DimensionError
from perfmodel.expressions import ceil_div, product
from perfmodel.graph.intervals import Trip
from perfmodel.graph.nodes import Op
from perfmodel.graph.segments import Segment
from perfmodel.graph.spots import Spot
from perfmodel.graph.tilings import Tiling

MOST_LISTED = 2**20  # outer tiles that are looked at one by one: some seconds
MOST_INSIDE = 2**24  # tiles that are listed inside all of them, where each has its own


def check_alike(trips: Sequence[Trip], segment: Segment, inner: Sequence[Tiling]) -> None:
    """Refuse to look at more outer tiles, and tiles of a mask inside them, than can be looked at in some seconds.

    >>> from perfmodel import matmul, tile
    >>> from perfmodel.graph.segments import segments_of
    >>> tiled = tile(matmul(8, 8, 8), m=4, n=4).counted[0].tiled
    >>> check_alike([tiled.trips["m"]], segments_of(tiled)[0], [])
    """
    count = product([trip.count for trip in trips])
    labels = ", ".join([trip.label for trip in trips])
    ops = [need.op for need in segment.needs if need.op.mask is not None]
    name = (ops or [segment.needs[-1].op])[0].name
    if not isinstance(count, int) or count > MOST_LISTED:
        raise DimensionError(
            f"tile: {count} tiles of {name!r} along {labels} hold tiles inside them; at most {MOST_LISTED}: take larger"
        )
    inside = max([_listed_inside(op, trips, inner) for op in ops], default=0)
    if count * inside > MOST_INSIDE:
        raise DimensionError(
            f"tile: {count} tiles of {name!r} along {labels}, with up to {inside} inside each under a mask; at most "
            f"{MOST_INSIDE} together: take larger tiles"
        )


def _listed_inside(op: Op, trips: Sequence[Trip], inner: Sequence[Tiling]) -> int:
    """How many tiles of rows and of keys are listed inside an outer tile, where each may see other keys."""
    cut = {trip.label: trip.size for trip in trips}
    masked = () if op.mask is None else (op.mask.query, op.mask.key)
    if cut.keys() >= set(masked):  # then many are alike: hidden, seen in full, or on the diagonal
        return 0
    extents = {**dict(op.space), **cut}
    sizes = {item.label: item.size for tiling in inner for item in tiling.cuts}
    counts = [ceil_div(extents[label], sizes[label]) for label in masked if label in sizes]
    return sum([count for count in counts if isinstance(count, int)])


def kinds_of(labels: Sequence[str], counts: Sequence[int], segment: Segment) -> Iterable[tuple[int, Spot]]:
    """How many tiles along some labels are alike, and one of each kind.

    >>> from perfmodel import matmul, tile
    >>> from perfmodel.graph.segments import segments_of
    >>> segment, = segments_of(tile(matmul(8, 8, 7), stream={"k": 2}).counted[0].tiled)
    >>> [(number, spot.numbers) for number, spot in kinds_of(["k"], [4], segment)]
    [(3, {'k': 2}), (1, {'k': 3})]
    """
    facts = [(moved & set(labels), fact) for moved, fact in segment.facts()]
    joint = [fact for moved, fact in facts if len(moved) > 1]
    apart: list[list[int]] = []
    for label, count in zip(labels, counts, strict=True):
        own = [fact for moved, fact in facts if moved == {label}]
        first: dict[tuple[object, ...], int] = {}
        spots = [Spot({label: number}) for number in range(count)]
        apart.append([first.setdefault(tuple([fact(spot) for fact in own]), len(first)) for spot in spots])
    kinds: dict[tuple[object, ...], tuple[int, Spot]] = {}
    for numbers in combinations(*[range(count) for count in counts]):
        spot = Spot(dict(zip(labels, numbers, strict=True)))
        seen = (*[found[number] for found, number in zip(apart, numbers, strict=True)], *[fact(spot) for fact in joint])
        kinds[seen] = (kinds[seen][0] + 1, spot) if seen in kinds else (1, spot)
    return kinds.values()


def groups_of(labels: Sequence[str], segment: Segment) -> list[list[str]]:
    """The labels of the loops around, joined where one number of the inner kernel is moved by several.

    >>> from perfmodel import matmul, tile
    >>> from perfmodel.graph.segments import segments_of
    >>> segment, = segments_of(tile(matmul(8, 8, 7), m=4, stream={"k": 2}).counted[0].tiled)
    >>> groups_of(["m", "k"], segment)
    [['m'], ['k']]
    """
    groups = [[label] for label in labels]
    for moved, _ in segment.facts():
        touched = [group for group in groups if moved & set(group)]
        if len(touched) > 1:
            groups = [group for group in groups if group not in touched] + [[label for g in touched for label in g]]
    return groups
