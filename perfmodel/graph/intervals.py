"""Intervals of an axis that move with the number of a block, and exact sums of their lengths.

Bounds inference asks, for each axis, which elements a block needs. The answer is an interval whose ends
are linear in the numbers of the blocks (grid) and trips (loops), clipped by constants: a tile of m is
[T b, min(T b + T, M)), and what a convolution needs for it [s T b - p, ...) clipped to [0, E). The sum of
the lengths over all b is what is moved: see ``sums``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from perfmodel.expressions import Size, ceil_div, largest, smallest, total

if TYPE_CHECKING:
    from perfmodel.graph.gaps import Gaps


@dataclass(frozen=True, slots=True)
class Linear:
    """``start + sum(step * number of the block along a label)``.

    >>> Linear(3, (("m", 128),)).at({"m": 2})
    259
    """

    start: Size
    steps: tuple[tuple[str, Size], ...] = ()

    def at(self, numbers: Mapping[str, int]) -> Size:
        """Its value for given block numbers.

        >>> Linear(3).at({})
        3
        """
        if not self.steps:
            return self.start
        return total([self.start, *[step * numbers[label] for label, step in self.steps]])

    def placed(self, numbers: Mapping[str, int]) -> Linear:
        """With some block numbers known.

        >>> Linear(3, (("m", 128), ("n", 4))).placed({"m": 2})
        Linear(start=259, steps=(('n', 4),))
        """
        known = [step * numbers[label] for label, step in self.steps if label in numbers]
        return Linear(total([self.start, *known]), tuple([step for step in self.steps if step[0] not in numbers]))

    def scaled(self, factor: Size, shift: Size = 0) -> Linear:
        """``factor * self + shift``.

        >>> Linear(3, (("m", 4),)).scaled(2, 1)
        Linear(start=7, steps=(('m', 8),))
        """
        return Linear(factor * self.start + shift, tuple([(label, factor * step) for label, step in self.steps]))

    def plus(self, other: Linear) -> Linear:
        """The sum of two.

        >>> Linear(1, (("p", 2),)).plus(Linear(3, (("r", 1),)))
        Linear(start=4, steps=(('p', 2), ('r', 1)))
        """
        steps = dict(self.steps)
        for label, step in other.steps:
            steps[label] = steps.get(label, 0) + step
        return Linear(self.start + other.start, tuple(steps.items()))


@dataclass(frozen=True)
class Interval:
    """[max(starts), min(stops)): each end the tightest of several linear bounds.

    >>> tile = Interval.tile("m", 128, 300)
    >>> [tile.at({"m": b}) for b in range(3)]
    [(0, 128), (128, 256), (256, 300)]
    """

    starts: tuple[Linear, ...]
    stops: tuple[Linear, ...]
    gaps: Gaps | None = None  # where windows may leave elements of it untouched

    @classmethod
    def whole(cls, extent: Size) -> Interval:
        """[0, extent).

        >>> Interval.whole(8).at({})
        (0, 8)
        """
        return cls((Linear(0),), (Linear(extent),))

    @classmethod
    def between(cls, start: Size, stop: Size) -> Interval:
        """[start, stop), which nothing moves.

        >>> Interval.between(2, 5).at({})
        (2, 5)
        """
        return cls((Linear(start),), (Linear(stop),))

    @classmethod
    def tile(cls, label: str, size: Size, extent: Size) -> Interval:
        """The tile of a label: ``size`` elements a block, the last one ragged.

        >>> Interval.tile("m", 4, 6).at({"m": 1})
        (4, 6)
        """
        start = Linear(0, ((label, size),))
        return cls((start,), (start.scaled(1, size), Linear(extent)))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels whose block numbers move it.

        >>> Interval.tile("m", 4, 6).labels
        ('m',)
        """
        return tuple(dict.fromkeys([label for end in (*self.starts, *self.stops) for label, _ in end.steps]))

    @property
    def concrete(self) -> bool:
        """Whether its ends, and the windows in it, are made of numbers.

        >>> Interval.tile("m", 4, 6).concrete
        True
        """
        ends = (*self.starts, *self.stops)
        numbers = all(isinstance(size, int) for end in ends for size in (end.start, *[step for _, step in end.steps]))
        return numbers and (self.gaps is None or self.gaps.concrete)

    @property
    def solid(self) -> Interval:
        """The interval without its gaps.

        >>> Interval.whole(4).solid == Interval.whole(4)
        True
        """
        return self if self.gaps is None else Interval(self.starts, self.stops)

    def disjoint(self, label: str) -> bool:
        """Whether blocks along a label surely share no element of it.

        >>> tile = Interval.tile("m", 4, 8)
        >>> tile.disjoint("m"), tile.widened(Interval.whole(3)).disjoint("m"), tile.disjoint("n")
        (True, False, False)
        """
        starts, stops = [[end for end in ends if end.steps] for ends in (self.starts, self.stops)]
        return any(
            start.steps == stop.steps
            and start.steps[0][0] == label
            and len(start.steps) == 1
            and surely_at_least(start.steps[0][1], stop.start - start.start)
            for start in starts
            for stop in stops
        )

    def length_at(self, numbers: Mapping[str, int]) -> Size:
        """How many elements of it are touched for given block numbers.

        >>> Interval.tile("m", 4, 6).length_at({"m": 1})
        2
        """
        if self.gaps is not None:
            return self.gaps.count_at(numbers)
        start, stop = self.at(numbers)
        return stop - start

    @cached_property
    def length(self) -> Size:
        """Its length, where no block moves it.

        >>> Interval.whole(8).length
        8
        """
        return self.length_at({})

    @cached_property
    def full_length(self) -> Size:
        """The length of a whole tile of it: what its ends are apart where nothing clips them.

        >>> Interval.tile("m", 128, 300).full_length, Interval.whole(8).full_length
        (128, 8)
        """
        if not self.labels and self.concrete:
            start, stop = self.at({})
            return stop - start
        starts = [end for end in self.starts if end.steps] or list(self.starts)
        stops = [end for end in self.stops if end.steps] or list(self.stops)
        if starts[0].steps != stops[0].steps:
            return smallest(*[end.start for end in self.stops if not end.steps])
        return stops[0].start - starts[0].start

    def at(self, numbers: Mapping[str, int]) -> tuple[Size, Size]:
        """Its ends for given block numbers (an empty one has equal ends).

        >>> Interval.tile("m", 4, 6).at({"m": 0})
        (0, 4)
        """
        start = largest(*[end.at(numbers) for end in self.starts])
        return start, largest(start, smallest(*[end.at(numbers) for end in self.stops]))

    def clipped(self, extent: Size) -> Interval:
        """The part of it inside [0, extent).

        >>> Interval((Linear(-1),), (Linear(9),)).clipped(8).at({})
        (0, 8)
        """
        return Interval(_added(self.starts, Linear(0), True), _added(self.stops, Linear(extent), False))

    def through(self, step: Size, shift: Size) -> Interval:
        """The hull of ``step * x + shift`` for x in it.

        >>> Interval.whole(4).through(2, -1).at({})
        (-1, 6)
        """
        starts = tuple([end.scaled(step, shift) for end in self.starts])
        return Interval(starts, tuple([end.scaled(step, shift - step + 1) for end in self.stops]))

    def widened(self, other: Interval) -> Interval:
        """The hull of ``x + y`` for x in it and y in the other.

        >>> Interval.whole(4).widened(Interval.whole(3)).at({})
        (0, 6)
        """
        starts = tuple([a.plus(b) for a in self.starts for b in other.starts])
        return Interval(starts, tuple([a.plus(b).scaled(1, -1) for a in self.stops for b in other.stops]))


