"""Alignment: rows that do not start at a multiple of 16 bytes are loaded in narrower pieces, and arrays pad.

The classes that matter are 16 bytes, the widest load of a thread, and 128 bytes, where a row is whole cache lines.
A GPU loads 16 bytes a thread and instruction where every row starts at a multiple of 16 bytes; else 8, 4 or 2
(NVIDIA, CUDA Programming Guide, "device memory accesses"; Matrix Multiplication Background User's Guide, table 1).
The engine that feeds the tensor cores of Hopper and of data-centre Blackwell takes rows whose pitch is a multiple of 16
bytes and no others (CUDA Driver API, cuTensorMapEncodeTiled: globalStrides); kernels for other rows go through
registers, with the older mma.sync, which reaches about two thirds of what wgmma does on Hopper (FlashAttention-3, July
2024, note 1, by the microbenchmarks of arXiv:2402.13499). Of Blackwell nothing is published: the same is assumed.
A systolic array pads the last two dimensions to its own (Google, Cloud TPU performance guide: 8 x 128); its size is
that of the chip's data sheet, 256 x 256 from TPU v6e on.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.effects.chips import Chip
from perfmodel.effects.shapes import KernelShape
from perfmodel.mechanisms.aligned_rows import LINE_BYTES, AlignedRow

VECTOR_BYTES = 16
VECTOR_BITS = 8 * VECTOR_BYTES
ARRAY = ("array_rows", "array_columns")  # the figures of a TPU's matrix unit
USUAL_SIDE = 128  # of one whose sheet does not say: v2 to v5p
NARROWEST_BITS = 16  # int8 products of DeepBench take no longer where rows start at odd bytes
SUBLANES = 8
THROUGH_REGISTERS = Fraction(2, 3)  # what mma.sync reaches of the rate of wgmma
WITH_ENGINE = ("9.0", "10.0", "10.3")  # compute capabilities whose tensor cores are fed by the engine (TMA)


def load_width(shape: KernelShape) -> Any:
    """The share of the feed that the rows of A and B allow: the fourth root of the width of a load.

    A narrower load takes more instructions, which hide behind one another in part. The root is read off no chip; fp16
    products of DeepBench on a T4 are 0.82, 0.94 and 1.00 of the estimate at 2, 4 and 8 bytes, 0.90 at 16.

    >>> from perfmodel import matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> [round(float(load_width(shape_of(matmul(64, n, 64).counted[0]).numbers())), 2) for n in (64, 4, 3)]
    [1.0, 0.84, 0.59]
    """
    return (_start_bits(shape) / VECTOR_BITS) ** 0.25


def tensor_share(shape: KernelShape, chip: Chip, unit: str = "matrix") -> Any:
    """The share of the tensor cores' rate that the rows of A and B allow: that of mma.sync where the engine takes none.

    >>> from perfmodel import machine, matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> shapes = [shape_of(matmul(64, n, 64).counted[0]).numbers() for n in (50257, 50264)]
    >>> chips = [Chip.of(machine(name)) for name in ("h100-sxm", "l40s")]
    >>> [[round(float(tensor_share(each, chip)), 2) for each in shapes] for chip in chips]
    [[0.67, 1.0], [1.0, 1.0]]
    """
    import numpy

    if chip.capability not in WITH_ENGINE or unit != "matrix":
        return 1.0
    return numpy.where(_start_bits(shape) == VECTOR_BITS, 1.0, float(THROUGH_REGISTERS))


def _start_bits(shape: KernelShape) -> Any:
    """The bits, up to those of the widest load, at whose multiples the rows of A and of B start.

    The lowest bit that is set in either length: both are multiples of it.
    """
    import numpy

    lengths = [numpy.asarray(extent % VECTOR_BITS * shape.bits).astype("int64") for extent in (shape.k, shape.n)]
    either = lengths[0] | lengths[1] | VECTOR_BITS
    return numpy.maximum(either & -either, NARROWEST_BITS)


def rows_of(shape: KernelShape) -> tuple[AlignedRow, AlignedRow]:
    """The rows of A, along k, and of B, along n.

    >>> from perfmodel import matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> [row.class_bytes for row in rows_of(shape_of(matmul(64, 1000, 1001).counted[0]).numbers())]
    [2, 16]
    """
    bits = int(shape.bits) if shape.bits == int(shape.bits) else shape.bits
    first, second = [AlignedRow("", label, int(getattr(shape, label)), bits, "") for label in ("k", "n")]
    return first, second


def worded(shape: KernelShape) -> str:
    """The classes of the rows, and what they allow.

    >>> from perfmodel import matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> print(worded(shape_of(matmul(64, 1000, 1001).counted[0]).numbers()))
    rows of k of the 2-byte class, of n of the 16-byte class: 2 B a load, not 16
    >>> print(worded(shape_of(matmul(64, 1000, 1000).counted[0]).numbers()))
    rows of k and n of the 16-byte class: 16 B a load, lines in part
    """
    rows = rows_of(shape)
    first, second = [f"the {row.class_bytes}-byte class" for row in rows]
    which = f"k and n of {first}" if first == second else f"k of {first}, of n of {second}"
    load, least = min([row.load_bytes for row in rows]), min([row.class_bytes for row in rows])
    lines = "whole lines" if least >= LINE_BYTES else "lines in part"
    return f"rows of {which}: {load} B a load, {f'not {VECTOR_BYTES}' if load < VECTOR_BYTES else lines}"


def unmeasured(shape: KernelShape) -> str:
    """That no measured time stands behind what rows off 16 bytes cost; nothing where all rows are on them.

    >>> from perfmodel import matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> unmeasured(shape_of(matmul(64, 1000, 1001).counted[0]).numbers())
    'rows start at multiples of 2 B, not 16: what that costs is estimated, and held against few measured times'
    >>> unmeasured(shape_of(matmul(64, 1000, 1000).counted[0]).numbers())
    ''
    """
    least = min([row.load_bytes for row in rows_of(shape)])
    if least >= VECTOR_BYTES:
        return ""
    return (
        f"rows start at multiples of {least} B, not {VECTOR_BYTES}: what that costs is estimated, and held against few "
        "measured times"
    )


def array_of(machine: Machine) -> tuple[int, int]:
    """Rows and columns of the matrix unit of a TPU, as its data sheet has them; 128 x 128 where it says nothing.

    >>> from perfmodel import machine
    >>> array_of(machine("tpu-v5e")), array_of(machine("tpu-v6e"))
    ((128, 128), (256, 256))
    """
    known = {name: figure.value for name, figure in machine.figures if name in ARRAY}
    rows, columns = [int(known.get(name, USUAL_SIDE)) for name in ARRAY]
    return rows, columns


def array_padding(shape: KernelShape, array: tuple[int, int] = (USUAL_SIDE, USUAL_SIDE)) -> Any:
    """Padded over useful work on a systolic array: m to 8, k to its rows and n to its columns.

    >>> from perfmodel import matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> shape = shape_of(matmul(8, 64, 128).counted[0]).numbers()
    >>> float(array_padding(shape)), float(array_padding(shape, (256, 256)))
    (2.0, 8.0)
    """
    import numpy

    found = 1.0
    for extent, part in ((shape.m, SUBLANES), (shape.n, array[1]), (shape.k, array[0])):
        found = found * numpy.ceil(extent / part) * part / extent
    return found
