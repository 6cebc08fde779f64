"""What the formulas of a kernel in tiles take for granted of sizes that are symbols."""

from __future__ import annotations

from collections.abc import Collection

import sympy

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, as_expression
from perfmodel.graph.intervals import Trip, surely_at_least
from perfmodel.graph.nested import Nested
from perfmodel.graph.spans import at_most
from perfmodel.graph.tiled import Tiled
from perfmodel.graph.tilings import Cut


def assumptions_of(tiles: Tiled | Nested) -> tuple[sympy.Rel, ...]:
    """Where the formulas of tiles hold: no tile is larger than what it cuts, and each loop makes two trips or more.

    Blocks that combine a result in memory are two or more as well: one alone stores it. So are those of a window that
    reaches into padding: one alone holds what there is, and no neighbours. What a tile cuts is the label, or the tile
    of the level around it, the last one included. What holds for all sizes is left out.

    >>> from perfmodel import dims, matmul, tile
    >>> m, n, k = dims("m n k")
    >>> assumptions_of(tile(matmul(m, n, k), grid={"m": 128, "n": 1}, stream={"k": 32}).counted[0].tiled)
    (m >= 128, k > 32)
    """
    padded = _padded(tiles if isinstance(tiles, Tiled) else tiles.tiled)
    found = dict.fromkeys([relation for relation in _found(tiles, padded) if isinstance(relation, sympy.Rel)])
    return tuple([each for each in found if sympy.Gt(*each.args) == each or sympy.Gt(*each.args) not in found])


def _found(tiles: Tiled | Nested, padded: Collection[str] = ()) -> list[sympy.Rel]:
    if isinstance(tiles, Tiled):
        return _of_level(tiles, padded)
    found = _of_level(tiles.tiled, padded)
    for share in tiles.shares:
        for relation in _found(share.inside):
            relations = [relation]
            for symbol, trip in share.summed:
                relations = [at for one in relations for at in _at_tiles(one, symbol, trip)]
            found += relations
    if sympy.false in found:
        raise DimensionError(
            f"tile: the last tiles of {tiles.tiled.tiling.level!r} are no longer than those inside; bind the symbols "
            "with p.at(...)"
        )
    return found


def _padded(tiled: Tiled) -> set[str]:
    """The labels along which windows reach into padding before the first element."""
    parts = [*[load.part for load, _ in tiled.loads()], *[need.output for need in tiled.needs]]
    starts = [end for part in parts for interval in part for end in interval.starts]
    return {label for end in starts if not surely_at_least(end.start, 0) for label, _ in end.steps}


def _of_level(tiled: Tiled, padded: Collection[str]) -> list[sympy.Rel]:
    """The relations of one level, to what its tiles cut; there are two tiles or more along what is padded."""
    around = {axis.label: axis.extent for op in tiled.kernel.ops for axis in op.space}
    tiling = tiled.tiling
    several = [cut for cut in tiling.grid if cut.label in tiling.atomic or cut.label in padded]
    plain = [cut for cut in tiling.grid if cut not in several]
    found = [_relation(sympy.Ge, cut, around[cut.label]) for cut in plain if not _surely(cut, around[cut.label], 0)]
    loops = [cut for cut in (*several, *tiling.stream) if not _surely(cut, around[cut.label], 1)]
    return found + [_relation(sympy.Gt, cut, around[cut.label]) for cut in loops]


def _relation(kind: type[sympy.Rel], cut: Cut, extent: Size) -> sympy.Rel:
    return kind(as_expression(extent), as_expression(cut.size))


def _at_tiles(relation: sympy.Rel, symbol: sympy.Symbol, trip: Trip) -> list[sympy.Rel]:
    """A relation of the length of a tile, at full ones and, where it is of loops, at the last one."""
    if symbol not in relation.free_symbols:
        return [relation]
    lengths = [as_expression(trip.size)]
    if isinstance(relation, sympy.Gt):
        lengths.append(sympy.Mod(trip.extent - 1, trip.size) + 1)
    return [relation.xreplace({symbol: length}) for length in lengths]


def _surely(cut: Cut, extent: Size, least: int) -> bool:
    """Whether a tile leaves as much as ``least`` of what it cuts, or cuts nothing at all, at any size."""
    sizes = cut.size.args if isinstance(cut.size, sympy.Min) and not least else (cut.size,)
    return at_most(extent, cut.size) or any(at_most(size + least, extent) for size in sizes)
