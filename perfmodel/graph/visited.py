"""What is moved of a tensor where only those tiles of a mask are visited that hold an allowed pair.

Tiles are not looked at pair by pair. Tiles of rows (and of keys) that move parts of one length are one kind, and
how often a kind of rows meets a kind of keys follows from the range of key tiles that each tile of rows visits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from operator import mul
from typing import TypeAlias

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, product, scaled, smallest, total
from perfmodel.graph.intervals import Interval, Trip
from perfmodel.graph.part_tiles import PartTiles
from perfmodel.graph.parts import part_bytes, placed
from perfmodel.graph.schedules import Load
from perfmodel.graph.sums import lengths_sum
from perfmodel.graph.visiting import Visits, check_listed

_Kinds: TypeAlias = "Sequence[int]"  # for each tile, the first tile that is like it


def visited_cost(load: Load, visits: Visits, trips: Mapping[str, Trip]) -> tuple[Size, Size]:
    """Elements and bytes of one load over all tiles that are visited.

    >>> from perfmodel import attention, fuse, tile
    >>> tiled = tile(fuse(attention(8, 8, 4, causal=True)), grid={"q": 4}, stream={"kv": 4}).counted[0].tiled
    >>> load = next(load for load, _ in tiled.loads() if load.tensor.name == "K")
    >>> visited_cost(load, tiled.visits_of(load.tensor), tiled.trips)  # 3 tiles of 4 keys x 4, bf16
    (48, 96)
    """
    if not visits.concrete:
        return _in_symbols(load, visits, trips)
    query = visits.mask.query
    by_row = query in load.labels and visits.rows_cut is not None
    by_key = bool(set(visits.key_labels) & set(load.labels))
    elements, sizes = [], []
    for row, place, met in _meetings(load, visits, trips, by_row=by_row, by_key=by_key):
        numbers = ({query: row} if by_row else {}) | (_numbers_of(place, visits) if by_key else {})
        part = tuple([placed(interval, numbers) for interval in load.part])
        elements.append(met * lengths_sum(part, trips))
        sizes.append(met * part_bytes(load.tensor.format, part, trips))
    return total(elements), total(sizes)


def seen_cost(load: Load, visits: Visits, trips: Mapping[str, Trip], label: str) -> tuple[Size, Size]:
    """Elements and bytes of one load over the tiles of rows that see any key, or of keys that any row sees.

    >>> from perfmodel import attention, fuse, tile
    >>> tiled = tile(fuse(attention(8, 4, 4, causal=True)), grid={"q": 2}, stream={"kv": 2}).counted[0].tiled
    >>> load = next(load for load, _ in tiled.loads() if load.tensor.name == "Q")
    >>> seen_cost(load, tiled.visits_of(load.tensor), tiled.trips, "q")  # rows 4 to 7, bf16
    (16, 32)
    """
    (first, stop), trip, form = visits.seeing(label), trips[label], load.tensor.format
    if label not in load.labels:
        elements, size = lengths_sum(load.part, trips), part_bytes(form, load.part, trips)
        return product([stop - first, elements]), product([stop - first, size])
    if first == 0 and stop == trip.count:
        return lengths_sum(load.part, trips), part_bytes(form, load.part, trips)
    if isinstance(first, int) and isinstance(stop, int) and isinstance(trip.count, int):
        kinds = Counter(_kinds(load, label, trip.count)[first:stop])
        parts = [
            (times, tuple([placed(part, {label: number}) for part in load.part])) for number, times in kinds.items()
        ]
        costs = [(times * lengths_sum(part, trips), times * part_bytes(form, part, trips)) for times, part in parts]
        return total([elements for elements, _ in costs]), total([size for _, size in costs])
    others = [part for part in load.part if part != Interval.tile(label, trip.size, trip.extent)]
    bits = Fraction(form.bits)
    if form.block is not None or bits % 8 != 0 or any(label in part.labels for part in others):
        raise _at_sizes(load, visits)
    end = trip.extent if stop == trip.count else smallest(trip.extent, stop * trip.size)
    own = end - first * trip.size
    elements = product([own, lengths_sum(others, trips)])
    return elements, scaled(elements, bits / 8)


def _at_sizes(load: Load, visits: Visits) -> DimensionError:
    """What is said where a load has no formula in symbols."""
    form, labels = load.tensor.format, f"{visits.mask.query!r} and {visits.mask.key!r}"
    shared = "" if form.block is None else f" in {form.name}, whose {form.block} elements share a scale,"
    return DimensionError(
        f"tile: {load.tensor.name!r}{shared} in tiles under a mask over {labels} is counted at given sizes; bind the "
        "symbols with p.at(...)"
    )


def _meetings(
    load: Load, visits: Visits, trips: Mapping[str, Trip], *, by_row: bool, by_key: bool
) -> Iterator[tuple[int, int, int]]:
    """A tile of rows and one of keys for each kind of pair that is visited, and how many pairs are of that kind."""
    query, keys = visits.mask.query, set(visits.key_labels)
    if by_row and by_key and any(query in part.labels and keys & set(part.labels) for part in load.part):
        yield from [(row, place, 1) for row, place in visits.pairs]  # both move one axis: each pair is its own kind
        return
    rows = _kinds(load, query, len(visits.ranges)) if by_row else [0] * len(visits.ranges)
    ranges: dict[int, list[tuple[int, int]]] = {}
    for kind, visited in zip(rows, visits.ranges, strict=True):
        ranges.setdefault(kind, []).append(visited)
    kinds = _key_kinds(load, visits, trips) if by_key else None
    for kind, found in ranges.items():
        for place, met in _met(found, kinds).items():
            if met:
                yield kind, place, met


def _numbers_of(place: int, visits: Visits) -> dict[str, int]:
    """The numbers of the blocks and trips that make a tile of keys."""
    cut = visits.keys_cut
    return cut.at(place) if isinstance(cut, PartTiles) else {visits.mask.key: place}


def _key_kinds(load: Load, visits: Visits, trips: Mapping[str, Trip]) -> _Kinds:
    """For each tile of keys, the first tile of which the load moves as much."""
    cut, block = visits.keys_cut, load.tensor.format.block or 1
    if not isinstance(cut, PartTiles):
        return _kinds(load, visits.mask.key, int(trips[visits.mask.key].count))
    moved = tuple([part for part in load.part if set(part.labels) & set(cut.labels)])
    return _listed_in_parts(moved, cut, block)


@lru_cache(maxsize=32)
def _listed_in_parts(moved: tuple[Interval, ...], cut: PartTiles, block: int) -> _Kinds:
    """The kinds of tiles of keys that are in parts."""
    check_listed(cut.count, ", ".join(cut.labels))
    within = 1 if cut.inside is None else int(cut.inside.count)
    seen = [_seen(interval, cut.labels, block) for interval in moved]
    first: dict[Hashable, int] = {}
    found = []
    for number in range(int(cut.count)):
        numbers = divmod(number, within) if cut.inside is not None else (number,)
        found.append(first.setdefault(tuple([see(*numbers) for see in seen]), number))
    return tuple(found)


def _met(ranges: Sequence[tuple[int, int]], keys: _Kinds | None) -> Mapping[int, int]:
    """How often ranges of key tiles hold a tile of each kind; of any, where nothing tells them apart."""
    if keys is None:
        return {0: sum([stop - start for start, stop in ranges])}
    changes = [0] * (len(keys) + 1)
    for start, stop in ranges:
        changes[start] += 1
        changes[stop] -= 1
    found: Counter[int] = Counter()
    for kind, times in zip(keys, accumulate(changes), strict=False):
        found[kind] += times
    return found


def _kinds(load: Load, label: str, count: int) -> _Kinds:
    """For each tile of a label, the first tile of which the load moves as much."""
    moved = tuple([interval for interval in load.part if label in interval.labels])
    return _listed(moved, label, count, load.tensor.format.block or 1)


@lru_cache(maxsize=32)
def _listed(moved: tuple[Interval, ...], label: str, count: int, block: int) -> _Kinds:
    """The kinds of tiles by the intervals that they move, which several loads of a kernel have in common."""
    check_listed(count, label)
    seen = [_seen(interval, (label,), block) for interval in moved]
    first: dict[Hashable, int] = {}
    return tuple([first.setdefault(tuple([see(number) for see in seen]), number) for number in range(count)])


def _seen(interval: Interval, labels: tuple[str, ...], block: int) -> Callable[..., Hashable]:
    """What a tile's numbers decide of an interval: its length, and where it begins among elements sharing a scale."""
    if interval.gaps is not None or not interval.concrete or not set(interval.labels) <= set(labels):
        return lambda *numbers: _looked_at(placed(interval, dict(zip(labels, numbers, strict=True))), block)
    starts, stops = [
        [
            (int(end.start), [sum([int(step) for name, step in end.steps if name == label]) for label in labels])
            for end in ends
        ]
        for ends in (interval.starts, interval.stops)
    ]

    def ends(*numbers: int) -> Hashable:
        start = max([first + sum(map(mul, steps, numbers)) for first, steps in starts])
        return max(0, min([first + sum(map(mul, steps, numbers)) for first, steps in stops]) - start), start % block

    return ends


