"""Pairs in a band and in chunks, in closed form: the arithmetic under ``masks``.

A band holds the pairs (row i, column j) with ``-left <= j - i - offset <= right``. The pairs with
``j - i <= x`` are the sum over the rows of ``i + x + 1`` clamped to 0..columns. That is a sum of
arithmetic series, and with ``R(x) = x (x + 1) / 2`` for x > 0, else 0, it closes to

    F(x) = R(rows + x) - R(x) - R(rows + x - columns) + R(x - columns)

so that a band is ``F(offset + right) - F(offset - left - 1)``. Chunks cut the diagonal into
squares: whole ones, which all hold the same pairs, and the rectangle of the last one begun.

``Max`` and ``Min`` are built here where nothing is known of their arguments' order, so sympy is
told not to look for one again: that search is all but a fortieth of their cost.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy

from perfmodel.expressions import Size, as_size, floor_div, product, remainder, scaled, total


def at_most(smaller: Size, greater: Size) -> bool:
    """Whether one size is known not to exceed the other, whatever the symbols are.

    >>> n, m = sympy.symbols("n m", integer=True, positive=True)
    >>> at_most(n, 2 * n), at_most(n, m), at_most(positive_part(n - m), n)
    (True, False, True)
    """
    if isinstance(smaller, sympy.Max):
        return all(at_most(argument, greater) for argument in smaller.args)
    gap = greater - smaller
    return gap >= 0 if isinstance(gap, int) else gap.is_nonnegative is True


def positive_part(value: Size) -> Size:
    """The value where it is positive, else 0; a ``Max`` only where the sign is not known.

    >>> n, m = sympy.symbols("n m", integer=True, positive=True)
    >>> positive_part(-3), positive_part(n), positive_part(-n), positive_part(n - m)
    (0, n, 0, Max(0, -m + n))
    """
    if isinstance(value, int):
        return max(value, 0)
    if value.is_nonnegative:
        return as_size(value)
    return 0 if value.is_nonpositive else _extreme(sympy.Max, 0, value)


def least(*sizes: Size) -> Size:
    """The smallest size; a ``Min`` only of those of which none is known to be the smallest.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> least(n, n + 3), least(n, 8, 9), least(4, 8)
    (n, Min(8, n), 4)
    """
    kept: list[Size] = []
    for one in sizes:
        if not any(at_most(other, one) for other in kept):
            kept = [*(other for other in kept if not at_most(one, other)), one]
    return kept[0] if len(kept) == 1 else _extreme(sympy.Min, *kept)


def greatest(one: Size, other: Size) -> Size:
    """The larger of two sizes; a ``Max`` only where it is not known which that is.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> greatest(n, n + 3), greatest(n, 8)
    (n + 3, Max(8, n))
    """
    if at_most(one, other):
        return other
    return one if at_most(other, one) else _extreme(sympy.Max, one, other)


@lru_cache(maxsize=1024)
def _extreme(kind: Any, *values: Size) -> Size:
    """A ``Max`` or ``Min`` of values whose order is not known."""
    return kind(*values, evaluate=False)


def series(before: Size, count: Size) -> Size:
    """The sum of the ``count`` integers after ``before``, those below 0 as 0: R(before + count) - R(before).

    >>> series(0, 4), series(2, 3), series(-2, 4)  # 1 + 2 + 3 + 4; 3 + 4 + 5; 0 + 0 + 1 + 2
    (10, 12, 3)
    """
    if at_most(0, before):
        return _half(count, 2 * before + count + 1)
    return total([_triangle(before + count), scaled(_triangle(before), -1)])


def _triangle(value: Size) -> Size:
    """R(value): ``1 + 2 + ... + value``, and 0 where the value is not positive."""
    side = positive_part(value)
    return _half(side, side + 1)


def _half(one: Size, other: Size) -> Size:
    """Half of the product of two sizes, one of which is even."""
    if isinstance(one, int) and isinstance(other, int):
        return one * other // 2
    return sympy.Mul(sympy.Rational(1, 2), one, other)


def band_pairs(left: Size | None, right: Size | None, rows: Size, columns: Size, offset: Size = 0) -> Size:
    """The pairs with ``-left <= j - i - offset <= right`` (None: no limit on that side).

    >>> band_pairs(None, 0, 3, 3), band_pairs(1, 1, 3, 3)  # a triangle; a diagonal of 3 and two of 2
    (6, 7)
    """
    before = 0 if left is None else _pairs_up_to(offset - left - 1, rows, columns)
    below = product([rows, columns]) if right is None else _pairs_up_to(offset + right, rows, columns)
    return total([below, scaled(before, -1)])


def _pairs_up_to(distance: Size, rows: Size, columns: Size) -> Size:
    """The pairs with ``j - i <= distance``: F of the module's text."""
    return total([series(distance, rows), scaled(series(distance - columns, rows), -1)])


def chunk_pairs(left: Size | None, right: Size | None, chunk: Size, rows: Size, keys: Size) -> Size:
    """The pairs of rows at positions 0, 1, ... with the keys in the band that share their chunk.

    >>> chunk_pairs(None, None, 4, 10, 10)  # two whole chunks of 4, and one of 2
    36
    >>> chunk_pairs(None, 0, 4, 10, 10)  # two triangles of 4, and one of 2
    23
    """
    left, right = _reach_inside(left, chunk), _reach_inside(right, chunk)
    square = band_pairs(left, right, chunk, chunk)
    whole, last_rows, last_keys = _cut(chunk, rows, keys, causal=right == 0)
    return total([product([whole, square]), band_pairs(left, right, last_rows, last_keys)])


def _reach_inside(reach: Size | None, chunk: Size) -> Size | None:
    """A reach, or None where it goes to the end of any chunk anyway."""
    return None if reach is None or at_most(chunk, reach + 1) else reach


def _cut(chunk: Size, rows: Size, keys: Size, causal: bool) -> tuple[Size, Size, Size]:
    """How many chunks have all rows and keys, and the rows and keys of the next one."""
    if at_most(rows, keys):
        whole, last_rows = floor_div(rows, chunk), remainder(rows, chunk)
        if causal or rows == keys:  # no row sees past itself: the keys after the last row do not count
            return whole, last_rows, last_rows
        return whole, last_rows, _begun(chunk, keys, whole)
    if at_most(keys, rows):
        whole, last_keys = floor_div(keys, chunk), remainder(keys, chunk)
        return whole, _begun(chunk, rows, whole), last_keys
    whole = least(floor_div(rows, chunk), floor_div(keys, chunk))
    return whole, _begun(chunk, rows, whole), _begun(chunk, keys, whole)


def _begun(chunk: Size, extent: Size, whole: Size) -> Size:
    """What an extent of at least ``whole`` chunks has of the next one: 0 to ``chunk``."""
    rest = as_size(extent - product([whole, chunk]))
    if not isinstance(rest, int) and not rest.is_nonnegative:  # it is, but sympy cannot know
        rest = _extreme(sympy.Max, remainder(extent, chunk), rest)
    return least(chunk, rest)
