"""The order of work in one block of a tiled kernel: loads, loops, ops, pass by pass.

Streamed loops nest in the order given. A tensor is loaded at the innermost loop that moves what is read of it,
and again on each trip of the loops outside; what no loop moves is loaded once a block. An op runs inside the
loops down to the innermost one that moves it. Where an op inside a loop needs a reduction over that loop, the
loop runs again: another pass, in which what is not kept is loaded and computed again. Where the kernel is online
for the label, a shift by a running maximum takes it as it stands, and sums of what is made of it need no second pass.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from perfmodel.errors import TransformError
from perfmodel.graph.indexing import Gathered
from perfmodel.graph.intervals import Interval
from perfmodel.graph.needs import Need, joined_parts
from perfmodel.graph.nodes import Access, Tensor
from perfmodel.graph.running import Running


@dataclass(frozen=True, slots=True)
class Load:
    """A part of a tensor brought in: an interval an axis, or, for a gather, an interval a label of its look-ups.

    >>> Load(None, (Interval.whole(4),)).labels
    ()
    """

    tensor: Tensor
    part: tuple[Interval, ...]
    by: tuple[str, ...] = ()  # the tensors that name the look-ups

    @property
    def labels(self) -> tuple[str, ...]:
        """The cut labels that move the part.

        >>> Load(None, (Interval.tile("m", 2, 4), Interval.whole(4))).labels
        ('m',)
        """
        return tuple(dict.fromkeys([label for interval in self.part for label in interval.labels]))


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop over the tiles of a label: what each trip loads, then what it runs.

    >>> Loop("k", (), ()).label
    'k'
    """

    label: str
    loads: tuple[Load, ...]
    body: tuple[Node, ...]


Node: TypeAlias = "Loop | Need"


@dataclass(frozen=True, slots=True)
class Schedule:
    """One block: what it loads once, then its loops and ops.

    >>> Schedule((), ()).body
    ()
    """

    loads: tuple[Load, ...]
    body: tuple[Node, ...]


def schedule_of(
    needs: Sequence[Need],
    loops: Sequence[str],
    leaving: Collection[str],
    running: Mapping[str, Running] | None = None,
    spilled: Collection[str] = (),
) -> Schedule:
    """The schedule of a kernel's ops, given what each needs and the streamed labels, outermost first.

    ``running`` says, of the labels that are online, which values take a maximum as it stands. What is ``spilled`` and
    read in another loop than the one that makes it is loaded there.

    >>> from perfmodel import fuse, softmax
    >>> from perfmodel.graph.needs import needs_of
    >>> from perfmodel.graph.tilings import Tiling
    >>> kernel = fuse(softmax(8, 64)).kernels[0]
    >>> needs = needs_of(kernel, Tiling(stream=(("n", 16),)), ["y"])
    >>> [node.label for node in schedule_of(needs, ["n"], ["y"]).body]  # the maximum, the sum, the quotient
    ['n', 'n', 'n']
    """
    loads = loads_of(needs)
    body = _Builder(loads, frozenset(leaving), running or {}, frozenset(spilled)).build(list(needs), list(loops))
    _check_added_once(body, ())
    _check_taken_up(body, {need.makes: _innermost(need, loops) for need in needs if need.makes in spilled}, set())
    return Schedule(_placed(loads, needs, None, loops), body)


def _check_added_once(nodes: Sequence[Node], path: tuple[str, ...]) -> None:
    """Refuse an order in which a loop inside the one that is reduced would add to the same results again.

    The same value twice changes no maximum and no minimum.
    """
    for node in nodes:
        if isinstance(node, Loop):
            _check_added_once(node.body, (*path, node.label))
        elif node.op.function not in ("max", "min"):
            places = [place for place, label in enumerate(path) if label in node.op.reduced]
            inner = path[places[0] + 1 :] if places else ()
            for label in inner:
                if label not in node.op.reduced and not any(part.disjoint(label) for part in node.output):
                    raise TransformError(
                        f"tile: {node.op.name!r} sums over {path[places[0]]!r}, and each trip of {label!r} inside "
                        f"that loop would add to the same results again; stream {label!r} outside {path[places[0]]!r}"
                    )


def loads_of(needs: Sequence[Need]) -> list[Load]:
    """One load for each tensor from outside: the hull of what the ops read of it; look-ups of a gather apart.

    >>> from perfmodel import matmul
    >>> from perfmodel.graph.needs import needs_of
    >>> from perfmodel.graph.tilings import Tiling
    >>> [load.tensor.name for load in loads_of(needs_of(matmul(4, 4, 4).kernels[0], Tiling(), ["C"]))]
    ['A', 'B']
    """
    made = {need.makes for need in needs}
    parts: dict[str, list[tuple[Interval, ...]]] = {}
    tensors: dict[str, Tensor] = {}
    lookups: dict[Load, None] = {}
    for need in needs:
        for access in need.op.reads:
            name = access.tensor.name
            if name in made:
                continue
            tensors[name] = access.tensor
            looked_up = need.looked_up(access)
            if looked_up is None:
                parts.setdefault(name, []).append(need.reads(access))
            else:
                lookups[Load(access.tensor, looked_up, looked_up_by(access))] = None
    plain = {name: Load(tensors[name], joined_parts(found, tensors[name])) for name, found in parts.items()}
    order = list(tensors)
    found = [*plain.values(), *lookups]
    return sorted(found, key=lambda load: order.index(load.tensor.name))


