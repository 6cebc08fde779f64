"""An op at the points of one block: where its indices point, what it reads there, and what it computes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perfmodel.errors import PerfModelError
from perfmodel.graph.indexing import Affine, Gathered, Index
from perfmodel.graph.masks import Mask
from perfmodel.graph.nodes import Access, Op
from perfmodel.graph.operands import Scalar
from perfmodel.graph.paddings import valid_extents
from perfmodel.graph.scattering import scatters
from perfmodel.graph.schedules import looked_up_by
from perfmodel.graph.splits import bound_indices, key_bound, mask_extents
from perfmodel.simulation.numerics import functions, reductions


@dataclass
class Held:
    """A tensor on chip: its values, and which of them are there."""

    values: Any
    present: Any


def allowed_points(op: Op, grid: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    """Which points of an op's space are valid: allowed by its mask, by what bounds its indices, and no padding.

    None stands for all.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> allowed_points(mapped("exp", tensor("x", {"i": 4})).producer, {}, (4,)) is None
    True
    """
    import numpy as np

    bound = bound_indices(op)
    if op.mask is None and not op.padded and not bound:
        return None
    found = np.ones(shape, dtype=bool)
    if op.mask is not None:
        found = found & _allowed_pairs(op, op.mask, grid)
    for item in op.padded:
        found = found & (grid[item.label] < int(item.extent))
    for index, extent in bound:
        place = _place(index, grid, {})
        found = found & (place >= 0) & (place < int(extent))
    return found


def _allowed_pairs(op: Op, mask: Mask, grid: Mapping[str, Any]) -> Any:
    """Which pairs of the grid's rows and keys a mask of an op allows, its keys in parts or not."""
    import numpy as np

    queries, keys = [int(extent) for extent in mask_extents(op, mask)]
    split = key_bound(op)
    place = grid[mask.key] if split is None else np.minimum(_place(split.index, grid, {}), keys - 1)
    return mask.array(queries, keys)[grid[mask.query], place]


def empty(op: Op, values: Any) -> None:
    """Put zeros where an op's output holds padding, and where a reduction's has pairs that its mask does not allow.

    No maximum and no product begins in either.

    >>> import numpy as np
    >>> from perfmodel import einsum, max, program, tensor
    >>> from perfmodel.graph.masks import causal
    >>> operands = tensor("A", {"q": 2, "b": 2, "d": 2}), tensor("B", {"kv": 2, "d": 2})
    >>> y = max(einsum("q b d, kv d -> q kv b", *operands, mask=causal()), "b")
    >>> values = np.full((2, 2), -np.inf)
    >>> empty(program(y).ops[1], values)
    >>> values.tolist()
    [[-inf, 0.0], [-inf, -inf]]
    """
    labels = op.output.tensor.labels
    for item in [item for item in op.padded if item.label in labels]:
        past = [slice(int(item.extent), None) if label == item.label else slice(None) for label in labels]
        values[tuple(past)] = 0.0
    if op.mask is not None and op.kind == "reduce":
        _empty_masked(op, op.mask, values)


def _empty_masked(op: Op, mask: Mask, values: Any) -> None:
    import numpy as np

    split, labels = key_bound(op), op.output.tensor.labels
    keys = () if split is None else tuple([label for label, _ in split.index.terms])
    if {mask.query, mask.key, *keys} <= set(labels):
        grid = {label: along(np.arange(values.shape[n]), n, len(labels)) for n, label in enumerate(labels)}
        values[~np.broadcast_to(_allowed_pairs(op, mask, grid), values.shape)] = 0.0


def along(values: Any, place: int, rank: int) -> Any:
    """A vector along one axis of a space of this rank.

    >>> import numpy as np
    >>> along(np.arange(3), 1, 3).shape
    (1, 3, 1)
    """
    return values.reshape([-1 if axis == place else 1 for axis in range(rank)])


def divide_mean(op: Op, sums: Any, where: tuple[slice, ...]) -> int:
    """Divide a part of a mean's sums by how many points each has; returns how many are results, not padding.

    >>> import numpy as np
    >>> from perfmodel import mean, pad, program, tensor
    >>> sums = np.full((8,), 6.0)
    >>> op = pad(program(mean(tensor("x", {"i": 5, "j": 2}), "j")), i=4).ops[0]
    >>> divide_mean(op, sums, (slice(4, 8),)), sums.tolist()[3:5]  # of 4 elements the last 3 are padding
    (1, [6.0, 3.0])
    """
    extents, labels = valid_extents(op), op.output.tensor.labels
    sums[where] = sums[where] / math.prod([int(extents[label]) for label in op.reduced])
    stops = [int(extents[label]) for label in labels]
    return math.prod([max(0, min(part.stop, stop) - part.start) for part, stop in zip(where, stops, strict=True)])


