"""Systolic arrays: cycles of a matrix product, with fill, drain and padding, from sizes alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from perfmodel.expressions import Size, largest, positive_real, product, share, total
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.tile_grids import Side, TileGrid
from perfmodel.mechanisms.wording import counted, number, part_of_all

if TYPE_CHECKING:
    from perfmodel.mechanisms.systolic_runs import SystolicRun


@dataclass(frozen=True, slots=True, repr=False)
class Systolic(Answer):
    """C[m,n] = A[m,k] B[k,n] on a rows x cols array of multiply-add cells, one multiply-add a cell and cycle.

    >>> from perfmodel import systolic
    >>> systolic(4, 4, 6, rows=4, cols=4)
    systolic(4, 4, 6, rows=4, cols=4, dataflow='output')
    # 12 cycles to the last multiply, 16 with the drain; 1 fold; 50 % of the cells' cycles used
    """

    _figure: ClassVar[str] = "cycles"

    m: Size
    n: Size
    k: Size
    rows: Size
    cols: Size
    dataflow: str = "output"

    @property
    def sides(self) -> tuple[Side, Side]:
        """What lies along rows and columns: the output (m, n), or the weights (k, n).

        >>> from perfmodel import systolic
        >>> [side.label for side in systolic(8, 8, 8, dataflow="weight").sides]
        ['k', 'n']
        """
        first = Side("m", self.m, self.rows) if self.dataflow == "output" else Side("k", self.k, self.rows)
        return first, Side("n", self.n, self.cols)

    @property
    def _grid(self) -> TileGrid:
        return TileGrid(self.sides)

    @property
    def folds(self) -> Size:
        """How often the array is loaded anew: the tiles of what stays in it.

        >>> from perfmodel import systolic
        >>> systolic(300, 300, 64, rows=256, cols=256).folds == 2 * 2
        True
        """
        return self._grid.blocks

    @property
    def streamed(self) -> Size:
        """How many elements pass each edge cell in a fold: k for a standing output, m for standing weights.

        >>> from perfmodel import systolic
        >>> systolic(8, 8, 512).streamed, systolic(4096, 8, 8, dataflow="weight").streamed
        (512, 4096)
        """
        return self.k if self.dataflow == "output" else self.m

    @property
    def load_cycles(self) -> Size:
        """Cycles of a fold before its stream: standing weights enter row by row.

        >>> from perfmodel import systolic
        >>> systolic(8, 8, 8).load_cycles, systolic(8, 8, 8, dataflow="weight").load_cycles
        (0, 8)
        """
        return 0 if self.dataflow == "output" else self.rows

    @property
    def stream_cycles(self) -> Size:
        """Cycles of a fold from its first multiply to its last: the stream, and its skew over rows and columns.

        >>> from perfmodel import systolic
        >>> systolic(8, 8, 512).stream_cycles == 512 + 8 + 8 - 2
        True
        """
        return total([self.streamed, self.rows, self.cols, -2])

    @property
    def drain_cycles(self) -> Size:
        """Cycles of a fold after its last multiply: a standing output leaves row by row, other results have left.

        >>> from perfmodel import systolic
        >>> systolic(8, 8, 8).drain_cycles, systolic(8, 8, 8, dataflow="weight").drain_cycles
        (8, 0)
        """
        return self.rows if self.dataflow == "output" else 0

    @property
    def cycles(self) -> Size:
        """Cycles to the last multiply, one fold after another; each output leaves while the next fold streams.

        >>> from perfmodel import systolic
        >>> systolic(4096, 512, 512, rows=128, cols=128, dataflow="weight").cycles == 16 * (128 + 4096 + 128 + 128 - 2)
        True
        """
        return product([self.folds, total([self.load_cycles, self.stream_cycles])])

    @property
    def cycles_with_drain(self) -> Size:
        """Cycles until all results have left, where a fold waits for the one before it to leave.

        >>> from perfmodel import systolic
        >>> systolic(8, 8, 512).cycles_with_drain == (512 + 8 + 8 - 2) + 8
        True
        """
        return product([self.folds, total([self.load_cycles, self.stream_cycles, self.drain_cycles])])

    @property
    def interval_cycles(self) -> Size:
        """Cycles from one fold to the next where they overlap: its stream, or what it takes to change what stands.

        >>> from perfmodel import systolic
        >>> systolic(4096, 8, 8, dataflow="weight").interval_cycles, systolic(8, 8, 4).interval_cycles
        (4096, 8)
        """
        return largest(self.streamed, self.rows)

    @property
    def cycles_overlapped(self) -> Size:
        """Cycles to the last multiply where each fold enters right behind the one before.

        Cells then hold two sums or two weights, as in TPUs (Jouppi et al. 2017 double-buffer the weights).

        >>> from perfmodel import systolic
        >>> array = systolic(4096, 512, 512, rows=128, cols=128, dataflow="weight")
        >>> array.cycles_overlapped == 128 + 16 * 4096 + 128 + 128 - 2
        True
        """
        before = product([total([self.folds, -1]), self.interval_cycles])
        return total([self.load_cycles, before, self.stream_cycles])

    @property
    def macs(self) -> Size:
        """Multiply-adds of the product.

        >>> from perfmodel import systolic
        >>> systolic(8, 8, 8).macs == 8**3
        True
        """
        return product([self.m, self.n, self.k])

    @property
    def cells(self) -> Size:
        """The multiply-add cells.

        >>> from perfmodel import systolic
        >>> systolic(8, 8, 8, rows=256, cols=256).cells == 256**2
        True
        """
        return product([self.rows, self.cols])

    @property
    def utilisation(self) -> Any:
        """The share of the cells' cycles that a multiply-add of the product fills, up to the last multiply.

        >>> from perfmodel import systolic
        >>> [f"{systolic(8, 8, k).utilisation:.0%}" for k in (8, 512)]
        ['36%', '97%']
        """
        return share(self.macs, product([self.cells, self.cycles]))

    @property
    def padding_fill(self) -> Any:
        """The share of the cells, over all folds, that holds something: the rest is padding.

        >>> from perfmodel import systolic
        >>> f"{systolic(300, 300, 64, rows=256, cols=256).padding_fill:.0%}"  # (300 / 512)^2
        '34%'
        """
        return self._grid.tile_fill

    @property
    def padded(self) -> tuple[Size, Size, Size]:
        """m, n and k as the array sees them.

        >>> from perfmodel import systolic
        >>> systolic(300, 300, 64, rows=256, cols=256).padded == (512, 512, 64)
        True
        """
        grown = {side.label: side.covered for side in self.sides}
        return grown.get("m", self.m), grown["n"], grown.get("k", self.k)

    @property
    def elements_read(self) -> Size:
        """Elements that enter the array: A once for each fold of columns, B once, or for each fold of rows.

        >>> from perfmodel import systolic
        >>> systolic(8, 8, 512).elements_read == 8 * 512 + 512 * 8
        True
        """
        first, second = self.sides
        again = first.blocks if self.dataflow == "output" else 1
        return total([product([self.m, self.k, second.blocks]), product([self.k, self.n, again])])

    @property
    def elements_written(self) -> Size:
        """Elements that leave the array: C once, or a partial C for each fold of k.

        >>> from perfmodel import systolic
        >>> systolic(8, 8, 512, dataflow="weight").elements_written == 8 * 8 * (512 // 8)
        True
        """
        return product([self.m, self.n, 1 if self.dataflow == "output" else self.sides[0].blocks])

    @property
    def reuse(self) -> Any:
        """How many multiply-adds an element that is read serves, two elements to each: without reuse it is 1.

        >>> from perfmodel import systolic
        >>> systolic(8, 8, 512).reuse
        8.0
        """
        return share(product([2, self.macs]), self.elements_read)

    def time_s(self, clock_hz: Any) -> Any:
        """Seconds to the last multiply at a clock.

        >>> from perfmodel import systolic
        >>> systolic(8, 8, 512).time_s(1e9)
        5.26e-07
        """
        return share(self.cycles, 1) / positive_real(clock_hz, "clock_hz")

    def peak_flops_per_s(self, clock_hz: Any) -> Any:
        """FLOP/s where every cell does a multiply-add in every cycle.

        >>> from perfmodel import systolic
        >>> systolic(256, 256, 256, rows=256, cols=256).peak_flops_per_s(700e6) == 2 * 256**2 * 700e6
        True
        """
        return 2 * self.cells * positive_real(clock_hz, "clock_hz")

    def run(self, a: Any = None, b: Any = None, overlapped: bool = False) -> SystolicRun:
        """The array cycle by cycle on A[m,k] and B[k,n] (small whole numbers where none are given).

        >>> from perfmodel import systolic
        >>> found = systolic(4, 4, 6, rows=4, cols=4).run()
        >>> found.cycles, found.cycles_with_drain, bool((found.values == found.a @ found.b).all())
        (12, 16, True)
        """
        from perfmodel.mechanisms.systolic_runs import run_array

        return run_array(self, a, b, overlapped)

    @property
    def made(self) -> str:
        return f"systolic({self.m}, {self.n}, {self.k}, rows={self.rows}, cols={self.cols}, dataflow={self.dataflow!r})"

    @property
    def headline(self) -> str:
        return f"{number(self.cycles)} cycles"

    def comments(self) -> list[str]:
        last = f"{number(self.cycles)} cycles to the last multiply, {number(self.cycles_with_drain)} with the drain"
        used = f"{part_of_all(self.utilisation)} of the cells' cycles used"
        return [f"{last}; {counted(self.folds, 'fold')}; {used}"]

    def working(self) -> list[str]:
        """The cycles with their working.

        >>> from perfmodel import systolic
        >>> systolic(8, 8, 512).explain()
        systolic(8, 8, 512, rows=8, cols=8, dataflow='output'): 526 cycles
          folds        ceil(8 / 8) * ceil(8 / 8) = 1; 100 % of the cells hold something
          load         0 cycles a fold
          stream       512 + 8 + 8 - 2 = 526 cycles a fold
          drain        8 cycles a fold
          cycles       526 to the last multiply, 534 with the drain
          utilisation  32768 useful of 33664 cells and cycles = 97 %
          reuse        8 multiply-adds an element read
        """
        from perfmodel.mechanisms.systolic_words import worked

        return worked(self)
