"""Elementwise programs from text and from tensors, and the functions on tensors."""

from __future__ import annotations

import pytest

import perfmodel as pm
from perfmodel.graph.functions import FUNCTIONS

N = pm.dims("n")
X, Y = pm.tensor("x", {"m": 4, "n": 8}), pm.tensor("y", {"n": 8})

SPECIAL = ("exp", "exp2", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid")
COSTS = {**dict.fromkeys(SPECIAL, (0, 1)), "relu": (1, 0), "silu": (1, 1), "gelu": (4, 1), "square": (1, 0)}


@pytest.mark.parametrize(("name", "cost"), COSTS.items())
def test_a_function_costs_what_its_definition_does(name: str, cost: tuple[int, int]) -> None:
    """FLOPs and special operations a point: silu is a multiply and a sigmoid, gelu four FLOPs and an erf."""
    p = pm.program(getattr(pm, name)(X))
    assert (p.flops, p.flops_by_unit["special"]) == (cost[0] * 4 * 8, cost[1] * 4 * 8)
    assert p.bytes == 2 * (4 * 8) + 2 * (4 * 8)  # one read, one write


@pytest.mark.parametrize("name", COSTS)
def test_a_function_has_its_own_name_and_text(name: str) -> None:
    """Each function of the public face is called what it is, and says what it costs."""
    function = getattr(pm, name)
    assert function.__name__ == name
    assert ">>>" in (function.__doc__ or "")
    assert FUNCTIONS[name].flops == COSTS[name][0]


def test_names_and_stages_can_be_given() -> None:
    """name is the tensor's, stage the op's."""
    made = pm.exp(X, name="weights", stage="softmax")
    assert (made.name, made.producer.stage) == ("weights", "softmax")


def test_maximum_minimum_and_where_broadcast() -> None:
    """They take numbers and tensors of fewer labels, one FLOP a point of the larger one."""
    for made in (pm.maximum(X, 0), pm.minimum(Y, X), pm.where(X, Y, 0)):
        assert made.labels == ("m", "n")
        assert pm.program(made).flops == 4 * 8


@pytest.mark.parametrize("call", [
    lambda: pm.exp(4), lambda: pm.exp("x"), lambda: pm.relu(None), lambda: pm.maximum(3, 4),
    lambda: pm.maximum(X, float("nan")), lambda: pm.maximum(X, float("inf")), lambda: pm.minimum(X, True),
    lambda: pm.where(X, "y", 0), lambda: pm.where(1, 2, 3), lambda: pm.where(X, None, 0),
    lambda: pm.maximum(X, pm.tensor("z", {"n": 9})), lambda: pm.exp(N),
])  # fmt: skip
def test_what_is_no_tensor_or_number_is_refused(call: object) -> None:
    """Functions on tensors refuse text, nan, truth values, symbols and other extents."""
    with pytest.raises(pm.PerfModelError):
        call()


def test_text_and_operators_make_the_same_program() -> None:
    """The text, the operators of Python and the text over tensors: three ways to one count."""
    x, w, b = (pm.tensor(name, {"i": N}) for name in "xwb")
    written = pm.elementwise("relu(x*w + b)", N)
    for made in (pm.relu(x * w + b), pm.elementwise("relu(x*w + b)", x=x, w=w, b=b)):
        p = pm.program(made)
        assert (p.flops, p.bytes_read, p.bytes_written) == (written.flops, written.bytes_read, written.bytes_written)


def test_text_over_tensors_broadcasts() -> None:
    """A bias over n is read once for all rows."""
    p = pm.program(pm.elementwise("x + b", x=X, b=Y))
    assert p.elements_read == 4 * 8 + 8


def test_the_result_takes_a_free_name() -> None:
    """The result is y, or out where the expression uses y, or result where it uses both."""
    for text, name in (("x + 1", "y"), ("x + y", "out"), ("y + out", "result"), ("y + out + result", "result_2")):
        assert pm.elementwise(text, 4).outputs[0].name == name


def test_formats_by_tensor_hold_for_the_result_too() -> None:
    """A mapping types what is read and what is written: 4 bytes of x, 2 of w, 4 of y."""
    p = pm.elementwise("x*w", N, dtype={"x": "fp32", "y": "fp32"})
    assert (p.bytes_read, p.bytes_written) == (4 * N + 2 * N, 4 * N)
    assert pm.elementwise("x*w", N, dtype={"y": "fp32"}).bytes_written == 4 * N


@pytest.mark.parametrize(("call", "said"), [
    (lambda: pm.elementwise("x + y"), "expected a length n"),
    (lambda: pm.elementwise("x + y", 4, x=X, y=X), "not both"),
    (lambda: pm.elementwise("x + y", x=X), "no tensor 'y'"),
    (lambda: pm.elementwise("x + y", x=X, y=X, z=X), "no 'z' in it"),
    (lambda: pm.elementwise("x + y", x=X, y=4), "expected tensors, got 4"),
    (lambda: pm.elementwise("x + 1", x=X, dtype="fp32"), "takes no dtype"),
    (lambda: pm.elementwise("x + y", 4, scalars=("z",)), "scalar 'z' does not occur"),
    (lambda: pm.elementwise("x + y", 4, scalars=4), "scalar 4 does not occur"),
    (lambda: pm.elementwise("x + y", 4, scalars=("x", "y")), "no vector"),
    (lambda: pm.elementwise("x + y", 4, dtype={"z": "bf16"}), "its tensors are x, y, out"),
    (lambda: pm.elementwise("x + y", 4, dtype="b16"), "did you mean 'bf16'"),
    (lambda: pm.elementwise(4, 4), "expected text, got int"),
    (lambda: pm.elementwise(None, 4), "expected text, got NoneType"),
])  # fmt: skip
def test_a_wrong_call_says_what_is_wrong(call: object, said: str) -> None:
    """Each wrong argument of elementwise is named."""
    with pytest.raises(pm.PerfModelError, match=said):
        call()
