"""Alignment: rows that do not start at a multiple of 16 bytes are loaded in narrower pieces, and arrays pad.

A GPU loads 16 bytes a thread and instruction where every row starts at a multiple of 16 bytes; else 8, 4 or 2
(NVIDIA, CUDA Programming Guide, "device memory accesses"; Matrix Multiplication Background User's Guide, table 1).
A systolic array pads the last two dimensions to its own (Google, Cloud TPU performance guide: 8 x 128).
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.shapes import KernelShape

VECTOR_BYTES = 16
ARRAY = 128  # rows and columns of a TPU's matrix unit up to v5p
SUBLANES = 8


def load_width(shape: KernelShape) -> Any:
    """The share of the feed that the rows of A and B allow: the fourth root of the width of a load.

    A narrower load takes more instructions, which hide behind one another in part; the root is a guess that no timing
    has been held against.


    >>> from perfmodel import matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> [round(float(load_width(shape_of(matmul(64, n, 64).counted[0]).numbers())), 2) for n in (64, 4, 3)]
    [1.0, 0.84, 0.59]
    """
    import numpy

    rows = [shape.k * shape.bits / 8, shape.n * shape.bits / 8]
    found: Any = 1.0
    for length in rows:
        for part in (8, 4, 2):
            found = numpy.where(length % (2 * part) != 0, numpy.minimum(found, (part / VECTOR_BYTES) ** 0.25), found)
    return found


def array_padding(shape: KernelShape) -> Any:
    """Padded over useful work on a systolic array: m to 8, n and k to 128.

    >>> from perfmodel import matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> float(array_padding(shape_of(matmul(8, 64, 128).counted[0]).numbers()))
    2.0
    """
    import numpy

    found = 1.0
    for extent, part in ((shape.m, SUBLANES), (shape.n, ARRAY), (shape.k, ARRAY)):
        found = found * numpy.ceil(extent / part) * part / extent
    return found
