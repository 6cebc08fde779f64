"""Tiles of masked keys that are in parts: a tile of parts, or a tile within one part, each an interval of the keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from perfmodel.expressions import Size, floor_div, product, remainder, smallest, total
from perfmodel.graph.intervals import Trip
from perfmodel.graph.nodes import Op
from perfmodel.graph.splits import key_bound


@dataclass(frozen=True, slots=True)
class PartTiles:
    """Blocks of parts of ``length`` keys each, and tiles inside a part where ``inside`` cuts it (then one a block).

    The tiles are numbered in the order of their keys.

    >>> tiles = PartTiles(Trip("kv_part", 1, 3), Trip("kv", 2, 5), 5)
    >>> [tiles.number_of(key) for key in (0, 2, 4, 5, 14)], tiles.at(4)
    ([0, 1, 2, 3, 8], {'kv_part': 1, 'kv': 1})
    """

    parts: Trip
    inside: Trip | None
    length: Size

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that are cut.

        >>> PartTiles(Trip("kv_part", 1, 3), None, 5).labels
        ('kv_part',)
        """
        return (self.parts.label,) if self.inside is None else (self.parts.label, self.inside.label)

    @property
    def count(self) -> Size:
        """How many tiles there are.

        >>> PartTiles(Trip("kv_part", 1, 3), Trip("kv", 2, 5), 5).count
        9
        """
        return product([self.parts.count, self._within])

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes in it.

        >>> PartTiles(Trip("kv_part", 1, 3), None, 5).sizes
        (5, 1, 3)
        """
        inner = () if self.inside is None else (self.inside.size, self.inside.extent)
        return (self.length, self.parts.size, self.parts.extent, *inner)

    @property
    def _block(self) -> Size:
        return product([self.length, self.parts.size])

    @property
    def _within(self) -> Size:
        return 1 if self.inside is None else self.inside.count

    def number_of(self, key: Size) -> Size:
        """The tile that holds a key.

        >>> PartTiles(Trip("kv_part", 2, 3), None, 5).number_of(10)
        1
        """
        block = floor_div(key, self._block)
        if self.inside is None:
            return block
        place = total([key, product([-1, block, self._block])])
        return total([product([block, self._within]), floor_div(place, self.inside.size)])

    def around(self, key: Size) -> tuple[Size, Size]:
        """The first key of the tile that holds a key, and one past its last (the end of all keys aside).

        >>> tiles = PartTiles(Trip("kv_part", 1, 3), Trip("kv", 2, 5), 5)
        >>> [tiles.around(key) for key in (0, 4, 5)]
        [(0, 2), (4, 5), (5, 7)]
        """
        start = product([floor_div(key, self._block), self._block])
        if self.inside is None:
            return start, start + self._block
        size = self.inside.size
        within = product([floor_div(total([key, product([-1, start])]), size), size])
        return start + within, start + smallest(self._block, within + size)

    def at(self, number: int) -> dict[str, int]:
        """The numbers of the blocks and trips that make a tile.

        >>> PartTiles(Trip("kv_part", 2, 3), None, 5).at(1)
        {'kv_part': 1}
        """
        if self.inside is None:
            return {self.parts.label: number}
        within = int(self._within)
        return {self.parts.label: number // within, self.inside.label: int(remainder(number, within))}

    def number_at(self, numbers: Mapping[str, int]) -> int:
        """The tile that these numbers of blocks and trips make.

        >>> PartTiles(Trip("kv_part", 1, 3), Trip("kv", 2, 5), 5).number_at({"kv_part": 1, "kv": 1})
        4
        """
        block = numbers[self.parts.label]
        return block if self.inside is None else block * int(self._within) + numbers[self.inside.label]


def key_tiles(op: Op, trips: Mapping[str, Trip], cut: Collection[str]) -> Trip | PartTiles | None:
    """The tiles of a masked op's keys along the labels that are cut; None where they are one, or no interval each.

    >>> from perfmodel import attention
    >>> key_tiles(attention(4, 8, 2, causal=True).ops[0], {"kv": Trip("kv", 2, 8)}, ["kv"])
    Trip(label='kv', size=2, extent=8)
    """
    mask, bound = op.mask, key_bound(op)
    if mask is None:
        return None
    if bound is None:
        return trips.get(mask.key) if mask.key in cut else None
    (part, length), (inner, _) = bound.index.terms
    parts, inside = [trips.get(label) if label in cut else None for label in (part, inner)]
    if parts is None or (inside is not None and parts.size != 1):
        return None
    return PartTiles(parts, inside, length)
