"""Comparisons of two formulas in exact numbers, and conditions that join several of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import sympy

from perfmodel.errors import ExpressionError

CLOSE = sympy.Rational(1, 10**12)  # sides that differ by less, for their size, are equal in floats
_SYMPY: dict[str, Any] = {"<=": sympy.Le, ">=": sympy.Ge, "<": sympy.Lt, ">": sympy.Gt, "==": sympy.Eq}
_COMPARED: dict[str, Callable[[Any], Any]] = {
    "<=": lambda value: value <= 0,
    ">=": lambda value: value >= 0,
    "<": lambda value: value < 0,
    ">": lambda value: value > 0,
    "==": lambda value: value == 0,
}


class Relation(NamedTuple):
    """``left sign right``, in exact numbers; ``difference`` is left - right.

    >>> print(Relation(sympy.Symbol("n"), "<=", sympy.Integer(3)))
    n <= 3
    """

    left: sympy.Expr
    sign: str
    right: sympy.Expr
    rounded: bool = False  # whether it holds a float, as a measured time is: sides within 1e-12 count as equal

    @property
    def difference(self) -> sympy.Expr:
        """What the sign compares with 0.

        >>> Relation(sympy.Symbol("n"), "<=", sympy.Integer(3)).difference
        n - 3
        """
        return self.left - self.right

    def holds(self, difference: Any) -> bool:
        """Whether the relation holds where left - right is this number.

        >>> [Relation(sympy.S(0), "<=", sympy.S(0)).holds(value) for value in (-1, 0, 1)]
        [True, True, False]
        """
        return bool(self.compared(difference))

    def compared(self, difference: Any) -> Any:
        """What the sign says of left - right: a truth value, or an array of them.

        >>> Relation(sympy.S(0), ">", sympy.S(0)).compared(3)
        True
        """
        return _COMPARED[self.sign](difference)

    def of_arrays(self, left: Any, right: Any) -> Any:
        """Whether it holds for arrays of both sides; beside a fraction, sides within 1e-12 of each other are equal.

        >>> import numpy
        >>> Relation(sympy.S(0), "<", sympy.S(0)).of_arrays(numpy.array([1, 2]), 2)
        array([ True, False])
        """
        import numpy

        difference = numpy.subtract(left, right)
        if self.rounded:
            scale = numpy.maximum(numpy.abs(left), numpy.abs(right))
            difference = numpy.where(numpy.abs(difference) <= float(CLOSE) * scale, 0, difference)
        return self.compared(difference)

    def as_sympy(self) -> Any:
        """The relation as sympy writes it.

        >>> Relation(sympy.Symbol("n"), "<=", sympy.Integer(3)).as_sympy()
        n <= 3
        """
        return _SYMPY[self.sign](self.left, self.right, evaluate=False)

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


class Joint(NamedTuple):
    """Conditions joined by "and" or "or", or one that does "not" hold; each is a comparison, or joint itself.

    >>> print(Joint("or", (Joint("not", ("n == 4",)), Joint("and", ("n >= 3", "m < 2")))))
    not (n == 4) or (n >= 3 and m < 2)
    """

    join: str
    parts: tuple[Any, ...]

    def folded(self, leaf: Callable[[Any], Any], joins: Mapping[str, Callable[[list[Any]], Any]]) -> Any:
        """What each comparison gives, joined.

        >>> Joint("and", ("a", "b")).folded(str.upper, {"and": "&".join})
        'A&B'
        """
        return joins[self.join]([folded(part, leaf, joins) for part in self.parts])

    def __str__(self) -> str:
        if self.join == "not":
            return f"not ({self.parts[0]})"
        grouped = [f"({part})" if isinstance(part, Joint) and part.join != "not" else str(part) for part in self.parts]
        return f" {self.join} ".join(grouped)


def folded(condition: Any, leaf: Callable[[Any], Any], joins: Mapping[str, Callable[[list[Any]], Any]]) -> Any:
    """What the comparisons of a condition give, joined; of a single one what it gives.

    >>> folded("a", str.upper, {})
    'A'
    """
    return condition.folded(leaf, joins) if isinstance(condition, Joint) else leaf(condition)


def exact(value: Any) -> sympy.Expr:
    """A formula with its floats as the decimals that they are written as.

    >>> exact(sympy.Float(0.1)), exact(3)
    (1/10, 3)
    """
    expr = sympy.sympify(value, strict=True)
    floats = expr.atoms(sympy.Float)
    return expr.xreplace({each: decimal(float(each)) for each in floats}) if floats else expr


def decimal(value: float) -> sympy.Rational:
    """A float as the decimal that it is written as; ``ExpressionError`` for what is none.

    >>> decimal(0.1)
    1/10
    """
    if value - value != 0:
        raise ExpressionError(f"where: {value} is no number to compare with")
    return sympy.Rational(repr(value))
