"""Answers as sympy relations, and in words: ``n <= 4 or n >= 9``, ``n % 6 == 0``, ``b >= 4*P/(W - P) where P < W``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from perfmodel.expressions.remainders import Mod
from perfmodel.solving.patterns import Run, Runs

MOST_WRITTEN = 8  # intervals that are shown one by one
_MOST_SORTED = 256  # intervals whose relations sympy puts in its order
_MOST_REMAINDERS = 3  # remainders of one period that are shown one by one


def intervals_said(unknown: sympy.Symbol, intervals: tuple[tuple[Any, Any], ...], expression: Any) -> str:
    """Intervals in words.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> intervals_said(n, ((1, 4), (9, None)), None)
    'n <= 4 or n >= 9'
    """
    written = [_written(unknown, *each, expression) for each in intervals]
    if len(written) <= MOST_WRITTEN:
        return " or ".join(written)
    return f"{' or '.join(written[:3])} or ... or {written[-1]}: {len(written)} intervals"


def runs_said(unknown: sympy.Symbol, runs: Runs) -> str:
    """What repeats in words.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> runs_said(n, (Run(1, None, 6, 1),)), runs_said(n, (Run(1, 99, 8, 0b11110),))
    ('n % 6 == 0', '1 <= n % 8 <= 4 and n <= 99')
    """
    written = [_run_written(unknown, run) for run in runs]
    if len(written) == 1:
        return written[0].removeprefix("(").removesuffix(")") if written[0].endswith(")") else written[0]
    if len(written) <= MOST_WRITTEN:
        return " or ".join(written)
    return f"{' or '.join(written[:3])} or ... or {written[-1]}: {len(written)} ranges"


def _run_written(unknown: sympy.Symbol, run: Run) -> str:
    if run.period == 1:
        return _written(unknown, run.first, run.last, None)
    rest = [_remainder(f"{unknown} % {run.period}", *each, run.period) for each in run.remainders]
    said = " or ".join(rest[:_MOST_REMAINDERS])
    if len(rest) > _MOST_REMAINDERS:
        said += f" or ... or {rest[-1]}"
    said = f"({said})" if len(rest) > 1 else said
    first, last = ends_of(run)
    before = Run(1, None, run.period, run.mask).nearest(1, 1)
    above = f" and {unknown} >= {first}" if before != first else ""
    return said + above + (f" and {unknown} <= {last}" if last is not None else "")


def ends_of(run: Run) -> tuple[int, int | None]:
    """The first and the last value of a run.

    >>> ends_of(Run(5, 30, 7, 1))
    (7, 28)
    """
    first = run.nearest(run.first, 1)
    last = None if run.last is None else run.nearest(run.last, -1)
    return run.first if first is None else first, last


def _remainder(name: str, low: int, high: int, period: int) -> str:
    if low == high:
        return f"{name} == {low}"
    if low == 0:
        return f"{name} <= {high}"
    return f"{name} >= {low}" if high == period - 1 else f"{low} <= {name} <= {high}"


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


def whole_answer(unknown: sympy.Symbol, intervals: tuple[tuple[int, int | None], ...]) -> Any:
    """Intervals of whole numbers as a relation.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> whole_answer(n, ((1, 4), (9, None)))
    (n >= 9) | (n <= 4)
    """
    if len(intervals) > _MOST_SORTED:
        return _joint(sympy.Or, [_between_unsorted(unknown, first, last) for first, last in intervals])
    if len(intervals) > MOST_WRITTEN:
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


def runs_answer(unknown: sympy.Symbol, runs: Runs) -> Any:
    """What repeats as a relation.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> runs_answer(n, (Run(1, None, 6, 1),))
    Eq(Mod(n, 6), 0)
    """
    parts = [_run_answer(unknown, run) for run in runs]
    return parts[0] if len(parts) == 1 else _of_several(sympy.Or, parts)


def _of_several(join: Any, parts: list[Any]) -> Any:
    """Parts joined in sympy's order, where they are few."""
    return join(*parts, evaluate=False) if len(parts) <= _MOST_SORTED else _joint(join, parts)


