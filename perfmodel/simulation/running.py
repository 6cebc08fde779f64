"""``simulate``: a program run on numpy arrays exactly as it is staged, with its values and counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from perfmodel.errors import DimensionError, LabelError, PerfModelError, did_you_mean, listed
from perfmodel.expressions import Size
from perfmodel.graph.arguments import is_one_of
from perfmodel.graph.indexing import Gathered
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nested import Nested
from perfmodel.graph.nodes import Tensor
from perfmodel.graph.operands import Scalar
from perfmodel.graph.programs import Program
from perfmodel.graph.repeating import carried
from perfmodel.graph.resizing import valid_axes, valid_shape
from perfmodel.graph.tiled import Tiled
from perfmodel.graph.tilings import Tiling
from perfmodel.showing import Text
from perfmodel.shown import Explained
from perfmodel.simulation.ledgers import Counts, Ledger
from perfmodel.simulation.looping import Looping
from perfmodel.simulation.nests import block_run
from perfmodel.simulation.rounding import Rounding


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Explained):
    """A run: the outputs' values, what was loaded and stored (elements), what was done, and what was watched."""

    values: dict[str, Any]
    counts: Counts
    watched: list[tuple[dict[str, int], str, Any]] = field(default_factory=list)
    levels: dict[str, Counts] = field(default_factory=dict)  # by the level that serves; "memory" is ``counts``

    def explain(self) -> Text:
        """What was loaded and stored by tensor, what was done by unit, and the shapes of the values.

        >>> import numpy as np
        >>> from perfmodel import matmul
        >>> simulate(matmul(2, 2, 2), {"A": np.eye(2)[None], "B": np.ones((1, 2, 2))}).explain()
        simulation: values C (1, 2, 2)
          loads       A 4, B 4
          stores      C 4
          operations  matrix 16
        """
        rows = [(name, getattr(self.counts, name)) for name in ("loads", "stores", "operations")]
        lines = [
            f"  {name:10}  {', '.join([f'{key} {count}' for key, count in found.items()])}" for name, found in rows
        ]
        return Text("\n".join([repr(self), *lines]))

    def __eq__(self, other: object) -> bool:
        import numpy

        if not isinstance(other, Simulation):
            return NotImplemented
        if (self.counts, self.levels, list(self.values)) != (other.counts, other.levels, list(other.values)):
            return False
        return all(numpy.array_equal(each, other.values[name], equal_nan=True) for name, each in self.values.items())

    __hash__ = None  # type: ignore[assignment]  # as the arrays that it holds

    def __repr__(self) -> str:
        return f"simulation: values {', '.join([f'{name} {each.shape}' for name, each in self.values.items()])}"


def simulate(
    program: Program, arrays: Mapping[str, Any], watch: Iterable[str] = (), rounding: bool = False
) -> Simulation:
    """Run a program on numpy arrays, kernel by kernel, block by block, streaming what its tiles stream.

    ``arrays`` gives every input by name, and every named scalar; what is padded is given and returned without its
    padding. The counts are those of the run itself: elements loaded and stored by tensor, operations by unit;
    ``levels`` has those of each level where tiles nest. ``watch`` names tensors whose values are kept each time that
    the outermost tiles have computed them.

    A repeated program (``p.repeat(3, carry={"y": "x"})``) runs so often, each run's outputs going to the next as
    ``carry`` says; the values are those of the last run. An input that is neither carried nor shared, such as a
    weight, is an array that all runs read, or one with an axis before the others, of one array a run.

    Values are computed in float64. With ``rounding=True`` they are rounded as the formats say: inputs, and tensors
    when they are made or written, to their stored format; operands and the results of maps to the op's compute
    format; an accumulator to its format once a trip, after the exact sum of the trip's products. A tile that holds
    part of a scaled block rounds that part over a scale of its own, and memory then the block over its own.

    >>> import numpy as np
    >>> from perfmodel import matmul
    >>> run = simulate(matmul(2, 2, 2), {"A": np.eye(2)[None], "B": np.ones((1, 2, 2))})
    >>> run.values["C"].tolist(), run.counts.operations["matrix"]
    ([[[1.0, 1.0], [1.0, 1.0]]], 16)
    """
    if not isinstance(program, Program) or not isinstance(arrays, Mapping):
        raise PerfModelError(f"simulate: expected a program and arrays by name, got {program!r} and {arrays!r}")
    if not isinstance(rounding, bool):
        raise PerfModelError(f"simulate: rounding={rounding!r}: expected True or False")
    watched = _watched(program, watch)
    how = Rounding(rounding)
    _check_known(program, arrays)
    memory, apart = inputs_of(program, arrays, how)
    kernels = _Kernels(program, memory, scalars_of(program, arrays), how, watched)
    tensors = program.tensors
    Looping(program, memory, apart, kernels.run, lambda name, v: how.stored(v, tensors[name].format)).all()
    values = cropped(program, {name: memory[name] for name in program.returned})
    return Simulation(values, kernels.ledger["memory"], kernels.watched, kernels.ledger)


