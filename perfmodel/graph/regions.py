"""The part of a tensor that an untiled kernel moves.

A plain label touches its whole axis, or the hull of a mask's rows or columns; a window touches what
``spans`` says. A gather reads one element (or row) for each index. What several ops of a kernel read
of a tensor is loaded once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from perfmodel.expressions import Size, as_size, ceil_div, product, total
from perfmodel.graph.indexing import Affine, Gathered, Index
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.spans import HULL_NOTE, Lattice, Span, blocks_touched, interval, lattice_span, united
from perfmodel.graph.splits import key_bound, mask_extents

Visited = Mapping[str, tuple[Size, Size]]  # labels, with the interval of their trips


class Region(NamedTuple):
    """What is touched of a tensor: a span an axis, or None for the whole of it.

    A look-up has None for the gathered axis; there are ``gathers`` of them, by the index ``by``.

    >>> from perfmodel.graph.nodes import tensor
    >>> Region(tensor("x", {"i": 4})).elements, Region(tensor("x", {"i": 4}), (interval(0, 3),)).elements
    (4, 3)
    """

    tensor: Tensor
    spans: tuple[Span | None, ...] | None = None
    gathers: Size | None = None
    by: Gathered | None = None

    @property
    def elements(self) -> Size:
        """Elements touched.

        >>> from perfmodel.graph.nodes import tensor
        >>> Region(tensor("W", {"v": 100, "d": 8}), (None, interval(0, 8)), gathers=3).elements
        24
        """
        if self.spans is None:
            return product(self.tensor.extents)
        counts = [span.count for span in self.spans if span is not None]
        return product(counts if self.gathers is None else [self.gathers, *counts])

    @property
    def note(self) -> str:
        """What is not exact about it, if anything.

        >>> from perfmodel.graph.nodes import tensor
        >>> Region(tensor("x", {"i": 4})).note
        ''
        """
        if self.spans is None:
            return ""
        exact = _blocks(self)[1] and not any(span.note for span in self.spans if span is not None)
        return "" if exact else HULL_NOTE


def access_region(access: Access, op: Op) -> Region:
    """What an op reads of a tensor.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = mapped("exp", tensor("x", {"i": 4})).producer
    >>> access_region(op.reads[0], op).elements
    4
    """
    limited = () if op.mask is None else (op.mask.query, op.mask.key)
    for index in access.index:
        if type(index) is not str or index in limited:
            return _partial(access, op, limited)
    return Region(access.tensor)


def _partial(access: Access, op: Op, limited: tuple[str, ...]) -> Region:
    visited = _visited(op)
    axes = access.tensor.axes
    spans = [_span(index, axis.extent, visited, limited) for axis, index in zip(axes, access.index, strict=True)]
    by = next((index for index in access.index if isinstance(index, Gathered)), None)
    if by is not None:
        return Region(access.tensor, tuple(spans), product([_trips(visited[label]) for label in by.labels]), by)
    whole = all(span is not None and span.whole(axis.extent) for span, axis in zip(spans, axes, strict=True))
    return Region(access.tensor, None if whole else tuple(spans))


def _visited(op: Op) -> Visited:
    """The labels of an op's space with the trips that it makes along each: all, or the hull of its mask."""
    visited: dict[str, tuple[Size, Size]] = {label: (0, extent) for label, extent in op.space}
    if op.mask is not None:
        queries, keys = mask_extents(op, op.mask)
        visited[op.mask.query] = op.mask.rows(queries, keys)
        if key_bound(op) is None:  # parts are whole
            visited[op.mask.key] = op.mask.columns(queries, keys)
    return visited


def _trips(visited: tuple[Size, Size]) -> Size:
    return as_size(visited[1] - visited[0])


def _span(index: Index, extent: Size, visited: Visited, limited: tuple[str, ...]) -> Span | None:
    if isinstance(index, Gathered):
        return None
    if isinstance(index, str):
        return interval(*visited[index])
    found = lattice_span(_lattice(index, visited), extent)
    both = len({label for label, _ in index.terms} & set(limited)) == 2  # a window along a mask's diagonal
    return replace(found, note=HULL_NOTE) if both else found


def _lattice(index: Affine, visited: Visited) -> Lattice:
    """The places of a window or roll over the trips that are made."""
    first = total([index.offset, *[product([step, visited[label][0]]) for label, step in index.terms]])
    steps = tuple([(step, _trips(visited[label])) for label, step in index.terms])
    return Lattice(first, steps, index.modulo)


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


def joined(first: Region, second: Region) -> Region:
    """What two ops of one kernel read of a tensor together, look-ups apart: it is loaded once.

    The hull of two parts says so unless one holds the other, or they extend each other along one axis.

    >>> from perfmodel.graph.nodes import tensor
    >>> x = tensor("x", {"i": 8})
    >>> joined(Region(x, (interval(0, 4),)), Region(x, (interval(2, 8),))).elements
    8
    """
    if first.spans is None or second.spans is None:
        return Region(first.tensor)
    pairs = [(a, b) for a, b in zip(first.spans, second.spans, strict=True) if a is not None and b is not None]
    if all(a.covers(b) for a, b in pairs):
        return first
    if all(b.covers(a) for a, b in pairs):
        return second
    spans = tuple([united(a, b) for a, b in pairs])
    if sum(a != b for a, b in pairs) > 1:
        spans = (replace(spans[0], note=HULL_NOTE), *spans[1:])
    whole = all(span.whole(axis.extent) for span, axis in zip(spans, first.tensor.axes, strict=True))
    return Region(first.tensor, None if whole else spans)


def region_bytes(region: Region) -> Size:
    """Bytes of a region: whole tensors as they are stored, parts with the scales that they touch.

    >>> from perfmodel.graph.nodes import tensor
    >>> region_bytes(Region(tensor("x", {"i": 4}, dtype="fp32")))
    16
    """
    form = region.tensor.format
    if region.spans is None:
        return form.bytes_of(region.tensor.extents)
    scales = product([_blocks(region)[0], form.scale_bits + form.zero_bits])
    return ceil_div(total([product([region.elements, form.bits]), scales]), 8)


def _blocks(region: Region) -> tuple[Size, bool]:
    """How many blocks of a block-scaled tensor a part touches, and whether that is exact."""
    block, spans = region.tensor.format.block, region.spans
    if block is None or not spans:
        return 0, True
    inner = spans[-1]
    touched, exact = (1, True) if inner is None else blocks_touched(inner, block)
    rows = [span.count for span in spans[:-1] if span is not None]
    return product([touched, *rows, 1 if region.gathers is None else region.gathers]), exact
