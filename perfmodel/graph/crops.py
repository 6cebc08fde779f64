"""A mask as it looks from inside a tile: rows and keys count from the tile's corner.

A tile of rows ``r0`` to ``r1`` and keys ``k0`` to ``k1`` holds a part of a mask's band and of its chunks. What the band
needs is how far the first row's position lies past the first key; what chunks need is where in its chunk the first
key lies. A limit that excludes no pair of the tile is left out, so that tiles that look alike are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, floor_div, largest, product, smallest
from perfmodel.graph.bands import band_pairs, chunk_pairs
from perfmodel.graph.masks import Mask

# left, right, chunk, offset and phase: all that tells tiles of a mask apart; None where every pair is allowed
Look: TypeAlias = "tuple[int | None, int | None, int | None, int, int] | None"
_Ends: TypeAlias = "tuple[int, int]"


@dataclass(frozen=True, slots=True)
class Crop(Mask):
    """The part of a mask in one tile: ``offset`` is its first row's position, ``phase`` its first key's in its chunk.

    Rows 4 to 7 and keys 2 to 5 of a causal mask:

    >>> crop = Crop("q", "kv", right=0, offset=4 - 2)
    >>> crop.pairs(4, 4), crop.rows(4, 4), crop.array(2, 4).astype(int).tolist()
    (15, (0, 4), [[1, 1, 1, 0], [1, 1, 1, 1]])
    """

    offset: int = 0
    phase: int = 0

    def shift(self, queries: Size, keys: Size) -> Size:
        """How many keys of the tile lie before the position of its first row.

        >>> Crop("q", "kv", right=0, offset=2).shift(4, 4)
        2
        """
        return self.offset

    def seen(self, row: Size, queries: Size, keys: Size) -> tuple[Size, Size]:
        """The keys of the tile that one row sees, as a half-open interval (past its end, where there are none).

        >>> Crop("q", "kv", right=0, offset=2).seen(0, 4, 4)
        (0, 3)
        """
        position = row + self.offset
        start: Size = 0 if self.left is None else largest(0, position - self.left)
        stop: Size = keys if self.right is None else smallest(keys, position + self.right + 1)
        if self.chunk is None:
            return start, stop
        base = product([floor_div(position + self.phase, self.chunk), self.chunk]) - self.phase
        return largest(start, base), smallest(stop, base + self.chunk)

    def rows(self, queries: Size, keys: Size) -> tuple[Size, Size]:
        """The rows that see any key of the tile, as a half-open interval: (0, 0) where none does.

        >>> Crop("q", "kv", right=0, offset=-2).rows(4, 4), Crop("q", "kv", right=0, offset=-8).rows(4, 4)
        ((2, 4), (0, 0))
        """
        queries, keys = self._numbers("rows", queries, keys)
        left, right, chunk = self._limits()
        lows, highs = [0], [queries]
        if right is not None:
            lows.append(-right - self.offset)
        if left is not None:
            highs.append(keys + left - self.offset)
        if chunk is not None:
            low, high = _whole_chunks((self.phase, self.phase + keys), chunk)
            lows.append(low - self.phase - self.offset)
            highs.append(high - self.phase - self.offset)
        return _between(lows, highs)

    def columns(self, queries: Size, keys: Size) -> tuple[Size, Size]:
        """The keys of the tile that any row sees, as a half-open interval: (0, 0) where none is seen.

        >>> Crop("q", "kv", left=1, right=0, offset=2).columns(2, 8)
        (1, 4)
        """
        queries, keys = self._numbers("columns", queries, keys)
        left, right, chunk = self._limits()
        first, last = self.rows(queries, keys)
        lows, highs = [0], [keys if first < last else 0]
        if left is not None:
            lows.append(first + self.offset - left)
        if right is not None:
            highs.append(last + self.offset + right)
        if chunk is not None:
            low, high = _whole_chunks((first + self.offset + self.phase, last + self.offset + self.phase), chunk)
            lows.append(low - self.phase)
            highs.append(high - self.phase)
        return _between(lows, highs)

    def pairs(self, queries: Size, keys: Size) -> Size:
        """The exact number of pairs that are allowed among ``queries`` rows and ``keys`` keys of the tile.

        >>> Crop("q", "kv", chunk=4, phase=2).pairs(4, 4)  # two squares of 2 x 2
        8
        """
        queries, keys = self._numbers("pairs", queries, keys)
        left, right, chunk = self._limits()
        if chunk is None:
            return band_pairs(left, right, queries, keys, self.offset)
        first, last = self.rows(queries, keys)
        rows, columns = [place + self.offset + self.phase for place in (first, last)], (self.phase, self.phase + keys)
        corners = [(1, rows[1], columns[1]), (-1, rows[0], columns[1]), (-1, rows[1], columns[0])]
        corners.append((1, rows[0], columns[0]))
        return sum([sign * int(chunk_pairs(left, right, chunk, *corner)) for sign, *corner in corners])

    def describe(self) -> str:
        """The mask in a few words.

        >>> Crop("q", "kv", right=0, offset=2).describe()
        'causal, from inside a tile'
        """
        return f"{Mask.describe(self)}, from inside a tile"

    def _limits(self) -> tuple[int | None, int | None, int | None]:
        left, right, chunk = [None if size is None else int(size) for size in (self.left, self.right, self.chunk)]
        return left, right, chunk

    def _conditions(self, position: Any, column: Any) -> Iterator[Any]:
        yield from Mask._conditions(self, position + self.phase, column + self.phase)


def looks_of(mask: Mask, queries: Size, keys: Size) -> Callable[[_Ends, _Ends], Look]:
    """What a mask over extents of rows and keys looks like in the tile of some rows and keys.

    Raises ``DimensionError`` where a size is a formula: tiles could not be compared.

    >>> from perfmodel.graph.masks import causal
    >>> looks = looks_of(causal(), 8, 8)
    >>> looks((4, 8), (2, 6)), looks((4, 8), (0, 4))
    ((None, 0, None, 2, 0), None)
    """
    limits = _limits_of(mask, queries, keys)
    shift = int(mask.shift(queries, keys))
    begun = mask.phase if isinstance(mask, Crop) else 0

    def look(rows: _Ends, columns: _Ends) -> Look:
        left, right, chunk = limits
        first, last = rows[0] + shift - columns[0], rows[1] - 1 + shift - columns[0]
        across, phase = columns[1] - columns[0], 0
        if left is not None and last - left <= 0:
            left = None
        if right is not None and first + right >= across - 1:
            right = None
        if chunk is not None:
            phase = (begun + columns[0]) % chunk
            if first + phase >= 0 and max(last, across - 1) + phase < chunk:
                chunk, phase = None, 0
        return None if left is None and right is None and chunk is None else (left, right, chunk, first, phase)

    return look


def cropped(mask: Mask, seen: Look) -> Mask | None:
    """The mask of a tile that looks like this; None where it excludes no pair.

    >>> from perfmodel.graph.masks import causal
    >>> cropped(causal(), (None, 0, None, 2, 0)).pairs(4, 4)
    15
    """
    if seen is None:
        return None
    left, right, chunk, offset, phase = seen
    return Crop(mask.query, mask.key, left, right, chunk, mask.align, offset, phase)


def _limits_of(mask: Mask, *extents: Size) -> tuple[int | None, int | None, int | None]:
    limits = (mask.left, mask.right, mask.chunk)
    if not all(size is None or isinstance(size, int) for size in (*limits, *extents)):
        raise DimensionError(
            f"tile: tiles inside tiles under a mask ({mask.describe()}) are counted at given sizes; bind the symbols "
            "with p.at(...)"
        )
    left, right, chunk = [None if limit is None else int(limit) for limit in limits]
    return left, right, chunk


def _whole_chunks(ends: _Ends, chunk: int) -> _Ends:
    """The ends of the chunks that an interval of positions touches."""
    return ends[0] // chunk * chunk, -(-ends[1] // chunk) * chunk


def _between(lows: list[int], highs: list[int]) -> _Ends:
    low, high = max(lows), min(highs)
    return (low, high) if low < high else (0, 0)
