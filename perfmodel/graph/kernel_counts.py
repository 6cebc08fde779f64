"""What can be counted of one kernel, cut into tiles or not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from perfmodel.expressions import Size, total
from perfmodel.graph.counting import Transfer, Work, issued_points, macs, transfers, work
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.memory import Row, footprint_rows

if TYPE_CHECKING:
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
    tiled: Tiled | None = None  # its blocks, where it is cut into tiles
    nested: Nested | None = None  # and the tiles inside them

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
    def macs(self) -> Size:
        """Multiply-accumulates of one run."""
        blocks = self.nested or self.tiled
        return total([macs(op) for op in self.kernel.ops]) if blocks is None else blocks.macs()

    @property
    def issued(self) -> tuple[Work, ...]:
        """The work of one run as hardware issues it."""
        blocks = self.nested or self.tiled
        if blocks is not None:
            return blocks.issued_works()
        return tuple([w for op in self.kernel.ops for w in work(op, issued_points(op))])

    @property
    def held(self) -> list[Row]:
        """What one run, or one block of its innermost tiles, holds at once: role, tensor and bytes."""
        return self.held_by_level[-1][1]

    @property
    def held_by_level(self) -> list[tuple[str, list[Row]]]:
        """What a tile holds at once, by level, outermost first (no level for a kernel without tiles)."""
        if self.tiled is None:
            return [("", footprint_rows(self.kernel, self.transfers))]
        from perfmodel.graph.holding import block_rows, largest_block

        return [(found[0].tiling.level, block_rows(largest_block(found))) for found in self.blocks]

    @property
    def blocks(self) -> list[list[Tiled]]:
        """The kinds of tile at each level, outermost first."""
        if self.nested is not None:
            return self.nested.blocks()
        return [] if self.tiled is None else [[self.tiled]]

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


@lru_cache(maxsize=64)
def _of_tiles(kernel: Kernel, leaving: frozenset[str]) -> KernelCount:
    """The counts of a kernel that is cut: ``tile`` takes them to check it, and the program to count it."""
    from perfmodel.graph.tiled import Tiled  # loaded when the first kernel is tiled

    tiled = Tiled(kernel, kernel.tiles[0], leaving)
    if len(kernel.tiles) == 1:
        return KernelCount(kernel, tiled.works(), tiled.transfers(), tiled)
    from perfmodel.graph.nested import Nested

    nested = Nested(tiled, kernel.tiles[1:])
    return KernelCount(kernel, nested.works(), nested.transfers(), tiled, nested)
