"""Elementwise operations: whole expressions from text, and functions on tensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, overload

from perfmodel.descriptors.arguments import Dtype, Dtypes, checked_tensors, result, sizes, unused
from perfmodel.descriptors.formulas import names_in, read_formula
from perfmodel.errors import ExpressionError, LabelError, listed
from perfmodel.graph.indexing import fresh
from perfmodel.graph.nodes import Operand, Tensor, mapped, tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import program


@overload
def elementwise(expression: str, *, scalars: Collection[str] = (), **tensors: Tensor) -> Tensor: ...
@overload
def elementwise(expression: str, n: Any, *, dtype: Dtype = "bf16", scalars: Collection[str] = ()) -> Program: ...
def elementwise(  # type: ignore[misc]  # no tensor of the first form may be named n or dtype
    expression: str, n: Any = None, *, dtype: Dtype = "bf16", scalars: Collection[str] = (), **tensors: Tensor
) -> Program | Tensor:
    """An elementwise expression over vectors of length n (label ``i``), one op for each operation in it.

    Every name is a full vector unless ``scalars`` lists it; equal subexpressions are one op. With tensors by
    name, ``elementwise("relu(x*w + b)", x=x, w=w, b=b)``, the result is a tensor, broadcast over labels.

    >>> p = elementwise("sin(x)**2 + cos(x)**2", "n")
    >>> len(p.kernels), p.elements_read, p.elements_written
    (5, 6*n, 5*n)
    """
    names = names_in(expression)
    numbers = _scalars(expression, scalars, names)
    vectors = [name for name in names if name not in numbers]
    if tensors:
        return _over_tensors(expression, n, dtype, numbers, tensors, vectors)
    if not vectors:
        raise ExpressionError(f"elementwise {expression!r}: no vector in it; write an operation such as 'x + y'")
    if n is None:
        raise LabelError(f"elementwise: expected a length n, or a tensor for each of {listed(vectors)}")
    (count,) = sizes("elementwise", n=n)
    written = next(name for name in ("y", "out", "result", fresh("result", names)) if name not in names)
    formats = Dtypes(dtype, [*vectors, written], "elementwise")
    found = {name: tensor(name, {"i": count}, formats[name]) for name in vectors}
    made = read_formula(expression, found, numbers)
    return program(result(made, written, formats.output(written)), name="elementwise")


def _scalars(expression: str, scalars: Any, names: Collection[str]) -> tuple[str, ...]:
    """The names that stand for numbers: one, or several."""
    found = (scalars,) if isinstance(scalars, str) or not isinstance(scalars, Iterable) else tuple(scalars)
    for name in found:
        if name not in names:
            raise ExpressionError(f"elementwise {expression!r}: scalar {name!r} does not occur; it has {listed(names)}")
    return found


def _over_tensors(
    expression: str, n: Any, dtype: Any, scalars: tuple[str, ...], tensors: dict[str, Any], vectors: list[str]
) -> Tensor:
    """The expression over tensors given by name: a tensor for each name, and none besides."""
    if n is not None:
        raise LabelError("elementwise: give a length n or tensors by name, not both")
    unused("elementwise", "tensors", dtype=(dtype, "bf16"))
    for name, item in tensors.items():
        if name not in vectors:
            raise LabelError(f"elementwise {expression!r}: no {name!r} in it; it has {listed(vectors)}")
        checked_tensors(f"elementwise({expression!r}, {name}=...)", item)
    return read_formula(expression, tensors, scalars)


def _unary(name: str, meaning: str) -> Callable[..., Tensor]:
    def function(x: Tensor, *, name: str | None = None, stage: str = "") -> Tensor:
        return mapped(operation, x, name=name, stage=stage)

    operation = name
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{meaning}, elementwise on a tensor.\n\n"
        f">>> from perfmodel import tensor, {name}\n"
        f">>> {name}(tensor('x', {{'i': 8}})).producer.function\n'{name}'\n"
    )
    return function


exp = _unary("exp", "e to the power of x (one special operation a point)")
exp2 = _unary("exp2", "2 to the power of x (one special operation a point)")
log = _unary("log", "The natural logarithm (one special operation a point)")
sqrt = _unary("sqrt", "The square root (one special operation a point)")
rsqrt = _unary("rsqrt", "One over the square root (one special operation a point)")
sin = _unary("sin", "The sine (one special operation a point)")
cos = _unary("cos", "The cosine (one special operation a point)")
tanh = _unary("tanh", "The hyperbolic tangent (one special operation a point)")
erf = _unary("erf", "The error function (one special operation a point)")
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x)) (one special operation a point)")
relu = _unary("relu", "max(x, 0) (one FLOP a point)")
silu = _unary("silu", "x * sigmoid(x) (one FLOP and one special operation a point)")
gelu = _unary("gelu", "x * (1 + erf(x / sqrt 2)) / 2 (four FLOPs and one special operation a point)")
square = _unary("square", "x * x (one FLOP a point)")


def maximum(x: Operand, y: Operand, *, name: str | None = None, stage: str = "") -> Tensor:
    """The larger of two, elementwise (one FLOP a point).

    >>> maximum(tensor("x", {"i": 8}), 0).producer.function
    'max'
    """
    return mapped("max", x, y, name=name, stage=stage)


def minimum(x: Operand, y: Operand, *, name: str | None = None, stage: str = "") -> Tensor:
    """The smaller of two, elementwise (one FLOP a point).

    >>> minimum(tensor("x", {"i": 8}), 1).producer.function
    'min'
    """
    return mapped("min", x, y, name=name, stage=stage)


def where(condition: Tensor, x: Operand, y: Operand, *, name: str | None = None, stage: str = "") -> Tensor:
    """``x`` where the condition holds, else ``y`` (one FLOP a point).

    >>> x = tensor("x", {"i": 8})
    >>> where(x, x, 0).producer.function
    'where'
    """
    return mapped("where", condition, x, y, name=name, stage=stage)
