"""Beyond a range that was tried value by value: on by doubling, and between two powers of two by ever finer steps.

Real estimates have no formula. Where each power of two from the range's end on, and both its neighbours, give the
answer of the end, it is taken to stay; where one gives the other, the edge between them is closed in by steps, and the
values around it are tried one by one. What was tried is said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from perfmodel.errors import PerfModelError
from perfmodel.solving.integers import Intervals, joined, merged, runs_of

FURTHEST = 2**30
_STEPS = 64  # values between two edges that are tried at once
_WINDOW = 4096  # values around an edge that are tried one by one


class Beyond(NamedTuple):
    """What holds beyond a range: intervals, the last value that was tried (None: it stays), and what was tried.

    >>> Beyond((), 64, "").last
    64
    """

    intervals: Intervals
    last: int | None
    said: str


def beyond(holds: Callable[[Any], Any], tried: Intervals, end: int, furthest: int = FURTHEST) -> Beyond:
    """The intervals that hold in a range 1 .. end and beyond it, as far as doubling tells.

    ``holds`` says of an array of ascending values whether each holds.

    >>> beyond(lambda values: values <= 40_000, ((1, 1024),), 1024)
    Beyond(intervals=((1, 40000),), last=42377, said='from 1025 on in steps, 37777 .. 42377 one by one')
    >>> beyond(lambda values: values >= 40, ((40, 1024),), 1024, 4096).intervals
    ((40, None),)
    """
    inside = bool(tried) and tried[-1][1] == end
    powers = [2**place for place in range(end.bit_length(), furthest.bit_length())]
    states = _states(holds, powers, inside)
    if states and set(states) == {inside}:
        last = f"at powers of two to 2^{powers[len(states) - 1].bit_length() - 1}, and beside them"
        return Beyond((*tried[:-1], (tried[-1][0], None)) if inside else tried, None, last)
    if not states or states[-1] is not (not inside) or states.count(None) > 1:
        return Beyond(tried, end, "")
    same = [power for power, state in zip(powers, states, strict=False) if state is inside]
    low, high = max([end, *same]), powers[len(states) - 1]
    while high - low > _WINDOW // 2:
        low, high = _closer(holds, low, high, inside)
    ends = (end, max(end + 1, low - _WINDOW // 2), high + _WINDOW // 2)
    stays = set(_states(holds, powers[len(states) - 1 :], not inside)) == {not inside}
    return _around(holds, tried, ends, inside, stays)


def _states(holds: Callable[[Any], Any], powers: list[int], inside: bool) -> list[bool | None]:
    """What each power of two says together with its neighbours, to the first that differs; None where they disagree."""
    import numpy

    found: list[bool | None] = []
    for power in powers:
        try:
            near = numpy.broadcast_to(holds(numpy.array([power - 1, power, power + 1])), (3,)).tolist()
        except PerfModelError:  # a count beyond what numbers hold
            break
        found.append(near[0] if len(set(near)) == 1 else None)
        if found[-1] is (not inside) or found.count(None) > 1:
            break
    return found


def _closer(holds: Callable[[Any], Any], low: int, high: int, inside: bool) -> tuple[int, int]:
    """Neighbouring steps between which the answer first changes."""
    import numpy

    steps = numpy.unique(numpy.linspace(low, high, _STEPS + 2).astype("int64"))
    changed = numpy.flatnonzero(holds(steps[1:]) != inside)
    place = int(changed[0]) + 1
    return int(steps[place - 1]), int(steps[place])


def _around(
    holds: Callable[[Any], Any], tried: Intervals, ends: tuple[int, int, int], inside: bool, stays: bool
) -> Beyond:
    """What holds to the end of a window around the edge, whose values are tried one by one, and beyond if it stays."""
    import numpy

    end, first, last = ends
    values = numpy.arange(first, last + 1)
    window = runs_of(values, numpy.broadcast_to(holds(values), values.shape))
    gap: Intervals = ((end + 1, first - 1),) if inside and first > end + 1 else ()
    found = joined(merged([tried, gap, window]))
    if stays and found and found[-1][1] == last:
        found = (*found[:-1], (found[-1][0], None))
    return Beyond(found, last, f"from {end + 1} on in steps, {first} .. {last} one by one")
