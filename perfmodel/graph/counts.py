"""Everything that can be counted of a program: its rules stand in ``counting``, ``regions``, ``tiled``, ``memory``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, Self

import sympy

from perfmodel.errors import DimensionError, LabelError, PerfModelError, did_you_mean, listed
from perfmodel.expressions import Size, as_expression, is_concrete, product, total
from perfmodel.graph.counting import summed
from perfmodel.graph.kernel_counts import KernelCount
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.memory import Row, memory_rows, most, total_held
from perfmodel.graph.nodes import Tensor

if TYPE_CHECKING:
    from perfmodel.showing import Table


class Counted:
    """Counts over kernels: ints where every dimension is one, else sympy expressions.

    >>> from perfmodel.graph.nodes import tensor
    >>> from perfmodel.graph.tracing import program
    >>> p = program((tensor("x", {"i": 64}, dtype="fp32") * 2).named("y"))
    >>> p.flops, p.bytes_read, p.bytes_written, p.intensity
    (64, 256, 256, 0.125)
    >>> p.traffic()
    traffic
    kernel  tensor  direction  elements  bytes  repeat
    mul     x       read             64    256       1
    mul     y       write            64    256       1
    """

    name: str
    kernels: tuple[Kernel, ...]
    returned: tuple[str, ...]
    shared: tuple[str, ...]

    @property
    def tensors(self) -> dict[str, Tensor]:
        """Every tensor by name (``Program`` says which)."""
        raise NotImplementedError

    @cached_property
    def counted(self) -> tuple[KernelCount, ...]:
        """The counts of each kernel, for one run of it."""
        leaving = self.leaving
        return tuple([KernelCount.of(kernel, leaving) for kernel in self.kernels])

    def within_room(self, verb: str) -> Self:
        """The same, where no tile needs more bytes than it was given; else ``CapacityError``, in the verb's words."""
        if any(tiling.capacity_bytes is not None for kernel in self.kernels for tiling in kernel.tiles):
            from perfmodel.graph.fitting import check_rooms

            check_rooms(self.kernels, self.leaving, verb)
        return self

    def countable(self, verb: str) -> Self:
        """The same, where its tiles can be counted; else what is wrong with them, in the verb's words."""
        try:
            _ = [item.held_by_level for item in self.counted if item.kernel.tiles]
        except PerfModelError as error:
            raise type(error)(f"{verb}: {str(error).removeprefix('tile: ')}") from None
        return self

    @cached_property
    def leaving(self) -> frozenset[str]:
        """Names of the tensors that leave the kernel that makes them: outputs, and what other kernels read."""
        if len(self.kernels) == 1:
            return frozenset(self.returned)
        return frozenset([*self.returned, *[name for kernel in self.kernels for name in kernel.needed]])

    def _summed(self, count: Callable[[KernelCount], Size]) -> Size:
        return total([product([item.kernel.repeat, count(item)]) for item in self.counted])

    def _moved(self, direction: str, field_name: str) -> Size:
        return self._summed(
            lambda item: total([getattr(t, field_name) for t in item.transfers if t.direction == direction])
        )

    @cached_property
    def flops(self) -> Size:
        """FLOPs of the matrix and vector units at valid points; a multiply-add is two."""
        return self._summed(lambda item: summed(item.works, ("matrix", "vector")))

    @cached_property
    def macs(self) -> Size:
        """Multiply-accumulates: the points of contractions. Never called FLOPs."""
        return self._summed(lambda item: item.macs)

    @property
    def flops_by_unit(self) -> dict[str, Size]:
        """FLOPs of the "matrix" and "vector" units, and the operations of the "special" unit."""
        return {unit: self._operations(unit) for unit in ("matrix", "vector", "special")}

    @property
    def flops_by_format(self) -> dict[tuple[str, str], Size]:
        """The same by unit and compute format."""
        keys = dict.fromkeys([(w.unit, w.compute.name) for item in self.counted for w in item.works])
        return {key: self._operations(*key) for key in keys}

    def _operations(self, unit: str, compute: str | None = None) -> Size:
        def of_kernel(item: KernelCount) -> Size:
            return summed([w for w in item.works if compute in (None, w.compute.name)], (unit,))

        return self._summed(of_kernel)

    @cached_property
    def issued_flops(self) -> Size:
        """FLOPs as hardware issues them: masked points of visited tiles and padding included."""
        return self._summed(lambda item: summed(item.issued, ("matrix", "vector")))

    @cached_property
    def bytes_read(self) -> Size:
        """Bytes read from the memory level."""
        return self._moved("read", "bytes")

    @cached_property
    def bytes_written(self) -> Size:
        """Bytes written to the memory level."""
        return self._moved("write", "bytes")

    @cached_property
    def bytes(self) -> Size:
        """Bytes moved at the memory level, block scales included."""
        return total([self.bytes_read, self.bytes_written])

    @cached_property
    def elements_read(self) -> Size:
        """Elements read from the memory level."""
        return self._moved("read", "elements")

    @cached_property
    def elements_written(self) -> Size:
        """Elements written to the memory level."""
        return self._moved("write", "elements")

    @property
    def intensity(self) -> float | sympy.Expr:
        """Arithmetic intensity in FLOP/B: ``flops / bytes``; a float where both are numbers."""
        if self.bytes == 0:
            raise DimensionError(f"intensity: {self.name} moves no bytes")
        if is_concrete(self.bytes) and is_concrete(self.flops):
            return float(self.flops / self.bytes)
        (flops, above), (moved, below) = [as_expression(size).primitive() for size in (self.flops, self.bytes)]
        return sympy.Mul(flops / moved, above, sympy.Pow(below, -1))

    @cached_property
    def footprint_bytes(self) -> Size:
        """Bytes that the largest kernel holds at once (see ``footprint``)."""
        return most([item.held_bytes for item in self.counted])

    @cached_property
    def memory_bytes(self) -> Size:
        """Most bytes alive in device memory at once: inputs, outputs, and intermediates while needed."""
        resident, beside = self._alive
        inputs = total_held(resident)
        return most([total([inputs, total_held(rows)]) for rows in beside])

    @property
    def _alive(self) -> tuple[list[Row], list[list[Row]]]:
        return memory_rows(self.kernels, self.tensors, self.returned, self.shared)

    def memory(self) -> Table:
        """What is alive in device memory while the kernel runs at which most is: ``memory_bytes``, tensor by tensor."""
        from perfmodel.graph.memory import peak_rows
        from perfmodel.showing import Table

        rows = peak_rows([kernel.name for kernel in self.kernels], *self._alive)
        return Table("memory at the peak", ("kernel", "role", "tensor", "bytes"), tuple(rows))

    @property
    def saved(self) -> Table:
        """What a later section reads of an earlier one: forward values, and inputs that both read (see ``grad``)."""
        from perfmodel.graph.memory import saved_rows
        from perfmodel.showing import Table

        columns = ("tensor", "role", "bytes", "made by", "read by")
        return Table("saved", columns, tuple(saved_rows(self.kernels, self.tensors)))

    @property
    def assumptions(self) -> tuple[sympy.Rel, ...]:
        """Where the formulas of a tiled program hold: no tile is larger than its label, each loop makes two trips.

        Blocks along an atomic label are two or more as well. ``at`` is exact at any size: it tiles anew, cuts a tile
        to its label and drops a loop of one trip.
        """
        return tuple(dict.fromkeys([found for item in self.counted for found in item.assumptions]))

    def traffic(self, level: str = "memory") -> Table:
        """What each kernel reads and writes, by tensor: elements and bytes of one run, and its repetitions.

        ``level`` is the one that serves the requests: "memory", or, where tiles nest, one that they name
        (``traffic("l2")`` is what tiles inside those of "l2" ask of them).
        """
        from perfmodel.showing import Table

        found = [item.levels for item in self.counted]
        self._check_level(level, {name for levels in found for name in levels})
        rows = [
            (t.kernel, t.tensor, t.direction, t.elements, t.bytes, item.kernel.repeat, t.note)
            for item, levels in zip(self.counted, found, strict=True)
            for t in levels.get(level, ())
        ]
        columns = ("kernel", "tensor", "direction", "elements", "bytes", "repeat", "note")
        noted = any(row[-1] for row in rows)
        title = "traffic" if level == "memory" else f"traffic of {level}"
        return Table(title, columns if noted else columns[:-1], tuple([r if noted else r[:-1] for r in rows]))

    def _check_level(self, level: str, known: Collection[str]) -> None:
        if not isinstance(level, str) or level not in known:
            raise LabelError(
                f"traffic: {self.name} has no tiles that ask {level!r}; its levels are {listed(sorted(known))}"
                f"{did_you_mean(str(level), known)}"
            )

    def footprint(self) -> Table:
        """What each kernel holds while it runs, by role and tensor; by level too, where tiles nest."""
        from perfmodel.showing import Table

        rows = [
            (item.kernel.name, level, *row)
            for item in self.counted
            for level, held in item.held_by_level
            for row in held
        ]
        columns = ("kernel", "level", "role", "tensor", "bytes")
        if any(item.nested is not None for item in self.counted):
            return Table("footprint", columns, tuple(rows))
        return Table("footprint", (columns[0], *columns[2:]), tuple([(row[0], *row[2:]) for row in rows]))
