"""Which whole numbers a relation holds for: from its pieces in closed form, else by a search that says which.

- closed form: the relation changes only at the roots of polynomials; the whole numbers beside each are tried exactly.
- monotone search: left - right only grows (or only falls) with the unknown, so one bisection finds the edge.
- exhaustive search: every value of a range is tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy

from perfmodel.errors import PerfModelError, SolveError
from perfmodel.expressions import compile_formula
from perfmodel.expressions.relations import CLOSE, Relation
from perfmodel.solving.exactly import difference_at, holds_at
from perfmodel.solving.pieces import pieces_of, poles, roots

MOST_CLOSE = 20_000  # values whose two sides are equal in floats, each decided in exact numbers
FURTHEST = 2**1024  # where a search for the edge of what is monotone gives up
MOST_SUMMED = 2**16  # values of a formula with sums over blocks, each with as many terms as there are blocks
Intervals = tuple[tuple[int, int | None], ...]  # first and last whole number; None is without end


def by_pieces(relation: Relation, unknown: sympy.Symbol, least: int, most: int | None) -> tuple[Intervals, list[Any]]:
    """The intervals of whole numbers, and the real crossings, by roots; ``NotRational`` where there are none to find.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> by_pieces(Relation(n**2, ">=", sympy.S(10)), n, 1, None)
    (((4, None),), [sqrt(10)])
    """
    cuts, crossings = edges_of(relation, unknown, sympy.Rational(2 * least - 1, 2))
    holds = _exactly(relation, unknown)
    found: list[tuple[int, int | None]] = []
    start = least
    for near in sorted({nearly_floor(cut) + beside for cut in cuts for beside in (-1, 0, 1, 2)}):
        for first, last in ((start, near - 1), (near, near)):  # those beside an edge are tried one by one
            if start <= first <= last:
                _extend(found, first, last, holds)
                start = last + 1
    _extend(found, start, None, holds)
    return _limited(joined(found), most), crossings


def nearly_floor(number: Any) -> int:
    """The whole number below a positive number, or its neighbour where a root is within 1e-40 of one.

    >>> nearly_floor(sympy.sqrt(10**60 + 1))
    1000000000000000000000000000000
    """
    digits = len(str(int(sympy.N(number, 15))))
    return int(sympy.floor(sympy.N(number, digits + 40)))


def _extend(found: list[tuple[int, int | None]], first: int, last: int | None, holds: Any) -> None:
    """Add a run of whole numbers between two edges, where its first tells for all of them."""
    if holds(first):
        found.append((first, last))


def edges_of(relation: Relation, unknown: sympy.Symbol, low: Any) -> tuple[list[Any], list[Any]]:
    """Where the relation may change: the ends of its pieces with the crossings between; and the crossings alone.

    >>> n = sympy.Symbol("n", positive=True)
    >>> edges_of(Relation(sympy.Max(n, 4), "<=", sympy.S(9)), n, sympy.S(0))
    ([4, 9], [9])
    """
    pieces = pieces_of(relation.difference, unknown, low)
    crossings = {root for piece in pieces for root in roots(piece.form, unknown, piece.low, piece.high)}
    ends = {piece.low for piece in pieces[1:]}
    ends |= {pole for piece in pieces for pole in poles(piece.form, unknown, piece.low, piece.high)}
    at_ends = {end for end in ends if difference_at(relation, unknown, end) == 0}
    return _ascending(crossings | ends), _ascending(crossings | at_ends)


def _ascending(numbers: Iterable[Any]) -> list[Any]:
    return sorted(numbers, key=lambda number: sympy.N(number, 100))


def _exactly(relation: Relation, unknown: sympy.Symbol) -> Any:
    return lambda value: holds_at(relation, unknown, sympy.Integer(value))


def joined(runs: Iterable[tuple[int, int | None]]) -> Intervals:
    """Ascending intervals, with those that touch as one.

    >>> joined([(1, 1), (2, 4), (6, None)])
    ((1, 4), (6, None))
    """
    found: list[tuple[int, int | None]] = []
    for first, last in runs:
        end = found[-1][1] if found else 0
        if not found or (end is not None and first > end + 1):
            found.append((first, last))
        elif end is not None:
            found[-1] = (found[-1][0], None if last is None else max(end, last))
    return tuple(found)


def _limited(intervals: Intervals, most: int | None) -> Intervals:
    if most is None:
        return intervals
    kept = [(first, most if last is None else min(last, most)) for first, last in intervals if first <= most]
    return tuple(kept)


def is_monotone(relation: Relation, unknown: sympy.Symbol) -> bool:
    """Whether left - right is known to grow only, or to fall only, with the unknown.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> is_monotone(Relation(n * sympy.ceiling(n / 64), "<=", sympy.S(80)), n)
    True
    """
    left, right = (_direction(each, unknown) for each in (relation.left, relation.right))
    return left is not None and right is not None and left * right <= 0 and (left, right) != (0, 0)


def _direction(expr: sympy.Expr, unknown: sympy.Symbol) -> int | None:
    """1 where an expression that is never negative grows with the unknown, -1 where it falls, 0 where it stays."""
    if not expr.has(unknown):
        return 0
    if expr == unknown:
        return 1
    if isinstance(expr, sympy.Pow) and expr.exp.is_number and _keeps_order(expr):
        inner = _direction(expr.base, unknown)
        return None if inner is None else inner if expr.exp > 0 else -inner
    if isinstance(expr, sympy.Mul) and not all(each.is_nonnegative for each in expr.args):
        return None
    if isinstance(expr, sympy.Sum):
        return _direction_of_sum(expr, unknown)
    if isinstance(expr, (sympy.Add, sympy.Mul, sympy.Max, sympy.Min, sympy.ceiling, sympy.floor, sympy.log)):
        found = {_direction(each, unknown) for each in expr.args} - {0}
        return found.pop() if len(found) == 1 else None
    return None


def _keeps_order(power: Any) -> bool:
    """Whether a power has a value, and one direction, wherever its base has."""
    return bool(power.base.is_positive if power.exp < 0 else power.base.is_nonnegative)


def _direction_of_sum(expr: sympy.Sum, unknown: sympy.Symbol) -> int | None:
    """1 where neither the terms, none of them negative, nor their number falls as the unknown grows."""
    parts = [expr.function, *(limit[2] for limit in expr.limits)]
    still = all(not limit[1].has(unknown) for limit in expr.limits)
    grows = all(_direction(part, unknown) in (0, 1) for part in parts)
    return 1 if still and grows and expr.function.is_nonnegative else None


def by_bisection(relation: Relation, unknown: sympy.Symbol, least: int, most: int | None) -> tuple[Intervals, bool]:
    """The intervals where left - right is monotone, and whether they are all.

    The one edge is found by galloping and halving, in exact ints. Where there is none to 2^1024, what follows is open.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> by_bisection(Relation(64 * sympy.ceiling(n / 64), "<=", sympy.S(200)), n, 1, None)
    (((1, 192),), True)
    """
    if relation.sign == "==":
        upper, below = by_bisection(relation._replace(sign="<="), unknown, least, most)
        lower, above = by_bisection(relation._replace(sign=">="), unknown, least, most)
        return common(upper, lower), below and above
    holds = _exactly(relation, unknown)
    first, near, far = holds(least), least, least
    gallops = not relation.difference.has(sympy.Sum)  # a sum over blocks takes as long as it has terms
    while holds(far) == first:
        if far >= (most or FURTHEST):
            return (((least, far),) if first else ()), most is not None
        near, far = far, min(far * far if gallops and far > 3 else 2 * far + 1, most or FURTHEST)
    while far - near > 1:  # holds(near) == first, holds(far) != first
        middle = _middle(near, far)
        near, far = (middle, far) if holds(middle) == first else (near, middle)
    return (((least, near),) if first else ((far, most),)), True


def _middle(near: int, far: int) -> int:
    """A number between two: half-way, or, where they are far apart, of half as many digits more."""
    low, high = near.bit_length(), far.bit_length()
    return 1 << ((low + high) // 2 - 1) if high - low > 2 else (near + far) // 2


def without(ones: Intervals, others: Intervals) -> Intervals:
    """The whole numbers of some intervals that are not in others.

    >>> without(((1, None),), ((5, 8), (10, None)))
    ((1, 4), (9, 9))
    """
    gaps: list[tuple[int, int | None]] = []
    start: int | None = 1
    for first, last in others:
        if start is not None and start < first:
            gaps.append((start, first - 1))
        start = None if last is None or start is None else last + 1
    if start is not None:
        gaps.append((start, None))
    return common(ones, tuple(gaps))


def common(ones: Intervals, others: Intervals) -> Intervals:
    """The whole numbers that are in both.

    >>> common(((1, 4), (9, None)), ((3, 10),))
    ((3, 4), (9, 10))
    """
    found, one, other = [], 0, 0
    while one < len(ones) and other < len(others):
        (first, last), (start, stop) = ones[one], others[other]
        high = last if stop is None else stop if last is None else min(last, stop)
        if high is None or max(first, start) <= high:
            found.append((max(first, start), high))
        if high is None or (last == high and stop == high):
            one, other = one + 1, other + 1
        elif last == high:
            one += 1
        else:
            other += 1
    return tuple(found)


def merged(several: Iterable[Intervals]) -> list[tuple[int, int | None]]:
    """The intervals of several answers, ascending.

    >>> merged([((1, 4), (9, None)), ((3, 10),)])
    [(1, 4), (3, 10), (9, None)]
    """
    return sorted([each for intervals in several for each in intervals], key=lambda each: each[0])


def by_trying(relation: Relation, unknown: sympy.Symbol, values: Any) -> Intervals:
    """The intervals of neighbours among ascending values for which the relation holds, each one tried.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> by_trying(Relation(n, "<=", 3 * sympy.ceiling(n / 4)), n, range(1, 9))
    ((1, 3), (5, 6))
    """
    import numpy

    tried = numpy.asarray(values, dtype="int64")
    held = _tried(relation, unknown, tried)
    return runs_of(tried, held)


def _tried(relation: Relation, unknown: sympy.Symbol, tried: Any) -> Any:
    """Whether the relation holds at each value; those that rounding leaves open are decided exactly."""
    import numpy

    exactly = _exactly(relation, unknown)
    if relation.difference.has(sympy.Sum):
        _few(relation, unknown, len(tried), MOST_SUMMED)
    try:
        found = compile_formula({"left": relation.left, "right": relation.right}, symbols=[unknown])({unknown: tried})
    except PerfModelError as error:
        raise SolveError(f"solve: {relation} is tried at {unknown} = {tried[0]} .. {tried[-1]}: {error}; within="
                         "(least, most) gives another range") from None  # fmt: skip
    left, right = (numpy.broadcast_to(numpy.asarray(found[side]), tried.shape) for side in ("left", "right"))
    whole = left.dtype.kind == right.dtype.kind == "i"  # counted, so exact; else floats
    left, right = (left, right) if whole else (left.astype(float), right.astype(float))
    compared = {"<=": left <= right, ">=": left >= right, "<": left < right, ">": left > right, "==": left == right}
    held = numpy.array(compared[relation.sign])
    if whole:
        return held
    scale = numpy.maximum(numpy.abs(left), numpy.abs(right))
    close = numpy.flatnonzero(numpy.abs(left - right) <= float(CLOSE) * scale)
    if relation.rounded:
        held[close] = relation.holds(0)
        return held
    _few(relation, unknown, len(close), MOST_CLOSE)
    for place in close.tolist():
        held[place] = exactly(int(tried[place]))
    return held


def _few(relation: Relation, unknown: sympy.Symbol, count: int, most: int) -> None:
    if count > most:
        raise SolveError(
            f"solve: {relation}: {count} values of {unknown} are tried one by one; at most {most} can be: "
            "within=(least, most) gives a smaller range"
        )


def runs_of(tried: Any, held: Any) -> Intervals:
    """The intervals of ascending values at which something holds.

    >>> import numpy
    >>> runs_of(numpy.array([1, 2, 4, 5]), numpy.array([True, True, False, True]))
    ((1, 2), (5, 5))
    """
    import numpy

    change = numpy.flatnonzero(numpy.diff(numpy.concatenate(([0], held.astype("int8"), [0]))))
    starts, stops = change[::2], change[1::2] - 1
    return tuple((int(tried[start]), int(tried[stop])) for start, stop in zip(starts, stops, strict=True))
