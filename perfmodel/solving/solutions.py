"""What ``solve`` returns: for which values of the unknown a relation holds, how that was found, or why nowhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import sympy

from perfmodel.errors import SolveError
from perfmodel.expressions import LARGEST_SIZE
from perfmodel.expressions.relations import Relation
from perfmodel.showing import Text, plain, plain_dict
from perfmodel.shown import Explained
from perfmodel.solving.answers import (
    MOST_WRITTEN,
    ends_of,
    formula_latex,
    formula_said,
    intervals_said,
    runs_answer,
    runs_said,
    whole_answer,
)
from perfmodel.solving.patterns import MOST_LISTED, Run, Runs, listed, of_intervals

CLOSED, MONOTONE, EXHAUSTIVE, ALGEBRA = "closed form", "monotone search", "exhaustive search", "algebra"
RESIDUES, ENVELOPES = "closed form in residue classes", "closed form with what lies between its envelopes tried"
DOUBLING = "search by doubling"  # exhaustive to the end of a range, and on by powers of two


@dataclass(frozen=True, slots=True, repr=False)
class Solution(Explained):
    """The values of one unknown for which a relation holds.

    ``least`` is the smallest value that holds, which ``int()`` gives too; ``most`` the largest, as of what fits (None
    without end); ``intervals`` all of them, as first and last value (None is without end; a real unknown is above 0).
    ``values`` are the real crossings of the two sides, ``expression`` is the answer as a sympy relation, ``method`` how
    it was found and ``searched`` the range where it was by trying, ``reason`` why there is none.
    ``given`` is what the formulas take for granted (that a loop makes two trips), where the answer rests on it.

    Where values repeat (every sixth one), ``runs`` tells them all, by remainders, and ``intervals`` lists the first
    1000. Where a search ended without a proof of what follows, ``unknown_beyond`` is the last value that it speaks of:
    beyond it nothing is claimed, and ``most`` is None where the last interval ends there.

    >>> from perfmodel import matmul, solve
    >>> found = solve(matmul("n", "n", "n"), "h100-sxm", "n", bound="compute")
    >>> int(found), found.expression, found.method
    (886, n >= 886, 'closed form')
    """

    made: str
    unknown: sympy.Symbol
    relation: Any  # a comparison, or several joined
    method: str
    intervals: tuple[tuple[Any, Any], ...] = ()
    values: tuple[Any, ...] = ()
    expression: Any = sympy.false
    reason: str = ""
    searched: tuple[int, int] | None = None
    given: tuple[Any, ...] = ()
    runs: Runs = ()
    unknown_beyond: int | None = None

    @property
    def pattern(self) -> Runs:
        """The whole numbers for which it holds, as runs that may repeat.

        >>> from perfmodel import solve
        >>> solve("n % 6 == 0", "n").pattern
        (Run(first=1, last=None, period=6, mask=1),)
        """
        return self.runs or of_intervals(self.intervals)

    @property
    def least(self) -> Any:
        """The smallest value for which the relation holds; ``SolveError`` where there is none.

        >>> from perfmodel import matmul, solve
        >>> solve(matmul("n", "n", "n"), "h100-sxm", "n", fits=True).least
        1
        """
        return self._end(0)

    @property
    def most(self) -> Any:
        """The largest value that is known to hold; ``SolveError`` where there is none.

        None where there is no end, and where values hold up to the end of a search that claims nothing beyond.

        >>> from perfmodel import matmul, solve
        >>> solve(matmul("n", "n", "n"), "h100-sxm", "n", fits=True).most  # 6 n^2 <= 80 GiB
        119651
        """
        found = self._end(1)
        if self.runs:
            return ends_of(self.runs[-1])[1]
        return None if found == self.unknown_beyond else found

    def _end(self, side: int) -> Any:
        if not self.intervals:
            raise SolveError(f"{self.made}: {self.answer if not self else f'the answer is the formula {self.answer}'}")
        return self.intervals[0][0] if side == 0 else self.intervals[-1][1]

    def __bool__(self) -> bool:
        return bool(self.intervals) or (self.expression not in (False, sympy.false))

    def __int__(self) -> int:
        return int(sympy.ceiling(self.least))

    def __float__(self) -> float:
        return float(self.least)

    @property
    def latex(self) -> str:
        """The answer in LaTeX.

        >>> from perfmodel import matmul, solve
        >>> solve(matmul("n", "n", "n"), "h100-sxm", "n", bound="compute").latex
        'n \\\\geq 886'
        """
        return formula_latex(self.expression, self.unknown)

    def _repr_latex_(self) -> str:
        return f"${self.latex}$"

    @property
    def answer(self) -> str:
        """The answer in words: where the relation holds, or why nowhere.

        >>> from perfmodel import solve
        >>> solve("3*n >= 10", "n").answer, solve("n*n == 10", "n").answer.split(":")[0]
        ('n >= 4', 'no whole number satisfies n**2 == 10')
        """
        found = self.reason
        if self.runs:
            found = runs_said(self.unknown, self.runs)
        elif self.intervals:
            found = intervals_said(self.unknown, self.intervals, self.expression)
        elif self:
            return formula_said(self.expression, self.unknown)
        if self.unknown_beyond is None:
            return found
        end = power_said(self.unknown_beyond)
        return (
            f"{found} in 1 .. {end}; beyond it nothing is claimed" if self else f"{found}; beyond it nothing is claimed"
        )

    @property
    def how(self) -> str:
        """The method, with the range that was tried.

        >>> from perfmodel import solve
        >>> solve("n == 64*ceil(n/64)", "n", within=(1, 200)).how
        'exhaustive search of 1 .. 200'
        """
        if self.searched is None:
            return self.method
        ranged = f" of {self.searched[0]} .. {power_said(self.searched[1])}"
        word = EXHAUSTIVE if EXHAUSTIVE in self.method else DOUBLING
        return self.method.replace(word, word + ranged, 1) if word in self.method else self.method + ranged

    def explain(self) -> Text:
        """The relation, where its two sides are equal, where it holds, and how that was found.

        >>> from perfmodel import matmul, solve
        >>> print(solve(matmul("n", "n", "n"), "h100-sxm", "n", bound="compute").explain())
        solve(matmul(m=n n=n k=n, bf16), 'h100-sxm', n, bound='compute')
          holds     n**3/494700000000000 >= n**2/558720000000
          equal at  n = 885.4
          answer    n >= 886
          method    closed form
        """
        lines: list[tuple[str, Any]] = [("holds", self.relation)] if _speaks(self.relation) else []
        if self.values:
            lines.append(("equal at", ", ".join(f"{self.unknown} = {_short(each)}" for each in self.values)))
        lines.append(("answer", self.answer))
        if self.given:
            lines.append(("given", " and ".join(map(str, self.given))))
        lines.append(("method", self.how))
        return Text("\n".join([self.made, *(f"  {name:<9} {value}" for name, value in lines)]))

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data.

        >>> from perfmodel import matmul, solve
        >>> solve(matmul("n", "n", "n"), "h100-sxm", "n", bound="compute").to_dict()["least"]
        886
        """
        return plain_dict(
            {
                "unknown": str(self.unknown),
                "relation": str(self.relation),
                "least": self.least if self.intervals else None,
                "intervals": [[_plain(each) for each in pair] for pair in self.intervals],
                "values": [_plain(each) for each in self.values],
                "expression": str(self.expression),
                "method": self.method,
                "searched": None if self.searched is None else list(self.searched),
                "given": [str(each) for each in self.given],
                "reason": self.reason,
                "runs": [_run_dict(run) for run in self.runs],
                "unknown_beyond": self.unknown_beyond,
            }
        )

    def __repr__(self) -> str:
        given = f", given {' and '.join(map(str, self.given))}" if self.given else ""
        return f"{self.made}\n# {self.answer}; {self.how}{given}"


