"""``check``: a user's own program run at small sizes, its values held against the program that it was made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from perfmodel.errors import DimensionError, LabelError, PerfModelError, listed
from perfmodel.expressions import size
from perfmodel.graph.indexing import Gathered
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.operands import Scalar
from perfmodel.graph.programs import Program
from perfmodel.graph.rebinding import Measure, changed_kernels, measures, with_extents
from perfmodel.graph.tilings import Tiling
from perfmodel.simulation.blocks import Counts
from perfmodel.simulation.running import Simulation, simulate

LARGEST_TILE = 3  # tiles larger than this run as tiles of 3: ragged edges and several trips show at small sizes
INNERMOST_TILE = 2  # where tiles nest: twice as large at each level outwards
MOST_POINTS = 2_000_000


@dataclass(frozen=True)
class Check:
    """What a check saw: whether values and counts are equal, at which sizes, and what differs.

    >>> from perfmodel import fuse, softmax, tile
    >>> check(tile(fuse(softmax("m", "n")), grid={"m": 8}, stream={"n": 32}))
    values equal, counts equal (at m=7 n=7)
    """

    values_equal: bool
    counts_equal: bool
    sizes: dict[str, int]
    differences: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.values_equal and self.counts_equal

    def __repr__(self) -> str:
        said = [f"{what} {'equal' if same else 'differ'}" for what, same in
                (("values", self.values_equal), ("counts", self.counts_equal))]  # fmt: skip
        at = " ".join(f"{label}={extent}" for label, extent in self.sizes.items() if extent != 1)
        return "\n".join([f"{', '.join(said)} (at {at})", *[f"# {text}" for text in self.differences]])


def check(program: Program, sizes: Mapping[str, Any] | None = None, *, seed: int = 0) -> Check:
    """Run a program at small sizes, as it is staged, and hold it against the description that it came from.

    Counts of the run (elements by tensor, operations by unit) must equal the formulas exactly; values must equal
    those of the first program of its history, untransformed, to rounding. ``sizes`` gives extents by label; others
    become small, and tiles larger than 3 become tiles of 3, or of 2, 4, ... where they nest (the structure stays).

    >>> from perfmodel import matmul, tile
    >>> bool(check(tile(matmul("m", "n", "k"), m=128, n=128, stream={"k": 32})))
    True
    """
    if not isinstance(program, Program):
        raise PerfModelError(f"check: expected a program, got {program!r}")
    small = _small_sizes(program, sizes or {})
    mine, first = _at(program, small), _at(_first(program), small)
    arrays = _inputs(first, seed)
    run, plain = simulate(mine, arrays), simulate(first, arrays)
    differences = [*_count_differences(mine, run), *_value_differences(program, run.values, plain.values)]
    values = not any(text.startswith("value") for text in differences)
    counts = not any(text.startswith(("load", "store", "work")) for text in differences)
    return Check(values, counts, small, tuple(differences))


def _first(program: Program) -> Program:
    while program.parent is not None:
        program = program.parent
    return program


def _small_sizes(program: Program, given: Mapping[str, Any]) -> dict[str, int]:
    """An extent for each label: given, or as it is where it follows from a window, or small."""
    for label in given:
        if label not in program.labels:
            raise LabelError(f"check: {program.name} has no label {label!r}; it has {listed(program.labels)}")
    cut = {label for kernel in program.kernels for tiling in kernel.tiles for label in tiling.labels}
    found: dict[str, int] = {}
    for measure in [item for item in measures(program.kernels) if item.labels]:
        told = [int(size(given[label], label)) for label in measure.labels if label in given]
        extent = told[0] if told else _small_extent(program, measure, cut)
        found.update(dict.fromkeys(measure.labels, extent))
    points = max(_points(program, found))
    if points > MOST_POINTS:
        raise DimensionError(f"check: an op of {program.name} has {points} points; build the program at smaller sizes")
    return found


def _small_extent(program: Program, measure: Measure, cut: set[str]) -> int:
    extents = [program.labels[label] for label in measure.labels]
    if measure.tied or all(isinstance(extent, int) and extent <= LARGEST_TILE for extent in extents):
        if not all(isinstance(extent, int) for extent in extents):
            raise DimensionError(f"check: label {measure.labels[0]!r} belongs to a window and is {extents[0]}; bind it")
        return int(extents[0])
    largest = max([_largest_tile(kernel, 0) for kernel in program.kernels])
    return 2 * largest + 1 if cut & set(measure.labels) else LARGEST_TILE + 1


def _largest_tile(kernel: Kernel, level: int) -> int:
    """The largest tile that runs at a level of a kernel (0: the outermost)."""
    inside = len(kernel.tiles) - level - 1
    return LARGEST_TILE if len(kernel.tiles) < 2 else INNERMOST_TILE * 2**inside


def _points(program: Program, sizes: Mapping[str, int]) -> list[int]:
    found = [1]
    for op in program.ops:
        number = 1
        for label, _ in op.space:
            number *= sizes.get(label, 1)
        found.append(number)
    return found


def _at(program: Program, sizes: Mapping[str, int]) -> Program:
    """The program with small extents and small tiles."""

    def shrink(kernel: Kernel, level: int) -> Tiling:
        most = _largest_tile(kernel, level)
        small = kernel.tiles[level].resized(lambda value: min(value, most) if isinstance(value, int) else most)
        return replace(small, capacity_bytes=None)

    axes = {axis: sizes[m.labels[0]] for m in measures(program.kernels) if m.labels for axis in m.axes if not m.tied}
    kernels = changed_kernels(program.kernels, lambda op: with_extents(op, sizes, axes))
    shrunk = []
    for kernel in kernels:
        if kernel.repeat != 1:
            raise PerfModelError(f"check: {kernel.name!r} runs {kernel.repeat} times; check one repetition")
        tiles = tuple([shrink(kernel, level) for level in range(len(kernel.tiles))])
        shrunk.append(replace(kernel, tiles=tiles))
    return replace(program, kernels=tuple(shrunk), parent=None, step="")


def _inputs(program: Program, seed: int) -> dict[str, Any]:
    """Small whole numbers for inputs (sums of them are exact), indices in range for look-ups, ones for scalars."""
    import numpy as np

    random = np.random.default_rng(seed)
    tables = {
        index.by: int(access.tensor.axes[place].extent)
        for op in program.ops
        for access in op.reads
        for place, index in enumerate(access.index)
        if isinstance(index, Gathered)
    }
    found: dict[str, Any] = {}
    for item in program.inputs:
        shape = tuple([int(extent) for extent in item.extents])
        low, high = (0, tables[item.name]) if item.name in tables else (-3, 4)
        found[item.name] = random.integers(low, high, size=shape).astype(float)
    for op in program.ops:
        found.update(
            {item.value: 1.0 for item in op.inputs if isinstance(item, Scalar) and isinstance(item.value, str)}
        )
    return found


def _count_differences(program: Program, run: Simulation) -> list[str]:
    """Where the run's own counts are not those of the formulas, level by level."""
    found = []
    for level in dict.fromkeys(["memory", *[level for item in program.counted for level in item.levels]]):
        moved: dict[str, Counter[str]] = {"read": Counter(), "write": Counter()}
        for item in program.counted:
            for transfer in item.levels.get(level, ()):
                moved[transfer.direction][transfer.tensor] += int(transfer.elements)
        counts = run.levels.get(level, Counts())
        where = "" if level == "memory" else f" at {level}"
        found += _differing(f"load{where}", moved["read"], counts.loads)
        found += _differing(f"store{where}", moved["write"], counts.stores)
    work = Counter({unit: int(n) for unit, n in program.flops_by_unit.items()})
    return found + _differing("work", work, run.counts.operations)


def _differing(what: str, formula: Counter[str], counted: Counter[str]) -> list[str]:
    return [
        f"{what} of {name}: the formula says {formula[name]}, the run counted {counted[name]}"
        for name in sorted({*formula, *counted})
        if formula[name] != counted[name]
    ]


def _value_differences(program: Program, mine: Mapping[str, Any], first: Mapping[str, Any]) -> list[str]:
    """Where outputs differ by more than rounding."""
    import numpy as np

    found = []
    for name in program.returned:
        if name in first and not np.allclose(mine[name], first[name], rtol=1e-9, atol=1e-9, equal_nan=True):
            found.append(f"value of {name}: differs by up to {np.nanmax(np.abs(mine[name] - first[name])):.3g}")
    return found
