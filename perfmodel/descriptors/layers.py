"""Pieces of a transformer besides attention and norms: gated MLP, rotary embedding, embedding look-up."""

from __future__ import annotations

from typing import Any, overload

from perfmodel.descriptors.arguments import (
    Dtype,
    Dtypes,
    checked_axis,
    checked_tensors,
    divided,
    one_of,
    result,
    sizes,
    unused,
)
from perfmodel.errors import FormatError
from perfmodel.graph.building import contracted, gather
from perfmodel.graph.nodes import Tensor, mapped, tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import program

_ACTIVATIONS = ("silu", "gelu", "relu", "sigmoid", "tanh")


@overload
def gated_mlp(
    tokens: Tensor, hidden: Tensor, intermediate: Tensor, w_down: Tensor, *, activation: str = "silu",
    stage: str = "mlp",
) -> Tensor: ...  # fmt: skip
@overload
def gated_mlp(
    tokens: Any, hidden: Any, intermediate: Any, *, activation: str = "silu", dtype: Dtype = "bf16"
) -> Program: ...
def gated_mlp(
    tokens: Any = None,
    hidden: Any = None,
    intermediate: Any = None,
    w_down: Tensor | None = None,
    *,
    activation: str = "silu",
    dtype: Dtype = "bf16",
    stage: str = "mlp",
) -> Program | Tensor:
    """y = (act(x W_gate) * (x W_up)) W_down: three matrices (Shazeer 2020, arXiv 2002.05202).

    Labels token, hidden, intermediate; tensors x, W_gate, W_up, W_down, y. With tensors,
    ``gated_mlp(x, W_gate, W_up, W_down)``, the weights [hidden, intermediate] and [intermediate, hidden].

    >>> gated_mlp(8, 4096, 14336).macs == 3 * 8 * 4096 * 14336
    True
    """
    one_of(activation, _ACTIVATIONS, "gated_mlp: activation")
    if isinstance(tokens, Tensor):
        unused("gated_mlp", "tensors", dtype=(dtype, "bf16"))
        checked_tensors("gated_mlp(x, W_gate, W_up, W_down)", tokens, axes=1)
        checked_tensors("gated_mlp(x, W_gate, W_up, W_down)", hidden, intermediate, w_down, axes=2)
        return _gated(tokens, hidden, intermediate, w_down, activation, stage)
    unused("gated_mlp", "sizes", w_down=(w_down, None), stage=(stage, "mlp"))
    tokens, hidden, intermediate = sizes("gated_mlp", tokens=tokens, hidden=hidden, intermediate=intermediate)
    formats = Dtypes(dtype, ("x", "W_gate", "W_up", "W_down", "y"), "gated_mlp")
    x = tensor("x", {"token": tokens, "hidden": hidden}, formats["x"])
    gate, up = [
        tensor(name, {"hidden": hidden, "intermediate": intermediate}, formats[name]) for name in ("W_gate", "W_up")
    ]
    down = tensor("W_down", {"intermediate": intermediate, "hidden": hidden}, formats["W_down"])
    y = _gated(x, gate, up, down, activation, stage)
    return program(result(y, "y", formats.output("y")), name="gated_mlp")


def _gated(x: Tensor, gate: Any, up: Any, down: Any, activation: str, stage: str) -> Tensor:
    opened = _projected(x, gate, "gate", f"{stage}.gate")
    raised = _projected(x, up, "up", f"{stage}.up")
    middle = mapped("mul", mapped(activation, opened, stage=f"{stage}.activation"), raised, stage=f"{stage}.activation")
    return _projected(middle, down, "down", f"{stage}.down")


def _projected(x: Tensor, weight: Tensor, name: str, stage: str) -> Tensor:
    """x times a weight whose first axis is x's last; the rest of the weight's axes are new ones."""
    last = x.labels[-1]
    kept = (*x.labels[:-1], *weight.labels[1:])
    if weight.labels[0] != last:
        weight = weight.rename({weight.labels[0]: last})
    return contracted([x, weight], kept, title=name, stage=stage)


def rope(x: Tensor, cosine: Tensor, sine: Tensor, *, label: str = "d", stage: str = "rope") -> Tensor:
    """Rotary position embedding: x * cos + roll(x, d/2) * sin, with the sign in the table of sines.

    Three FLOPs an element; the tables are read, not computed (Su et al. 2021, arXiv 2104.09864, in the
    half-split form that published implementations use).

    >>> x = tensor("x", {"token": 8, "d": 128})
    >>> table = {"token": 8, "d": 128}
    >>> program(rope(x, tensor("cos", table), tensor("sin", table))).flops == 3 * 8 * 128
    True
    """
    checked_tensors("rope(x, cosine, sine)", x, cosine, sine)
    extent = x.extent(checked_axis(x, label, "rope"))
    turned = x.roll(label, divided(extent, 2, f"rope: {label} / 2"))
    straight = mapped("mul", x, cosine, stage=stage)
    crossed = mapped("mul", turned, sine, stage=stage)
    return mapped("add", straight, crossed, stage=stage, name="rope")


@overload
def embedding(tokens: Tensor, vocabulary: Tensor) -> Tensor: ...
@overload
def embedding(tokens: Any, vocabulary: Any, hidden: Any, *, dtype: Dtype = "bf16") -> Program: ...
def embedding(
    tokens: Any = None, vocabulary: Any = None, hidden: Any = None, *, dtype: Dtype = "bf16"
) -> Program | Tensor:
    """y[token, hidden] = W[ids[token], hidden]: one row for each index, and the indices (int32) themselves.

    With tensors, ``embedding(ids, W)`` looks rows of the first axis of W up.

    >>> p = embedding(8, 50257, 768)
    >>> p.elements_read == 8 * 768 + 8, p.flops
    (True, 0)
    """
    if isinstance(tokens, Tensor):
        unused("embedding", "tensors", hidden=(hidden, None), dtype=(dtype, "bf16"))
        checked_tensors("embedding(ids, W)", vocabulary, axes=1)
        return _looked_up(tokens, vocabulary)
    tokens, vocabulary, hidden = sizes("embedding", tokens=tokens, vocabulary=vocabulary, hidden=hidden)
    formats = Dtypes(dtype, ("ids", "W", "y"), "embedding")
    ids = tensor("ids", {"token": tokens}, formats.given.get("ids", "int32"))
    table = tensor("W", {"vocabulary": vocabulary, "hidden": hidden}, formats["W"])
    return program(result(_looked_up(ids, table), "y", formats.output("y")), name="embedding")


def _looked_up(ids: Tensor, table: Tensor) -> Tensor:
    if ids.format.kind != "int":
        raise FormatError(f"embedding: the indices {ids.name!r} are {ids.format.name}; an index is an int, say 'int32'")
    return gather(table, table.labels[0], ids)
