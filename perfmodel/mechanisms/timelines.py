"""Blocks on slots, event by event: when each starts, where, and when the last is done."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from perfmodel.errors import CapacityError, DimensionError
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.given_values import in_order, positive_number
from perfmodel.mechanisms.wording import number, part_of_all

MOST_EVENTS = 2**20


class Span(NamedTuple):
    """One block's stay on a slot.

    >>> Span(0, 3, 1, 2).end
    2
    """

    block: int
    slot: int
    start: Any
    end: Any


@dataclass(frozen=True, slots=True, repr=False)
class Timeline(Answer):
    """What ran where and when, on so many slots.

    >>> run_blocks([1] * 5, slots=2)
    timeline of 5 blocks on 2 slots
    # the last ends at 3; slots are busy 83 % of it; the tail is 1
    """

    slots: int
    spans: tuple[Span, ...]

    @property
    def makespan(self) -> Any:
        """When the last block ends.

        >>> run_blocks([3, 1, 1], slots=2).makespan
        3
        """
        return max(span.end for span in self.spans)

    @property
    def busy(self) -> Any:
        """Slot-time in use.

        >>> run_blocks([3, 1, 1], slots=2).busy == 3 + 1 + 1
        True
        """
        return sum(span.end - span.start for span in self.spans)

    @property
    def fill(self) -> float:
        """The share of the slots' time that is in use.

        >>> run_blocks([1] * 5, slots=2).fill == 5 / (3 * 2)
        True
        """
        return float(self.busy / (self.makespan * self.slots))

    @property
    def tail(self) -> Any:
        """From when the first slot has run out of blocks to the end.

        >>> run_blocks([3, 1, 1], slots=2).tail
        1
        """
        ends: dict[int, Any] = {}
        for span in self.spans:
            ends[span.slot] = max(ends.get(span.slot, 0), span.end)
        return self.makespan - (min(ends.values()) if len(ends) == self.slots else 0)

    @property
    def made(self) -> str:
        return f"timeline of {len(self.spans)} blocks on {self.slots} slots"

    def comments(self) -> list[str]:
        busy = f"slots are busy {part_of_all(self.fill)} of it; the tail is {number(self.tail)}"
        return [f"the last ends at {number(self.makespan)}; {busy}"]

    def working(self) -> list[str]:
        """The stays of each slot, in order.

        >>> run_blocks([3, 1, 1], slots=2).explain()
        timeline of 3 blocks on 2 slots
          slot 0  block 0 from 0 to 3
          slot 1  block 1 from 0 to 1, block 2 from 1 to 2
        """
        rows: dict[int, list[str]] = {}
        for span in self.spans:
            rows.setdefault(span.slot, []).append(f"block {span.block} from {number(span.start)} to {number(span.end)}")
        return [f"slot {slot}  {', '.join(found)}" for slot, found in sorted(rows.items())]


def run_blocks(durations: Iterable[Any], slots: int) -> Timeline:
    """Blocks in order, each on the slot that is free first (list scheduling, as a GPU launches a grid).

    >>> run_blocks([2, 1, 1, 1], slots=2).makespan
    3
    """
    return run_workers([[(place, length)] for place, length in enumerate(checked(durations))], slots)


def run_workers(workers: Sequence[Sequence[tuple[int, Any]]], slots: int) -> Timeline:
    """Workers in order, each on the slot that is free first; a worker runs its (block, duration) pairs in a row.

    >>> run_workers([[(0, 1), (1, 1)], [(2, 1)]], slots=2).makespan
    2
    """
    free = [(0, slot) for slot in range(slots)]
    spans: list[Span] = []
    for worker in workers:
        time, slot = heapq.heappop(free)
        for block, length in worker:
            spans.append(Span(block, slot, time, time + length))
            time += length
        heapq.heappush(free, (time, slot))
    return Timeline(slots, tuple(spans))


def checked(durations: Iterable[Any]) -> list[Any]:
    """Durations that are positive and finite, exact ones as they are; at least one, and not too many.

    >>> checked([1, 2.5])
    [1, 2.5]
    """
    found = [positive_number(length, "run: the duration of a block") for length in _some(durations)]
    if not found:
        raise DimensionError("run: no block is given")
    return found


def _some(durations: Iterable[Any]) -> list[Any]:
    found = []
    for length in in_order(durations, "durations", "run"):
        found.append(length)
        check_events(len(found))
    return found


def check_events(events: int) -> None:
    """Refuse what would take too long, event by event.

    >>> check_events(100)
    """
    if events > MOST_EVENTS:
        raise CapacityError(
            f"run: more than {MOST_EVENTS:,} blocks are too many to follow one by one; waves counts them"
        )
