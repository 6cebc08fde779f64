"""Divergence: what a warp loses when its threads do not take the same way.

pm.divergence("t % 2 == 0", threads=128, steps=(10, 10))         a branch: 80 warp-steps, half of the lanes useful
pm.divergence("5 - t % 3", threads=32, steps=1)                  a loop: each thread its own number of turns
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.errors import brief
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.branching import Branch, Loop, work_of
from perfmodel.mechanisms.lockstep import summed
from perfmodel.mechanisms.warps import launch
from perfmodel.mechanisms.wording import Verbatim, call, counted
from perfmodel.showing import percent

_USUAL = {"threads": 128, "steps": (10, 10), "warp": 32, "block": None}


def divergence(
    condition: Any, threads: int = 128, steps: Any = (10, 10), *, warp: int = 32, block: Any = None
) -> Divergence:
    """The steps that warps issue for a branch or a loop, and how many of their lanes are useful.

    ``condition`` is text such as "t < 100" in ``t``, ``lane``, ``warp`` (and ``x``, ``y``, ``z``, ``block`` where
    ``block`` gives the shape of a block of threads), a function of t, or a list of one value for each thread. With
    a pair of ``steps`` it is a branch: threads where it is not 0 do the first number of steps, the others the
    second. With one number it is a loop, and its value the turns of each thread. In place of a number may stand
    another (condition, steps), or a list of parts done in order. ``ExpressionError`` for text that is no such
    expression, ``DimensionError`` for what is no count, ``CapacityError`` for what would take too long.

    >>> divergence("t % 2 == 0", threads=128, steps=(10, 10))
    divergence('t % 2 == 0')
    # 80 warp-steps, 50 % of their lanes useful; 4 of 4 warps diverge
    # if warps agreed: 40 warp-steps
    >>> divergence("t < 100").active_fraction
    0.8
    """
    of = launch(threads, warp, block)
    work = work_of(condition, steps, of)
    tally = summed(work, of)
    return Divergence(
        _said(work), of.threads, _written(steps), of.warp, of.shape, of.warps,
        tally.issued, tally.uniform, tally.useful, tally.split,
    )  # fmt: skip


def _said(work: Branch | Loop) -> str:
    return work.condition.text if isinstance(work, Branch) else work.trips.text


def _written(steps: Any) -> str:
    """The steps as they stand in the expression; functions by their names."""
    if isinstance(steps, tuple | list):
        inside = ", ".join(_written(each) for each in steps)
        return f"({inside})" if isinstance(steps, tuple) else f"[{inside}]"
    return brief(getattr(steps, "__name__", "a function") if callable(steps) else steps, 200)


@dataclass(frozen=True, slots=True, repr=False)
class Divergence(Answer):
    """What warps issue for work that their threads do not all take part in.

    >>> divergence("t // 32 % 2", threads=128).issued_steps
    40
    """

    condition: str
    threads: int
    steps: str
    warp: int
    block: tuple[int, int, int] | None
    warps: int
    issued_steps: int
    uniform_steps: int
    useful_lane_steps: int
    divergent_warps: int

    @property
    def divergent_steps(self) -> int:
        """Warp-steps in which some threads of the warp were idle.

        >>> divergence("t < 100").divergent_steps == 2 * 10
        True
        """
        return self.issued_steps - self.uniform_steps

    @property
    def lane_steps(self) -> int:
        """The lanes of all steps that were issued, useful or not.

        >>> divergence("t < 100").lane_steps == 50 * 32
        True
        """
        return self.issued_steps * self.warp

    @property
    def active_fraction(self) -> float:
        """Useful lane-steps over those issued, so that a warp counts by its steps; 1 where nothing is issued.

        >>> divergence("t < 100").active_fraction == (100 + 28) * 10 / (50 * 32)
        True
        """
        return self.useful_lane_steps / self.lane_steps if self.issued_steps else 1.0

    @property
    def least_steps(self) -> int:
        """The fewest warp-steps that hold the useful lane-steps: what threads sorted by their way would come to.

        >>> divergence("t % 2 == 0").least_steps == 128 * 10 // 32
        True
        """
        return -(-self.useful_lane_steps // self.warp)

    @property
    def made(self) -> str:
        """The expression that makes it.

        >>> divergence("t < 3", steps=(1, 0)).made
        "divergence('t < 3', steps=(1, 0))"
        """
        given = {"threads": self.threads, "steps": Verbatim(self.steps), "warp": self.warp, "block": self.block}
        usual = {**_USUAL, "steps": Verbatim("(10, 10)")}
        return call("divergence", brief(self.condition, 200), given, usual)

    def comments(self) -> list[str]:
        """What matters most, a line each.

        >>> divergence("t // 32 % 2").comments()
        ['40 warp-steps, 100 % of their lanes useful; no warp diverges']
        """
        some = f"{self.divergent_warps:,} of {counted(self.warps, 'warp')} diverge" if self.divergent_warps else ""
        head = (
            f"{counted(self.issued_steps, 'warp-step')}, {percent(self.active_fraction)} of their lanes useful; "
            f"{some or 'no warp diverges'}"
        )
        if self.divergent_warps and self.least_steps < self.issued_steps:
            return [head, f"if warps agreed: {counted(self.least_steps, 'warp-step')}"]
        return [head]

    def working(self) -> list[str]:
        """How the fraction follows.

        >>> for line in divergence("t < 100").working():
        ...     print(line)
        threads  128 in 4 warps of 32; 1 diverges
        issued   50 warp-steps x 32 lanes = 1,600 lane-steps; 20 warp-steps with idle threads
        useful   1,280 lane-steps: 80 %, each warp weighted by its steps
        remedy   if all threads of a warp took one way: 40 warp-steps
        """
        split = f"{self.divergent_warps:,} {'diverges' if self.divergent_warps == 1 else 'diverge'}"
        lines = [
            f"threads  {self.threads:,} in {counted(self.warps, 'warp')} of {self.warp}; {split}",
            f"issued   {counted(self.issued_steps, 'warp-step')} x {self.warp} lanes = {self.lane_steps:,} lane-steps; "
            f"{counted(self.divergent_steps, 'warp-step')} with idle threads",
            f"useful   {self.useful_lane_steps:,} lane-steps: {percent(self.active_fraction)}, each warp weighted by "
            "its steps",
        ]
        if self.divergent_warps and self.least_steps < self.issued_steps:
            lines.append(f"remedy   if all threads of a warp took one way: {counted(self.least_steps, 'warp-step')}")
        return lines
