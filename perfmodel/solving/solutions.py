"""What ``solve`` returns: for which values of the unknown a relation holds, how that was found, or why nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from perfmodel.errors import SolveError
from perfmodel.showing import Text, plain, plain_dict
from perfmodel.solving.relations import Relation

CLOSED, MONOTONE, EXHAUSTIVE, ALGEBRA = "closed form", "monotone search", "exhaustive search", "algebra"


@dataclass(frozen=True, slots=True, repr=False)
class Solution:
    """The values of one unknown for which a relation holds.

    ``intervals`` are first and last value (None is without end, or above 0 for a real unknown), ``values`` the real
    crossings of the two sides, ``least`` the smallest value that holds, ``expression`` the answer as a sympy relation,
    ``method`` how it was found and ``searched`` the range where it was by trying, ``reason`` why there is none.

    >>> from perfmodel import matmul, solve
    >>> found = solve(matmul("n", "n", "n"), "h100-sxm", "n", bound="compute")
    >>> int(found), found.expression, found.method
    (886, n >= 886, 'closed form')
    """

    made: str
    unknown: sympy.Symbol
    relation: Relation
    method: str
    intervals: tuple[tuple[Any, Any], ...] = ()
    values: tuple[Any, ...] = ()
    expression: Any = sympy.false
    reason: str = ""
    searched: tuple[int, int] | None = None

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
        """The largest value for which it holds, None where there is no end; ``SolveError`` where there is none.

        >>> from perfmodel import matmul, solve
        >>> solve(matmul("n", "n", "n"), "h100-sxm", "n", fits=True).most  # 6 n^2 <= 80 GiB
        119651
        """
        return self._end(1)

    def _end(self, side: int) -> Any:
        if not self.intervals:
            raise SolveError(f"{self.made}: {self.reason or f'the answer is the formula {self.expression}'}")
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
        return str(sympy.latex(self.expression))

    def _repr_latex_(self) -> str:
        return f"${self.latex}$"

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
        lines: list[tuple[str, Any]] = [("holds", self.relation)]
        if self.values:
            lines.append(("equal at", ", ".join(f"{self.unknown} = {_short(each)}" for each in self.values)))
        lines.append(("answer", self.reason if not self else self.expression))
        searched = "" if self.searched is None else f" of {self.searched[0]} .. {self.searched[1]}"
        lines.append(("method", f"{self.method}{searched}"))
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
                "reason": self.reason,
            }
        )

    def __repr__(self) -> str:
        answer = self.expression if self else self.reason
        return f"{self.made}\n# {answer}; {self.method}"


def _short(value: Any) -> str:
    """A crossing to four digits, or its formula."""
    return f"{float(value):.4g}" if sympy.sympify(value).is_number else str(value)


def _plain(value: Any) -> Any:
    """An end as an int, a float or None, a formula as text."""
    if value is None or isinstance(value, int):
        return value
    found = sympy.sympify(value)
    if found is sympy.oo:
        return None
    if found.is_Integer:
        return int(found)
    return float(found) if found.is_number else plain(found)


def whole_answer(unknown: sympy.Symbol, intervals: tuple[tuple[int, int | None], ...]) -> Any:
    """Intervals of whole numbers as a relation.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> whole_answer(n, ((1, 4), (9, None)))
    (n >= 9) | (n <= 4)
    """
    return sympy.Or(*[_between(unknown, first, last) for first, last in intervals])


def real_answer(unknown: sympy.Symbol, intervals: tuple[tuple[Any, Any], ...], strict: bool) -> Any:
    """Intervals of a positive real as a relation, their ends in it unless the relation is strict.

    >>> b = sympy.Symbol("b", positive=True)
    >>> real_answer(b, ((sympy.S(3), sympy.oo),), strict=False)
    b >= 3
    """
    return sympy.Or(*[_real_between(unknown, low, high, strict) for low, high in intervals])


def _real_between(unknown: sympy.Symbol, low: Any, high: Any, strict: bool) -> Any:
    above, below = (sympy.Gt, sympy.Lt) if strict else (sympy.Ge, sympy.Le)
    if low == high:
        return sympy.Eq(unknown, low)
    parts = [] if low == 0 else [above(unknown, low)]
    return sympy.And(*parts, *([] if high is sympy.oo else [below(unknown, high)]))


def _between(unknown: sympy.Symbol, first: int, last: int | None) -> Any:
    if first == last:
        return sympy.Eq(unknown, first)
    above, below = sympy.Ge(unknown, first, evaluate=False), sympy.Le(unknown, last or 0, evaluate=False)
    if last is None:
        return above
    return below if first == 1 else sympy.And(above, below)
