"""``check``: a user's own program run at small sizes, its values held against the program that it was made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from perfmodel.errors import DimensionError, LabelError, PerfModelError, listed
from perfmodel.expressions import Size, as_expression, size
from perfmodel.graph.indexing import Gathered
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Op
from perfmodel.graph.paddings import Padding
from perfmodel.graph.programs import Program
from perfmodel.graph.rebinding import Measure, changed_kernels, joined_measures, measures
from perfmodel.graph.repeating import Repetition, carried, runs_of
from perfmodel.graph.resizing import paddings_of, resized_kernels
from perfmodel.graph.spans import at_most
from perfmodel.graph.splits import bound_indices
from perfmodel.graph.tilings import Cut, Tiling
from perfmodel.simulation.agreeing import compared
from perfmodel.simulation.deviations import deviations
from perfmodel.simulation.filling import small_inputs
from perfmodel.simulation.running import simulate
from perfmodel.simulation.tallying import count_differences
from perfmodel.simulation.verdicts import Check

LARGEST_TILE = 3  # tiles larger than this run as tiles of 3: ragged edges and several trips show at small sizes
INNERMOST_TILE = 2  # where tiles nest: twice as large at each level outwards
MOST_RUNS = 3  # what is repeated more often runs three times: what is handed on is seen twice
MOST_POINTS = 2_000_000


def check(program: Program, sizes: Mapping[str, Any] | None = None, *, seed: int = 0, rounding: bool = False) -> Check:
    """Run a program at small sizes, as it is staged, and hold it against the description that it came from.

    Counts of the run (elements by tensor, operations by unit) must equal the formulas exactly; values must equal
    those of the first program of its history that computes them, to rounding. ``sizes`` gives extents by label; others
    become small, and tiles larger than 3 become tiles of 3, or of 2, 4, ... where they nest; labels are padded to the
    least multiple from 3 that pads them still; what is repeated more than 3 times, or a symbol of times, runs 3 times,
    on weights of its own each time.

    With ``rounding=True`` the run rounds as the number formats say (``simulate``), the first program does not, and
    each value may differ by what a running error analysis of the formats allows (``simulation.deviations``).

    >>> from perfmodel import matmul, tile
    >>> bool(check(tile(matmul("m", "n", "k"), m=128, n=128, stream={"k": 32})))
    True
    >>> check(matmul("m", "n", "k").repeat("layers", carry={}), rounding=True)
    values within their formats' rounding, counts equal (at m=4 n=4 k=4)
    """
    if not isinstance(program, Program):
        raise PerfModelError(f"check: expected a program, got {program!r}")
    if sizes is not None and not isinstance(sizes, Mapping):
        raise LabelError(f"check: sizes map labels to extents, such as {{'m': 7}}; got {sizes!r}")
    if not isinstance(seed, int) or seed < 0:
        raise PerfModelError(f"check: seed={seed!r}: a whole number from 0 on")
    program, first = _with_parts(program)
    known = _joined(program, first)
    small = _small_sizes(program, known, sizes or {})
    tied = {label for measure in known if measure.tied for label in measure.labels}
    mine, first = _at(program, small), _at(first, {label: found for label, found in small.items() if label not in tied})
    arrays, theirs = [small_inputs(item, seed, mine.tensors if rounding else {}) for item in (mine, first)]
    arrays |= {name: theirs[name] for name in arrays if name in theirs}
    run, plain = simulate(mine, arrays, rounding=rounding), simulate(first, theirs)
    bounds = deviations(mine, arrays) if rounding else {}
    errors, found = compared(mine.returned, run.values, plain.values, bounds)
    counts = count_differences(mine, run.levels)
    return Check(not found, not counts, small, (*counts, *found), errors if rounding else {})


def _joined(program: Program, first: Program) -> tuple[Measure, ...]:
    """The labels of a program by what they measure, those together that measure one axis of the first program."""
    mine, theirs = [measures(item.kernels, carried(item.loops)) for item in (program, first)]
    return joined_measures(mine, theirs, {*[item.name for item in program.inputs], *program.returned})


def _with_parts(program: Program) -> tuple[Program, Program]:
    """The program and the first of its history, what no label shows bound: parts of 3 and 1, tables of 4 rows."""
    found: dict[Any, int] = {}
    for index, extent in [pair for op in program.ops for pair in bound_indices(op)]:
        number = next(axis.extent for op in program.ops for axis in op.space if axis.label == index.terms[0][0])
        many = [number] if isinstance(number, int) else []
        found |= {} if many else dict.fromkeys(as_expression(number).free_symbols, LARGEST_TILE)
        more = 2 * (many or [LARGEST_TILE])[0] + 1
        found = dict.fromkeys(as_expression(extent).free_symbols, more) | found
    found |= dict.fromkeys(_tables(program), LARGEST_TILE + 1)
    first = _first(program)
    if not found:
        return program, first
    return program.at(found), first.at({symbol: value for symbol, value in found.items() if symbol in first.symbols})


def _tables(program: Program) -> set[Any]:
    """The symbols that measure only rows that are looked up: they are no label's."""
    rows = [
        extent
        for op in program.ops
        for access in op.reads
        for index, extent in zip(access.index, access.tensor.extents, strict=True)
        if isinstance(index, Gathered)
    ]
    shown = {symbol for op in program.ops for axis in op.space for symbol in as_expression(axis.extent).free_symbols}
    return {symbol for extent in rows for symbol in as_expression(extent).free_symbols} - shown


