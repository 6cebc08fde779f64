"""Blocks that combine a result in memory, as atomics do: each reads its part, adds its own and writes it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel.graph.nodes import Op
from perfmodel.simulation.numerics import reductions

if TYPE_CHECKING:
    from perfmodel.simulation.blocks import BlockRun


def begin_sums(run: BlockRun) -> None:
    """Zeros for the sums that only blocks with an allowed pair add to; other results begin with their first block.

    >>> import perfmodel as pm, numpy as np
    >>> p = pm.split(pm.matmul(2, 2, 4), k=2, combine="atomic")
    >>> dict(pm.simulate(p, {"A": np.ones((1, 2, 4)), "B": np.ones((1, 4, 2))}).counts.stores)  # once, and 2 blocks
    {'C': 12}
    """
    import numpy as np

    for need in run.tiled.needs:
        tensor = need.op.output.tensor
        if run.added_visits[tensor.name] is not None and tensor.name not in run.tiled.updated:
            run.memory[tensor.name] = np.zeros(tuple([int(extent) for extent in tensor.extents]))
            run.counts.stores[tensor.name] += int(run.memory[tensor.name].size)


def add_in_memory(run: BlockRun, op: Op, where: Any, values: Any, *, first: bool) -> Any:
    """A part of a result with a block's own values added to it; it starts as the identity.

    The block adds in the accumulator's format, and what is written is rounded to the tensor's.

    >>> import perfmodel as pm, numpy as np
    >>> p = pm.split(pm.program(pm.max(pm.tensor("x", {"i": 4}), "i").named("y")), i=2, combine="atomic")
    >>> float(pm.simulate(p, {"x": -np.arange(4.0) - 1}).values["y"])
    -1.0
    """
    name = op.output.tensor.name
    combine, start = reductions()[op.function]
    if first and run.added_visits[name] is None:
        run.memory[name][where] = start
        run.counts.stores[name] += int(values.size)
    run.counts.loads[name] += int(values.size)
    return run.rounding.stored(combine(run.memory[name][where], values), op.output.tensor.format)
