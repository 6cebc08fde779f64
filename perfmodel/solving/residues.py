"""Relations that hold ceilings, floors and remainders, solved in each residue class of the unknown.

With ``n = P t + r`` and P a multiple of what ceilings divide by, each of them is a polynomial in t: ``ceil(n/128)`` is
``t + 1`` in every class of 128. ``Max``, ``Min`` and ``Piecewise`` are cut where their arguments cross. So each class
is solved exactly, by the signs of polynomials, without end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import sympy

from perfmodel.expressions.relations import CLOSE, Relation
from perfmodel.expressions.remainders import Mod
from perfmodel.solving.patterns import Run, combine, tidy
from perfmodel.solving.pieces import NotRational
from perfmodel.solving.polynomials import Poly, plus, sign_runs, times

MOST_CLASSES = 2**14
_MOST_WORK = 2**17  # parts of a formula in all classes: some seconds
_MOST_PIECES = 2**9
_HIGHEST_DEGREE = 24


class Part(NamedTuple):
    """The quotient of polynomials in t that a formula is from ``first`` to ``last``.

    >>> Part(0, None, (1, 1), (2,)).top
    (1, 1)
    """

    first: int
    last: int | None
    top: Poly
    bottom: Poly


def by_residues(relation: Relation, unknown: sympy.Symbol) -> tuple[Run, ...]:
    """Where a relation holds among the whole numbers, exactly and without end; ``NotRational`` where it has no classes.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> by_residues(Relation(64 * sympy.ceiling(n / 64), "==", n), n)
    (Run(first=1, last=None, period=64, mask=1),)
    """
    if relation.rounded:
        return _rounded(relation, unknown)
    period = period_of(relation.difference)
    if period > MOST_CLASSES or work_of(relation) > _MOST_WORK:
        raise NotRational(f"{period} residue classes")
    toggles: dict[int, int] = {}
    for rest in range(1, period + 1):
        bit = 1 << (rest % period)
        for first, last in _held(relation, unknown, period, rest):
            toggles[first] = toggles.get(first, 0) ^ bit
            if last is not None:
                toggles[last + 1] = toggles.get(last + 1, 0) ^ bit
    return tidy(_blocks(toggles, period))


def work_of(relation: Relation) -> int:
    """How many parts its formula has in all classes.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> work_of(Relation(n % 4, "==", sympy.S.One))  # -1 + n % 4 has five parts
    20
    """
    return period_of(relation.difference) * sum(1 for _ in sympy.preorder_traversal(relation.difference))


def _rounded(relation: Relation, unknown: sympy.Symbol) -> tuple[Run, ...]:
    """Beside a fraction sides within 1e-12 of each other, for the larger one's size, are equal: two relations."""
    left, sign, right, _ = relation
    sides = [left, right] if left.is_nonnegative and right.is_nonnegative else [left, -left, right, -right]
    room = CLOSE * sympy.Max(*sides)
    low = by_residues(Relation(left - right - room, "<=", sympy.S.Zero), unknown)
    high = by_residues(Relation(right - left - room, "<=", sympy.S.Zero), unknown)
    both: dict[str, Callable[[list[int], int], int]] = {
        "<=": lambda masks, full: masks[0],
        ">=": lambda masks, full: masks[1],
        "<": lambda masks, full: full & ~masks[1],
        ">": lambda masks, full: full & ~masks[0],
        "==": lambda masks, full: masks[0] & masks[1],
    }
    return combine([low, high], both[sign])


def _blocks(toggles: dict[int, int], period: int) -> list[Run]:
    """Runs of whole periods in which the same classes hold."""
    found, mask = [], 0
    cuts = sorted(toggles)
    for place, cut in enumerate(cuts):
        mask ^= toggles[cut]
        last = period * cuts[place + 1] if place + 1 < len(cuts) else None
        if mask:
            found.append(Run(period * cut + 1, last, period, mask))
    return found


