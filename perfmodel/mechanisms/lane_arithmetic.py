"""Expressions of thread indices, computed for many lanes at once, by walking their syntax tree.

Every result is exact: what could leave 2^62 is refused before it is computed. An operand that Python would not
evaluate (the right of a false ``and``) may divide by zero, or shift by anything.
"""

from __future__ import annotations

import ast
from typing import Any

from perfmodel.errors import ExpressionError, brief, did_you_mean, listed
from perfmodel.mechanisms.warps import Lanes

_FUNCTIONS = ("min", "max", "abs")
_MOST_SHIFT = 62


class Reader:
    """Computes a tree for some lanes. ``active`` says in which of them a value is wanted.

    >>> from perfmodel.expressions import parse_tree
    >>> from perfmodel.mechanisms.warps import launch
    >>> lanes = next(launch(4, warp=4).pieces())
    >>> Reader(lanes, "t ^ 1", "index").read(parse_tree("t ^ 1", "index"), lanes.present).tolist()
    [[1, 0, 3, 2]]
    """

    LARGEST = 2**62

    def __init__(self, lanes: Lanes, text: str, what: str) -> None:
        import numpy

        self.np, self.lanes, self.text, self.what = numpy, lanes, text, what

    def read(self, node: ast.expr, active: Any) -> Any:
        """An array of whole numbers, comparisons and the like as 0 and 1, that broadcasts to the lanes.

        >>> from perfmodel.expressions import parse_tree
        >>> from perfmodel.mechanisms.warps import launch
        >>> lanes = next(launch(4, warp=4).pieces())
        >>> Reader(lanes, "t < 2", "index").read(parse_tree("t < 2", "index"), lanes.present).tolist()
        [[1, 1, 0, 0]]
        """
        match node:
            case ast.Constant(value=int() as value):
                return self.np.asarray(self._bounded(int(value)), dtype=self.np.int64)
            case ast.Name(id=name):
                return self.lanes[name]
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(node, op, self.read(operand, active))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self.read(left, active), self.read(right, active), active)
            case ast.BoolOp(op=op, values=values):
                return self._logical(isinstance(op, ast.And), values, active)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._compared(node, left, ops, comparators, active)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = self.read(test, active) != 0
                return self.np.where(chosen, self.read(body, active & chosen), self.read(orelse, active & ~chosen))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, [self.read(each, active) for each in args])
        raise self._refused(node)

    def _unary(self, node: ast.expr, op: ast.unaryop, value: Any) -> Any:
        match op:
            case ast.USub():
                return -value
            case ast.UAdd():
                return value
            case ast.Not():
                return self._as_numbers(value == 0)
            case ast.Invert():
                return ~value
        raise self._refused(node)

    def _binary(self, op: ast.operator, left: Any, right: Any, active: Any) -> Any:
        np = self.np
        match op:
            case ast.Add() | ast.Sub() | ast.Mult():
                self._check_size(op, left, right)
                return (
                    left + right
                    if isinstance(op, ast.Add)
                    else left - right
                    if isinstance(op, ast.Sub)
                    else left * right
                )
            case ast.FloorDiv() | ast.Mod():
                by = self._without(right, right == 0, active, "divided by zero")
                return np.floor_divide(left, by) if isinstance(op, ast.FloorDiv) else np.mod(left, by)
            case ast.LShift() | ast.RShift():
                outside = (right < 0) | (right > _MOST_SHIFT)
                by = self._without(right, outside, active, f"shifted by other than 0 to {_MOST_SHIFT}")
                if isinstance(op, ast.RShift):
                    return left >> by
                return self._binary(ast.Mult(), left, np.left_shift(np.int64(1), by), active)
            case ast.BitAnd():
                return left & right
            case ast.BitOr():
                return left | right
            case ast.BitXor():
                return left ^ right
            case ast.Pow():
                return self._power(left, right, active)
        raise self._error("operators are + - * // % ** << >> & | ^ ~; / does not give a whole number, // does")

    def _power(self, base: Any, exponent: Any, active: Any) -> Any:
        """By repeated multiplication, so that each step is checked."""
        outside = (exponent < 0) | (exponent > _MOST_SHIFT)
        power = self._without(exponent, outside, active, f"raised to other than 0 to {_MOST_SHIFT}")
        result = self.np.ones_like(base)
        for step in range(int(self.np.max(power, initial=0))):
            result = self.np.where(power > step, self._binary(ast.Mult(), result, base, active), result)
        return result

    def _without(self, value: Any, odd: Any, active: Any, complaint: str) -> Any:
        """The value with 1 in place of what may not be used; an error where an active lane would use it."""
        wrong = odd & active
        if wrong.any():
            row, lane = (int(each) for each in self.np.argwhere(self.np.broadcast_to(wrong, self.lanes.shape))[0])
            raise self._error(f"{complaint} in thread {int(self.lanes['t'][row, lane])}")
        return self.np.where(odd | ~active, 1, value)

    def _logical(self, both: bool, nodes: list[ast.expr], active: Any) -> Any:
        held = self.read(nodes[0], active) != 0
        for node in nodes[1:]:
            rest = self.read(node, active & (held if both else ~held)) != 0
            held = held & rest if both else held | rest
        return self._as_numbers(held)

    def _compared(
        self, node: ast.expr, first: ast.expr, ops: list[ast.cmpop], others: list[ast.expr], active: Any
    ) -> Any:
        held: Any = self.np.asarray(True)
        left = self.read(first, active)
        for op, other in zip(ops, others, strict=True):
            right = self.read(other, active & held)
            held = held & self._held(node, op, left, right)
            left = right
        return self._as_numbers(held)

    def _held(self, node: ast.expr, op: ast.cmpop, left: Any, right: Any) -> Any:
        match op:
            case ast.Eq():
                return left == right
            case ast.NotEq():
                return left != right
            case ast.Lt():
                return left < right
            case ast.LtE():
                return left <= right
            case ast.Gt():
                return left > right
            case ast.GtE():
                return left >= right
        raise self._refused(node)

    def _call(self, name: str, args: list[Any]) -> Any:
        if name not in _FUNCTIONS:
            raise self._error(f"no function {name!r}{did_you_mean(name, _FUNCTIONS)}; there are {listed(_FUNCTIONS)}")
        if (len(args) != 1) if name == "abs" else (len(args) < 2):
            raise self._error(f"{name} takes {'one argument' if name == 'abs' else 'two arguments or more'}")
        if name == "abs":
            return self.np.abs(args[0])
        join = self.np.minimum if name == "min" else self.np.maximum
        result = args[0]
        for each in args[1:]:
            result = join(result, each)
        return result

    def _as_numbers(self, truth: Any) -> Any:
        return self.np.asarray(truth).astype(self.np.int64)

    def _bounded(self, value: int) -> int:
        if abs(value) > self.LARGEST:
            raise self._error("a number beyond 2^62")
        return value

    def _check_size(self, op: ast.operator, left: Any, right: Any) -> None:
        """Refuse a sum, difference or product that could leave 2^62, from the ends of both ranges."""
        ends = [(int(each.min()), int(each.max())) for each in (left, right)]
        for a in ends[0]:
            for b in ends[1]:
                self._bounded(a * b if isinstance(op, ast.Mult) else a - b if isinstance(op, ast.Sub) else a + b)

    def _error(self, reason: str) -> ExpressionError:
        return ExpressionError(f"{self.what} = {brief(self.text)}: {reason}")

    def _refused(self, node: ast.expr) -> ExpressionError:
        piece = ast.get_source_segment(self.text, node) or type(node).__name__
        return self._error(
            f"{brief(piece)} is not read here; write whole numbers, t, lane, warp, block, x, y, z, "
            "+ - * // % ** << >> & | ^ ~, comparisons, and, or, not, if else, min, max, abs"
        )
