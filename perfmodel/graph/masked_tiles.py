"""The tiles of a masked op: the part of the mask that each of them holds, and those that are skipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from perfmodel.expressions import Size
from perfmodel.graph.crops import Look, cropped, looks_of
from perfmodel.graph.intervals import Interval
from perfmodel.graph.masks import Mask
from perfmodel.graph.needs import Need
from perfmodel.graph.nodes import Op
from perfmodel.graph.spots import Spot
from perfmodel.graph.visiting import Visits

_Ends = tuple[int, int]


@dataclass(frozen=True)
class MaskedTiles:
    """A mask over rows and keys of which tiles hold a part, and which of the tiles are visited (None: all).

    >>> from perfmodel.graph.masks import causal
    >>> rows, keys = [Interval.tile(label, 4, 8) for label in ("q", "kv")]
    >>> tiles = MaskedTiles(causal(), rows, keys, (8, 8))
    >>> tiles.look(Spot({"q": 0, "kv": 0})), tiles.look(Spot({"q": 1, "kv": 0}))  # on the diagonal, and below it
    ((None, 0, None, 0, 0), None)
    """

    mask: Mask
    rows: Interval
    keys: Interval
    extents: tuple[Size, Size]
    visits: Visits | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels whose tiles hold other parts of the mask.

        >>> from perfmodel.graph.masks import causal
        >>> MaskedTiles(causal(), Interval.tile("q", 4, 8), Interval.whole(8), (8, 8)).labels
        ('q',)
        """
        return tuple(dict.fromkeys([*self.rows.labels, *self.keys.labels]))

    def look(self, spot: Spot) -> Look | str:
        """What the mask looks like in a tile, or that the tile is skipped.

        >>> from perfmodel.graph.masks import causal
        >>> tiles = MaskedTiles(causal(), Interval.whole(4), Interval.tile("kv", 2, 4), (4, 4))
        >>> tiles.look(Spot({"kv": 1}))  # row 0 stands 2 keys before the first
        (None, 0, None, -2, 0)
        """
        looks = self._looks  # refuses sizes that are formulas, before tiles are listed
        if self.skips(spot):
            return "skipped"
        return looks(self._row_ends(spot), self._key_ends(spot))

    def skips(self, spot: Spot) -> bool:
        """Whether a tile holds no allowed pair, where such tiles are skipped.

        >>> from perfmodel.graph.intervals import Trip
        >>> from perfmodel.graph.masks import causal
        >>> cuts = [Trip(label, 4, 8) for label in ("q", "kv")]
        >>> rows, keys = [Interval.tile(label, 4, 8) for label in ("q", "kv")]
        >>> tiles = MaskedTiles(causal(), rows, keys, (8, 8), Visits(causal(), 8, 8, *cuts))
        >>> tiles.skips(Spot({"q": 0, "kv": 1}))
        True
        """
        return self.visits is not None and self.visits.skips(spot.numbers)

    def cropped(self, spot: Spot) -> Mask | None:
        """The mask of a tile that is visited; None where it excludes no pair.

        >>> from perfmodel.graph.masks import causal
        >>> tiles = MaskedTiles(causal(), Interval.whole(4), Interval.tile("kv", 2, 4), (4, 4))
        >>> tiles.cropped(Spot({"kv": 1})).pairs(4, 2)  # rows 2 and 3 see keys 2 and 3
        3
        """
        return cropped(self.mask, self._looks(self._row_ends(spot), self._key_ends(spot)))

    @cached_property
    def _looks(self) -> Callable[[_Ends, _Ends], Look]:
        return looks_of(self.mask, *self.extents)

    @cached_property
    def _row_ends(self) -> Callable[[Spot], _Ends]:
        return _ends_of(self.rows)

    @cached_property
    def _key_ends(self) -> Callable[[Spot], _Ends]:
        return _ends_of(self.keys)


def _ends_of(interval: Interval) -> Callable[[Spot], _Ends]:
    """The ends of an interval in a tile, worked out once for all tiles that it is the same in."""
    labels = interval.labels
    known: dict[tuple[int, ...], _Ends] = {}

    def ends(spot: Spot) -> _Ends:
        numbers = tuple([spot.numbers[label] for label in labels])
        if numbers not in known:
            start, stop = interval.at(spot.numbers)
            known[numbers] = (int(start), int(stop))
        return known[numbers]

    return ends


def masked_tiles(op: Op, space: Mapping[str, Interval], visits: Visits | None) -> MaskedTiles | None:
    """The tiles of an op, if it has a mask of which a tile holds a part.

    >>> from perfmodel import attention, fuse, tile
    >>> tiled = tile(fuse(attention(8, 8, 4, causal=True)), grid={"q": 4}).counted[0].tiled
    >>> masked_tiles(tiled.needs[0].op, tiled.needs[0].space, None).labels
    ('q',)
    """
    extents, mask = _extents(op), op.mask
    if mask is None or all(space[label] == Interval.whole(extent) for label, extent in extents.items()):
        return None
    return MaskedTiles(mask, space[mask.query], space[mask.key], (extents[mask.query], extents[mask.key]), visits)


def made_spaces(needs: Sequence[Need]) -> list[dict[str, Interval]]:
    """The interval of each label of each op: all that a tile makes, rows without a key included.

    Rows and keys that no tile moves are there in full, whatever the mask shows of them; so are keys of which some
    ops see what the rows of a tile need and others more.

    >>> from perfmodel import attention, fuse, tile
    >>> tiled = tile(fuse(attention(8, 8, 4, causal=True)), grid={"q": 4}).counted[0].tiled
    >>> {space["kv"].at({"q": 0}) for space in made_spaces(tiled.needs)}
    {(0, 4)}
    """
    found = [{**need.space, **dict(zip(need.op.output.tensor.labels, need.output, strict=True))} for need in needs]
    masked = [(need, space, label) for need, space in zip(needs, found, strict=True) for label in _extents(need.op)]
    seen: dict[str, set[Interval]] = {}
    for _, space, label in masked:
        seen.setdefault(label, set()).add(space[label])
    for need, space, label in masked:
        hulls = [interval for interval in seen[label] if label not in interval.labels]
        if not space[label].labels or (len(hulls) > 1 and space[label] in hulls):
            space[label] = Interval.whole(_extents(need.op)[label])
    return found


def _extents(op: Op) -> dict[str, Size]:
    """The extents of the rows and keys of an op that is masked."""
    mask = op.mask
    return {} if mask is None else {label: extent for label, extent in op.space if label in (mask.query, mask.key)}
