"""Python's operators on tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from perfmodel.errors import DimensionError
from perfmodel.expressions import dims
from perfmodel.graph.algebra import finite_number
from perfmodel.graph.nodes import tensor
from perfmodel.graph.operands import Scalar

x, y = tensor("x", {"i": 4}), tensor("y", {"i": 4})
BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow}
NO_NUMBERS = [True, False, float("nan"), float("inf"), -float("inf"), np.float64("nan"), np.bool_(True), "2", None, [2],
              1j, Decimal(1), dims("n"), np.ones(3), np.array([2, 2])]  # fmt: skip


def made(result: Any) -> tuple[str, list[Any]]:
    """The function of the op, and its operands by name or value."""
    operands = [item.value if isinstance(item, Scalar) else item.tensor.name for item in result.producer.inputs]
    return result.producer.function, operands


@pytest.mark.parametrize("name", BINARY)
def test_operators_keep_the_order_of_their_operands(name: str) -> None:
    """Between tensors, with a number on the right, and with a number on the left."""
    apply: Callable[[Any, Any], Any] = BINARY[name]
    assert made(apply(x, y)) == (name, ["x", "y"])
    assert made(apply(x, 3)) == (name, ["x", 3])
    assert made(apply(0.5, x)) == (name, [0.5, "x"])


def test_unary_operators() -> None:
    """Negation and magnitude are one op each."""
    assert made(-x) == ("neg", ["x"])
    assert made(abs(x)) == ("abs", ["x"])


def test_a_square_is_not_a_power() -> None:
    """x**2 is one FLOP, any other power a special operation, x**y and x**True included or refused."""
    assert made(x**2) == made(x**2.0) == ("square", ["x"])
    assert made(x**3) == ("pow", ["x", 3])
    assert made(x**y) == ("pow", ["x", "y"])


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_refused_on_either_side(name: str, value: Any) -> None:
    """Truth values, NaN, infinities, text, symbols and arrays: the message shows the op and the value."""
    for apply in (lambda: BINARY[name](x, value), lambda: BINARY[name](value, x)):
        with pytest.raises(DimensionError, match=f"{name}: expected a tensor or a finite number, got"):
            apply()


@pytest.mark.parametrize("value", [3, -3, 0, 2.5, 10**400, np.int64(3), np.float32(0.5), np.array(4)])
def test_numbers_pass(value: Any) -> None:
    """Of Python and of numpy, as Python's own."""
    found = finite_number(value, "mul")
    assert found == value
    assert type(found) in (int, float)
    assert made(x * value)[1] == made(value * x)[1][::-1] == ["x", found]
