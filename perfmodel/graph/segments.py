"""A run of ops inside one tile, seen as a kernel of its own: its sizes are the tile's, its positions count from there.

So a level of tiles inside another is the same rule again. What the outer tile holds is the inner kernel's memory:
results that other runs of the outer tile need, or that a later trip goes on with, leave the inner kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from perfmodel.errors import DimensionError, TransformError
from perfmodel.expressions import Size
from perfmodel.graph.corners import (
    local_bound,
    local_index,
    offset_of,
    plain_labels,
    valid_length,
    within_scale,
)
from perfmodel.graph.indexing import Affine, Axis, Gathered
from perfmodel.graph.intervals import Interval, Trip
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.masked_tiles import MaskedTiles, made_spaces, masked_tiles
from perfmodel.graph.masks import Mask
from perfmodel.graph.needs import Need, joined_parts
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.paddings import Padding
from perfmodel.graph.scattering import scatters
from perfmodel.graph.schedules import Loop, Node
from perfmodel.graph.splits import key_bound
from perfmodel.graph.spots import Spot
from perfmodel.graph.tiled import Tiled
from perfmodel.graph.visiting import Visits


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
    visits: tuple[Visits | None, ...] = ()  # for each op, which tiles are visited, where the others are skipped here

    @cached_property
    def parts(self) -> dict[str, tuple[Interval, ...]]:
        """The part of each tensor that the ops touch, axis by axis."""
        tensors = [need.op.output.tensor for need in self.needs]
        spaces = zip(tensors, self.spaces, strict=True)
        made = {tensor.name: tuple([space[label] for label in tensor.labels]) for tensor, space in spaces}
        read: dict[str, list[tuple[Interval, ...]]] = {}
        known: dict[str, Tensor] = {}
        for need in self.needs:
            for access in need.op.reads:
                known[access.tensor.name] = access.tensor
                read.setdefault(access.tensor.name, []).append(need.reads(access))
        return {name: joined_parts(found, known[name]) for name, found in read.items()} | made

    @cached_property
    def spaces(self) -> list[dict[str, Interval]]:
        """The interval of each label of each op: all that the tile makes, rows without a key included."""
        return made_spaces(self.needs)

    @cached_property
    def masked(self) -> list[MaskedTiles | None]:
        """For each op the tiles of its mask; None where it has no mask, or each tile has all of it."""
        visits = self.visits or (None,) * len(self.needs)
        found = zip(self.needs, self.spaces, visits, strict=True)
        return [masked_tiles(need.op, space, visited) for need, space, visited in found]

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

    def facts(self) -> Iterator[tuple[frozenset[str], Callable[[Spot], object]]]:
        """Every number of the inner kernel that depends on which tile is meant, with the labels that move it."""
        moving = [interval for part in self.parts.values() for interval in part]
        moving += [interval for space in self.spaces for interval in space.values()]
        for interval in moving:
            yield frozenset(interval.labels), partial(Spot.length, interval=interval)
        for tiles in dict.fromkeys([tiles for tiles in self.masked if tiles is not None]):
            yield frozenset(tiles.labels), tiles.look
        for padded, extent in self._padded():
            yield frozenset(padded.labels), partial(valid_length, interval=padded, extent=extent)
        for inner, block in self._scaled():
            yield frozenset(inner.labels), partial(within_scale, inner=inner, block=block)
        for need, space in zip(self.needs, self.spaces, strict=True):
            for access in need.op.reads:
                for index, part in zip(access.index, self.parts[access.tensor.name], strict=True):
                    moved = {label for name in plain_labels(index) for label in space[name].labels} | {*part.labels}
                    yield frozenset(moved), partial(offset_of, index=index, space=space, part=part)
            for bound in need.op.bounds:
                moved = {label for name in plain_labels(bound.index) for label in space[name].labels}
                whole = Interval.whole(bound.extent)
                yield frozenset(moved), partial(offset_of, index=bound.index, space=space, part=whole)

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
        alike &= not any(tiles is not None and trip.label in tiles.labels for tiles in self.masked)
        return alike and not any(trip.label in labels for labels in self._shifted())

    def _shifted(self) -> Iterator[tuple[str, ...]]:
        """The labels that move an index without moving the part that it points into along with it."""
        for need, space in zip(self.needs, self.spaces, strict=True):
            for access in need.op.reads:
                for index, part in zip(access.index, self.parts[access.tensor.name], strict=True):
                    if isinstance(index, Affine) or (isinstance(index, str) and space[index] != part):
                        yield tuple([label for name in plain_labels(index) for label in space[name].labels])

    def kernel(self, spot: Spot, name: str) -> Kernel:
        """The ops as a kernel over one tile; one that has nothing to do there (all padding, or masked) is left out."""
        visited = [place for place, tiles in enumerate(self.masked) if tiles is None or not tiles.skips(spot)]
        ops = [self._op(place, spot) for place in visited]
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
        made = replace(made, axes=tuple([Axis(label, a.extent) for label, a in zip(labels, made.axes, strict=True)]))
        index = op.output.index if scatters(op) else labels  # a tile of what scatters holds all of it
        valid = [(item.label, valid_length(spot, space[item.label], item.extent)) for item in op.padded]
        padded = tuple([Padding(names.get(label, label), extent, ()) for label, extent in valid])
        mask = self._mask(place, spot)
        bounds = tuple([local_bound(item, names, space, spot) for item in op.bounds])
        changed = replace(op, inputs=inputs, output=Access(made, index), space=axes, padded=padded, bounds=bounds)
        return replace(changed, mask=mask)

    def _mask(self, place: int, spot: Spot) -> Mask | None:
        """The part of an op's mask that the tile holds."""
        tiles, whole = self.masked[place], self.needs[place].op.mask
        mask = whole if tiles is None else tiles.cropped(spot)
        return None if mask is None else mask.renamed(self.renames[place])

    def _access(self, access: Access, space: Mapping[str, Interval], names: Mapping[str, str], spot: Spot) -> Access:
        self._check_looked_up(access, space, spot)
        part = self.parts[access.tensor.name]
        found = tuple([local_index(index, names, space, p, spot) for index, p in zip(access.index, part, strict=True)])
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


