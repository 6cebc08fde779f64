"""A run of ops inside one tile, seen as a kernel of its own: its sizes are the tile's, its positions count from there.

So a level of tiles inside another is the same rule again. What the outer tile holds is the inner kernel's memory:
results that other runs of the outer tile need, or that a later trip goes on with, leave the inner kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from perfmodel.errors import DimensionError, TransformError
from perfmodel.expressions import Size, largest, remainder, smallest
from perfmodel.graph.indexing import Affine, Axis, Gathered, Index, renamed
from perfmodel.graph.intervals import Interval, Trip
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.needs import Need, joined_parts
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.paddings import Bound, Padding
from perfmodel.graph.schedules import Loop, Node
from perfmodel.graph.splits import key_bound
from perfmodel.graph.spots import Spot
from perfmodel.graph.tiled import Tiled


@dataclass(frozen=True)
class Segment:
    """Consecutive ops of one tile, the loops around them, and which of their results are needed beyond.

    >>> from perfmodel import matmul, tile
    >>> segment, = segments_of(tile(matmul(8, 8, 8), m=4, n=4, stream={"k": 2}).counted[0].tiled)
    >>> segment.path, sorted(segment.leaving), sorted(segment.updated)
    (('k',), ['C'], ['C'])
    """

    needs: tuple[Need, ...]
    path: tuple[str, ...]
    leaving: frozenset[str]
    updated: frozenset[str]  # sums that the next trip goes on with: they are read as well as written
    online: tuple[str, ...] = ()  # labels whose running results are corrected

    @cached_property
    def parts(self) -> dict[str, tuple[Interval, ...]]:
        """The part of each tensor that the ops touch, axis by axis."""
        made = {need.op.output.tensor.name: need.output for need in self.needs}
        read: dict[str, list[tuple[Interval, ...]]] = {}
        tensors: dict[str, Tensor] = {}
        for need in self.needs:
            for access in need.op.reads:
                tensors[access.tensor.name] = access.tensor
                read.setdefault(access.tensor.name, []).append(need.reads(access))
        return {name: joined_parts(found, tensors[name]) for name, found in read.items()} | made

    @cached_property
    def spaces(self) -> list[dict[str, Interval]]:
        """The interval of each label of each op: all that the tile makes, rows without a key included."""
        found = []
        for need in self.needs:
            masked = () if need.op.mask is None else (need.op.mask.query, need.op.mask.key)
            whole = {axis.label: Interval.whole(axis.extent) for axis in need.op.space if axis.label in masked}
            found.append({**need.space, **dict(zip(need.op.output.tensor.labels, need.output, strict=True)), **whole})
        return found

    @cached_property
    def renames(self) -> list[dict[str, str]]:
        """Labels that an op sees elsewhere than the last op does (halos): they get a name of their own."""
        last: dict[str, Interval] = {}
        for space in self.spaces:
            last.update(space)
        return [
            {label: f"{label}@{need.op.name}" for label, interval in space.items() if interval != last[label]}
            for need, space in zip(self.needs, self.spaces, strict=True)
        ]

    def facts(self) -> Iterator[tuple[frozenset[str], Callable[[Spot], Size]]]:
        """Every number of the inner kernel that depends on which tile is meant, with the labels that move it."""
        moving = [interval for part in self.parts.values() for interval in part]
        moving += [interval for space in self.spaces for interval in space.values()]
        for interval in moving:
            yield frozenset(interval.labels), partial(Spot.length, interval=interval)
        for padded, extent in self._padded():
            yield frozenset(padded.labels), partial(_valid_length, interval=padded, extent=extent)
        for inner, block in self._scaled():
            yield frozenset(inner.labels), partial(_within_block, inner=inner, block=block)
        for need, space in zip(self.needs, self.spaces, strict=True):
            for access in need.op.reads:
                for index, part in zip(access.index, self.parts[access.tensor.name], strict=True):
                    moved = {label for name in _plain_labels(index) for label in space[name].labels} | {*part.labels}
                    yield frozenset(moved), partial(_offset, index=index, space=space, part=part)
            for bound in need.op.bounds:
                moved = {label for name in _plain_labels(bound.index) for label in space[name].labels}
                whole = Interval.whole(bound.extent)
                yield frozenset(moved), partial(_offset, index=bound.index, space=space, part=whole)

    def _scaled(self) -> list[tuple[Interval, int]]:
        """The innermost axes along which elements share a scale, and how many do."""
        tensors = [access.tensor for need in self.needs for access in (*need.op.reads, need.op.output)]
        return [(self.parts[t.name][-1], t.format.block) for t in tensors if t.format.block is not None and t.axes]

    def _padded(self) -> list[tuple[Interval, Size]]:
        """The intervals of padded labels, and where their values end."""
        pairs = zip(self.needs, self.spaces, strict=True)
        return [(space[item.label], item.extent) for need, space in pairs for item in need.op.padded]

    def is_plain(self, trip: Trip) -> bool:
        """Whether a label moves nothing but its own tiles, so that all tiles but the last are alike."""
        tile = Interval.tile(trip.label, trip.size, trip.extent)
        groups = (*self.parts.values(), *[space.values() for space in self.spaces])
        moving = [interval for group in groups for interval in group]
        alike = all(found == tile for found in moving if trip.label in found.labels)
        alike &= not any(trip.label in inner.labels and trip.size % block != 0 for inner, block in self._scaled())
        alike &= not any(trip.label in part.labels for part, _ in self._padded())
        return alike and not any(trip.label in labels for labels in self._shifted())

    def _shifted(self) -> Iterator[tuple[str, ...]]:
        """The labels that move an index without moving the part that it points into along with it."""
        for need, space in zip(self.needs, self.spaces, strict=True):
            for access in need.op.reads:
                for index, part in zip(access.index, self.parts[access.tensor.name], strict=True):
                    if isinstance(index, Affine) or (isinstance(index, str) and space[index] != part):
                        yield tuple([label for name in _plain_labels(index) for label in space[name].labels])

    def kernel(self, spot: Spot, name: str) -> Kernel:
        """The ops as a kernel over one tile; an op that has nothing to do there (all padding) is left out."""
        ops = [self._op(place, spot) for place in range(len(self.needs))]
        kept = tuple([op for op in ops if all(axis.extent != 0 for axis in op.space)])
        return Kernel(name, kept, online=self.online)

    def _op(self, place: int, spot: Spot) -> Op:
        op, space, names = self.needs[place].op, self.spaces[place], self.renames[place]
        axes = tuple([Axis(names.get(axis.label, axis.label), spot.length(space[axis.label])) for axis in op.space])
        inputs = tuple(
            [self._access(item, space, names, spot) if isinstance(item, Access) else item for item in op.inputs]
        )
        made = self._tensor(op.output.tensor, spot)
        labels = tuple([names.get(label, label) for label in op.output.tensor.labels])
        made = replace(
            made, axes=tuple([Axis(label, axis.extent) for label, axis in zip(labels, made.axes, strict=True)])
        )
        valid = [(item.label, _valid_length(spot, space[item.label], item.extent)) for item in op.padded]
        padded = tuple([Padding(names.get(label, label), extent, ()) for label, extent in valid])
        bounds = tuple([_local_bound(item, names, space, spot) for item in op.bounds])
        return replace(op, inputs=inputs, output=Access(made, labels), space=axes, padded=padded, bounds=bounds)

    def _access(self, access: Access, space: Mapping[str, Interval], names: Mapping[str, str], spot: Spot) -> Access:
        self._check_looked_up(access, space, spot)
        part = self.parts[access.tensor.name]
        found = tuple([_local(index, names, space, p, spot) for index, p in zip(access.index, part, strict=True)])
        return Access(self._tensor(access.tensor, spot), found)

    def _check_looked_up(self, access: Access, space: Mapping[str, Interval], spot: Spot) -> None:
        """What names look-ups is indexed by the tile's own labels, so the tile must hold it from its corner on."""
        for index in [index for index in access.index if isinstance(index, Gathered)]:
            for label, part in zip(index.labels, self.parts[index.by], strict=True):
                if spot.start(space[label]) != spot.start(part):
                    raise TransformError(
                        f"tile: {index.by!r} names look-ups over {label!r} and is read elsewhere in the same tile; "
                        "tiles inside such a tile are not built"
                    )

    def _tensor(self, tensor: Tensor, spot: Spot) -> Tensor:
        part = self.parts[tensor.name]
        block = tensor.format.block
        if block is not None and part and spot.start(part[-1]) % block != 0:
            raise DimensionError(
                f"tile: a tile of {tensor.name!r} starts inside {block} elements that share a scale; take multiples"
            )
        extents = [spot.length(interval) for interval in part]
        return Tensor(
            tensor.name, tuple([Axis(a.label, n) for a, n in zip(tensor.axes, extents, strict=True)]), tensor.format
        )


