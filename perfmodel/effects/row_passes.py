"""Row passes: a kernel that needs a row's sum or maximum before it can write the row reads the row again.

A softmax of up to 1,024 columns holds its row in registers and reads it once; a longer one once where the row fits
48 KiB of shared memory and is aligned, else once for each chained reduction and once to write (PyTorch,
aten/src/ATen/native/cuda/SoftMax.cu). A norm reads its row twice; the second read comes from cache while the rows in
flight take less than half of it (aten/src/ATen/native/cuda/layer_norm_kernel.cu).
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip
from perfmodel.effects.shapes import KernelShape

IN_REGISTERS = 1024  # columns
IN_SHARED_BYTES = 48 * 1024
BLOCKS_A_UNIT = 4  # rows in flight, a block each


def reread_bytes(shape: KernelShape, chip: Chip) -> Any:
    """Bytes that are read again, beyond the one read of each input.

    >>> from perfmodel import fuse, machine, softmax
    >>> from perfmodel.effects.shapes import shape_of
    >>> chip = Chip.of(machine("h100-sxm"))
    >>> [float(reread_bytes(shape_of(fuse(softmax(8, n)).counted[0]).numbers(), chip)) for n in (1024, 32768)]
    [0.0, 1048576.0]
    """
    import numpy

    if shape.chained == 0:
        return 0.0
    if shape.chained == 1 or chip.cache_bytes is None:  # the norms' form: a sum, then the row again
        flying = numpy.minimum(shape.rows, BLOCKS_A_UNIT * chip.units) * shape.row_bytes
        half = (chip.cache_bytes or 0) / 2
        return numpy.where(flying > half, shape.rows * shape.row_bytes, 0.0)
    columns = shape.row_bytes * 8 / shape.bits
    fits = (shape.row_bytes <= IN_SHARED_BYTES) & (shape.row_bytes % 16 == 0)
    again = numpy.where((columns <= IN_REGISTERS) | fits, 0.0, shape.chained * 1.0)
    return again * shape.rows * shape.row_bytes