def cropped(program: Program, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of a program's tensors without their padding.

    >>> import numpy as np
    >>> from perfmodel import matmul, pad
    >>> cropped(pad(matmul(2, 3, 2), n=4), {"C": np.ones((1, 2, 4))})["C"].shape
    (1, 2, 3)
    """
    ends = valid_axes(program.kernels, carried(program.loops))
    tensors = program.tensors if ends else {}
    shapes = {name: [int(end) for end in valid_shape(tensors[name], ends)] for name in arrays if ends}
    return {
        name: values[tuple([slice(end) for end in shapes[name]])] if name in shapes else values
        for name, values in arrays.items()
    }


def _filled_up(values: Any, extents: tuple[Size, ...]) -> Any:
    """An array with zeros past its end, up to the extents that are stored (an axis of runs stands before them)."""
    import numpy as np

    runs = values.ndim - len(extents)
    stored = zip(extents, values.shape[runs:], strict=True)
    lacking = [(0, 0)] * runs + [(0, int(extent) - end) for extent, end in stored]
    return np.pad(values, lacking) if any(after for _, after in lacking) else values


def _watched(program: Program, watch: Iterable[str]) -> frozenset[str]:
    """The tensors to keep, each of which some op makes."""
    made = [op.output.tensor.name for op in program.ops]
    names = [watch] if isinstance(watch, str) else list(watch) if isinstance(watch, Iterable) else None
    for name in [watch] if names is None else names:
        if not is_one_of(name, made):
            raise LabelError(
                f"simulate: watch={watch!r}: {program.name} makes {listed(made)}{did_you_mean(str(name), made)}"
            )
    return frozenset(names or ())


def _check_look_ups(program: Program, memory: Mapping[str, Any]) -> None:
    """An input that names rows of a table names whole numbers of rows that are there."""
    import numpy as np

    for access in [access for op in program.ops for access in op.reads]:
        for index, axis in zip(access.index, access.tensor.axes, strict=True):
            if not isinstance(index, Gathered) or index.by not in memory:
                continue
            values = memory[index.by]
            rows = int(axis.extent)
            wrong = ~((values >= 0) & (values < rows) & (values == np.floor(values)))
            if np.any(wrong):
                raise PerfModelError(
                    f"simulate: {index.by!r} names rows 0 to {rows - 1} of {access.tensor.name!r}; "
                    f"it holds {float(values[wrong][0])}"
                )


class _Kernels:
    """Runs kernels over one memory, and counts."""

    def __init__(
        self, program: Program, memory: dict[str, Any], scalars: dict[str, float], how: Rounding, watch: frozenset[str]
    ) -> None:
        self.memory, self.scalars, self.how, self.watch = memory, scalars, how, watch
        self.ledger: Ledger = {"memory": Counts()}
        self.watched: list[tuple[dict[str, int], str, Any]] = []
        self.leaving = frozenset([*program.returned, *[name for kernel in program.kernels for name in kernel.needed]])
        self.blocks: dict[str, Tiled | Nested] = {}

    def run(self, kernel: Kernel) -> None:
        """One kernel, once."""
        opaque = [op.name for op in kernel.ops if op.kind == "opaque"]
        if opaque:
            raise PerfModelError(f"simulate: {opaque[0]!r} has given counts and no arithmetic to run")
        made = frozenset(kernel.made) & self.leaving
        if kernel.name not in self.blocks:
            tiled = Tiled(kernel, kernel.tiles[0] if kernel.tiles else Tiling(), made)
            self.blocks[kernel.name] = Nested(tiled, kernel.tiles[1:]) if kernel.tiles[1:] else tiled
        run = block_run(self.blocks[kernel.name], self.memory, self.scalars, self.ledger)
        run.watch, run.rounding = self.watch, self.how
        run.run()
        self.watched += run.watched
        for item in [op.output.tensor for op in kernel.ops]:
            if item.format.block is not None and item.name in self.memory:  # blocks that tiles have cut
                self.memory[item.name] = self.how.stored(self.memory[item.name], item.format)


def scalars_of(program: Program, arrays: Mapping[str, Any]) -> dict[str, float]:
    """The named scalars of a program.

    >>> from perfmodel import elementwise
    >>> scalars_of(elementwise("a*x", 4, scalars=["a"]), {"a": 2})
    {'a': 2.0}
    """
    names = [item.value for op in program.ops for item in op.inputs if isinstance(item, Scalar)]
    _check_given([name for name in names if isinstance(name, str)], arrays)
    return {name: float(arrays[name]) for name in names if isinstance(name, str)}


def inputs_of(program: Program, arrays: Mapping[str, Any], how: Rounding) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs as float64 arrays of the right shape, as they are stored; and those that hold one array a run.

    >>> import numpy as np
    >>> from perfmodel import elementwise
    >>> found, apart = inputs_of(elementwise("w*x", 4).repeat(2), {"w": np.ones((2, 4)), "x": np.ones(4)}, Rounding())
    >>> list(found), list(apart)
    (['x'], ['w'])
    """
    if program.symbols:
        raise DimensionError(f"simulate: sizes are formulas in {listed(program.symbols)}; bind them with p.at(...)")
    inputs = {item.name: item for item in program.inputs}
    _check_given(list(inputs), arrays)
    runs = {name: int(kernel.repeat) for kernel in program.kernels for name in kernel.needed if name in inputs}
    once = {*program.shared, *[into for _, into in carried(program.loops)]}
    memory, apart = {}, {}
    ends = valid_axes(program.kernels, carried(program.loops))
    for name, item in inputs.items():
        own = 1 if name in once else runs[name]
        shape = tuple([int(extent) for extent in valid_shape(item, ends)])
        values = _filled_up(_shaped(item, shape, arrays[name], own), item.extents)
        found = how.stored(values, item.format)
        if values.ndim > len(item.axes):
            apart[name] = found
        else:
            memory[name] = found
    _check_look_ups(program, {**memory, **apart})
    return memory, apart


def _check_known(program: Program, arrays: Mapping[str, Any]) -> None:
    """Every array is an input's, or a named scalar."""
    scalars = [item.value for op in program.ops for item in op.inputs if isinstance(item, Scalar)]
    known = [*[item.name for item in program.inputs], *[name for name in scalars if isinstance(name, str)]]
    for name in [name for name in arrays if name not in set(known)]:
        raise LabelError(
            f"simulate: {program.name} has no input {name!r}; expected {listed(known)}{did_you_mean(str(name), known)}"
        )


def _check_given(needed: list[str], arrays: Mapping[str, Any]) -> None:
    for name in needed:
        if name not in arrays:
            raise LabelError(f"simulate: no array for {name!r}; expected {listed(needed)}{did_you_mean(name, arrays)}")


def _shaped(item: Tensor, shape: tuple[int, ...], given: Any, runs: int) -> Any:
    """An input as float64: of the tensor's shape, or, where runs read inputs of their own, one of these a run."""
    import numpy as np

    try:
        found = np.asarray(given)
        whole = found.dtype.kind in "biuf"  # no complex numbers, no text, no objects
        values = found.astype(np.float64) if whole else None
    except (ValueError, TypeError):
        values = None
    if values is None:
        raise PerfModelError(f"simulate: {item.name!r} is {type(given).__name__}; expected an array of real numbers")
    if values.shape == shape or (runs > 1 and values.shape == (runs, *shape)):
        return values
    apart = f", or {(runs, *shape)} for one a run" * (runs > 1)
    raise DimensionError(
        f"simulate: {item.name!r} has shape {values.shape}; its axes {listed(item.labels)} are {shape}{apart}"
    )
