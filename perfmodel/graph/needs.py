"""Bounds inference: what each op of a tiled kernel computes in one block, found backwards from its outputs.

An op computes what its readers need of its output, and its own tile where the output leaves the kernel. A
label that it reduces is taken whole, or trip by trip where it is streamed. Through a window the need widens
(halos), so a producer inside the kernel repeats what neighbouring tiles share.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from perfmodel.errors import TransformError
from perfmodel.expressions import Size, largest, smallest
from perfmodel.graph.combining import check_combined
from perfmodel.graph.indexing import Gathered
from perfmodel.graph.intervals import Interval, Linear, Trip
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.scattering import scatters
from perfmodel.graph.spans import at_most
from perfmodel.graph.splits import all_places, bound_indices, key_bound, mask_extents
from perfmodel.graph.tilings import Tiling
from perfmodel.graph.touching import index_interval

_Pick: TypeAlias = Callable[..., Size]  # the smallest or the largest of several sizes


@dataclass(frozen=True, slots=True)
class Need:
    """What one op computes in a block: an interval a label of its space, and the part of its output.

    Under a mask the space is smaller than the output: a row without a key is there, and holds nothing.

    >>> Need(None, {"m": Interval.whole(4)}, ()).labels
    ()
    """

    op: Op
    space: Mapping[str, Interval]
    output: tuple[Interval, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The cut labels whose block numbers its intervals move with.

        >>> Need(None, {"m": Interval.tile("m", 2, 4)}, ()).labels
        ('m',)
        """
        return tuple(dict.fromkeys([label for interval in self.space.values() for label in interval.labels]))

    @property
    def makes(self) -> str:
        """The name of the tensor that it makes a part of.

        >>> from perfmodel import matmul
        >>> needs_of(matmul(8, 8, 8).kernels[0], Tiling(), ["C"])[0].makes
        'C'
        """
        return self.op.output.tensor.name

    @property
    def counted(self) -> dict[tuple[str, ...], Interval]:
        """Intervals whose lengths multiply to its points: each label's, or what labels of a bound index reach.

        >>> from perfmodel import matmul, split
        >>> need, = needs_of(split(matmul(8, 8, 5), k=2).kernels[0], Tiling(), ["C_partial"])  # parts of 3 and 2
        >>> need.counted[("k_part", "k")].at({})
        (0, 5)
        """
        found: dict[tuple[str, ...], Interval] = {(label,): interval for label, interval in self.space.items()}
        for index, extent in bound_indices(self.op):
            labels = tuple([label for label, _ in index.terms])
            found = {key: interval for key, interval in found.items() if key[0] not in labels}
            whole = all_places(self.op, labels, self.space)
            found[labels] = whole or index_interval(index, self.space, extent)
        return found

    def reads(self, access: Access) -> tuple[Interval, ...]:
        """The part of an input that it reads, axis by axis (all of an axis that is looked up).

        >>> from perfmodel import matmul
        >>> need, = needs_of(matmul(8, 8, 4).kernels[0], Tiling(grid=(("m", 4),)), ["C"])
        >>> [part.at({"m": 1}) for part in need.reads(need.op.reads[0])][-2:]  # rows 4 to 7 of A, all of k
        [(4, 8), (0, 4)]
        """
        pairs = zip(access.tensor.axes, access.index, strict=True)
        return tuple([index_interval(index, self.space, axis.extent) for axis, index in pairs])

    def looked_up(self, access: Access) -> tuple[Interval, ...] | None:
        """The intervals of a gather: of the labels that name its look-ups, and of its other axes.

        >>> from perfmodel import embedding
        >>> need, = needs_of(embedding(8, 100, 4).kernels[0], Tiling(), ["y"])
        >>> [part.at({}) for part in need.looked_up(need.op.reads[0])]  # 8 tokens look up rows of 4
        [(0, 8), (0, 4)]
        """
        if not any(isinstance(index, Gathered) for index in access.index):
            return None
        found: list[Interval] = []
        for index, part in zip(access.index, self.reads(access), strict=True):
            found += [self.space[label] for label in index.labels] if isinstance(index, Gathered) else [part]
        return tuple(found)


def trips_of(kernel: Kernel, tiling: Tiling) -> dict[str, Trip]:
    """The cuts that leave more than one tile: a tile at least as large as its extent drops the loop.

    >>> from perfmodel import matmul
    >>> list(trips_of(matmul(256, 64, 64).kernels[0], Tiling(grid=(("m", 128), ("n", 128)))))
    ['m']
    """
    extents: dict[str, Size] = {axis.label: axis.extent for op in kernel.ops for axis in op.space}
    found = {}
    for label, size in tiling.cuts:
        extent = extents[label]
        if not at_most(extent, size):
            found[label] = Trip(label, size, extent)
    return found


