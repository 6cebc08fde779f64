"""A second opinion on values: each op of a small untiled program by numpy, over its whole space at once.

Kernels do not matter here, so two programs that compute the same function give the same arrays, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from perfmodel.graph.indexing import Gathered
from perfmodel.graph.nodes import Access, Op
from perfmodel.graph.operands import Scalar
from perfmodel.graph.programs import Program

Array = Any
Grid = dict[str, Array]

_erf = np.vectorize(math.erf, otypes=[float])


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum,
    "pow": np.power, "less": lambda x, y: (x < y) * 1.0, "copy": lambda x, *by: x, "neg": np.negative,
    "square": np.square, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x), "relu": lambda x: np.maximum(x, 0), "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x), "gelu": lambda x: x * (1 + _erf(x / math.sqrt(2))) / 2,
    "softplus": lambda x: np.log1p(np.exp(x)),
}  # fmt: skip
STARTS = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}
SUMMED: dict[str, Callable[..., Array]] = {
    "sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min,
}  # fmt: skip


def run(program: Program, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of a program on these inputs; what a mask leaves out is NaN."""
    known = {name: np.asarray(array, dtype=float) for name, array in arrays.items()}
    with np.errstate(all="ignore"):
        for op in program.ops:
            known[op.output.tensor.name] = _value(op, known)
    return {name: known[name] for name in program.returned}


def inputs(program: Program, seed: int = 0) -> dict[str, Array]:
    """Small whole numbers for every input, as float64."""
    draw = np.random.default_rng(seed)
    return {item.name: draw.integers(-3, 4, item.extents).astype(float) for item in program.inputs}


def _value(op: Op, known: Mapping[str, Array]) -> Array:
    labels = [axis.label for axis in op.space]
    shape = tuple(int(axis.extent) for axis in op.space)
    grid = dict(zip(labels, np.indices(shape), strict=True))
    operands = [_scalar(item) if isinstance(item, Scalar) else _read(item, grid, shape, known) for item in op.inputs]
    allowed = _allowed(op, grid, shape)
    gone = tuple(place for place, label in enumerate(labels) if label not in op.output.index)
    if op.kind == "map":
        result = np.where(allowed, FUNCTIONS[op.function](*operands), np.nan)
    else:
        function = "sum" if op.kind == "contract" else op.function
        factors = math.prod(operands[1:], start=operands[0])
        result = SUMMED[function](np.where(allowed, factors, STARTS[function]), axis=gone)
        result = np.where(np.any(allowed, axis=gone), result, 0.0)  # a row without keys
    kept = [label for label in labels if label in op.output.index]
    return np.transpose(result, [kept.index(label) for label in op.output.index])


def _scalar(item: Scalar) -> float:
    return float(item.value) if not isinstance(item.value, str) else 2.0


def _allowed(op: Op, grid: Grid, shape: tuple[int, ...]) -> Array:
    if op.mask is None:
        return np.ones(shape, dtype=bool)
    extents = dict(op.space)
    allows = np.vectorize(lambda row, key: op.mask.allows(row, key, extents[op.mask.query], extents[op.mask.key]))
    return allows(grid[op.mask.query], grid[op.mask.key])


def _read(access: Access, grid: Grid, shape: tuple[int, ...], known: Mapping[str, Array]) -> Array:
    """An operand at every point of the space: zero where a window stands over the padding."""
    array = known[access.tensor.name]
    inside = np.ones(shape, dtype=bool)
    places = []
    for extent, index in zip(array.shape, access.index, strict=True):
        if isinstance(index, Gathered):
            found = known[index.by][tuple(grid[label] for label in index.labels)]
            place = np.nan_to_num(found, posinf=0, neginf=0).astype(int) % extent
        elif isinstance(index, str):
            place = grid[index]
        else:
            place = index.offset + sum(step * grid[label] for label, step in index.terms)
            place = place if index.modulo is None else place % index.modulo
        inside &= (place >= 0) & (place < extent)
        places.append(np.clip(place, 0, extent - 1))
    values = array[tuple(places)] if places else np.broadcast_to(array, shape)
    return np.where(inside, values, 0.0)
