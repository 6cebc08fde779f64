"""A formula in one unknown, cut where it changes its form: on each piece it is a quotient of polynomials.

``Max``, ``Min`` and ``Piecewise`` change their form where two of their arguments are equal. Between neighbouring
roots of those differences each is one argument, which a sample point tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import sympy

from perfmodel.errors import SolveError

_MOST_PIECES = 400
_HIGHEST_DEGREE = 30


class NotRational(Exception):
    """The formula holds what has no polynomial form, such as a ceiling: it is searched instead.

    >>> str(NotRational("ceiling(n/64)"))
    'ceiling(n/64)'
    """


class Piece(NamedTuple):
    """An interval of the unknown, and the quotient of polynomials that the formula is there.

    >>> n = sympy.Symbol("n", positive=True)
    >>> [(str(each.low), str(each.high), str(each.form)) for each in pieces_of(sympy.Max(n, 10), n, sympy.S(1))]
    [('1', '10', '10'), ('10', 'oo', 'n')]
    """

    low: Any
    high: Any
    form: sympy.Expr


def pieces_of(expr: sympy.Expr, unknown: sympy.Symbol, low: Any, high: Any = sympy.oo) -> list[Piece]:
    """The pieces from low to high; ``NotRational`` where a part has no polynomial form.

    >>> n = sympy.Symbol("n")
    >>> len(pieces_of(sympy.Max(n, 100 / n), n, sympy.S(1)))
    2
    """
    if expr.has(sympy.Sum):
        raise NotRational("a sum over blocks")
    found = []
    for piece in _cut(expr, unknown, low, high):
        found.append(piece)
        if len(found) > _MOST_PIECES:
            raise NotRational(f"more than {_MOST_PIECES} pieces")
    return found


def _cut(expr: sympy.Expr, unknown: sympy.Symbol, low: Any, high: Any) -> Iterator[Piece]:
    switch = _innermost(expr)
    if switch is None:
        yield Piece(low, high, expr)
        return
    arguments = _arguments(switch)
    differences = [one - other for one, other in combinations(arguments, 2)]
    cuts = {edge for each in differences for find in (roots, poles) for edge in find(each, unknown, low, high)}
    edges = [low, *sorted(cuts, key=lambda root: sympy.N(root, 30)), high]
    for left, right in pairwise(edges):
        chosen = _chosen(switch, unknown, between(left, right))
        yield from _cut(expr.xreplace({switch: chosen}), unknown, left, right)


def _innermost(expr: sympy.Expr) -> sympy.Expr | None:
    """A Max, Min or Piecewise that holds none of its kind."""
    switches = expr.atoms(sympy.Max, sympy.Min, sympy.Piecewise)
    kinds = (sympy.Max, sympy.Min, sympy.Piecewise)
    return next((each for each in switches if not any(arg.has(*kinds) for arg in _arguments(each))), None)


def _arguments(switch: sympy.Expr) -> list[sympy.Expr]:
    """What a switch compares: its arguments, or both sides of each of its conditions."""
    if not isinstance(switch, sympy.Piecewise):
        return list(switch.args)
    return [side for _, condition in switch.args if condition is not sympy.true for side in condition.args]


def _chosen(switch: sympy.Expr, unknown: sympy.Symbol, sample: sympy.Rational) -> sympy.Expr:
    if isinstance(switch, sympy.Piecewise):
        return next(value for value, condition in switch.args if condition.xreplace({unknown: sample}) == sympy.true)
    pick = max if isinstance(switch, sympy.Max) else min
    return pick(switch.args, key=lambda argument: argument.xreplace({unknown: sample}))


def between(low: Any, high: Any) -> sympy.Rational:
    """A rational number between two edges.

    >>> between(sympy.S(1), sympy.oo), between(sympy.sqrt(2), sympy.sqrt(3)) ** 2 < 3
    (2, True)
    """
    if high is sympy.oo:
        return sympy.Integer(sympy.floor(low) + 1) if low >= 1 else sympy.Integer(2)
    middle = (sympy.N(low, 60) + sympy.N(high, 60)) / 2
    return sympy.Rational(str(middle))


def roots(expr: sympy.Expr, unknown: sympy.Symbol, low: Any, high: Any) -> list[Any]:
    """Where a quotient of polynomials is 0, between low and high (both left out), ascending.

    ``NotRational`` where it is no such quotient, or of a degree whose roots would take long.

    >>> n = sympy.Symbol("n")
    >>> roots(n - 100 / n, n, sympy.S(0), sympy.oo)
    [10]
    """
    return _between(sympy.fraction(sympy.together(expr))[0], unknown, low, high)


def poles(expr: sympy.Expr, unknown: sympy.Symbol, low: Any, high: Any) -> list[Any]:
    """Where a quotient of polynomials divides by 0, between low and high (both left out), ascending.

    >>> n = sympy.Symbol("n")
    >>> poles(1 / (n - 5), n, sympy.S(0), sympy.oo)
    [5]
    """
    return _between(sympy.fraction(sympy.together(expr))[1], unknown, low, high)


def _between(expr: sympy.Expr, unknown: sympy.Symbol, low: Any, high: Any) -> list[Any]:
    """The roots of a polynomial between two edges, ascending."""
    polynomial = _polynomial(expr, unknown)
    if polynomial.is_zero or polynomial.degree() == 0:
        return []
    if polynomial.degree() > _HIGHEST_DEGREE and len(polynomial.terms()) > 2:
        raise NotRational(f"a polynomial of degree {polynomial.degree()}")
    try:
        found = {root for root in polynomial.real_roots() if low < root and root < high}
    except ValueError as why:  # sympy's factors of squares of large numbers (1.14: "is not a prime factor of")
        raise NotRational(str(why)) from None
    return sorted(found, key=lambda root: sympy.N(root, 30))


def _polynomial(expr: sympy.Expr, unknown: sympy.Symbol) -> Any:
    try:
        return sympy.Poly(expr, unknown, domain="QQ")
    except (sympy.PolynomialError, sympy.CoercionFailed):
        others = sorted(map(str, expr.free_symbols - {unknown}))
        if others:
            raise SolveError(f"solve: the relation holds {', '.join(others)} beside {unknown}") from None
        raise NotRational(str(expr)) from None