def _run_answer(unknown: sympy.Symbol, run: Run) -> Any:
    first, last = ends_of(run)
    if run.period == 1:
        return _between(unknown, first, last, plainly=True)
    rest = Mod(unknown, run.period)
    kept = [_rest_between(rest, *each, run.period) for each in run.remainders]
    parts = [kept[0] if len(kept) == 1 else _of_several(sympy.Or, kept)]
    if Run(1, None, run.period, run.mask).nearest(1, 1) != first:
        parts.append(sympy.Ge(unknown, first, evaluate=False))
    if last is not None:
        parts.append(sympy.Le(unknown, last, evaluate=False))
    return parts[0] if len(parts) == 1 else _of_several(sympy.And, parts)


def _rest_between(rest: Any, low: int, high: int, period: int) -> Any:
    if low == high:
        return sympy.Eq(rest, low, evaluate=False)
    above, below = sympy.Ge(rest, low, evaluate=False), sympy.Le(rest, high, evaluate=False)
    if low == 0:
        return below
    return above if high == period - 1 else sympy.And(above, below, evaluate=False)


class _Words(StrPrinter):  # type: ignore[misc]  # sympy has no types
    """sympy's text, with a term in front that is not subtracted."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> Any:
        return _ordered(super()._as_ordered_terms(expr, order))


class _Latex(LatexPrinter):  # type: ignore[misc]  # sympy has no types
    """sympy's LaTeX, with a term in front that is not subtracted."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> Any:
        return _ordered(super()._as_ordered_terms(expr, order))


def _ordered(terms: Any) -> Any:
    return sorted(terms, key=lambda each: bool(each.could_extract_minus_sign()))


def formula_said(expression: Any, unknown: sympy.Symbol) -> str:
    """A formula in words: the unknown first, then where that is so.

    >>> b, p, w = sympy.symbols("b p w", positive=True)
    >>> formula_said((b >= 2 * p / (w - p)) & (p < w), b)
    'b >= 2*p/(w - p) where p < w'
    """
    return _joined(expression, unknown, _one_said, (" or ", " and ", " where ", f"every {unknown}"))


def formula_latex(expression: Any, unknown: sympy.Symbol) -> str:
    """A formula in LaTeX.

    >>> b, p, w = sympy.symbols("b p w", positive=True)
    >>> print(formula_latex((b >= 2 * p / (w - p)) & (p < w), b))
    b \\geq \\frac{2 p}{w - p} \\text{ where } p < w
    """
    joins = (*[f" \\text{{ {word} }} " for word in ("or", "and", "where")], f"\\text{{every }} {sympy.latex(unknown)}")
    return _joined(expression, unknown, _Latex().doprint, joins)


def _joined(expression: Any, unknown: sympy.Symbol, said: Callable[[Any], str], joins: tuple[str, ...]) -> str:
    either, both, where, every = joins
    if expression in (sympy.true, sympy.false):
        return every if expression else said(expression)
    if isinstance(expression, sympy.Or):
        cases = [_joined(each, unknown, said, joins) for each in _sorted(expression.args, unknown)]
        return (f",{either}" if any(where in each for each in cases) else either).join(cases)
    parts = _sorted(sympy.And.make_args(expression), unknown)
    asked, rest = ([each for each in parts if each.has(unknown) == own] for own in (True, False))
    written = [both.join(_within(each, unknown, said, joins) for each in side) for side in (asked, rest)]
    return where.join([written[0] or every, *written[1:]]) if rest else written[0]


def _within(part: Any, unknown: sympy.Symbol, said: Callable[[Any], str], joins: tuple[str, ...]) -> str:
    if isinstance(part, (sympy.And, sympy.Or)):
        return f"({_joined(part, unknown, said, joins)})"
    return said(part)


def _sorted(args: Any, unknown: sympy.Symbol) -> list[Any]:
    """Bounds from below, bounds from above, then what does not hold the unknown."""
    return sorted(
        args,
        key=lambda each: (not each.has(unknown), getattr(each, "rel_op", "") in ("<", "<="), each.sort_key()),
    )


def _one_said(relation: Any) -> str:
    if not isinstance(relation, sympy.core.relational.Relational):
        return str(_Words().doprint(relation))
    return f"{_Words().doprint(relation.lhs)} {relation.rel_op} {_Words().doprint(relation.rhs)}"