def _first(program: Program) -> Program:
    """The first program of a history that computes all that this one does, repeated as this one is.

    A gradient is none of the forward's values; and repeating is no transform, it says what is computed.
    """
    first = ancestor = program
    while ancestor.parent is not None:
        ancestor = ancestor.parent
        if set(program.returned) <= set(ancestor.returned):
            first = ancestor
    loops = (*first.loops, *program.loops[len(first.loops) :])
    kernels = _repeated(first.kernels, first.loops, loops)
    return replace(first, kernels=kernels, loops=loops, shared=program.shared)


def _repeated(
    kernels: tuple[Kernel, ...], before: tuple[Repetition, ...], after: tuple[Repetition, ...]
) -> tuple[Kernel, ...]:
    """Kernels run as often as other repetitions say (those whose runs nothing explains stay as they are)."""
    return tuple(
        [
            replace(kernel, repeat=runs_of(kernel, after)) if runs_of(kernel, before) == kernel.repeat else kernel
            for kernel in kernels
        ]
    )


def _small_sizes(program: Program, known: Iterable[Measure], given: Mapping[str, Any]) -> dict[str, int]:
    """An extent for each label: given, or as it is where it follows from a window, or small."""
    for label in given:
        if label not in program.labels:
            raise LabelError(f"check: {program.name} has no label {label!r}; it has {listed(program.labels)}")
    cut = {label for kernel in program.kernels for tiling in kernel.tiles for label in tiling.labels}
    found: dict[str, int] = {}
    for measure in [item for item in known if item.labels]:
        told = {label: _told(given[label], label) for label in measure.labels if label in given}
        if len(set(told.values())) > 1:
            raise LabelError(f"check: {listed(told)} of {program.name} have one extent; got {told}")
        extent = _small_extent(program, measure, cut) if measure.tied or not told else next(iter(told.values()))
        for label in [label for label, value in told.items() if value != extent]:
            raise LabelError(
                f"check: label {label!r} of {program.name} is {extent}, which other sizes follow from (a window, a "
                "roll, parts); build the program at other sizes"
            )
        found.update(dict.fromkeys(measure.labels, extent))
    points = max(_points(program, found))
    if points > MOST_POINTS:
        raise DimensionError(f"check: an op of {program.name} has {points} points; build the program at smaller sizes")
    return found


def _told(given: Any, label: str) -> int:
    """An extent that is given: a number."""
    extent = size(given, f"check: {label}")
    if not isinstance(extent, int):
        raise DimensionError(f"check: {label}={extent}: a run has a number of elements")
    return extent


