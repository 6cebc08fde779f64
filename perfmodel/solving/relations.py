"""Relations between two formulas: a sympy relation, or text such as ``"time_s <= 1e-3"``, read with ast."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import sympy

from perfmodel.errors import ExpressionError, SolveError, did_you_mean, listed
from perfmodel.expressions import dimension, parse_tree

_SIGNS: dict[type, str] = {ast.LtE: "<=", ast.GtE: ">=", ast.Lt: "<", ast.Gt: ">", ast.Eq: "=="}
_SYMPY: dict[str, Any] = {"<=": sympy.Le, ">=": sympy.Ge, "<": sympy.Lt, ">": sympy.Gt, "==": sympy.Eq}
_CALLS: dict[str, Any] = {"min": sympy.Min, "max": sympy.Max, "ceil": sympy.ceiling, "floor": sympy.floor}
LARGEST_POWER = 64
_LARGEST_EXPONENT = 64  # of a number in text
_MOST_BITS = 4096  # of a number in text


class Relation(NamedTuple):
    """``left sign right``, in exact numbers; ``difference`` is left - right.

    >>> n = sympy.Symbol("n")
    >>> relation_of(2 * n <= 10).difference
    2*n - 10
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
        signs: dict[str, Callable[[Any], Any]] = {
            "<=": lambda value: value <= 0,
            ">=": lambda value: value >= 0,
            "<": lambda value: value < 0,
            ">": lambda value: value > 0,
            "==": lambda value: value == 0,
        }
        return signs[self.sign](difference)

    def as_sympy(self) -> Any:
        """The relation as sympy writes it.

        >>> Relation(sympy.Symbol("n"), "<=", sympy.Integer(3)).as_sympy()
        n <= 3
        """
        return _SYMPY[self.sign](self.left, self.right, evaluate=False)

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


def relation_of(given: Any, names: Mapping[str, Callable[[], Any]] | None = None) -> Relation:
    """A relation from a sympy relation or from text; ``names`` gives the formulas that words in text stand for.

    Other words in text are symbols of dimensions. Numbers are taken as they are written: 1e-3 is 1/1000; where one is
    a fraction, sides that differ by less than 1e-12 of their size count as equal, so that a time that was estimated,
    and rounded to a float, leads back to its size.
    ``SolveError`` where it is no relation, ``ExpressionError`` where text cannot be read.

    >>> print(relation_of("time_s <= 1e-3", {"time_s": lambda: sympy.Symbol("n") / 7}))
    n/7 <= 1/1000
    """
    if isinstance(given, Relation):
        return given
    if isinstance(given, str):
        return _read(given, names or {})
    if given is True or given is False or given in (sympy.true, sympy.false):
        raise SolveError(f"solve: the relation is always {str(bool(given)).lower()}: its two sides hold no unknown")
    if not isinstance(given, sympy.core.relational.Relational) or isinstance(given, sympy.Ne):
        raise SolveError(
            f"solve: expected a relation such as 2*n**2 <= 80e9, sympy.Eq(a, b) or 'time_s <= 1e-3', got {given!r}"
        )
    rounded = any(not float(each).is_integer() for each in given.atoms(sympy.Float))
    return _checked(Relation(exact(given.lhs), given.rel_op, exact(given.rhs), rounded))


def _checked(relation: Relation) -> Relation:
    """A relation whose symbols have names of their own and whose powers are small enough to work with."""
    names = [each.name for each in relation.difference.free_symbols]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SolveError(
            f"solve: {relation} holds different symbols of the name {twice[0]!r}: make them with dims or reals"
        )
    powers = [power.exp for power in relation.difference.atoms(sympy.Pow) if power.exp.is_Integer]
    if any(abs(power) > LARGEST_POWER for power in powers):
        raise SolveError(f"solve: {relation} holds a power above {LARGEST_POWER}")
    return relation


