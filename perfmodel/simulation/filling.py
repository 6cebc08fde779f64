"""Inputs for a run that checks a program: small numbers that show what differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.graph.indexing import Gathered
from perfmodel.graph.nodes import Tensor
from perfmodel.graph.operands import Scalar
from perfmodel.graph.programs import Program
from perfmodel.graph.repeating import carried
from perfmodel.graph.resizing import valid_axes, valid_shape


def small_inputs(program: Program, seed: int, rounded: Mapping[str, Tensor]) -> dict[str, Any]:
    """Small whole numbers for inputs (sums of them are exact), indices in range for look-ups, ones for scalars.

    What is ``rounded`` has digits to lose, and lies between -1 and 1 where it is stored as floats, so that errors stay
    small beside the values that functions such as a softmax are steep at. Runs that read inputs of their own get them.

    >>> from perfmodel import matmul
    >>> {name: values.shape for name, values in small_inputs(matmul(2, 3, 4), 0, {}).items()}
    {'A': (1, 2, 4), 'B': (1, 4, 3)}
    """
    import numpy as np

    random = np.random.default_rng(seed)
    looked_up = [
        (index.by, int(access.tensor.axes[place].extent))
        for op in program.ops
        for access in op.reads
        for place, index in enumerate(access.index)
        if isinstance(index, Gathered)
    ]
    tables = dict(sorted(looked_up, key=lambda pair: -pair[1]))  # of several tables the smallest: rows that all have
    found: dict[str, Any] = {}
    runs = {name: kernel.repeat for kernel in program.kernels for name in kernel.needed}
    ends = valid_axes(program.kernels, carried(program.loops))  # padding is no input
    once = {*program.shared, *[into for _, into in carried(program.loops)]}
    for item in program.inputs:
        shape = tuple([int(extent) for extent in valid_shape(item, ends)])
        own = item.name not in once and runs[item.name] != 1
        shape = (int(runs[item.name]), *shape) if own else shape
        low, high = (0, tables[item.name]) if item.name in tables else (-3, 4)
        found[item.name] = random.integers(low, high, size=shape).astype(float)
        if item.name in rounded and item.name not in tables:
            whole = rounded[item.name].format.kind == "int"
            found[item.name] = found[item.name] * whole + random.uniform(-1, 1, size=shape) / (1 + whole)
    for op in program.ops:
        found.update(
            {item.value: 1.0 for item in op.inputs if isinstance(item, Scalar) and isinstance(item.value, str)}
        )
    return found
