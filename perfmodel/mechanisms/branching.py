"""Work that the threads of a warp do in lockstep: steps, branches, loops, and one after another.

A warp goes through both sides of a branch that its threads do not agree on, each side with the other threads idle,
and through as many turns of a loop as the thread with most of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from perfmodel.errors import DimensionError, ExpressionError, brief
from perfmodel.mechanisms.given_values import whole
from perfmodel.mechanisms.lane_values import LaneValues, lane_values
from perfmodel.mechanisms.warps import Launch

MOST_STEPS = 10**9
_DEEPEST, _MOST_PARTS = 6, 200


@dataclass(frozen=True, slots=True)
class Branch:
    """Threads for which the condition is not 0 do one side, the others the other.

    >>> from perfmodel.mechanisms.warps import launch
    >>> work_of("t < 3", (10, 4), launch(8)).other
    4
    """

    condition: LaneValues
    then: Work
    other: Work


@dataclass(frozen=True, slots=True)
class Loop:
    """Each thread does the body so many times (none where the number is below 0).

    >>> from perfmodel.mechanisms.warps import launch
    >>> work_of("5 - t % 3", 2, launch(8)).body
    2
    """

    trips: LaneValues
    body: Work


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after another; the threads of a warp meet again between them.

    >>> from perfmodel.mechanisms.warps import launch
    >>> work_of("t < 3", ([1, 2], 4), launch(8)).then
    Sequence(parts=(1, 2))
    """

    parts: tuple[Work, ...]


Work: TypeAlias = "int | Branch | Loop | Sequence"


def work_of(condition: Any, steps: Any, launch: Launch) -> Branch | Loop:
    """The work that a condition and its steps stand for: a pair is a branch, anything else a loop.

    >>> from perfmodel.mechanisms.warps import launch
    >>> type(work_of("t < 3", ("t < 1", (5, 5)), launch(8))).__name__
    'Loop'
    """
    return _Reader(launch).node(condition, steps, 0)


class _Reader:
    """Reads nested steps; refuses what is too deep or too long."""

    def __init__(self, launch: Launch) -> None:
        self.launch, self.parts = launch, 0

    def node(self, condition: Any, steps: Any, depth: int) -> Branch | Loop:
        values = lane_values(
            condition, self.launch, "divergence: condition" if _is_pair(steps) else "divergence: trips"
        )
        if _is_pair(steps):
            return Branch(values, self.side(steps[0], depth + 1), self.side(steps[1], depth + 1))
        return Loop(values, self.side(steps, depth + 1))

    def side(self, given: Any, depth: int) -> Work:
        """A number of steps, a nested (condition, steps), or a list of such in order."""
        self.parts += 1
        if depth > _DEEPEST or self.parts > _MOST_PARTS:
            raise ExpressionError(f"divergence: steps are nested at most {_DEEPEST} deep, {_MOST_PARTS} parts in all")
        if isinstance(given, list):
            return Sequence(tuple([self.side(each, depth + 1) for each in given]))
        if isinstance(given, tuple):
            if len(given) == 2 and not _is_number(given[0]):
                return self.node(*given, depth)
            raise DimensionError(
                f"divergence: steps = {brief(given)}: a side is a number of steps, (condition, steps), or a list"
            )
        return whole(given, "steps", "divergence", 0, MOST_STEPS)


def _is_pair(steps: Any) -> bool:
    """Two sides; a nested branch or loop in their place, (condition, steps), begins with its condition."""
    return isinstance(steps, tuple) and len(steps) == 2 and (_is_number(steps[0]) or isinstance(steps[0], tuple | list))


def _is_number(value: Any) -> bool:
    return not isinstance(value, str | tuple | list) and not callable(value) and not hasattr(value, "__array__")
