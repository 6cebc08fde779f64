"""Text to sizes, by walking Python's own syntax tree: nothing a user passes is evaluated.

Only names, whole numbers, ``+ - * / // % **`` and the functions ``ceil``, ``floor``, ``ceil_div``, ``min``, ``max``,
``mod`` are read, also as formulas show them (``ceiling``, ``Min``, ``Max``, ``Mod``), so that what is printed can be
typed; anything else is an ``ExpressionError`` that points at it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import sympy

from perfmodel.errors import DimensionError, ExpressionError, PerfModelError, did_you_mean, listed
from perfmodel.expressions.arithmetic import Size, as_size, ceil_div, floor_div, largest, remainder, smallest

LONGEST_TEXT = 10_000
_LARGEST_EXPONENT = 64
# Beyond these a text is a mistake or an attack: sympy multiplies powers of numbers out at once and those of
# sums when it asks for a sign, and its questions about deep nests take twice as long a level (minutes at 100).
_LARGEST_NUMBER = 2**256
_LARGEST_DEGREE = 64
_DEEPEST = 32
_SHOWN = 80

# Name -> the function, and the least and the greatest number of its arguments.
_FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "ceil": (lambda x: ceil_div(x, 1), 1, 1),
    "floor": (lambda x: floor_div(x, 1), 1, 1),
    "ceil_div": (ceil_div, 2, 2),
    "min": (smallest, 1, 16),
    "max": (largest, 1, 16),
    "mod": (remainder, 2, 2),
}
_PRINTED = {"ceiling": "ceil", "Min": "min", "Max": "max", "Mod": "mod"}  # as formulas are shown
SIZE_FUNCTIONS = (*_FUNCTIONS, *_PRINTED)


def parse_tree(text: str, what: str) -> ast.expr:
    """The syntax tree of one expression, or an ``ExpressionError`` that shows where it breaks.

    >>> type(parse_tree("a + b", "size")).__name__
    'BinOp'
    """
    if not isinstance(text, str):
        raise ExpressionError(f"{what}: expected text, got {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise ExpressionError(f"{what}: text of {len(text)} characters; at most {LONGEST_TEXT} are read")
    if not str.strip(text):
        raise ExpressionError(f"{what}: the text is empty")
    try:
        return ast.parse(str.strip(text), mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"{what} = {_shown(text)}: {error.msg} at character {error.offset or 1}") from None
    except (RecursionError, MemoryError):
        raise ExpressionError(f"{what} = {_shown(text)}: nested too deeply") from None
    except (ValueError, OverflowError) as error:
        raise ExpressionError(f"{what} = {_shown(text)}: not an expression ({error})") from None


def parse_size(text: str, what: str = "size") -> Size:
    """A size from text, in positive integer symbols.

    >>> parse_size("3*h"), parse_size("2**10"), parse_size("ceil(n/128)")
    (3*h, 1024, ceiling(n/128))
    """
    tree = parse_tree(text, what)
    return guarded(lambda: Sizes(str.strip(text), what).read(tree), text, what)


def guarded(read: Callable[[], Any], text: str, what: str) -> Any:
    """What reading a text gives; whatever goes wrong in it is an ``ExpressionError`` that shows the text.

    >>> guarded(lambda: [1][2], "m", "size")
    Traceback (most recent call last):
    perfmodel.errors.ExpressionError: size = 'm': not readable (list index out of range)
    """
    try:
        return read()
    except DimensionError as error:
        raise ExpressionError(f"{what} = {_shown(text)}: {error}") from None
    except PerfModelError:
        raise
    except RecursionError:
        raise ExpressionError(f"{what} = {_shown(text)}: nested too deeply") from None
    except Exception as error:  # sympy's own, of many kinds: none may reach the user
        raise ExpressionError(f"{what} = {_shown(text)}: not readable ({error})") from error


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


class Sizes:
    """Reads a syntax tree as a size.

    >>> Sizes("3*h", "size").read(parse_tree("3*h", "size"))
    3*h
    """

    kind, numbers = "size", "whole numbers"

    def __init__(self, text: str, what: str) -> None:
        self.text, self.what = text, what

    def read(self, node: ast.expr) -> Any:
        """What a part of the text stands for, limited in size.

        >>> Sizes("4", "size").read(parse_tree("4", "size"))
        4
        """
        return self._limited(as_size(self._read(node)))

    def _read(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() as value) if type(value) is int:
                return value
            case ast.Constant(value=float() as value) if value.is_integer():
                return int(value)
            case ast.Name(id=name):
                return sympy.Symbol(name, integer=True, positive=True)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.read(operand)
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                return self._product(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, [self.read(argument) for argument in args])
        raise self._refused(node)

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        match op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.FloorDiv():
                return floor_div(left, right)
            case ast.Mod():
                return remainder(left, right)
            case ast.Pow() if isinstance(right, int) and 0 <= right <= _LARGEST_EXPONENT:
                return left**right
        raise self._error(f"operators are + - * / // % and ** by an int from 0 to {_LARGEST_EXPONENT}")

    def _product(self, node: ast.expr) -> Any:
        """All factors at once, as sympy writes them: of two at a time a number would be drawn into a sum."""
        number, others = sympy.Integer(1), list[Any]()
        for each, below in _factors(node):
            found = sympy.sympify(self.read(each), strict=True)
            if below and found == 0:
                raise self._error(f"{sympy.Mul(number, *others)} divided by zero")
            if found.is_Rational:
                number = sympy.sympify(self._limited(number / found if below else number * found), strict=True)
            else:
                others.append(1 / found if below else found)
        return sympy.Mul(number, *others)

    def _call(self, name: str, args: list[Any]) -> Any:
        name = _PRINTED.get(name, name)
        if name not in _FUNCTIONS:
            raise self._error(f"no function {name!r}; there are {listed(_FUNCTIONS)}{did_you_mean(name, _FUNCTIONS)}")
        function, least, most = _FUNCTIONS[name]
        if not least <= len(args) <= most:
            expected = str(least) if least == most else f"{least} to {most}"
            raise self._error(f"{name} takes {expected} arguments, not {len(args)}")
        return function(*args)

    def _limited(self, value: Any) -> Any:
        """The value, if it is of a size that sympy can handle."""
        number, degree, depth = (abs(value), 0, 0) if isinstance(value, int) else _extent(value)
        if number > _LARGEST_NUMBER:
            raise self._error("a number beyond 2^256")
        if degree > _LARGEST_DEGREE:
            raise self._error(f"a polynomial of a degree beyond {_LARGEST_DEGREE}")
        if depth > _DEEPEST:
            raise self._error("nested too deeply")
        return value

    def _error(self, reason: str) -> ExpressionError:
        return ExpressionError(f"{self.what} = {_shown(self.text)}: {reason}")

    def _refused(self, node: ast.expr) -> ExpressionError:
        piece = ast.get_source_segment(self.text, node) or type(node).__name__
        return self._error(
            f"{_shown(piece)} is not allowed in a {self.kind}; write names, {self.numbers}, "
            "+ - * / // % **, ceil, floor, ceil_div, min, max"
        )


def _factors(node: ast.expr) -> list[tuple[ast.expr, bool]]:
    """The factors of a product, from left to right, and whether each stands below the line."""
    waiting, found = [(node, False)], []
    while waiting:
        each, below = waiting.pop()
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mult | ast.Div):
            waiting.append((each.right, below != isinstance(each.op, ast.Div)))
            waiting.append((each.left, below))
        else:
            found.append((each, below))
    return found


@lru_cache(maxsize=4096)
def _extent(expr: Any) -> tuple[int, int, int]:
    """The largest number in an expression, its degree in all symbols together, and its depth; each at most."""
    if expr.is_Rational:
        return max(abs(int(expr.p)), int(expr.q)), 0, 0
    if not expr.args:
        return 0, 1, 0
    numbers, degrees, depths = zip(*map(_extent, expr.args), strict=True)
    degree = sum(degrees) if expr.is_Mul else max(degrees)
    if expr.is_Pow and expr.exp.is_Integer:
        degree = degrees[0] * abs(int(expr.exp))
    return max(numbers), degree, max(depths) + 1
