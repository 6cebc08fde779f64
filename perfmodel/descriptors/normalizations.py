"""Softmax and the norms, each a composition of maps and reductions over the last axis."""

from __future__ import annotations

from typing import Any, overload

from perfmodel.descriptors.arguments import Dtype, Dtypes, checked_axis, checked_tensors, one_of, result, sizes, unused
from perfmodel.descriptors.reductions import mean
from perfmodel.graph.building import reduced
from perfmodel.graph.nodes import Operand, Tensor, mapped, tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import program
from perfmodel.number_formats import Format

SOFTMAX_FORMS = ("safe", "naive")
_LAYERNORM_FORMS = ("two-pass", "moments")
EPSILON = 1e-5  # added under the root so that it never divides by zero; its value costs nothing


@overload
def softmax(m: Tensor, n: str, *, form: str = "safe", name: str | None = None, stage: str = "softmax") -> Tensor: ...
@overload
def softmax(m: Any, n: Any, dtype: Dtype = "bf16", form: str = "safe") -> Program: ...
def softmax(
    m: Any = None,
    n: Any = None,
    dtype: Dtype = "bf16",
    form: str = "safe",
    *,
    name: str | None = None,
    stage: str = "softmax",
) -> Program | Tensor:
    """y[m, n] = exp(x - max) / sum(exp(x - max)) over n, in five steps; ``form="naive"`` leaves out the maximum.

    With a tensor, ``softmax(x, "n")`` normalises over the label.

    >>> p = softmax("M", "N")
    >>> p.elements_read, p.elements_written
    (5*M*N + 2*M, 3*M*N + 2*M)
    """
    one_of(form, SOFTMAX_FORMS, "softmax: form")
    if isinstance(m, Tensor):
        unused("softmax", "a tensor", dtype=(dtype, "bf16"))
        return softmax_parts(m, checked_axis(m, n, "softmax"), form, name, stage)[0]
    m, n = sizes("softmax", m=m, n=n)
    unused("softmax", "sizes", name=(name, None), stage=(stage, "softmax"))
    formats = Dtypes(dtype, ("x", "y"), "softmax")
    x = tensor("x", {"m": m, "n": n}, formats["x"])
    y, _, _ = softmax_parts(x, "n", form, "y", stage, formats.output("y"))
    return program(y, name="softmax")


def softmax_parts(
    x: Tensor, label: str, form: str, name: str | None, stage: str, stored: Format | None = None
) -> tuple[Tensor, Tensor | None, Tensor]:
    """The softmax, its row maximum (None in the naive form) and its row sum.

    >>> softmax_parts(tensor("x", {"m": 4, "n": 8}), "n", "safe", "P", "softmax")[0].name
    'P'
    """
    top = reduced("max", x, label, stage=stage) if form == "safe" else None
    shifted = mapped("sub", x, top, stage=stage) if top is not None else x
    weights = mapped("exp", shifted, stage=stage)
    total = reduced("sum", weights, label, stage=stage)
    return mapped("div", weights, total, name=name, stage=stage, stored=stored), top, total


