"""What is moved of a tensor where only those tiles of a mask are visited that hold an allowed pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, product, scaled, total
from perfmodel.graph.intervals import Trip
from perfmodel.graph.parts import part_bytes, placed
from perfmodel.graph.schedules import Load
from perfmodel.graph.sums import lengths_sum
from perfmodel.graph.visiting import Visits


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
    query, key = visits.mask.query, visits.mask.key
    by_row, by_key = [label in load.labels and label in visits.labels for label in (query, key)]
    elements, sizes = [], []
    for (row, place), met in Counter([(r if by_row else 0, k if by_key else 0) for r, k in visits.pairs]).items():
        numbers = ({query: row} if by_row else {}) | ({key: place} if by_key else {})
        part = tuple([placed(interval, numbers) for interval in load.part])
        elements.append(met * lengths_sum(part, trips))
        sizes.append(met * part_bytes(load.tensor.format, part, trips))
    return total(elements), total(sizes)


def _in_symbols(load: Load, visits: Visits, trips: Mapping[str, Trip]) -> tuple[Size, Size]:
    """The same as a finite sum over tiles of rows: rows and keys are moved by labels of their own."""
    query, key = visits.mask.query, visits.mask.key
    by_row, by_key = query in load.labels, key in load.labels
    others = [part for part in load.part if not set(part.labels) & {query, key}]
    if load.tensor.format.block is not None or len(load.part) - len(others) != by_row + by_key:
        raise DimensionError("tile: these masked tiles are counted at given sizes; bind the symbols with p.at(...)")
    elements = product([visits.summed(by_row=by_row, by_key=by_key), lengths_sum(others, trips)])
    return elements, scaled(elements, Fraction(load.tensor.format.bits) / 8)
