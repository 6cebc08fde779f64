"""Convolution and pooling: windows over two axes, contracted or reduced."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

from perfmodel.descriptors.arguments import (
    Dtype,
    Dtypes,
    checked_tensors,
    divided,
    one_of,
    pair,
    result,
    sizes,
    unused,
)
from perfmodel.errors import DimensionError, ExpressionError, LabelError, did_you_mean
from perfmodel.expressions import Size
from perfmodel.graph.building import contracted, reduced, window
from perfmodel.graph.functions import REDUCTIONS
from perfmodel.graph.indexing import fresh
from perfmodel.graph.nodes import Tensor, tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.tracing import labels_behind, program


@overload
def conv2d(
    batch: Tensor, height: Tensor, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1, name: str | None = None,
    stage: str = "conv2d",
) -> Tensor: ...  # fmt: skip
@overload
def conv2d(
    batch: Any = 1, height: Any = None, width: Any = None, c_in: Any = None, c_out: Any = None, kernel: Any = 3,
    stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1, dtype: Dtype = "bf16",
) -> Program: ...  # fmt: skip
def conv2d(
    batch: Any = 1,
    height: Any = None,
    width: Any = None,
    c_in: Any = None,
    c_out: Any = None,
    kernel: Any = 3,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: Any = 1,
    dtype: Dtype = "bf16",
    *,
    name: str | None = None,
    stage: str = "conv2d",
) -> Program | Tensor:
    """y[batch, group, f, p, q] = sum over c, r, s of x[batch, group, c, stride p + dilation r - padding, ...] w.

    x[batch, group, c, h, w] and w[group, f, c, r, s]: ``groups`` divides ``c_in`` and ``c_out`` (depthwise:
    groups = c_in). Zero padding is computed with and never read; ``padding="same"`` keeps the size at stride 1,
    "valid" is 0.
    kernel, stride, padding and dilation take one size or a pair. With tensors of these axes, ``conv2d(x, w)``.

    >>> p = conv2d(batch=8, height=64, width=64, c_in=32, c_out=64, kernel=3, padding=1)
    >>> p.macs == 8 * 64 * 64 * 64 * 3 * 3 * 32
    True
    """
    moves = _Moves("conv2d", stride, padding, dilation)
    if isinstance(batch, Tensor):
        unused("conv2d", "tensors", width=(width, None), c_in=(c_in, None), c_out=(c_out, None), kernel=(kernel, 3),
               groups=(groups, 1), dtype=(dtype, "bf16"))  # fmt: skip
        return _convolved(batch, height, moves, name, stage)
    unused("conv2d", "sizes", name=(name, None), stage=(stage, "conv2d"))
    batch, height, width, c_in, c_out, groups = sizes(
        "conv2d", batch=batch, height=height, width=width, c_in=c_in, c_out=c_out, groups=groups
    )
    taps = pair(kernel, "conv2d: kernel")
    formats = Dtypes(dtype, ("x", "w", "y"), "conv2d")
    channels = divided(c_in, groups, "conv2d: c_in / groups")
    filters = divided(c_out, groups, "conv2d: c_out / groups")
    x = tensor("x", {"batch": batch, "group": groups, "c": channels, "h": height, "w": width}, formats["x"])
    weight = tensor("w", {"group": groups, "f": filters, "c": channels, "r": taps[0], "s": taps[1]}, formats["w"])
    y = _convolved(x, weight, moves, "y", stage, formats)
    return program(y, name="conv2d")


def _convolved(
    x: Tensor, weight: Any, moves: _Moves, name: str | None, stage: str, formats: Dtypes | None = None
) -> Tensor:
    checked_tensors("conv2d(x, w)", weight)
    if len(x.axes) != 5 or len(weight.axes) != 5:
        raise LabelError(
            f"conv2d(x, w): expected x[batch, group, c, h, w] and w[group, f, c, r, s], got {x!r} and {weight!r}"
        )
    taken = labels_behind(x)
    f, r, s = [fresh(label, taken) for label in weight.labels[1:2] + weight.labels[3:]]
    weight = weight.rename(dict(zip(weight.labels, (x.labels[1], f, x.labels[2], r, s), strict=True)))
    out = [fresh(label, taken | {f, r, s}) for label in ("p", "q")]
    spaced = moves.over(x, x.labels[3:], out, (r, s), weight.extents[3:])
    kept = (x.labels[0], x.labels[1], f, *out)
    stored = formats.output("y") if formats is not None else None
    return contracted([spaced, weight], kept, title="conv2d", name=name, stage=stage, stored=stored)


class _Moves(NamedTuple):
    """How windows move along two axes: one size or a pair of each; padding in words too."""

    verb: str
    stride: Any
    padding: Any
    dilation: Any = 1

    def over(self, x: Tensor, labels: Any, out: Any, taps: Any, counts: Any) -> Tensor:
        """The windows of a tensor: for each axis its label, that of the windows, that of their taps and how many."""
        strides, dilations = pair(self.stride, f"{self.verb}: stride"), pair(self.dilation, f"{self.verb}: dilation")
        paddings = self._paddings(counts, strides, dilations)
        for place in range(2):
            x = window(
                x, labels[place], out[place], taps[place], counts[place],
                stride=strides[place], dilation=dilations[place], padding=paddings[place],
            )  # fmt: skip
        return x

    def _paddings(self, counts: Any, strides: Any, dilations: Any) -> tuple[Size, Size]:
        """The padding of both axes; "same" keeps a size at stride 1: dilation * (taps - 1) / 2, for odd taps."""
        given, what = self.padding, f"{self.verb}: padding"
        word = given if isinstance(given, str) else ""
        if word == "valid":
            return 0, 0
        if word != "same":
            near = did_you_mean(word, ("same", "valid"))
            if near:
                raise ExpressionError(f"{what} = {given!r}: a size, a pair of sizes, 'same' or 'valid'{near}")
            return pair(given, what, zero=True)
        if any(step != 1 for step in strides):
            raise DimensionError(f"{what} = 'same': it needs stride 1, got {strides}")
        found = [divided(d * (n - 1), 2, f"{what} 'same': dilation * (kernel - 1) / 2") if n != 1 else 0
                 for n, d in zip(counts, dilations, strict=True)]  # fmt: skip
        return found[0], found[1]


@overload
def pool2d(
    batch: Tensor, *, kernel: Any = 2, stride: Any = None, padding: Any = 0, function: str = "max",
    name: str | None = None, stage: str = "pool2d",
) -> Tensor: ...  # fmt: skip
@overload
def pool2d(
    batch: Any = 1, height: Any = None, width: Any = None, channels: Any = None, kernel: Any = 2, stride: Any = None,
    padding: Any = 0, function: str = "max", dtype: Dtype = "bf16",
) -> Program: ...  # fmt: skip
def pool2d(
    batch: Any = 1,
    height: Any = None,
    width: Any = None,
    channels: Any = None,
    kernel: Any = 2,
    stride: Any = None,
    padding: Any = 0,
    function: str = "max",
    dtype: Dtype = "bf16",
    *,
    name: str | None = None,
    stage: str = "pool2d",
) -> Program | Tensor:
    """y[batch, group, c, p, q]: the max (or "sum", "mean", "min") of x[batch, group, c, stride p + r - padding, ...].

    The stride is the kernel where it is not given. The axes are those of a convolution's result (one group).
    With a tensor, its last two axes are pooled.

    >>> pool2d(batch=1, height=64, width=64, channels=8, kernel=2).outputs[0].extents
    (1, 1, 8, 32, 32)
    """
    one_of(function, REDUCTIONS, "pool2d: function")
    if isinstance(batch, Tensor):
        unused("pool2d", "a tensor", height=(height, None), width=(width, None), channels=(channels, None),
               dtype=(dtype, "bf16"))  # fmt: skip
        return _pooled(batch, kernel, stride, padding, function, name, stage)
    unused("pool2d", "sizes", name=(name, None), stage=(stage, "pool2d"))
    batch, height, width, channels = sizes("pool2d", batch=batch, height=height, width=width, channels=channels)
    formats = Dtypes(dtype, ("x", "y"), "pool2d")
    x = tensor("x", {"batch": batch, "group": 1, "c": channels, "h": height, "w": width}, formats["x"])
    y = _pooled(x, kernel, stride, padding, function, None, stage)
    return program(result(y, "y", formats.output("y")), name="pool2d")


def _pooled(
    x: Tensor, kernel: Any, stride: Any, padding: Any, function: str, name: str | None, stage: str
) -> Tensor:  # fmt: skip
    checked_tensors("pool2d(x)", x, axes=2)
    taps = pair(kernel, "pool2d: kernel")
    taken = labels_behind(x)
    r, s = fresh("r", taken), fresh("s", taken)
    out = [fresh(label, taken | {r, s}) for label in ("p", "q")]
    moves = _Moves("pool2d", taps if stride is None else stride, padding)
    spaced = moves.over(x, x.labels[-2:], out, (r, s), taps)
    return reduced(function, spaced, (r, s), name=name, stage=stage)
