"""Attention: multi-head, grouped-query and multi-query, masked or not; a composition like any other."""

from __future__ import annotations

from typing import Any, overload

from perfmodel.descriptors.arguments import Dtype, Dtypes, divided
from perfmodel.descriptors.normalizations import softmax_parts
from perfmodel.errors import LabelError, listed
from perfmodel.expressions import size
from perfmodel.graph.building import contracted
from perfmodel.graph.masks import Mask, banded, causal as causal_mask
from perfmodel.graph.nodes import Scalar, Tensor, mapped, tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import program
from perfmodel.number_formats import format


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
    q: Any,
    kv: Any,
    d: Any,
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
    if isinstance(q, Tensor):
        return _attend(q, kv, d, _mask(causal, window, chunk, align), scale, softmax, stage)[0]
    heads = size(heads, "heads")
    kv_heads = heads if kv_heads is None else size(kv_heads, "kv_heads")
    group = divided(heads, kv_heads, "heads / kv_heads")
    dv = d if dv is None else dv
    formats = Dtypes(dtype, ("Q", "K", "V", "S", "P", "O", "L"), "attention")
    outer = {"batch": batch, "kv_head": kv_heads}
    query = tensor("Q", {**outer, "group": group, "q": q, "d": d}, formats["Q"])
    key = tensor("K", {**outer, "kv": kv, "d": d}, formats["K"])
    value = tensor("V", {**outer, "kv": kv, "dv": dv}, formats["V"])
    mask = _mask(causal, window, chunk, align)
    out, top, total = _attend(query, key, value, mask, scale, softmax, stage, formats)
    if not lse:
        return program(out, name="attention")
    fp32 = formats.given.get("L", format("fp32"))
    logs = mapped("log", total, stage=f"{stage}.softmax", stored=fp32, name="L" if top is None else None)
    log_sum = logs if top is None else mapped("add", top, logs, name="L", stage=f"{stage}.softmax", stored=fp32)
    return program(out, log_sum, name="attention")


def _mask(causal: bool, window: Any, chunk: Any, align: str) -> Mask | None:
    window = None if window is None else size(window, "window")
    if causal:
        return causal_mask("q", "kv", window=window, chunk=chunk, align=align)
    if window is None and chunk is None:
        return None
    if window is None:
        return Mask("q", "kv", chunk=size(chunk, "chunk"), align=align)
    return banded("q", "kv", window - 1, window - 1, align=align) if chunk is None else Mask(
        "q", "kv", left=window - 1, right=window - 1, chunk=size(chunk, "chunk"), align=align
    )  # fmt: skip


def _attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, scale: bool, form: str, stage: str,
    formats: Dtypes | None = None,
) -> tuple[Tensor, Tensor | None, Tensor]:  # fmt: skip
    """O, the row maximum and the row sum, for tensors whose labels are named q, kv, d and dv."""
    for item, needed in ((query, ("q", "d")), (key, ("kv", "d")), (value, ("kv",))):
        missing = [label for label in needed if label not in item.labels]
        if missing:
            raise LabelError(
                f"attention: {item.name!r} needs labels {listed(needed)}; it has {listed(item.labels)}: "
                f"rename them, such as x.rename(token='q')"
            )
    if "dv" not in value.labels and "d" in value.labels:
        value = value.rename(d="dv")
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
        [weights, value],
        (*outer, "q", "dv"),
        title="values",
        name="O",
        stage=f"{stage}.values",
        stored=formats.output("O"),
    )  # fmt: skip
    return out, top, total