def operand(
    item: Access | Scalar,
    grid: Mapping[str, Any],
    shape: tuple[int, ...],
    chip: Mapping[str, Held],
    scalars: Mapping[str, float],
) -> Any:
    """The values of one input at every point of the space: padding is zero, what is not on chip an error.

    >>> operand(Scalar(2), {}, (4,), {}, {})
    2
    """
    import numpy as np

    if isinstance(item, Scalar):
        return scalars[item.value] if isinstance(item.value, str) else item.value
    by = looked_up_by(item)
    looked_up = chip.get(f"{item.tensor.name}[{', '.join(by)}]") if by else None
    held = looked_up or chip.get(item.tensor.name)
    if held is None:
        raise PerfModelError(f"simulate: {item.tensor.name!r} is read before it is on chip")
    if 0 in held.values.shape:  # a tile that lies in the padding
        return np.zeros(shape)
    found, inside = _places(item, grid, shape, chip)
    values, present = held.values[found], held.present[found]
    if not np.all(np.logical_or(present, np.logical_not(inside))):
        raise PerfModelError(f"simulate: an element of {item.tensor.name!r} is read that is not on chip")
    return np.broadcast_to(np.where(inside, values, 0.0), shape)


def _places(
    item: Access, grid: Mapping[str, Any], shape: tuple[int, ...], chip: Mapping[str, Held]
) -> tuple[tuple[Any, ...], Any]:
    """Where an access points, axis by axis, and whether that lies inside the tensor."""
    import numpy as np

    index, inside = [], np.ones((1,) * len(shape), dtype=bool)
    for axis, entry in zip(item.tensor.axes, item.index, strict=True):
        place = _place(entry, grid, chip)
        inside = inside & (place >= 0) & (place < int(axis.extent))
        index.append(np.clip(place, 0, int(axis.extent) - 1))
    return tuple(np.broadcast_arrays(*index)) if index else (), inside


def scattered_values(
    op: Op, operands: list[Any], allowed: Any, grid: Mapping[str, Any], chip: Mapping[str, Held]
) -> Any:
    """What an op adds to each place of its output, through the index that stands on it.

    >>> import numpy as np
    >>> from perfmodel.graph.indexing import Affine, Axis
    >>> from perfmodel.graph.nodes import tensor
    >>> from perfmodel.graph.scattering import scattered
    >>> d = tensor("d", {"p": 3})
    >>> op = scattered([d], (Axis("h", 2),), (Affine((("p", 1),), -1),), d.axes).producer
    >>> scattered_values(op, [np.array([1.0, 2.0, 3.0])], None, {"p": np.arange(3)}, {}).tolist()
    [2.0, 3.0]
    """
    import numpy as np

    values = operands[0]
    for other in operands[1:] if op.kind == "contract" else []:
        values = values * other
    places, inside = _places(op.output, grid, values.shape, chip)
    keep = inside if allowed is None else inside & allowed
    found = np.zeros(tuple([int(extent) for extent in op.output.tensor.extents]))
    where = tuple([np.broadcast_to(place, values.shape) for place in places])
    np.add.at(found, where, np.where(keep, values, 0.0))
    return found


def _place(entry: Index, grid: Mapping[str, Any], chip: Mapping[str, Held]) -> Any:
    """Where an index points along its axis, for every point of the space."""
    if isinstance(entry, str):
        return grid[entry]
    if isinstance(entry, Affine):
        place = sum([int(step) * grid[label] for label, step in entry.terms], start=int(entry.offset))
        return place if entry.modulo is None else place % int(entry.modulo)
    return _indices(entry, grid, chip)


def _indices(entry: Gathered, grid: Mapping[str, Any], chip: Mapping[str, Held]) -> Any:
    import numpy as np

    found = np.broadcast_arrays(*[grid[label] for label in entry.labels])
    values = chip[entry.by].values[tuple(found)]  # inputs are checked; what is computed may be no number at all
    return np.where(np.abs(values) < 2**52, values, -1.0).astype(int)


def computed(op: Op, operands: list[Any], allowed: Any, order: list[str]) -> Any:
    """What an op makes of its operands at these points, its reduced labels summed over them.

    >>> import numpy as np
    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> computed(mapped("neg", tensor("x", {"i": 2})).producer, [np.array([1.0, 2.0])], None, ["i"]).tolist()
    [-1.0, -2.0]
    """
    import numpy as np

    if op.kind == "map":
        values = operands[0] if op.function == "copy" else functions()[op.function](*operands)
        values = np.asarray(values) if allowed is None else np.where(allowed, values, 0.0)
        return np.moveaxis(values, [order.index(label) for label in op.output.tensor.labels], range(len(order)))
    function, start = reductions()[op.function]
    values = operands[0]
    for other in operands[1:]:
        values = values * other
    if allowed is not None:
        values = np.where(allowed, values, start)
    gone = tuple([order.index(label) for label in op.reduced])
    values = function.reduce(values, axis=gone)
    kept = [label for label in order if label not in op.reduced]
    return np.transpose(values, [kept.index(label) for label in op.output.tensor.labels])


def made_of(
    op: Op, operands: list[Any], allowed: Any, grid: Mapping[str, Any], order: list[str], chip: Mapping[str, Held]
) -> Any:
    """What an op makes of its operands: at its points, or added up at the places that it scatters them to.

    >>> import numpy as np
    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> made_of(mapped("neg", tensor("x", {"i": 2})).producer, [np.array([1.0, 2.0])], None, {}, ["i"], {}).tolist()
    [-1.0, -2.0]
    """
    if scatters(op):
        return scattered_values(op, operands, allowed, grid, chip)
    return computed(op, operands, allowed, order)
