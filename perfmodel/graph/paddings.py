"""Padding: a label that runs to a multiple of something, past the extent at which its values end.

Past that extent every tensor holds zeros. Ops run there and nothing comes of it: a map writes zero, a reduction
or contraction over the label leaves those points out. So values are those of the unpadded program, work at valid
points is the same, and only what is issued, stored and moved grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from perfmodel.expressions import Size, ceil_div, product
from perfmodel.graph.indexing import Affine
from perfmodel.graph.intervals import Interval, Linear, Trip

if TYPE_CHECKING:
    from perfmodel.graph.nodes import Op


@dataclass(frozen=True, slots=True)
class Bound:
    """A place along a label that is split, from the labels of its parts, and the extent at which the places end.

    Unlike padding there are no points past it: an op that reads nothing that ends with its labels is told so.

    >>> str(Bound(Affine((("kv_part", 3), ("kv", 1)), bound=True), 8).index)
    '3*kv_part + kv'
    """

    index: Affine
    extent: Size


class Padding(NamedTuple):
    """A padded label of an op: where its values end, and the multiples that it was padded to, one after another.

    >>> Padding("n", 100, (64,)).padded, Padding("n", 100, (64, 48)).padded
    (128, 144)
    """

    label: str
    extent: Size
    multiples: tuple[Size, ...]

    @property
    def padded(self) -> Size:
        """How far the label runs.

        >>> Padding("n", 65, (64,)).padded
        128
        """
        found = self.extent
        for multiple in self.multiples:
            found = product([multiple, ceil_div(found, multiple)])
        return found


def effective(paddings: Iterable[Padding]) -> tuple[Padding, ...]:
    """The paddings that there are, by the multiples that change something: a multiple that divides pads nothing.

    >>> effective([Padding("m", 128, (64,)), Padding("n", 100, (4, 64))])
    (Padding(label='n', extent=100, multiples=(64,)),)
    """
    found = []
    for item in paddings:
        kept: tuple[Size, ...] = ()
        for multiple in item.multiples:
            longer = item._replace(multiples=(*kept, multiple))
            kept = kept if longer.padded == item._replace(multiples=kept).padded else longer.multiples
        found += [item._replace(multiples=kept)] if kept else []
    return tuple(found)


def valid_extents(op: Op) -> dict[str, Size]:
    """Each label of an op with the extent at which its values end.

    >>> from dataclasses import replace
    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = mapped("exp", tensor("x", {"i": 64, "j": 8})).producer
    >>> valid_extents(replace(op, padded=(Padding("i", 50, (64,)),)))
    {'i': 50, 'j': 8}
    """
    return {**dict(op.space), **{item.label: item.extent for item in op.padded}}


def valid_results(op: Op) -> Size:
    """How many elements of its output are results, not padding.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> valid_results(mapped("exp", tensor("x", {"i": 64, "j": 8})).producer)
    512
    """
    tensor = op.output.tensor
    if not op.padded:
        return product(tensor.extents)
    extents = valid_extents(op)
    pairs = zip(tensor.axes, op.output.index, strict=True)
    return product([extents.get(by, axis.extent) if isinstance(by, str) else axis.extent for axis, by in pairs])


def valid_parts(op: Op, parts: Mapping[str, Interval], trips: Mapping[str, Trip]) -> dict[str, Interval]:
    """The parts of an op's labels without their padding, for sums over all blocks.

    The plain tiles of a label cover its valid extent once, so together they stand as one whole.

    >>> from dataclasses import replace
    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = replace(mapped("exp", tensor("x", {"i": 64})).producer, padded=(Padding("i", 50, (64,)),))
    >>> valid_parts(op, {"i": Interval.tile("i", 16, 64)}, {"i": Trip("i", 16, 64)})["i"].at({})
    (0, 50)
    """
    found, extents = dict(parts), dict(op.space)
    for item in op.padded:
        if item.label not in parts:
            continue
        part, trip = parts[item.label], trips.get(item.label)
        alone = all(item.label not in other.labels for label, other in parts.items() if label != item.label)
        plain = trip is not None and part == Interval.tile(trip.label, trip.size, trip.extent)
        ending = _ending(part, item.extent, extents[item.label])
        found[item.label] = Interval.whole(item.extent) if plain and alone else ending
    return found


def _ending(part: Interval, extent: Size, padded: Size) -> Interval:
    """The part before the padding: the valid extent takes the place of the padded one among its bounds."""
    bounds = [end for end in part.stops if end != Linear(padded)]
    return Interval(part.starts, (*bounds, Linear(extent)))
