"""Elementwise expressions from text: ``"relu(x*w + b)"`` to map ops, walking Python's syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import Any

from perfmodel.errors import ExpressionError, did_you_mean, listed
from perfmodel.expressions import parse_tree
from perfmodel.graph.functions import FUNCTIONS
from perfmodel.graph.nodes import Tensor, mapped
from perfmodel.graph.operands import Scalar

_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div",
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal", ast.Eq: "equal",
    ast.NotEq: "not_equal",
}  # fmt: skip
_ALIASES = {"maximum": "max", "minimum": "min"}
_LARGEST_POWER = 64


def names_in(text: str) -> tuple[str, ...]:
    """The variables of an elementwise expression, in order of first use.

    >>> names_in("relu(x*w + b)")
    ('x', 'w', 'b')
    """
    tree = parse_tree(text, "elementwise")
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    return tuple(dict.fromkeys([node.id for node in found]))


def read_formula(text: str, tensors: dict[str, Tensor], scalars: Collection[str] = (), stage: str = "") -> Tensor:
    """The tensor that an expression stands for; equal subexpressions are one op.

    >>> from perfmodel.graph.nodes import tensor
    >>> x = tensor("x", {"i": 8})
    >>> read_formula("x**2 + x**2", {"x": x}).producer.function
    'add'
    """
    reader = _Reader(text, tensors, scalars, stage)
    try:
        result = reader.read(parse_tree(text, "elementwise"))
    except RecursionError:
        raise ExpressionError(f"elementwise {text[:60]!r}: nested too deeply") from None
    if not isinstance(result, Tensor) or result.producer is None:
        raise ExpressionError(f"elementwise {text!r}: computes nothing; write an operation such as 'x + y'")
    return result


class _Reader:
    """Walks a syntax tree; ops are remembered by function and operands, so that equal ones are shared."""

    def __init__(self, text: str, tensors: dict[str, Tensor], scalars: Collection[str], stage: str) -> None:
        self.text, self.tensors, self.scalars, self.stage = text, tensors, scalars, stage
        self.known: dict[Any, Tensor] = {}

    def read(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return value
            case ast.Name(id=name):
                return self._variable(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.read(operand)
                return self._map("neg", inner)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(self.read(left), self.read(right))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self._map(_OPERATORS[type(op)], self.read(left), self.read(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return self._map(_OPERATORS[type(op)], self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, [self.read(argument) for argument in args])
        piece = ast.get_source_segment(self.text.strip(), node) or type(node).__name__
        raise ExpressionError(
            f"elementwise {self.text!r}: {piece!r} is not allowed; write names, numbers, + - * / **, comparisons "
            f"and functions ({listed(sorted(FUNCTIONS), limit=60)})"
        )

    def _variable(self, name: str) -> Tensor | Scalar:
        if name in self.scalars:
            return Scalar(name)
        if name not in self.tensors:
            raise ExpressionError(
                f"elementwise {self.text!r}: no tensor {name!r}; there are {listed(self.tensors)}"
                f"{did_you_mean(name, self.tensors)}"
            )
        return self.tensors[name]

    def _call(self, name: str, operands: list[Any]) -> Any:
        function = FUNCTIONS.get(_ALIASES.get(name, name))
        if function is None:
            raise ExpressionError(
                f"elementwise {self.text!r}: no function {name!r}{did_you_mean(name, FUNCTIONS)}; there are "
                f"{listed(sorted(FUNCTIONS), limit=60)}"
            )
        if len(operands) != function.arity:
            raise ExpressionError(
                f"elementwise {self.text!r}: {name} takes {function.arity} arguments, got {len(operands)}"
            )
        return self._map(function.name, *operands)

    def _power(self, base: Any, exponent: Any) -> Any:
        """Whole powers by repeated squaring (x**4 is two squares); others one special operation."""
        if not (isinstance(base, Tensor) and isinstance(exponent, int) and 2 <= exponent <= _LARGEST_POWER):
            return self._map("sqrt", base) if exponent == 0.5 else self._map("pow", base, exponent)
        half = self._map("square", self._power(base, exponent // 2) if exponent >= 4 else base)
        return self._map("mul", half, base) if exponent % 2 else half

    def _map(self, function: str, *operands: Any) -> Any:
        if not any(isinstance(item, Tensor) for item in operands):
            return self._constant(function, operands)
        key = (function, *[id(item) if isinstance(item, Tensor) else item for item in operands])
        if key not in self.known:
            self.known[key] = mapped(function, *operands, stage=self.stage)
        return self.known[key]

    def _constant(self, function: str, operands: tuple[Any, ...]) -> Any:
        """Arithmetic of plain numbers is done here, at no cost; named scalars stay operands of a map."""
        folds: dict[str, Callable[..., Any]] = {
            "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
            "div": lambda a, b: a / b, "neg": lambda a: -a,
        }  # fmt: skip
        if function not in folds or any(isinstance(item, Scalar) for item in operands):
            raise ExpressionError(f"elementwise {self.text!r}: {function} of scalars alone; compute it beforehand")
        try:
            return folds[function](*operands)
        except (ZeroDivisionError, OverflowError) as error:
            raise ExpressionError(f"elementwise {self.text!r}: {error}") from None
