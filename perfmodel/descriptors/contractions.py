"""Matrix products and other contractions."""

from __future__ import annotations

from typing import Any, overload

from perfmodel.descriptors.arguments import Dtype, Dtypes, checked_tensors, optional_format, sizes, unused
from perfmodel.descriptors.patterns import pattern_labels
from perfmodel.errors import LabelError
from perfmodel.graph.building import contracted
from perfmodel.graph.indexing import fresh
from perfmodel.graph.masks import Mask
from perfmodel.graph.nodes import Tensor, tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import program
from perfmodel.number_formats import Format


@overload
def matmul(
    m: Tensor, n: Tensor, *, out_dtype: str | Format | None = None, name: str | None = None, stage: str = ""
) -> Tensor: ...
@overload
def matmul(
    m: Any, n: Any, k: Any, batch: Any = 1, dtype: Dtype = "bf16", out_dtype: str | Format | None = None
) -> Program: ...
def matmul(
    m: Any = None,
    n: Any = None,
    k: Any = None,
    batch: Any = 1,
    dtype: Dtype = "bf16",
    out_dtype: str | Format | None = None,
    *,
    name: str | None = None,
    stage: str = "",
) -> Program | Tensor:
    """C[batch, m, n] = sum over k of A[batch, m, k] B[batch, k, n]: 2 m n k FLOPs a batch.

    With two tensors, ``matmul(a, b)`` contracts the last axis of ``a`` with the last but one of ``b``;
    labels that both have otherwise are batch labels.

    Raises ``DimensionError`` for a size, ``FormatError`` for a format and ``LabelError`` for tensors that
    cannot be.

    >>> matmul(4096, 4096, 4096).flops == 2 * 4096**3
    True
    >>> matmul("m", "n", "k").bytes
    2*k*m + 2*k*n + 2*m*n
    """
    if isinstance(m, Tensor) or isinstance(n, Tensor):
        unused("matmul", "tensors", k=(k, None), batch=(batch, 1), dtype=(dtype, "bf16"))
        return _product("matmul(a, b)", m, n, out_dtype, name, stage)
    if m is None or n is None or k is None:
        sizes("matmul", m=m, n=n, k=k)
    if name is not None or stage:
        unused("matmul", "sizes", name=(name, None), stage=(stage, ""))
    formats = Dtypes(dtype, ("A", "B", "C"), "matmul")
    a = tensor("A", {"batch": batch, "m": m, "k": k}, formats["A"])
    b = tensor("B", {"batch": batch, "k": k, "n": n}, formats["B"])
    c = contracted(
        [a, b], ("batch", "m", "n"), title="matmul", name="C", stored=formats.output("C", out_dtype), stage="matmul"
    )
    return program(c, name="matmul")


def _product(call: str, a: Any, b: Any, out_dtype: str | Format | None, name: str | None, stage: str) -> Tensor:
    checked_tensors(call, a, b)
    if not a.axes or len(b.axes) < 2:
        raise LabelError(f"{call}: expected axes (..., m, k) and (..., k, n), got {a!r} and {b!r}")
    shared, last = b.axes[-2].label, b.axes[-1].label
    names = {shared: a.axes[-1].label}
    if last in a.labels:
        names[last] = fresh(last, {*a.labels, *b.labels})
    b = b.rename({old: new for old, new in names.items() if old != new})
    batch = [label for label in b.labels[:-2] if label not in a.labels]
    kept = (*batch, *a.labels[:-1], b.labels[-1])
    title, stored = call.partition("(")[0], optional_format(out_dtype)
    return contracted([a, b], kept, title=title, name=name, stage=stage, stored=stored)


@overload
def gemv(
    n: Tensor, k: Tensor, *, out_dtype: str | Format | None = None, name: str | None = None, stage: str = ""
) -> Tensor: ...
@overload
def gemv(n: Any, k: Any, batch: Any = 1, dtype: Dtype = "bf16", out_dtype: str | Format | None = None) -> Program: ...
def gemv(
    n: Any = None,
    k: Any = None,
    batch: Any = 1,
    dtype: Dtype = "bf16",
    out_dtype: str | Format | None = None,
    *,
    name: str | None = None,
    stage: str = "",
) -> Program | Tensor:
    """y[batch, n] = sum over k of x[batch, k] W[k, n]: a matrix times vectors (decode).

    ``batch`` tokens share one weight. With two tensors, ``gemv(x, W)`` is ``matmul(x, W)``.

    >>> gemv(8192, 8192, batch=8).intensity
    7.984405458089668
    """
    if isinstance(n, Tensor) or isinstance(k, Tensor):
        unused("gemv", "tensors", batch=(batch, 1), dtype=(dtype, "bf16"))
        return _product("gemv(x, W)", n, k, out_dtype, name, stage)
    n, k, batch = sizes("gemv", n=n, k=k, batch=batch)
    unused("gemv", "sizes", name=(name, None), stage=(stage, ""))
    formats = Dtypes(dtype, ("x", "W", "y"), "gemv")
    x = tensor("x", {"batch": batch, "k": k}, formats["x"])
    weight = tensor("W", {"k": k, "n": n}, formats["W"])
    y = contracted([x, weight], ("batch", "n"), title="gemv", name="y", stored=formats.output("y", out_dtype))
    return program(y, name="gemv")


def einsum(
    pattern: str,
    *tensors: Tensor,
    mask: Mask | None = None,
    out_dtype: str | Format | None = None,
    name: str | None = None,
    op: str | None = None,
    stage: str = "",
) -> Tensor:
    """A sum of products by pattern, one letter an axis ("mk,kn->mn") or words ("q d, kv d -> q kv").

    The result's labels are those of the tensors' own axes. A letter takes the label of the first axis that
    it stands for; where another letter has that label already, it becomes a label itself.

    >>> a, b = tensor("a", {"i": 4, "j": 8}), tensor("b", {"j": 8, "l": 2})
    >>> einsum("mk,kn->mn", a, b).labels
    ('i', 'l')
    """
    views, kept = pattern_labels(pattern, tensors)
    if mask is not None and not isinstance(mask, Mask):
        raise LabelError(f"einsum: mask = {mask!r}: expected a mask such as pm.causal()")
    stored = optional_format(out_dtype)
    return contracted(views, kept, mask=mask, title=op or "einsum", name=name, stage=stage, stored=stored)