@overload
def layernorm(
    m: Tensor, n: str, *, weight: Tensor | None = None, bias: Tensor | None = None, form: str = "two-pass",
    stage: str = "layernorm",
) -> Tensor: ...  # fmt: skip
@overload
def layernorm(m: Any, n: Any, dtype: Dtype = "bf16", form: str = "two-pass") -> Program: ...
def layernorm(
    m: Any = None,
    n: Any = None,
    dtype: Dtype = "bf16",
    form: str = "two-pass",
    *,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    stage: str = "layernorm",
) -> Program | Tensor:
    """y[m, n] = (x - mean) / sqrt(variance + eps) * weight + bias over n (Ba et al. 2016, arXiv 1607.06450).

    ``form="two-pass"`` takes the variance of x - mean; ``form="moments"`` takes it as mean(x^2) - mean(x)^2,
    whose two sums need one pass. With a tensor, ``layernorm(x, "n", weight=w, bias=b)``.

    >>> len(layernorm(4, 1024).kernels), len(layernorm(4, 1024, form="moments").kernels)
    (9, 11)
    """
    one_of(form, _LAYERNORM_FORMS, "layernorm: form")
    if isinstance(m, Tensor):
        unused("layernorm", "a tensor", dtype=(dtype, "bf16"))
        return _affine("layernorm", _centred(m, checked_axis(m, n, "layernorm"), form, stage), weight, bias, stage)
    m, n = sizes("layernorm", m=m, n=n)
    unused("layernorm", "sizes", weight=(weight, None), bias=(bias, None), stage=(stage, "layernorm"))
    formats = Dtypes(dtype, ("x", "weight", "bias", "y"), "layernorm")
    x = tensor("x", {"m": m, "n": n}, formats["x"])
    weight, bias = [tensor(name, {"n": n}, formats[name]) for name in ("weight", "bias")]
    y = _affine("layernorm", _centred(x, "n", form, stage), weight, bias, stage)
    return program(result(y, "y", formats.output("y")), name="layernorm")


def _centred(x: Tensor, label: str, form: str, stage: str) -> Tensor:
    def step(function: str, *operands: Operand) -> Tensor:
        return mapped(function, *operands, stage=stage)

    centre = mean(x, label, stage=stage)
    shifted = step("sub", x, centre)
    if form == "two-pass":
        variance = mean(step("square", shifted), label, stage=stage)
    else:
        variance = step("sub", mean(step("square", x), label, stage=stage), step("square", centre))
    return step("mul", shifted, step("rsqrt", step("add", variance, EPSILON)))


@overload
def rmsnorm(m: Tensor, n: str, *, weight: Tensor | None = None, stage: str = "rmsnorm") -> Tensor: ...
@overload
def rmsnorm(m: Any, n: Any, dtype: Dtype = "bf16") -> Program: ...
def rmsnorm(
    m: Any = None, n: Any = None, dtype: Dtype = "bf16", *, weight: Tensor | None = None, stage: str = "rmsnorm"
) -> Program | Tensor:
    """y[m, n] = x / sqrt(mean(x^2) + eps) * weight over n (Zhang and Sennrich 2019, arXiv 1910.07467).

    With a tensor, ``rmsnorm(x, "n", weight=w)``.

    >>> [kernel.name for kernel in rmsnorm(4, 1024).kernels]
    ['square', 'mean', 'add', 'rsqrt', 'mul', 'mul_2']
    """
    if isinstance(m, Tensor):
        unused("rmsnorm", "a tensor", dtype=(dtype, "bf16"))
        return _affine("rmsnorm", _over_root(m, checked_axis(m, n, "rmsnorm"), stage), weight, None, stage)
    m, n = sizes("rmsnorm", m=m, n=n)
    unused("rmsnorm", "sizes", weight=(weight, None), stage=(stage, "rmsnorm"))
    formats = Dtypes(dtype, ("x", "weight", "y"), "rmsnorm")
    x = tensor("x", {"m": m, "n": n}, formats["x"])
    weight = tensor("weight", {"n": n}, formats["weight"])
    y = _affine("rmsnorm", _over_root(x, "n", stage), weight, None, stage)
    return program(result(y, "y", formats.output("y")), name="rmsnorm")


def _over_root(x: Tensor, label: str, stage: str) -> Tensor:
    power = mean(mapped("square", x, stage=stage), label, stage=stage)
    inverse = mapped("rsqrt", mapped("add", power, EPSILON, stage=stage), stage=stage)
    return mapped("mul", x, inverse, stage=stage)


def _affine(verb: str, x: Tensor, weight: Tensor | None, bias: Tensor | None, stage: str) -> Tensor:
    for function, field, item in (("mul", "weight", weight), ("add", "bias", bias)):
        if item is not None:
            checked_tensors(f"{verb}(x, label, {field}={field})", item)
            x = mapped(function, x, item, stage=stage)
    return x