def needs_of(kernel: Kernel, tiling: Tiling, leaving: Collection[str]) -> list[Need]:
    """What each op computes in a block, in the order of the ops.

    >>> from perfmodel import matmul
    >>> need, = needs_of(matmul(256, 64, 64).kernels[0], Tiling(grid=(("m", 128),)), ["C"])
    >>> need.space["m"].at({"m": 1}), need.space["k"].at({})
    ((128, 256), (0, 64))
    """
    trips = trips_of(kernel, tiling)
    if not trips:
        return [_untiled(op) for op in kernel.ops]
    streamed = {label for label, _ in tiling.stream}
    wanted: dict[str, list[tuple[Interval, ...]]] = {}
    found: list[Need] = []
    for op in reversed(kernel.ops):
        if scatters(op):
            raise TransformError(
                f"tile: {op.name!r} adds into places that other blocks add into too, which tiles are not counted for; "
                "leave its kernel whole: name the kernels to cut in only="
            )
        name = op.output.tensor.name
        asked = list(wanted.get(name, []))
        if name in leaving or not asked:
            asked.append(tuple([_tile(axis.label, axis.extent, trips) for axis in op.output.tensor.axes]))
        hull = [part.solid for part in joined_parts(asked, op.output.tensor)]  # gaps are computed
        space = dict(zip(op.output.tensor.labels, hull, strict=True))
        for axis in op.space:
            if axis.label in space:
                continue
            cut = axis.label in streamed
            if axis.label in trips and not cut and name in leaving and name not in wanted:
                check_combined(op, axis.label, tiling)
                cut = True
            space[axis.label] = _tile(axis.label, axis.extent, trips if cut else {})
        inside = within_mask(op, {axis.label: space[axis.label] for axis in op.space}, trips)
        need = Need(op, inside, tuple([space[label] for label in op.output.tensor.labels]))
        for access in op.reads:
            wanted.setdefault(access.tensor.name, []).append(need.reads(access))
        found.append(need)
    return found[::-1]


def within_mask(op: Op, space: dict[str, Interval], trips: Mapping[str, Trip]) -> dict[str, Interval]:
    """The space with the keys that a block's rows see, and the rows that see any (a hull, not its holes).

    Where keys are cut themselves, whole tiles are visited or skipped instead (see ``visiting``).

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> within_mask(mapped("exp", tensor("x", {"i": 4})).producer, {"i": Interval.whole(4)}, {})["i"].at({})
    (0, 4)
    """
    mask = op.mask
    if mask is None or mask.key in trips or set(space[mask.key].labels) - set(space[mask.query].labels):
        return space
    queries, keys = mask_extents(op, mask)
    bound = key_bound(op)
    if bound is not None:  # parts are whole
        cut = any(space[label].labels for label in (mask.query, *[label for label, _ in bound.index.terms]))
        first, last = mask.rows(queries, keys)
        return space if cut else space | {mask.query: Interval((Linear(first),), (Linear(last),))}
    if not space[mask.query].labels and not space[mask.key].labels:
        ends = {mask.query: mask.rows(queries, keys), mask.key: mask.columns(queries, keys)}
        return space | {label: Interval((Linear(a),), (Linear(b),)) for label, (a, b) in ends.items()}
    shift = mask.shift(queries, keys)
    rows = space[mask.query]
    starts = (Linear(0),) if mask.left is None else tuple([end.scaled(1, shift - mask.left) for end in rows.starts])
    stops = (Linear(keys),) if mask.right is None else tuple([end.scaled(1, shift + mask.right) for end in rows.stops])
    return space | {mask.key: Interval(starts, stops).clipped(keys)}


def _tile(label: str, extent: Size, trips: Mapping[str, Trip]) -> Interval:
    trip = trips.get(label)
    return Interval.whole(extent) if trip is None else trip.tile


def _untiled(op: Op) -> Need:
    """An op of a kernel without tiles: all of its space (the hull of its mask)."""
    space = {axis.label: Interval.whole(axis.extent) for axis in op.space}
    output = [space.get(axis.label, Interval.whole(axis.extent)) for axis in op.output.tensor.axes]
    return Need(op, within_mask(op, space, {}), tuple(output))


def joined_parts(parts: Sequence[tuple[Interval, ...]], tensor: Tensor) -> tuple[Interval, ...]:
    """The hull of several parts of a tensor, axis by axis.

    >>> from perfmodel.graph.nodes import tensor
    >>> joined_parts([(Interval.between(0, 2),), (Interval.between(0, 2),)], tensor("x", {"i": 4}))[0].at({})
    (0, 2)
    """
    columns = zip(*parts, strict=True)
    return tuple([_hull(column, axis.extent) for column, axis in zip(columns, tensor.axes, strict=True)])


def _hull(parts: tuple[Interval, ...], extent: Size) -> Interval:
    """One interval that holds all parts: themselves where equal, shifted ends where they move alike, else all.

    Ints and symbols take the same way through it, so that a formula at sizes is the count at these sizes.
    """
    distinct = list(dict.fromkeys(parts)) if len(parts) > 1 else parts
    if len(distinct) == 1:
        return distinct[0]
    if not any(part.labels for part in distinct):
        ends = [_touched_ends(part) for part in distinct]
        ends = [(start, stop) for start, stop in ends if start != stop] or ends[:1]  # what is all padding is nowhere
        return Interval.between(smallest(*[start for start, _ in ends]), largest(*[stop for _, stop in ends]))
    starts = _outer([part.starts for part in distinct], 0, largest, smallest)
    stops = _outer([part.stops for part in distinct], extent, smallest, largest)
    return Interval(starts, stops)


def _touched_ends(part: Interval) -> tuple[Size, Size]:
    """From the first element that is touched to one past the last, where gaps at the ends leave some out."""
    if part.gaps is None or not part.gaps.concrete:
        return part.at({})
    span = part.gaps.span_at({})
    return span.start, span.stop


def _outer(ends: Sequence[tuple[Linear, ...]], edge: Size, tightest: _Pick, loosest: _Pick) -> tuple[Linear, ...]:
    """Ends that lie outside all of these: of the bounds that every part has (by what moves them) the loosest.

    The edge of the axis bounds every part.
    """
    bounds: list[dict[tuple[tuple[str, Size], ...], Size]] = []
    for found in ends:
        known: dict[tuple[tuple[str, Size], ...], Size] = {}
        for end in (*found, Linear(edge)):
            by = tuple(sorted(end.steps))
            known[by] = tightest(known[by], end.start) if by in known else end.start
        bounds.append(known)
    shared = [steps for steps in bounds[0] if all(steps in known for known in bounds)]
    return tuple([Linear(loosest(*[known[steps] for known in bounds]), steps) for steps in shared])
