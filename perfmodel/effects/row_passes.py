"""Row passes: a kernel that needs a row's sum or maximum before it can write the row reads the row again.

A softmax of up to 1,024 columns holds its row in registers; a longer one reads it for the maximum, for the sum, and to
write (PyTorch, aten/src/ATen/native/cuda/SoftMax.cu). A norm takes its moments in one pass and reads the row again to
write it (aten/src/ATen/native/cuda/layer_norm_kernel.cu). The later reads come from the last-level cache as far as it
holds the rows in flight: those of the blocks that are on all units.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip
from perfmodel.effects.shapes import KernelShape

IN_REGISTERS = 1024  # columns
FLYING = (0, 16, 4)  # rows in flight a unit, a block each, by passes: blocks of 128 threads; of 512
# Of the usable cache: where the first rows are lost, and how much more until all are. A guess that the timings of
# softmax and norms bear out within a factor of two.
FROM, OVER = 0.6, 0.8


def reread_bytes(shape: KernelShape, chip: Chip) -> Any:
    """Bytes that are read again, beyond the one read of each input.

    >>> from perfmodel import fuse, machine, softmax
    >>> from perfmodel.effects.shapes import shape_of
    >>> chip = Chip.of(machine("h100-sxm"))
    >>> few, many = [shape_of(fuse(softmax(4096, n)).counted[0]).numbers() for n in (1024, 2**18)]
    >>> float(reread_bytes(few, chip)), bool(reread_bytes(many, chip) == 2 * 2 * 4096 * 2**18)
    (0.0, True)
    """
    import numpy

    if shape.chained == 0 or chip.cache_bytes is None:
        return 0.0
    flying = numpy.minimum(shape.rows, FLYING[shape.chained] * chip.units) * shape.row_bytes
    held = flying / (chip.cache_bytes * chip.constants.cache_reach)
    lost = numpy.clip((held - FROM) / OVER, 0, 1)
    if shape.chained > 1:
        lost = numpy.where(shape.row_bytes * 8 / shape.bits <= IN_REGISTERS, 0.0, lost)
    return shape.chained * lost * shape.rows * shape.row_bytes