def _small_extent(program: Program, measure: Measure, cut: set[str]) -> int:
    ends = {label: item.extent for label, item in paddings_of(program.kernels).items()}
    extents = [ends.get(label, program.labels[label]) for label in measure.labels]
    if measure.tied or all(isinstance(extent, int) and extent <= LARGEST_TILE for extent in extents):
        if not all(isinstance(extent, int) for extent in extents):
            raise DimensionError(f"check: label {measure.labels[0]!r} belongs to a window and is {extents[0]}; bind it")
        return int(extents[0])
    shared = max([_shared(kernel, label) for kernel in program.kernels for label in measure.labels])
    largest = max([_largest_tile(kernel, 0, shared) for kernel in program.kernels])
    return 2 * largest + 1 if cut & set(measure.labels) else LARGEST_TILE + 1


def _largest_tile(kernel: Kernel, level: int, shared: int = 1) -> int:
    """The largest tile that runs at a level of a kernel (0: the outermost); ``shared`` elements have one scale.

    Tiles that are cut again do not cut a scale.
    """
    inside = len(kernel.tiles) - level - 1
    if len(kernel.tiles) < 2:
        return LARGEST_TILE
    return shared << (inside - 1) if shared > 1 and inside else INNERMOST_TILE << inside


def _shared(kernel: Kernel, label: str) -> int:
    """How many elements along a label share a scale, in any tensor of a kernel."""
    accesses = [access for op in kernel.ops for access in (*op.reads, op.output) if access.tensor.axes]
    return max([access.tensor.format.block or 1 for access in accesses if access.index[-1] == label], default=1)


def _points(program: Program, sizes: Mapping[str, int]) -> list[int]:
    found = [1]
    for op in program.ops:
        number = 1
        for label, _ in op.space:
            number *= sizes.get(label, 1)
        found.append(number)
    return found


def _at(program: Program, sizes: Mapping[str, int]) -> Program:
    """The program with small extents, small tiles and small multiples."""

    def op(item: Op) -> Op:
        return replace(item, padded=tuple([_small_padding(padding, sizes) for padding in item.padded]))

    def fewer(times: Size) -> Size:
        return min(times, MOST_RUNS) if isinstance(times, int) else MOST_RUNS

    kernels = resized_kernels(changed_kernels(program.kernels, op), sizes, carried(program.loops))
    loops = tuple([loop.resized(fewer) for loop in program.loops])
    shrunk = [
        replace(kernel, tiles=_small_tiles(before))
        for before, kernel in zip(program.kernels, _repeated(kernels, program.loops, loops), strict=True)
    ]
    return replace(program, kernels=tuple(shrunk), loops=loops, parent=None, step="")


def _small_tiles(kernel: Kernel) -> tuple[Tiling, ...]:
    """The tiles of all levels, small; one that cuts nothing of its label, or of the tile around, goes on so."""
    around: dict[str, tuple[Size, int]] = {a.label: (a.extent, MOST_POINTS) for op in kernel.ops for a in op.space}

    def small(cut: Cut, level: int) -> Cut:
        held, shown = around[cut.label]
        if at_most(held, cut.size):
            return cut._replace(size=shown)
        most = _largest_tile(kernel, level, _shared(kernel, cut.label))
        around[cut.label] = (cut.size, min(cut.size, most) if isinstance(cut.size, int) else most)
        return cut._replace(size=around[cut.label][1])

    found = []
    for level, tiling in enumerate(kernel.tiles):
        grid, stream = [tuple([small(cut, level) for cut in cuts]) for cuts in (tiling.grid, tiling.stream)]
        found.append(replace(tiling, grid=grid, stream=stream, capacity_bytes=None))
    return tuple(found)


def _small_padding(padding: Padding, sizes: Mapping[str, int]) -> Padding:
    """The padding with larger multiples than three replaced by the least from three that pads the small extent."""
    end = sizes.get(padding.label, padding.extent)
    small = next(multiple for multiple in count(LARGEST_TILE) if end % multiple)
    kept = [m if isinstance(m, int) and m <= LARGEST_TILE else small for m in padding.multiples]
    return padding._replace(multiples=tuple(kept))
