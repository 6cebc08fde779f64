"""Masks: which (row, key) pairs of an iteration space count, and exactly how many.

A mask is a band around each row's own position (causal, windows), chunks that do not see each
other, or both. Row ``i`` of ``queries`` sits at position ``i' = i + keys - queries`` where the
mask is aligned to the end, at ``i' = i`` where it is aligned to the start, and sees key ``j`` if

    -left <= j - i' <= right    and    floor(j / chunk) == floor(i' / chunk)

Every count is a closed form, for ints and for symbols alike; ``bands`` derives it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sympy

from perfmodel.errors import CapacityError, DimensionError
from perfmodel.expressions import (
    Size,
    as_size,
    bind,
    ceil_div,
    floor_div,
    largest,
    product,
    size,
    smallest,
)
from perfmodel.graph.bands import at_most, band_pairs, chunk_pairs, greatest, least, positive_part
from perfmodel.graph.mask_fields import check_names, checked_place, checked_reach
from perfmodel.shown import Shown

if TYPE_CHECKING:
    import numpy

LARGEST_ARRAY = 2**32  # elements of a boolean array, a byte each: 4 GiB


@dataclass(frozen=True, slots=True)
class Mask(Shown):
    """A band, chunks or both over two labels. Sizes are ints, symbols or text such as ``"w - 1"``.

    ``left`` keys are visible before the row's own position and ``right`` after it (None: all);
    ``chunk`` is the number of positions that see each other. ``align`` says which end of rows and
    keys coincide where their numbers differ. With more rows than keys some rows may see no key (the
    first ones, aligned to the end; the last ones, aligned to the start), but never all of them.

    Raises ``DimensionError`` for a size, ``LabelError`` for a label or an alignment that cannot be.

    >>> Mask("q", "kv", left=None, right=0).pairs(4, 8)
    26
    """

    query: str
    key: str
    left: Size | None = None
    right: Size | None = None
    chunk: Size | None = None
    align: str = "end"

    def __post_init__(self) -> None:
        check_names(self.query, self.key, self.align)
        object.__setattr__(self, "left", checked_reach(self.left, "left"))
        object.__setattr__(self, "right", checked_reach(self.right, "right"))
        if self.chunk is not None:
            object.__setattr__(self, "chunk", size(self.chunk, "chunk"))

    def pairs(self, queries: Size, keys: Size) -> Size:
        """The exact number of pairs that the mask allows among ``queries`` rows and ``keys`` keys.

        >>> causal().pairs(4, 8), causal(align="start").pairs(4, 8)
        (26, 10)
        >>> causal().pairs("n", "n")
        n*(n + 1)/2
        """
        queries, keys = self._sizes(queries, keys)
        if queries == 1 or keys == 1:  # one row sees an interval of keys, and an interval of rows sees one key
            first, last = self.columns(1, keys) if queries == 1 else self.rows(queries, 1)
            return as_size(last - first)
        if self.chunk is None:
            return band_pairs(self.left, self.right, queries, keys, self.shift(queries, keys))
        if self.align == "start":
            return chunk_pairs(self.left, self.right, self.chunk, queries, keys)
        # Rows end at the position of the last key: every position's pairs, less those before row 0.
        every = chunk_pairs(self.left, self.right, self.chunk, keys, keys)
        before = chunk_pairs(self.left, self.right, self.chunk, positive_part(keys - queries), keys)
        return as_size(every - before)

    def rows(self, queries: Size, keys: Size) -> tuple[Size, Size]:
        """The rows that see any key, as a half-open interval: the first, and one past the last.

        >>> causal().rows(8, 3), causal(window=2, align="start").rows(8, 3)
        ((5, 8), (0, 4))
        """
        queries, keys = self._sizes(queries, keys)
        if self.align == "end":
            ahead = self.right if self.chunk is None else 0  # a negative position has no chunk
            return (0 if ahead is None else positive_part(queries - keys - ahead)), queries
        ends = [queries]
        if self.left is not None:
            ends.append(as_size(keys + self.left))
        return 0, least(*ends, *self._chunks_end(queries, keys))

    def columns(self, queries: Size, keys: Size) -> tuple[Size, Size]:
        """The keys that any row sees, as a half-open interval: the first, and one past the last.

        >>> causal(window=3).columns(4, 16), causal(align="start").columns(4, 16)
        ((10, 16), (0, 4))
        """
        queries, keys = self._sizes(queries, keys)
        if self.align == "end":
            return self._first_column(queries, keys), keys
        ends = [keys]
        if self.right is not None:
            ends.append(as_size(queries + self.right))
        return 0, least(*ends, *self._chunks_end(keys, queries))

    def shift(self, queries: Size, keys: Size) -> Size:
        """How many keys lie before the position of the first row (less than none where it lies before the first key).

        >>> causal().shift(4, 8), causal(align="start").shift(4, 8)
        (4, 0)
        """
        return as_size(keys - queries) if self.align == "end" else 0

    def seen(self, row: Size, queries: Size, keys: Size) -> tuple[Size, Size]:
        """The keys that one row sees, as a half-open interval (past its end, where there are none).

        >>> causal(window=3).seen(1, 4, 8)
        (3, 6)
        """
        position = row + self.shift(queries, keys)
        start: Size = 0 if self.left is None else largest(0, position - self.left)
        stop: Size = keys if self.right is None else smallest(keys, position + self.right + 1)
        if self.chunk is None:
            return start, stop
        base = product([floor_div(position, self.chunk), self.chunk])
        return largest(start, base), smallest(stop, base + self.chunk)

    def allows(self, row: int, column: int, queries: int, keys: int) -> bool:
        """Whether this row sees this key; both count from 0.

        >>> causal().allows(0, 4, 4, 8), causal().allows(0, 5, 4, 8)
        (True, False)
        """
        queries, keys = self._numbers("allows", queries, keys)
        position = checked_place(row, queries, self.query) + self.shift(queries, keys)
        return all(self._conditions(position, checked_place(column, keys, self.key)))

    def array(self, queries: int, keys: int) -> numpy.ndarray[Any, Any]:
        """The mask as a boolean array of shape (queries, keys), True where a row sees a key.

        Raises ``CapacityError`` past 2^32 elements, ``DimensionError`` where a size is a formula.

        >>> causal(window=2).array(3, 3).astype(int).tolist()
        [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
        """
        import numpy

        queries, keys = self._numbers("array", queries, keys)
        if queries * keys > LARGEST_ARRAY:
            raise CapacityError(f"Mask.array: {queries} x {keys} elements; at most 2^32 are made, pairs() counts any")
        position = numpy.arange(queries)[:, None] + self.shift(queries, keys)
        allowed = numpy.ones((queries, keys), dtype=bool)
        for condition in self._conditions(position, numpy.arange(keys)):
            allowed &= condition
        return allowed

    def renamed(self, names: Mapping[str, str]) -> Mask:
        """The same mask over other labels; labels that ``names`` lacks stay.

        >>> causal().renamed({"kv": "s"}).key
        's'
        """
        return replace(self, query=names.get(self.query, self.query), key=names.get(self.key, self.key))

    def bound(self, values: Mapping[sympy.Symbol, Size]) -> Mask:
        """The same mask with values for the symbols of its own sizes.

        >>> mask = causal(window="w")
        >>> mask.bound({symbol: 128 for symbol in mask.symbols}).describe()
        'causal, window 128'
        """
        known = {symbol: size(values[symbol], symbol.name) for symbol in self.symbols if symbol in values}
        changed: dict[str, Any] = {name: bind(formula, known) for name, formula in self._formulas()}
        return replace(self, **changed) if changed else self

    @property
    def symbols(self) -> set[sympy.Symbol]:
        """The symbols of the mask's own sizes.

        >>> sorted(map(str, causal(window="w", chunk="c").symbols))
        ['c', 'w']
        """
        return {symbol for _, formula in self._formulas() for symbol in formula.free_symbols}

    def describe(self) -> str:
        """The mask in a few words.

        >>> causal(window=128).describe(), chunked("q", "kv", 8192).describe()
        ('causal, window 128', 'chunks of 8192')
        """
        words = []
        if self.right == 0:
            words.append("causal" if self.left is None else f"causal, window {self.left + 1}")
        elif (self.left, self.right) != (None, None):
            before, after = ("all" if reach is None else reach for reach in (self.left, self.right))
            words.append(f"{before} before and {after} after")
        if self.chunk is not None:
            words.append(f"chunks of {self.chunk}")
        if self.align == "start" and words:
            words.append("aligned to the start")
        return ", ".join(words) or "everything"

    def _formulas(self) -> list[tuple[str, sympy.Expr]]:
        named = (("left", self.left), ("right", self.right), ("chunk", self.chunk))
        return [(name, value) for name, value in named if isinstance(value, sympy.Expr)]

    def _sizes(self, queries: Size, keys: Size) -> tuple[Size, Size]:
        return size(queries, self.query), size(keys, self.key)

    def _numbers(self, verb: str, queries: Size, keys: Size) -> tuple[int, int]:
        queries, keys = self._sizes(queries, keys)
        for name, value in ((self.query, queries), (self.key, keys), *self._formulas()):
            if not isinstance(value, int):
                raise DimensionError(f"Mask.{verb}: {name} = {value} is a formula; give numbers to its symbols first")
        return queries, keys

    def _conditions(self, position: Any, column: Any) -> Iterator[Any]:
        """What a pair has to fulfil, for ints and for arrays of ints."""
        if self.left is not None:
            yield column - position >= -self.left
        if self.right is not None:
            yield column - position <= self.right
        if self.chunk is not None:
            yield column // self.chunk == position // self.chunk

    def _chunks_end(self, cut: Size, extent: Size) -> tuple[Size, ...]:
        """Where the last chunk that ``extent`` begins ends, if that can matter to ``cut``."""
        if self.chunk is None or at_most(cut, extent):
            return ()
        return (product([self.chunk, ceil_div(extent, self.chunk)]),)

    def _first_column(self, queries: Size, keys: Size) -> Size:
        """The first key of the first row that sees any, where the mask is aligned to the end."""
        position = positive_part(keys - queries)
        if self.chunk is None:
            return 0 if self.left is None else positive_part(keys - queries - self.left)
        start = product([self.chunk, floor_div(position, self.chunk)])
        return start if self.left is None else greatest(start, as_size(position - self.left))


def causal(
    query: str = "q", key: str = "kv", window: Size | None = None, chunk: Size | None = None, align: str = "end"
) -> Mask:
    """No row sees a later key; ``window`` counts the row's own key, so ``0 <= i' - j < window``.

    >>> causal(window=128).pairs(4096, 4096) == 128 * 4096 - 128 * 127 // 2
    True
    """
    left = None if window is None else as_size(size(window, "window") - 1)
    return Mask(query, key, left, 0, chunk, align)


def banded(query: str, key: str, left: Size | None, right: Size | None, align: str = "end") -> Mask:
    """Each row sees ``left`` keys before its own position, its own and ``right`` after (None: all).

    >>> banded("q", "kv", 1, 1).pairs(5, 5) == 5 + 2 * 4  # the diagonal and one on either side
    True
    """
    return Mask(query, key, left, right, None, align)


def chunked(query: str, key: str, chunk: Size, align: str = "end") -> Mask:
    """Each row sees the whole of its own chunk, before and after itself.

    >>> chunked("q", "kv", 4).pairs(10, 10) == 2 * 4**2 + 2**2  # two whole chunks and one of 2
    True
    """
    return Mask(query, key, None, None, size(chunk, "chunk"), align)
