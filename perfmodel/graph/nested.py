"""Counts of tiles inside tiles: what each level asks of the one around it, summed over every outer tile.

Outer tiles that look alike (all but the last along a label, or but those at the rim of a window) are counted once
and multiplied. Where sizes are symbols, a count is a sum of terms in the length of a tile, and each is summed
over full tiles and the ragged one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product as combinations

import sympy

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, product, total
from perfmodel.graph.alike import check_alike, groups_of, kinds_of
from perfmodel.graph.counting import Transfer, Work, work
from perfmodel.graph.intervals import Trip
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.segments import Segment, segments_of
from perfmodel.graph.spans import at_most
from perfmodel.graph.spots import Spot
from perfmodel.graph.tile_sums import sum_over_tiles
from perfmodel.graph.tiled import Tiled
from perfmodel.graph.tilings import Cut, Tiling


@dataclass(frozen=True)
class Share:
    """One kind of outer tile: how many there are, and the tiles inside it."""

    number: Size
    inside: Tiled | Nested
    largest: Tiled | Nested  # the tiles inside the largest of this kind, where their length is a symbol
    summed: tuple[tuple[sympy.Symbol, Trip], ...] = ()

    def total(self, count: Size) -> Size:
        """A count of one tile, over all tiles of this kind."""
        for symbol, trip in self.summed:
            count = sum_over_tiles(count, symbol, trip)
        return product([self.number, count])


@dataclass(frozen=True)
class Nested:
    """A tiling whose tiles are cut again.

    >>> from perfmodel import matmul
    >>> from perfmodel.graph.tilings import Cut
    >>> inner = Tiling("shared", (Cut("m", 16), Cut("n", 16)))
    >>> outer = Tiled(matmul(256, 256, 256).kernels[0], Tiling("l2", (Cut("m", 64), Cut("n", 64))), frozenset(["C"]))
    >>> [(t.tensor, t.elements) for t in Nested(outer, (inner,)).levels()["l2"]]  # n^3 / 16 each
    [('A', 1048576), ('B', 1048576), ('C', 65536)]
    """

    tiled: Tiled
    inner: tuple[Tiling, ...]

    @property
    def kernel(self) -> Kernel:
        """The kernel that is cut."""
        return self.tiled.kernel

    @cached_property
    def segments(self) -> list[Segment]:
        """The runs of ops in an outer tile."""
        return segments_of(self.tiled)

    @cached_property
    def shares(self) -> list[Share]:
        """Every kind of outer tile."""
        return [share for segment in self.segments for share in self._shares(segment, frozenset())]

    @cached_property
    def full_shares(self) -> list[Share]:
        """The same with whole outer tiles along labels that nothing inside cuts: what hardware issues."""
        cuts = [cut for tiling in self.inner for cut in tiling.cuts]
        cut = {found.label for found in cuts if not self._covers(found)}
        whole = frozenset([label for label in self.tiled.trips if label not in cut])
        if not whole:
            return self.shares
        return [share for segment in self.segments for share in self._shares(segment, whole)]

    def _shares(self, segment: Segment, whole: frozenset[str]) -> Iterator[Share]:
        around = [*self.tiled.grid, *segment.path]
        kinds = [list(self._kinds(group, segment, whole)) for group in groups_of(around, segment)]
        for chosen in combinations(*kinds):
            numbers = {label: number for _, spot, _ in chosen for label, number in spot.numbers.items()}
            lengths = {label: length for _, spot, _ in chosen for label, length in spot.lengths.items()}
            inside = self._inside(segment, Spot(numbers, lengths), whole)
            summed = tuple([item for _, _, items in chosen for item in items])
            full = Spot(numbers, {**lengths, **{trip.label: trip.size for _, trip in summed}})
            largest = self._inside(segment, full, whole) if summed else inside
            yield Share(product([number for number, _, _ in chosen]), inside, largest, summed)

    def _kinds(
        self, group: Sequence[str], segment: Segment, whole: frozenset[str]
    ) -> Iterator[tuple[Size, Spot, tuple[tuple[sympy.Symbol, Trip], ...]]]:
        """The different tiles along some labels that move things together."""
        trips = [self.tiled.trips[label] for label in group]
        plain = len(trips) == 1 and segment.is_plain(trips[0])
        if not all(isinstance(size, int) for trip in trips for size in (trip.size, trip.extent)):
            if not plain:
                raise DimensionError(
                    f"tile: tiles inside tiles along {group[0]!r}, which windows or masks move or padding ends, are "
                    "counted at given sizes; bind the symbols with p.at(...)"
                )
            if group[0] in whole:
                yield trips[0].count, Spot(lengths={group[0]: trips[0].size}), ()
                return
            name = f"{group[0]}@{self.tiled.tiling.level}"  # which no label can be called
            symbol = sympy.Symbol(name, integer=True, positive=True)
            yield 1, Spot(lengths={group[0]: symbol}), ((symbol, trips[0]),)
            return
        if not plain:
            check_alike(trips, segment, self.inner)
        for number, spot in self._listed(trips, segment, plain, whole):
            yield number, spot, ()

    def _listed(
        self, trips: Sequence[Trip], segment: Segment, plain: bool, whole: frozenset[str]
    ) -> Iterator[tuple[int, Spot]]:
        counts = [int(trip.count) for trip in trips]
        if plain:
            (trip,), (count,) = trips, counts
            ragged = trip.extent % trip.size != 0 and trip.label not in whole
            yield count - ragged, Spot({trip.label: 0})
            if ragged:
                yield 1, Spot({trip.label: count - 1})
            return
        yield from kinds_of([trip.label for trip in trips], counts, segment)

    def _inside(self, segment: Segment, spot: Spot, whole: frozenset[str]) -> Tiled | Nested:
        """The tiles inside one tile; along ``whole`` labels its innermost tiles are issued in full."""
        inner = self._cutting(segment, spot)
        seen = {label: interval for space in segment.spaces for label, interval in space.items()}
        deeper = {label for tiling in inner for label in tiling.labels}
        one = [label for label in self._sizes if label not in {*self.tiled.trips, *deeper}]  # which one tile holds
        full = [Cut(label, self._sizes[label]) for label in (*sorted(whole), *one)]
        full = [cut for cut in full if isinstance(cut.size, int) and cut.label in seen]
        full = [cut for cut in full if at_most(spot.length(seen[cut.label]), cut.size)]
        last = replace(inner[-1], grid=(*inner[-1].grid, *full))
        return inside_tile(segment, spot, self.tiled.kernel.name, (*inner[:-1], last))

    @cached_property
    def _sizes(self) -> dict[str, Size]:
        """The sizes of the outer tiles, those of one tile included."""
        return dict(self.tiled.tiling.cuts)

    def _covers(self, cut: Cut) -> bool:
        """Whether a tile inside holds all of an outer one at any size: it cuts nothing."""
        return cut.label in self._sizes and at_most(self._sizes[cut.label], cut.size)

    def _cutting(self, segment: Segment, spot: Spot) -> list[Tiling]:
        """The levels inside without what cuts nothing of an outer tile, because it holds all of one.

        A label that a reduction sees in full is not the outer tile's: there it may be cut.
        """
        covering = {cut.label for each in self.inner for cut in each.cuts if self._covers(cut)}
        if not covering:
            return list(self.inner)
        ops = segment.kernel(spot, self.kernel.name).ops
        lengths = {axis.label: axis.extent for op in ops for axis in op.space}
        own = {label for label in covering if self._is_own(label, lengths.get(label), spot)}
        found = []
        for tiling in self.inner:
            cuts = [cut for cut in tiling.cuts if cut.label in own]
            idle = {cut.label for cut in cuts if self._covers(cut)}
            found.append(tiling.within(set(tiling.labels) - idle))
            own -= set(found[-1].labels)  # what a level cuts, it decides for those inside it
        return found

    def _is_own(self, label: str, length: Size | None, spot: Spot) -> bool:
        """Whether a label of an outer tile's ops is as long as the tile, and not as its whole extent."""
        if label in spot.lengths:
            return length == spot.lengths[label]
        return length is not None and at_most(length, self._sizes[label])

    def works(self) -> tuple[Work, ...]:
        """The work of every innermost tile together."""
        return self._works(self.shares, issued=False)

    def issued_works(self) -> tuple[Work, ...]:
        """The same in whole innermost tiles."""
        return self._works(self.full_shares, issued=True)

    def _works(self, shares: Sequence[Share], *, issued: bool) -> tuple[Work, ...]:
        found: dict[Work, list[Size]] = {}
        for share in shares:
            for item in share.inside.issued_works() if issued else share.inside.works():
                found.setdefault(item._replace(operations=0), []).append(share.total(item.operations))
        for segment in self.segments:
            for need in segment.needs:  # what is left to do when a reduction over outer trips is complete
                if need.makes in segment.updated:
                    for item in work(need.op, 0, self.tiled.results(need, segment.path, padding=issued)):
                        found.setdefault(item._replace(operations=0), []).append(item.operations)
        return tuple([kind._replace(operations=total(sizes)) for kind, sizes in found.items()])

    def macs(self) -> Size:
        """Multiply-accumulates of every innermost tile together."""
        return total([share.total(share.inside.macs()) for share in self.shares])

    def transfers(self) -> tuple[Transfer, ...]:
        """What the outermost tiles load and store."""
        return self.tiled.transfers()

    def levels(self) -> dict[str, tuple[Transfer, ...]]:
        """What tiles inside request, by the level that serves them."""
        mine: dict[tuple[str, str], list[tuple[Size, Size]]] = {}
        notes: dict[tuple[str, str], str] = {}
        deeper: dict[str, dict[tuple[str, str], list[tuple[Size, Size]]]] = {self.tiled.tiling.level: mine}
        for share in self.shares:
            served = {self.tiled.tiling.level: share.inside.transfers()}
            served |= share.inside.levels() if isinstance(share.inside, Nested) else {}
            for level, moved in served.items():
                for item in moved:
                    key = (item.tensor, item.direction)
                    notes[key] = notes.get(key) or item.note
                    cost = (share.total(item.elements), share.total(item.bytes))
                    deeper.setdefault(level, {}).setdefault(key, []).append(cost)
        return {level: self._merged(found, notes) for level, found in deeper.items()}

    def _merged(
        self, found: dict[tuple[str, str], list[tuple[Size, Size]]], notes: dict[tuple[str, str], str]
    ) -> tuple[Transfer, ...]:
        merged = []
        for (tensor, way), costs in sorted(found.items(), key=lambda item: item[0][1] != "read"):
            elements, size = [total(list(column)) for column in zip(*costs, strict=True)]
            if elements == 0:  # all padding
                continue
            merged.append(Transfer(self.tiled.kernel.name, tensor, way, elements, size, notes[tensor, way]))
        return tuple(merged)

    def blocks(self) -> list[list[Tiled]]:
        """The kinds of tile at each level, outermost first."""
        found = [[self.tiled]]
        for share in self.shares:
            inner = [[share.largest]] if isinstance(share.largest, Tiled) else share.largest.blocks()
            for depth, blocks in enumerate(inner, start=1):
                found += [[]] if depth == len(found) else []
                found[depth] += blocks
        return found


def inside_tile(segment: Segment, spot: Spot, name: str, tiles: tuple[Tiling, ...]) -> Tiled | Nested:
    """One tile of a level, cut by the levels inside it.

    >>> from perfmodel import matmul, tile
    >>> from perfmodel.graph.tilings import Cut
    >>> segment, = segments_of(tile(matmul(8, 8, 6), m=4, stream={"k": 4}).counted[0].tiled)
    >>> halves = Tiling("shared", (Cut("m", 2),))
    >>> inside_tile(segment, Spot({"m": 0, "k": 1}), "matmul", (halves,)).transfers()[0].elements
    8
    """
    kernel = segment.kernel(spot, name)
    known = {axis.label for op in kernel.ops for axis in op.space}
    made = frozenset(kernel.made)
    tiled = Tiled(kernel, tiles[0].within(known), segment.leaving & made, segment.updated & made)
    return Nested(tiled, tiles[1:]) if len(tiles) > 1 else tiled
