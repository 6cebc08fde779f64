"""Work, span and parallelism: how much there is to do, and how much of it stands one after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from perfmodel.errors import DimensionError, brief
from perfmodel.expressions import Size, is_concrete, largest, product, share, size, total
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.wording import number


class Step(NamedTuple):
    """One op on the longest chain: its operations one after another, levels of trees among them, and its repetitions.

    >>> Step("matmul", "contract", 11, 10, 1).depth
    11
    """

    name: str
    kind: str
    depth: Size
    levels: Size
    repeat: Size


@dataclass(frozen=True, slots=True, repr=False)
class WorkSpan(Answer):
    """Work T1 (the time of one processor) and span Tinf (the time of as many as can be used).

    >>> from perfmodel import work_span
    >>> work_span(2048, 8)
    work_span(2048, 8)
    # parallelism 256
    """

    _figure: ClassVar[str] = "span"

    work: Any
    span: Any
    path: tuple[Step, ...] = ()
    source: str = field(default="", compare=False)

    @property
    def parallelism(self) -> Any:
        """Work over span: the most by which processors can make it faster.

        >>> from perfmodel import matmul, work_span
        >>> work_span(matmul(64, 64, 64), reduction="serial", unit="mac").parallelism == 64 * 64
        True
        """
        return share(self.work, self.span)

    @property
    def levels(self) -> Size:
        """Levels of reduction trees on the longest chain.

        >>> from perfmodel import matmul, work_span
        >>> work_span(matmul(1024, 1024, 1024)).levels
        10
        """
        return total([product([step.levels, step.repeat]) for step in self.path])

    def least_time(self, processors: Any) -> Any:
        """The time that no schedule beats: the work law T1 / P and the span law Tinf.

        >>> from perfmodel import work_span
        >>> [work_span(2048, 8).least_time(p) for p in (32, 512)]
        [64.0, 8.0]
        """
        shared = share(self.work, _processors(processors))
        span = float(self.span) if is_concrete(self.span) else self.span
        return max(shared, span) if is_concrete(shared) and is_concrete(span) else largest(*_sizes(self, processors))

    def time(self, processors: Any) -> Any:
        """T1 / P + Tinf, the usual estimate of a greedy schedule (Cormen et al.).

        >>> from perfmodel import work_span
        >>> [work_span(2048, 1).time(p) for p in (32, 512)]
        [65.0, 5.0]
        """
        return share(self.work, _processors(processors)) + self.span

    def brent_time(self, processors: Any) -> Any:
        """The time that a greedy schedule never exceeds, (T1 - Tinf) / P + Tinf (Brent 1974, Graham).

        >>> from perfmodel import work_span
        >>> work_span(2048, 8).brent_time(32) == (2048 - 8) / 32 + 8
        True
        """
        return share(self.work - self.span, _processors(processors)) + self.span

    def then(self, other: WorkSpan) -> WorkSpan:
        """One after the other: works and spans add.

        >>> from perfmodel import work_span
        >>> work_span(100, 10).then(work_span(50, 5)) == work_span(150, 15)
        True
        """
        _same_kind(other, "then")
        return WorkSpan(self.work + other.work, self.span + other.span, (*self.path, *other.path))

    def beside(self, other: WorkSpan) -> WorkSpan:
        """One beside the other: works add, the longer span counts.

        >>> from perfmodel import work_span
        >>> work_span(100, 10).beside(work_span(50, 20)) == work_span(150, 20)
        True
        """
        _same_kind(other, "beside")
        if is_concrete(self.span) and is_concrete(other.span):
            longer = self if self.span >= other.span else other
            return WorkSpan(self.work + other.work, longer.span, longer.path)
        return WorkSpan(self.work + other.work, largest(self.span, other.span))

    def in_turn(self, times: Any) -> WorkSpan:
        """So many of it, one after another.

        >>> from perfmodel import work_span
        >>> work_span(100, 10).in_turn(4) == work_span(400, 40)
        True
        """
        count = size(times, "times")
        path = tuple([step._replace(repeat=product([step.repeat, count])) for step in self.path])
        return WorkSpan(self.work * count, self.span * count, path)

    def copies(self, times: Any) -> WorkSpan:
        """So many of it, all at once.

        >>> from perfmodel import work_span
        >>> work_span(100, 10).copies(4) == work_span(400, 10)
        True
        """
        return WorkSpan(self.work * size(times, "times"), self.span, self.path)

    @property
    def made(self) -> str:
        return self.source or f"work_span({self.work}, {self.span})"

    @property
    def headline(self) -> str:
        return f"parallelism {number(self.parallelism)}"

    def comments(self) -> list[str]:
        counts = f"work {number(self.work)}, span {number(self.span)}, " if self.source else ""
        return [f"{counts}{self.headline}"]

    def working(self) -> list[str]:
        """Work, span and the longest chain.

        >>> from perfmodel import matmul, work_span
        >>> work_span(matmul(1024, 1024, 1024)).explain()
        work_span(matmul(m=1024 n=1024 k=1024, bf16)): parallelism 1.952e+08
          work   2,147,483,648
          span   11
            matmul    contract  11, 10 of them levels of a tree
        """
        lines = [f"work   {number(self.work)}", f"span   {number(self.span)}"]
        for step in self.path:
            tree = f", {number(step.levels)} of them levels of a tree" if step.levels != 0 else ""
            times = "" if step.repeat == 1 else f", {number(step.repeat)} times"
            lines.append(f"  {step.name:9} {step.kind:9} {number(step.depth)}{tree}{times}")
        return lines


def _same_kind(other: Any, verb: str) -> None:
    if not isinstance(other, WorkSpan):
        raise DimensionError(f"{verb}: expected another work_span, got {brief(other)}")


def _processors(processors: Any) -> Size:
    return size(processors, "processors")


def _sizes(found: WorkSpan, processors: Any) -> tuple[Any, Any]:
    """The two laws as formulas."""
    return share(found.work, _processors(processors)), found.span


@dataclass(frozen=True, slots=True, repr=False)
class WorkSpanLimits(Answer):
    """What measured times on a greedy scheduler say about work and span.

    >>> from perfmodel import work_span_limits
    >>> work_span_limits({4: 80, 10: 42, 64: 10})
    work_span_limits({4: 80, 10: 42, 64: 10})
    # work at most 320, span at most 10; greedy schedules need a work of at least 330: no such program
    """

    times: tuple[tuple[int, Any], ...]

    @property
    def work_most(self) -> Any:
        """The largest work that the work law allows: P times T_P is at least T1.

        >>> from perfmodel import work_span_limits
        >>> work_span_limits({4: 80, 10: 42}).work_most == 4 * 80
        True
        """
        return min(processors * time for processors, time in self.times)

    @property
    def span_most(self) -> Any:
        """The largest span that the span law allows: T_P is at least Tinf.

        >>> from perfmodel import work_span_limits
        >>> work_span_limits({4: 80, 64: 10}).span_most
        10
        """
        return min(time for _, time in self.times)

    @property
    def work_least(self) -> Any:
        """The least work with which Brent's bound reaches every time, at the largest span.

        >>> from perfmodel import work_span_limits
        >>> work_span_limits({10: 42, 64: 10}).work_least == 10 * (42 - 10) + 10
        True
        """
        span = self.span_most
        return max(processors * (time - span) + span for processors, time in self.times)

    @property
    def consistent(self) -> bool:
        """Whether one program on a greedy scheduler can have all the times.

        >>> from perfmodel import work_span_limits
        >>> work_span_limits({4: 80, 10: 42, 64: 10}).consistent
        False
        """
        return bool(self.work_least <= self.work_most)

    @property
    def made(self) -> str:
        return f"work_span_limits({dict(self.times)})"

    def comments(self) -> list[str]:
        limits = f"work at most {number(self.work_most)}, span at most {number(self.span_most)}"
        words = "" if self.consistent else ": no such program"
        return [f"{limits}; greedy schedules need a work of at least {number(self.work_least)}{words}"]

    def working(self) -> list[str]:
        """The three laws with their working.

        >>> from perfmodel import work_span_limits
        >>> work_span_limits({4: 80, 10: 42, 64: 10}).explain()
        work_span_limits({4: 80, 10: 42, 64: 10})
          work law    T1 <= P T_P: at most 320
          span law    Tinf <= T_P: at most 10
          greedy      T_P <= (T1 - Tinf) / P + Tinf: T1 at least 330
          together    no program has these times on a greedy scheduler
        """
        found = "a program can have these times" if self.consistent else "no program has these times"
        return [
            f"work law    T1 <= P T_P: at most {number(self.work_most)}",
            f"span law    Tinf <= T_P: at most {number(self.span_most)}",
            f"greedy      T_P <= (T1 - Tinf) / P + Tinf: T1 at least {number(self.work_least)}",
            f"together    {found} on a greedy scheduler",
        ]
