"""The tiles and splits that a library has for a contraction, and the ones that are tried.

The blocks of cuBLAS, CUTLASS, hipBLASLt and Triton are a few sizes of output tile, walked along k in steps of a
128-byte line, with k split over several blocks where the output alone has too few.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any

from perfmodel.errors import DimensionError, brief
from perfmodel.shown import Shown

# Output tiles, rows by columns, the largest first: it is taken where several are as good.
SHAPES = ((256, 128), (128, 256), (128, 128), (64, 256), (128, 64), (64, 128), (64, 64), (32, 64), (32, 32), (16, 64))
SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 32)
LINE_BYTES = 128  # what one step along k brings of a row of A: a cache line


_LARGEST = 2**20
_SIDE = "expected a positive whole number of at most 2^20"


def _is_side(value: Any) -> bool:
    """A whole number that a tile can have: numpy's and whole floats too, but no truth values."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    number: Any = value  # a numbers.Real has no typed comparisons
    return bool(0 < number <= _LARGEST and number == int(number))


@dataclass(frozen=True, slots=True)
class Tile(Shown):
    """Rows and columns of the output tile of one block, and how many blocks share its k: numbers, or arrays.

    >>> Tile(256, 128)
    Tile(m=256, n=128, splits=1)
    """

    m: Any
    n: Any
    splits: Any = 1

    def __post_init__(self) -> None:
        for name in ("m", "n", "splits"):
            value = getattr(self, name)
            if not hasattr(value, "shape") and not _is_side(value):
                raise DimensionError(f"Tile: {name} = {brief(value)}: {_SIDE}")

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


def _number(value: Any) -> Any:
    """A side as an int, where it is one."""
    found = value.item() if getattr(value, "shape", None) == () else value
    return int(found) if _is_side(found) else found


def checked_tile(tile: Any) -> tuple[int, ...] | None:
    """A tile that a user fixes: (rows, columns) or (rows, columns, splits); None where it is searched.

    >>> checked_tile((256, 128)), checked_tile(Tile(64, 64, 2))
    ((256, 128), (64, 64, 2))
    """
    if tile is None:
        return None
    if isinstance(tile, Tile):
        tile = tuple([_number(item) for item in (tile.m, tile.n, tile.splits)])
    whole = isinstance(tile, tuple | list) and all(type(item) is int and 0 < item <= _LARGEST for item in tile)
    if not whole or len(tile) not in (2, 3):
        raise DimensionError(
            f"estimate: tile={brief(tile)}: expected rows and columns of the output tile of a block, and perhaps the "
            "splits of k, such as (256, 128) or (128, 128, 4)"
        )
    return tuple(tile)
