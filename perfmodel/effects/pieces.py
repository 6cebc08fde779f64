"""Pieces: the contiguous runs of a tensor that a kernel touches, where it does not touch all of it.

Tensors are stored row by row, the last axis innermost. The axes at the end that are touched whole make a run; the next
one outwards makes it longer (an interval), or repeats it (a window with gaps, a gather: one row of a table for each
index). A tensor that is touched whole is one run from end to end and has no pieces. Sizes are in bits, so that formats
of four bits have whole ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

from perfmodel.expressions import Size, as_expression, product, total
from perfmodel.graph.counting import read_regions
from perfmodel.graph.kernel_counts import KernelCount
from perfmodel.graph.regions import Region, joined, output_region
from perfmodel.graph.spans import Lattice, Span, at_most


class Piece(NamedTuple):
    """Runs of one tensor: ``times`` of them, each ``run`` bits; the numbers may be formulas, or arrays.

    The runs start ``offset`` bits after multiples of their strides: those ``within`` a row of runs, and the ``strides``
    of rows (in bits; none for a single run). Runs that follow one another every ``period`` bits share sectors between
    them; 0 where they lie anywhere, as the rows of a gather do. Where that leaves no sector out, what is touched are
    ``rows`` hulls of such runs, each ``hull`` bits, every ``apart`` bits.

    >>> Piece("W", "read", 4, 128, strides=(128,)).what
    'W is read'
    """

    tensor: str
    direction: str
    times: Any
    run: Any
    period: Any = 0
    offset: Any = 0
    rows: Any = 0
    hull: Any = 0
    apart: Any = 0
    within: tuple[Any, ...] = ()
    strides: tuple[Any, ...] = ()

    @property
    def what(self) -> str:
        """What is done, in words.

        >>> Piece("y", "write", 4, 128).what
        'y is written'
        """
        return f"{self.tensor} is {'read' if self.direction == 'read' else 'written'}"

    @property
    def numbers(self) -> tuple[Any, ...]:
        """All that may be a formula, in order.

        >>> Piece("W", "read", 4, 128, strides=(128,)).numbers
        (4, 128, 0, 0, 0, 0, 0, 128)
        """
        return (*self[2:-2], *self.within, *self.strides)

    def of(self, numbers: Sequence[Any]) -> Piece:
        """The same piece with other numbers.

        >>> piece = Piece("W", "read", 4, 128, strides=(128,))
        >>> piece.of([2 * number for number in piece.numbers]).run
        256
        """
        times, run, period, offset, rows, hull, apart, *rest = numbers
        inner = len(self.within)
        return self._replace(
            times=times, run=run, period=period, offset=offset, rows=rows, hull=hull, apart=apart,
            within=tuple(rest[:inner]), strides=tuple(rest[inner:]),
        )  # fmt: skip


def pieces_of(count: KernelCount) -> tuple[Piece, ...]:
    """The pieces of all tensors that a kernel reads and writes in part.

    Of a kernel cut into tiles they are those of the whole kernel, as often as its blocks ask for them.

    >>> from perfmodel import embedding, matmul
    >>> pieces_of(matmul(64, 64, 64).counted[0])
    ()
    >>> found = pieces_of(embedding(4096, 50257, 25).counted[0])[0]  # rows of 25 bf16 numbers
    >>> found.tensor, found.times, found.run
    ('W', 4096, 400)
    """
    found = [piece for name, regions in read_regions(count.kernel).items() for piece in _read(name, regions)]
    written = {item.tensor for item in count.transfers if item.direction == "write"}
    for op in count.kernel.ops:
        name = op.output.tensor.name
        if op.given is None and name in written:
            found += _pieces(name, "write", output_region(op))
    return tuple([_asked(piece, count) for piece in found] if count.kernel.tiles else found)


def _read(name: str, regions: Sequence[Region]) -> Iterator[Piece]:
    """The pieces of what is read of one tensor: look-ups each by itself, the other parts together."""
    boxes = [region for region in regions if region.gathers is None]
    if boxes:
        whole = reduce(joined, boxes)
        for region in [whole] if len(boxes) == 1 or not whole.note else boxes:
            yield from _pieces(name, "read", region)
    for region in regions:
        if region.gathers is not None:
            yield from _pieces(name, "read", region)


def _asked(piece: Piece, count: KernelCount) -> Piece:
    """A piece as often as the blocks of a tiled kernel ask for its tensor."""
    moved = [item for item in count.transfers if (item.tensor, item.direction) == (piece.tensor, piece.direction)]
    if not moved:
        return piece
    bits = product([piece.times, piece.run])
    whole = 8 * total([item.bytes for item in moved])
    return piece._replace(times=_over(product([piece.times, whole]), bits))


def _pieces(name: str, direction: str, region: Region) -> list[Piece]:
    """The runs of a region, outermost axes repeating those of the inner ones; none where they are all one."""
    if region.spans is None:
        return []
    bits: Size = region.tensor.format.bits
    axes = list(zip(region.spans, region.tensor.extents, strict=True))
    while axes and axes[-1][0] is not None and axes[-1][0].whole(axes[-1][1]):
        bits = product([bits, axes.pop()[1]])
    if not axes or any(span is not None and span.count == 0 for span, _ in axes):
        return []
    span, extent = axes.pop()
    lookups = 1 if region.gathers is None else region.gathers
    around = product([lookups, *[each.count for each, _ in axes if each is not None]])
    if span is None:  # rows from anywhere
        return [Piece(name, direction, around, bits, strides=(bits,))]
    outer = _outer(axes, product([bits, extent]))
    start = total([product([bits, span.start]), *[offset for _, offset in outer]])
    strides = tuple([stride for stride, _ in outer])
    apart = strides[0] if axes and axes[-1][0] is not None else 0
    lattice = _gaps(span)
    if lattice is None:
        return [Piece(name, direction, around, product([bits, span.count]), apart, start, strides=strides)]
    width, steps = _dense(lattice)
    times = _over(product([around, span.count]), width)
    hull = product([bits, total([span.stop, product([-1, span.start])])])
    within = tuple([product([bits, step]) for step in steps])
    return [
        Piece(name, direction, times, product([bits, width]), within[0], start, around, hull, apart, within, strides)
    ]


def _outer(axes: Sequence[tuple[Span | None, Size]], stride: Size) -> list[tuple[Size, Size]]:
    """From one place to the next along each outer axis, and where its first place lies: bits, the innermost first."""
    found = []
    for span, extent in reversed(axes):
        lattice = None if span is None else _gaps(span)
        step: Size = 1
        if lattice is not None:
            width, steps = _dense(lattice)
            step = steps[0] if width == 1 and len(steps) == 1 else 1
        found.append((product([stride, step]), product([stride, 0 if span is None else span.start])))
        stride = product([stride, extent])
    return found


def _gaps(span: Span) -> Lattice | None:
    """The places of a span that leaves some out; None for an interval, and for what is counted as one."""
    lattice = None if span.note else span.places
    return None if lattice is None or lattice.modulo is not None else lattice


def _dense(lattice: Lattice) -> tuple[Size, list[Size]]:
    """How many places in a row a window touches, and the steps from such a row to others, the smallest first."""
    width: Size = 1
    steps = [(step, trips) for step, trips in lattice.steps if trips != 1]
    known = sorted([found for found in steps if isinstance(found[0], int)], key=lambda found: found[0])
    rest: list[Size] = []
    for step, trips in [*known, *[found for found in steps if not isinstance(found[0], int)]]:
        if not rest and at_most(step, width):
            width = total([width, product([step, trips - 1])])
        else:
            rest.append(step)
    return width, rest or [width]


def _over(size: Size, divisor: Size) -> Any:
    if isinstance(size, int) and isinstance(divisor, int) and size % divisor == 0:
        return size // divisor
    return as_expression(size) / as_expression(divisor)
