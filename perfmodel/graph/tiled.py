"""Counts of one level of tiles: what the blocks of a kernel request, and the work that they do."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from perfmodel.errors import TransformError
from perfmodel.expressions import Size, product, total
from perfmodel.graph.combining import moved_by_adding
from perfmodel.graph.counting import Transfer, Work, work
from perfmodel.graph.intervals import Interval, Trip
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.masks import Mask
from perfmodel.graph.needs import Need, needs_of, trips_of, within_mask
from perfmodel.graph.nodes import Op, Tensor
from perfmodel.graph.paddings import valid_parts
from perfmodel.graph.part_tiles import PartTiles, key_tiles
from perfmodel.graph.parts import part_cost, part_note
from perfmodel.graph.rescaling import Rescaling, rescaled_work, rescalings_of
from perfmodel.graph.running import Running, running_of
from perfmodel.graph.schedules import Load, Loop, Node, Schedule, schedule_of
from perfmodel.graph.splits import mask_extents
from perfmodel.graph.sums import lengths_sum
from perfmodel.graph.tile_points import issued_points, valid_points
from perfmodel.graph.tilings import Tiling
from perfmodel.graph.visited import seen_cost, visited_cost
from perfmodel.graph.visiting import Visits


@dataclass(frozen=True)
class Tiled:
    """A kernel cut by one tiling: its schedule, and the counts that follow from it.

    >>> from perfmodel import matmul
    >>> tiling = Tiling(grid=(("m", 64), ("n", 64)), stream=(("k", 32),))
    >>> tiled = Tiled(matmul(256, 256, 256).kernels[0], tiling, frozenset(["C"]))
    >>> [(t.tensor, t.elements) for t in tiled.transfers()]  # A and B once for each of 4 blocks across
    [('A', 262144), ('B', 262144), ('C', 65536)]
    """

    kernel: Kernel
    tiling: Tiling
    leaving: frozenset[str]
    updated: frozenset[str] = frozenset()  # sums that an outer tile goes on with: read before they are written

    @cached_property
    def trips(self) -> dict[str, Trip]:
        """The cuts that leave more than one tile."""
        return trips_of(self.kernel, self.tiling)

    @cached_property
    def needs(self) -> list[Need]:
        """What each op computes in a block."""
        return needs_of(self.kernel, self.tiling, self.leaving)

    @cached_property
    def readers(self) -> dict[str, list[Need]]:
        """What reads each tensor."""
        found: dict[str, list[Need]] = {}
        for need in self.needs:
            for name in dict.fromkeys([access.tensor.name for access in need.op.reads]):
                found.setdefault(name, []).append(need)
        return found

    @cached_property
    def loops(self) -> list[str]:
        """The streamed labels that are loops, outermost first."""
        return [label for label, _ in self.tiling.stream if label in self.trips]

    @cached_property
    def grid(self) -> list[str]:
        """The grid labels that make more than one block."""
        return [label for label, _ in self.tiling.grid if label in self.trips]

    @cached_property
    def schedule(self) -> Schedule:
        """The order of work in a block."""
        for need in [need for need in self.needs if need.makes in self.tiling.spill]:
            self._outer_trips(need)
        return schedule_of(self.needs, self.loops, self.leaving, self.running, self.tiling.spill)

    @cached_property
    def running(self) -> dict[str, Running]:
        """For each label whose running results are corrected, how the values stand to its loop."""
        return {label: running_of(self.kernel.ops, label) for label in self.kernel.online}

    @cached_property
    def rescalings(self) -> list[Rescaling]:
        """The maxima that move while they are used, each with the sums that follow it."""
        return rescalings_of(self) if self.kernel.online else []

    def check(self) -> None:
        """Refuse an order that cannot be: a value needed before it exists, a spill without an outer loop."""
        self.schedule  # noqa: B018 (what cannot be spilled is refused here)
        self.rescalings  # noqa: B018 (an order in which a maximum cannot be followed is refused here)

    def runs(self) -> Iterator[tuple[Need, tuple[str, ...]]]:
        """Each place where an op runs, with the loops around it."""
        for node, path in _walk(self.schedule.body, ()):
            if isinstance(node, Need):
                yield node, path

    def loads(self) -> Iterator[tuple[Load, tuple[str, ...]]]:
        """Each place where a part of a tensor is loaded, with the loops around it."""
        for load in self.schedule.loads:
            yield load, ()
        for node, path in _walk(self.schedule.body, ()):
            if isinstance(node, Loop):
                for load in node.loads:
                    yield load, (*path, node.label)

    def times(self, labels: Collection[str], path: Collection[str]) -> Size:
        """How often the same part is met again: blocks and trips whose labels do not move it."""
        around = [*self.grid, *path]
        return product([self.trips[label].count for label in around if label not in labels])

    def works(self) -> tuple[Work, ...]:
        """The work of every block together; repeated producers count as often as they run."""
        found: list[Work] = []
        for need, path in self.runs():
            found += work(need.op, self.points(need, path), self.results(need, path))
        return (*found, *rescaled_work(self, issued=False))

    def results(self, need: Need, path: Collection[str], *, padding: bool = False) -> Size:
        """How many means an op completes over all blocks and trips, with or without padding: each is a division."""
        if need.op.function != "mean" or need.makes in self.updated:
            return 0
        kept = [label for label in path if label not in need.op.reduced]
        moving = {label for interval in need.output for label in interval.labels}
        parts = dict(zip(need.op.output.tensor.labels, need.output, strict=True))
        parts = parts if padding else valid_parts(need.op, parts, self.trips)
        return product([self.times(moving, kept), lengths_sum(list(parts.values()), self.trips)])

    def macs(self) -> Size:
        """Multiply-accumulates of every block together."""
        return total([self.points(need, path) for need, path in self.runs() if need.op.kind == "contract"])

    def issued_works(self) -> tuple[Work, ...]:
        """The work of every block as hardware issues it: in whole tiles."""
        found: list[Work] = []
        for need, path in self.runs():
            found += work(need.op, self.issued_points(need, path), self.results(need, path, padding=True))
        return (*found, *rescaled_work(self, issued=True))

    def points(self, need: Need, path: Collection[str]) -> Size:
        """Valid points of an op over all blocks and trips."""
        return valid_points(self, need, path)

    def issued_points(self, need: Need, path: Collection[str], among: Collection[str] | None = None) -> Size:
        """Points as hardware visits them: whole tiles, ragged edges and masked points included.

        ``among`` has the labels that count, where not all do.
        """
        return issued_points(self, need, path, need.space if among is None else among)

    def visits(self, need: Need) -> Visits | None:
        """The tiles of a masked op that are visited, as far as its own rows and keys are cut; None for no mask."""
        mask = need.op.mask
        if mask is None:
            return None
        cut = [label for label in need.space if label in need.space[label].labels]
        return self._visits(need.op, mask, cut)

    def _visits(self, op: Op, mask: Mask, cut: Collection[str]) -> Visits:
        rows = self.trips.get(mask.query) if mask.query in cut else None
        return Visits(mask, *mask_extents(op, mask), rows, key_tiles(op, self.trips, cut))

    def stored_visits(self, op: Op) -> Visits | None:
        """The tiles of a masked result that are stored; None where the result is not masked."""
        if op.mask is None or not self.keeps_mask(op):
            return None
        return self._visits(op, op.mask, self.trips)

    def transfers(self) -> tuple[Transfer, ...]:
        """What the blocks load and store at the next level: reads first, then writes."""
        read: dict[str, list[tuple[Size, Size]]] = {}
        notes: dict[str, str] = {}
        for load, path in self.loads():
            read.setdefault(load.tensor.name, []).append(self._moved(load, path))
            notes[load.tensor.name] = notes.get(load.tensor.name) or part_note(load.part, self.trips)
        stored = [item for need in self.needs for item in self._stored(need)]
        for item in [item for item in stored if item.direction == "read" and item.tensor in read]:
            read[item.tensor].append((item.elements, item.bytes))  # spilled, and taken up again after its loop
        found = []
        for name, parts in read.items():
            elements, size = [total(list(column)) for column in zip(*parts, strict=True)]
            found.append(Transfer(self.kernel.name, name, "read", elements, size, notes[name]))
        return (*found, *[item for item in stored if item.direction == "write" or item.tensor not in read])

    def _moved(self, load: Load, path: Collection[str]) -> tuple[Size, Size]:
        """Elements and bytes of one load over all blocks and trips."""
        visits = self.visits_of(load.tensor)
        if visits is not None and self.by_visits(visits, path):
            again = self.times({*load.labels, *visits.labels}, path)
            elements, size = visited_cost(load, visits, self.trips)
            return product([again, elements]), product([again, size])
        label = None if visits is None else self.side(visits, path)
        if visits is not None and label is not None:
            again = self.times({*load.labels, label}, path)
            elements, size = seen_cost(load, visits, self.trips, label)
            return product([again, elements]), product([again, size])
        again = self.times(load.labels, path)
        elements, size = part_cost(load.tensor.format, load.part, self.trips)
        return product([again, elements]), product([again, size])

    def by_visits(self, visits: Visits, path: Collection[str]) -> bool:
        """Whether, at this place, masked tiles are told apart: then those without an allowed pair are skipped."""
        return visits.keys_cut is not None and set(visits.labels) <= {*self.grid, *path}

    def side(self, visits: Visits, path: Collection[str]) -> str | None:
        """The label of a mask whose tiles are told apart at this place, outside the loop over the other one's.

        A tile that sees nothing, or that nothing sees, loads nothing there.
        """
        if isinstance(visits.keys_cut, PartTiles):
            return None  # of parts, each is told apart by labels of its own
        around = {*self.grid, *path}
        here = [label for label in visits.labels if label in around]
        apart = len(visits.labels) == 2 and set(visits.labels) <= {*self.grid, *self.loops}
        return here[0] if apart and len(here) == 1 else None

    def visits_of(self, tensor: Tensor) -> Visits | None:
        """The tiles that are visited of the ops that read a tensor, where all of them have the same."""
        found = {self.visits(need) for need in self.readers.get(tensor.name, ())}
        return found.pop() if len(found) == 1 else None

    def _stored(self, need: Need) -> list[Transfer]:
        """What an op stores: each element of what leaves once; a spilled accumulator on every outer trip."""
        tensor = need.op.output.tensor
        if tensor.name not in {*self.leaving, *self.tiling.spill}:
            return []
        part = self.own(need.op)
        visits = self.stored_visits(need.op)
        if visits is not None and self.by_visits(visits, self.loops):
            elements, size = visited_cost(Load(tensor, part), visits, self.trips)
        else:
            elements, size = part_cost(tensor.format, part, self.trips)
        if tensor.name in self.tiling.spill:
            times = self._outer_trips(need)
            moved = (product([times, elements]), product([times, size]))
            return [Transfer(self.kernel.name, tensor.name, way, *moved) for way in ("read", "write")]
        if self.added(need):
            return [Transfer(self.kernel.name, tensor.name, *m) for m in moved_by_adding(self, need, (elements, size))]
        ways = ("read", "write") if tensor.name in self.updated else ("write",)
        return [Transfer(self.kernel.name, tensor.name, way, elements, size) for way in ways]

    def added(self, need: Need) -> list[str]:
        """The grid labels whose blocks add to an op's result in memory."""
        return [label for label in self.grid if label in need.op.reduced and label in need.labels]

    def keeps_mask(self, op: Op) -> bool:
        """Whether both labels of an op's mask are labels of its output."""
        return op.mask is not None and {op.mask.query, op.mask.key} <= set(op.output.tensor.labels)

    def _outer_trips(self, need: Need) -> Size:
        """Trips of the reduced loops that lie outside an inner loop of the output's own labels."""
        kept = [place for place, label in enumerate(self.loops) if label in need.op.output.index]
        outer = [label for label in self.loops[: kept[-1]] if label in need.op.reduced] if kept else []
        if not outer:
            raise TransformError(
                f"tile: {need.makes!r} cannot be spilled: no loop that it reduces lies outside a loop of its own labels"
            )
        return product([self.trips[label].count for label in outer])

    def own(self, op: Op) -> tuple[Interval, ...]:
        """A block's own part of an output that leaves: each element is some block's own."""
        tensor = op.output.tensor
        found = {}
        for label, extent in tensor.axes:
            trip = self.trips.get(label)
            found[label] = Interval.whole(extent) if trip is None else trip.tile
        if self.keeps_mask(op):
            found = within_mask(op, found, self.trips)
        return tuple(found.values())


def _walk(nodes: tuple[Node, ...], path: tuple[str, ...]) -> Iterator[tuple[Node, tuple[str, ...]]]:
    for node in nodes:
        yield node, path
        if isinstance(node, Loop):
            yield from _walk(node.body, (*path, node.label))
