"""Why a relation holds nowhere: where its sides are equal, where they pass each other, or what they are at the ends."""

from __future__ import annotations

from typing import Any

import sympy

from perfmodel.expressions.relations import Relation
from perfmodel.solving.exactly import difference_at
from perfmodel.solving.integers import by_bisection, nearly_floor
from perfmodel.solving.solutions import MONOTONE

_MOST_SAID = 3  # crossings with the whole numbers beside them
_LONGEST = 40  # letters of a crossing that is said exactly


def never(
    relation: Relation,
    unknown: sympy.Symbol,
    crossings: list[Any],
    ends: tuple[Any, Any] = (1, None),
    method: str = "",
    nothing: str = "",
) -> str:
    """Why there is no value from the first to the last end (None: without end).

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> never(Relation(3 * n, "==", sympy.S(10)), n, [sympy.Rational(10, 3)]).split(": ")[1]
    'its sides are equal at n = 10/3 = 3.33333, 9 against 10 at 3, 12 against 10 at 4'
    """
    ranged = "no whole number" if ends[1] is None else f"no value of {ends[0]} .. {ends[1]}"
    said = f"{nothing or ranged} satisfies {relation}"
    if crossings:
        where = "; ".join(_crossing(relation, unknown, each) for each in crossings[:_MOST_SAID])
        more = f"; and at {len(crossings) - _MOST_SAID} more" if len(crossings) > _MOST_SAID else ""
        return f"{said}: its sides are equal at {where}{more}"
    if method == MONOTONE and relation.sign == "==":
        passed = _passing(relation, unknown)
        if passed is not None:
            ends = (passed, passed + 1)
    told = [f"{sides} at {unknown} = {end}" for end in ends if end and (sides := _sides_at(relation, unknown, end))]
    return said + (f": the sides are {' and '.join(told)}" if told else "")


def _passing(relation: Relation, unknown: sympy.Symbol) -> int | None:
    """The last whole number before monotone sides pass each other."""
    below, _ = by_bisection(relation._replace(sign="<="), unknown, 1, None)
    if not below:
        return None
    first, last = below[0]
    return last if last is not None else first - 1 or None


def _crossing(relation: Relation, unknown: sympy.Symbol, value: Any) -> str:
    """A crossing exactly, and the sides at the whole numbers around it where it is none."""
    exactly, nearly = str(value), str(sympy.N(value, 6))
    said = nearly if len(exactly) > _LONGEST else exactly if sympy.S(value).is_Integer else f"{exactly} = {nearly}"
    if not unknown.is_integer:
        return f"{unknown} = {said}"
    if sympy.S(value).is_Integer:
        return f"{unknown} = {said}, and not beyond"
    around = [nearly_floor(value), nearly_floor(value) + 1]
    beside = [f"{sides} at {each}" for each in around if each > 0 and (sides := _sides_at(relation, unknown, each))]
    return ", ".join([f"{unknown} = {said}", *beside])


def _sides_at(relation: Relation, unknown: sympy.Symbol, value: Any) -> str:
    """Both sides at a value as numbers; nothing where one has none."""
    both = (relation.left, relation.right)
    sides = [difference_at(Relation(side, "==", sympy.S.Zero), unknown, sympy.Integer(value)) for side in both]
    return "" if None in sides else " against ".join([_number(side) for side in sides])


def _number(side: Any) -> str:
    return str(side) if side.is_Integer and abs(side) < 10**15 else str(sympy.N(side, 6))