def segments_of(tiled: Tiled) -> list[Segment]:
    """The runs of ops of a tile, in order, and what each has to hand on.

    >>> from perfmodel import fuse, softmax, tile
    >>> tiled = tile(fuse(softmax(8, 64)), grid={"m": 4}, stream={"n": 16}).counted[0].tiled
    >>> [sorted(segment.leaving) for segment in segments_of(tiled)]  # the maximum, the sum, the quotient
    [['max'], ['sum'], ['y']]
    """
    for need in tiled.needs:
        _check_parts(tiled, need)
    runs = list(_runs(tiled.schedule.body, ()))
    made = [{need.makes for need in run} for run, _ in runs]
    _check_followed(tiled, made)
    read = [{access.tensor.name for need in run for access in need.op.reads} for run, _ in runs]
    found = []
    for place, (run, path) in enumerate(runs):
        elsewhere = {name for other in range(len(runs)) if other != place for name in read[other] - made[other]}
        updated = frozenset([need.makes for need in run if set(need.op.reduced) & set(path)])
        updated |= tiled.updated & made[place]
        leaving = updated | (made[place] & (elsewhere | tiled.leaving))
        visits = tuple([_skipping(tiled, need, path) for need in run])
        found.append(Segment(tuple(run), path, leaving, updated, tiled.kernel.online, visits))
    return found


def _skipping(tiled: Tiled, need: Need, path: tuple[str, ...]) -> Visits | None:
    """The tiles that an op visits, where those without an allowed pair are skipped."""
    visits = tiled.visits(need)
    return visits if visits is not None and tiled.by_visits(visits, path) else None


def _check_parts(tiled: Tiled, need: Need) -> None:
    """Refuse what would cut a mask whose keys are in parts: its tiles would be cropped along several labels."""
    op, bound = need.op, key_bound(need.op)
    if op.mask is None or bound is None:
        return
    made = dict(zip(op.output.tensor.labels, need.output, strict=True))
    masked = {op.mask.query, *[label for label, _ in bound.index.terms]}
    for label, extent in op.space:
        whole = Interval.whole(extent)
        if label in masked and (label in tiled.trips or made.get(label, whole) != whole):
            raise TransformError(
                f"tile: {op.name!r} is masked over {label!r} and its keys are in parts, of which a tile of "
                f"{tiled.tiling.level!r} has some; only the innermost level may cut the labels of such a mask"
            )


def _check_followed(tiled: Tiled, made: list[set[str]]) -> None:
    """Refuse a running maximum whose sums other inner kernels make: they would not know by how much it moved."""
    for item in tiled.rescalings:
        for need, _ in item.sums:
            if not any({need.makes, item.name} <= names for names in made):
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
