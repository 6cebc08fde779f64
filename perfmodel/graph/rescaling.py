"""What it costs to use a maximum while it still moves: its sums are multiplied by exp(old - new) on every trip.

On each trip of the loop, the first included, each result of the maximum costs a subtraction and an exponential, and
each element of a sum that follows it a multiplication. Under a mask these are the trips whose tile is visited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfmodel.errors import TransformError
from perfmodel.expressions import Size, product
from perfmodel.graph.counting import Work
from perfmodel.graph.needs import Need
from perfmodel.graph.schedules import Load, Loop, Node
from perfmodel.graph.sums import lengths_sum
from perfmodel.graph.visited import visited_cost

if TYPE_CHECKING:
    from perfmodel.graph.tiled import Tiled

_Run = tuple[Need, tuple[str, ...]]  # an op, and the loops around it


@dataclass(frozen=True)
class Rescaling:
    """A maximum that moves, and the sums that follow it, each with the loops around it.

    >>> from perfmodel import fuse, online, softmax, tile
    >>> p = tile(online(fuse(softmax(4, 8)), "n"), grid={"m": 2}, stream={"n": 4})
    >>> found, = p.counted[0].tiled.rescalings
    >>> found.name, [need.op.name for need, _ in found.sums]
    ('max', ['sum'])
    """

    maximum: _Run
    sums: tuple[_Run, ...]

    @property
    def name(self) -> str:
        """The maximum's tensor."""
        return self.maximum[0].makes


def rescalings_of(tiled: Tiled) -> list[Rescaling]:
    """The maxima of a kernel that are used in the loop that moves them.

    >>> from perfmodel import fuse, softmax, tile
    >>> rescalings_of(tile(fuse(softmax(4, 8)), stream={"n": 4}).counted[0].tiled)  # not online: it waits
    []
    """
    runs = list(_runs(tiled.schedule.body, (), ()))
    followed: dict[str, set[str]] = {}
    for running in tiled.running.values():
        for name, by in running.corrected.items():
            followed.setdefault(by, set()).add(name)
    found = []
    for need, path, nodes in runs:
        names = followed.get(need.makes, set())
        moving = [node for label, node in zip(path, nodes, strict=True) if label in need.op.reduced]
        carried = need.makes in tiled.updated
        sums = [
            (other, around)
            for other, around, within in runs
            if other.makes in names and (carried or (moving and moving[0] in within))
        ]
        if sums:
            found.append(Rescaling((need, path), tuple(sums)))
            _check(tiled, found[-1])
    return found


def _runs(
    nodes: tuple[Node, ...], path: tuple[str, ...], around: tuple[int, ...]
) -> Sequence[tuple[Need, tuple[str, ...], tuple[int, ...]]]:
    """Each place where an op runs: the labels of the loops around it, and which loops they are."""
    found: list[tuple[Need, tuple[str, ...], tuple[int, ...]]] = []
    for node in nodes:
        if isinstance(node, Loop):
            found += _runs(node.body, (*path, node.label), (*around, id(node)))
        else:
            found.append((node, path, around))
    return found


def _check(tiled: Tiled, found: Rescaling) -> None:
    """Refuse an order in which a sum would not meet each move of its maximum exactly once."""
    need, path = found.maximum
    trips = [label for label in path if label in need.op.reduced]
    stray = [label for label in trips if label not in tiled.kernel.online]
    if stray:
        raise TransformError(
            f"online: {need.op.name!r} is reduced over {stray[0]!r} too, which is streamed: online(p, {stray[0]!r}) as "
            "well, or leave it whole"
        )
    carried = found.name in tiled.updated
    around = (*tiled.grid, *path) if carried else path[path.index(trips[0]) :]
    again = [label for label in around if label not in need.labels]
    if again:
        raise TransformError(
            f"online: {need.op.name!r} would run again for each tile of {again[0]!r} inside the loop that moves it; "
            f"stream {again[0]!r} outside that loop, or leave it whole"
        )
    for other, loops in found.sums:
        if [label for label in loops if label in other.op.reduced] != trips:
            raise TransformError(
                f"online: {other.op.name!r} and {need.op.name!r}, whose moves it follows, are reduced by other loops: "
                f"stream only {need.op.reduced[0]!r} of what they reduce"
            )


def rescaled_work(tiled: Tiled, *, issued: bool) -> list[Work]:
    """The operations of every rescaling over all blocks and trips.

    >>> from perfmodel import fuse, online, softmax, tile
    >>> p = tile(online(fuse(softmax(4, 8)), "n"), grid={"m": 2}, stream={"n": 4})
    >>> [(w.unit, w.operations) for w in rescaled_work(p.counted[0].tiled, issued=False)]  # 4 rows x 2 trips each
    [('vector', 8), ('special', 8), ('vector', 8)]
    """
    found = []
    for item in tiled.rescalings:
        need, path = item.maximum
        op, moves = need.op, _elements(tiled, need, path, issued=issued)
        found += [Work(unit, op.compute, op.accumulate, moves) for unit in ("vector", "special")]
        for other, loops in item.sums:
            elements = _elements(tiled, other, loops, issued=issued)
            found.append(Work("vector", other.op.compute, other.op.accumulate, elements))
    return found


def _elements(tiled: Tiled, need: Need, path: tuple[str, ...], *, issued: bool) -> Size:
    """The elements of a running result over all blocks and trips: whole tiles, where they are issued."""
    tensor = need.op.output.tensor
    if issued:
        return tiled.issued_points(need, path, tensor.labels)
    part = tuple([need.space[label] for label in tensor.labels])
    visits = tiled.visits(need)
    load = Load(tensor, part)
    if visits is not None and tiled.by_visits(visits, path):
        elements, _ = visited_cost(load, visits, tiled.trips)
        return product([tiled.times({*load.labels, *visits.labels}, path), elements])
    return product([tiled.times(load.labels, path), lengths_sum(part, tiled.trips)])
