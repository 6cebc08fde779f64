"""The elementary functions, reductions and roundings in numpy: what a simulated op computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from perfmodel.errors import FormatError
from perfmodel.number_formats import Format


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


def rounded(values: Any, form: Format) -> Any:
    """Values as a format holds them: rounded to nearest even, saturating at the largest finite value.

    >>> from perfmodel.number_formats import format
    >>> float(rounded(1.01, format("bf16")))
    1.0078125
    """
    import numpy as np

    dtype = _dtype(form.name)
    limit = form.max_finite
    values = np.asarray(values, dtype=np.float64)
    if limit is not None:
        finite = np.isfinite(values)
        values = np.where(finite, np.clip(values, -float(limit), float(limit)), values)
    return np.asarray(values).astype(dtype).astype(np.float64)


@cache
def _dtype(name: str) -> Any:
    """The numpy or ml_dtypes type of a format (needs the package ml_dtypes for the narrow ones)."""
    import numpy as np

    plain = {"fp64": np.float64, "fp32": np.float32, "fp16": np.float16, "int64": np.int64, "int32": np.int32,
             "int16": np.int16, "int8": np.int8, "uint8": np.uint8}  # fmt: skip
    if name in plain:
        return np.dtype(plain[name])
    import ml_dtypes

    narrow = {"bf16": "bfloat16", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2", "fp6_e2m3": "float6_e2m3fn",
              "fp6_e3m2": "float6_e3m2fn", "fp4_e2m1": "float4_e2m1fn", "int4": "int4"}  # fmt: skip
    if name not in narrow:
        raise FormatError(f"simulate: rounding to {name} is not known")
    return np.dtype(getattr(ml_dtypes, narrow[name]))
