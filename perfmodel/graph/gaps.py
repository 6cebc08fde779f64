"""Windows that may leave gaps between the elements that they touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from perfmodel.expressions import Size
from perfmodel.graph.intervals import Interval
from perfmodel.graph.spans import Lattice, Span, lattice_span


@dataclass(frozen=True, slots=True)
class Gaps:
    """A window that may leave gaps: ``offset + sum(step * x)`` for x in intervals that blocks move.

    >>> Gaps(((2, Interval.tile("p", 2, 4)), (1, Interval.whole(1))), 0, 7).count_at({"p": 1})
    2
    """

    terms: tuple[tuple[Size, Interval], ...]
    offset: Size
    extent: Size

    @property
    def concrete(self) -> bool:
        """Whether it is made of numbers.

        >>> Gaps(((2, Interval.whole(4)),), 0, 7).concrete
        True
        """
        sizes = (self.offset, self.extent, *[step for step, _ in self.terms])
        return all(isinstance(size, int) for size in sizes) and all(interval.concrete for _, interval in self.terms)

    def count_at(self, numbers: Mapping[str, int]) -> Size:
        """The distinct elements inside the axis for given block numbers.

        >>> Gaps(((1, Interval.whole(4)), (2, Interval.whole(2))), -1, 4).count_at({})
        4
        """
        offset, steps = self._lattice(numbers)
        if all(isinstance(size, int) for size in (offset, self.extent, *[size for pair in steps for size in pair])):
            end = Lattice(offset, steps).end
            if 0 <= offset < end <= self.extent and all(trips != 0 for _, trips in steps):
                return _count_inside(steps)  # as many wherever it lies
        return self.span_at(numbers).count

    def span_at(self, numbers: Mapping[str, int]) -> Span:
        """What is touched of the axis for given block numbers; its note says where only a hull is known.

        >>> Gaps(((3, Interval.whole(2)),), 0, 7).span_at({}).count
        2
        """
        offset, steps = self._lattice(numbers)
        if any(trips == 0 for _, trips in steps):
            return Span(0, 0, 0)
        return lattice_span(Lattice(offset, steps), self.extent)

    def _lattice(self, numbers: Mapping[str, int]) -> tuple[Size, tuple[tuple[Size, Size], ...]]:
        """Where the places begin for given block numbers, and their steps and trips."""
        offset, steps = self.offset, []
        for step, interval in self.terms:
            start, stop = interval.at(numbers)
            offset += step * start
            steps.append((step, stop - start))
        return offset, tuple(steps)


@lru_cache(maxsize=1024)
def _count_inside(steps: tuple[tuple[Size, Size], ...]) -> Size:
    """How many places there are where the axis cuts none off: most tiles of a window ask for the same."""
    places = Lattice(0, steps)
    return lattice_span(places, places.end).count
