"""Amdahl's and Gustafson's laws: what a part that does not run in parallel leaves of the speedup."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from perfmodel.errors import DimensionError
from perfmodel.expressions import as_expression, is_concrete, share, size
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.given_values import concrete, exact
from perfmodel.mechanisms.timelines import Span, Timeline, check_events, run_blocks
from perfmodel.mechanisms.wording import number, part_of_all


@dataclass(frozen=True, slots=True, repr=False)
class Speedup(Answer):
    """A speedup by one of the two laws.

    >>> from perfmodel import amdahl
    >>> amdahl(parallel=0.95, processors=8)
    amdahl(parallel=0.95, processors=8)
    # 5.926 times as fast, at most 20 times; each processor works 74 % of the time
    """

    _figure: ClassVar[str] = "speedup"

    law: str
    parallel: Fraction
    processors: Any

    @property
    def serial(self) -> Fraction:
        """The part that does not run in parallel.

        >>> from perfmodel import amdahl
        >>> amdahl(0.95, 8).serial
        Fraction(1, 20)
        """
        return 1 - self.parallel

    @property
    def speedup(self) -> Any:
        """How many times as fast: a float, or a formula.

        >>> from perfmodel import amdahl, gustafson
        >>> amdahl(0.5, 4).speedup, gustafson(0.5, 4).speedup
        (1.6, 2.5)
        """
        one, many = self._in_kind(self.serial), self._in_kind(self.parallel)
        growth = one + many * self.processors if self.law == "gustafson" else one * self.processors + many
        return share(growth, 1) if self.law == "gustafson" else share(self.processors, growth)

    @property
    def limit(self) -> float:
        """The speedup that no number of processors passes.

        >>> from perfmodel import amdahl, gustafson
        >>> amdahl(0.95, 8).limit, gustafson(0.95, 8).limit
        (20.0, inf)
        """
        bounded = self.serial and self.law == "amdahl"
        return share(1, self.serial) if bounded else float("inf") if self.parallel else 1.0

    @property
    def efficiency(self) -> Any:
        """Speedup over processors.

        >>> from perfmodel import amdahl
        >>> amdahl(0.5, 4).efficiency
        0.4
        """
        return self.speedup / self.processors

    def run(self, pieces: Any = None) -> Timeline:
        """The work event by event: the serial part, then the parallel one in equal pieces (one a processor).

        Amdahl's work takes 1 on one processor, Gustafson's 1 on all of them.

        >>> from perfmodel import amdahl
        >>> amdahl(0.5, 4).run().makespan
        Fraction(5, 8)
        """
        concrete([self.processors], "run", self.law)
        count = self.processors if pieces is None else size(pieces, "pieces")
        concrete([count], "run", self.law)
        check_events(count + self.processors)
        work = self.parallel * (1 if self.law == "amdahl" else self.processors)
        serial = [Span(0, 0, Fraction(0), self.serial)] if self.serial else []
        later = run_blocks([work / count] * count, self.processors).spans if work else ()
        spans = [Span(each.block + 1, each.slot, each.start + self.serial, each.end + self.serial) for each in later]
        return Timeline(self.processors, (*serial, *spans))

    @property
    def made(self) -> str:
        return f"{self.law}(parallel={float(self.parallel):g}, processors={self.processors})"

    def comments(self) -> list[str]:
        most = f", at most {number(self.limit)} times" if self.law == "amdahl" else ""
        used = f"each processor works {part_of_all(self.efficiency)} of the time"
        return [f"{number(self.speedup)} times as fast{most}; {used}"]

    def working(self) -> list[str]:
        """The law with the numbers in it.

        >>> from perfmodel import amdahl
        >>> amdahl(0.95, 8).explain()
        amdahl(parallel=0.95, processors=8)
          speedup     1 / (0.05 + 0.95 / 8) = 5.926
          limit       20
          efficiency  74 %
        """
        one, many = number(float(self.serial)), number(float(self.parallel))
        law = (
            f"1 / ({one} + {many} / {self.processors})"
            if self.law == "amdahl"
            else f"{one} + {many} * {self.processors}"
        )
        return [
            f"speedup     {law} = {number(self.speedup)}",
            f"limit       {number(self.limit)}",
            f"efficiency  {part_of_all(self.efficiency)}",
        ]

    def _in_kind(self, value: Fraction) -> Any:
        """A Fraction beside a number of processors, a formula beside a symbol."""
        return value if is_concrete(self.processors) else as_expression(value)


def amdahl(parallel: Any, processors: Any) -> Speedup:
    """Amdahl's law (1967): the same work on n processors, 1 / ((1 - p) + p / n); p is the parallel share of the time.

    >>> amdahl(0.95, 8).limit
    20.0
    >>> amdahl(0.5, "n").speedup
    n/(n/2 + 1/2)
    """
    return _speedup("amdahl", parallel, processors)


def gustafson(parallel: Any, processors: Any) -> Speedup:
    """Gustafson's law (1988): more work in the same time, (1 - p) + p n; p is the parallel share on n processors.

    >>> gustafson(0.95, 8).speedup  # 0.05 + 0.95 * 8
    7.65
    """
    return _speedup("gustafson", parallel, processors)


def _speedup(law: str, parallel: Any, processors: Any) -> Speedup:
    found = exact(parallel, f"{law}: parallel", DimensionError)
    if found > 1:
        raise DimensionError(f"{law}: parallel = {parallel}: expected a share of 0 to 1")
    return Speedup(law, found, size(processors, f"{law}: processors"))
