"""Scattering: ops that add into the places of their output which an index names.

It is the transpose of reading through a window or a look-up: where the forward pass reads ``x[2*p + r]``, the
backward pass adds to ``dx[2*p + r]``. The index stands on the op's output; labels inside it are reduced.
"""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.graph.indexing import Axis, Index
from perfmodel.graph.masks import Mask
from perfmodel.graph.merging import accumulator, merged_format
from perfmodel.graph.nodes import Access, Op, Tensor


def scatters(op: Op) -> bool:
    """Whether an op adds into places that an index names.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> scatters(mapped("exp", tensor("x", {"i": 4})).producer)
    False
    """
    return not all(isinstance(index, str) for index in op.output.index)


def scattered(
    factors: Sequence[Tensor],
    axes: tuple[Axis, ...],
    index: tuple[Index, ...],
    space: tuple[Axis, ...],
    mask: Mask | None = None,
    by: Sequence[Tensor] = (),
    stage: str = "",
) -> Tensor:
    """The tensor over ``axes`` to whose places ``index`` the product of the factors is added, point by point.

    Places outside the axes (padding) are left out. ``by`` are the tensors that look-ups in the index read.

    >>> from perfmodel.graph.indexing import Affine
    >>> from perfmodel.graph.nodes import tensor
    >>> d = tensor("d", {"p": 4, "r": 3})
    >>> dx = scattered([d], (Axis("h", 6),), (Affine((("p", 1), ("r", 1))),), d.axes)
    >>> dx.producer.reduced, dx.axes
    (('p', 'r'), (Axis(label='h', extent=6),))
    """
    compute = merged_format(factors)
    kind, function = ("contract", "multiply-add") if len(factors) > 1 else ("reduce", "sum")
    title = "contract" if len(factors) > 1 else "scatter"
    output = Access(Tensor(title, axes, compute), index)
    inputs = tuple([item.access for item in (*factors, *by)])
    op = Op(title, kind, function, inputs, output, space, mask, stage, compute, accumulator(compute))
    return Tensor(title, axes, compute, None, op)
