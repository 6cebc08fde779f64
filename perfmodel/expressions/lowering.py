"""A sympy expression as nodes: sums, products, ceilings of whole quotients, choices.

Every rule is here by name; an expression of any other kind is refused, because a count that is
nearly right is worse than none. ``ceiling(m/3 + n/4)`` becomes the ceiling of one quotient of
whole numbers, ``(4*m + 3*n)/12``: a true division of those is exact where a product with
``0.08333...`` (what sympy's own numpy printer writes) is not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import sympy
from sympy.logic.boolalg import BooleanAtom

from perfmodel.errors import ExpressionError
from perfmodel.expressions.divisibility import is_multiple
from perfmodel.expressions.remainders import Mod
from perfmodel.expressions.steps import Kind, Step, Tape, linearized
from perfmodel.expressions.summing import Summand, parted, short

_LARGEST_EXPONENT = 64


def lowered(formulas: Sequence[sympy.Expr]) -> Tape:
    """The steps that compute the formulas, what they share computed once.

    >>> m = sympy.Symbol("m", integer=True, positive=True)
    >>> tape = lowered([sympy.ceiling(m / 3 + sympy.Rational(1, 4))])
    >>> tape.text(tape.outputs[0])
    'ceil((4*m + 3)/12)'
    """
    lowering = _Lowering()
    outputs = [lowering.read(formula) for formula in formulas]
    for output, formula in zip(outputs, formulas, strict=True):
        if lowering.nodes[output].kind == "truth":
            raise ExpressionError(f"compile: {formula} is a condition, not a number")
    return linearized(lowering.nodes, outputs)


class _Lowering:
    """Reads expressions into nodes, each kept once."""

    def __init__(self) -> None:
        self.nodes: list[Step] = []
        self.places: dict[Step, int] = {}
        self.known: dict[Any, int] = {}

    def read(self, expr: Any) -> int:
        if expr not in self.known:
            rule = next((_RULES[kind] for kind in type(expr).__mro__ if kind in _RULES), None)
            if rule is None:
                raise _refused(expr, f"{type(expr).__name__} is not known here")
            self.known[expr] = rule(self, expr)
        return self.known[expr]

    def put(self, op: str, *args: int, value: Any = None, kind: Kind = "count") -> int:
        step = Step(op, args, value, kind)
        if step not in self.places:
            self.places[step] = len(self.nodes)
            self.nodes.append(step)
        return self.places[step]

    def is_count(self, *nodes: int) -> bool:
        return all(self.nodes[node].kind == "count" for node in nodes)

    def joint(self, op: str, *args: int) -> int:
        """A step that is a count where its operands are."""
        return self.put(op, *args, kind="count" if self.is_count(*args) else "real")

    def many(self, op: str, args: Iterable[int]) -> int:
        """A sum, product, maximum or minimum of any number of nodes."""
        found = sorted(args) if op in ("add", "mul") else sorted(set(args))
        if not found:
            return self.constant(1 if op == "mul" else 0)
        return found[0] if len(found) == 1 else self.joint(op, *found)

    def constant(self, value: int | float) -> int:
        return self.put("constant", value=value, kind="count" if isinstance(value, int) else "real")

    # Numbers and symbols

    def integer(self, expr: Any) -> int:
        value = int(expr)
        if value.bit_length() > 1023:
            raise ExpressionError("compile: a number in the formula is beyond 2^1023, the range of float64")
        return self.constant(value)

    def number(self, expr: Any) -> int:
        try:
            value = float(expr)
        except OverflowError:
            value = math.inf
        if not (sys.float_info.min <= abs(value) < math.inf or expr == 0):
            raise _refused(expr, "a number out of the range of float64")
        return self.constant(value)

    def symbol(self, expr: Any) -> int:
        if not expr.is_positive:
            raise _refused(expr, "make symbols with pm.dims (positive integers) or pm.reals (positive reals)")
        return self.put("symbol", value=expr.name, kind="count" if expr.is_integer else "real")

    # Sums, products and powers

    def add(self, expr: Any) -> int:
        pairs = [arg.as_coeff_Mul() for arg in expr.args]
        if not all(coefficient.is_Rational for coefficient, _ in pairs):
            return self.many("add", [self.read(arg) for arg in expr.args])
        divisor = math.lcm(*(coefficient.q for coefficient, _ in pairs))
        content = sympy.Rational(math.gcd(*(int(coefficient * divisor) for coefficient, _ in pairs)), divisor)
        inner = self.many("add", [self.scaled(coefficient / content, rest) for coefficient, rest in pairs])
        return inner if content == 1 else self.scaled(content, expr / content, inner)

    def mul(self, expr: Any) -> int:
        coefficient, factors = expr.as_coeff_mul()
        below = [factor for factor in factors if _is_reciprocal(factor)]
        above = sympy.Mul(*(factor for factor in factors if not _is_reciprocal(factor)))
        top = self.many("mul", [self.read(factor) for factor in sympy.Mul.make_args(above)])
        value = self.scaled(coefficient, above, top)
        if not below:
            return value
        return self.put("div", value, self.many("mul", [self.read(1 / factor) for factor in below]), kind="real")

    def scaled(self, coefficient: Any, expr: Any, node: int | None = None) -> int:
        """``coefficient * expr``: a count where it can be shown to be one."""
        node = self.read(expr) if node is None else node
        if coefficient == 1:
            return node
        if self.nodes[node].value == 1 and self.nodes[node].op == "constant":
            return self.read(coefficient)
        if coefficient == -1:
            return self.joint("neg", node)
        fraction = coefficient.is_Rational and coefficient.q != 1
        if not (fraction and self.is_count(node) and is_multiple(expr, int(coefficient.q))):
            return self.many("mul", [self.read(coefficient), node])
        top = self.scaled(sympy.Integer(coefficient.p), expr, node)
        return self.put("exact", top, self.constant(int(coefficient.q)))

    def pow(self, expr: Any) -> int:
        base, exponent = expr.args
        if exponent.is_Integer and 0 < exponent <= _LARGEST_EXPONENT:
            return self.powered(self.read(base), int(exponent))
        if exponent.is_Integer and exponent > 0:
            raise _refused(expr, f"powers go up to {_LARGEST_EXPONENT}")
        if _is_reciprocal(expr):
            return self.put("div", self.constant(1), self.read(base**-exponent), kind="real")
        if exponent == sympy.Rational(1, 2):
            return self.put("sqrt", self.read(base), kind="real")
        return self.put("pow", self.read(base), self.read(exponent), kind="real")

    def powered(self, node: int, exponent: int) -> int:
        """By squaring: ``x*x`` is exact and fast where ``x**2.0`` need be neither."""
        if exponent == 1:
            return node
        half = self.powered(node, exponent // 2)
        return self.many("mul", [half, half, node] if exponent % 2 else [half, half])

    def function(self, expr: Any) -> int:
        return self.put(_FUNCTIONS[type(expr)], self.read(expr.args[0]), kind="real")

    # Whole numbers from quotients

    def rounded(self, expr: Any) -> int:
        """A ceiling or floor: of one quotient of whole numbers, or moved into a maximum or a choice."""
        (arg,) = expr.args
        if isinstance(arg, (sympy.Max, sympy.Min)):
            return self.many(_EXTREMES[type(arg)], [self.read(expr.func(term)) for term in arg.args])
        if isinstance(arg, sympy.Piecewise):
            return self.read(sympy.Piecewise(*((expr.func(value), condition) for value, condition in arg.args)))
        top, bottom = self.quotient(arg, expr)
        if bottom == self.constant(1):
            return top
        return self.put("ceil" if isinstance(expr, sympy.ceiling) else "floor", top, bottom)

    def quotient(self, arg: Any, whole: Any) -> tuple[int, int]:
        """Numerator and denominator of an expression, both counts."""
        for form in () if arg.has(sympy.Float) else (arg, sympy.expand(arg)):
            top, bottom = map(self.read, sympy.fraction(sympy.together(form)))
            if self.is_count(top, bottom):
                return top, bottom
        raise _refused(whole, f"{arg} is not a quotient of whole numbers, so it cannot be rounded exactly")

    def mod(self, expr: Any) -> int:
        left, right = expr.args
        if self.is_count(self.read(left), self.read(right)):
            return self.put("mod", self.read(left), self.read(right))
        parts = [sympy.fraction(sympy.together(arg)) for arg in expr.args]
        if expr.has(sympy.Float) or not all(bottom.is_Integer for _, bottom in parts):
            raise _refused(expr, "a remainder is exact only between whole numbers or fractions of them")
        divisor = sympy.ilcm(*(bottom for _, bottom in parts))
        left, right = (top * (divisor / bottom) for top, bottom in parts)
        if not self.is_count(self.read(left), self.read(right)):
            raise _refused(expr, "a remainder is exact only between whole numbers or fractions of them")
        node = self.put("mod", self.read(left), self.read(right))
        return node if divisor == 1 else self.many("mul", [self.read(sympy.Rational(1, divisor)), node])

    def finite_sum(self, expr: Any) -> int:
        """A sum over one number, or over the last of several (the others stand in its terms)."""
        if not all(len(limits) == 3 and all(limit.is_finite for limit in limits[1:]) for limits in expr.limits):
            raise _refused(expr, "a sum is added up between two finite numbers")
        terms, term, number = parted(expr)
        others = sorted(term.free_symbols - {number}, key=str)
        if not self.is_count(count := self.read(terms)):
            raise _refused(expr, "a sum is added up between two whole numbers")
        summand = Summand(short(expr), lowered([term]), number.name, tuple([symbol.name for symbol in others]))
        kind: Kind = "count" if summand.whole else "real"
        return self.put("sum", count, *map(self.read, others), value=summand, kind=kind)

    # Choices

    def extreme(self, expr: Any) -> int:
        return self.many(_EXTREMES[type(expr)], [self.read(arg) for arg in expr.args])

    def absolute(self, expr: Any) -> int:
        return self.joint("abs", self.read(expr.args[0]))

    def piecewise(self, expr: Any) -> int:
        *choices, (otherwise, always) = expr.args
        if always != sympy.true:
            raise _refused(expr, "a Piecewise needs a last case that always holds")
        node = self.read(otherwise)
        for value, condition in reversed(choices):
            chosen = self.read(value)
            kind: Kind = "count" if self.is_count(chosen, node) else "real"
            node = self.put("where", self.read(condition), chosen, node, kind=kind)
        return node

    def compared(self, expr: Any) -> int:
        op = _COMPARISONS[type(expr)]
        left, right = expr.args
        if isinstance(expr, (sympy.Gt, sympy.Ge)):
            left, right = right, left
        if not self.is_count(self.read(left), self.read(right)) and not expr.has(sympy.Float):
            top, bottom = sympy.fraction(sympy.together(left - right))
            if bottom.is_positive and self.is_count(self.read(top)):
                left, right = top, sympy.S.Zero
        if op in ("eq", "ne") and not self.is_count(self.read(left), self.read(right)):
            raise _refused(expr, "whether two reals are equal is not decided by floats")
        return self.put(op, self.read(left), self.read(right), kind="truth")

    def logic(self, expr: Any) -> int:
        first, *rest = map(self.read, expr.args)
        if not rest:
            return self.put("not", first, kind="truth")
        for other in rest:
            first = self.put("and" if isinstance(expr, sympy.And) else "or", first, other, kind="truth")
        return first

    def chosen(self, expr: Any) -> int:
        """A condition that depends on another one: sympy writes ITE(c, a, b) for choices inside conditions."""
        condition, *cases = map(self.read, expr.args)
        other = self.put("not", condition, kind="truth")
        first, second = (
            self.put("and", case, held, kind="truth") for case, held in zip((condition, other), cases, strict=True)
        )
        return self.put("or", first, second, kind="truth")

    def truth(self, expr: Any) -> int:
        return self.put("constant", value=bool(expr), kind="truth")


_FUNCTIONS: dict[Any, str] = {sympy.exp: "exp", sympy.log: "log"}
_EXTREMES: dict[Any, str] = {sympy.Max: "max", sympy.Min: "min"}
_COMPARISONS: dict[Any, str] = {sympy.Lt: "lt", sympy.Le: "le", sympy.Gt: "lt", sympy.Ge: "le"}
_COMPARISONS |= {sympy.Eq: "eq", sympy.Ne: "ne"}
_RULES: dict[Any, Callable[[_Lowering, Any], int]] = {
    sympy.Integer: _Lowering.integer,
    sympy.Rational: _Lowering.number,
    sympy.Float: _Lowering.number,
    sympy.NumberSymbol: _Lowering.number,
    sympy.Symbol: _Lowering.symbol,
    sympy.Add: _Lowering.add,
    sympy.Mul: _Lowering.mul,
    sympy.Pow: _Lowering.pow,
    sympy.ceiling: _Lowering.rounded,
    sympy.floor: _Lowering.rounded,
    sympy.Mod: _Lowering.mod,
    Mod: _Lowering.mod,
    sympy.Sum: _Lowering.finite_sum,
    sympy.Abs: _Lowering.absolute,
    sympy.Piecewise: _Lowering.piecewise,
    BooleanAtom: _Lowering.truth,
    sympy.ITE: _Lowering.chosen,
    **dict.fromkeys(_FUNCTIONS, _Lowering.function),
    **dict.fromkeys(_EXTREMES, _Lowering.extreme),
    **dict.fromkeys(_COMPARISONS, _Lowering.compared),
    **dict.fromkeys((sympy.And, sympy.Or, sympy.Not), _Lowering.logic),
}


def _refused(expr: Any, reason: str) -> ExpressionError:
    return ExpressionError(f"compile: {short(expr)}: {reason}")


def _is_reciprocal(factor: Any) -> bool:
    return bool(factor.is_Pow and factor.exp.is_Rational and factor.exp.is_negative)
