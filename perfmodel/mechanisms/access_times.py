"""Average memory access time: the time of each level, weighted by the accesses that reach it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from perfmodel.errors import CapacityError, DimensionError, brief
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.given_values import exact, in_order
from perfmodel.mechanisms.wording import number, part_of_all

MOST_ACCESSES = 2**22


@dataclass(frozen=True, slots=True, repr=False)
class AccessTime(Answer):
    """The average time of an access through levels of memory, the last of which always answers.

    >>> from perfmodel import amat
    >>> amat([1, 10, 100], miss_rates=[0.05, 0.2])
    amat([1, 10, 100], miss_rates=[0.05, 0.2])
    # 2.5 an access: 1 + 0.05 * (10 + 0.2 * 100); 1 % of the accesses reach the last level
    """

    _figure: ClassVar[str] = "time"

    times: tuple[Fraction, ...]
    miss_rates: tuple[Fraction, ...]

    @property
    def reach(self) -> tuple[float, ...]:
        """The share of the accesses that reach each level.

        >>> from perfmodel import amat
        >>> amat([1, 10, 100], [0.5, 0.5]).reach
        (1.0, 0.5, 0.25)
        """
        return tuple([float(each) for each in self._reach])

    @property
    def parts(self) -> tuple[float, ...]:
        """What each level adds to the average.

        >>> from perfmodel import amat
        >>> amat([1, 10, 100], [0.5, 0.5]).parts
        (1.0, 5.0, 25.0)
        """
        return tuple([float(time * each) for time, each in zip(self.times, self._reach, strict=True)])

    @property
    def time(self) -> float:
        """The average, in the unit of the times: t1 + m1 (t2 + m2 (t3 + ...)).

        >>> from perfmodel import amat
        >>> amat([1, 100], [0.02]).time == 1 + 0.02 * 100
        True
        """
        return float(self._exact)

    def run(self, served: Iterable[int]) -> float:
        """The average over accesses one by one: ``served`` says which level (0 is the first) answers each.

        >>> from perfmodel import amat
        >>> amat([1, 10], [0.5]).run([0, 1, 0, 1])
        6.0
        """
        spent, accesses = Fraction(0), 0
        for level in _served(served, len(self.times)):
            spent += sum(self.times[: level + 1])
            accesses += 1
        return float(spent / accesses)

    @property
    def made(self) -> str:
        times, rates = [", ".join(number(float(each)) for each in found) for found in (self.times, self.miss_rates)]
        return f"amat([{times}], miss_rates=[{rates}])"

    @property
    def headline(self) -> str:
        return f"{number(self.time)} an access"

    def comments(self) -> list[str]:
        working = number(float(self.times[-1]))
        for time, rate in zip(self.times[-2::-1], self.miss_rates[::-1], strict=True):
            inner = f"({working})" if " " in working else working
            working = f"{number(float(time))} + {number(float(rate))} * {inner}"
        last = f"{part_of_all(self.reach[-1])} of the accesses reach the last level"
        return [f"{self.headline}: {working}; {last}"]

    def working(self) -> list[str]:
        """Level by level: the time, the accesses that reach it, and what it adds.

        >>> from perfmodel import amat
        >>> amat([1, 10, 100], [0.05, 0.2]).explain()
        amat([1, 10, 100], miss_rates=[0.05, 0.2]): 2.5 an access
          level 1  1 * 100 % = 1
          level 2  10 * 5 % = 0.5
          level 3  100 * 1 % = 1
        """
        rows = zip(self.times, self.reach, self.parts, strict=True)
        return [
            f"level {place}  {number(float(time))} * {part_of_all(reach)} = {number(part)}"
            for place, (time, reach, part) in enumerate(rows, 1)
        ]

    @property
    def _reach(self) -> list[Fraction]:
        found = [Fraction(1)]
        for rate in self.miss_rates:
            found.append(found[-1] * rate)
        return found

    @property
    def _exact(self) -> Fraction:
        average = self.times[-1]
        for time, rate in zip(self.times[-2::-1], self.miss_rates[::-1], strict=True):
            average = time + rate * average
        return average


def amat(times: Sequence[Any], miss_rates: Sequence[Any] = ()) -> AccessTime:
    """The average memory access time of levels, first to last: their times, and the miss rate of each but the last.

    A miss rate is local: the share of the accesses that reach a level and go on to the next. Times are in one unit,
    cycles or nanoseconds; a miss pays the time of its level and that of the next (Hennessy and Patterson).

    >>> amat([1, 10, 100], miss_rates=[0.05, 0.2]).time
    2.5
    """
    found, rates = _numbers(times, "times"), _numbers(miss_rates, "miss_rates")
    if not found or len(rates) != len(found) - 1:
        raise DimensionError(
            f"amat: {len(found)} times and {len(rates)} miss rates: expected one time more than miss rates: "
            "the last level always answers"
        )
    for rate in rates:
        if rate > 1:
            raise DimensionError(f"amat: a miss rate of {float(rate):g}: expected a share of 0 to 1")
    return AccessTime(found, rates)


def local_miss_rates(served: Iterable[int], levels: int) -> tuple[Fraction, ...]:
    """The local miss rate of each level but the last, from which level answered each access.

    >>> local_miss_rates([0, 0, 1, 2], levels=3)
    (Fraction(1, 2), Fraction(1, 2))
    """
    reached = [0] * levels
    for level in _served(served, levels):
        for place in range(level + 1):
            reached[place] += 1
    return tuple([Fraction(after, before) if before else Fraction(0) for before, after in pairwise(reached)])


def _served(served: Iterable[int], levels: int) -> list[int]:
    found = list(in_order(served, "served", "amat"))
    if not found or len(found) > MOST_ACCESSES:
        raise CapacityError(f"amat: {len(found)} accesses: expected 1 to {MOST_ACCESSES:,}")
    for level in found:
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < levels:
            raise DimensionError(f"amat: an access is served by level {brief(level)}: expected 0 to {levels - 1}")
    return found


def _numbers(values: Any, what: str) -> tuple[Fraction, ...]:
    return tuple(
        [
            exact(value, f"amat: {what}[{place}]", DimensionError)
            for place, value in enumerate(in_order(values, what, "amat"))
        ]
    )
