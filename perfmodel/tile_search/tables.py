"""Bytes and footprint of a program at every combination of tile sizes, kernel by kernel, in numpy arrays.

A tile at least as large as its extent drops the loop, and with it the structure changes. So each kernel is cut once
for every set of labels that stay whole, with symbols for the sizes of the others, and the formulas that come out are
evaluated for all sizes at once. Where no formula says it exactly, tiles are tried one by one, in numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product as combinations
from math import prod
from typing import Any, TypeAlias

from perfmodel.errors import DimensionError, PerfModelError, TransformError
from perfmodel.expressions import Size, dims
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.programs import Program
from perfmodel.tile_search.choices import Axis
from perfmodel.tile_search.standing_sums import evaluated

# So few combinations are counted without a formula: tiles of 1 under a mask are listed row by row.
FEW = 1
# So many are tried one by one where there is no formula: a few seconds for a matmul.
MOST_ONE_BY_ONE = 4096
_BEYOND = 2**63  # counts are kept in int64

Sizes: TypeAlias = "Mapping[str, Any]"
Array: TypeAlias = Any


@dataclass(frozen=True)
class Table:
    """The counts of every combination: arrays with one axis a label, in the order of the labels.

    ``allowed`` is False where ``tile`` refuses such tiles; ``footprint`` is that of the largest block.

    >>> import numpy
    >>> Table(numpy.array([4]), numpy.array([2]), numpy.array([True])).refusal is None
    True
    """

    bytes: Array
    footprint: Array
    allowed: Array
    refusal: TransformError | None = None


Cutter: TypeAlias = Callable[[Program, Sizes], Program]


@dataclass(frozen=True)
class Search:
    """One kernel, as a program of its own, and how it is cut at given sizes.

    >>> from perfmodel import matmul, tile
    >>> cut = lambda p, sizes: tile(p, grid=sizes)
    >>> search = Search(matmul(6, 4, 2, dtype="fp32"), (Axis("m", 6, (1, 2, 6)), Axis("n", 4, (2, 4))), cut)
    >>> search.table().bytes.tolist()  # A once or twice, B 6, 3 and 1 times, C once
    [[384, 336], [288, 240], [224, 176]]
    """

    program: Program
    axes: tuple[Axis, ...]
    cut: Cutter
    few: int = FEW

    def table(self) -> Table:
        """The counts of every combination of the sizes.

        >>> from perfmodel import matmul, tile
        >>> cut = lambda p, sizes: tile(p, grid=sizes)
        >>> Search(matmul(6, 4, 2), (Axis("m", 6, (1, 2, 6)),), cut).table().footprint.tolist()
        [28, 40, 88]
        """
        import numpy

        shape = tuple([len(axis.sizes) for axis in self.axes])
        found = Table(numpy.zeros(shape, "int64"), numpy.zeros(shape, "int64"), numpy.ones(shape, "bool"))
        refusals: list[TransformError] = []
        left = MOST_ONE_BY_ONE
        for place in combinations(*[axis.parts for axis in self.axes]):
            number = prod([part.stop - part.start for part in place])
            reason = None
            if number > self.few:
                reason = self._by_formula(found, place)
                if reason is None:
                    continue
                if isinstance(reason, TransformError) and self._refused_at(place):
                    found.allowed[place] = False
                    refusals.append(reason)
                    continue
                left -= number
            if left < 0:
                raise _too_many(self.program.name, reason)
            refusals += self._one_by_one(found, place)
        return replace(found, refusal=refusals[0] if refusals else None)

    def _by_formula(self, found: Table, place: Sequence[slice]) -> PerfModelError | None:
        """Fill a part of the arrays from formulas; the reason where there are none."""
        symbols = {axis.label: dims(f"tile_{number}") for number, axis in enumerate(self.axes)}
        sizes: dict[str, Size] = {}
        values: dict[str, Any] = {}
        for number, (axis, part) in enumerate(zip(self.axes, place, strict=True)):
            if axis.sizes[part.start] >= axis.extent:
                sizes[axis.label] = axis.extent
            else:
                sizes[axis.label] = symbols[axis.label]
                values[f"tile_{number}"] = _along(axis.sizes[part], number, len(self.axes))
        try:
            cut = self.cut(self.program, sizes)
            if any(moved.note for item in cut.counted for moved in item.transfers):
                return DimensionError("windows leave gaps, which formulas count as well")
            counts = [
                _held(c) if isinstance(c, int) else evaluated(c, values) for c in (cut.bytes, cut.footprint_bytes)
            ]
        except PerfModelError as error:
            return error
        found.bytes[tuple(place)], found.footprint[tuple(place)] = counts
        return None

    def _refused_at(self, place: Sequence[slice]) -> bool:
        """Whether the first tiles of a part are refused: what tile refuses is which loops there are, not their size."""
        try:
            self.cut(self.program, {axis.label: axis.sizes[p.start] for axis, p in zip(self.axes, place, strict=True)})
        except TransformError:
            return True
        return False

    def _one_by_one(self, found: Table, place: Sequence[slice]) -> list[TransformError]:
        """Fill a part of the arrays by cutting the kernel at each combination; what is refused."""
        refused = []
        for at in combinations(*[range(part.start, part.stop) for part in place]):
            sizes = {axis.label: axis.sizes[number] for axis, number in zip(self.axes, at, strict=True)}
            try:
                cut = self.cut(self.program, sizes)
                found.bytes[at], found.footprint[at] = _held(cut.bytes), _held(cut.footprint_bytes)
            except TransformError as error:
                refused.append(error)
                found.allowed[at] = False
        return refused


def _along(sizes: Sequence[int], number: int, axes: int) -> Array:
    """Sizes as an array along one of several axes."""
    import numpy

    return numpy.array(sizes, "int64").reshape([-1 if axis == number else 1 for axis in range(axes)])


def _held(count: Size) -> int:
    if not isinstance(count, int):
        raise DimensionError(f"best_tiles: {count} is no whole number of bytes")
    if count >= _BEYOND:
        raise DimensionError(f"best_tiles: {count} bytes are beyond 2^63, up to which they are compared")
    return count


def _too_many(name: str, reason: PerfModelError | None) -> DimensionError:
    return DimensionError(
        f"best_tiles: these tiles of {name} have no formula ({reason}), so they are tried one by one, which is done "
        f"for up to {MOST_ONE_BY_ONE}: give fewer sizes, such as sizes={{'m': [64, 128]}}"
    )


def kernel_alone(program: Program, kernel: Kernel) -> Program:
    """One kernel as a program: it moves the same.

    >>> from perfmodel import attention
    >>> p = attention(8, 8, 4)
    >>> kernel_alone(p, p.kernels[0]).bytes == p.counted[0].bytes
    True
    """
    leaving = tuple([name for name in kernel.made if name in program.leaving])
    return replace(program, name=kernel.name, kernels=(kernel,), returned=leaving, shared=(), step="", parent=None)


def joined(tables: Sequence[tuple[Sequence[str], Table]], labels: Sequence[str], rest: int) -> Table:
    """The program's counts from those of its kernels: bytes together (``rest`` is what untiled kernels move), the
    largest footprint, and allowed where each kernel allows it.

    >>> import numpy
    >>> one = Table(numpy.array([4, 2]), numpy.array([1, 2]), numpy.array([True, True]))
    >>> joined([(["m"], one), (["n"], one)], ["m", "n"], 10).bytes.tolist()
    [[18, 16], [16, 14]]
    """
    import numpy

    if rest + sum([int(table.bytes.max()) for _, table in tables]) >= _BEYOND:
        raise DimensionError("best_tiles: the bytes of all kernels are beyond 2^63, which are compared in int64")
    spread = [replace(table, **_spread(table, own, labels)) for own, table in tables]
    found, *others = spread
    moved, held, allowed = found.bytes + rest, found.footprint, found.allowed
    for table in others:
        moved, held = moved + table.bytes, numpy.maximum(held, table.footprint)
        allowed = allowed & table.allowed
    refusals = [table.refusal for table in spread if table.refusal is not None]
    moved, held, allowed = numpy.broadcast_arrays(moved, held, allowed)
    return Table(moved, held, allowed, refusals[0] if refusals else None)


def _spread(table: Table, own: Sequence[str], labels: Sequence[str]) -> dict[str, Array]:
    """Its arrays with an axis for each label of the program; kernels keep the program's order of labels."""
    lengths = dict(zip(own, table.bytes.shape, strict=True))
    shape = [lengths.get(label, 1) for label in labels]
    return {name: getattr(table, name).reshape(shape) for name in ("bytes", "footprint", "allowed")}


def first_of(table: Table, fits: Array, count: int) -> Array:
    """The flat places of the best ``count`` that fit, best first: fewest bytes, then the smaller footprint, then the
    larger tile of the first label, of the second and so on.

    >>> import numpy
    >>> table = Table(numpy.array([4, 2, 2, 3]), numpy.array([1, 9, 9, 1]), numpy.ones(4, bool))
    >>> first_of(table, table.allowed, 3).tolist()
    [2, 1, 3]
    """
    import numpy

    places = numpy.flatnonzero(fits)
    keys = [table.bytes.reshape(-1), table.footprint.reshape(-1)]
    taken = []
    wanted = count
    for key in keys:
        if len(places) <= wanted:
            break
        values = key[places]
        limit = numpy.partition(values, wanted - 1)[wanted - 1]
        taken.append(places[values < limit])
        wanted -= len(taken[-1])
        places = places[values == limit]
    if len(places) > wanted:
        places = places[len(places) - wanted :]
    places = numpy.concatenate([*taken, places])
    return places[numpy.lexsort((-places, *[key[places] for key in reversed(keys)]))][:count]
