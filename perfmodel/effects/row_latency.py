"""Row latency: a block reduces its row before it can use it, so that even one row takes a few memory latencies.

A block of 1,024 threads reads its row, some 8 bytes a thread at once, adds it up over the block, and uses it: two
trips to memory and the barriers of a reduction for every 8 KB, 2.3 us in all on an A40 (norms of microsoft/vidur).
Rows of one block after another hide it, so that it counts once a kernel.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.shapes import ROWS, KernelShape

ROW_S = 2.3e-6
AT_ONCE_BYTES = 8 * 1024


def row_s(shape: KernelShape) -> Any:
    """Seconds of the first row; none for a kernel that reduces none.

    >>> from perfmodel import fuse, rmsnorm
    >>> from perfmodel.effects.shapes import shape_of
    >>> shape = shape_of(fuse(rmsnorm(1, 8192)).counted[0]).numbers()
    >>> bool(row_s(shape) == 2 * ROW_S)
    True
    """
    import numpy

    return ROW_S * numpy.maximum(shape.row_bytes / AT_ONCE_BYTES, 1) if shape.kind == ROWS else 0.0
