"""Derivatives of the elementary functions: each is the slope of what ``simulate`` computes."""

from __future__ import annotations

from typing import Any

import pytest
from differences import assert_is_gradient, reals_of

import perfmodel as pm
from perfmodel.graph.functions import FUNCTIONS
from perfmodel.transforms.derivatives import RULES, STEPS

UNARY = sorted(name for name, known in FUNCTIONS.items() if known.arity == 1 and name not in STEPS)
BINARY = ("x + w", "x - w", "x * w", "x / w", "max(x, w)", "min(x, w)", "x**w", "where(w > 1, x, w)", "where(x, 2, w)")
WITH_NUMBERS = ("1 - x", "x / 3", "2 / x", "max(x, 1)", "min(1, x)", "x**3", "x**0.5", "x**-1.5", "2**x", "3 * x - 1")


def test_every_function_has_a_derivative_or_is_a_step() -> None:
    """No function is left without a rule: the two lists cover the table of functions and share nothing."""
    assert set(RULES) | set(STEPS) == set(FUNCTIONS)
    assert not set(RULES) & set(STEPS)


@pytest.mark.parametrize("function", UNARY)
def test_a_function_of_one_operand_has_its_slope(function: str) -> None:
    """dx is dy times the slope, at positive and, where the function has any there, negative places."""
    p = pm.elementwise(f"{function}(x)", 16, dtype="fp64")
    g = pm.grad(p)
    positive_only = function in ("log", "log2", "log1p", "sqrt", "rsqrt", "cbrt")
    arrays = reals_of(g, low=0.3 if positive_only else -1.4, high=1.4)
    assert_is_gradient(p, g, arrays)


@pytest.mark.parametrize("expression", [*BINARY, *WITH_NUMBERS])
def test_a_function_of_several_operands_has_its_slopes(expression: str) -> None:
    """Each tensor among the operands gets its own part; numbers get none."""
    p = pm.elementwise(expression, 16, dtype="fp64")
    g = pm.grad(p)
    assert_is_gradient(p, g, reals_of(g, low=0.3, high=1.9))


# Reads of the backward kernel alone: the result where the derivative is a function of it, the operand elsewhere.
@pytest.mark.parametrize(
    ("function", "read"),
    [("sigmoid", "y"), ("tanh", "y"), ("exp", "y"), ("sqrt", "y"), ("rsqrt", "y"), ("relu", "y"), ("softplus", "y"),
     ("tan", "y"), ("sin", "x"), ("log", "x"), ("square", "x"), ("silu", "x"), ("gelu", "x")],
)  # fmt: skip
def test_a_backward_reads_the_result_where_the_slope_is_a_function_of_it(function: str, read: str) -> None:
    """The result is stored anyway; the operand would be one more tensor to keep."""
    backward = pm.fuse(pm.grad(pm.elementwise(f"{function}(x)", "n"))).kernels[1]
    assert set(backward.needed) == {"dy", read}


@pytest.mark.parametrize("function", STEPS)
def test_nothing_flows_through_a_step(function: str) -> None:
    """A step has slope 0 throughout: x has no gradient through it, and asking for one is refused."""
    text = f"{function}(x, w) * w" if FUNCTIONS[function].arity == 2 else f"{function}(x) * w"
    p = pm.elementwise(text, 8)
    assert "dx" not in pm.grad(p).returned
    with pytest.raises(pm.TransformError, match=r"nothing flows from y to x"):
        pm.grad(p, wrt="x")


@pytest.mark.parametrize(("expression", "slope"), [("relu(x)", 0), ("max(x, 0)", 0), ("abs(x)", 0), ("max(0, x)", 1)])
def test_a_kink_has_the_slope_that_is_documented(expression: str, slope: int) -> None:
    """At 0 relu and abs have slope 0, and of max the second operand takes the tie."""
    g = pm.grad(pm.elementwise(expression, 1))
    inputs: dict[str, Any] = {"x": [0.0], "dy": [1.0]}
    assert pm.simulate(g, inputs).values["dx"].tolist() == [slope]


def test_a_power_of_a_name_and_of_a_negative_number_are_refused() -> None:
    """A named exponent has no value to lower by one; a logarithm of a negative base does not exist."""
    with pytest.raises(pm.TransformError, match=r"x \*\* p with a named exponent"):
        pm.grad(pm.elementwise("x**p", 8, scalars="p"))
    with pytest.raises(pm.TransformError, match=r"the base is a positive number"):
        pm.grad(pm.elementwise("(-2)**x", 8))