def looked_up_by(access: Access) -> tuple[str, ...]:
    """By which index which axes of a tensor are looked up: the same rows, or others.

    >>> from perfmodel import embedding
    >>> looked_up_by(embedding(8, 100, 4).kernels[0].ops[0].reads[0])
    ('vocabulary by ids',)
    """
    pairs = zip(access.tensor.axes, access.index, strict=True)
    return tuple([f"{axis.label} by {index.by}" for axis, index in pairs if isinstance(index, Gathered)])


def _placed(loads: Sequence[Load], needs: Sequence[Need], loop: str | None, loops: Sequence[str]) -> tuple[Load, ...]:
    """The loads that these ops need and that belong to this loop (None: once a block)."""
    read = {access.tensor.name for need in needs for access in need.op.reads}
    found = []
    for load in loads:
        moving = [label for label in loops if label in load.labels]
        if load.tensor.name in read and (moving[-1] if moving else None) == loop:
            found.append(load)
    return tuple(found)


def _taken_up(needs: Sequence[Need], spilled: Collection[str], loop: str, loops: Sequence[str]) -> list[Load]:
    """Loads of spilled results that these ops read and another loop has made."""
    made = {need.makes for need in needs}
    tensors = {a.tensor.name: a.tensor for need in needs for a in need.op.reads if a.tensor.name in spilled}
    found = []
    for name, tensor in tensors.items():
        if name in made:
            continue
        parts = [need.reads(access) for need in needs for access in need.op.reads if access.tensor.name == name]
        load = Load(tensor, joined_parts(parts, tensor))
        if [label for label in loops if label in load.labels][-1:] == [loop]:
            found.append(load)
    return found


def _innermost(need: Need, loops: Sequence[str]) -> str:
    """The innermost loop over a label of what an op makes: a spilled result is on chip for one trip of it."""
    return [label for label in loops if label in need.op.output.index][-1:][0]


def _check_taken_up(nodes: Sequence[Node], spilled: Mapping[str, str], there: set[str]) -> None:
    """Refuse to spill what is read where no loop holds or loads a part of it."""
    for node in nodes:
        if isinstance(node, Loop):
            made = {name for name in _made_in(node.body) if spilled.get(name) == node.label}
            _check_taken_up(node.body, spilled, there | made | {load.tensor.name for load in node.loads})
            continue
        for name in _read(node):
            if name in spilled and name not in there:
                raise TransformError(
                    f"tile: {name!r} cannot be spilled: {node.op.name!r} reads it outside the loop over "
                    f"{spilled[name]!r} that would load it; let it be held"
                )


def _made_in(nodes: Sequence[Node]) -> set[str]:
    """What ops inside a loop make."""
    inner = [_made_in(node.body) if isinstance(node, Loop) else {node.makes} for node in nodes]
    return set().union(*inner)


class _Builder:
    """Builds the nest of loops from outside in."""

    def __init__(
        self, loads: Sequence[Load], leaving: frozenset[str], running: Mapping[str, Running], spilled: frozenset[str]
    ) -> None:
        self.loads, self.leaving, self.running, self.spilled = loads, leaving, running, spilled

    def build(self, needs: list[Need], loops: list[str]) -> tuple[Node, ...]:
        if not loops:
            return tuple(needs)
        label, rest = loops[0], loops[1:]
        inside = {need.makes for need in needs if set(need.labels) & set(loops)}
        when = self._passes(needs, label, inside)
        nodes: list[Node] = []
        for number in range(1, max(when.values(), default=0) + 1):
            nodes += [need for need in needs if need.makes not in inside and when[need.makes] == number]
            body = self._pass(needs, label, inside, when, number)
            if not any(label in need.labels for need in body):  # what no trip moves runs once
                nodes += self.build(body, rest)
            else:
                loads = (*_placed(self.loads, body, label, loops), *_taken_up(body, self.spilled, label, loops))
                nodes.append(Loop(label, loads, self.build(body, rest)))
        return tuple(nodes)

    def _passes(self, needs: list[Need], label: str, inside: set[str]) -> dict[str, int]:
        """In which pass over the loop each op can first run (an op outside: before which pass).

        A reduction may begin as soon as values are there as they stand; others need them complete.
        """
        by_name = {need.makes: need for need in needs}
        running = self.running.get(label)
        when: dict[str, int] = {}
        standing: dict[str, int] = {}
        for need in needs:
            name, first, early = need.makes, 1, 1
            for source in [by_name[read] for read in _read(need) if read in by_name]:
                other = source.makes
                waits = other in inside and (name not in inside or _reduces(source, label))
                follows = waits and name in inside and running is not None and running.follows(name, other)
                first = max(first, when[other] + waits)
                early = max(early, standing[other] + (waits and not follows))
            standing[name] = early
            when[name] = early if _reduces(need, label) else first
        return when

    def _pass(self, needs: list[Need], label: str, inside: set[str], when: dict[str, int], number: int) -> list[Need]:
        """The ops of one pass: those that end in it, and what they need computed again."""
        readers: dict[str, set[str]] = {}
        for need in needs:
            for access in need.op.reads:
                readers.setdefault(access.tensor.name, set()).add(need.makes)
        wanted: set[str] = set()
        for need in reversed(needs):
            name = need.makes
            if name not in inside:
                continue
            ends = _reduces(need, label) or name in self.leaving or bool(readers.get(name, set()) - inside)
            ends = ends or not readers.get(name)
            used = not _reduces(need, label) and bool(readers.get(name, set()) & wanted)
            if (ends and when[name] == number) or used:
                wanted.add(name)
        return [need for need in needs if need.makes in wanted]


def _read(need: Need) -> list[str]:
    return [access.tensor.name for access in need.op.reads]


def _reduces(need: Need, label: str) -> bool:
    """Whether its result is complete only after the loop over the label."""
    return label in need.op.reduced and label in need.labels
