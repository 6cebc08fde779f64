"""Gradients held against differences: what a loss does when one input moves along a random direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from staging import run_on

import perfmodel as pm
from perfmodel.graph.indexing import Gathered

Array = npt.NDArray[Any]
STEP = 1e-6


def reals_of(program: pm.Program, seed: int = 0, low: float = -2.0, high: float = 2.0) -> dict[str, Array]:
    """Real numbers for every input; whole ones, inside the table, for what looks rows up."""
    draw = np.random.default_rng(seed)
    rows = {
        index.by: int(extent)
        for op in program.ops
        for access in op.reads
        for index, extent in zip(access.index, access.tensor.extents, strict=True)
        if isinstance(index, Gathered)
    }
    found: dict[str, Array] = {}
    for item in program.inputs:
        shape = tuple(int(extent) for extent in item.extents)
        if item.name in rows:
            found[item.name] = draw.integers(0, rows[item.name], size=shape).astype(float)
        else:
            found[item.name] = draw.uniform(low, high, size=shape)
    return found


def loss(program: pm.Program, arrays: Mapping[str, Array]) -> float:
    """The sum of every output that has a cotangent, weighted by it."""
    values = run_on(program, arrays).values
    names = [name for name in program.returned if f"d{name}" in arrays]
    return float(sum((values[name] * arrays[f"d{name}"]).sum() for name in names))


def slope(program: pm.Program, arrays: Mapping[str, Array], name: str, along: Array) -> float:
    """The central difference of the loss as an input moves along a direction."""
    ahead, behind = [{**arrays, name: arrays[name] + sign * STEP * along} for sign in (1, -1)]
    return (loss(program, ahead) - loss(program, behind)) / (2 * STEP)


def assert_is_gradient(
    program: pm.Program, gradient: pm.Program, arrays: Mapping[str, Array], rtol: float = 1e-5
) -> None:
    """Each d<input> that a gradient program returns is the slope of the loss, in a random direction."""
    values = run_on(gradient, arrays).values
    inputs = [item.name for item in program.inputs if f"d{item.name}" in values]
    assert inputs
    draw = np.random.default_rng(1)
    for name in inputs:
        assert values[f"d{name}"].shape == arrays[name].shape
        along = draw.uniform(-1.0, 1.0, size=arrays[name].shape)
        expected = slope(program, arrays, name, along)
        found = float((values[f"d{name}"] * along).sum())
        size = float(np.abs(values[f"d{name}"] * along).sum()) + abs(loss(program, arrays))
        assert abs(found - expected) <= rtol * (1e-3 + size), (name, found, expected)
