"""Padding: running labels to a multiple of something, as hardware that works in whole pieces makes one do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from perfmodel.errors import LabelError, TransformError, listed
from perfmodel.expressions import Size, ceil_div, product, size
from perfmodel.graph.indexing import Affine
from perfmodel.graph.nodes import Op
from perfmodel.graph.paddings import Padding
from perfmodel.graph.programs import Program
from perfmodel.graph.rebinding import Measure, measures
from perfmodel.graph.repeating import carried
from perfmodel.graph.resizing import padded_kernels, paddings_of
from perfmodel.graph.scattering import scatters
from perfmodel.graph.splits import bound_indices
from perfmodel.transforms.selecting import Only, check_label, checked_program, chosen


def pad(program: Program, only: Only = None, **labels: Any) -> Program:
    """The program with labels run to multiples: ``pad(p, n=64)`` takes n to the next multiple of 64.

    The tensors that a label measures grow with it and hold zeros past its end; no value changes, and reductions
    leave the padding out. Issued work, bytes and memory grow, ``flops`` and ``macs`` do not. A multiple that divides
    the extent changes nothing, until ``at`` takes the label to another extent. Labels that measure the same axis are
    padded together.

    Raises ``TransformError`` for a label that a mask or a roll uses, for an op that is split, for a kernel that is
    tiled (pad first, then tile), and where ``only`` leaves out a kernel that uses the label or a tensor that grows.

    >>> from perfmodel import matmul
    >>> p = pad(matmul(100, 100, 100), n=64)
    >>> p.flops == 2 * 100**3, p.issued_flops == 2 * 100 * 128 * 100, p.elements_written == 100 * 128
    (True, True, True)
    >>> pad(matmul("m", "n", "k"), n=64).outputs[0].extents
    (1, m, 64*ceiling(n/64))
    """
    checked_program(program, "pad")
    if not labels:
        raise TransformError("pad: no label given; pad(p, n=64) takes n to the next multiple of 64")
    multiples = {label: size(value, f"pad: {label}") for label, value in labels.items()}
    for label in multiples:
        check_label(program, label, "pad", "pads it")
    for op in program.ops:
        if scatters(op) and set(multiples) & {axis.label for axis in op.space}:
            raise TransformError(f"pad: {op.name!r} adds into places that windows or look-ups name; pad other labels")
    selected = {kernel.name for kernel in chosen(program, only, "pad")}
    known = paddings_of(program.kernels)
    found: dict[str, Padding] = {}
    idle = {item.label: item for item in program.idle}
    for measure in measures(program.kernels, carried(program.loops)):
        multiple = _multiple(measure, multiples)
        if multiple is None:
            continue
        label = measure.labels[0]
        extent = program.labels[label]
        before = known.get(label, Padding(label, extent, ()))
        further = {name: Padding(name, before.extent, (*before.multiples, multiple)) for name in measure.labels}
        if product([multiple, ceil_div(extent, multiple)]) != extent:
            _check(program, measure, selected)
            found.update(further)
        elif not before.multiples and _allowed(program, measure, selected):
            idle.update(further)
    said = [f"{label}={value}" for label, value in labels.items()] + [f"only={only!r}"] * (only is not None)
    kernels = padded_kernels(program.kernels, found, carried(program.loops))
    return replace(program.rewritten(kernels, f"pad({', '.join(said)})"), idle=tuple(idle.values()))


def _multiple(measure: Measure, multiples: Mapping[str, Size]) -> Size | None:
    """The multiple that is asked for of labels that measure the same, if any is."""
    asked = {label: multiples[label] for label in measure.labels if label in multiples}
    if len(set(asked.values())) > 1:
        pairs = ", ".join(f"{label}={value}" for label, value in asked.items())
        raise LabelError(f"pad: {listed(asked)} measure the same axis, which is padded to one multiple; got {pairs}")
    return next(iter(asked.values()), None)


def _check(program: Program, measure: Measure, selected: set[str]) -> None:
    """Refuse labels whose padding would need more than zeros past their end."""
    for kernel in program.kernels:
        ops = [op for op in kernel.ops if _touches(op, measure)]
        if not ops:
            continue
        label = _own_label(ops[0], measure)
        if kernel.name not in selected:
            runs = any(own in measure.labels for op in ops for own, _ in op.space)
            does = "runs over" if runs else "reads a tensor that grows with"
            raise TransformError(
                f"pad: kernel {kernel.name!r} {does} {label!r} too, and is not selected; a label has one extent: name "
                "that kernel in only= as well, or leave only= out"
            )
        if kernel.tiles:
            raise TransformError(f"pad: kernel {kernel.name!r} is tiled; pad first, then tile")
        for op in ops:
            _check_op(op, measure)


def _allowed(program: Program, measure: Measure, selected: set[str]) -> bool:
    """Whether labels could be padded."""
    try:
        _check(program, measure, selected)
    except TransformError:
        return False
    return True


def _touches(op: Op, measure: Measure) -> bool:
    """Whether an op runs over one of the labels or touches one of the axes."""
    if any(label in measure.labels for label, _ in op.space):
        return True
    return any(name == access.tensor.name for access in (*op.reads, op.output) for name, _ in measure.axes)


def _own_label(op: Op, measure: Measure) -> str:
    return next((label for label, _ in op.space if label in measure.labels), measure.labels[0])


def _check_op(op: Op, measure: Measure) -> None:
    label = _own_label(op, measure)
    if bound_indices(op):
        raise TransformError(
            f"pad: op {op.name!r} is split, and parts that end where their label does have no padding: split or pad, "
            "not both"
        )
    if op.mask is not None and {op.mask.query, op.mask.key} & set(measure.labels):
        raise TransformError(
            f"pad: {label!r} lies under a mask ({op.mask.describe()}) in op {op.name!r}, whose rows and keys are "
            "counted from the ends of their labels; describe the program at the padded size instead"
        )
    for access in op.reads:
        for place, index in enumerate(access.index):
            if not isinstance(index, Affine) or index.modulo is None:
                continue
            moved = any(name in measure.labels for name, _ in index.terms)
            if moved or (access.tensor.name, place) in measure.axes:
                raise TransformError(
                    f"pad: op {op.name!r} reads {access.tensor.name!r} rolled around its end along {label!r}; "
                    "padding there would be rolled in: pad another label"
                )
