"""What a run counts: elements loaded and stored by tensor, operations by unit; and where a part lies."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from perfmodel.graph.intervals import Interval
from perfmodel.shown import Shown

Numbers = dict[str, int]


@dataclass
class Counts(Shown):
    """What a run loaded, stored (elements by tensor) and did (operations by unit).

    >>> Counts().loads["x"]
    0
    """

    loads: Counter[str] = field(default_factory=Counter)
    stores: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)


Ledger = dict[str, Counts]  # by the level that serves: operations stand at "memory"


def slices(part: tuple[Interval, ...], at: Numbers) -> tuple[slice, ...]:
    """Where a part lies in its tensor.

    >>> slices((Interval.tile("m", 4, 6),), {"m": 1})
    (slice(4, 6, None),)
    """
    return tuple([slice(*pair) for pair in ends(part, at)])


def ends(part: tuple[Interval, ...], at: Numbers) -> list[tuple[int, int]]:
    """The ends of a part along each axis.

    >>> ends((Interval.tile("m", 4, 6),), {"m": 1})
    [(4, 6)]
    """
    return [(int(a), int(b)) for a, b in [interval.at(at) for interval in part]]


def touched(interval: Interval, at: Numbers) -> list[int]:
    """The places of an axis that a part touches, one by one.

    >>> touched(Interval.tile("m", 4, 6), {"m": 1})
    [4, 5]
    """
    start, stop = interval.at(at)
    if interval.gaps is None:
        return list(range(int(start), int(stop)))
    places = {int(interval.gaps.offset)}
    for step, moving in interval.gaps.terms:
        first, last = moving.at(at)
        places = {place + int(step) * trip for place in places for trip in range(int(first), int(last))}
    return sorted(place for place in places if 0 <= place < int(interval.gaps.extent))
