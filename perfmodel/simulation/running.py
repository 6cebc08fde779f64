"""``simulate``: a program run on numpy arrays exactly as it is staged, with its values and counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from perfmodel.errors import DimensionError, LabelError, PerfModelError, did_you_mean, listed
from perfmodel.graph.nested import Nested
from perfmodel.graph.operands import Scalar
from perfmodel.graph.programs import Program
from perfmodel.graph.tiled import Tiled
from perfmodel.graph.tilings import Tiling
from perfmodel.simulation.blocks import Counts, Ledger
from perfmodel.simulation.nests import block_run


@dataclass(frozen=True)
class Simulation:
    """A run: the outputs' values, what was loaded and stored (elements), what was done, and what was watched."""

    values: dict[str, Any]
    counts: Counts
    watched: list[tuple[dict[str, int], str, Any]] = field(default_factory=list)
    levels: dict[str, Counts] = field(default_factory=dict)  # by the level that serves; "memory" is ``counts``


def simulate(program: Program, arrays: Mapping[str, Any], watch: Iterable[str] = ()) -> Simulation:
    """Run a program on numpy arrays, kernel by kernel, block by block, streaming what its tiles stream.

    ``arrays`` gives every input by name, and every named scalar. Values are computed in float64. The counts are
    those of the run itself: elements loaded and stored by tensor, operations by unit; ``levels`` has those of each
    level where tiles nest. ``watch`` names tensors whose values are kept each time that the outermost tiles have
    computed them.

    >>> import numpy as np
    >>> from perfmodel import matmul
    >>> run = simulate(matmul(2, 2, 2), {"A": np.eye(2)[None], "B": np.ones((1, 2, 2))})
    >>> run.values["C"].tolist(), run.counts.operations["matrix"]
    ([[[1.0, 1.0], [1.0, 1.0]]], 16)
    """
    if not isinstance(program, Program) or not isinstance(arrays, Mapping):
        raise PerfModelError(f"simulate: expected a program and arrays by name, got {program!r} and {arrays!r}")
    memory, scalars = _checked(program, arrays)
    ledger: Ledger = {"memory": Counts()}
    watched: list[tuple[dict[str, int], str, Any]] = []
    leaving = frozenset([*program.returned, *[name for kernel in program.kernels for name in kernel.needed]])
    for kernel in program.kernels:
        if kernel.repeat != 1:
            raise PerfModelError(f"simulate: {kernel.name!r} runs {kernel.repeat} times; simulate one repetition")
        opaque = [op.name for op in kernel.ops if op.kind == "opaque"]
        if opaque:
            raise PerfModelError(f"simulate: {opaque[0]!r} has given counts and no arithmetic to run")
        tiled = Tiled(kernel, kernel.tiles[0] if kernel.tiles else Tiling(), frozenset(kernel.made) & leaving)
        run = block_run(Nested(tiled, kernel.tiles[1:]) if kernel.tiles[1:] else tiled, memory, scalars, ledger)
        run.watch = frozenset(watch)
        run.run()
        watched += run.watched
    return Simulation({name: memory[name] for name in program.returned}, ledger["memory"], watched, ledger)


def _checked(program: Program, arrays: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """The inputs as float64 arrays of the right shape, and the scalars."""
    import numpy as np

    if program.symbols:
        raise DimensionError(f"simulate: sizes are formulas in {listed(program.symbols)}; bind them with p.at(...)")
    names = {item.value for op in program.ops for item in op.inputs if isinstance(item, Scalar)}
    scalars = {name: float(arrays[name]) for name in names if isinstance(name, str) and name in arrays}
    inputs = {item.name: item for item in program.inputs}
    needed = [*inputs, *[name for name in names if isinstance(name, str)]]
    for name in needed:
        if name not in arrays:
            raise LabelError(f"simulate: no array for {name!r}; expected {listed(needed)}{did_you_mean(name, arrays)}")
    memory = {}
    for name, item in inputs.items():
        values = np.asarray(arrays[name], dtype=np.float64)
        shape = tuple([int(extent) for extent in item.extents])
        if values.shape != shape:
            raise DimensionError(
                f"simulate: {name!r} has shape {values.shape}; its axes {listed(item.labels)} are {shape}"
            )
        memory[name] = values
    return memory, scalars
