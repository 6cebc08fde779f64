"""What a function makes of errors in its operands: how far its value may move between x - e and x + e."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfmodel.simulation.numerics import functions

MONOTONE = {"exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "cbrt", "tanh", "erf", "sigmoid",
            "softplus"}  # fmt: skip
# The steepest slope anywhere. silu: 1.0998 at x = 2.3994; gelu: 1.1290 at x = sqrt(2): the zeros of their second
# derivatives; the sine's and the cosine's is 1, as are those of what only picks, bends or turns a sign.
SLOPES = {"neg": 1.0, "abs": 1.0, "relu": 1.0, "copy": 1.0, "sin": 1.0, "cos": 1.0, "silu": 1.1, "gelu": 1.13}
COMPARED = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}


def spread(function: str, values: list[Any], errors: list[Any]) -> Any:
    """How far a function's value may move when each operand moves by at most its error; inf where nothing is known.

    >>> import numpy as np
    >>> spread("mul", [np.array(3.0), np.array(5.0)], [0.5, 0.25])  # 3 * 0.25 + 5 * 0.5 + 0.5 * 0.25
    array(3.375)
    """
    import numpy as np

    with np.errstate(all="ignore"):
        if function in SLOPES:
            return SLOPES[function] * np.asarray(errors[0])
        if function in MONOTONE:
            found = _monotone(functions()[function], values[0], errors[0])
        elif function in COMPARED:
            found = np.where(np.abs(values[0] - values[1]) > errors[0] + errors[1], 0.0, 1.0)
        else:
            found = _OTHERS[function](values, errors) if function in _OTHERS else np.full(np.shape(errors[0]), np.inf)
        still = np.all(np.broadcast_arrays(*[np.asarray(error) == 0 for error in errors]), axis=0)
        return np.where(still, 0.0, np.where(np.isnan(found), np.inf, found))


def _monotone(function: Callable[..., Any], value: Any, error: Any) -> Any:
    import numpy as np

    middle = function(value)
    return np.maximum(np.abs(function(value + error) - middle), np.abs(middle - function(value - error)))


def _product(values: list[Any], errors: list[Any]) -> Any:
    return abs(values[0]) * errors[1] + abs(values[1]) * errors[0] + errors[0] * errors[1]


def _quotient(values: list[Any], errors: list[Any]) -> Any:
    """(x + a) / (y + b) - x / y = (a - b x / y) / (y + b)."""
    import numpy as np

    room = abs(values[1]) - errors[1]
    return np.where(room > 0, (errors[0] + abs(values[0] / values[1]) * errors[1]) / room, np.inf)


def _picked(values: list[Any], errors: list[Any]) -> Any:
    import numpy as np

    return np.where(np.asarray(errors[0]) == 0, np.where(values[0] != 0, errors[1], errors[2]), np.inf)


def _larger(values: list[Any], errors: list[Any]) -> Any:
    import numpy as np

    return np.maximum(errors[0], errors[1])


def _step(values: list[Any], errors: list[Any]) -> Any:
    return errors[0] + 1.0


_OTHERS: dict[str, Callable[[list[Any], list[Any]], Any]] = {
    "add": lambda values, errors: errors[0] + errors[1],
    "sub": lambda values, errors: errors[0] + errors[1],
    "mul": _product,
    "square": lambda values, errors: _product(values * 2, errors * 2),
    "div": _quotient,
    "reciprocal": lambda values, errors: _quotient([1.0, *values], [0.0, *errors]),
    "max": _larger,
    "min": _larger,
    "where": _picked,
    "floor": _step,
    "ceil": _step,
    "round": _step,
    "sign": lambda values, errors: (abs(values[0]) <= errors[0]) * 2.0,
}
