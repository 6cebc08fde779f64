"""Coalescing: device memory moves whole sectors, so a run that fills its sectors in part moves more than is asked.

A run of b bytes that starts somewhere on a multiple of a bytes (a divides the sector's S) lies in

    (a ceil(b / a) + S - a) / S

sectors on average over the S / a places where it may start. (Sum over j of ceil((j + x) / n), x = ceil(b / a) and
n = S / a, is x + n - 1: Hermite's identity.) With a = S that is ceil(b / S), with a = 1 it is (b + S - 1) / S. Runs
that follow one another at a short period share sectors, and never move more than the period; where that leaves no
sector out, the hull of a row of such runs is the run. The alignment a is the greatest common divisor of S and all
strides between runs.

Sectors have 32 bytes on NVIDIA GPUs (CUDA C++ Best Practices Guide, "coalesced access to global memory"), the
``sector_bytes`` of a data sheet; where it has none, 32 is assumed. Assumes that what is read of a sector is read before
the cache lets it go, that memory is allocated at sectors, and that neighbouring threads take neighbouring elements.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.pieces import Piece
from perfmodel.effects.shapes import KernelShape

SECTOR_BYTES = 32.0  # where a data sheet does not say


def spread(shape: KernelShape, sector_bytes: float = SECTOR_BYTES) -> Any:
    """Bytes of the sectors that a kernel moves over the bytes that it asks for: 1 or more.

    >>> from perfmodel import embedding, matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> spread(shape_of(matmul(8, 8, 8).counted[0]).numbers())
    1.0
    >>> rows = shape_of(embedding(4096, 50257, 8, dtype="fp32").counted[0]).numbers()  # 32 bytes each, aligned
    >>> float(spread(rows))
    1.0
    """
    if not shape.pieces:
        return 1.0
    extra = sum([moved_bits(piece, sector_bytes) - piece.times * piece.run for piece in shape.pieces])
    return 1 + extra / (8 * shape.bytes)


def moved_bits(piece: Piece, sector_bytes: float = SECTOR_BYTES) -> Any:
    """Bits of the sectors that all runs move, on average over the places where they may start.

    >>> [float(moved_bits(Piece("W", "read", 1, 8 * run, strides=(8 * run,)))) / 8 for run in (32, 50, 4)]
    [32.0, 80.0, 32.0]
    """
    import numpy

    each = _reached(piece.run, piece.offset, aligned_bits(piece, sector_bytes), sector_bytes)
    whole = aligned_bits(piece._replace(within=()), sector_bytes)
    rows = _reached(piece.hull, piece.offset, whole, sector_bytes)
    rows = piece.rows * numpy.where(_has(piece.apart), numpy.minimum(rows, piece.apart), rows)
    apart = piece.times * numpy.where(_has(piece.period), numpy.minimum(each, piece.period), each)
    found = numpy.where(_has(piece.hull) & (each >= piece.period), rows, apart)
    return numpy.maximum(found, piece.times * piece.run)


def _reached(length: Any, offset: Any, start: Any, sector_bytes: float) -> Any:
    """Bits of the sectors that a run alone reaches, on average."""
    import numpy

    return start * numpy.ceil((length + offset % start) / start) + 8 * sector_bytes - start


def _has(number: Any) -> Any:
    import numpy

    return numpy.asarray(number) > 0


def aligned_bits(piece: Piece, sector_bytes: float = SECTOR_BYTES) -> Any:
    """The greatest common divisor of a sector and the strides of the runs, in bits (8 for strides that are broken).

    >>> [int(aligned_bits(Piece("W", "read", 1, 8, strides=(8 * stride,)))) // 8 for stride in (64, 100, 33)]
    [32, 4, 1]
    """
    import numpy

    found: Any = numpy.asarray(8 * sector_bytes, dtype="int64")
    for stride in (*piece.within, *piece.strides):
        bits = numpy.asarray(stride)
        found = numpy.gcd(found, numpy.where(bits % 1 == 0, bits, 8).astype("int64"))
    return found


def worded(shape: KernelShape, sector_bytes: float = SECTOR_BYTES) -> str:
    """The tensors that move more than is asked of them: their runs, where they start, and the sectors of each.

    >>> from perfmodel import embedding
    >>> from perfmodel.effects.shapes import shape_of
    >>> print(worded(shape_of(embedding(4096, 50257, 25).counted[0]).numbers()))  # 25 bf16 numbers a row
    W is read in runs of 50 B from multiples of 2 B: 2.5 sectors of 32 B each
    """
    parts = []
    for piece in shape.pieces:
        sectors = float(moved_bits(piece, sector_bytes) / piece.times) / (8 * sector_bytes)
        if 8 * sector_bytes * sectors > piece.run:
            start, size = float(aligned_bits(piece, sector_bytes)) / 8, f"{sector_bytes:g} B"
            each = (
                f"{sectors:,.3g} sector{'' if sectors == 1 else 's'} of {size} each"
                if sectors >= 1
                else f"{1 / sectors:.3g} in {size}"
            )
            parts.append(f"{piece.what} in runs of {piece.run / 8:,.6g} B from multiples of {start:g} B: {each}")
    return "; ".join(parts) or "runs fill their sectors"
