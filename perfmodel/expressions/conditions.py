"""Conditions, read alike wherever one is asked for: ``"h % 128 == 0 and 12*h*h <= 7e9"``.

There are the comparisons ``<= >= < > == !=``, ranges such as ``128 <= n < 4096``, ``and``, ``or``, ``not``, and what
sizes are made of; numbers may be fractions, and are taken as they are written: 1e-3 is 1/1000. Units stand in the
names (``time_s``, ``capacity_bytes``). Nothing is evaluated as code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from typing import Any

import sympy

from perfmodel.errors import ExpressionError, brief, did_you_mean, listed
from perfmodel.expressions.parsing import Sizes, guarded, parse_tree
from perfmodel.expressions.relations import Joint, Relation, decimal, exact
from perfmodel.expressions.symbols import dimension

_SIGNS: dict[type, str] = {
    ast.LtE: "<=", ast.GtE: ">=", ast.Lt: "<", ast.Gt: ">", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
LARGEST_POWER = 64
_UNITS = ("_bytes", "_s", "_w", "_j", "_hz", "_elements", "flops")  # words that end so are quantities, not sizes
_RULE = "expected comparisons such as 'time_s <= 1e-3' or 'h % 128 == 0 and 12*h*h <= 7e9'"
Names = Mapping[str, Callable[[], Any]]


def condition_of(given: Any, verb: str = "solve") -> Any:
    """A condition as its comparisons, ``Joint`` where there are several: of text, sympy relations, or lists of these.

    Those of a list all have to hold. ``ExpressionError`` for what is no condition.

    >>> print(condition_of("128 <= n < 4096 and n != 512"))
    128 <= n and n < 4096 and not (n == 512)
    >>> print(condition_of(["n % 8 == 0", sympy.Symbol("n") > 9]))
    n % 8 == 0 and n > 9
    """
    if isinstance(given, (Relation, Joint)):
        return given
    if isinstance(given, str):
        tree = parse_tree(given, f"{verb}: where")
        return guarded(lambda: _split(tree, given, verb), given, f"{verb}: where")
    if isinstance(given, (list, tuple)) and given:
        return _joined("and", [condition_of(each, verb) for each in given])
    if given is True or given is False or given in (sympy.true, sympy.false):
        raise ExpressionError(
            f"{verb}: the relation is always {str(bool(given)).lower()}: its two sides hold no unknown"
        )
    if isinstance(given, sympy.Ne):
        return Joint("not", (sympy.Eq(given.lhs, given.rhs),))
    if isinstance(given, sympy.core.relational.Relational):
        return given
    if isinstance(given, (sympy.And, sympy.Or, sympy.Not)):
        return _joined(type(given).__name__.lower(), [condition_of(each, verb) for each in given.args])
    if callable(given):
        raise ExpressionError(
            f"{verb}: where={brief(given)}: {verb} needs a formula, and a function has none (suggest takes functions); "
            f"{_RULE}"
        )
    raise ExpressionError(f"{verb}: where={brief(given)}: {_RULE}, or a sympy relation such as 2*n**2 <= 80e9")


def _joined(join: str, parts: list[Any]) -> Any:
    """Conditions as one; those that are joined by the same word stand side by side."""
    if join != "not" and len(parts) == 1:
        return parts[0]
    found: list[Any] = []
    for part in parts:
        found += part.parts if isinstance(part, Joint) and part.join == join != "not" else [part]
    return Joint(join, tuple(found))


def _split(node: ast.expr, text: str, verb: str) -> Any:
    """A part of a text as its comparisons, each as text of its own."""
    if isinstance(node, ast.BoolOp):
        parts = [_split(each, text, verb) for each in node.values]
        return _joined("and" if isinstance(node.op, ast.And) else "or", parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return Joint("not", (_split(node.operand, text, verb),))
    if not isinstance(node, ast.Compare) or any(type(sign) not in _SIGNS for sign in node.ops):
        raise ExpressionError(f"{verb}: where = {brief(text)}: cannot read {brief(ast.unparse(node))}; {_RULE}")
    sides = [f"({ast.unparse(each)})" if isinstance(each, (ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda))
             else ast.unparse(each) for each in (node.left, *node.comparators)]  # fmt: skip
    signs = [_SIGNS[type(sign)] for sign in node.ops]
    return _joined("and", [_compared(*each) for each in zip(sides, signs, sides[1:], strict=False)])


def _compared(left: str, sign: str, right: str) -> Any:
    return Joint("not", (f"{left} == {right}",)) if sign == "!=" else f"{left} {sign} {right}"


def relation_of(
    given: Any,
    names: Names | None = None,
    verb: str = "solve",
    sizes: Collection[str] | None = None,
    own: Collection[str] = (),
) -> Relation:
    """One comparison in exact numbers, of text or a sympy relation.

    ``names`` gives the formulas that words in text stand for; other words are symbols of dimensions, among ``sizes``
    where these are given. Beside ``names`` a word that is not ``own`` and bears a unit (``spare_bytes``), or is nearly
    one of them, is none. Where a number is a fraction, sides that differ by less than 1e-12 of their size count as
    equal, so that a time that was estimated, and rounded to a float, leads back to its size. ``ExpressionError`` for
    what is no comparison, or names what there is not.

    >>> print(relation_of("time_s <= 1e-3", {"time_s": lambda: sympy.Symbol("n") / 7}))
    n/7 <= 1/1000
    """
    found = condition_of(given, verb)
    if isinstance(found, Relation):
        return found
    if isinstance(found, Joint):
        raise ExpressionError(f"{verb}: where={brief(given)}: expected one comparison, such as 'time_s <= 1e-3'")
    if isinstance(found, str):
        read: Relation = guarded(lambda: _read(found, names or {}, verb, sizes, own), found, f"{verb}: where")
        return read
    strange = {each.name for each in found.free_symbols} if sizes is not None else set()
    for name in sorted(strange - set(sizes or ())):
        raise unknown_word(name, verb, (*(sizes or ()), *(names or ())))
    rounded = any(not float(each).is_integer() for each in found.atoms(sympy.Float))
    return _checked(Relation(exact(found.lhs), found.rel_op, exact(found.rhs), rounded), verb)


def _checked(relation: Relation, verb: str) -> Relation:
    """A relation whose symbols have names of their own and whose powers are small enough to work with."""
    names = [each.name for each in relation.difference.free_symbols]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ExpressionError(
            f"{verb}: {relation} holds different symbols of the name {twice[0]!r}: make them with dims or reals"
        )
    powers = [power.exp for power in relation.difference.atoms(sympy.Pow) if power.exp.is_Integer]
    if any(abs(power) > LARGEST_POWER for power in powers):
        raise ExpressionError(f"{verb}: {relation} holds a power above {LARGEST_POWER}")
    return relation


def unknown_word(name: str, verb: str, known: Collection[str]) -> ExpressionError:
    """The error for a word of a condition that stands for nothing.

    >>> unknown_word("flosp", "solve", ["flops", "bytes"])
    ExpressionError("solve: where: no quantity 'flosp' (did you mean 'flops'?); there are flops, bytes")
    """
    return ExpressionError(f"{verb}: where: no quantity {name!r}{did_you_mean(name, known)}; there are {listed(known)}")


def _read(text: str, names: Names, verb: str, sizes: Collection[str] | None, own: Collection[str]) -> Relation:
    tree: Any = parse_tree(text, f"{verb}: where")  # one comparison, as it was split
    sides = _Sides(text, f"{verb}: where", names, sizes, own)
    left, right = (sides.formula(each) for each in (tree.left, tree.comparators[0]))
    floats = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and type(each.value) is float]
    rounded = not all(each.is_integer() for each in floats)
    return _checked(Relation(left, _SIGNS[type(tree.ops[0])], right, rounded), verb)


class _Sides(Sizes):
    """Reads the sides of a comparison: sizes, fractions, and words that stand for formulas."""

    kind, numbers = "condition", "numbers"

    def __init__(self, text: str, what: str, names: Names, sizes: Collection[str] | None, own: Collection[str]) -> None:
        super().__init__(text, what)
        self.names, self.sizes, self.own, self.verb = names, sizes, own, what.partition(":")[0]
        self.meant: dict[Any, Any] = {}

    def formula(self, node: ast.expr) -> sympy.Expr:
        """A side, with the formulas that its words stand for."""
        found = sympy.sympify(self.read(node), strict=True)
        found = found.xreplace(self.meant) if self.meant else found
        if found.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
            raise self._error(f"{ast.unparse(node)!r} divides by zero")
        return found

    def _read(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=float() as value) if value - value != 0:
                raise self._error(f"{value} is no number to compare with")
            case ast.Constant(value=float() as value):
                return decimal(value)
            case ast.Name(id=name):
                return self._word(name)
        return super()._read(node)

    def _word(self, name: str) -> Any:
        """A word: what it stands for is put in at the end, however long the formula is."""
        if name in self.names:
            holder = sympy.Symbol(name, real=True, nonnegative=True)
            self.meant[holder] = exact(self.names[name]())
            return holder
        if name.lower() in ("inf", "infinity", "nan"):
            raise self._error(f"{name} is no number to compare with")
        if self._is_strange(name):
            raise unknown_word(name, self.verb, (*(self.sizes or ()), *self.names))
        return dimension(name)

    def _is_strange(self, name: str) -> bool:
        """Whether a word stands for nothing: it is no size, or, where any are taken, is meant for a quantity."""
        if self.sizes is not None:
            return name not in self.sizes
        if name in self.own or not self.names:
            return False
        return name.endswith(_UNITS) or bool(did_you_mean(name, self.names))
