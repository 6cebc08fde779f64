"""What ``solve`` returns: for which values of the unknown a relation holds, how that was found, or why nowhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy

from perfmodel.errors import SolveError
from perfmodel.expressions.relations import Relation
from perfmodel.showing import Text, plain, plain_dict
from perfmodel.shown import Explained

_MOST_WRITTEN = 8  # intervals that are shown one by one
_MOST_SORTED = 256  # intervals whose relations sympy puts in its order

CLOSED, MONOTONE, EXHAUSTIVE, ALGEBRA = "closed form", "monotone search", "exhaustive search", "algebra"
DOUBLING = "search by doubling"  # exhaustive to the end of a range, and on by powers of two


@dataclass(frozen=True, slots=True, repr=False)
class Solution(Explained):
    """The values of one unknown for which a relation holds.

    ``intervals`` are first and last value (None is without end, or above 0 for a real unknown), ``values`` the real
    crossings of the two sides, ``least`` the smallest value that holds, ``expression`` the answer as a sympy relation,
    ``method`` how it was found and ``searched`` the range where it was by trying, ``reason`` why there is none.
    ``given`` is what the formulas take for granted (that a loop makes two trips), where the answer rests on it.

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

    @property
    def answer(self) -> str:
        """The answer in words: where the relation holds, or why nowhere.

        >>> from perfmodel import solve
        >>> solve("3*n >= 10", "n").answer, solve("n*n == 10", "n").answer.split(":")[0]
        ('n >= 4', 'no whole number satisfies n**2 == 10')
        """
        if not self:
            return self.reason
        if not self.intervals:
            return str(self.expression)
        written = [_written(self.unknown, *each, self.expression) for each in self.intervals]
        if len(written) <= _MOST_WRITTEN:
            return " or ".join(written)
        return f"{' or '.join(written[:3])} or ... or {written[-1]}: {len(written)} intervals"

    @property
    def how(self) -> str:
        """The method, with the range that was tried.

        >>> from perfmodel import solve
        >>> solve("n == 64*ceil(n/64)", "n", within=(1, 200)).how
        'exhaustive search of 1 .. 200'
        """
        if self.searched is None:
            return self.method
        ranged = f" of {self.searched[0]} .. {self.searched[1]}"
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
            }
        )

    def __repr__(self) -> str:
        given = f", given {' and '.join(map(str, self.given))}" if self.given else ""
        return f"{self.made}\n# {self.answer}; {self.how}{given}"


def _written(unknown: sympy.Symbol, low: Any, high: Any, expression: Any) -> str:
    """An interval as one writes it: ``n = 8``, ``n <= 8``, ``3 < b <= 8``."""
    if low == high:
        return f"{unknown} = {low}"
    whole = unknown.is_integer
    above = "" if low == (1 if whole else 0) else f"{low} {'<=' if whole or _holds(expression, unknown, low) else '<'} "
    ends = high is None or high is sympy.oo
    below = "" if ends else f" {'<=' if whole or _holds(expression, unknown, high) else '<'} {high}"
    if above and not below:
        return f"{unknown} {above.split()[-1].replace('<', '>')} {low}"
    return f"{above}{unknown}{below}" if below else f"every {unknown}"


def _holds(expression: Any, unknown: sympy.Symbol, value: Any) -> bool:
    """Whether a real answer holds the end of one of its intervals."""
    return bool(expression.xreplace({unknown: value}) == sympy.true)


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


def whole_answer(unknown: sympy.Symbol, intervals: tuple[tuple[int, int | None], ...]) -> Any:
    """Intervals of whole numbers as a relation.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> whole_answer(n, ((1, 4), (9, None)))
    (n >= 9) | (n <= 4)
    """
    if len(intervals) > _MOST_SORTED:
        return _joint(sympy.Or, [_between_unsorted(unknown, first, last) for first, last in intervals])
    if len(intervals) > _MOST_WRITTEN:
        return sympy.Or(*[_between(unknown, *each, plainly=True) for each in intervals], evaluate=False)
    return sympy.Or(*[_between(unknown, first, last) for first, last in intervals])


def _between_unsorted(unknown: sympy.Symbol, first: int, last: int | None) -> Any:
    """An interval without sympy's own ordering of its parts, which takes most of the time of a long answer."""
    ends = ((sympy.Ge, first), (sympy.Le, last))
    parts = [sympy.Basic.__new__(kind, unknown, sympy.Integer(end)) for kind, end in ends if end is not None]
    return _joint(sympy.And, parts) if len(parts) > 1 else parts[0]


def _joint(join: Any, parts: list[Any]) -> Any:
    found = sympy.Basic.__new__(join, *parts)
    found._argset = frozenset(parts)
    return found


def real_answer(
    unknown: sympy.Symbol, intervals: tuple[tuple[Any, Any], ...], holds: Callable[[Any], bool] = lambda end: True
) -> Any:
    """Intervals of a positive real as a relation, with the ends at which it holds.

    >>> b = sympy.Symbol("b", positive=True)
    >>> real_answer(b, ((sympy.S(3), sympy.oo),)), real_answer(b, ((sympy.S(3), sympy.oo),), lambda end: False)
    (b >= 3, b > 3)
    """
    return sympy.Or(*[_real_between(unknown, low, high, holds) for low, high in intervals])


def _real_between(unknown: sympy.Symbol, low: Any, high: Any, holds: Callable[[Any], bool]) -> Any:
    if low == high:
        return sympy.Eq(unknown, low)
    parts = []
    if low != 0:
        parts.append((sympy.Ge if holds(low) else sympy.Gt)(unknown, low))
    if high is not sympy.oo:
        parts.append((sympy.Le if holds(high) else sympy.Lt)(unknown, high))
    return sympy.And(*parts)


def _between(unknown: sympy.Symbol, first: int, last: int | None, plainly: bool = False) -> Any:
    if first == last:
        return sympy.Eq(unknown, first)
    above, below = sympy.Ge(unknown, first, evaluate=False), sympy.Le(unknown, last or 0, evaluate=False)
    if last is None:
        return above
    return below if first == 1 else sympy.And(above, below, evaluate=not plainly)
