"""The tiles and splits that a library has for a contraction, and the ones that are tried.

The blocks of cuBLAS, CUTLASS, hipBLASLt and Triton are a few sizes of output tile, walked along k in steps of a
128-byte line, with k split over several blocks where the output alone has too few.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from perfmodel.errors import DimensionError

# Output tiles, rows by columns, the largest first: it is taken where several are as good.
SHAPES = ((256, 128), (128, 256), (128, 128), (64, 256), (128, 64), (64, 128), (64, 64), (32, 64), (32, 32), (16, 64))
SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 32)
LINE_BYTES = 128  # what one step along k brings of a row of A: a cache line


@dataclass(frozen=True, slots=True)
class Tile:
    """Rows and columns of the output tile of one block, and how many blocks share its k: numbers, or arrays.

    >>> Tile(256, 128)
    Tile(m=256, n=128, splits=1)
    """

    m: Any
    n: Any
    splits: Any = 1

    def __str__(self) -> str:
        split = "" if isinstance(self.splits, int) and self.splits == 1 else f", k in {self.splits}"
        return f"{self.m} x {self.n}{split}"


@lru_cache(maxsize=64)
def candidates(given: tuple[int, ...] | None = None, split: bool = True) -> Tile:
    """All tiles and splits as arrays with an axis of tiles and one of splits; those given instead of all.

    >>> candidates((256, 128)).m, candidates().m.size == len(SHAPES), candidates().splits.size == len(SPLITS)
    (array([[256.]]), True, True)
    """
    import numpy

    splits: tuple[int, ...] = SPLITS if split else (1,)
    shapes: tuple[tuple[int, int], ...] = SHAPES
    if given is not None:
        shapes, splits = ((given[0], given[1]),), given[2:] or (1,)
    sides = numpy.array(shapes, dtype="float64").T[:, :, None]
    return Tile(sides[0], sides[1], numpy.array([splits], dtype="float64"))


def picked(tried: Tile, place: Any) -> Tile:
    """The candidates at flat places, of tiles by splits.

    >>> picked(candidates(), 0)
    Tile(m=np.float64(256.0), n=np.float64(128.0), splits=np.float64(1.0))
    """
    row, column = place // tried.splits.size, place % tried.splits.size
    return Tile(tried.m[row, 0], tried.n[row, 0], tried.splits[0, column])


def checked_tile(tile: Any) -> tuple[int, ...] | None:
    """A tile that a user fixes: (rows, columns) or (rows, columns, splits); None where it is searched.

    >>> checked_tile((256, 128)), checked_tile(Tile(64, 64, 2))
    ((256, 128), (64, 64, 2))
    """
    if tile is None:
        return None
    if isinstance(tile, Tile):
        return (int(tile.m), int(tile.n), int(tile.splits))
    whole = isinstance(tile, tuple | list) and all(type(item) is int and 0 < item <= 2**20 for item in tile)
    if not whole or len(tile) not in (2, 3):
        raise DimensionError(
            f"estimate: tile={tile!r}: expected rows and columns of the output tile of a block, and perhaps the splits "
            "of k, such as (256, 128) or (128, 128, 4)"
        )
    return tuple(tile)
