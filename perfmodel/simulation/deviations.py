"""How far rounding may take the values of a program: bounds that its number formats imply.

A running error analysis, op by op: each value x of the exact run is known to lie within e of the rounded one, and

- rounding to nearest moves a value y by at most u |y| + s/2, where u is half the step from 1 to the next number and
  s the smallest number; whole numbers by 1/2; where y may pass the largest finite value nothing is promised;
- an op passes e on as its function does at most between x - e and x + e;
- an accumulator over n points is rounded at most n times, which moves a sum of terms t by at most
  n u / (1 - n u) times the sum of |t| (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, 2002,
  sections 3.1 and 4.2), in whatever order and over whatever tiles they are added.

The bound holds for every tiling of the program; float64's own rounding is left out (a relative 1e-9 is granted).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from perfmodel.graph.indexing import Gathered
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Op
from perfmodel.graph.operands import Scalar
from perfmodel.graph.paddings import valid_extents
from perfmodel.graph.programs import Program
from perfmodel.number_formats import Format
from perfmodel.simulation.looping import Looping
from perfmodel.simulation.points import Held, allowed_points, computed, empty, operand
from perfmodel.simulation.rounding import Rounding, rounded, scales, unscaled
from perfmodel.simulation.running import cropped, inputs_of, scalars_of
from perfmodel.simulation.spreading import spread


@dataclass(frozen=True, slots=True)
class Bounded:
    """Exact values, and how far the rounded ones may be from them.

    >>> Bounded(1.0, 0.5).most
    1.5
    """

    values: Any
    error: Any

    @property
    def most(self) -> Any:
        """The largest magnitude that a rounded value may have."""
        return abs(self.values) + self.error

    def __getitem__(self, number: int) -> Bounded:
        return Bounded(self.values[number], self.error[number])


def deviations(program: Program, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """For each output, how far each value of ``simulate(program, arrays, rounding=True)`` may be from the exact one.

    >>> import numpy as np
    >>> from perfmodel import elementwise
    >>> deviations(elementwise("x + 1", 2), {"x": np.array([2.0, 256.0])})["y"].round(3)  # 257 as 256, twice u = 2^-8
    array([0.   , 2.012])
    """
    import numpy as np

    exact, apart = inputs_of(program, arrays, Rounding())
    forms = {name: item.format for name, item in program.tensors.items()}
    memory = {name: _input(values, forms[name]) for name, values in exact.items()}
    other = {name: _input(values, forms[name]) for name, values in apart.items()}
    scalars = scalars_of(program, arrays)

    def run(kernel: Kernel) -> None:
        spilled = {name for tiling in kernel.tiles for name in tiling.spill}
        added = {label for tiling in kernel.tiles for label in tiling.atomic}
        for op in kernel.ops:
            name = op.output.tensor.name
            memory[name] = _made(op, memory, scalars, name in spilled or bool(added.intersection(op.reduced)))

    with np.errstate(all="ignore"):
        Looping(program, memory, other, run, lambda name, value: _stored(value, forms[name])).all()
    return cropped(program, {name: memory[name].error for name in program.returned})


def _input(values: Any, form: Format) -> Bounded:
    return Bounded(values, abs(rounded(values, form) - values))


def _made(op: Op, memory: Mapping[str, Bounded], scalars: Mapping[str, float], spilled: bool) -> Bounded:
    """The output of an op from whole tensors."""
    import numpy as np

    order = [axis.label for axis in op.space]
    shape = tuple([int(axis.extent) for axis in op.space])
    grid = {
        label: np.arange(extent).reshape([-1 if axis == place else 1 for axis in range(len(order))])
        for place, (label, extent) in enumerate(zip(order, shape, strict=True))
    }
    allowed = allowed_points(op, grid, shape)
    operands = [_operand(op, item, grid, shape, memory, scalars) for item in op.inputs]
    form = op.output.tensor.format
    if op.kind == "map":
        found = _mapped(op, operands, allowed, order)
    else:
        found = _reduced(op, operands, allowed, order, form if spilled else None)
    for part in (found.values, found.error):
        empty(op, part)
    found = _stored(found, form)
    return found if form.block is None else _stored(found, form)  # a block that tiles cut is rounded once more


def _operand(
    op: Op, item: Any, grid: Mapping[str, Any], shape: tuple[int, ...], memory: Mapping[str, Bounded], scalars: Any
) -> Bounded:
    """An operand at every point, as the compute format takes it; look-ups go by exact indices."""
    import numpy as np

    if isinstance(item, Scalar):
        return Bounded(operand(item, grid, shape, {}, scalars), 0.0)
    by = [index.by for index in item.index if isinstance(index, Gathered)]

    def seen(values: Any) -> Held:
        return Held(values, np.ones(np.shape(values), dtype=bool))

    places = {name: seen(memory[name].values) for name in by}
    name, held = item.tensor.name, memory[item.tensor.name]
    values, error = [
        operand(item, grid, shape, {name: seen(part), **places}, scalars) for part in (held.values, held.error)
    ]
    lost = any(np.any(memory[name].error) for name in by)  # another place may be looked up
    return _plain(Bounded(values, np.full(np.shape(error), math.inf) if lost else error), op.compute)


def _mapped(op: Op, operands: list[Bounded], allowed: Any, order: list[str]) -> Bounded:
    """A map: what its function makes of the errors, and the rounding of its result."""
    import numpy as np

    values = computed(op, [item.values for item in operands], allowed, order)
    error = spread(op.function, [item.values for item in operands], [item.error for item in operands])
    shape = np.broadcast_shapes(*[np.shape(item.values) for item in operands], np.shape(error))
    moved = computed(replace(op, function="copy"), [np.broadcast_to(error, shape)], allowed, order)
    return _plain(Bounded(values, moved), op.compute)


def _reduced(op: Op, operands: list[Bounded], allowed: Any, order: list[str], spilled: Format | None) -> Bounded:
    """A reduction: the errors of its terms, and the roundings of the accumulator."""
    values = computed(op, [item.values for item in operands], allowed, order)
    if op.function in ("max", "min"):
        error = computed(replace(op, function="max"), [operands[0].error], allowed, order).clip(0)
        return _plain(Bounded(values, error), op.accumulate)
    extents = valid_extents(op)
    points = math.prod([int(extents[label]) for label in op.reduced])
    how = replace(op, function="prod" if op.function == "prod" else "multiply-add")
    high = computed(how, [item.most for item in operands], allowed, order)
    low = computed(how, [abs(item.values) for item in operands], allowed, order)
    kept = op.accumulate if spilled is None else spilled
    error = high - low + _accumulated(op, high, points, spilled)
    error = _unless_over(Bounded(values, error), high, op.accumulate)
    error = _unless_over(Bounded(values, error), high, kept)
    share = points if op.function == "mean" else 1
    return Bounded(values / share, error / share)


def _accumulated(op: Op, most: Any, points: int, spilled: Format | None) -> Any:
    """What rounding an accumulator at most so often may do to a sum whose terms have these magnitudes in all."""
    forms = [op.accumulate, *([] if spilled is None else [spilled])]
    if all(form.kind == "int" for form in (op.compute, *forms)) and op.function != "prod":
        return 0.0  # sums of whole numbers are whole
    if any(form.block is not None for form in forms):
        return math.inf
    least = sum([0.5 if form.kind == "int" else (form.min_subnormal or 0) / 2 for form in forms])
    unit = math.prod([1 + (form.epsilon or 0) / 2 for form in forms]) - 1
    if points * unit >= 1:
        return math.inf
    growth = points * unit / (1 - points * unit)
    return growth * most + points * least * (1 + growth)


def _plain(item: Bounded, form: Format) -> Bounded:
    """Rounded to a compute format (block scales are a way of storing: they do not compute)."""
    return item if form.block is not None else _stored(item, form)


def _stored(item: Bounded, form: Format) -> Bounded:
    """Rounded to a format once more."""
    import numpy as np

    if form.block is not None:
        return Bounded(item.values, item.error + _block_error(item.most, form, form.block))
    if form.kind == "int":
        kept = (np.asarray(item.error) == 0) & (np.rint(item.values) == item.values)
        step = np.where(kept, 0.0, 0.5)
    else:
        step = (form.epsilon or 0) / 2 * item.most + (form.min_subnormal or 0) / 2
        kept = (np.asarray(item.error) == 0) & (rounded(item.values, form) == item.values)
        step = np.where(kept, 0.0, step)
    return Bounded(item.values, _unless_over(Bounded(item.values, item.error + step), item.most, form))


def _unless_over(item: Bounded, most: Any, form: Format) -> Any:
    """The error, without end where a value may pass the largest finite one (infinity stays, where there is one)."""
    import numpy as np

    keeps = form.has_infinity and form.bits > 8
    over = (most > float(form.max_finite or math.inf)) & ~(np.isinf(item.values) & keeps & (most == math.inf))
    return np.where(np.isnan(item.error) | over, math.inf, item.error)


def _block_error(most: Any, form: Format, block: int) -> Any:
    """What rounding over a block's scale may do, wherever tiles cut the block.

    An element is rounded, or, larger than the largest, cut: in MX by less than 1 - largest / 2^(its exponent + 1)
    of itself; in NVFP4 the rounded scale is at most 1/16 too small. A number far below the scale loses half a step.
    """
    import numpy as np

    element = unscaled(form)
    top = float(element.max_finite or 1)
    rows = np.atleast_1d(most)
    padded = np.zeros((*rows.shape[:-1], math.ceil(rows.shape[-1] / block) * block))
    padded[..., : rows.shape[-1]] = rows
    largest = np.max(padded.reshape(*rows.shape[:-1], -1, block), axis=-1)
    scale = np.repeat(scales(largest, form), block, axis=-1)[..., : rows.shape[-1]].reshape(np.shape(most))
    room = 2.0 ** -math.frexp(top)[1] * top
    share = max((element.epsilon or 0) / 2, 1 - room)
    if form.name != "nvfp4":
        return share * most + (element.min_subnormal or 0) / 2 * scale
    wide = np.repeat(largest, block, axis=-1)[..., : rows.shape[-1]].reshape(np.shape(most)) / top
    error = share * most + (element.min_subnormal or 0) / 2 * wide * 17 / 16
    return np.where(wide > 448, math.inf, np.where(wide < 2.0**-6, most, error))  # the scale is E4M3