def _speaks(relation: Any) -> bool:
    """Whether a relation is worth a line: where it holds symbols."""
    return not isinstance(relation, Relation) or bool(relation.difference.free_symbols)


def _short(value: Any) -> str:
    """A crossing to four digits, or its formula."""
    return f"{float(value):.4g}" if sympy.sympify(value, strict=True).is_number else str(value)


def _plain(value: Any) -> Any:
    """An end as an int, a float or None, a formula as text."""
    if value is None or isinstance(value, int):
        return value
    found = sympy.sympify(value, strict=True)
    if found is sympy.oo:
        return None
    if found.is_Integer:
        return int(found)
    return float(found) if found.is_number else plain(found)


def _run_dict(run: Run) -> dict[str, Any]:
    first, last = ends_of(run)
    return {"first": first, "last": last, "period": run.period, "remainders": [list(each) for each in run.remainders]}


def power_said(number: int) -> str:
    """A number, as a power of two where it is long and one.

    >>> power_said(2**20), power_said(2**1024)
    ('1048576', '2^1024')
    """
    power = number.bit_length() - 1
    return f"2^{power}" if number > LARGEST_SIZE and number == 2**power else str(number)


def with_pattern(found: Solution, runs: Runs) -> Solution:
    """A solution with other values: intervals where they can be listed, else the runs too.

    >>> from perfmodel import solve
    >>> with_pattern(solve("n % 6 == 0", "n"), (Run(3, 8),)).answer
    '3 <= n <= 8'
    """
    repeats = any(run.period > 1 for run in runs)
    intervals, complete = listed(runs, MOST_LISTED if repeats else len(runs))
    if complete and (not repeats or len(intervals) <= MOST_WRITTEN):
        return replace(found, intervals=intervals, runs=(), expression=whole_answer(found.unknown, intervals))
    return replace(found, intervals=intervals, runs=runs, expression=runs_answer(found.unknown, runs))
