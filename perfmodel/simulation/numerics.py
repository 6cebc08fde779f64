"""The elementary functions and reductions in numpy: what a simulated op computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """numpy's form of each elementary function.

    >>> float(functions()["relu"](-1.0))
    0.0
    """
    import numpy as np

    erf = np.vectorize(math.erf, otypes=[float])
    exp = np.exp
    return {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum,
        "neg": np.negative, "abs": np.abs, "square": np.square, "reciprocal": np.reciprocal, "sign": np.sign,
        "floor": np.floor, "ceil": np.ceil, "round": np.round, "relu": lambda x: np.maximum(x, 0.0),
        "where": lambda c, x, y: np.where(c != 0, x, y), "less": lambda x, y: (x < y) * 1.0,
        "less_equal": lambda x, y: (x <= y) * 1.0, "greater": lambda x, y: (x > y) * 1.0,
        "greater_equal": lambda x, y: (x >= y) * 1.0, "equal": lambda x, y: (x == y) * 1.0,
        "not_equal": lambda x, y: (x != y) * 1.0, "exp": exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
        "log2": np.log2, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1.0 / np.sqrt(x), "cbrt": np.cbrt,
        "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "erf": erf, "pow": np.power,
        "sigmoid": lambda x: 1.0 / (1.0 + exp(-x)), "silu": lambda x: x / (1.0 + exp(-x)),
        "gelu": lambda x: 0.5 * x * (1.0 + erf(x / math.sqrt(2.0))),
        "softplus": lambda x: np.logaddexp(x, 0.0), "copy": np.array,
    }  # fmt: skip


@cache
def reductions() -> dict[str, tuple[Any, float]]:
    """The two-argument function of each reduction, and the value that it starts from.

    >>> reductions()["sum"][1]
    0.0
    """
    import numpy as np

    return {
        "sum": (np.add, 0.0),
        "mean": (np.add, 0.0),
        "prod": (np.multiply, 1.0),
        "max": (np.maximum, -math.inf),
        "min": (np.minimum, math.inf),
        "multiply-add": (np.add, 0.0),
    }
