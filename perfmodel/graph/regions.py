"""The part of a tensor that an untiled kernel moves, axis by axis.

A plain label touches its whole axis, or the hull of a mask's rows or columns. A window touches the
distinct elements that it covers: where the windows are dense (they overlap or touch) or disjoint the
count is exact; else it is the hull, and the transfer says so. Padding is never read. A gather reads
one element (or row) for each index.
"""

from __future__ import annotations

from dataclasses import dataclass

from perfmodel.expressions import Size, ceil_div, floor_div, largest, product, smallest, total
from perfmodel.graph.indexing import Affine, Gathered, Index
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.number_formats import Format

HULL_NOTE = "windows may leave gaps: the hull is counted"


@dataclass(frozen=True, slots=True)
class Span:
    """Along one axis: the interval touched, and how many elements of it are.

    >>> Span(0, 8, 8).whole(8)
    True
    """

    start: Size
    stop: Size
    count: Size
    note: str = ""

    def whole(self, extent: Size) -> bool:
        """Whether it is the axis in full.

        >>> Span(0, 8, 4).whole(8)
        False
        """
        return bool(self.start == 0 and self.stop == extent and self.count == extent)


@dataclass(frozen=True, slots=True)
class Region:
    """What is touched of a tensor: a span an axis, or None for the whole of it.

    Gathered axes have no span: together they are ``gathers`` look-ups.

    >>> from perfmodel.graph.nodes import tensor
    >>> Region(tensor("x", {"i": 4})).elements, Region(tensor("x", {"i": 4}), (Span(0, 3, 3),)).elements
    (4, 3)
    """

    tensor: Tensor
    spans: tuple[Span, ...] | None = None
    gathers: Size | None = None

    @property
    def elements(self) -> Size:
        """Elements touched.

        >>> from perfmodel.graph.nodes import tensor
        >>> Region(tensor("W", {"v": 100, "d": 8}), (Span(0, 8, 8),), gathers=3).elements
        24
        """
        if self.spans is None:
            return product([axis.extent for axis in self.tensor.axes])
        counts = [span.count for span in self.spans]
        return product(counts if self.gathers is None else [self.gathers, *counts])

    @property
    def note(self) -> str:
        """What is not exact about it, if anything.

        >>> from perfmodel.graph.nodes import tensor
        >>> Region(tensor("x", {"i": 4}), (Span(0, 4, 4),)).note
        ''
        """
        return next((span.note for span in self.spans or () if span.note), "")


def access_region(access: Access, op: Op) -> Region:
    """What an op reads of a tensor.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = mapped("exp", tensor("x", {"i": 4})).producer
    >>> access_region(op.reads[0], op).elements
    4
    """
    limited = () if op.mask is None else (op.mask.query, op.mask.key)
    if all(type(index) is str and index not in limited for index in access.index):
        return Region(access.tensor)
    extents = dict(op.space)
    spans: list[Span] = []
    gathered: dict[str, Size] = {}
    for axis, index in zip(access.tensor.axes, access.index, strict=True):
        if isinstance(index, Gathered):
            gathered.update({label: extents[label] for label in index.labels})
        else:
            spans.append(_span(index, axis.extent, op, extents))
    if not gathered and all(span.whole(axis.extent) for span, axis in zip(spans, access.tensor.axes, strict=True)):
        return Region(access.tensor)
    return Region(access.tensor, tuple(spans), product(gathered.values()) if gathered else None)


def output_region(op: Op) -> Region:
    """What an op writes of its output: all of it, or the hull of its mask where both labels are kept.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> output_region(mapped("exp", tensor("x", {"i": 4})).producer).elements
    4
    """
    mask = op.mask
    if mask is None or not {mask.query, mask.key} <= set(op.output.tensor.labels):
        return Region(op.output.tensor)
    return access_region(op.output, op)


def _span(index: Index, extent: Size, op: Op, extents: dict[str, Size]) -> Span:
    if isinstance(index, str):
        if op.mask is not None and index in (op.mask.query, op.mask.key):
            hull = op.mask.rows if index == op.mask.query else op.mask.columns
            start, stop = hull(extents[op.mask.query], extents[op.mask.key])
            return Span(start, stop, stop - start)
        return Span(0, extent, extent)
    if isinstance(index, Gathered) or index.modulo is not None:
        return Span(0, extent, extent)
    return window_span(index, extent, extents)


