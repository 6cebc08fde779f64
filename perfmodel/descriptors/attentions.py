"""Attention: multi-head, grouped-query and multi-query, masked or not; a composition like any other."""

from __future__ import annotations

from typing import Any, overload

from perfmodel.descriptors.arguments import (
    Dtype,
    Dtypes,
    checked_tensors,
    divided,
    flag,
    one_of,
    sizes,
    unused,
)
from perfmodel.descriptors.normalizations import SOFTMAX_FORMS, softmax_parts
from perfmodel.errors import LabelError, listed
from perfmodel.expressions import size
from perfmodel.graph.building import contracted
from perfmodel.graph.masks import Mask, causal as causal_mask
from perfmodel.graph.nodes import Tensor, mapped, tensor
from perfmodel.graph.operands import Scalar
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import program
from perfmodel.number_formats import Format


@overload
def attention(
    q: Tensor, kv: Tensor, d: Tensor, *, causal: bool = False, window: Any = None, chunk: Any = None,
    align: str = "end", scale: bool = False, softmax: str = "safe", stage: str = "attention",
) -> Tensor: ...  # fmt: skip
@overload
def attention(
    q: Any, kv: Any, d: Any, dv: Any = None, heads: Any = 1, kv_heads: Any = None, batch: Any = 1,
    causal: bool = False, window: Any = None, lse: bool = False, dtype: Dtype = "bf16", *, chunk: Any = None,
    align: str = "end", scale: bool = False, softmax: str = "safe",
) -> Program: ...  # fmt: skip
def attention(
    q: Any = None,
    kv: Any = None,
    d: Any = None,
    dv: Any = None,
    heads: Any = 1,
    kv_heads: Any = None,
    batch: Any = 1,
    causal: bool = False,
    window: Any = None,
    lse: bool = False,
    dtype: Dtype = "bf16",
    *,
    chunk: Any = None,
    align: str = "end",
    scale: bool = False,
    softmax: str = "safe",
    stage: str = "attention",
) -> Program | Tensor:
    """O = softmax(Q K^T) V for ``heads`` query heads that share ``kv_heads`` heads of K and V.

    Labels: Q[batch, kv_head, group, q, d], K[batch, kv_head, kv, d], V[batch, kv_head, kv, dv],
    S and P[batch, kv_head, group, q, kv], O[batch, kv_head, group, q, dv]; with ``lse`` also the log-sum-exp
    L[batch, kv_head, group, q] in fp32. ``causal``, ``window`` (keys that a row sees, its own included; without
    ``causal`` on each side) and ``chunk`` restrict the pairs, which are counted exactly; ``align`` says whether
    the last query stands at the last key ("end") or the first at the first ("start"). The factor 1/sqrt(d) is
    taken to be folded into Q unless ``scale``. Stages: scores, softmax, values.

    With tensors, ``attention(Q, K, V)`` finds the labels q, kv, d and dv by name.

    >>> p = attention(q="n", kv="n", d=128, heads=32, kv_heads=8)
    >>> p.flops_by_unit["matrix"]
    16384*n**2
    >>> [name for name in p.tensors][:3], p.tensors["K"].labels
    (['Q', 'K', 'V'], ('batch', 'kv_head', 'kv', 'd'))
    """
    one_of(softmax, SOFTMAX_FORMS, "attention: softmax")
    flag(scale, "attention: scale")
    mask = _mask(causal, window, chunk, align)
    if isinstance(q, Tensor):
        unused("attention", "tensors", dv=(dv, None), heads=(heads, 1), kv_heads=(kv_heads, None), batch=(batch, 1),
               lse=(lse, False), dtype=(dtype, "bf16"))  # fmt: skip
        return _attend(q, kv, d, mask, scale, softmax, stage)[0]
    unused("attention", "sizes", stage=(stage, "attention"))
    flag(lse, "attention: lse")
    formats = Dtypes(dtype, ("Q", "K", "V", "S", "P", "O", "L"), "attention")
    inputs = _inputs(q, kv, d, dv, heads, kv_heads, batch, formats)
    out, top, total = _attend(*inputs, mask, scale, softmax, stage, formats)
    if not lse:
        return program(out, name="attention")
    return program(out, _log_sum_exp(top, total, stage, formats.output("L", "fp32")), name="attention")