def _added(ends: tuple[Linear, ...], bound: Linear, start: bool) -> tuple[Linear, ...]:
    """The ends with one more constant bound, where it can matter."""
    fixed = [end.start for end in ends if not end.steps]
    moving = tuple([end for end in ends if end.steps])
    if start and not fixed and all(surely_at_least(end.start, bound.start) for end in moving):
        return ends  # a moving start only grows with the number of the block
    best = largest(*fixed, bound.start) if start else smallest(*fixed, bound.start)
    return (*moving, Linear(best))


@dataclass(frozen=True)
class Trip:
    """How a label is cut: blocks (or trips) of ``size`` along ``extent``.

    >>> Trip("m", 128, 300).count
    3
    """

    label: str
    size: Size
    extent: Size

    @cached_property
    def count(self) -> Size:
        """The number of blocks.

        >>> Trip("m", 128, 256).count
        2
        """
        return ceil_div(self.extent, self.size)

    @cached_property
    def tile(self) -> Interval:
        """What a block holds of the label.

        >>> Trip("m", 128, 300).tile.at({"m": 2})
        (256, 300)
        """
        return Interval.tile(self.label, self.size, self.extent)


def surely_at_least(a: Size, b: Size) -> bool:
    """Whether a >= b for every value that the symbols may take.

    >>> surely_at_least(4, 3)
    True
    """
    difference = a - b
    return difference >= 0 if isinstance(difference, int) else bool(difference.is_nonnegative)
