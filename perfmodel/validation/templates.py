"""What an op of a table is as a program, in symbols: made once for all rows of its kind.

What each op computes is said with the descriptors that any user has; sizes are the symbols m, n, k and batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast as assume

from perfmodel.descriptors import (
    einsum,
    elementwise,
    layernorm,
    matmul,
    max as largest,
    rmsnorm,
    softmax,
    sum as added,
)
from perfmodel.expressions import dims
from perfmodel.graph.nodes import Tensor, tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import program
from perfmodel.number_formats import Format
from perfmodel.transforms import cast, fuse
from perfmodel.validation.formats_of_rows import Formats

# Elementwise ops by name: x and, where it stands there, w are full tensors.
FORMULAS = {
    "ew_add": "x + w",
    "ew_mul": "x * w",
    "ew_div": "x / w",
    "ew_pow": "x ** w",
    "ew_addu": "x + 2",
    "ew_mulu": "x * 2",
    "ew_divu": "x / 2",
    "ew_powu": "x ** 2",
    "ew_relu": "relu(x)",
    "ew_gelu": "gelu(x)",
    "ew_tanh": "tanh(x)",
    "ew_sigmoid": "sigmoid(x)",
    "ew_elu": "maximum(x, 0) + minimum(exp(x) - 1, 0)",
    "ew_selu": "2 * (maximum(x, 0) + minimum(exp(x) - 1, 0))",
    "ew_softplus": "log(1 + exp(x))",
    "ew_hardtanh": "minimum(maximum(x, -1), 1)",
    "ew_hardsigmoid": "minimum(maximum(x / 6 + 0.5, 0), 1)",
    "silu_mul": "silu(x) * w",
}
ROWWISE: dict[str, Callable[..., Any]] = {"softmax": softmax, "layernorm": layernorm, "rmsnorm": rmsnorm}
REDUCTIONS: dict[str, Callable[[Tensor, str], Tensor]] = {"reduce_sum": added, "reduce_max": largest}
OPS = ("gemm", "bmm", *FORMULAS, *ROWWISE, *REDUCTIONS, "rope", "quant_fp8_static")


@lru_cache(maxsize=1024)
def gemm(formats: Formats, *, bias: bool = False, batched: bool = False) -> Program:
    """C[m, n] = A[m, k] B[k, n] in symbols, with the bias that a row may add in the same kernel; or a batch of them.

    >>> from perfmodel.validation.formats_of_rows import formats_of
    >>> gemm(formats_of("bf16")).bytes == matmul("m", "n", "k").bytes
    True
    """
    m, n, k = dims("m n k")
    if batched:
        return _computed(matmul(m, n, k, batch=dims("batch"), dtype=_three(formats)), formats)
    if bias:
        a, b = tensor("A", {"m": m, "k": k}, formats.stored), tensor("B", {"k": k, "n": n}, formats.stored)
        product = einsum("mk,kn->mn", a, b, out_dtype=formats.out)
        c = elementwise("x + b", x=product, b=tensor("bias", {"n": n}, formats.out))
        return _computed(fuse(_one(c)), formats)
    return _computed(matmul(m, n, k, dtype=_three(formats)), formats)


def _three(formats: Formats) -> dict[str, Format]:
    return {"A": formats.stored, "B": formats.stored, "C": formats.out}


def _computed(made: Program, formats: Formats) -> Program:
    return made if formats.compute is None else cast(made, compute=formats.compute)


@lru_cache(maxsize=1024)
def memory_op(op: str, stored: Format, out: Format) -> Program:
    """An op of ``OPS`` on m rows of n elements, in one kernel.

    >>> from perfmodel.validation.formats_of_rows import formats_of
    >>> memory_op("silu_mul", formats_of("fp16").stored, formats_of("fp16").stored).bytes
    6*m*n
    """
    m, n = dims("m n")
    x, w = (tensor(name, {"m": m, "n": n}, stored) for name in ("x", "w"))
    if op in ROWWISE:
        return fuse(assume(Program, ROWWISE[op](m, n, dtype=stored)))
    if op in REDUCTIONS:
        return _one(REDUCTIONS[op](x, "n"))
    if op == "rope":
        return _rotated(stored)
    if op == "quant_fp8_static":
        y = elementwise("x * s", x=x, s=tensor("s", {}, "fp32"))
        return cast(_one(y), tensors={y.name: out})
    formula = FORMULAS[op]
    return fuse(_one(elementwise(formula, x=x, w=w) if "w" in formula.split() else elementwise(formula, x=x)))


def _rotated(stored: Format) -> Program:
    """Rotary embedding: each element times a cosine, and its partner times a sine; tables of one row a token."""
    m, n = dims("m n")
    x = tensor("x", {"m": m, "n": n}, stored)
    cosines, sines = (tensor(name, {"m": m}, stored) for name in ("cos", "sin"))
    return fuse(_one(elementwise("x * c + x * s", x=x, c=cosines, s=sines)))


def _one(result: Tensor | Program) -> Program:
    return program(assume(Tensor, result))
