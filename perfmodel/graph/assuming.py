"""What the formulas of a kernel in tiles take for granted of sizes that are symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy

from perfmodel.expressions import Size
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.spans import at_most
from perfmodel.graph.tilings import Cut


def assumptions_of(kernel: Kernel) -> tuple[sympy.Rel, ...]:
    """Where the formulas of a kernel hold: no tile is larger than what it cuts, and each loop makes two trips or more.

    What a tile cuts is the label, or the tile of the level around it, the last one included. What holds for all sizes
    is left out.

    >>> from perfmodel import dims, matmul, tile
    >>> m, n, k = dims("m n k")
    >>> assumptions_of(tile(matmul(m, n, k), grid={"m": 128, "n": 1}, stream={"k": 32}).kernels[0])
    (m >= 128, k > 32)
    """
    around: dict[str, Size] = {axis.label: axis.extent for op in kernel.ops for axis in op.space}
    last: dict[str, list[Size]] = {}  # how long the last tiles of the levels around may be
    found: list[sympy.Rel] = []
    for tiling in kernel.tiles:
        found += [sympy.Ge(around[cut.label], cut.size) for cut in tiling.grid if not _surely(cut, around, least=0)]
        for cut in tiling.stream:
            found += [] if _surely(cut, around, least=1) else [sympy.Gt(around[cut.label], cut.size)]
            idle = at_most(around[cut.label], cut.size)
            found += [sympy.Gt(length, cut.size) for length in last.get(cut.label, []) if not idle]
        for cut in (*tiling.grid, *tiling.stream):
            last[cut.label] = _ragged(cut, [around[cut.label], *last.get(cut.label, [])])
            around[cut.label] = cut.size
    return tuple(dict.fromkeys([relation for relation in found if isinstance(relation, sympy.Rel)]))


def _ragged(cut: Cut, lengths: Sequence[Size]) -> list[Size]:
    """How long the last tile of each length is, where that is not counted at its size."""
    return [sympy.Mod(length - 1, cut.size) + 1 for length in lengths if not isinstance(length, int)]


def _surely(cut: Cut, around: Mapping[str, Size], *, least: int) -> bool:
    """Whether a tile leaves as much as ``least`` of what it cuts, or cuts nothing at all, at any size."""
    extent = around[cut.label]
    sizes = cut.size.args if isinstance(cut.size, sympy.Min) and not least else (cut.size,)
    return at_most(extent, cut.size) or any(at_most(size + least, extent) for size in sizes)
