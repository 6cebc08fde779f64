"""Pieces of a transformer besides attention and norms: gated MLP, rotary embedding, embedding look-up."""

from __future__ import annotations

from typing import Any, overload

from perfmodel.descriptors.arguments import Dtype, Dtypes
from perfmodel.errors import ExpressionError, LabelError, did_you_mean, listed
from perfmodel.expressions import floor_div
from perfmodel.graph.building import contracted, gather
from perfmodel.graph.functions import FUNCTIONS
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
    tokens: Any,
    hidden: Any,
    intermediate: Any,
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
    if activation not in _ACTIVATIONS:
        raise ExpressionError(
            f"gated_mlp: activation {activation!r} is not one of {listed(_ACTIVATIONS)}"
            f"{did_you_mean(str(activation), FUNCTIONS)}"
        )
    if isinstance(tokens, Tensor):
        if not isinstance(w_down, Tensor):
            raise LabelError("gated_mlp: expected four tensors, gated_mlp(x, W_gate, W_up, W_down)")
        return _gated(tokens, hidden, intermediate, w_down, activation, stage)
    formats = Dtypes(dtype, ("x", "W_gate", "W_up", "W_down", "y"), "gated_mlp")
    x = tensor("x", {"token": tokens, "hidden": hidden}, formats["x"])
    gate, up = [
        tensor(name, {"hidden": hidden, "intermediate": intermediate}, formats[name]) for name in ("W_gate", "W_up")
    ]
    down = tensor("W_down", {"intermediate": intermediate, "hidden": hidden}, formats["W_down"])
    return program(_gated(x, gate, up, down, activation, stage).named("y"), name="gated_mlp")


def _gated(x: Tensor, gate: Tensor, up: Tensor, down: Tensor, activation: str, stage: str) -> Tensor:
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
    turned = x.roll(label, floor_div(x.extent(label), 2))
    straight = mapped("mul", x, cosine, stage=stage)
    crossed = mapped("mul", turned, sine, stage=stage)
    return mapped("add", straight, crossed, stage=stage, name="rope")


@overload
def embedding(tokens: Tensor, vocabulary: Tensor) -> Tensor: ...
@overload
def embedding(tokens: Any, vocabulary: Any, hidden: Any, *, dtype: Dtype = "bf16") -> Program: ...
def embedding(tokens: Any, vocabulary: Any, hidden: Any = None, *, dtype: Dtype = "bf16") -> Program | Tensor:
    """y[token, hidden] = W[ids[token], hidden]: one row for each index, and the indices (int32) themselves.

    With tensors, ``embedding(ids, W)`` looks rows of the first axis of W up.

    >>> p = embedding(8, 50257, 768)
    >>> p.elements_read == 8 * 768 + 8, p.flops
    (True, 0)
    """
    if isinstance(tokens, Tensor):
        return gather(vocabulary, vocabulary.labels[0], tokens)
    if hidden is None:
        raise LabelError("embedding: expected three sizes, embedding(tokens, vocabulary, hidden), or two tensors")
    formats = Dtypes(dtype, ("ids", "W", "y"), "embedding")
    ids = tensor("ids", {"token": tokens}, formats.given.get("ids", "int32"))
    table = tensor("W", {"vocabulary": vocabulary, "hidden": hidden}, formats["W"])
    return program(gather(table, "vocabulary", ids).named("y"), name="embedding")
