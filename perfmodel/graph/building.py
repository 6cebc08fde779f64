"""Reductions, contractions and windows on tensors: what expressions have besides maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perfmodel.errors import DimensionError, LabelError, did_you_mean, listed
from perfmodel.expressions import Size, floor_div, size
from perfmodel.graph.functions import REDUCTIONS
from perfmodel.graph.indexing import Affine, Axis, Gathered, checked_label, distinct, windowed
from perfmodel.graph.masks import Mask
from perfmodel.graph.merging import check_unmasked, merged_axes, merged_mask
from perfmodel.graph.nodes import Tensor, applied, mapped
from perfmodel.graph.operands import Scalar
from perfmodel.number_formats import Format


def reduced(
    function: str, operand: Tensor, labels: str | Iterable[str], *, name: str | None = None, stage: str = ""
) -> Tensor:
    """A reduction ("sum", "max", "min", "prod", "mean") over one or several labels.

    >>> from perfmodel.graph.nodes import tensor
    >>> reduced("sum", tensor("x", {"m": 4, "n": 8}), "n").labels
    ('m',)
    """
    if function not in REDUCTIONS:
        raise LabelError(
            f"no reduction {function!r}; there are {listed(REDUCTIONS)}{did_you_mean(function, REDUCTIONS)}"
        )
    gone = checked_labels(labels, operand, function)
    kept = tuple([axis for axis in operand.axes if axis.label not in gone])
    return applied("reduce", function, [operand], operand.axes, kept, operand.mask, name=name, stage=stage)


def checked_labels(labels: str | Iterable[str], operand: Tensor, verb: str) -> tuple[str, ...]:
    """Labels that the tensor has, as a tuple.

    >>> from perfmodel.graph.nodes import tensor
    >>> checked_labels("n", tensor("x", {"m": 4, "n": 8}), "sum")
    ('n',)
    """
    checked_tensor(operand, verb)
    found = (labels,) if isinstance(labels, str) else tuple(labels) if isinstance(labels, Iterable) else ()
    for label in found:
        if label not in operand.labels:
            raise LabelError(
                f"{verb}: tensor {operand.name!r} has no label {label!r}; its labels are "
                f"{listed(operand.labels)}{did_you_mean(str(label), operand.labels)}"
            )
    if not found or len(set(found)) < len(found):
        raise LabelError(f"{verb}: expected one or more different labels of {operand.name!r}, got {labels!r}")
    return found


def checked_tensor(operand: Any, verb: str) -> None:
    """Refuse anything that is not a tensor.

    >>> checked_tensor(3, "window")
    Traceback (most recent call last):
    perfmodel.errors.LabelError: window: expected a tensor, got 3
    """
    if not isinstance(operand, Tensor):
        raise LabelError(f"{verb}: expected a tensor, got {repr(operand)[:80]}")


def contracted(
    operands: Sequence[Tensor],
    kept: Sequence[str],
    *,
    mask: Mask | None = None,
    title: str | None = None,
    name: str | None = None,
    stage: str = "",
    stored: Format | None = None,
) -> Tensor:
    """The sum of products of the operands over every label that ``kept`` leaves out.

    Without a label to sum over it is a map (a product, or a copy in another order of axes).

    >>> from perfmodel.graph.nodes import tensor
    >>> a, b = tensor("a", {"m": 4, "k": 8}), tensor("b", {"k": 8, "n": 2})
    >>> contracted([a, b], ("m", "n")).axes
    (Axis(label='m', extent=4), Axis(label='n', extent=2))
    """
    verb = title or "contract"
    if not operands:
        raise LabelError(f"{verb}: expected at least one tensor")
    axes = {axis.label: axis for axis in merged_axes(operands, verb)}
    mask = merged_mask(operands, verb, mask)
    if mask is not None and not (mask.query in axes and mask.key in axes):
        raise LabelError(f"{verb}: the mask needs labels {mask.query!r} and {mask.key!r}; there are {listed(axes)}")
    kept_axes = _kept_axes(axes, kept, verb)
    gone = tuple([axis for axis in axes.values() if axis.label not in kept])
    kind, function = ("contract", "multiply-add") if gone else ("map", "mul")
    if len(operands) == 1:
        kind, function = ("reduce", "sum") if gone else ("map", "copy")
    elif not gone and len(operands) > 2:
        first = mapped("mul", operands[0], operands[1], stage=stage)
        return contracted([first, *operands[2:]], kept, mask=mask, title=title, name=name, stage=stage, stored=stored)
    inputs: list[Tensor | Scalar] = list(operands)
    space = kept_axes + gone
    title = title or (kind if kind == "contract" else None)
    return applied(kind, function, inputs, space, kept_axes, mask, name=name, stage=stage, title=title, stored=stored)


def _kept_axes(axes: Mapping[str, Axis], kept: Sequence[str], verb: str) -> tuple[Axis, ...]:
    for label in kept:
        if label not in axes:
            raise LabelError(f"{verb}: no operand has the label {label!r} of the result; they have {listed(axes)}")
    if len(set(kept)) < len(kept):
        raise LabelError(f"{verb}: the result would have a label twice in {listed(kept)}")
    return tuple([axes[label] for label in kept])


def window(
    operand: Tensor,
    label: str,
    out: str,
    tap: str,
    taps: Size,
    *,
    stride: Size = 1,
    dilation: Size = 1,
    padding: Size = 0,
) -> Tensor:
    """Sliding windows along ``label``: it becomes ``out`` (window number) and ``tap`` (place within it).

    Element ``stride*out + dilation*tap - padding`` of the axis; zeros stand outside it. The number of
    windows is floor((extent + 2*padding - dilation*(taps - 1) - 1) / stride) + 1.

    >>> from perfmodel.graph.nodes import tensor
    >>> window(tensor("x", {"h": 224}), "h", "p", "r", 7, stride=2, padding=3).axes
    (Axis(label='p', extent=112), Axis(label='r', extent=7))
    """
    checked_tensor(operand, "window")
    extent = operand.extent(label)
    check_unmasked(operand, label, "window")
    out, tap = checked_label(out), checked_label(tap)
    taps, stride, dilation = size(taps, tap), size(stride, "stride"), size(dilation, "dilation")
    padding = _padding(padding)
    access = operand.access
    if padding != 0 and label not in access.index:
        raise LabelError(
            f"window: {label!r} of {operand.name!r} is itself seen through a window or roll: padding = {padding} "
            "would read its neighbours; pad what it looks at"
        )
    count = floor_div(extent + 2 * padding - dilation * (taps - 1) - 1, stride) + 1
    if isinstance(count, int) and count <= 0:
        raise DimensionError(
            f"window: {taps} taps (dilation {dilation}) do not fit {label!r} = {extent} with padding {padding}"
        )
    axes = _replaced(operand, label, (Axis(out, count), Axis(tap, taps)), "window")
    spread = Affine(((out, stride), (tap, dilation)), -padding)
    index = tuple([windowed(item, label, spread) for item in access.index])
    return Tensor(operand.name, axes, operand.format, operand.mask, operand.producer, access.tensor, index)


def _padding(padding: Any) -> Size:
    """Zero or a size."""
    if type(padding) in (int, float) and padding == 0:
        return 0
    if isinstance(padding, int) and padding < 0:
        raise DimensionError(f"window: padding = {padding}: zeros on each side, 0 or more")
    return size(padding, "padding")


def _replaced(operand: Tensor, label: str, by: tuple[Axis, ...], verb: str) -> tuple[Axis, ...]:
    """The axes of a tensor with one replaced by others."""
    axes = [new for axis in operand.axes for new in (by if axis.label == label else (axis,))]
    return distinct(axes, f"{verb}: {operand.name!r}")


def gather(table: Tensor, label: str, by: Tensor) -> Tensor:
    """The rows of ``table`` that ``by`` names along ``label``: ``table[..., by[...], ...]`` (embedding, paging).

    The result is a copy op that reads each index once and one row for each.

    >>> from perfmodel.graph.nodes import tensor
    >>> rows = gather(tensor("W", {"v": 1000, "d": 64}), "v", tensor("ids", {"t": 8}, dtype="int32"))
    >>> rows.axes
    (Axis(label='t', extent=8), Axis(label='d', extent=64))
    """
    checked_tensor(table, "gather")
    checked_tensor(by, "gather")
    table.extent(label)
    if table.base is not None:
        raise LabelError(f"gather: {table.name!r} is a view (renamed, rolled or windowed); gather first")
    if by.access.index != by.labels:
        raise LabelError(f"gather: the index {by.name!r} is rolled or windowed; roll or window the result")
    for item in (table, by):
        for axis in item.axes:
            check_unmasked(item, axis.label, "gather")
    axes = _replaced(table, label, by.axes, "gather")
    found = Gathered(by.access.tensor.name, by.labels)
    index = tuple([found if axis.label == label else axis.label for axis in table.axes])
    seen = Tensor(table.name, axes, table.format, None, table.producer, table, index)
    inputs: list[Tensor | Scalar] = [seen, by]
    form = table.format
    return applied("map", "copy", inputs, axes, axes, None, title="gather", compute=form, stored=form)