def _held(relation: Relation, unknown: sympy.Symbol, period: int, rest: int) -> Iterator[tuple[int, int | None]]:
    """The t from 0 on for which ``period * t + rest`` satisfies the relation."""
    for part in _Classes(unknown, period, rest).form(relation.difference):
        for first, last, sign in _signs(part):
            if sign is not None and relation.holds(sign):
                yield first, last


def _signs(part: Part) -> Iterator[tuple[int, int | None, int | None]]:
    """The signs of a quotient; None where it divides by 0."""
    for first, last, below in sign_runs(part.bottom, part.first, part.last):
        for start, stop, above in sign_runs(part.top, first, last):
            yield start, stop, above * below if below else None


def period_of(expr: sympy.Expr) -> int:
    """A number after which all the ceilings, floors and remainders of a formula repeat.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> period_of(sympy.ceiling(n / 6) + n % 4), period_of(sympy.ceiling(sympy.ceiling(n / 2) / 3))
    (12, 6)
    """
    inner = math.lcm(*[period_of(each) for each in expr.args])
    if isinstance(expr, (sympy.ceiling, sympy.floor)):
        return inner * divided(expr.args[0])
    if isinstance(expr, (sympy.Mod, Mod)):
        return inner * divided(expr.args[0] / expr.args[1])
    return inner


def divided(expr: sympy.Expr) -> int:
    """What the coefficients of a formula are divided by: it is a multiple of 1 over that at whole numbers.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> divided(n / 6 + n**2 / 4)
    12
    """
    if expr.is_Rational:
        return int(expr.q)
    if isinstance(expr, (sympy.ceiling, sympy.floor)):
        return 1
    if isinstance(expr, sympy.Pow) and expr.exp.is_Integer:
        return int(divided(expr.base) ** abs(int(expr.exp)))
    parts = [divided(each) for each in expr.args]
    found: int = math.prod(parts) if isinstance(expr, sympy.Mul) else math.lcm(*parts)
    return found


class _Classes:
    """The formulas of one residue class, as parts in t."""

    def __init__(self, unknown: sympy.Symbol, period: int, rest: int) -> None:
        self.unknown, self.period, self.rest = unknown, period, rest
        self.known: dict[Any, list[Part]] = {}

    def form(self, expr: sympy.Expr) -> list[Part]:
        """A formula as its parts, ascending."""
        if expr not in self.known:
            self.known[expr] = self._form(expr)
        return self.known[expr]

    def _form(self, expr: sympy.Expr) -> list[Part]:
        if expr == self.unknown:
            return [Part(0, None, (self.rest, self.period), (1,))]
        if expr.is_Rational:
            return [Part(0, None, (int(expr.p),), (int(expr.q),))]
        if isinstance(expr, (sympy.Add, sympy.Mul, sympy.Max, sympy.Min)):
            join = {sympy.Add: _sum, sympy.Mul: _product, sympy.Max: _larger, sympy.Min: _smaller}[expr.func]
            found = self.form(expr.args[0])
            for each in expr.args[1:]:
                found = _joined(found, self.form(each), join)
            return found
        if isinstance(expr, sympy.Pow) and expr.exp.is_Integer:
            return self._power(expr)
        if isinstance(expr, (sympy.ceiling, sympy.floor)):
            up = isinstance(expr, sympy.ceiling)
            return [_rounded_to_whole(each, up) for each in self.form(expr.args[0])]
        if isinstance(expr, (sympy.Mod, Mod)) and expr.args[1].is_Rational and expr.args[1] > 0:
            value, step = self.form(expr.args[0]), expr.args[1]
            whole = [_rounded_to_whole(_scaled(each, 1 / step), up=False) for each in value]
            return _joined(value, [_scaled(each, -step) for each in whole], _sum)
        if isinstance(expr, sympy.Piecewise):
            return self._piecewise(list(expr.args))
        raise NotRational(str(expr))

    def _power(self, expr: Any) -> list[Part]:
        base, power = self.form(expr.base), int(expr.exp)
        if abs(power) > _HIGHEST_DEGREE:
            raise NotRational(str(expr))
        found = [Part(0, None, (1,), (1,))]
        for _ in range(abs(power)):
            found = _joined(found, base, _product)
        return found if power > 0 else [Part(each.first, each.last, each.bottom, each.top) for each in found]

    def _piecewise(self, branches: list[Any]) -> list[Part]:
        (value, condition), *others = branches
        if condition == sympy.true:
            return self.form(value)
        if not others or not isinstance(condition, sympy.core.relational.Relational):
            raise NotRational(str(condition))
        asked = Relation(condition.lhs, condition.rel_op, condition.rhs)
        if asked.sign not in ("<=", ">=", "<", ">", "=="):
            raise NotRational(str(condition))
        told = [
            Part(first, last, (int(sign is not None and asked.holds(sign)),), (1,))
            for part in self.form(asked.difference)
            for first, last, sign in _signs(_never_zero(part))
        ]
        first, second = self.form(value), self._piecewise(others)
        either = _joined(_joined(told, first, _if), _joined(told, second, _unless), _sum)
        return either


