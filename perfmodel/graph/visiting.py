"""Which tiles of a masked space are visited: those that hold at least one allowed pair.

The keys that consecutive rows see form one interval, whose ends only grow with the row, so a tile of rows
visits a range of key tiles: from the one that holds the first key its rows see to the one that holds the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import sympy

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, ceil_div, floor_div, largest, product, remainder, smallest, total
from perfmodel.graph.intervals import Trip
from perfmodel.graph.masks import Mask
from perfmodel.graph.part_tiles import PartTiles
from perfmodel.graph.sums import floor_half

MOST_LISTED = 2**19  # tiles of rows or keys under a mask: some seconds


@dataclass(frozen=True)
class Visits:
    """The tiles of rows and keys of a mask, and which of them are visited.

    >>> from perfmodel.graph.masks import causal
    >>> Visits(causal(), 8, 8, Trip("q", 4, 8), Trip("kv", 4, 8)).ranges
    ((0, 1), (0, 2))
    """

    mask: Mask
    queries: Size
    keys: Size
    rows_cut: Trip | None
    keys_cut: Trip | PartTiles | None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the mask that are cut here.

        >>> from perfmodel.graph.masks import causal
        >>> Visits(causal(), 8, 8, None, Trip("kv", 4, 8)).labels
        ('kv',)
        """
        return (*[trip.label for trip in (self.rows_cut,) if trip is not None], *self.key_labels)

    @property
    def key_labels(self) -> tuple[str, ...]:
        """The labels along which keys are cut.

        >>> from perfmodel.graph.masks import causal
        >>> Visits(causal(), 8, 8, Trip("q", 4, 8), None).key_labels
        ()
        """
        cut = self.keys_cut
        return () if cut is None else cut.labels if isinstance(cut, PartTiles) else (cut.label,)

    def key_at(self, numbers: Mapping[str, int]) -> int:
        """The tile of keys that these numbers of blocks and trips name.

        >>> from perfmodel.graph.masks import causal
        >>> Visits(causal(), 8, 8, Trip("q", 4, 8), Trip("kv", 4, 8)).key_at({"q": 0, "kv": 1})
        1
        """
        cut = self.keys_cut
        return cut.number_at(numbers) if isinstance(cut, PartTiles) else numbers[self.mask.key]

    @property
    def concrete(self) -> bool:
        """Whether every size is a number, so that tiles can be listed.

        >>> from perfmodel.graph.masks import causal
        >>> Visits(causal(), 8, 8, Trip("q", 4, 8), None).concrete
        True
        """
        cut = self.keys_cut
        keys = cut.sizes if isinstance(cut, PartTiles) else (self._key_size,)
        sizes = (self.queries, self.keys, self._row_size, *keys, *self._limits)
        return all(isinstance(size, int) for size in sizes)

    @property
    def _row_size(self) -> Size:
        return self.queries if self.rows_cut is None else self.rows_cut.size

    @property
    def _key_size(self) -> Size:
        return self.keys_cut.size if isinstance(self.keys_cut, Trip) else self.keys

    @property
    def _limits(self) -> list[Size]:
        return [size for size in (self.mask.left, self.mask.right, self.mask.chunk) if size is not None]

    @cached_property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """For each tile of rows, the half-open range of key tiles that it visits.

        >>> from perfmodel.graph.masks import causal
        >>> Visits(causal(window=2), 8, 8, Trip("q", 4, 8), Trip("kv", 2, 8)).ranges  # keys 0 to 3, 3 to 7
        ((0, 2), (1, 4))
        """
        return _ranges(self)

    def range_of(self, number: Size) -> tuple[Size, Size]:
        """The key tiles that one tile of rows visits, from its first to one past its last (none: not above).

        >>> from perfmodel.graph.masks import causal
        >>> Visits(causal(), 8, 8, Trip("q", 4, 8), Trip("kv", 4, 8)).range_of(1)
        (0, 2)
        """
        keys = self._seen_by(number)
        if keys is None:
            return 0, 0
        if isinstance(self.keys_cut, PartTiles):
            return self.keys_cut.number_of(keys[0]), self.keys_cut.number_of(keys[1] - 1) + 1
        return floor_div(keys[0], self._key_size), ceil_div(keys[1], self._key_size)

    def _keys_of(self, number: Size) -> Size:
        """The keys of the key tiles that one tile of rows visits."""
        keys = self._seen_by(number)
        if keys is None:
            return 0
        if isinstance(self.keys_cut, PartTiles):
            first, end = self.keys_cut.around(keys[0])[0], self.keys_cut.around(keys[1] - 1)[1]
        else:
            first, last = self.range_of(number)
            first, end = first * self._key_size, last * self._key_size
        return smallest(self.keys, end) - first

    def _seen_by(self, number: Size) -> tuple[Size, Size] | None:
        """From the first key that a tile of rows sees to one past the last."""
        first, last = self._rows_of(number)
        if isinstance(first, int) and isinstance(last, int) and first >= last:
            return None
        sizes = (self.queries, self.keys)
        return self.mask.seen(first, *sizes)[0], self.mask.seen(last - 1, *sizes)[1]

    def _rows_of(self, number: Size) -> tuple[Size, Size]:
        """The rows of a tile that may see a key."""
        low, high = self._rows
        last = smallest((number + 1) * self._row_size, self.queries, high)
        return largest(number * self._row_size, low), last

    @cached_property
    def _rows(self) -> tuple[Size, Size]:
        """The rows that see any key."""
        return self.mask.rows(self.queries, self.keys)

    def seeing(self, label: str) -> tuple[Size, Size]:
        """The tiles of rows that see any key, or of keys that any row sees, as a half-open range.

        >>> from perfmodel.graph.masks import causal
        >>> Visits(causal(), 8, 4, Trip("q", 2, 8), Trip("kv", 2, 4)).seeing("q")  # rows 0 to 3 see none
        (2, 4)
        """
        if label == self.mask.query:
            (low, high), across = self._rows, self._row_size
        else:
            (low, high), across = self.mask.columns(self.queries, self.keys), self._key_size
        return floor_div(low, across), ceil_div(high, across)

    def hides(self, label: str, number: int) -> bool:
        """Whether a tile of rows sees no key, or a tile of keys is seen by no row.

        >>> from perfmodel.graph.masks import causal
        >>> Visits(causal(), 8, 4, Trip("q", 2, 8), Trip("kv", 2, 4)).hides("q", 0)
        True
        """
        first, stop = self.seeing(label)
        return not int(first) <= number < int(stop)

    def summed(self, *, by_row: bool, by_key: bool) -> Size:
        """The sum, over tiles of rows, of the visited key tiles or, ``by_key``, of their keys.

        ``by_row`` multiplies each term by the rows of the tile. It is in closed form under a causal mask of as many
        rows as keys, where one block divides the other; else it stands as a finite sum.

        >>> from perfmodel.graph.masks import causal
        >>> visits = Visits(causal(), 8, 8, Trip("q", 4, 8), Trip("kv", 4, 8))
        >>> visits.summed(by_row=False, by_key=False)
        3
        """
        return _summed(self, by_row, by_key)

    def holds(self, row: int, key: int) -> bool:
        """Whether a tile, by its numbers, is visited.

        >>> from perfmodel.graph.masks import causal
        >>> Visits(causal(), 8, 8, Trip("q", 4, 8), Trip("kv", 4, 8)).holds(0, 1)
        False
        """
        start, stop = self.ranges[row]
        return start <= key < stop

    def skips(self, numbers: Mapping[str, int]) -> bool:
        """Whether the tile that numbers of blocks and trips name holds no allowed pair (not where they name none).

        >>> from perfmodel.graph.masks import causal
        >>> visits = Visits(causal(), 8, 8, Trip("q", 4, 8), Trip("kv", 4, 8))
        >>> visits.skips({"q": 0, "kv": 1}), visits.skips({"q": 0})
        (True, False)
        """
        if self.keys_cut is None or not all(label in numbers for label in self.labels):
            return False
        return not self.holds(0 if self.rows_cut is None else numbers[self.mask.query], self.key_at(numbers))

    @property
    def number(self) -> Size:
        """How many tiles are visited.

        >>> from perfmodel.graph.masks import causal
        >>> Visits(causal(), 8, 8, Trip("q", 4, 8), Trip("kv", 4, 8)).number
        3
        """
        if not self.concrete:
            return self.summed(by_row=False, by_key=False)
        return sum([stop - start for start, stop in self.ranges])

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Every visited tile: its number among rows and among keys.

        >>> from perfmodel.graph.masks import causal
        >>> Visits(causal(), 8, 8, Trip("q", 4, 8), Trip("kv", 4, 8)).pairs
        ((0, 0), (1, 0), (1, 1))
        """
        return tuple([(row, key) for row, (start, stop) in enumerate(self.ranges) for key in range(start, stop)])


def check_listed(tiles: Size, labels: str) -> None:
    """Refuse to list more tiles under a mask than can be looked at in some seconds.

    >>> check_listed(8, "q")
    """
    if not isinstance(tiles, int) or tiles > MOST_LISTED:
        raise DimensionError(f"tile: {tiles} tiles of {labels} under a mask; at most {MOST_LISTED}: take larger tiles")


@lru_cache(maxsize=64)
def _ranges(visits: Visits) -> tuple[tuple[int, int], ...]:
    """The ranges of ``visits``: each op and load of a kernel asks for the same ones."""
    tiles = ceil_div(visits.queries, visits._row_size)
    check_listed(tiles, visits.mask.query)
    if isinstance(visits.keys_cut, Trip):
        check_listed(visits.keys_cut.count, visits.mask.key)
    found = [visits.range_of(number) for number in range(int(tiles))]
    return tuple([(int(first), int(last)) if last > first else (0, 0) for first, last in found])


@lru_cache(maxsize=256)
def _summed(visits: Visits, by_row: bool, by_key: bool) -> Size:
    """The sum that ``visits.summed`` gives: sympy takes long to build its bounds, and loads ask for the same."""
    if visits.mask.chunk is not None:
        raise DimensionError("tile: tiles under chunks are counted at given sizes; bind the symbols with p.at(...)")
    number = sympy.Symbol(f"{visits.mask.query}_block", integer=True, nonnegative=True)
    low, high = visits._rows  # the tiles of other rows visit none
    if visits.rows_cut is None:
        return _term(visits, 0, by_row, by_key)
    if (closed := _staircase(visits, by_row, by_key)) is not None:
        return closed
    limits = (number, floor_div(low, visits._row_size), ceil_div(high, visits._row_size) - 1)
    return sympy.Sum(_term(visits, number, by_row, by_key), limits)


def _term(visits: Visits, number: Size, by_row: bool, by_key: bool) -> Size:
    """What one tile of rows visits: key tiles or their keys, for itself or for each of its rows."""
    first, last = visits.range_of(number)
    met = visits._keys_of(number) if by_key else last - first
    rows = smallest(visits.queries - number * visits._row_size, visits._row_size) if by_row else 1
    return product([rows, largest(0, met)])


def _staircase(visits: Visits, by_row: bool, by_key: bool) -> Size | None:
    """The sum under a causal mask of as many rows as keys, in closed form; None for others.

    Tile i of R rows sees (i + 1) R keys, and the last one all. In tiles of K keys these are (i + 1) R/K where K divides
    R. Where R divides K they are ceil((i + 1) / (K/R)): every K/R tiles of rows one more, and those that reach the
    last tile of keys see all keys.
    """
    mask, across, along, length = visits.mask, visits._row_size, visits._key_size, visits.keys
    plain = isinstance(visits.keys_cut, Trip) and mask.left is None and mask.right == 0 and mask.chunk is None
    if not plain or visits.queries != length:
        return None
    full = ceil_div(length, across) - 1
    one, every = (along, length) if by_key else (1, ceil_div(length, along))
    if remainder(across, along) == 0:
        met = product([floor_div(across, along), floor_half(full * (full + 1)), one])
    elif remainder(along, across) == 0:
        times = floor_div(along, across)
        steps = floor_div(full, times)
        rest = full - times * steps
        met = total([product([times, floor_half(steps * (steps + 1)), one]), product([rest, every])])
    else:
        return None
    rows, last = (across, length - full * across) if by_row else (1, 1)
    return total([product([rows, met]), product([last, every])])
