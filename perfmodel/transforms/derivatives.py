"""Derivatives of the elementary functions, written in ops of the same graph.

Each rule takes a workbench, the cotangent ``d`` of the result, the operands and the result ``y``, and returns what
flows to each operand (None: nothing does). Where a derivative is a function of the result it reads the result,
which is stored anyway (sigmoid: y (1 - y), tanh: 1 - y^2, exp: y), else the operands.

Conventions where a function has no derivative: relu has slope 0 at 0; of max and min the second operand takes a tie
(so that max(x, 0) is relu); abs has slope 0 at 0; steps (sign, round, comparisons) have slope 0 throughout.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from perfmodel.errors import TransformError
from perfmodel.graph.nodes import Tensor
from perfmodel.graph.operands import Scalar

Flows: TypeAlias = "tuple[Tensor | None, ...]"


class Maps(Protocol):
    """What makes ops: a map of operands."""

    def map(self, function: str, *operands: Any) -> Tensor: ...


Rule: TypeAlias = "Callable[[Maps, Tensor, tuple[Any, ...], Tensor], Flows]"

STEPS = ("sign", "floor", "ceil", "round", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


def flows(bench: Maps, function: str, d: Tensor, operands: tuple[Any, ...], y: Tensor) -> Flows:
    """What flows to each operand of a map from the cotangent of its result.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> class Plain:
    ...     def map(self, function, *operands):
    ...         return mapped(function, *operands)
    >>> d, x, y = [tensor(name, {"i": 4}) for name in ("d", "x", "y")]
    >>> [access.tensor.name for access in flows(Plain(), "exp", d, (x,), y)[0].producer.reads]
    ['d', 'y']
    """
    if function in STEPS:
        return (None,) * len(operands)
    rule = RULES.get(function)
    if rule is None:
        raise TransformError(f"grad: no derivative of {function!r} is known")
    return rule(bench, d, operands, y)


def _chain(slope: Callable[[Maps, Any, Tensor], Tensor]) -> Rule:
    """A function of one operand whose cotangent is ``d * slope(x, y)``."""

    def rule(bench: Maps, d: Tensor, operands: tuple[Any, ...], y: Tensor) -> Flows:
        return (bench.map("mul", d, slope(bench, operands[0], y)),)

    return rule


def _over(below: Callable[[Maps, Any, Tensor], Any], factor: float = 1.0) -> Rule:
    """A function of one operand whose cotangent is ``factor * d / below(x, y)``."""

    def rule(bench: Maps, d: Tensor, operands: tuple[Any, ...], y: Tensor) -> Flows:
        found = bench.map("div", d, below(bench, operands[0], y))
        return (found if factor == 1 else bench.map("mul", found, factor),)

    return rule


def _mul(bench: Maps, d: Tensor, operands: tuple[Any, ...], y: Tensor) -> Flows:
    a, b = operands
    return _to(bench, a, d, b), _to(bench, b, d, a)


def _to(bench: Maps, operand: Any, d: Tensor, other: Any) -> Tensor | None:
    return bench.map("mul", d, other) if isinstance(operand, Tensor) else None


def _div(bench: Maps, d: Tensor, operands: tuple[Any, ...], y: Tensor) -> Flows:
    """d / b to the numerator, and -(d / b) y to the denominator."""
    b = operands[1]
    share = bench.map("div", d, b)
    return share, bench.map("neg", bench.map("mul", share, y)) if isinstance(b, Tensor) else None


def _picked(first: str, second: str) -> Rule:
    """max and min: each operand gets d where it is the result; the second takes a tie."""

    def rule(bench: Maps, d: Tensor, operands: tuple[Any, ...], y: Tensor) -> Flows:
        a, b = operands
        return (
            bench.map("mul", d, bench.map(first, a, b)) if isinstance(a, Tensor) else None,
            bench.map("mul", d, bench.map(second, a, b)) if isinstance(b, Tensor) else None,
        )

    return rule


def _where(bench: Maps, d: Tensor, operands: tuple[Any, ...], y: Tensor) -> Flows:
    condition, a, b = operands
    return (
        None,
        bench.map("where", condition, d, 0) if isinstance(a, Tensor) else None,
        bench.map("where", condition, 0, d) if isinstance(b, Tensor) else None,
    )


def _pow(bench: Maps, d: Tensor, operands: tuple[Any, ...], y: Tensor) -> Flows:
    """d b a^(b-1) to the base, and d y log(a) to the exponent."""
    a, b = operands
    base = exponent = None
    if isinstance(a, Tensor):
        less = (
            b.value - 1
            if isinstance(b, Scalar) and isinstance(b.value, int | float)
            else bench.map("sub", b, 1)
            if isinstance(b, Tensor)
            else None
        )
        if less is None:
            raise TransformError(f"grad: x ** {b.value} with a named exponent has no derivative here; give a number")
        base = bench.map("mul", d, bench.map("mul", bench.map("pow", a, less), b))
    if isinstance(b, Tensor):
        log = bench.map("log", a) if isinstance(a, Tensor) else _log(a)
        exponent = bench.map("mul", d, bench.map("mul", y, log))
    return base, exponent


def _log(base: Any) -> float:
    value = getattr(base, "value", base)
    if not isinstance(value, int | float) or value <= 0:
        raise TransformError(f"grad: {value} ** x has a derivative where the base is a positive number")
    return math.log(value)


def _silu(bench: Maps, x: Any, y: Tensor) -> Tensor:
    """s (1 + x (1 - s)) with s = sigmoid(x)."""
    s = bench.map("sigmoid", x)
    return bench.map("mul", s, bench.map("add", bench.map("mul", x, bench.map("sub", 1, s)), 1))


def _gelu(bench: Maps, x: Any, y: Tensor) -> Tensor:
    """(1 + erf(x / sqrt 2)) / 2 + x exp(-x^2 / 2) / sqrt(2 pi)."""
    area = bench.map("mul", bench.map("add", bench.map("erf", bench.map("mul", x, math.sqrt(0.5))), 1), 0.5)
    bell = bench.map("exp", bench.map("mul", bench.map("square", x), -0.5))
    return bench.map("add", area, bench.map("mul", bench.map("mul", x, bell), 1 / math.sqrt(2 * math.pi)))


def _erf(bench: Maps, x: Any, y: Tensor) -> Tensor:
    """2 / sqrt(pi) exp(-x^2)."""
    return bench.map("mul", bench.map("exp", bench.map("neg", bench.map("square", x))), 2 / math.sqrt(math.pi))


def _rsqrt(bench: Maps, d: Tensor, operands: tuple[Any, ...], y: Tensor) -> Flows:
    """-d y^3 / 2."""
    return (bench.map("mul", bench.map("mul", d, -0.5), bench.map("mul", bench.map("square", y), y)),)


RULES: dict[str, Rule] = {
    "copy": lambda bench, d, operands, y: (d,),
    "add": lambda bench, d, operands, y: (d, d),
    "sub": lambda bench, d, operands, y: (d, bench.map("neg", d) if isinstance(operands[1], Tensor) else None),
    "neg": lambda bench, d, operands, y: (bench.map("neg", d),),
    "mul": _mul,
    "div": _div,
    "max": _picked("greater", "less_equal"),
    "min": _picked("less", "greater_equal"),
    "where": _where,
    "pow": _pow,
    "rsqrt": _rsqrt,
    "abs": _chain(lambda bench, x, y: bench.map("sign", x)),
    "square": _chain(lambda bench, x, y: bench.map("mul", x, 2)),
    "reciprocal": _chain(lambda bench, x, y: bench.map("neg", bench.map("square", y))),
    "relu": _chain(lambda bench, x, y: bench.map("greater", y, 0)),
    "exp": _chain(lambda bench, x, y: y),
    "exp2": _chain(lambda bench, x, y: bench.map("mul", y, math.log(2))),
    "expm1": _chain(lambda bench, x, y: bench.map("add", y, 1)),
    "log": _over(lambda bench, x, y: x),
    "log2": _over(lambda bench, x, y: x, 1 / math.log(2)),
    "log1p": _over(lambda bench, x, y: bench.map("add", x, 1)),
    "sqrt": _over(lambda bench, x, y: y, 0.5),
    "cbrt": _over(lambda bench, x, y: bench.map("square", y), 1 / 3),
    "sin": _chain(lambda bench, x, y: bench.map("cos", x)),
    "cos": _chain(lambda bench, x, y: bench.map("neg", bench.map("sin", x))),
    "tan": _chain(lambda bench, x, y: bench.map("add", bench.map("square", y), 1)),
    "tanh": _chain(lambda bench, x, y: bench.map("sub", 1, bench.map("square", y))),
    "sigmoid": _chain(lambda bench, x, y: bench.map("mul", y, bench.map("sub", 1, y))),
    "softplus": _chain(lambda bench, x, y: bench.map("neg", bench.map("expm1", bench.map("neg", y)))),
    "erf": _chain(_erf),
    "silu": _chain(_silu),
    "gelu": _chain(_gelu),
}
