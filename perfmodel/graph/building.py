"""Reductions, contractions and windows on tensors: what expressions have besides maps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfmodel.errors import DimensionError, LabelError, did_you_mean, listed
from perfmodel.expressions import Size, floor_div, is_concrete, size
from perfmodel.graph.functions import REDUCTIONS
from perfmodel.graph.indexing import Affine, Axis, Gathered, checked_label, windowed
from perfmodel.graph.masks import Mask
from perfmodel.graph.merging import merged_axes, merged_mask
from perfmodel.graph.nodes import Scalar, Tensor, applied, mapped
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
        raise LabelError(f"no reduction {function!r}; there are {listed(REDUCTIONS)}")
    gone = checked_labels(labels, operand, function)
    kept = tuple([axis for axis in operand.axes if axis.label not in gone])
    return applied("reduce", function, [operand], operand.axes, kept, operand.mask, name=name, stage=stage)


def checked_labels(labels: str | Iterable[str], operand: Tensor, verb: str) -> tuple[str, ...]:
    """Labels that the tensor has, as a tuple.

    >>> from perfmodel.graph.nodes import tensor
    >>> checked_labels("n", tensor("x", {"m": 4, "n": 8}), "sum")
    ('n',)
    """
    found = (labels,) if isinstance(labels, str) else tuple(labels)
    for label in found:
        if label not in operand.labels:
            raise LabelError(
                f"{verb}: tensor {operand.name!r} has no label {label!r}; its labels are "
                f"{listed(operand.labels)}{did_you_mean(str(label), operand.labels)}"
            )
    if not found or len(set(found)) < len(found):
        raise LabelError(f"{verb}: expected one or more different labels of {operand.name!r}, got {labels!r}")
    return found


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
    extents = dict(merged_axes(operands, verb))
    for label in kept:
        if label not in extents:
            raise LabelError(f"{verb}: no operand has the label {label!r} of the result; they have {listed(extents)}")
    mask = mask if mask is not None else merged_mask(operands, verb)
    if mask is not None and not {mask.query, mask.key} <= set(extents):
        raise LabelError(f"{verb}: the mask needs labels {mask.query!r} and {mask.key!r}; there are {listed(extents)}")
    kept_axes = tuple([Axis(label, extents[label]) for label in kept])
    gone = tuple([Axis(label, extent) for label, extent in extents.items() if label not in kept])
    kind, function = ("contract", "multiply-add") if gone else ("map", "mul")
    if len(operands) == 1:
        kind, function = ("reduce", "sum") if gone else ("map", "copy")
    elif not gone and len(operands) > 2:
        return contracted([mapped("mul", operands[0], operands[1], stage=stage), *operands[2:]], kept, name=name)
    inputs: list[Tensor | Scalar] = list(operands)
    space = kept_axes + gone
    return applied(kind, function, inputs, space, kept_axes, mask, name=name, stage=stage, title=title, stored=stored)


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
    extent = operand.extent(label)
    taps, stride, dilation = size(taps, tap), size(stride, "stride"), size(dilation, "dilation")
    padding = padding if padding == 0 and not isinstance(padding, bool) else size(padding, "padding")
    count = floor_div(extent + 2 * padding - dilation * (taps - 1) - 1, stride) + 1
    if is_concrete(count) and count <= 0:
        raise DimensionError(
            f"window: {taps} taps (dilation {dilation}) do not fit {label!r} = {extent} with padding {padding}"
        )
    spread = Affine(((checked_label(out), stride), (checked_label(tap), dilation)), -padding)
    axes: list[Axis] = []
    for axis in operand.axes:
        axes += [Axis(out, count), Axis(tap, taps)] if axis.label == label else [axis]
    if len({axis.label for axis in axes}) < len(axes):
        raise LabelError(f"window: {operand.name!r} would have a label twice in {listed(axis.label for axis in axes)}")
    access = operand.access
    index = tuple([windowed(item, label, spread) for item in access.index])
    return Tensor(operand.name, tuple(axes), operand.format, operand.mask, operand.producer, access.tensor, index)


def gather(table: Tensor, label: str, by: Tensor) -> Tensor:
    """The rows of ``table`` that ``by`` names along ``label``: ``table[..., by[...], ...]`` (embedding, paging).

    The result is a copy op that reads each index once and one row for each.

    >>> from perfmodel.graph.nodes import tensor
    >>> rows = gather(tensor("W", {"v": 1000, "d": 64}), "v", tensor("ids", {"t": 8}, dtype="int32"))
    >>> rows.axes
    (Axis(label='t', extent=8), Axis(label='d', extent=64))
    """
    table.extent(label)
    if table.base is not None:
        raise LabelError(f"gather: {table.name!r} is a view (renamed, rolled or windowed); gather first")
    index = tuple([Gathered(by.name, by.labels) if axis.label == label else axis.label for axis in table.axes])
    axes: list[Axis] = []
    for axis in table.axes:
        axes += by.axes if axis.label == label else [axis]
    if len({axis.label for axis in axes}) < len(axes):
        raise LabelError(f"gather: the result would have a label twice in {listed(axis.label for axis in axes)}")
    seen = Tensor(table.name, tuple(axes), table.format, None, table.producer, table, index)
    inputs: list[Tensor | Scalar] = [seen, by]
    form = table.format
    return applied("map", "copy", inputs, tuple(axes), tuple(axes), None, title="gather", compute=form, stored=form)