def _valid_length(spot: Spot, interval: Interval, extent: Size) -> Size:
    """How much of a tile lies before the padding."""
    return smallest(spot.length(interval), largest(0, extent - spot.start(interval)))


def _within_block(spot: Spot, inner: Interval, block: int) -> Size:
    """Where, among the elements that share a scale, a tile starts."""
    return remainder(spot.start(inner), block)


def _plain_labels(index: Index) -> tuple[str, ...]:
    """The labels that an index is computed from (a look-up is computed from what it reads)."""
    if isinstance(index, str):
        return (index,)
    return () if isinstance(index, Gathered) else tuple([label for label, _ in index.terms])


def _offset(spot: Spot, index: Index, space: Mapping[str, Interval], part: Interval) -> Size:
    """How far an index of the tile lies from the start of the part that the tile holds."""
    if isinstance(index, Gathered):
        return 0
    if isinstance(index, str):
        return spot.start(space[index]) - spot.start(part)
    found = index.offset - spot.start(part)
    for label, step in index.terms:
        found = found + step * spot.start(space[label])
    return found


def _local(index: Index, names: Mapping[str, str], space: Mapping[str, Interval], part: Interval, spot: Spot) -> Index:
    """An index that counts from the tile's corner; one that may run out of the part is a window onto it."""
    found, offset = renamed(index, names), _offset(spot, index, space, part)
    if isinstance(found, Affine):
        return replace(found, offset=offset)
    if isinstance(found, Gathered):
        return found
    alike = offset == 0 and spot.length(space[str(index)]) == spot.length(part)
    return found if alike else Affine(((found, 1),), offset)