def exact(value: Any) -> sympy.Expr:
    """A formula with its floats as the decimals that they are written as.

    >>> exact(sympy.Float(0.1)), exact(3)
    (1/10, 3)
    """
    expr = sympy.sympify(value, strict=True)
    floats = expr.atoms(sympy.Float)
    return expr.xreplace({each: _decimal(float(each)) for each in floats}) if floats else expr


def _decimal(value: float) -> sympy.Rational:
    if value - value != 0:
        raise SolveError(f"solve: {value} is no number to compare with")
    return sympy.Rational(repr(value))


def _read(text: str, names: Mapping[str, Callable[[], Any]]) -> Relation:
    tree = parse_tree(text, "where")
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or type(tree.ops[0]) not in _SIGNS:
        raise ExpressionError(
            f"solve: where={text!r}: expected one comparison (<=, >=, <, > or ==), such as 'time_s <= 1e-3'"
        )
    left, right = (_side(each, text, names) for each in (tree.left, tree.comparators[0]))
    floats = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and type(each.value) is float]
    return _checked(Relation(left, _SIGNS[type(tree.ops[0])], right, not all(each.is_integer() for each in floats)))


def _side(node: ast.expr, text: str, names: Mapping[str, Callable[[], Any]]) -> sympy.Expr:
    """One side of a comparison in text, part by part."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return _decimal(node.value) if isinstance(node.value, float) else sympy.Integer(node.value)
    if isinstance(node, ast.Name):
        return exact(names[node.id]()) if node.id in names else _symbol(node.id, names)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_side(node.operand, text, names)
    if isinstance(node, ast.BinOp):
        return _combined(node, text, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS and not node.keywords:
        return _CALLS[node.func.id](*(_side(each, text, names) for each in node.args))
    raise ExpressionError(
        f"solve: where={text!r}: cannot read {ast.unparse(node)!r}; there are numbers, names, + - * / // % ** and "
        f"{listed(_CALLS)}"
    )


def _symbol(name: str, names: Mapping[str, Callable[[], Any]]) -> sympy.Symbol:
    if name.lower() in ("inf", "infinity", "nan"):
        raise SolveError(f"solve: where: {name} is no number to compare with")
    near = did_you_mean(name, names)
    if near and names:
        raise ExpressionError(f"solve: where: no quantity {name!r}{near}; there are {listed(names)}")
    return dimension(name)


def check_words(relation: Relation, known: Collection[sympy.Symbol], names: Collection[str]) -> None:
    """``ExpressionError`` for a word of a condition that is neither a symbol of the question nor a quantity.

    >>> check_words(relation_of("foo <= 3"), [], ["flops", "bytes"])
    Traceback (most recent call last):
    perfmodel.errors.ExpressionError: solve: where: no quantity 'foo'; there are flops, bytes
    """
    strange = sorted({each.name for each in relation.difference.free_symbols} - {each.name for each in known})
    if strange:
        near = did_you_mean(strange[0], names)
        raise ExpressionError(f"solve: where: no quantity {strange[0]!r}{near}; there are {listed(names)}")


def _combined(node: ast.BinOp, text: str, names: Mapping[str, Callable[[], Any]]) -> sympy.Expr:
    left, right = _side(node.left, text, names), _side(node.right, text, names)
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, ast.Div) and right != 0:
        return left / right
    if isinstance(node.op, ast.FloorDiv) and right != 0:
        return sympy.floor(left / right)
    if isinstance(node.op, ast.Mod) and right != 0:
        return left - right * sympy.floor(left / right)
    if isinstance(node.op, ast.Pow) and right.is_Integer and abs(right) <= _LARGEST_EXPONENT and _small(left, right):
        return left**right
    raise ExpressionError(f"solve: where={text!r}: cannot read {ast.unparse(node)!r}")


def _small(base: sympy.Expr, exponent: Any) -> bool:
    """Whether a power of what text holds stays small enough to write down."""
    numbers = [part for each in base.atoms(sympy.Rational) for part in (each.p, each.q)]
    return max([int(each).bit_length() for each in numbers], default=1) * abs(int(exponent)) <= _MOST_BITS
