"""One kernel run block by block, as its schedule says: what is on chip, what is loaded and stored, what is done.

On chip an element is either present or not; reading one that is not is an error of the schedule, never a lucky
value. What a loop trip loads or makes is gone at the next trip, save accumulators of the loop itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product as combinations
from typing import Any

from perfmodel.graph.combining import visits_added
from perfmodel.graph.counting import work
from perfmodel.graph.intervals import Interval
from perfmodel.graph.needs import Need
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.operands import Scalar
from perfmodel.graph.scattering import scatters
from perfmodel.graph.schedules import Load, Loop, Node
from perfmodel.graph.tiled import Tiled
from perfmodel.graph.visiting import Visits
from perfmodel.simulation.adding import add_in_memory, begin_sums
from perfmodel.simulation.correcting import Corrections
from perfmodel.simulation.ledgers import Counts, Ledger, Numbers, ends, slices, touched
from perfmodel.simulation.numerics import reductions
from perfmodel.simulation.points import Held, allowed_points, along, divide_mean, empty, made_of, operand
from perfmodel.simulation.rounding import Rounding


class BlockRun:
    """Runs the blocks of one kernel over arrays in memory, counting as it goes."""

    def __init__(
        self, tiled: Tiled, memory: dict[str, Any], scalars: Mapping[str, float], ledger: Ledger, level: str
    ) -> None:
        self.tiled, self.memory, self.scalars, self.ledger = tiled, memory, scalars, ledger
        self.operations = ledger.setdefault("memory", Counts()).operations
        self.counts = ledger.setdefault(level, Counts())
        self.chip: dict[str, Held] = {}
        self.watched: list[tuple[Numbers, str, Any]] = []
        self.watch: frozenset[str] = frozenset()
        self.rounding = Rounding()
        self.stored: set[Any] = set()
        self.corrections = Corrections(tiled, self.operations)
        self.unsettled: set[str] = set()  # made with a maximum that still moves: not what is to be stored
        self.visits = {need.makes: tiled.visits(need) for need in tiled.needs}
        self.stored_visits = {need.makes: tiled.stored_visits(need.op) for need in tiled.needs}
        self.added = {need.makes: tiled.added(need) for need in tiled.needs}
        self.added_visits = {need.makes: visits_added(tiled, need) for need in tiled.needs}
        self.read_visits = {load.tensor.name: tiled.visits_of(load.tensor) for load, _ in tiled.loads()}

    def run(self) -> None:
        """Every block in turn."""
        trips = self.tiled.trips
        begin_sums(self)
        for numbers in combinations(*[range(int(trips[label].count)) for label in self.tiled.grid]):
            self.chip = {}
            at = dict(zip(self.tiled.grid, numbers, strict=True))
            for load in self.tiled.schedule.loads:
                self._load(load, at, ())
            self._nodes(self.tiled.schedule.body, at, ())

    def _nodes(self, nodes: tuple[Node, ...], at: Numbers, path: tuple[str, ...]) -> None:
        run: list[Need] = []
        for node in nodes:
            if isinstance(node, Loop):
                self._ops(run, at, path)
                run = []
                self._loop(node, at, path)
            else:
                run.append(node)
        self._ops(run, at, path)

    def _ops(self, needs: list[Need], at: Numbers, path: tuple[str, ...]) -> None:
        """Ops that follow each other without a loop between them."""
        for need in needs:
            self._op(need, at, path)
            if not self._loops_reduced(need, path):
                self._finish(need, at)
                self._store(need, at)

    def _loop(self, loop: Loop, at: Numbers, path: tuple[str, ...]) -> None:
        inside = list(_needs(loop.body))
        around = (*path, loop.label)
        made = {need.makes for need in inside}
        settled, self.unsettled = self.unsettled, self.unsettled | self._moved(loop.label, made)
        active = self.corrections.active
        self.corrections.active = active | self.corrections.within(loop.label, made)
        for need in inside:
            if not self._loops_reduced(need, path):
                self.chip.pop(need.makes, None)
        for number in range(int(self.tiled.trips[loop.label].count)):
            here = {**at, loop.label: number}
            for need in inside:
                if not self._loops_reduced(need, around):
                    self.chip.pop(need.makes, None)
            for load in loop.loads:
                self._load(load, here, around)
            self._nodes(loop.body, here, around)
        self.unsettled, self.corrections.active = settled, active
        for need in inside:
            if self._loops_reduced(need, around)[:1] == [loop.label]:
                self._finish(need, at | {loop.label: 0})
                self._store(need, at)

    def _moved(self, label: str, made: set[str]) -> set[str]:
        """What the trips of a loop make with a maximum that they move."""
        running = self.tiled.running.get(label)
        return set() if running is None else running.unsettled(made)

    def _loops_reduced(self, need: Need, path: tuple[str, ...]) -> list[str]:
        return [label for label in path if label in need.op.reduced]

    def _load(self, load: Load, at: Numbers, path: tuple[str, ...]) -> None:
        """Bring a part of a tensor in; a part is skipped where no allowed pair needs it."""
        import numpy as np

        name = load.tensor.name
        if self._skipped(self.read_visits[name], at) or self._unseen(self.read_visits[name], at, path):
            return
        if load.by:
            table = self.memory[name]
            self.chip[f"{name}[{', '.join(load.by)}]"] = Held(table, np.ones(table.shape, dtype=bool))
            self.counts.loads[name] += int(np.prod([hi - lo for lo, hi in ends(load.part, at)]))
            return
        where = np.ix_(*[touched(interval, at) for interval in load.part])
        held = Held(np.full(self.memory[name].shape, np.nan), np.zeros(self.memory[name].shape, dtype=bool))
        held.values[where] = self.memory[name][where]
        held.present[where] = True
        self.counts.loads[name] += int(held.values[where].size)
        self.chip[name] = held

    def _skipped(self, visits: Visits | None, at: Numbers) -> bool:
        """Whether the tile that these numbers name holds no allowed pair."""
        return visits is not None and visits.skips(at)

    def _unseen(self, visits: Visits | None, at: Numbers, path: tuple[str, ...]) -> bool:
        """Whether no key is seen in this tile of rows, or this tile of keys by no row."""
        label = None if visits is None else self.tiled.side(visits, path)
        return visits is not None and label is not None and visits.hides(label, at[label])

    def _op(self, need: Need, at: Numbers, path: tuple[str, ...]) -> None:
        import numpy as np

        op = need.op
        name = op.output.tensor.name
        inside = dict(zip(need.space, ends(tuple(need.space.values()), at), strict=True))
        kept = [slice(*inside[label]) for label in op.output.tensor.labels if label in inside]
        where = tuple([slice(None)] * len(op.output.index) if scatters(op) else kept)
        part = slices(need.output, at)
        self._prepare(need, part, at, path)
        places = {label: np.arange(lo, hi) for label, (lo, hi) in inside.items()}
        visited = not self._skipped(self.visits[name], at)
        before = self.corrections.begin(need, part, where, self.chip[name].values, visited=visited)
        if visited and all(len(found) for found in places.values()):
            order = list(need.space)
            shape = tuple([len(places[label]) for label in order])
            grid = {label: along(found, order.index(label), len(order)) for label, found in places.items()}
            allowed = allowed_points(op, grid, shape)
            self._count(op, int(np.prod(shape)) if allowed is None else int(allowed.sum()))
            operands = [operand(item, grid, shape, self.chip, self.scalars) for item in op.inputs]
            with np.errstate(all="ignore"):
                operands = [self._operand(op, *pair) for pair in zip(op.inputs, operands, strict=True)]
                self._combine(op, where, made_of(op, operands, allowed, grid, order, self.chip))
        if visited:
            self.corrections.moved(name, where, before, self.chip[name].values[where])
        self._conclude(need, where, at, path)

    def _conclude(self, need: Need, where: Any, at: Numbers, path: tuple[str, ...]) -> None:
        """A spilled sum goes back to memory: the next outer trip reads it again, the last one completes it."""
        name = need.makes
        if name in self.tiled.tiling.spill:
            if all(at[label] == self.tiled.trips[label].count - 1 for label in self._loops_reduced(need, path)):
                self._complete_mean(need, where)
            self._spill(need.op.output.tensor, where)
        if name in self.watch:
            self.watched.append((dict(at), name, self.chip[name].values[where].copy()))

    def _prepare(self, need: Need, where: Any, at: Numbers, path: tuple[str, ...]) -> None:
        """Make room for what an op computes; an accumulator starts from its identity on its first trip."""
        import numpy as np

        op = need.op
        name, shape = op.output.tensor.name, tuple([int(extent) for extent in op.output.tensor.extents])
        if name not in self.chip:
            self.chip[name] = Held(np.full(shape, np.nan), np.zeros(shape, dtype=bool))
        held = self.chip[name]
        first = all(at[label] == 0 for label in self._loops_reduced(need, path))
        if first:
            held.values[where] = reductions()[op.function][1] if op.kind in ("reduce", "contract") else 0.0
            empty(op, held.values)
        if name in self.tiled.tiling.spill:
            held.present[:] = False
        held.present[where] = True
        if name in self.tiled.tiling.spill:
            self._take_up(name, where, known=name in self.tiled.updated or not first)
        elif name in self.tiled.updated and first and not self._left_out(op.output.tensor, at):
            self._take_up(name, self._complete(self.tiled.own(op), op.output.tensor, at), known=True)

    def _take_up(self, name: str, where: Any, *, known: bool) -> None:
        """Read a sum that an earlier trip, or an earlier outer tile, has begun."""
        held = self.chip[name].values
        self.counts.loads[name] += int(held[where].size)
        if known:
            held[where] = self.memory[name][where]

    def _spill(self, tensor: Tensor, where: Any) -> None:
        import numpy as np

        held = self.chip[tensor.name].values
        memory = self.memory.setdefault(tensor.name, np.full(held.shape, np.nan))
        memory[where] = self.rounding.stored(held[where], tensor.format)
        self.counts.stores[tensor.name] += int(held[where].size)

    def _combine(self, op: Op, where: Any, result: Any) -> None:
        held = self.chip[op.output.tensor.name].values
        if op.kind in ("reduce", "contract"):
            result = reductions()[op.function][0](held[where], result)
        held[where] = self.rounding.result(result, op)

    def _operand(self, op: Op, item: Access | Scalar, values: Any) -> Any:
        """An operand in the compute format; a number is taken as it is written."""
        return values if isinstance(item, Scalar) else self.rounding.operand(values, op)

    def _count(self, op: Op, points: int) -> None:
        for item in work(op, points, results=0):
            self.operations[item.unit] += int(item.operations)

    def _finish(self, need: Need, at: Numbers) -> None:
        """What is left to do when a reduction is complete: a mean divides by its points, a result is stored."""
        tensor = need.op.output.tensor
        if tensor.name in self.tiled.tiling.spill or tensor.name in self.tiled.updated or self.added[tensor.name]:
            return
        if need.op.function == "mean" or self.rounding.on:
            where = self._complete(need.output, tensor, at)
            self._complete_mean(need, where)
            held = self.chip[tensor.name].values
            held[where] = self.rounding.stored(held[where], tensor.format)

    def _complete_mean(self, need: Need, where: Any) -> None:
        if need.op.function != "mean" or need.makes in self.tiled.updated:
            return
        self.operations["vector"] += divide_mean(need.op, self.chip[need.makes].values, where)

    def _complete(self, part: tuple[Interval, ...], tensor: Tensor, at: Numbers) -> tuple[slice, ...]:
        """A part as slices; an axis that an inner, finished loop moves is there in full."""
        known = set(at)
        whole = [Interval.whole(axis.extent) for axis in tensor.axes]
        found = [mine if set(mine.labels) <= known else full for mine, full in zip(part, whole, strict=True)]
        return slices(tuple(found), at)

    def _store(self, need: Need, at: Numbers) -> None:
        """Write a block's own part of what leaves; blocks that only repeat it do not."""
        import numpy as np

        tensor = need.op.output.tensor
        if tensor.name not in self.tiled.leaving - self.unsettled or tensor.name in self.tiled.tiling.spill:
            return
        mask = need.op.mask
        if mask is not None and self.tiled.keeps_mask(need.op):
            for label in (mask.query, mask.key):
                if label in self.tiled.trips and label not in at:  # held whole by inner loops: tile by tile
                    for number in range(int(self.tiled.trips[label].count)):
                        self._store(need, {**at, label: number})
                    return
        if self._left_out(tensor, at):
            return
        where = self._complete(self.tiled.own(need.op), tensor, at)
        added = [at[label] for label in self.added[tensor.name]]
        part = (tensor.name, *added, *[(place.start, place.stop) for place in where])
        if part in self.stored:  # computed again in a later pass: it was written in the first
            return
        self.stored.add(part)
        if tensor.name not in self.memory:
            empty = 0.0 if need.op.mask is not None else np.nan  # tiles without an allowed pair stay empty
            self.memory[tensor.name] = np.full(tuple([int(extent) for extent in tensor.extents]), empty)
        held = self.chip[tensor.name]
        values = np.where(held.present[where], held.values[where], 0.0)
        if added and tensor.name not in self.tiled.updated:
            values = add_in_memory(self, need.op, where, values, first=not any(added))
        self.memory[tensor.name][where] = values
        self.counts.stores[tensor.name] += int(values.size)

    def _left_out(self, tensor: Tensor, at: Numbers) -> bool:
        """Whether this part is not stored here: no pair is allowed in it, or another block makes it first."""
        cut = [label for label in self.tiled.trips if label not in (*tensor.labels, *self.added[tensor.name])]
        visits = (self.stored_visits[tensor.name], self.added_visits[tensor.name])
        return any(self._skipped(found, at) for found in visits) or any(at.get(label) for label in cut)


def _needs(nodes: tuple[Node, ...]) -> Iterator[Need]:
    for node in nodes:
        if isinstance(node, Loop):
            yield from _needs(node.body)
        else:
            yield node