def _joined(ones: list[Part], others: list[Part], join: Callable[[Part, Part], Iterator[Part]]) -> list[Part]:
    """Two formulas joined, on each range where both are one quotient."""
    if len(ones) == len(others) == 1:
        return list(join(ones[0], others[0]))
    found: list[Part] = []
    place = beside = 0
    while place < len(ones) and beside < len(others):
        one, other = ones[place], others[beside]
        first = max(one.first, other.first)
        last = one.last if other.last is None else other.last if one.last is None else min(one.last, other.last)
        found += join(one._replace(first=first, last=last), other._replace(first=first, last=last))
        place, beside = place + (one.last == last), beside + (other.last == last)
    if len(found) > _MOST_PIECES or any(len(each.top) + len(each.bottom) > 2 * _HIGHEST_DEGREE for each in found):
        raise NotRational("too many pieces")
    return found


def _sum(one: Part, other: Part) -> Iterator[Part]:
    if one.bottom == other.bottom:
        yield one._replace(top=plus(one.top, other.top))
    else:
        top = plus(times(one.top, other.bottom), times(other.top, one.bottom))
        yield one._replace(top=top, bottom=times(one.bottom, other.bottom))


def _product(one: Part, other: Part) -> Iterator[Part]:
    yield one._replace(top=times(one.top, other.top), bottom=times(one.bottom, other.bottom))


def _if(told: Part, part: Part) -> Iterator[Part]:
    yield part if told.top[0] else part._replace(top=(0,), bottom=(1,))


def _unless(told: Part, part: Part) -> Iterator[Part]:
    yield part._replace(top=(0,), bottom=(1,)) if told.top[0] else part


def _larger(one: Part, other: Part, largest: bool = True) -> Iterator[Part]:
    (apart,) = _sum(_never_zero(one), _scaled(_never_zero(other), sympy.S.NegativeOne))
    for first, last, sign in _signs(apart):
        yield (one if ((sign or 0) >= 0) is largest else other)._replace(first=first, last=last)


def _smaller(one: Part, other: Part) -> Iterator[Part]:
    yield from _larger(one, other, largest=False)


def _never_zero(part: Part) -> Part:
    if len(part.bottom) > 1 and any(sign == 0 for _, _, sign in sign_runs(part.bottom, part.first, part.last)):
        raise NotRational("a comparison of what divides by zero")
    return part


def _scaled(part: Part, by: Any) -> Part:
    return part._replace(top=times(part.top, (int(by.p),)), bottom=times(part.bottom, (int(by.q),)))


def _rounded_to_whole(part: Part, up: bool) -> Part:
    """The ceiling or the floor of a part, where all but its constant are whole."""
    if len(part.bottom) > 1:
        raise NotRational("the ceiling of a quotient")
    divisor = part.bottom[0]
    top, divisor = (part.top, divisor) if divisor > 0 else (times(part.top, (-1,)), -divisor)
    if any(each % divisor for each in top[1:]):
        raise NotRational("a ceiling that does not repeat")
    constant = -(-top[0] // divisor) if up else top[0] // divisor
    return part._replace(top=(constant, *(each // divisor for each in top[1:])), bottom=(1,))
