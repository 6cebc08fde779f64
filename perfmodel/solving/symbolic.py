"""A relation solved for one symbol while others stay: the unknown on one side, the rest on the other.

Works where left - right is of degree one or two in the unknown, or has one power of it. Dimensions and rates are
positive, which often tells the sign of the unknown's factor; where it does not, the answer says for which side of that
sign it holds.
"""

from __future__ import annotations

from typing import Any

import sympy

from perfmodel.errors import SolveError
from perfmodel.expressions.relations import Relation

_TURNED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "=="}


def by_algebra(relation: Relation, unknown: sympy.Symbol) -> tuple[Any, list[Any]]:
    """The relation with the unknown alone on its left, and the crossings as formulas; ``SolveError`` where none is.

    >>> b, r = sympy.symbols("b r", positive=True)
    >>> by_algebra(Relation(2 * b, ">=", r), b)
    (b >= r/2, [r/2])
    """
    parts = _switched(relation)
    if parts is not None:
        join, relations = parts
        found = [by_algebra(each, unknown) for each in relations if each.difference.has(unknown)]
        fixed = [each.as_sympy() for each in relations if not each.difference.has(unknown)]
        crossings = [root for _, roots in found for root in roots]
        return join(*[each for each, _ in found], *fixed), crossings
    return _solved(relation, unknown)


def without_positive_factors(relation: Relation) -> Relation:
    """The relation against 0 without what multiplies left - right and is positive: sizes and rates that cancel.

    >>> b, d = sympy.symbols("b d", positive=True)
    >>> print(without_positive_factors(Relation(2 * b * d**2, ">=", 300 * d**2)))
    2*b - 300 >= 0
    """
    numerator, denominator = sympy.fraction(sympy.together(relation.difference))
    if not denominator.is_positive or numerator.has(sympy.Max, sympy.Min, sympy.Piecewise, sympy.Sum):
        return relation
    try:
        constant, factors = sympy.factor_list(numerator)
    except sympy.PolynomialError:
        return relation
    kept = [factor**power for factor, power in factors if not factor.is_positive]
    return Relation(sympy.expand(sympy.Mul(constant, *kept)), relation.sign, sympy.S.Zero)


def _switched(relation: Relation) -> tuple[Any, list[Relation]] | None:
    """A comparison with the largest or smallest of several as comparisons with each: all of them, or any."""
    for side, other, sign in ((relation.left, relation.right, relation.sign),
                              (relation.right, relation.left, _TURNED[relation.sign])):  # fmt: skip
        if isinstance(side, (sympy.Max, sympy.Min)) and sign != "==":
            every = isinstance(side, sympy.Max) == (sign in ("<=", "<"))
            return (sympy.And if every else sympy.Or), [Relation(each, sign, other) for each in side.args]
    return None


def _solved(relation: Relation, unknown: sympy.Symbol) -> tuple[Any, list[Any]]:
    numerator, denominator = sympy.fraction(sympy.together(relation.difference))
    sign = _sign_of(numerator) * _sign_of(denominator)
    if sign:
        return (sympy.true if relation.holds(sign) else sympy.false), []
    polynomial = _polynomial(numerator, unknown)
    if polynomial is not None and polynomial.degree() == 0 and denominator.is_positive:  # the unknown cancels
        return _against_zero(sympy.factor(polynomial.LC()), relation.sign), []
    solved = None if polynomial is None or not denominator.is_positive else _form(polynomial)
    if solved is None:
        raise SolveError(
            f"solve: {relation} has no closed form in {unknown} while {_others(relation, unknown)} stay symbols; give "
            "them values with p.at(...)"
        )
    found: tuple[Any, list[Any]] = solved(relation, unknown, polynomial)
    return found


def _polynomial(numerator: sympy.Expr, unknown: sympy.Symbol) -> Any:
    """The numerator as a polynomial, powers of the positive unknown that all terms share divided out; else None."""
    try:
        found = sympy.Poly(sympy.expand(numerator), unknown)
    except sympy.PolynomialError:
        return None
    if any(each.has(unknown) for each in found.coeffs()) or found.is_zero:
        return None
    shared = min(power for (power,) in found.monoms())
    return sympy.Poly({(power - shared,): factor for (power,), factor in found.terms()}, unknown)


def _form(polynomial: Any) -> Any:
    """What solves a polynomial of this form."""
    if polynomial.degree() == 1:
        return _linear
    if polynomial.degree() == 2 and len(polynomial.terms()) == 3:
        return _square
    return _power if len(polynomial.terms()) == 2 else None


def _power(relation: Relation, unknown: sympy.Symbol, polynomial: Any) -> tuple[Any, list[Any]]:
    """``a * unknown**d + c`` with a positive and c not: the root is the d-th root of -c / a."""
    factor, constant = polynomial.LC(), polynomial.TC()
    if factor.is_negative:
        factor, constant = -factor, -constant
        relation = Relation(relation.left, _TURNED[relation.sign], relation.right)
    if not (factor.is_positive and constant.is_negative):
        raise SolveError(f"solve: {relation}: the sign of a factor of {unknown} is not known; give symbols values")
    root = sympy.root(sympy.factor(-constant / factor), polynomial.degree())
    return Relation(unknown, relation.sign, root).as_sympy(), [root]


