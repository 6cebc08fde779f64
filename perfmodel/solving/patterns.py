"""Sets of whole numbers that repeat: runs, in each of which the values with certain remainders are taken.

An interval is a run of period 1. Every other number from 7 on is ``Run(7, None, 2, 0b10)``: bit r of the mask tells
whether the values with ``n % 2 == r`` are in it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from perfmodel.errors import SolveError

MOST_LISTED = 1000  # intervals that a repeating answer is listed with
LONGEST = 2**20  # remainders of one period
Interval = tuple[int, int | None]


class Run(NamedTuple):
    """The values from ``first`` to ``last`` (None: without end) whose remainder by ``period`` is in ``mask``.

    >>> [value for value in range(1, 14) if Run(3, 12, 4, 0b1001).has(value)]
    [3, 4, 7, 8, 11, 12]
    """

    first: int
    last: int | None
    period: int = 1
    mask: int = 1

    def has(self, value: int) -> bool:
        """Whether a value is in it.

        >>> Run(1, None, 6, 1).has(12), Run(1, None, 6, 1).has(13)
        (True, False)
        """
        inside = self.first <= value and (self.last is None or value <= self.last)
        return inside and bool(self.mask >> (value % self.period) & 1)

    @property
    def remainders(self) -> tuple[tuple[int, int], ...]:
        """The remainders, neighbours as one interval.

        >>> Run(1, None, 8, 0b11000001).remainders
        ((0, 0), (6, 7))
        """
        return tuple((each.start(), each.end() - 1) for each in re.finditer("1+", f"{self.mask:b}"[::-1]))

    def nearest(self, value: int, step: int) -> int | None:
        """The first value of it from ``value`` on, upwards (step 1) or downwards (-1).

        >>> Run(1, 100, 6, 1).nearest(100, -1), Run(1, 100, 6, 1).nearest(1, 1)
        (96, 6)
        """
        at = value % self.period
        bits = f"{self.mask:0{self.period}b}"[::-1]
        place = (bits + bits).find("1", at) if step > 0 else (bits + bits).rfind("1", 0, self.period + at + 1)
        found = value + place - at if step > 0 else value - (self.period + at - place)
        return found if self.first <= found and (self.last is None or found <= self.last) else None


Runs = tuple[Run, ...]


def of_intervals(intervals: Iterable[Interval]) -> Runs:
    """Intervals as runs.

    >>> of_intervals([(1, 4), (9, None)])[1]
    Run(first=9, last=None, period=1, mask=1)
    """
    return tuple(Run(first, last) for first, last in intervals)


def tidy(runs: Iterable[Run]) -> Runs:
    """Ascending runs with their shortest periods; those that touch and repeat alike as one, those of few values listed.

    >>> tidy([Run(1, 8, 4, 0b1111), Run(9, None, 4, 0b0101)])
    (Run(first=1, last=8, period=1, mask=1), Run(first=9, last=None, period=2, mask=1))
    """
    found: list[Run] = []
    for run in runs:
        for each in _listed_if_short(_shortest(run)):
            before = found[-1] if found else None
            touches = before is not None and before.last == each.first - 1
            if before is not None and touches and (before.period, before.mask) == (each.period, each.mask):
                found[-1] = before._replace(last=each.last)
            else:
                found.append(each)
    return tuple(found)


def _shortest(run: Run) -> Run:
    period, mask = run.period, run.mask
    for prime in _primes(period):
        while period % prime == 0:
            part = period // prime
            low = mask & ((1 << part) - 1)
            if repeated(low, part, period) != mask:
                break
            period, mask = part, low
    return Run(run.first, run.last, period, mask)


def _primes(number: int) -> list[int]:
    found, prime = [], 2
    while prime * prime <= number:
        if number % prime == 0:
            found.append(prime)
            while number % prime == 0:
                number //= prime
        prime += 1
    return [*found, number] if number > 1 else found


def _listed_if_short(run: Run) -> list[Run]:
    """A run as its intervals, where it is no longer than three periods."""
    if not run.mask:
        return []
    if run.period == 1 or run.last is None or run.last - run.first >= 3 * run.period:
        return [run]
    return [Run(*each) for each in _intervals(run, 10**9)]


def repeated(mask: int, period: int, length: int) -> int:
    """The mask of a multiple of a period.

    >>> bin(repeated(0b01, 2, 6))
    '0b10101'
    """
    return mask * (((1 << length) - 1) // ((1 << period) - 1))


def combine(parts: Sequence[Runs], join: Callable[[list[int], int], int]) -> Runs:
    """Sets joined: ``join`` makes one mask of those of the parts, and of the mask of all.

    >>> both = lambda masks, full: masks[0] & masks[1]
    >>> combine([(Run(1, None, 2, 1),), (Run(1, None, 3, 1),)], both)
    (Run(first=1, last=None, period=6, mask=1),)
    """
    starts = {run.first for runs in parts for run in runs}
    ends = {run.last + 1 for runs in parts for run in runs if run.last is not None}
    cuts = sorted({1, *starts, *ends})
    places = [0] * len(parts)
    found = []
    for first, following in pairwise([*cuts, None]):
        here = [_at(runs, places, each, first or 1) for each, runs in enumerate(parts)]
        period = math.lcm(*[run.period for run in here])
        if period > LONGEST:
            raise SolveError(f"solve: the answer repeats every {period} values; within=(least, most) gives a range")
        masks = [repeated(run.mask, run.period, period) if run.mask else 0 for run in here]
        last = None if following is None else following - 1
        found.append(Run(first or 1, last, period, join(masks, (1 << period) - 1)))
    return tidy(found)


def _at(runs: Runs, places: list[int], each: int, value: int) -> Run:
    """The run that a value lies in, or an empty one; places only move on."""
    while places[each] < len(runs):
        run = runs[places[each]]
        if run.last is None or run.last >= value:
            return run if run.first <= value else Run(1, None, 1, 0)
        places[each] += 1
    return Run(1, None, 1, 0)


def both(masks: list[int], full: int) -> int:
    """What all the masks hold.

    >>> both([0b11, 0b10], 0b11)
    2
    """
    found = full
    for mask in masks:
        found &= mask
    return found


def either(masks: list[int], full: int) -> int:
    """What any of the masks holds.

    >>> either([0b01, 0b10], 0b11)
    3
    """
    found = 0
    for mask in masks:
        found |= mask
    return found


def listed(runs: Runs, most: int = MOST_LISTED) -> tuple[tuple[Interval, ...], bool]:
    """The intervals of runs, at most so many, and whether these are all.

    >>> listed((Run(1, 5, 2, 1), Run(9, None)))
    (((2, 2), (4, 4), (9, None)), True)
    """
    found: list[Interval] = []
    for run in runs:
        for first, last in _intervals(run, most + 1 - len(found)):
            if found and found[-1][1] == first - 1:
                found[-1] = (found[-1][0], last)
            else:
                found.append((first, last))
        if len(found) > most or (run.last is None and run.period > 1):
            return tuple(found[:most]), False
    return tuple(found), True


def _intervals(run: Run, most: int) -> list[Interval]:
    """The first intervals of a run, as many as are asked for."""
    if run.period == 1:
        return [(run.first, run.last)]
    found: list[Interval] = []
    base = run.first - run.first % run.period
    while len(found) <= most and (run.last is None or base <= run.last):
        for low, high in run.remainders:
            first, last = max(base + low, run.first), base + high
            last = last if run.last is None else min(last, run.last)
            if first > last:
                continue
            if found and found[-1][1] == first - 1:
                found[-1] = (found[-1][0], last)
            else:
                found.append((first, last))
        base += run.period
    return found[:most]
