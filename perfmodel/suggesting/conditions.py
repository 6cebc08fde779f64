"""Conditions on sizes: text such as ``"h % (8*heads) == 0 and 12*h*h <= 7e9"``, or functions of arrays."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy

from perfmodel.errors import ExpressionError, LabelError, did_you_mean, listed
from perfmodel.expressions import compile_formula, parse_size, parse_tree

_SIGNS: dict[type, str] = {
    ast.LtE: "less_equal", ast.GtE: "greater_equal", ast.Lt: "less", ast.Gt: "greater", ast.Eq: "equal",
    ast.NotEq: "not_equal",
}  # fmt: skip
_RULE = "expected comparisons of sizes, such as 'h % 128 == 0 and 12*h*h <= 7e9'"


@dataclass(frozen=True)
class Condition:
    """One condition, with the text that names it.

    >>> import numpy
    >>> condition, = conditions_of("n % 4 == 0", {"n": None})
    >>> condition.text, condition.holds({"n": numpy.array([6, 8])}).tolist()
    ('n % 4 == 0', [False, True])
    """

    text: str
    holds: Callable[[Mapping[str, Any]], Any]


def conditions_of(given: Any, names: Mapping[str, Any]) -> tuple[Condition, ...]:
    """The conditions in a text, a function, or several of these; those joined by ``and`` stand apart.

    ``names`` are the sizes' (None) and the counts' that text may name, with their formulas. ``ExpressionError`` for
    what cannot be read, ``LabelError`` for an unknown name. Nothing is evaluated as code.

    >>> [each.text for each in conditions_of("n % 4 == 0 and n < m", {"n": None, "m": None})]
    ['n % 4 == 0', 'n < m']
    """
    if given is None:
        return ()
    if isinstance(given, str):
        tree = parse_tree(given, "where")
        parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
        return tuple([Condition(ast.unparse(part), _test(part, given, names)) for part in parts])
    if callable(given):
        return (Condition(f"{getattr(given, '__name__', 'where')}(...)", _called(given)),)
    if isinstance(given, Iterable):
        return tuple([each for part in given for each in conditions_of(part, names)])
    raise ExpressionError(f"suggest: where={given!r}: {_RULE}, or a function of arrays")


def _called(given: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Any]:
    """A function of arrays by name, whose answer is a truth value for each."""

    def holds(sizes: Mapping[str, Any]) -> Any:
        import numpy

        count = len(next(iter(sizes.values())))
        try:
            found = numpy.asarray(given(**sizes))
        except TypeError as error:
            raise ExpressionError(
                f"suggest: where: {error}; the function gets arrays by name: {listed(sizes)}"
            ) from None
        if found.dtype != bool or found.shape not in ((), (count,)):
            raise ExpressionError(
                f"suggest: where: the function returned {found.dtype} of shape {found.shape}; expected {count} bools: "
                "it gets arrays of sizes by name, so write & and | for and and or"
            )
        return numpy.broadcast_to(found, (count,))

    return holds


def _test(node: ast.expr, text: str, names: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Any]:
    """A part of a text as a function from arrays to truth values."""
    import numpy

    if isinstance(node, ast.BoolOp):
        parts = [_test(each, text, names) for each in node.values]
        join = numpy.logical_and if isinstance(node.op, ast.And) else numpy.logical_or
        return lambda sizes: join.reduce([part(sizes) for part in parts])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _test(node.operand, text, names)
        return lambda sizes: ~inner(sizes)
    if not isinstance(node, ast.Compare) or any(type(sign) not in _SIGNS for sign in node.ops):
        raise ExpressionError(f"suggest: where={text!r}: cannot read {ast.unparse(node)!r}; {_RULE}")
    sides = [_side(each, names) for each in (node.left, *node.comparators)]
    signs = [getattr(numpy, _SIGNS[type(sign)]) for sign in node.ops]

    def holds(sizes: Mapping[str, Any]) -> Any:
        count = len(next(iter(sizes.values())))
        values = [side(sizes) for side in sides]
        pairs = zip(signs, values, values[1:], strict=False)
        return numpy.broadcast_to(numpy.logical_and.reduce([sign(a, b) for sign, a, b in pairs]), (count,))

    return holds


def _side(node: ast.expr, names: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Any]:
    """One side of a comparison as a function of arrays: exact where it is whole."""
    formula = sympy.sympify(parse_size(ast.unparse(_Decimals().visit(node)), "where"), strict=True)
    for symbol in formula.free_symbols:
        if symbol.name not in names:
            near = did_you_mean(symbol.name, names)
            raise LabelError(f"suggest: where: no size or count {symbol.name!r}{near}; there are {listed(names)}")
    known = {each: names[each.name] for each in formula.free_symbols if names[each.name] is not None}
    formula = formula.xreplace({each: sympy.sympify(value, strict=True) for each, value in known.items()})
    if not formula.free_symbols:
        number = int(formula) if formula.is_Integer else float(formula)
        return lambda sizes: number
    compiled = compile_formula(formula)
    return lambda sizes: compiled({name: sizes[name] for name in compiled.symbols})


class _Decimals(ast.NodeTransformer):
    """Writes 1.5 as 3/2, which sizes in text may hold."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) is not float or not math.isfinite(node.value) or node.value.is_integer():
            return node
        exact = Fraction(repr(node.value))
        return ast.BinOp(ast.Constant(exact.numerator), ast.Div(), ast.Constant(exact.denominator))
