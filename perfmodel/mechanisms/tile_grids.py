"""The blocks that tiles make of an output, and the share of their area that is useful (tile quantization)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from perfmodel.errors import DimensionError, LabelError, brief, did_you_mean, listed
from perfmodel.expressions import Size, ceil_div, product, remainder, share, size
from perfmodel.graph.kernel_counts import KernelCount
from perfmodel.graph.programs import Program
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.given_values import in_order
from perfmodel.mechanisms.wording import counted, part_of_all
from perfmodel.showing import formula


class Side(NamedTuple):
    """One label of a grid of tiles: its extent, the size of a tile, and so its blocks.

    >>> Side("m", 1793, 256).blocks, Side("m", 1793, 256).covered == 8 * 256
    (8, True)
    """

    label: str
    extent: Size
    size: Size

    @property
    def blocks(self) -> Size:
        """Tiles along this label, the ragged last one included.

        >>> Side("n", 1793, 128).blocks
        15
        """
        return ceil_div(self.extent, self.size)

    @property
    def covered(self) -> Size:
        """What whole tiles cover.

        >>> Side("n", 1025, 128).covered == 9 * 128
        True
        """
        return product([self.blocks, self.size])


@dataclass(frozen=True, slots=True, repr=False)
class TileGrid(Answer):
    """An output cut into tiles, one block each.

    >>> from perfmodel import tile_grid
    >>> tile_grid(1793, 1793, tile=(256, 128))
    tile_grid(1793, 1793, tile=(256, 128))
    # 8 x 15 = 120 blocks cover 2048 x 1920: 82 % of them is useful
    """

    _figure: ClassVar[str] = "blocks"

    sides: tuple[Side, ...]
    source: str = field(default="", compare=False)

    @property
    def blocks(self) -> Size:
        """All blocks.

        >>> from perfmodel import tile_grid
        >>> tile_grid(1792, 1792, tile=(256, 128)).blocks == 7 * 14
        True
        """
        return product([side.blocks for side in self.sides])

    @property
    def counts(self) -> dict[str, Size]:
        """Blocks by label.

        >>> from perfmodel import tile_grid
        >>> tile_grid(1793, 1793, tile=(256, 128)).counts
        {'m': 8, 'n': 15}
        """
        return {side.label: side.blocks for side in self.sides}

    @property
    def tile_fill(self) -> Any:
        """The share of the tiles' area that lies in the output: a float, or a formula.

        >>> from perfmodel import tile_grid
        >>> [f"{tile_grid(n, n, tile=128).tile_fill:.0%}" for n in (1024, 1025)]
        ['100%', '79%']
        """
        return share(product([side.extent for side in self.sides]), product([side.covered for side in self.sides]))

    @property
    def made(self) -> str:
        return self.source

    @property
    def headline(self) -> str:
        return counted(self.blocks, "block")

    def comments(self) -> list[str]:
        counts, covered = [" x ".join(map(formula, found)) for found in (self.counts.values(), self._covered)]
        total = f"{counts} = " if len(self.sides) > 1 else ""
        return [f"{total}{self.headline} cover {covered}: {part_of_all(self.tile_fill)} of them is useful"]

    def working(self) -> list[str]:
        """The blocks and the fill with their working.

        >>> from perfmodel import tile_grid
        >>> tile_grid(1025, 1025, tile=128).explain()
        tile_grid(1025, 1025, tile=(128, 128)): 81 blocks
          m     ceil(1025 / 128) = 9 tiles cover 1152
          n     ceil(1025 / 128) = 9 tiles cover 1152
          fill  1025 * 1025 / (1152 * 1152) = 79 %
        """
        lines = [
            f"{side.label:4}  ceil({formula(side.extent)} / {formula(side.size)}) = {formula(side.blocks)} "
            f"tiles cover {formula(side.covered)}"
            for side in self.sides
        ]
        useful, all_of_it = [" * ".join(map(formula, sizes)) for sizes in (self._extents, self._covered)]
        return [*lines, f"fill  {useful} / ({all_of_it}) = {part_of_all(self.tile_fill)}"]

    @property
    def _extents(self) -> list[Size]:
        return [side.extent for side in self.sides]

    @property
    def _covered(self) -> list[Size]:
        return [side.covered for side in self.sides]


def tile_grid(m: Any, n: Any = None, batch: Any = 1, tile: Any = (256, 128), kernel: str | None = None) -> TileGrid:
    """The blocks of an m x n output (``batch`` times) under a tile, or those of a program that ``tile`` has cut.

    ``tile`` is (rows, columns), or one number for both; ``kernel`` names the kernel where a program has several
    that are cut. Every size may be a symbol. A ragged last tile is a whole block, and the hardware issues all of
    it: ``tile_fill`` is what it wastes (NVIDIA, "Matrix Multiplication Background", tile quantization).

    >>> tile_grid(1793, 1793, tile=(256, 128)).blocks == 8 * 15
    True
    >>> from perfmodel import matmul, tile
    >>> tile_grid(tile(matmul(1793, 1793, 64), m=256, n=128)).counts
    {'m': 8, 'n': 15}
    """
    if isinstance(m, Program):
        if n is not None:
            raise DimensionError(f"tile_grid: n = {brief(n)}: a program that is cut has its own sizes")
        return _of_program(m, kernel)
    if kernel is not None:
        raise LabelError(f"tile_grid: kernel = {brief(kernel)}: only a program has kernels to name")
    if n is None:
        raise DimensionError(
            "tile_grid: n is missing: tile_grid(m, n, tile=(256, 128)), or a program that tile has cut"
        )
    rows, columns = _tile(tile)
    sides = [Side("m", size(m, "m"), rows), Side("n", size(n, "n"), columns)]
    times = size(batch, "batch")
    written = f"tile_grid({sides[0].extent}, {sides[1].extent}{'' if times == 1 else f', batch={times}'}"
    sides = sides if times == 1 else [Side("batch", times, 1), *sides]
    return TileGrid(tuple(sides), f"{written}, tile=({rows}, {columns}))")


def _tile(tile: Any) -> tuple[Size, Size]:
    """A tile as rows and columns."""
    alone = isinstance(tile, str) or not isinstance(tile, Iterable) or getattr(tile, "shape", None) == ()
    sizes = [tile, tile] if alone else list(in_order(tile, "tile", "tile_grid"))
    if len(sizes) != 2:
        raise DimensionError(f"tile_grid: tile = {brief(tile)}: expected (rows, columns), or one number for both")
    return size(sizes[0], "tile rows"), size(sizes[1], "tile columns")


def _of_program(program: Program, kernel: str | None) -> TileGrid:
    """The blocks of the one kernel of a program that is cut, or of the one that is named."""
    cut = {item.kernel.name: item for item in program.counted if item.tiled is not None}
    if not cut:
        raise LabelError(
            f"tile_grid: no kernel of {program.name} is cut; cut it: pm.tile({program.name}, m=128, n=128)"
        )
    if kernel is None and len(cut) > 1:
        raise LabelError(f"tile_grid: {program.name} has {len(cut)} kernels that are cut; say kernel=: {listed(cut)}")
    if kernel is not None and (not isinstance(kernel, str) or kernel not in cut):
        raise LabelError(f"tile_grid: no kernel {brief(kernel)} of {program.name} is cut; those that are: {listed(cut)}"
                         f"{did_you_mean(kernel, cut)}")  # fmt: skip
    found = cut[kernel or next(iter(cut))]
    return TileGrid(_sides(found), f"tile_grid({program.name} -> {program.history[-1]})")


def _sides(found: KernelCount) -> tuple[Side, ...]:
    """The labels of a kernel's grids, those that one tile holds included; where tiles nest the inner are the blocks."""
    extents = {axis.label: axis.extent for op in found.kernel.ops for axis in op.space}
    sizes: dict[str, Size] = {}
    for tiling in found.kernel.tiles:
        for label, inner in tiling.grid:
            outer = sizes.get(label, inner)
            if remainder(outer, inner) != 0:
                raise DimensionError(
                    f"tile_grid: tiles of {label}={inner} do not fill the tiles of {label}={outer} around them, so "
                    "blocks are of several kinds; let one size divide the other"
                )
            sizes[label] = inner
    return tuple([Side(label, extents[label], size) for label, size in sizes.items()])
