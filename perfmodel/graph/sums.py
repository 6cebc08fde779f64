"""Exact sums, over the blocks and trips of a tiled kernel, of the lengths of intervals.

sum min(a b + c, e) = sum (a b + c) - sum max(0, a b + c - e) has a closed form in the number of blocks, and
likewise for the start: halos, strides, padding and ragged last tiles come out of it, not out of formulas of
their own. Where several numbers move one interval, ints are enumerated and symbols stand as a finite sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product as combinations
from typing import Any, TypeAlias

import sympy

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, as_size, ceil_div, largest, product, smallest, total
from perfmodel.graph.intervals import Interval, Linear, Trip, surely_at_least
from perfmodel.graph.spans import at_most
from perfmodel.graph.splits import tiles_in_parts

# Enumerations beyond this are refused: a formula or larger tiles are meant.
MOST_BLOCKS = 2**22
# Terms of symbols that are written out; more stand as a finite sum.
MOST_TERMS = 64

_End: TypeAlias = "tuple[Size, Size, Size | None]"  # step, start, and the constant bound beside them


def lengths_sum(intervals: Sequence[Interval], trips: Mapping[str, Trip]) -> Size:
    """The sum, over every block that moves any of the intervals, of the product of their lengths.

    Intervals that no common label moves are summed apart. One label gives a closed form; several in one
    interval, or one in several, an enumeration (ints) or an exact finite sum (symbols).

    >>> m = Trip("m", 128, 300)
    >>> lengths_sum([Interval.tile("m", 128, 300), Interval.whole(8)], {"m": m})
    2400
    """
    factors: list[Size] = []
    groups: list[tuple[set[str], list[Interval]]] = []
    for interval in intervals:
        labels = set(interval.labels)
        if not labels:
            factors.append(interval.length)
            continue
        joined = [interval]
        for group in [group for group in groups if group[0] & labels]:
            groups.remove(group)
            labels |= group[0]
            joined = [*group[1], *joined]
        groups.append((labels, joined))
    sums = [_moved(found, [trips[label] for label in sorted(labels)]) for labels, found in groups]
    return product([*factors, *sums])


def _moved(intervals: Sequence[Interval], trips: Sequence[Trip]) -> Size:
    """The sum over intervals that some labels move together. The tiles of a label fill its extent."""
    if len(intervals) == 1 and intervals[0] == trips[0].tile:
        return trips[0].extent
    return _group_sum(tuple(intervals), tuple(trips))


@lru_cache(maxsize=4096)  # the kernels of a program, and the counts of a kernel, ask for the same ones
def _group_sum(intervals: Sequence[Interval], trips: Sequence[Trip]) -> Size:
    counts = [trip.count for trip in trips]
    known = all(isinstance(count, int) for count in counts) and all(interval.concrete for interval in intervals)
    if not known:  # distinct elements of windows with gaps are only counted in numbers
        intervals = tuple([interval.solid for interval in intervals])
    gaps = any(interval.gaps is not None for interval in intervals)
    if len(intervals) == 1 and len(trips) == 1 and not gaps:
        closed = _closed_sum(intervals[0], trips[0])
        if closed is not None:
            return closed
    if len(intervals) == 1 and not gaps and (filled := tiles_in_parts(intervals[0], trips)) is not None:
        return filled
    blocks = product(counts)
    if not isinstance(blocks, int) or (blocks > MOST_TERMS and not known):
        return _symbolic_sum(tuple(intervals), tuple(trips))
    if blocks > MOST_BLOCKS:
        raise DimensionError(f"tile: {blocks} blocks to enumerate; at most {MOST_BLOCKS}: take larger tiles")
    terms = []
    for numbers in combinations(*[range(int(count)) for count in counts]):
        at = dict(zip([trip.label for trip in trips], numbers, strict=True))
        terms.append(product([interval.length_at(at) for interval in intervals]))
    return total(terms)


def _closed_sum(interval: Interval, trip: Trip) -> Size | None:
    """The sum of the lengths over one label, or None where they may be negative or ends move unevenly.

    sum min(a b + c, e) = sum (a b + c) - sum max(0, a b + c - e), and likewise for the start. A length is a
    concave function of b, so it is nowhere negative if it is not at either end.
    """
    starts, stops = _moving(interval.starts, max), _moving(interval.stops, min)
    if starts is None or stops is None:
        return None
    count = trip.count
    in_turn = starts[1:] == (0, None) and stops[:2] == (starts[0], starts[0])
    if in_turn and stops[2] is not None and at_most(stops[2], starts[0] * count):  # they fill [0, ceiling)
        return stops[2]
    if isinstance(count, int) and not all(_ordered(interval, trip.label, number) for number in (0, count - 1)):
        return None
    if isinstance(count, sympy.Expr) and not _never_crossed(starts, stops, trip):
        return None
    (start_step, start, floor), (stop_step, stop, ceiling) = starts, stops
    pairs = floor_half(count * (count - 1))
    total_stop = stop_step * pairs + stop * count
    total_start = start_step * pairs + start * count
    if ceiling is not None and stop_step != 0:
        total_stop -= _excess(stop_step * (count - 1) + stop - ceiling, stop_step, trip)
    if floor is not None and start_step != 0:
        total_start += _excess(floor - start, start_step, trip)
    found = total_stop - total_start
    return found if isinstance(found, int) else as_size(sympy.expand(found))


def _ordered(interval: Interval, label: str, number: int) -> bool:
    """Whether the ends of a block do not cross, whatever its symbols stand for."""
    starts, stops = [[end.at({label: number}) for end in ends] for ends in (interval.starts, interval.stops)]
    return all(_never_below(stop, start) for start in starts for stop in stops)


def _never_crossed(starts: _End, stops: _End, trip: Trip) -> bool:
    """Whether no block's ends can cross, whatever the symbols stand for: more padding than a tile is long would.

    The last block is number ceil(extent / size) - 1, at most (extent - 1) / size.
    """
    (start_step, start, floor), (stop_step, stop, ceiling) = starts, stops
    last = start + sympy.Mul(start_step, trip.extent - 1, sympy.Pow(trip.size, -1))
    gaps = [(stop, start) if surely_at_least(stop_step, start_step) else (stop, last)]
    gaps += [] if floor is None else [(stop, floor)]
    gaps += [] if ceiling is None else [(ceiling, last)]
    gaps += [] if floor is None or ceiling is None else [(ceiling, floor)]
    return all(_never_below(end, begin) for end, begin in gaps)


def _never_below(end: Any, begin: Any) -> bool:
    """Whether end >= begin for sure, however each Min and Max in it comes out and each floor in it rounds."""
    gap = sympy.expand(end - begin) if isinstance(end - begin, sympy.Expr) else end - begin
    if isinstance(gap, int):
        return gap >= 0
    choice = next(iter(gap.atoms(sympy.Max, sympy.Min)), None)
    if choice is not None:
        found = [
            [part.xreplace({choice: one}) for part in (end + sympy.S.Zero, begin + sympy.S.Zero)] for one in choice.args
        ]
        return all(_never_below(*pair) for pair in found)
    return surely_at_least(gap, 0) or at_most(0, gap)


def floor_half(value: Size) -> Size:
    """Half of an even number.

    >>> floor_half(6)
    3
    """
    return value // 2 if isinstance(value, int) else value / 2


def _moving(ends: tuple[Linear, ...], tightest: object) -> _End | None:
    """Step and start of the one moving end, and the constant bound beside it (None for none)."""
    fixed = [end.start for end in ends if not end.steps]
    moving = [end for end in ends if end.steps]
    bound = None if not fixed else (largest if tightest is max else smallest)(*fixed)
    if not moving:
        return (0, bound, None) if bound is not None else None
    if len(moving) > 1 or len(moving[0].steps) > 1:
        return None
    return moving[0].steps[0][1], moving[0].start, bound


def _excess(first: Size, step: Size, trip: Trip) -> Size:
    """sum over j < count of max(0, first - step j): what a constant bound cuts off, from the block it cuts most.

    The raggedness of the last tile, size * count - extent, is always within [0, size): that part is met once.
    """
    count = trip.count
    if isinstance(first, int) and isinstance(step, int) and isinstance(count, int):
        places = min(count, -(-first // step)) if first > 0 else 0
        return first * places - step * (places * (places - 1) // 2)
    ragged = sympy.expand(sympy.Mul(step, trip.size * count - trip.extent, sympy.Pow(trip.size, -1)))
    beyond = sympy.expand(first - ragged)
    if surely_at_least(beyond, 0) and surely_at_least(sympy.Mul(step, sympy.Pow(trip.size, -1)), beyond):
        return ragged + beyond
    if surely_at_least(0, first):
        return 0
    if surely_at_least(step, first):
        return largest(first, 0)
    first = largest(first, 0)
    places = smallest(count, ceil_div(first, step))
    return first * places - step * floor_half(places * (places - 1))


@lru_cache(maxsize=256)
def _symbolic_sum(intervals: tuple[Interval, ...], trips: tuple[Trip, ...]) -> Size:
    """An exact finite sum that stands as it is until its symbols are bound."""
    numbers = {trip.label: sympy.Symbol(f"{trip.label}_block", integer=True, nonnegative=True) for trip in trips}
    term: Size = 1
    for interval in intervals:
        starts = [total([e.start, *[s * numbers[label] for label, s in e.steps]]) for e in interval.starts]
        stops = [total([e.start, *[s * numbers[label] for label, s in e.steps]]) for e in interval.stops]
        term = term * largest(0, smallest(*stops) - largest(*starts))
    limits = [(numbers[trip.label], 0, trip.count - 1) for trip in trips]
    return sympy.Sum(term, *limits)
