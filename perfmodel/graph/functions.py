"""The elementary functions of map ops, with what one application costs.

The FLOP convention, in one place. An add, subtract, multiply, divide, compare, max or min is one
FLOP. exp, log, sqrt, sin, tanh, erf and their like are one *special operation* each, counted apart
(hardware issues them to another, slower unit) and never called FLOPs. Moving, copying or converting
a value costs none. A reduction over n points is n FLOPs (it starts from the identity), a mean n + 1.
A composite activation costs what its definition does:
relu(x) = max(x, 0), silu(x) = x * sigmoid(x), gelu(x) = x * (1 + erf(x / sqrt 2)) / 2
(Hendrycks and Gimpel 2016, arXiv 1606.08415).
"""

from __future__ import annotations

from dataclasses import dataclass

from perfmodel.errors import ExpressionError, did_you_mean, listed


@dataclass(frozen=True, slots=True)
class Function:
    """An elementary function: its arguments, and FLOPs and special operations a point.

    >>> FUNCTIONS["silu"].flops, FUNCTIONS["silu"].special
    (1, 1)
    """

    name: str
    arity: int
    flops: int
    special: int


_ONE_FLOP = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "max": 2, "min": 2, "neg": 1, "abs": 1, "square": 1, "reciprocal": 1,
    "sign": 1, "floor": 1, "ceil": 1, "round": 1, "relu": 1, "where": 3,
    "less": 2, "less_equal": 2, "greater": 2, "greater_equal": 2, "equal": 2, "not_equal": 2,
}  # fmt: skip
_ONE_SPECIAL = {
    "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log2": 1, "log1p": 1, "sqrt": 1, "rsqrt": 1, "cbrt": 1, "sin": 1,
    "cos": 1, "tan": 1, "tanh": 1, "erf": 1, "sigmoid": 1, "pow": 2,
}  # fmt: skip

FUNCTIONS: dict[str, Function] = {
    **{name: Function(name, arity, 1, 0) for name, arity in _ONE_FLOP.items()},
    **{name: Function(name, arity, 0, 1) for name, arity in _ONE_SPECIAL.items()},
    "silu": Function("silu", 1, 1, 1),  # x * sigmoid(x)
    "gelu": Function("gelu", 1, 4, 1),  # x/sqrt2, erf, +1, *x, *1/2
    "softplus": Function("softplus", 1, 1, 2),  # log(1 + exp(x))
    "copy": Function("copy", 1, 0, 0),
}

REDUCTIONS = ("sum", "max", "min", "prod", "mean")


def function(name: str) -> Function:
    """The function of this name.

    >>> function("exp").special
    1
    >>> function("expp")
    Traceback (most recent call last):
    perfmodel.errors.ExpressionError: no function 'expp' (did you mean 'exp'?); there are abs, add, ...
    """
    found = FUNCTIONS.get(name)
    if found is None:
        raise ExpressionError(
            f"no function {name!r}{did_you_mean(name, FUNCTIONS)}; there are {listed(sorted(FUNCTIONS), limit=40)}"
        )
    return found