def window_span(index: Affine, extent: Size, extents: dict[str, Size]) -> Span:
    """The elements of an axis that windows touch, clipped to the axis (padding is not read).

    Exact where the windows are dense or disjoint, and by enumeration where all sizes are small ints.

    >>> window_span(Affine((("p", 2), ("r", 1)), -3), 224, {"p": 112, "r": 7}).count  # ResNet's first layer
    224
    >>> window_span(Affine((("p", 4), ("r", 1))), 16, {"p": 4, "r": 2}).count  # disjoint: 4 windows of 2
    8
    """
    reach = total([step * (extents[label] - 1) for label, step in index.terms])
    start = largest(0, index.offset)
    stop = smallest(extent, index.offset + reach + 1)
    distinct = _distinct(index, extents)
    if distinct is not None and distinct == reach + 1:
        return Span(start, stop, stop - start)
    if distinct is not None and start == index.offset and stop == index.offset + reach + 1:
        return Span(start, stop, distinct)
    exact = _counted(index, extent, extents)
    return Span(start, stop, stop - start, HULL_NOTE) if exact is None else Span(start, stop, exact)


def _distinct(index: Affine, extents: dict[str, Size]) -> Size | None:
    """Distinct values of an affine index, where its labels fill an interval or never meet; else None.

    Labels are taken from the smallest step up. So far they cover ``count`` places of a hull of ``hull``:
    a further step no longer than a filled hull keeps it filled, and one at least as long never overlaps.
    """
    hull: Size = 1
    count: Size = 1
    if not all(isinstance(step, int) for _, step in index.terms):
        return None
    for label, step in sorted(index.terms, key=lambda term: int(term[1])):
        if count == hull and _at_least(hull, step):
            hull = count = hull + step * (extents[label] - 1)
        elif _at_least(step, hull):
            hull, count = hull + step * (extents[label] - 1), count * extents[label]
        else:
            return None
    return count


def _at_least(a: Size, b: Size) -> bool:
    """Whether a >= b for every value that the symbols may take."""
    difference = a - b
    return difference >= 0 if isinstance(difference, int) else bool(difference.is_nonnegative)


def _counted(index: Affine, extent: Size, extents: dict[str, Size], limit: int = 1_000_000) -> int | None:
    """The distinct elements by enumeration, where every size is an int and there are few enough."""
    sizes = [extents[label] for label, _ in index.terms]
    numbers = [extent, index.offset, *sizes, *[step for _, step in index.terms]]
    if not all(isinstance(number, int) for number in numbers) or product(sizes) > limit:
        return None
    touched = {int(index.offset)}
    for label, step in index.terms:
        touched = {place + int(step) * trip for place in touched for trip in range(int(extents[label]))}
    return sum(1 for place in touched if 0 <= place < int(extent))


def joined(first: Region, second: Region) -> Region:
    """What two ops of one kernel read of a tensor together: it is loaded once.

    >>> from perfmodel.graph.nodes import tensor
    >>> x = tensor("x", {"i": 8})
    >>> joined(Region(x, (Span(0, 4, 4),)), Region(x, (Span(2, 8, 6),))).elements
    8
    """
    if first == second:
        return first
    if first.spans is None or second.spans is None:
        return Region(first.tensor)
    if first.gathers is None and second.gathers is None:
        return Region(first.tensor, tuple([_hull(a, b) for a, b in zip(first.spans, second.spans, strict=True)]))
    if first.gathers is None or second.gathers is None:
        return Region(first.tensor)
    return Region(first.tensor, first.spans, first.gathers + second.gathers)


def _hull(a: Span, b: Span) -> Span:
    if a == b:
        return a
    start, stop = smallest(a.start, b.start), largest(a.stop, b.stop)
    return Span(start, stop, stop - start, a.note or b.note)


def region_bytes(region: Region) -> Size:
    """Bytes of a region: whole tensors as they are stored, parts with the scales that they touch.

    >>> from perfmodel.graph.nodes import tensor
    >>> region_bytes(Region(tensor("x", {"i": 4}, dtype="fp32")))
    16
    """
    form = region.tensor.format
    if region.spans is None:
        return form.bytes_of(region.tensor.extents)
    rows = [] if region.gathers is None else [region.gathers]
    if not region.spans:
        return form.bytes_of((*rows, 1))
    return _partial_bytes(form, product([*rows, *[span.count for span in region.spans[:-1]]]), region.spans[-1])


def _partial_bytes(form: Format, rows: Size, inner: Span) -> Size:
    if form.block is None:
        return form.bytes_of((rows, inner.count))
    scales = ceil_div(inner.stop, form.block) - floor_div(inner.start, form.block)
    bits = inner.count * form.bits + scales * (form.scale_bits + form.zero_bits)
    return ceil_div(rows * bits, 8)