def _local_bound(bound: Bound, names: Mapping[str, str], space: Mapping[str, Interval], spot: Spot) -> Bound:
    """A bound whose index counts from the tile's corner, and ends where the whole label does or before."""
    index = renamed(bound.index, names)
    offset = _offset(spot, bound.index, space, Interval.whole(bound.extent))
    return Bound(replace(index, offset=offset), bound.extent) if isinstance(index, Affine) else bound


def segments_of(tiled: Tiled) -> list[Segment]:
    """The runs of ops of a tile, in order, and what each has to hand on.

    >>> from perfmodel import fuse, softmax, tile
    >>> tiled = tile(fuse(softmax(8, 64)), grid={"m": 4}, stream={"n": 16}).counted[0].tiled
    >>> [sorted(segment.leaving) for segment in segments_of(tiled)]  # the maximum, the sum, the quotient
    [['max'], ['sum'], ['y']]
    """
    for need in tiled.needs:
        _check_mask(need, tiled)
    runs = list(_runs(tiled.schedule.body, ()))
    made = [{need.op.output.tensor.name for need in run} for run, _ in runs]
    _check_followed(tiled, made)
    read = [{access.tensor.name for need in run for access in need.op.reads} for run, _ in runs]
    found = []
    for place, (run, path) in enumerate(runs):
        elsewhere = {name for other in range(len(runs)) if other != place for name in read[other] - made[other]}
        updated = frozenset([need.op.output.tensor.name for need in run if set(need.op.reduced) & set(path)])
        updated |= tiled.updated & made[place]
        leaving = updated | (made[place] & (elsewhere | tiled.leaving))
        found.append(Segment(tuple(run), path, leaving, updated, tiled.kernel.online))
    return found


def _check_mask(need: Need, tiled: Tiled) -> None:
    """Refuse what would move or crop a mask: its positions do not count from a tile's corner."""
    op = need.op
    if op.mask is None:
        return
    made = dict(zip(op.output.tensor.labels, need.output, strict=True))
    bound = key_bound(op)
    masked = {op.mask.query, op.mask.key, *([] if bound is None else [label for label, _ in bound.index.terms])}
    for label, extent in op.space:
        if label not in masked:
            continue
        if label in tiled.trips or made.get(label, Interval.whole(extent)) != Interval.whole(extent):
            raise TransformError(
                f"tile: {op.name!r} is masked over {label!r}, of which a tile of {tiled.tiling.level!r} has a part; "
                "only the innermost level may cut the labels of a mask"
            )


def _check_followed(tiled: Tiled, made: list[set[str]]) -> None:
    """Refuse a running maximum whose sums other inner kernels make: they would not know by how much it moved."""
    for item in tiled.rescalings:
        for need, _ in item.sums:
            if not any({need.op.output.tensor.name, item.name} <= names for names in made):
                raise TransformError(
                    f"online: {need.op.name!r} follows {item.name!r} from another loop of {tiled.tiling.level!r}; with "
                    "tiles inside tiles both have to run in one"
                )


def _runs(nodes: tuple[Node, ...], path: tuple[str, ...]) -> Iterator[tuple[list[Need], tuple[str, ...]]]:
    run: list[Need] = []
    for node in nodes:
        if not isinstance(node, Loop):
            run.append(node)
            continue
        if run:
            yield run, path
        run = []
        yield from _runs(node.body, (*path, node.label))
    if run:
        yield run, path
