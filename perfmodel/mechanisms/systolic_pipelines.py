"""A systolic array whose folds follow each other without a gap, cycle by cycle: every operand carries its fold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel.mechanisms.systolic_arrays import Systolic


class Pipeline:
    """The cells, each with the fold whose operand is in it, -1 for none.

    >>> import numpy
    >>> from perfmodel import systolic
    >>> pipeline = Pipeline(systolic(4, 4, 3, rows=2, cols=2), numpy.ones((4, 3)), numpy.ones((3, 4)))
    >>> pipeline.run()
    >>> pipeline.values.tolist() == [[3.0] * 4] * 4, len(pipeline.active) == 3 * 3 + (3 + 2 + 2 - 2)
    (True, True)
    """

    def __init__(self, array: Systolic, a: Any, b: Any) -> None:
        import numpy

        self.np, self.array, self.a, self.b = numpy, array, a, b
        self.values = numpy.zeros((array.m, array.n), dtype=numpy.result_type(a, b))
        self.finished = numpy.zeros(self.values.shape, dtype=int)
        self.active: list[int] = [0] * array.load_cycles
        self.folds = list(self._cut())
        self.read = self.written = 0
        self.standing = self._stacked()

    def run(self) -> None:
        """Step until no operand is left in the array.

        >>> import numpy
        >>> from perfmodel import systolic
        >>> pipeline = Pipeline(systolic(2, 2, 1, rows=2, cols=2), numpy.ones((2, 1)), numpy.ones((1, 2)))
        >>> pipeline.run()
        >>> pipeline.active
        [1, 2, 1]
        """
        np, (height, width) = self.np, (self.array.rows, self.array.cols)
        right, down = [np.zeros((height, width), dtype=self.values.dtype) for _ in range(2)]
        fold = np.full((height, width), -1)
        for step in range(10**9):
            right, down, fold = _shift(right, 1, 0), _shift(down, 0, 0), _shift(fold, 1, -1)
            self._enter(step, right, down, fold)
            if (fold < 0).all():
                return
            self._work(step, right, down, fold)

    def _enter(self, step: int, right: Any, down: Any, fold: Any) -> None:
        """What comes in at the edges: A from the left, and from above B, where the output stands."""
        for row in range(self.array.rows):
            which, place = divmod(step - row, self.array.interval_cycles)
            if 0 <= which < len(self.folds) and place < self.array.streamed:
                rows = self.folds[which][0]
                fold[row, 0] = which
                right[row, 0] = self._entry(self.a if self.array.dataflow == "output" else self.a.T, rows, row, place)
        for column in range(self.array.cols if self.array.dataflow == "output" else 0):
            which, place = divmod(step - column, self.array.interval_cycles)
            if 0 <= which < len(self.folds) and place < self.array.streamed:
                down[0, column] = self._entry(self.b.T, self.folds[which][1], column, place)

    def _entry(self, matrix: Any, part: slice, lane: int, place: int) -> Any:
        """The element of a lane, or the zero of a padded one."""
        self.read += part.start + lane < part.stop
        return matrix[part.start + lane, place] if part.start + lane < part.stop else 0

    def _work(self, step: int, right: Any, down: Any, fold: Any) -> None:
        """One multiply-add in each cell that holds operands."""
        rows, columns = self.np.nonzero(fold >= 0)
        self.active.append(0)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            which = int(fold[row, column])
            part, across = self.folds[which]
            inside = part.start + row < part.stop and across.start + column < across.stop
            self.active[-1] += inside
            place = step - row - column - which * self.array.interval_cycles
            if self.array.dataflow == "output":
                self.standing[which, row, column] += right[row, column] * down[row, column]
                if inside and place == self.array.streamed - 1:
                    self._done((part.start + row, across.start + column), self.standing[which, row, column])
            else:
                down[row, column] += right[row, column] * self.standing[which, row, column]
                if row == self.array.rows - 1 and across.start + column < across.stop:
                    self._done((place, across.start + column), down[row, column])

    def _done(self, place: tuple[int, int], result: Any) -> None:
        self.values[place] += result
        self.written += 1
        self.finished[place] = len(self.active)

    def _cut(self) -> Any:
        from perfmodel.mechanisms.systolic_runs import folds_of

        return folds_of(self.array)

    def _stacked(self) -> Any:
        """What stands in the cells in each fold: nothing yet, or the weights."""
        found = self.np.zeros((len(self.folds), self.array.rows, self.array.cols), dtype=self.values.dtype)
        for which, (rows, columns) in enumerate(self.folds if self.array.dataflow == "weight" else []):
            self.read += self.b[rows, columns].size
            found[which, : rows.stop - rows.start, : columns.stop - columns.start] = self.b[rows, columns]
        return found


def _shift(cells: Any, axis: int, empty: int) -> Any:
    """Everything one cell further along an axis."""
    import numpy

    found = numpy.full_like(cells, empty)
    if axis:
        found[:, 1:] = cells[:, :-1]
    else:
        found[1:] = cells[:-1]
    return found
