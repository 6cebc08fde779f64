"""One tile among those of a level: by its numbers, or, where sizes are symbols, by its length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perfmodel.expressions import Size
from perfmodel.graph.intervals import Interval


@dataclass(frozen=True, slots=True)
class Spot:
    """Which tile is meant: numbers of blocks and trips, or, for sizes in symbols, the length of a tile.

    >>> Spot({"m": 2}).length(Interval.tile("m", 128, 300))
    44
    """

    numbers: Mapping[str, int] = field(default_factory=dict)
    lengths: Mapping[str, Size] = field(default_factory=dict)

    def start(self, interval: Interval) -> Size:
        """Where an interval starts (0 for a tile of symbols: only differences of equal starts are asked for).

        >>> Spot({"m": 2}).start(Interval.tile("m", 128, 300))
        256
        """
        return 0 if self._symbol(interval) is not None else interval.at(self.numbers)[0]

    def length(self, interval: Interval) -> Size:
        """How far its ends are apart.

        >>> Spot().length(Interval.whole(8))
        8
        """
        symbol = self._symbol(interval)
        if symbol is not None:
            return symbol
        start, stop = interval.at(self.numbers)
        return stop - start

    def _symbol(self, interval: Interval) -> Size | None:
        return next((self.lengths[label] for label in interval.labels if label in self.lengths), None)