def _others(relation: Relation, unknown: sympy.Symbol) -> str:
    return ", ".join(sorted(str(each) for each in relation.difference.free_symbols - {unknown}))


def _linear(relation: Relation, unknown: sympy.Symbol, polynomial: Any) -> tuple[Any, list[Any]]:
    factor, constant = polynomial.all_coeffs()
    factor, constant = sympy.factor(factor), sympy.factor(constant)
    root = sympy.factor(-constant / factor)
    return _sided(relation.sign, unknown, factor, root, constant), [root]


def _sided(sign: str, unknown: sympy.Symbol, factor: Any, root: Any, constant: Any) -> Any:
    """``factor * unknown + constant sign 0`` as a bound of the unknown, with a case for each sign of the factor."""
    if sign == "==":
        still = sympy.false if factor.is_positive or factor.is_negative else _at_zero(sign, constant)
        at_root = Relation(unknown, sign, root).as_sympy()
        return sympy.Or(at_root, sympy.And(_against_zero(factor, sign), still)) if still != sympy.false else at_root
    if factor.is_positive or factor.is_negative:
        turned = _TURNED[sign] if factor.is_negative else sign
        return Relation(unknown, turned, root).as_sympy()
    if root.is_negative:  # unknown - root is positive
        return _against_zero(factor, sign)
    along = _above(unknown, sign, -constant, factor)
    against = _above(unknown, _TURNED[sign], constant, -factor)
    still = _at_zero(sign, constant)  # where the factor is 0
    signs = {">": along, "<": against, "==": still}
    for strict, loose in ((">", ">="), ("<", "<=")):
        if still is sympy.true and signs[strict] is sympy.true:
            signs = {loose: sympy.true} | {each: signs[each] for each in signs if each not in (strict, "==")}
    return sympy.Or(*[sympy.And(_against_zero(factor, each), case) for each, case in signs.items()])


def _at_zero(sign: str, constant: Any) -> Any:
    """A comparison of a constant with 0, decided where its sign is known."""
    known = _sign_of(sympy.expand(constant))
    if known or constant == 0:
        return sympy.true if Relation(constant, sign, sympy.S.Zero).holds(known) else sympy.false
    return _against_zero(constant, sign)


def _above(unknown: sympy.Symbol, sign: str, top: Any, bottom: Any) -> Any:
    """``unknown sign top/bottom``, the bottom being positive; true or false where that is below every unknown."""
    if _sign_of(sympy.expand(top)) < 0 or top == 0:
        return sympy.false if sign in ("<=", "<") else sympy.true
    above, below = _plainly(top), _plainly(bottom)
    found = sympy.Mul(above[0] / below[0], above[1], sympy.Pow(below[1], -1))
    return Relation(unknown, sign, found).as_sympy()


def _plainly(expr: Any) -> tuple[Any, Any]:
    """A positive number, and what it multiplies: a sign is taken into a sum."""
    scale, rest = sympy.factor(expr).as_coeff_Mul()
    parts = list(sympy.Mul.make_args(rest))
    place = next((place for place, each in enumerate(parts) if each.is_Add), None)
    if scale > 0 or place is None:
        return scale, rest
    parts[place] = sympy.Add(*[-term for term in parts[place].args])
    return -scale, sympy.Mul(*parts)


def _against_zero(factor: Any, sign: str) -> Any:
    """A formula against 0, without its positive factors and with what is subtracted on the other side."""
    scale, rest = sympy.factor(factor).as_coeff_Mul()
    kept = sympy.Mul(*[each for each in sympy.Mul.make_args(rest) if not each.is_positive])
    kept = sympy.expand(kept if scale > 0 else -kept)
    terms = sympy.Add.make_args(kept)
    taken = [-each for each in terms if each.could_extract_minus_sign()]
    given = [each for each in terms if not each.could_extract_minus_sign()]
    left, right = sympy.Add(*given), sympy.Add(*taken)
    if left == 0 or (right != 0 and right.as_coeff_Mul()[0] < left.as_coeff_Mul()[0]):
        left, right, sign = right, left, _TURNED[sign]
    return Relation(left, sign, right).as_sympy()


def _sign_of(expr: Any) -> int:
    """1 or -1 where every term of a formula has that sign for positive symbols, else 0."""
    if expr.is_positive or expr.is_negative:
        return 1 if expr.is_positive else -1
    terms = sympy.Add.make_args(sympy.expand(expr))
    if all(each.is_positive for each in terms):
        return 1
    return -1 if all(each.is_negative for each in terms) else 0


def _square(relation: Relation, unknown: sympy.Symbol, polynomial: Any) -> tuple[Any, list[Any]]:
    """A square in the unknown whose only positive root is the larger one: where the constant is not positive."""
    first, middle, last = polynomial.all_coeffs()
    if not first.is_positive or not last.is_nonpositive:
        raise SolveError(
            f"solve: {relation} is a square in {unknown}, and both its roots may be positive; give other symbols values"
        )
    root = (sympy.sqrt(sympy.factor(middle**2 - 4 * first * last)) - middle) / (2 * first)
    return Relation(unknown, relation.sign, root).as_sympy(), [root]