def _looked_at(part: Interval, block: int) -> Hashable:
    return part if part.labels or part.gaps is not None else (part.length_at({}), part.at({})[0] % block)


def _in_symbols(load: Load, visits: Visits, trips: Mapping[str, Trip]) -> tuple[Size, Size]:
    """The same as a finite sum over tiles of rows: rows and keys are moved by labels of their own."""
    query, keys = visits.mask.query, set(visits.key_labels)
    part = tuple([found for found in load.part if not _single_part(found, visits)])
    moving = {label for found in part for label in found.labels}
    by_row, by_key = query in moving, bool(keys & moving)
    others = [found for found in part if not set(found.labels) & {query, *keys}]
    form, bits = load.tensor.format, Fraction(load.tensor.format.bits)
    if form.block is not None or bits % 8 != 0 or len(part) - len(others) != by_row + by_key:
        raise _at_sizes(load, visits)
    elements = product([visits.summed(by_row=by_row, by_key=by_key), lengths_sum(others, trips)])
    return elements, scaled(elements, bits / 8)


def _single_part(interval: Interval, visits: Visits) -> bool:
    """Whether an interval is one part of the keys a block: of results that each part has of its own."""
    cut = visits.keys_cut
    if not isinstance(cut, PartTiles) or cut.parts.size != 1:
        return False
    return interval == Interval.tile(cut.parts.label, 1, cut.parts.extent)
