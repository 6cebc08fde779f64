"""Tile quantization: blocks are whole, so the last ones of each row, column and walk along k are partly empty.

blocks = batch * ceil(m / tile m) * ceil(n / tile n) * splits, each of ceil(ceil(k / step) / splits) steps. A block
that is partly outside the matrix takes as long as a full one (NVIDIA, Matrix Multiplication Background User's
Guide, "tile quantization"). Assumes tiles of one size.
"""

from __future__ import annotations

import math
from typing import Any

from perfmodel.effects.shapes import KernelShape
from perfmodel.effects.tiles import LINE_BYTES, Tile


def blocks(shape: KernelShape, tile: Tile, whole: bool = True) -> Any:
    """How many blocks there are; without the effect a part of a block counts as a part.

    >>> from perfmodel import matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> shape = shape_of(matmul(1793, 1793, 1793).counted[0]).numbers()
    >>> float(blocks(shape, Tile(256, 128)))  # 8 x 15
    120.0
    """
    rows, columns = _over(shape.m, tile.m), _over(shape.n, tile.n)
    if whole:
        rows, columns = rounded_up(rows), rounded_up(columns)
    found = times(rows, columns)
    found = found if _is_one(shape.batch) else shape.batch * found
    return found if _is_one(tile.splits) else found * tile.splits


def steps(shape: KernelShape, tile: Tile, whole: bool = True) -> Any:
    """How many steps along k one block takes.

    >>> from perfmodel import matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> float(steps(shape_of(matmul(64, 64, 1000).counted[0]).numbers(), Tile(64, 64)))  # of 64 bf16 numbers
    16.0
    """
    import numpy

    taken = _over(shape.k, step_elements(shape))
    if whole:
        taken = rounded_up(taken)
    if _is_one(tile.splits):
        return taken
    return numpy.ceil(taken / tile.splits) if whole else taken / tile.splits


def rounded_up(quotient: Any) -> Any:
    """The ceiling; of an array that nobody else has in that array itself, which saves the time of another.

    >>> float(rounded_up(1.5))
    2.0
    """
    import numpy

    return numpy.ceil(quotient, out=quotient if isinstance(quotient, numpy.ndarray) else None)


def times(own: Any, factor: Any) -> Any:
    """The product; of an array that nobody else has in that array itself, where it is large enough.

    >>> float(times(1.5, 2.0))
    3.0
    """
    import numpy

    return numpy.multiply(own, factor, out=own if _holds(own, factor) else None)


def over(own: Any, divisor: Any) -> Any:
    """The quotient; of an array that nobody else has in that array itself, where it is large enough.

    >>> float(over(3.0, 2.0))
    1.5
    """
    import numpy

    return numpy.divide(own, divisor, out=own if _holds(own, divisor) else None)


def _holds(own: Any, other: Any) -> bool:
    """Whether an array is as large as its product with something."""
    return getattr(own, "ndim", 0) > 0 and getattr(other, "shape", ()) in ((), own.shape)


def _is_one(number: Any) -> bool:
    """Whether a number is 1, or an array one 1 that stands for all: a product with it takes time for nothing."""
    if isinstance(number, int | float):
        return number == 1
    strides = getattr(number, "strides", None)
    return strides is not None and not any(strides) and number.size > 0 and bool(number.flat[0] == 1)


def _over(size: Any, divisor: Any) -> Any:
    """The quotient; by a power of two it is a product, exactly, and twice as fast."""
    if isinstance(divisor, int | float) and math.frexp(divisor)[0] == 0.5:
        return size * (1 / divisor)
    return size / divisor


def step_elements(shape: KernelShape) -> float:
    """The elements of k in a step: a cache line of a row of A.

    >>> from perfmodel import matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> step_elements(shape_of(matmul(64, 64, 64, dtype="fp32").counted[0]))
    32.0
    """
    return LINE_BYTES * 8 / shape.bits
