"""The exponents of a bound: a small linear program over projections, solved exactly.

A set V of points of labels projects onto each array j as the set of its elements that V touches. For exponents
s_j >= 0 that sum to at least 1 over the arrays that have any one label, |V| <= prod_j |V_j|^s_j (a discrete
Hoelder-Brascamp-Lieb inequality for projections onto coordinates; Christ, Demmel, Knight, Scanlon and Yelick,
"Communication lower bounds and optimal algorithms for programs that reference arrays", UCB/EECS-2013-61; for
three matrices it is Loomis and Whitney's inequality, used so by Irony, Toledo and Tiskin, 2004).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

Row = tuple[Fraction, ...]
_SWEEPS, _HALVINGS, _FLAT = 200, 60, 1e-13


@lru_cache(maxsize=256)
def exponents(projections: tuple[frozenset[str], ...]) -> Row:
    """The exponents of least sum, one for each array's set of labels; of those, the ones of the largest bound.

    Among exponents of one sum the bound is larger where ``prod s_j^s_j`` is smaller. Any exponents that meet the
    constraints give a true bound, so where the best are irrational a rational point near them stands.

    >>> [str(s) for s in exponents((frozenset("mk"), frozenset("kn"), frozenset("mn")))]
    ['1/2', '1/2', '1/2']
    >>> [str(s) for s in exponents((frozenset("ijk"), frozenset("ir"), frozenset("jr"), frozenset("kr")))]
    ['2/3', '1/3', '1/3', '1/3']
    """
    rows = _constraints(projections)
    corners = [s for s in _corners(rows, len(projections)) if _meets(s, rows)]
    least = min(map(sum, corners))
    face = sorted({s for s in corners if sum(s) == least})
    return face[0] if len(face) == 1 else _spread(face, rows, Fraction(least))


def _constraints(projections: Sequence[frozenset[str]]) -> list[Row]:
    """One row of 0 and 1 a label, without those that another implies."""
    labels = sorted(frozenset().union(*projections))
    holders = {frozenset(j for j, found in enumerate(projections) if label in found) for label in labels}
    needed = [held for held in holders if not any(other < held for other in holders)]
    return [tuple([Fraction(j in held) for j in range(len(projections))]) for held in sorted(needed, key=sorted)]


def _meets(s: Sequence[Fraction], rows: Sequence[Row]) -> bool:
    return min(s) >= 0 and all(_dot(row, s) >= 1 for row in rows)


def _dot(row: Sequence[Fraction], s: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(row, s, strict=True)), Fraction(0))


def _corners(rows: Sequence[Row], count: int) -> Iterator[Row]:
    """The points where as many constraints are tight as there are arrays."""
    walls = [(row, Fraction(1)) for row in rows]
    walls += [(tuple([Fraction(j == place) for j in range(count)]), Fraction(0)) for place in range(count)]
    for chosen in combinations(walls, count):
        found = _solved([[*row, right] for row, right in chosen])
        if found is not None:
            yield found


def _solved(matrix: list[list[Fraction]]) -> Row | None:
    """The solution of a square linear system, its right side last, or None where it is not unique."""
    count = len(matrix)
    for place in range(count):
        pivot = next((row for row in range(place, count) if matrix[row][place]), None)
        if pivot is None:
            return None
        matrix[place], matrix[pivot] = matrix[pivot], matrix[place]
        top = [value / matrix[place][place] for value in matrix[place]]
        matrix[place] = top
        for row in range(count):
            factor = matrix[row][place]
            if row != place and factor:
                matrix[row] = [value - factor * above for value, above in zip(matrix[row], top, strict=True)]
    return tuple([row[-1] for row in matrix])


def _spread(face: list[Row], rows: list[Row], least: Fraction) -> Row:
    """The point of the face where ``prod s^s`` is smallest, or a rational point beside it."""
    weights = _best_weights([[float(value) for value in corner] for corner in face])
    near = [math.fsum(w * c for w, c in zip(weights, column, strict=True)) for column in zip(*face, strict=True)]
    found = []
    for digits in (12, 144, 1728):
        s = tuple([Fraction(value).limit_denominator(digits) for value in near])
        found += [s] if sum(s) == least and _meets(s, rows) else []
    whole = [round(w * 1024) for w in weights]
    if sum(whole):
        parts = [Fraction(w, sum(whole)) for w in whole]
        found.append(tuple([_dot(parts, column) for column in zip(*face, strict=True)]))
    best = min(_log_product(s) for s in found)
    return next(s for s in found if _log_product(s) <= best + _FLAT)


def _log_product(s: Sequence[Fraction]) -> float:
    """The logarithm of ``prod s^s``, where 0^0 is 1."""
    return math.fsum(float(value) * math.log(value) for value in s if value)


def _best_weights(corners: list[list[float]]) -> list[float]:
    """Weights of corners whose mean has the least ``sum s ln s`` (convex): weight moves between pairs till it rests."""
    weights = [1 / len(corners)] * len(corners)
    pairs = list(combinations(range(len(corners)), 2))
    for _ in range(_SWEEPS):
        moves = [_moved(weights, corners, *pair) for pair in pairs]
        if max(moves) < 1e-12:
            break
    return weights


def _moved(weights: list[float], corners: list[list[float]], i: int, j: int) -> float:
    """Move weight from corner i to corner j (or back) to where the slope is nought; how much was moved."""
    slope = [b - a for a, b in zip(corners[i], corners[j], strict=True)]
    now = [sum(w * c for w, c in zip(weights, column, strict=True)) for column in zip(*corners, strict=True)]
    low, high = -weights[j], weights[i]

    def rising(step: float) -> bool:
        values = [(value + step * d, d) for value, d in zip(now, slope, strict=True) if d]
        return sum(d * math.log(max(value, 1e-300)) for value, d in values) > 0

    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) else (middle, high)
    step = (low + high) / 2
    weights[i], weights[j] = max(weights[i] - step, 0.0), max(weights[j] + step, 0.0)
    return abs(step)
