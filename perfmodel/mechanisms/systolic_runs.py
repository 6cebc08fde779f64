"""A systolic array cycle by cycle: operands move one cell a cycle, and the product comes out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfmodel.errors import CapacityError, DimensionError, brief
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.given_values import concrete
from perfmodel.mechanisms.wording import number

if TYPE_CHECKING:
    from perfmodel.mechanisms.systolic_arrays import Systolic

MOST_CYCLES = 2**16


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SystolicRun(Answer):
    """What a run of the array counted, and the product that it made.

    ``finished[i, j]`` is the cycle (the first is 1) that ends with C[i, j] complete; ``active`` has the useful
    multiply-adds of each cycle, in the order of the cycles.

    >>> from perfmodel import systolic
    >>> systolic(4, 4, 6, rows=4, cols=4).run()
    run of systolic(4, 4, 6, rows=4, cols=4, dataflow='output')
    # 12 cycles to the last multiply, 16 with the drain; 96 multiply-adds, 15 at most in a cycle
    """

    array: Systolic
    a: Any
    b: Any
    values: Any
    finished: Any
    active: tuple[int, ...]
    cycles: int
    cycles_with_drain: int
    elements_read: int
    elements_written: int

    @property
    def macs(self) -> int:
        """Useful multiply-adds that were done.

        >>> from perfmodel import systolic
        >>> systolic(3, 5, 7, rows=4, cols=4).run().macs == 3 * 5 * 7
        True
        """
        return sum(self.active)

    @property
    def made(self) -> str:
        return f"run of {self.array.made}"

    def comments(self) -> list[str]:
        last = f"{number(self.cycles)} cycles to the last multiply, {number(self.cycles_with_drain)} with the drain"
        return [f"{last}; {number(self.macs)} multiply-adds, {number(max(self.active))} at most in a cycle"]

    def working(self) -> list[str]:
        """Useful multiply-adds cycle by cycle.

        >>> from perfmodel import systolic
        >>> systolic(2, 2, 2, rows=2, cols=2).run().explain()
        run of systolic(2, 2, 2, rows=2, cols=2, dataflow='output')
          active cells by cycle: 1 3 3 1
        """
        return [f"active cells by cycle: {' '.join(map(str, self.active))}"]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SystolicRun):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.array, self.active))


def run_array(array: Systolic, a: Any = None, b: Any = None, overlapped: bool = False) -> SystolicRun:
    """The array on two matrices, fold after fold, or each fold right behind the one before.

    >>> from perfmodel import systolic
    >>> run_array(systolic(2, 2, 1, rows=2, cols=2), [[1], [2]], [[3, 4]]).values.tolist()
    [[3, 4], [6, 8]]
    """
    import numpy

    concrete([array.m, array.n, array.k, array.rows, array.cols], "run", "systolic")
    if not isinstance(overlapped, bool):
        raise DimensionError(f"run: overlapped = {brief(overlapped)}: expected True or False")
    power = 22 if overlapped else 27
    if array.cells * array.cycles > 2**power or array.cycles > MOST_CYCLES:
        raise CapacityError(
            f"run: {array.cells} cells for {array.cycles} cycles are too many to follow one by one (2^{power} steps, "
            f"{MOST_CYCLES:,} cycles); the counts of systolic need no run"
        )
    left, right = _matrix(a, "A", array.m, array.k, 5), _matrix(b, "B", array.k, array.n, 7)
    whole = left.dtype.kind == right.dtype.kind == "i"
    if whole and _largest(left) * _largest(right) * array.k >= 2**63:
        raise DimensionError("run: the sums of these whole numbers may pass 64 bits; give them as floats")
    made = numpy.zeros((array.m, array.n), dtype=numpy.result_type(left, right))
    if overlapped:
        return _overlapped(array, left, right)
    machine = _Array(array, left, right, made)
    for rows, columns in folds_of(array):
        machine.fold(rows, columns)
    return SystolicRun(
        array, left, right, made, machine.finished, tuple(machine.active), machine.clock,
        machine.clock + machine.drained, machine.read, machine.written,
    )  # fmt: skip


def _matrix(given: Any, name: str, rows: int, columns: int, most: int) -> Any:
    """A matrix of numbers as it is given, or small whole numbers."""
    import numpy

    if given is None:
        return (numpy.arange(rows * columns) * 3 % most - most // 2).reshape(rows, columns)
    try:
        found = numpy.asarray(given)
    except ValueError:
        found = numpy.zeros(0, dtype=object)
    if found.shape != (rows, columns) or found.dtype.kind not in "iuf":
        raise DimensionError(
            f"run: {name} has shape {found.shape} of {found.dtype}: expected {rows} x {columns} numbers"
        )
    if found.dtype.kind == "f":
        return found.astype(float)
    if _largest(found) >= 2**63:
        raise DimensionError(f"run: {name} holds whole numbers beyond 64 bits")
    return found.astype("int64")


def _largest(found: Any) -> int:
    return max(abs(int(found.max())), abs(int(found.min())))


def _overlapped(array: Systolic, left: Any, right: Any) -> SystolicRun:
    from perfmodel.mechanisms.systolic_pipelines import Pipeline

    pipeline = Pipeline(array, left, right)
    pipeline.run()
    cycles = len(pipeline.active)
    return SystolicRun(
        array, left, right, pipeline.values, pipeline.finished, tuple(pipeline.active), cycles,
        cycles + array.drain_cycles, pipeline.read, pipeline.written,
    )  # fmt: skip


def folds_of(array: Systolic) -> Iterator[tuple[slice, slice]]:
    """The parts that lie along rows and columns, fold by fold; the part of the columns stays longest.

    >>> from perfmodel import systolic
    >>> list(folds_of(systolic(3, 2, 4, rows=2, cols=2)))
    [(slice(0, 2, None), slice(0, 2, None)), (slice(2, 3, None), slice(0, 2, None))]
    """
    first, second = array.sides
    for right in range(0, second.extent, second.size):
        for down in range(0, first.extent, first.size):
            yield (
                slice(down, min(down + first.size, first.extent)),
                slice(right, min(right + second.size, second.extent)),
            )


class _Array:
    """The cells, the clock, and what has been counted."""

    def __init__(self, array: Systolic, a: Any, b: Any, made: Any) -> None:
        import numpy

        self.np, self.array, self.a, self.b, self.made = numpy, array, a, b, made
        self.shape = (array.rows, array.cols)
        self.finished = numpy.zeros(made.shape, dtype=int)
        self.active: list[int] = []
        self.clock = self.drained = self.read = self.written = 0

    def fold(self, rows: slice, columns: slice) -> None:
        self.clock += self.array.load_cycles if self.array.dataflow == "output" else self._load(rows, columns)
        if self.array.dataflow == "output":
            self._standing_output(rows, columns)
        else:
            self._standing_weights(rows, columns)

    def _standing_output(self, rows: slice, columns: slice) -> None:
        """A moves right, B moves down, each cell adds the product of what is in it."""
        np, (height, width) = self.np, self.shape
        a = self._padded(self.a[rows], height, 0)
        b = self._padded(self.b[:, columns], width, 1)
        useful = np.outer(np.arange(height) < rows.stop - rows.start, np.arange(width) < columns.stop - columns.start)
        right, down = self._empty(a), self._empty(b)
        here, sums = np.zeros(self.shape, dtype=bool), self._empty(self.made)
        left = np.zeros(self.shape, dtype=int)
        for step in range(10**9):
            right, down, here = _moved(right, 1), _moved(down, 0), _moved(here, 1)
            at = self._edge(step, a.shape[1], height)
            right[at, 0], here[at, 0] = a[at, step - at], True
            at = self._edge(step, b.shape[0], width)
            down[0, at] = b[step - at, at]
            if not here.any():
                break
            sums[here] += right[here] * down[here]
            left[here] += 1
            self._tick(here & useful)
            for row, column in np.argwhere(here & useful & (left == a.shape[1])):
                self.finished[rows.start + row, columns.start + column] = self.clock
        self.read += self.a[rows].size + self.b[:, columns].size
        self.drained += self._drain(sums, rows, columns)

    def _drain(self, sums: Any, rows: slice, columns: slice) -> int:
        """Sums move down, and the last row leaves each cycle: how many cycles that takes."""
        inside = columns.stop - columns.start
        for step in range(sums.shape[0]):
            row = rows.start + sums.shape[0] - 1 - step
            if row < rows.stop:
                self.made[row, columns] = sums[-1, :inside]
                self.written += inside
            sums = _moved(sums, 0)
        return len(sums)

    def _load(self, rows: slice, columns: slice) -> int:
        """Weights move down, a row enters each cycle: how many cycles that takes."""
        part = self._padded(self._padded(self.b[rows, columns], self.shape[0], 0), self.shape[1], 1)
        self.weights = self._empty(part)
        for row in range(self.shape[0]):
            self.weights = _moved(self.weights, 0)
            self.weights[0] = part[self.shape[0] - 1 - row]
        self.active += [0] * self.shape[0]
        self.read += self.b[rows, columns].size
        return self.shape[0]

    def _standing_weights(self, rows: slice, columns: slice) -> None:
        """A moves right, sums move down and leave below the last row."""
        np, (height, width) = self.np, self.shape
        a = self._padded(self.a[:, rows], height, 1)
        useful = np.outer(np.arange(height) < rows.stop - rows.start, np.arange(width) < columns.stop - columns.start)
        right, sums = self._empty(a), self._empty(self.made)
        here = np.zeros(self.shape, dtype=bool)
        inside = columns.stop - columns.start
        for step in range(10**9):
            right, here, sums = _moved(right, 1), _moved(here, 1), _moved(sums, 0)
            at = self._edge(step, a.shape[0], height)
            right[at, 0], here[at, 0] = a[step - at, at], True
            if not here.any():
                break
            sums[here] += (right * self.weights)[here]
            self._tick(here & useful)
            for column in np.nonzero(here[-1, :inside])[0]:
                place = step - (height - 1) - column, columns.start + column
                self.made[place] += sums[-1, column]
                self.finished[place], self.written = self.clock, self.written + 1
        self.read += self.a[:, rows].size

    def _edge(self, step: int, streamed: int, places: int) -> Any:
        """The places of an edge that an element enters in this step: each a cycle later than the one before."""
        return self.np.arange(max(0, step - streamed + 1), min(places, step + 1))

    def _tick(self, working: Any) -> None:
        self.clock += 1
        self.active.append(int(working.sum()))

    def _padded(self, part: Any, length: int, axis: int) -> Any:
        """A part with zeros up to a side of the array."""
        more = [(0, 0), (0, 0)]
        more[axis] = (0, length - part.shape[axis])
        return self.np.pad(part, more)

    def _empty(self, like: Any) -> Any:
        return self.np.zeros(self.shape, dtype=like.dtype)


def _moved(cells: Any, axis: int) -> Any:
    """Everything one cell further, the first row or column empty."""
    import numpy

    found = numpy.zeros_like(cells)
    if axis:
        found[:, 1:] = cells[:, :-1]
    else:
        found[1:] = cells[:-1]
    return found
