"""Rows that start off 16 bytes: which candidates have them, and what has to be said of those that are suggested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.effects.row_alignment import VECTOR_BYTES
from perfmodel.errors import listed
from perfmodel.expressions import as_expression, compile_formula
from perfmodel.graph.programs import Program

_BITS = 8 * VECTOR_BYTES


def rows_off(program: Program, sizes: Mapping[str, Any]) -> Any:
    """Whether some rows as long as a size start off 16 bytes, for each candidate.

    >>> import numpy
    >>> from perfmodel import matmul
    >>> rows_off(matmul(8, "n", 8), {"n": numpy.array([1880, 1882])})
    array([False,  True])
    """
    import numpy

    found = numpy.zeros(len(next(iter(sizes.values()))), dtype=bool)
    for length, bits in _rows(program, set(sizes)):
        row = compile_formula(length)({each.name: sizes[each.name] for each in length.free_symbols}) % _BITS
        found |= numpy.asarray(row * bits % _BITS != 0)
    return found


def _rows(program: Program, names: set[str]) -> set[tuple[Any, float]]:
    """The lengths of rows that depend on the sizes alone, and their bits an element; a vector has no rows."""
    axes = [(each.axes[-1].extent, float(each.format.bits)) for each in program.tensors.values() if len(each.axes) > 1]
    lengths = {(as_expression(extent), bits) for extent, bits in axes}
    return {(length, bits) for length, bits in lengths if {each.name for each in length.free_symbols} & names}


def little_measured(program: Program, rows: Iterable[Mapping[str, int]], chips: Iterable[Machine]) -> tuple[str, ...]:
    """That suggestions whose rows start off 16 bytes rest on little, where there are some.

    >>> from perfmodel import machine, matmul
    >>> little_measured(matmul(8, "n", 8), [{"n": 1880}, {"n": 1882}], [machine("mi300x")])
    ('n=1882: rows off 16 bytes: what they cost is little measured on mi300x',)
    """
    import numpy

    told = list(rows)
    off = rows_off(program, {name: numpy.array([each[name] for each in told]) for name in told[0]})
    names = [" ".join([f"{name}={size}" for name, size in each.items()]) for each in told]
    odd = [name for name, no in zip(names, off, strict=True) if no]
    where = listed([each.name for each in chips])
    return (f"{', '.join(odd)}: rows off 16 bytes: what they cost is little measured on {where}",) if odd else ()
