"""How a kernel is cut: grid labels whose blocks run apart, stream labels that are loops inside a block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from perfmodel.expressions import Size

# What tile is told by keyword besides the sizes of labels.
OPTIONS = ("grid", "stream", "level", "buffers", "spill", "redundant", "capacity_bytes", "atomic", "only")


class Cut(NamedTuple):
    """A label and the size of its tiles.

    >>> Cut("m", 128)
    Cut(label='m', size=128)
    """

    label: str
    size: Size


@dataclass(frozen=True, slots=True)
class Tiling:
    """One level of tiles around a kernel.

    ``grid`` labels become blocks, ``stream`` labels loops inside a block (outermost first). ``spill`` names
    accumulators that are read and written on every outer trip instead of being held; ``redundant`` says whether
    ops that lack a grid label may be repeated in each of its blocks; ``buffers`` is 2 or more where staged
    inputs are loaded while the last ones are worked on. ``atomic`` names reduced labels of the grid whose blocks add
    (or take the maximum) in memory, where a result only leaves the kernel.

    >>> Tiling("shared", (Cut("m", 128),)).labels
    ('m',)
    """

    level: str = "shared"
    grid: tuple[Cut, ...] = ()
    stream: tuple[Cut, ...] = ()
    spill: tuple[str, ...] = ()
    redundant: str = "allow"
    buffers: int = 1
    capacity_bytes: Size | None = None
    atomic: tuple[str, ...] = ()

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """All its cuts, those of the grid first.

        >>> Tiling("shared", (Cut("m", 128),), (Cut("k", 32),)).cuts
        (Cut(label='m', size=128), Cut(label='k', size=32))
        """
        return (*self.grid, *self.stream)

    def resized(self, change: Callable[[Size, str], Size]) -> Tiling:
        """The tiling with every size in it changed (bound to values, say); the change is told what it is the size of.

        >>> Tiling("shared", (Cut("m", 128),)).resized(lambda size, what: size // 2).grid
        (Cut(label='m', size=64),)
        """
        grid, stream = [
            tuple([Cut(label, change(size, f"the tile of {label!r}")) for label, size in cuts])
            for cuts in (self.grid, self.stream)
        ]
        room = None if self.capacity_bytes is None else change(self.capacity_bytes, "capacity_bytes")
        return replace(self, grid=grid, stream=stream, capacity_bytes=room)

    def within(self, labels: Collection[str]) -> Tiling:
        """The tiling without the cuts of labels that are not there.

        >>> Tiling("shared", (Cut("m", 128), Cut("n", 64))).within({"n"}).grid
        (Cut(label='n', size=64),)
        """
        grid, stream = [tuple([cut for cut in cuts if cut.label in labels]) for cuts in (self.grid, self.stream)]
        return replace(self, grid=grid, stream=stream, atomic=tuple([name for name in self.atomic if name in labels]))

    def renamed(self, labels: Mapping[str, str], tensors: Mapping[str, str]) -> Tiling:
        """The tiling with labels and tensors renamed.

        >>> Tiling("shared", (Cut("m", 128),)).renamed({"m": "q"}, {}).labels
        ('q',)
        """
        grid, stream = [
            tuple([Cut(labels.get(label, label), size) for label, size in cuts]) for cuts in (self.grid, self.stream)
        ]
        spill = tuple([tensors.get(name, name) for name in self.spill])
        atomic = tuple([labels.get(label, label) for label in self.atomic])
        return replace(self, grid=grid, stream=stream, spill=spill, atomic=atomic)

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes in it: of the tiles, and of the level.

        >>> Tiling("shared", (Cut("m", 128),), capacity_bytes=1024).sizes
        (128, 1024)
        """
        room = () if self.capacity_bytes is None else (self.capacity_bytes,)
        return (*[cut.size for cut in self.cuts], *room)

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels that are cut.

        >>> Tiling("shared", (Cut("m", 128),), (Cut("k", 32),)).labels
        ('m', 'k')
        """
        return tuple([cut.label for cut in self.cuts])
