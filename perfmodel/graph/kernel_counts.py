"""What can be counted of one kernel, cut into tiles or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfmodel.expressions import Size, total
from perfmodel.graph.counting import Transfer, Work, issued_points, macs, transfers, work
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.memory import Row, footprint_rows, total_held

if TYPE_CHECKING:
    import sympy

    from perfmodel.graph.cuttings import Cutting
    from perfmodel.graph.nested import Nested
    from perfmodel.graph.tiled import Tiled


@dataclass(frozen=True, slots=True)
class KernelCount:
    """One kernel's counts for one run: work by unit, and what crosses its boundary.

    >>> KernelCount(Kernel("empty", ()), (), ()).bytes
    0
    """

    kernel: Kernel
    works: tuple[Work, ...]
    transfers: tuple[Transfer, ...]
    cutting: Cutting | None = None  # where it is cut into tiles

    @classmethod
    def of(cls, kernel: Kernel, leaving: frozenset[str]) -> KernelCount:
        """The counts of a kernel, by the traffic rule alone or by its tiles.

        >>> KernelCount.of(Kernel("empty", ()), frozenset()).transfers
        ()
        """
        if kernel.tiles:
            return _of_tiles(kernel, leaving & frozenset(kernel.made))
        return cls(kernel, tuple([w for op in kernel.ops for w in work(op)]), transfers(kernel, leaving))

    @property
    def tiled(self) -> Tiled | None:
        """Its outermost tiles, where it is cut."""
        return None if self.cutting is None else self.cutting.tiled

    @property
    def nested(self) -> Nested | None:
        """And the tiles inside them, where it is cut again."""
        return None if self.cutting is None else self.cutting.nested

    @property
    def macs(self) -> Size:
        """Multiply-accumulates of one run."""
        if self.cutting is None:
            return total([macs(op) for op in self.kernel.ops])
        return self.cutting.asked(lambda cutting: cutting.macs)

    @property
    def issued(self) -> tuple[Work, ...]:
        """The work of one run as hardware issues it."""
        if self.cutting is None:
            return tuple([w for op in self.kernel.ops for w in work(op, issued_points(op))])
        return self.cutting.asked(lambda cutting: cutting.issued)

    @property
    def held_bytes(self) -> Size:
        """Bytes that one run, or one block of its innermost tiles, holds at once."""
        if self.cutting is None:
            return total_held(footprint_rows(self.kernel, self.transfers))
        return self.cutting.asked(lambda cutting: cutting.held_bytes)

    @property
    def held_by_level(self) -> list[tuple[str, list[Row]]]:
        """What a tile holds at once, by level, outermost first (no level for a kernel without tiles)."""
        return [("", footprint_rows(self.kernel, self.transfers))] if self.cutting is None else self.cutting.held

    @property
    def assumptions(self) -> tuple[sympy.Rel, ...]:
        """Where its formulas hold."""
        return () if self.cutting is None else self.cutting.assumptions

    @property
    def levels(self) -> dict[str, tuple[Transfer, ...]]:
        """What crosses each level's boundary, by the level that serves it: "memory", then those that tiles name."""
        return {"memory": self.transfers, **({} if self.nested is None else self.nested.levels())}

    @property
    def bytes(self) -> Size:
        """Bytes read and written by one run.

        >>> KernelCount(Kernel("empty", ()), (), ()).bytes
        0
        """
        return total([item.bytes for item in self.transfers])


def _of_tiles(kernel: Kernel, leaving: frozenset[str]) -> KernelCount:
    from perfmodel.graph.cuttings import Cutting  # loaded when the first kernel is tiled

    cutting = Cutting(kernel, leaving)
    works, moved = cutting.asked(lambda found: (found.works, found.transfers))
    names = {number: name for name, number in cutting.names.items()}
    named = [item._replace(kernel=kernel.name, tensor=names[item.tensor]) for item in moved]
    return KernelCount(kernel, works, tuple(named), cutting)
