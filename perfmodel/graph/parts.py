"""Bytes of the parts of a tensor that blocks move: elements, and the block scales that each part touches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product as combinations

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, ceil_div, product, scaled, total
from perfmodel.graph.intervals import Interval, Trip
from perfmodel.graph.spans import HULL_NOTE, blocks_touched, interval as spanned
from perfmodel.graph.sums import MOST_BLOCKS, lengths_sum
from perfmodel.number_formats import Format


def part_bytes(form: Format, part: tuple[Interval, ...], trips: Mapping[str, Trip]) -> Size:
    """Bytes of the parts of all blocks together; bits are packed, and rounded up to whole bytes in the end.

    >>> from perfmodel.number_formats import format
    >>> m = Trip("m", 128, 300)
    >>> part_bytes(format("bf16"), (Interval.tile("m", 128, 300), Interval.whole(8)), {"m": m})
    4800
    """
    return part_cost(form, part, trips)[1]


def part_cost(form: Format, part: tuple[Interval, ...], trips: Mapping[str, Trip]) -> tuple[Size, Size]:
    """Elements and bytes of the parts of all blocks together.

    >>> from perfmodel.number_formats import format
    >>> m = Trip("m", 128, 300)
    >>> part_cost(format("bf16"), (Interval.tile("m", 128, 300), Interval.whole(8)), {"m": m})
    (2400, 4800)
    """
    elements = lengths_sum(part, trips)
    return elements, _bytes(form, part, trips, elements) if part else form.bytes_of(())


def _bytes(form: Format, part: tuple[Interval, ...], trips: Mapping[str, Trip], elements: Size) -> Size:
    """Bytes of so many elements, with the scales of their blocks, rounded up once."""
    if form.block is None:
        return form.bytes_of_elements(elements)
    scales = _scales(part, form.block, trips)
    bits = total([scaled(elements, form.bits), product([scales, form.scale_bits + form.zero_bits])])
    return bits // 8 if isinstance(bits, int) and bits % 8 == 0 else ceil_div(bits, 8)


def _scales(part: tuple[Interval, ...], block: int, trips: Mapping[str, Trip]) -> Size:
    """Blocks of a scaled format that the parts touch: each row has its own along the innermost axis."""
    *rows, inner = part
    shared = {label for row in rows for label in row.labels} & set(inner.labels)
    if not shared:
        return product([lengths_sum(rows, trips), _along(inner, block, trips)])
    terms = []
    for numbers in _numbers(inner, block, trips):
        found = [placed(row, numbers) for row in rows]
        terms.append(product([lengths_sum(found, trips), _touched(inner, numbers, block)]))
    return total(terms)


def _along(inner: Interval, block: int, trips: Mapping[str, Trip]) -> Size:
    """Blocks that the tiles of one axis touch, over all of them."""
    if not inner.labels:
        return _touched(inner, {}, block)
    trip = trips[inner.labels[0]]
    plain = inner == Interval.tile(trip.label, trip.size, trip.extent)
    if plain and isinstance(trip.size, int) and trip.size % block == 0:
        return ceil_div(trip.extent, block)
    return total([_touched(inner, numbers, block) for numbers in _numbers(inner, block, trips)])


def _numbers(inner: Interval, block: int, trips: Mapping[str, Trip]) -> list[dict[str, int]]:
    """The numbers of all tiles that move an interval, which have to be known."""
    counts = [trips[label].count for label in inner.labels]
    if not all(isinstance(count, int) for count in counts):
        raise DimensionError(
            f"tile: tiles of {inner.labels[0]!r} cut the {block} elements that share a scale: take multiples, or "
            "bind the symbols with p.at(...)"
        )
    if int(product(counts)) > MOST_BLOCKS:
        raise DimensionError(f"tile: {product(counts)} tiles to enumerate; at most {MOST_BLOCKS}: take larger tiles")
    numbers = combinations(*[range(int(count)) for count in counts])
    return [dict(zip(inner.labels, found, strict=True)) for found in numbers]


def _touched(inner: Interval, numbers: Mapping[str, int], block: int) -> Size:
    """Blocks that one tile touches."""
    span = spanned(*inner.at(numbers)) if inner.gaps is None else inner.gaps.span_at(numbers)
    return blocks_touched(span, block)[0]


def placed(interval: Interval, numbers: Mapping[str, int]) -> Interval:
    """The interval with some block numbers known.

    >>> placed(Interval.tile("m", 4, 6), {"m": 1}).at({})
    (4, 6)
    """
    if not set(interval.labels) & set(numbers):
        return interval
    starts, stops = [tuple([end.placed(numbers) for end in found]) for found in (interval.starts, interval.stops)]
    gaps = interval.gaps
    if gaps is not None:
        gaps = replace(gaps, terms=tuple([(step, placed(moving, numbers)) for step, moving in gaps.terms]))
    return Interval(starts, stops, gaps)


def part_note(part: tuple[Interval, ...], trips: Mapping[str, Trip]) -> str:
    """What is not exact about the count of a part: a window with gaps, in symbols (see ``lengths_sum``).

    >>> part_note((Interval.whole(4),), {})
    ''
    """
    for interval in part:
        if interval.gaps is None:
            continue
        known = interval.concrete and all(isinstance(trips[label].count, int) for label in interval.labels)
        if not known and (interval.labels or interval.gaps.span_at({}).note):
            return HULL_NOTE
    return ""
