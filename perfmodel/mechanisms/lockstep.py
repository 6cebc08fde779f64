"""Warps that go through branching work: their steps by sums over lanes, and by running each step of each warp.

A step that is issued for a warp takes all of its lanes; the useful ones are those of the threads that wanted it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from perfmodel.errors import CapacityError
from perfmodel.mechanisms.branching import Branch, Loop, Sequence, Work
from perfmodel.mechanisms.warps import Lanes, Launch

_LARGEST = 2**62
_MOST_VISITS = 4_000  # branches and turns of nested loops, each over all lanes of a piece
_MOST_LANES = 2**26  # lanes of all visits together: about two seconds


@dataclass
class Tally:
    """Warp-steps issued, of those the ones that every thread of the warp takes part in, and useful lane-steps.

    ``split`` are the warps whose threads disagreed at a branch, or on the turns of a loop.

    >>> Tally(2, 1, 40, 1) == Tally(2, 1, 40, 1)
    True
    """

    issued: int = 0
    uniform: int = 0
    useful: int = 0
    split: int = 0

    def add(self, other: Tally) -> None:
        """Count another one in.

        >>> tally = Tally(1)
        >>> tally.add(Tally(2)); tally.issued
        3
        """
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


def summed(work: Work, launch: Launch) -> Tally:
    """The tally by sums: a branch costs a warp each side that any of its threads takes, a loop its longest thread.

    >>> from perfmodel.mechanisms.branching import work_of
    >>> from perfmodel.mechanisms.warps import launch
    >>> summed(work_of("t % 2 == 0", (10, 10), launch(128)), launch(128))
    Tally(issued=80, uniform=0, useful=1280, split=4)
    """
    found, left = Tally(), _MOST_LANES
    for lanes in launch.pieces():
        sums = _Sums(lanes, left)
        found.add(sums.tally(work))
        left = sums.left
    return found


class _Sums:
    """The sums over some warps at once."""

    def __init__(self, lanes: Lanes, left: int) -> None:
        import numpy as np

        self.np, self.lanes, self.left = np, lanes, left
        self.present = np.broadcast_to(lanes.present, lanes.shape)
        self.found, self.visits = Tally(), 0
        self.split = np.zeros(lanes.shape[0], dtype=bool)

    def tally(self, work: Work) -> Tally:
        self.go(work, self.present, self.np.ones(self.lanes.shape[0], dtype=self.np.int64))
        self.found.split = int(self.split.sum())
        return self.found

    def go(self, work: Work, active: Any, turns: Any) -> None:
        """Work done by the active lanes of each warp, ``turns`` times by each warp."""
        self.visits, self.left = self.visits + 1, self.left - self.present.size
        if self.visits > _MOST_VISITS or self.left < 0:
            raise CapacityError(
                "divergence: too many threads, or loops nested too deeply, to be summed; fewer threads show the same "
                "pattern, and a loop whose body is a plain number of steps is quick"
            )
        if not active.any():
            return
        match work:
            case Branch():
                held = active & (work.condition.over(self.lanes, active) != 0)
                self.split |= held.any(1) & (held != active).any(1)
                self.go(work.then, held, turns)
                self.go(work.other, active & ~held, turns)
            case Loop():
                self.loop(work, active, turns)
            case Sequence():
                for part in work.parts:
                    self.go(part, active, turns)
            case int():
                self.steps(work, active, turns)

    def loop(self, work: Loop, active: Any, turns: Any) -> None:
        """A warp's turns fall into at most as many stretches as it has lanes, each with the same lanes active."""
        np = self.np
        trips = np.where(active, np.maximum(work.trips.over(self.lanes, active), 0), 0)
        self.split |= (np.where(active, trips, 0).max(1) != np.where(active, trips, _LARGEST).min(1)) & active.any(1)
        if isinstance(work.body, int):
            self.plain_loop(work.body, trips, active, turns)
            return
        before = np.zeros(self.lanes.shape[0], dtype=np.int64)
        for reached in np.sort(trips, axis=1).T:
            longer = reached - before
            if longer.any():
                self.go(
                    work.body, active & (trips >= reached[:, None]) & (longer > 0)[:, None], self.times(turns, longer)
                )
            before = reached

    def plain_loop(self, steps: int, trips: Any, active: Any, turns: Any) -> None:
        """A body without branches: the longest thread's turns are issued, the shortest one's are all threads'."""
        each = self.times(turns, self.np.full_like(turns, steps))
        every = (active == self.present).all(1)
        shortest = self.np.where(self.present, trips, _LARGEST).min(1)
        self.found.issued += int(self.times(each, trips.max(1)).sum())
        self.found.uniform += int((each * self.np.where(every, shortest, 0)).sum())
        self.found.useful += int((each * trips.sum(1)).sum())

    def times(self, first: Any, second: Any) -> Any:
        """A product that stays exact."""
        if int(first.max()) * int(second.max()) * self.present.size > _LARGEST:
            raise CapacityError("divergence: more than 2^62 steps")
        return first * second

    def steps(self, count: int, active: Any, turns: Any) -> None:
        running = active.any(1)
        each = self.times(turns, self.np.full_like(turns, count)) * running
        self.found.issued += int(each.sum())
        self.found.uniform += int((each * (active == self.present).all(1)).sum())
        self.found.useful += int((each * active.sum(1)).sum())


def stepped(work: Work, launch: Launch) -> Tally:
    """The tally by running every warp step by step, with the set of threads that are active.

    >>> from perfmodel.mechanisms.branching import work_of
    >>> from perfmodel.mechanisms.warps import launch
    >>> stepped(work_of("t < 100", (10, 10), launch(128)), launch(128))
    Tally(issued=50, uniform=30, useful=1280, split=1)
    """
    found = Tally()
    for first in range(launch.warps):
        found.add(_Warp(Lanes(launch, first, first + 1)).tally(work))
    return found


class _Warp:
    """One warp: a program counter for all of its threads, and who is active."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes, self.found = lanes, Tally()
        self.threads = frozenset(lane for lane, present in enumerate(lanes.present[0].tolist()) if present)

    def tally(self, work: Work) -> Tally:
        self.run(work, self.threads)
        self.found.split = min(self.found.split, 1)
        return self.found

    def run(self, work: Work, active: frozenset[int]) -> None:
        if not active:
            return
        match work:
            case Branch():
                values = work.condition.over(self.lanes, self._mask(active))[0].tolist()
                taken = frozenset(lane for lane in active if values[lane])
                self.found.split += 0 < len(taken) < len(active)
                self.run(work.then, taken)
                self.run(work.other, active - taken)
            case Loop():
                self._turns(work, active)
            case Sequence():
                for part in work.parts:
                    self.run(part, active)
            case int():
                for _ in range(work):
                    self._issue(active)

    def _turns(self, work: Loop, active: frozenset[int]) -> None:
        trips = work.trips.over(self.lanes, self._mask(active))[0].tolist()
        turn = 0
        while inside := frozenset(lane for lane in active if turn < trips[lane]):
            self.found.split += len(inside) < len(active)
            self.run(work.body, inside)
            turn += 1

    def _issue(self, active: frozenset[int]) -> None:
        self.found.issued += 1
        self.found.uniform += active == self.threads
        self.found.useful += len(active)

    def _mask(self, active: frozenset[int]) -> Any:
        import numpy as np

        return np.array([[lane in active for lane in range(self.lanes.shape[1])]])
