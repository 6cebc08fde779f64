"""Bytes of the parts of a tensor that blocks move: elements, and the block scales that each part touches."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product as combinations

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, ceil_div, floor_div, product, scaled, total
from perfmodel.graph.intervals import Interval, Trip
from perfmodel.graph.spans import HULL_NOTE
from perfmodel.graph.sums import lengths_sum
from perfmodel.number_formats import Format


def part_bytes(form: Format, part: tuple[Interval, ...], trips: Mapping[str, Trip]) -> Size:
    """Bytes of the parts of all blocks together; bits are packed, and rounded up to whole bytes in the end.

    >>> from perfmodel.number_formats import format
    >>> m = Trip("m", 128, 300)
    >>> part_bytes(format("bf16"), (Interval.tile("m", 128, 300), Interval.whole(8)), {"m": m})
    4800
    """
    if not part:
        return form.bytes_of(())
    bits = scaled(lengths_sum(part, trips), form.bits)
    if form.block is not None:
        rows = lengths_sum(part[:-1], trips)
        bits = total([bits, product([rows, _scales(part[-1], form.block, trips), form.scale_bits + form.zero_bits])])
    return bits // 8 if isinstance(bits, int) and bits % 8 == 0 else ceil_div(bits, 8)


def _scales(inner: Interval, block: int, trips: Mapping[str, Trip]) -> Size:
    """Blocks of a scaled format that the parts of the innermost axis touch, over all tiles of it."""
    if not inner.labels:
        return _touched(inner.at({}), block)
    trip = trips[inner.labels[0]]
    plain = inner == Interval.tile(trip.label, trip.size, trip.extent)
    if plain and isinstance(trip.size, int) and trip.size % block == 0:
        return ceil_div(trip.extent, block)
    counts = [trips[label].count for label in inner.labels]
    if not all(isinstance(count, int) for count in counts):
        raise DimensionError(
            f"tile: tiles of {trip.label!r} must be a multiple of the {block} elements that share a scale, or ints"
        )
    numbers = combinations(*[range(int(count)) for count in counts])
    return total([_touched(inner.at(dict(zip(inner.labels, found, strict=True))), block) for found in numbers])


def _touched(ends: tuple[Size, Size], block: int) -> Size:
    start, stop = ends
    return ceil_div(stop, block) - floor_div(start, block)


def placed(interval: Interval, numbers: Mapping[str, int]) -> Interval:
    """The interval with some block numbers known: where it lies, or as it is where they do not move it.

    >>> placed(Interval.tile("m", 4, 6), {"m": 1}).at({})
    (4, 6)
    """
    if not set(interval.labels) & set(numbers):
        return interval
    start, stop = interval.at(numbers)
    return Interval.between(start, stop)


def part_note(part: tuple[Interval, ...], trips: Mapping[str, Trip]) -> str:
    """What is not exact about the count of a part: a window with gaps, whose tiles are symbols.

    >>> part_note((Interval.whole(4),), {})
    ''
    """
    for interval in part:
        if interval.gaps is not None and not all(isinstance(trips[label].count, int) for label in interval.labels):
            return HULL_NOTE
    return ""