def _inputs(
    q: Any, kv: Any, d: Any, dv: Any, heads: Any, kv_heads: Any, batch: Any, formats: Dtypes
) -> tuple[Tensor, Tensor, Tensor]:
    """Q, K and V, with the query heads as groups that share a head of K and V."""
    q, kv, d, batch, heads = sizes("attention", q=q, kv=kv, d=d, batch=batch, heads=heads)
    kv_heads = heads if kv_heads is None else size(kv_heads, "attention: kv_heads")
    dv = d if dv is None else size(dv, "attention: dv")
    group = divided(heads, kv_heads, "attention: heads / kv_heads")
    outer = {"batch": batch, "kv_head": kv_heads}
    query = tensor("Q", {**outer, "group": group, "q": q, "d": d}, formats["Q"])
    key = tensor("K", {**outer, "kv": kv, "d": d}, formats["K"])
    return query, key, tensor("V", {**outer, "kv": kv, "dv": dv}, formats["V"])


def _log_sum_exp(top: Tensor | None, total: Tensor, stage: str, stored: Format | None) -> Tensor:
    """L = max + log(sum), or log(sum) where no maximum was taken off."""
    stage = f"{stage}.softmax"
    if top is None:
        return mapped("log", total, name="L", stage=stage, stored=stored)
    return mapped("add", top, mapped("log", total, stage=stage, stored=stored), name="L", stage=stage, stored=stored)


def _mask(causal: bool, window: Any, chunk: Any, align: str) -> Mask | None:
    window = None if window is None else size(window, "attention: window")
    chunk = None if chunk is None else size(chunk, "attention: chunk")
    one_of(align, ("end", "start"), "attention: align")
    if flag(causal, "attention: causal"):
        return causal_mask("q", "kv", window=window, chunk=chunk, align=align)
    if window is None and chunk is None:
        return None
    reach = None if window is None else window - 1
    return Mask("q", "kv", left=reach, right=reach, chunk=chunk, align=align)


def _attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, scale: bool, form: str, stage: str,
    formats: Dtypes | None = None,
) -> tuple[Tensor, Tensor | None, Tensor]:  # fmt: skip
    """O, the row maximum and the row sum, for tensors whose labels are named q, kv, d and dv."""
    value = _checked(query, key, value)
    formats = formats or Dtypes("bf16", (), "attention")
    outer = [label for label in query.labels if label not in ("q", "d")]
    scores = contracted(
        [query, key], (*outer, "q", "kv"), mask=mask, title="scores", name="S", stage=f"{stage}.scores",
        stored=formats.output("S"),
    )  # fmt: skip
    if scale:
        scores = mapped("mul", scores, Scalar("scale"), stage=f"{stage}.softmax")
    weights, top, total = softmax_parts(scores, "kv", form, "P", f"{stage}.softmax", formats.output("P"))
    out = contracted(
        [weights, value], (*outer, "q", "dv"), title="values", name="O", stage=f"{stage}.values",
        stored=formats.output("O"),
    )  # fmt: skip
    return out, top, total


def _checked(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The values under the labels kv and dv, once all three tensors are seen to have the labels that they need."""
    checked_tensors("attention(Q, K, V)", query, key, value)
    if "dv" not in value.labels and "d" in value.labels:
        value = value.rename(d="dv")
    for item, needed in ((query, ("q", "d")), (key, ("kv", "d")), (value, ("kv", "dv"))):
        if not set(needed) <= set(item.labels):
            raise LabelError(
                f"attention: {item.name!r} needs labels {listed(needed)}; it has {listed(item.labels)}: "
                f"rename them, such as x.rename(token='q')"
            )
        stray = [label for label in item.labels if label not in needed and label not in query.labels]
        if stray:
            raise LabelError(f"attention: {query.name!r} lacks {listed(stray)} of {item.name!r}: they would be summed")
    return value
