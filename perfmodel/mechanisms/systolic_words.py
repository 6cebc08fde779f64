"""The cycles of a systolic array in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.mechanisms.wording import number, part_of_all
from perfmodel.showing import formula

if TYPE_CHECKING:
    from perfmodel.mechanisms.systolic_arrays import Systolic


def worked(array: Systolic) -> list[str]:
    """The working of the cycles, a line each.

    >>> from perfmodel import systolic
    >>> for line in worked(systolic("m", 128, 128, rows=128, cols=128, dataflow="weight")):
    ...     print(line)
    folds        ceil(128 / 128) * ceil(128 / 128) = 1; 100 % of the cells hold something
    load         128 cycles a fold
    stream       m + 128 + 128 - 2 = m + 254 cycles a fold
    drain        0 cycles a fold
    cycles       m + 382 to the last multiply, m + 382 with the drain
    utilisation  16384 m useful of 16384 m + 6258688 cells and cycles = 16384 m / (16384 m + 6258688)
    reuse        32768 m / (128 m + 16384) multiply-adds an element read
    """
    rows, cols, folds, stream = map(formula, (array.rows, array.cols, array.folds, array.stream_cycles))
    tiles = " * ".join(f"ceil({formula(side.extent)} / {formula(side.size)})" for side in array.sides)
    issued = formula(array.cells * array.cycles)
    return [
        f"folds        {tiles} = {folds}; {part_of_all(array.padding_fill)} of the cells hold something",
        f"load         {formula(array.load_cycles)} cycles a fold",
        f"stream       {formula(array.streamed)} + {rows} + {cols} - 2 = {stream} cycles a fold",
        f"drain        {formula(array.drain_cycles)} cycles a fold",
        f"cycles       {formula(array.cycles)} to the last multiply, {formula(array.cycles_with_drain)} with the drain",
        f"utilisation  {formula(array.macs)} useful of {issued} cells and cycles = {part_of_all(array.utilisation)}",
        f"reuse        {number(array.reuse)} multiply-adds an element read",
    ]
