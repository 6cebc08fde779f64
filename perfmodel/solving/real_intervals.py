"""For which values of a positive real unknown (a bandwidth, a peak, a clock) a relation holds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import sympy

from perfmodel.expressions.relations import Relation
from perfmodel.solving.exactly import holds_at
from perfmodel.solving.integers import edges_of
from perfmodel.solving.pieces import between

RealIntervals = tuple[tuple[Any, Any], ...]


def by_roots(relation: Relation, unknown: sympy.Symbol) -> tuple[RealIntervals, list[Any]]:
    """The intervals of positive reals, with their ends as exact numbers, and the crossings.

    >>> b = sympy.Symbol("b", positive=True)
    >>> by_roots(Relation(12 / b, "<=", sympy.S(4)), b)
    (((3, oo),), [3])
    """
    cuts, crossings = edges_of(relation, unknown, sympy.S.Zero)
    edges = [sympy.S.Zero, *cuts, sympy.oo]
    found: list[tuple[Any, Any]] = []
    for low, high in pairwise(edges):
        at_low = low != 0 and (relation.holds(0) if low in crossings else holds_at(relation, unknown, low))
        if holds_at(relation, unknown, between(low, high)):
            if at_low and found and found[-1][1] == low:
                found[-1] = (found[-1][0], high)
            else:
                found.append((low, high))
        elif at_low and not (found and found[-1][1] == low):
            found.append((low, low))  # the two sides touch
    return tuple(found), crossings
