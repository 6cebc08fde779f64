"""The elementary functions: what one application costs."""

from __future__ import annotations

import pytest

from perfmodel.errors import ExpressionError
from perfmodel.graph.functions import FUNCTIONS, REDUCTIONS, function


def cost(name: str) -> tuple[int, int]:
    return FUNCTIONS[name].flops, FUNCTIONS[name].special


def test_arithmetic_and_comparisons_are_one_flop() -> None:
    """Add, multiply, divide, compare, max: one each, none special."""
    names = ["add", "sub", "mul", "div", "max", "min", "neg", "abs", "square", "relu", "where", "less", "equal"]
    assert {cost(name) for name in names} == {(1, 0)}


def test_transcendental_functions_are_one_special_operation() -> None:
    """Never FLOPs."""
    names = ["exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid", "pow"]
    assert {cost(name) for name in names} == {(0, 1)}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("silu", ["sigmoid", "mul"]),  # x * sigmoid(x)
        ("gelu", ["div", "erf", "add", "mul", "div"]),  # x * (1 + erf(x / sqrt 2)) / 2
        ("softplus", ["exp", "add", "log"]),  # log(1 + exp(x))
        ("copy", []),
    ],
)
def test_composite_functions_cost_what_their_definitions_do(name: str, parts: list[str]) -> None:
    """The sum over the steps of the definition."""
    assert cost(name) == (sum(cost(part)[0] for part in parts), sum(cost(part)[1] for part in parts))


def test_every_function_has_its_own_name_and_arguments() -> None:
    """The table is keyed by the names in it; nothing takes no argument, and only copy is free."""
    assert all(found.name == name and 1 <= found.arity <= 3 for name, found in FUNCTIONS.items())
    assert [name for name in FUNCTIONS if cost(name) == (0, 0)] == ["copy"]
    assert (FUNCTIONS["where"].arity, FUNCTIONS["pow"].arity, FUNCTIONS["neg"].arity) == (3, 2, 1)
    assert REDUCTIONS == ("sum", "max", "min", "prod", "mean")


def test_a_function_is_found_by_name() -> None:
    """An unknown one is an error with a near miss and what there is."""
    assert function("exp") is FUNCTIONS["exp"]
    with pytest.raises(ExpressionError, match=r"no function 'tanhh' \(did you mean 'tanh'\?\); there are abs, add"):
        function("tanhh")
