"""What the effects need of a kernel: roles of the labels of a contraction, bytes by operand, rows, work by unit.

The numbers are the sizes of the kernel: ints, formulas, or, once evaluated, floats and arrays. The same effects
therefore serve one estimate and a hundred thousand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from perfmodel.effects.pieces import Piece, pieces_of
from perfmodel.expressions import Compiled, Size, compile_formula, is_concrete, product
from perfmodel.graph.indexing import Affine
from perfmodel.graph.kernel_counts import KernelCount
from perfmodel.graph.nodes import Access, Op

CONTRACTION, ROWS, STREAM = "contraction", "rows", "stream"
_NUMBERS = ("batch", "m", "n", "k", "a_bytes", "b_bytes", "c_bytes", "bytes", "rows", "row_bytes", "levels_s")


@dataclass(frozen=True, slots=True)
class KernelShape:
    """One kernel as the effects see it.

    ``kind`` is "contraction" (C[batch, m, n] = A[batch, m, k] B[batch, k, n]), "rows" (each row is reduced, and
    used again) or "stream". ``bits`` are those of an element of A, ``out_bits`` of C; ``work`` has the operations of
    each of the kernel's works, in order, and ``contracting`` which of them are the contraction's; ``levels_s`` are the
    seconds of the slowest on-chip level that serves its tiles, which the roofline knows; ``pieces`` are the runs of
    tensors that it touches in part.

    >>> from perfmodel import matmul
    >>> shape = shape_of(matmul(8, 4096, 1024).counted[0])
    >>> shape.kind, shape.m, shape.n, shape.k, shape.b_bytes == 2 * 4096 * 1024
    ('contraction', 8, 4096, 1024, True)
    """

    kind: str
    batch: Any = 1
    m: Any = 1
    n: Any = 1
    k: Any = 1
    a_bytes: Any = 0
    b_bytes: Any = 0
    c_bytes: Any = 0
    bytes: Any = 0
    rows: Any = 1
    row_bytes: Any = 0
    levels_s: Any = 0
    work: tuple[Any, ...] = ()
    contracting: tuple[int, ...] = ()
    chained: int = 0
    bits: float = 16
    out_bits: float = 16
    note: str = ""
    labels: tuple[tuple[str, ...], ...] = ()
    pieces: tuple[Piece, ...] = ()

    @property
    def is_concrete(self) -> bool:
        """Whether every number is known.

        >>> from perfmodel import matmul
        >>> shape_of(matmul("n", 8, 8).counted[0]).is_concrete
        False
        """
        others = [*self.work, *[number for piece in self.pieces for number in piece.numbers]]
        return all(is_concrete(getattr(self, name)) for name in _NUMBERS) and all(map(is_concrete, others))

    @property
    def piece_names(self) -> set[str]:
        """The names of the numbers of its pieces, for ``at``.

        >>> from perfmodel import matmul
        >>> shape_of(matmul("n", 8, 8).counted[0]).piece_names
        set()
        """
        return {name for name, _ in _named(self.pieces)}

    def numbers(self) -> KernelShape:
        """The shape with floats for its numbers.

        >>> from perfmodel import matmul
        >>> shape_of(matmul(8, 8, 8).counted[0]).numbers().m
        8.0
        """
        found: dict[str, Any] = {name: float(getattr(self, name)) for name in _NUMBERS}
        return replace(self, work=tuple([float(item) for item in self.work]), pieces=self._pieces(float), **found)

    def at(self, values: Mapping[str, Any], count: int, needed: Collection[str] | None = None) -> KernelShape:
        """The shape with arrays of so many numbers, at arrays of values for its symbols.

        What is not among the ``needed`` names (all where None; "work 0" is the first work) is nan, to save its time.

        >>> import numpy
        >>> from perfmodel import matmul
        >>> shape_of(matmul("n", 8, "n").counted[0]).at({"n": numpy.array([1, 2])}, 2).a_bytes
        array([2., 8.])
        """
        return OpenShape.of(self, needed).at(values, count)

    def part(self, which: Any) -> KernelShape:
        """The arrays at some places, with two axes more: for the tiles and the splits of a search.

        >>> import numpy
        >>> from perfmodel import matmul
        >>> shape = shape_of(matmul("n", 8, 8).counted[0]).at({"n": numpy.array([1, 2, 3])}, 3)
        >>> shape.part(slice(0, 2)).m.shape
        (2, 1, 1)
        """
        found = {name: getattr(self, name)[which, None, None] for name in _NUMBERS}
        work = tuple([item[which, None, None] for item in self.work])
        return replace(self, work=work, pieces=self._pieces(lambda item: item[which, None, None]), **found)

    def _pieces(self, change: Callable[[Any], Any]) -> tuple[Piece, ...]:
        return tuple([piece.of([change(number) for number in piece.numbers]) for piece in self.pieces])


@dataclass(frozen=True, slots=True)
class OpenShape:
    """A shape ready for values of its symbols: the numbers that are fixed, and the formulas of the others.

    >>> from perfmodel import matmul
    >>> OpenShape.of(shape_of(matmul("n", 8, "n").counted[0]), ["m", "n"]).fixed["n"]
    8.0
    """

    shape: KernelShape
    fixed: Mapping[str, float]
    compiled: Compiled | None

    @classmethod
    def of(cls, shape: KernelShape, needed: Collection[str] | None = None) -> OpenShape:
        """The shape with its formulas compiled; what is not among the ``needed`` names is nan.

        >>> from perfmodel import matmul
        >>> OpenShape.of(shape_of(matmul("n", 8, "n").counted[0]), ["m", "n"]).compiled.symbols
        ('n',)
        """
        named = {name: getattr(shape, name) for name in _NUMBERS}
        named |= {f"work {place}": item for place, item in enumerate(shape.work)}
        named |= dict(_named(shape.pieces))
        wanted = {name: value if needed is None or name in needed else math.nan for name, value in named.items()}
        fixed = {name: float(value) for name, value in wanted.items() if is_concrete(value)}
        formulas = {name: value for name, value in wanted.items() if name not in fixed}
        return cls(shape, fixed, compile_formula(formulas) if formulas else None)

    def at(self, values: Mapping[str, Any], count: int) -> KernelShape:
        """The shape with arrays of so many numbers.

        >>> import numpy
        >>> from perfmodel import matmul
        >>> OpenShape.of(shape_of(matmul("n", 8, "n").counted[0])).at({"n": numpy.array([1, 2])}, 2).a_bytes
        array([2., 8.])
        """
        import numpy

        filled = {value: numpy.broadcast_to(value, (count,)) for value in set(self.fixed.values())}
        arrays: dict[str, Any] = {name: filled[value] for name, value in self.fixed.items()}
        if self.compiled is not None:
            arrays |= self.compiled.floats({name: values[name] for name in self.compiled.symbols})
        work = tuple([arrays.pop(f"work {place}") for place in range(len(self.shape.work))])
        pieces: dict[int, list[Any]] = {place: [] for place in range(len(self.shape.pieces))}
        for name, _ in _named(self.shape.pieces):
            pieces[int(name.split()[1])].append(arrays.pop(name))
        found = tuple([piece.of(pieces[place]) for place, piece in enumerate(self.shape.pieces)])
        return replace(self.shape, work=work, pieces=found, **arrays)


def _named(pieces: Sequence[Piece]) -> Iterator[tuple[str, Any]]:
    """The numbers of pieces by name: "piece 0 1" is the second of the first."""
    for place, piece in enumerate(pieces):
        yield from ((f"piece {place} {number}", value) for number, value in enumerate(piece.numbers))


def shape_of(count: KernelCount) -> KernelShape:
    """The shape of a kernel from its counts.

    >>> from perfmodel import fuse, rmsnorm
    >>> shape_of(fuse(rmsnorm(64, 4096)).counted[0]).kind
    'rows'
    """
    work = tuple([item.operations for item in count.works])
    places = tuple([place for place, item in enumerate(count.works) if item.unit == "matrix"])
    common = KernelShape(STREAM, bytes=count.bytes, work=work, contracting=places, pieces=pieces_of(count))
    ops = [op for op in count.kernel.ops if op.kind == "contract"]
    if count.kernel.tiles:
        return replace(common, note="the waves, the cache and the shorter runs of a program that says its own tiles")
    if len(ops) == 1 and len(ops[0].reads) == 2 and ops[0].mask is None:
        return _contraction(common, count, ops[0])
    if ops:
        return replace(common, note="the tiles of a kernel with several contractions, or masked ones")
    return _rows(common, count)


def _contraction(common: KernelShape, count: KernelCount, op: Op) -> KernelShape:
    """Labels in both inputs and the output are batch, in both inputs k, in one of them and the output m or n."""
    first, second = op.reads
    in_first, in_second, kept = _labels(first), _labels(second), _labels(op.output)
    groups: dict[str, list[Size]] = {"batch": [], "m": [], "n": [], "k": []}
    names: dict[str, list[str]] = {"batch": [], "m": [], "n": [], "k": []}
    for axis in op.space:
        here, there = axis.label in in_first, axis.label in in_second
        role = "k" if axis.label not in kept else "batch" if here and there else "m" if here else "n"
        groups[role].append(axis.extent)
        names[role].append(axis.label)
    crossing = {item.tensor: item.bytes for item in count.transfers}
    written = [item.bytes for item in count.transfers if item.direction == "write"]
    sizes: dict[str, Any] = {role: product(extents) for role, extents in groups.items()}
    return replace(
        common,
        kind=CONTRACTION,
        **sizes,
        a_bytes=crossing.get(first.tensor.name, 0),
        b_bytes=crossing.get(second.tensor.name, 0) if second.tensor.name != first.tensor.name else 0,
        c_bytes=written[0] if written else 0,
        bits=float(first.tensor.format.bits),
        out_bits=float(op.output.tensor.format.bits),
        labels=tuple([tuple(names[role]) for role in ("batch", "m", "n", "k")]),
    )


def _labels(access: Access) -> set[str]:
    found: set[str] = set()
    for index in access.index:
        if isinstance(index, str):
            found.add(index)
        else:
            found |= {label for label, _ in index.terms} if isinstance(index, Affine) else set(index.labels)
    return found


def _rows(common: KernelShape, count: KernelCount) -> KernelShape:
    """A kernel that reduces over a label and writes a tensor that has it."""
    reducing = [op for op in count.kernel.ops if op.kind == "reduce"]
    read = [item for item in count.transfers if item.direction == "read"]
    written = {item.tensor for item in count.transfers if item.direction == "write"}
    whole = {label for op in count.kernel.ops if op.output.tensor.name in written for label in op.output.tensor.labels}
    labels = {label for op in reducing for label in op.reduced} & whole
    bits = max([float(access.tensor.format.bits) for op in count.kernel.ops for access in op.reads], default=16.0)
    sides: dict[str, Any] = {
        "a_bytes": read[0].bytes if read else 0,
        "b_bytes": read[1].bytes if len(read) > 1 else 0,
        "c_bytes": count.bytes - sum([item.bytes for item in read]),
    }
    if not labels:
        return replace(common, bits=bits, **sides)
    op = next(op for op in reducing if set(op.reduced) & labels)
    kept = [axis.extent for axis in op.space if axis.label not in op.reduced]
    along = [axis.extent for axis in op.space if axis.label in op.reduced]
    kinds = {"extreme" if op.function in ("max", "min") else "sum" for op in reducing}
    form = reducing[0].reads[0].tensor.format.bits if reducing[0].reads else 16
    row_bytes = product([*along, _eighth(form)])
    return replace(
        common, kind=ROWS, rows=product(kept), row_bytes=row_bytes, chained=len(kinds), bits=float(form), **sides
    )


def _eighth(bits: Any) -> Any:
    return bits // 8 if int(bits) == bits and bits % 8 == 0 else max(1, round(float(bits) / 8))
