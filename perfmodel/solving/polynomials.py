"""Polynomials with whole coefficients at whole numbers: where each is negative, zero or positive, in exact ints."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Poly = tuple[int, ...]  # coefficients, that of 1 first
SignRun = tuple[int, int | None, int]  # first, last (None is without end), sign


def plus(one: Poly, other: Poly) -> Poly:
    """The sum of two polynomials.

    >>> plus((1, 2), (3, -2))
    (4,)
    """
    width = max(len(one), len(other))
    summed = [(one[k] if k < len(one) else 0) + (other[k] if k < len(other) else 0) for k in range(width)]
    while len(summed) > 1 and summed[-1] == 0:
        summed.pop()
    return tuple(summed)


def times(one: Poly, other: Poly) -> Poly:
    """The product of two polynomials.

    >>> times((1, 1), (-1, 1))
    (-1, 0, 1)
    """
    if one == (0,) or other == (0,):
        return (0,)
    found = [0] * (len(one) + len(other) - 1)
    for place, factor in enumerate(one):
        for beside, each in enumerate(other):
            found[place + beside] += factor * each
    return tuple(found)


def value_at(poly: Poly, at: int) -> int:
    """A polynomial at a whole number.

    >>> value_at((1, 0, 2), 10)
    201
    """
    found = 0
    for factor in reversed(poly):
        found = found * at + factor
    return found


def sign_at(poly: Poly, at: int) -> int:
    """-1, 0 or 1.

    >>> [sign_at((-9, 0, 1), at) for at in (2, 3, 4)]
    [-1, 0, 1]
    """
    found = value_at(poly, at)
    return (found > 0) - (found < 0)


def sign_runs(poly: Poly, first: int, last: int | None) -> list[SignRun]:
    """The signs of a polynomial at the whole numbers from first to last, neighbours with one sign together.

    >>> sign_runs((21, -10, 1), 0, None)  # (t - 3)(t - 7)
    [(0, 2, 1), (3, 3, 0), (4, 6, -1), (7, 7, 0), (8, None, 1)]
    """
    if len(poly) == 1:
        return [(first, last, sign_at(poly, first))]
    bound = 2 + max(abs(each) for each in poly[:-1]) // abs(poly[-1])  # no root is larger (Cauchy)
    end = max(first, bound) if last is None else min(last, max(first, bound))
    found: list[SignRun] = []
    cuts = sorted({first, end, *_cuts(poly, first, end)})
    for place, cut in enumerate(cuts):
        _extend(found, cut, cut, sign_at(poly, cut))
        following = cuts[place + 1] if place + 1 < len(cuts) else None
        if following is not None and following > cut + 1:
            _extend(found, cut + 1, following - 1, sign_at(poly, cut + 1))
    if last is None or end < last:
        _extend(found, end + 1, last, sign_at(poly, end + 1))
    return found


def _extend(found: list[SignRun], first: int, last: int | None, sign: int) -> None:
    if found and found[-1][2] == sign:
        found[-1] = (found[-1][0], last, sign)
    else:
        found.append((first, last, sign))


def _cuts(poly: Poly, first: int, last: int) -> Sequence[int]:
    """Whole numbers between which, where they are no neighbours, the polynomial is never 0."""
    if len(poly) == 2:
        root = -poly[0] // poly[1]
        return [each for each in (root, root + 1) if first <= each <= last]
    slope = tuple(place * factor for place, factor in enumerate(poly))[1:]
    turns = sorted({first, last, *_cuts(slope, first, last)})
    found = set(turns)
    for low, high in pairwise(turns):  # between them it only grows, or only falls
        before = sign_at(poly, low)
        if high - low > 1 and before * sign_at(poly, high) < 0:
            near, far = low, high
            while far - near > 1:
                middle = (near + far) // 2
                near, far = (middle, far) if sign_at(poly, middle) == before else (near, middle)
            found |= {each for each in (near, far, far + 1) if each <= last}
    return sorted(found)
