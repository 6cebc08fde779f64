"""The part of one axis that is touched: an interval, or the places of a window or a roll.

Windows touch ``offset + step * trip + ...`` for every trip of every label. Where they are dense
(they overlap or touch) the places fill an interval; where they are disjoint their number is a
product; where all sizes are ints and few enough they are listed. Else the hull is counted, and the
span says so. Places outside the axis are padding and never read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy

from perfmodel.expressions import Size, as_size, ceil_div, floor_div, largest, product, smallest, total

HULL_NOTE = "windows may leave gaps: the hull is counted"
MOST_LISTED = 1_000_000


@dataclass(frozen=True, slots=True)
class Lattice:
    """The places ``offset + sum(step * trip)`` for ``0 <= trip < trips``, modulo ``modulo`` (a roll).

    >>> sorted(Lattice(-1, ((2, 3), (1, 2))).listed(4))  # three windows of 2, each 2 further, from -1
    [0, 1, 2, 3]
    """

    offset: Size
    steps: tuple[tuple[Size, Size], ...]
    modulo: Size | None = None

    @property
    def end(self) -> Size:
        """One past the last place (before any modulo).

        >>> Lattice(-1, ((2, 3), (1, 2))).end
        5
        """
        return total([self.offset, 1, *[product([step, trips - 1]) for step, trips in self.steps]])

    @property
    def least_end(self) -> Size:
        """What the end is at least: each label makes one trip or more.

        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> Lattice(-1, ((2, n), (1, 3))).least_end
        2
        """
        return total([self.offset, 1, *[product([s, t - 1]) for s, t in self.steps if isinstance(t, int)]])

    @property
    def distinct(self) -> Size | None:
        """How many places there are, where they fill an interval or no two meet; else None.

        Steps are taken from the smallest up. So far they reach ``hull`` places (``known`` or more) and touch
        ``count`` of them: a step no longer than a filled hull keeps it filled, and one at least as long as the
        hull never meets it.

        >>> Lattice(0, ((2, 3), (1, 2))).distinct, Lattice(0, ((2, 3), (3, 3))).distinct  # 0 .. 5; 2 and 3 mix
        (6, None)
        """
        steps = [(step, trips) for step, trips in self.steps if trips != 1]
        if len(steps) > 1:
            known_first = [found for found in steps if isinstance(found[0], int)]
            known_first.sort(key=lambda found: (found[0], not isinstance(found[1], int)))
            steps = known_first + [found for found in steps if not isinstance(found[0], int)]
        hull: Size = 1
        count: Size = 1
        known: Size = 1
        for step, trips in steps:
            longer = total([hull, product([step, trips - 1])])
            if count == hull and (at_most(step, known) or at_most(step, hull)):
                count = longer
            elif at_most(hull, step):
                count = product([count, trips])
            else:
                return None
            hull = longer
            known = total([known, product([step, trips - 1])]) if isinstance(trips, int) else known
        return count

    def listed(self, extent: Size) -> frozenset[int] | None:
        """The places inside an axis, one by one, where all sizes are ints and they are few enough.

        >>> Lattice(0, ((3, 2),)).listed(8) == {0, 3}
        True
        """
        numbers = [extent, self.offset, self.modulo or 0, *[size for step in self.steps for size in step]]
        if not all(isinstance(number, int) for number in numbers):
            return None
        if product([trips for _, trips in self.steps]) > MOST_LISTED:
            return None
        places = {int(self.offset)}
        for step, trips in self.steps:
            places = {place + int(step) * trip for place in places for trip in range(int(trips))}
        if self.modulo is not None:
            places = {place % int(self.modulo) for place in places}
        return frozenset([place for place in places if 0 <= place < int(extent)])


@dataclass(frozen=True, slots=True)
class Span:
    """Along one axis: the interval touched, how many elements of it are, and which (all, without ``places``).

    Two equal spans are the same elements.

    >>> Span(0, 8, 8).whole(8), Span(0, 8, 4, Lattice(0, ((2, 4),))).whole(8)
    (True, False)
    """

    start: Size
    stop: Size
    count: Size
    note: str = ""
    places: Lattice | None = None

    def whole(self, extent: Size) -> bool:
        """Whether it is the axis in full.

        >>> Span(2, 8, 6).whole(8)
        False
        """
        return bool(self.start == 0 and self.stop == extent and self.count == extent and not self.note)

    def covers(self, other: Span) -> bool:
        """Whether all of the other is known to be part of it.

        >>> Span(0, 8, 8).covers(Span(2, 4, 2)), Span(0, 3, 3).covers(Span(2, 4, 2))
        (True, False)
        """
        inside = self.places is None and at_most(self.start, other.start) and at_most(other.stop, self.stop)
        return self == other or inside or other.count == 0


def interval(start: Size, stop: Size) -> Span:
    """Every element from ``start`` up to ``stop``.

    >>> interval(2, 8)
    Span(start=2, stop=8, count=6, note='', places=None)
    """
    return Span(start, stop, as_size(stop - start))


def lattice_span(places: Lattice, extent: Size) -> Span:
    """The elements of an axis that a window or a roll touches.

    >>> lattice_span(Lattice(-3, ((2, 112), (1, 7))), 224).count  # ResNet's first layer: all
    224
    >>> lattice_span(Lattice(0, ((4, 4), (1, 2))), 16).count  # disjoint: 4 windows of 2
    8
    """
    if places.modulo is not None:
        return _rolled(places, extent)
    first, end, distinct = places.offset, places.end, places.distinct
    start, stop = _larger(0, first), _smaller(extent, end)
    if not (at_most(1, places.least_end) and at_most(first, extent)):  # perhaps nothing is touched
        stop = _larger(start, stop)
    if distinct is not None and distinct == end - first:
        return interval(start, stop)
    if distinct is not None and start == first and stop == end:
        return Span(start, stop, distinct, places=places)
    return _exact(places, extent) or Span(start, stop, as_size(stop - start), HULL_NOTE, places)


def _exact(places: Lattice, extent: Size) -> Span | None:
    """The span of places that can be listed."""
    found = places.listed(extent)
    if found is None:
        return None
    if not found:
        return interval(0, 0)
    start, stop = min(found), max(found) + 1
    return interval(start, stop) if len(found) == stop - start else Span(start, stop, len(found), places=places)


def _rolled(places: Lattice, extent: Size) -> Span:
    """Places that wrap around: all of the axis, unless they can be listed."""
    distinct = places.distinct
    if distinct is not None and distinct == places.end - places.offset and at_most(extent, distinct):
        return interval(0, extent)
    return _exact(places, extent) or Span(0, extent, extent, HULL_NOTE, places)


def united(one: Span, other: Span) -> Span:
    """The hull of two spans; it says so unless the two together fill it.

    >>> united(interval(0, 4), interval(2, 8)).count, united(interval(0, 2), interval(6, 8)).note
    (8, 'windows may leave gaps: the hull is counted')
    """
    if one.covers(other):
        return one
    if other.covers(one):
        return other
    start, stop = _smaller(one.start, other.start), _larger(one.stop, other.stop)
    meet = at_most(one.start, other.stop) and at_most(other.start, one.stop)
    filled = meet and one.places is None and other.places is None
    return replace(interval(start, stop), note="" if filled else HULL_NOTE)


def blocks_touched(span: Span, block: int) -> tuple[Size, bool]:
    """How many blocks of so many elements a span touches, and whether that is exact.

    >>> blocks_touched(interval(31, 65), 32), blocks_touched(Span(0, 65, 2, places=Lattice(0, ((64, 2),))), 32)
    ((3, True), (2, True))
    """
    if span.count == 0:
        return 0, True
    hull = total([ceil_div(span.stop, block), product([-1, floor_div(span.start, block)])])
    if span.places is None or span.note:
        return hull, not span.note
    if span.places.modulo is None and all(at_most(step, block) for step, trips in span.places.steps if trips != 1):
        return hull, True  # no gap is as long as a block
    found = span.places.listed(span.stop)
    return (hull, False) if found is None else (len({place // block for place in found}), True)


def at_most(smaller: Size, greater: Size) -> bool:
    """Whether one size is known not to exceed the other, whatever the symbols are; floors are bounded.

    >>> h = sympy.Symbol("h", integer=True, positive=True)
    >>> at_most(2 * floor_div(h - 1, 2) + 1, h), at_most(h, 2 * floor_div(h - 1, 2))
    (True, False)
    """
    gap = greater - smaller
    if isinstance(gap, int):
        return gap >= 0
    while not gap.is_nonnegative and gap.has(sympy.floor, sympy.ceiling):
        gap, before = _without_floors(sympy.expand(gap)), gap
        if gap == before:
            break
    return bool(gap.is_nonnegative)


def _without_floors(value: sympy.Expr) -> sympy.Expr:
    """A lower bound of a sum: (n - d + 1)/d <= floor(n/d) <= n/d <= ceil(n/d) <= (n + d - 1)/d, n and d > 0 whole."""
    terms = []
    for term in sympy.Add.make_args(value):
        floors = [factor for factor in sympy.Mul.make_args(term) if isinstance(factor, sympy.floor | sympy.ceiling)]
        if len(floors) == 1:
            factor = term / floors[0]
            top, bottom = floors[0].args[0].as_numer_denom()
            whole = top.is_integer and bottom.is_integer and bottom.is_positive
            near = factor.is_negative if isinstance(floors[0], sympy.floor) else factor.is_positive
            if near:
                term = sympy.expand(factor * top / bottom)
            elif whole and factor.is_positive:
                term = sympy.expand(factor * (top - bottom + 1) / bottom)
            elif whole and factor.is_negative:
                term = sympy.expand(factor * (top + bottom - 1) / bottom)
        terms.append(term)
    return sympy.Add(*terms)


def _larger(one: Size, other: Size) -> Size:
    """The larger of two; a ``Max`` only where it is not known which that is."""
    return other if at_most(one, other) else one if at_most(other, one) else largest(one, other)


def _smaller(one: Size, other: Size) -> Size:
    """The smaller of two; a ``Min`` only where it is not known which that is."""
    return one if at_most(one, other) else other if at_most(other, one) else smallest(one, other)
