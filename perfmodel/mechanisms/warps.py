"""The threads of a launch by warps: which thread each lane is, and what the names in an expression stand for.

Names: ``t`` the thread, from 0 over the whole launch; ``lane`` and ``warp``; and, inside blocks of a shape,
``x``, ``y``, ``z`` the thread in its block and ``block`` the block. A block begins a new warp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from perfmodel.errors import DimensionError, brief
from perfmodel.mechanisms.given_values import whole

NAMES = ("t", "lane", "warp", "block", "x", "y", "z")
_LANES_AT_ONCE = 2**15  # what a core's cache holds a few arrays of
_MOST_THREADS = 2**31


@dataclass(frozen=True, slots=True)
class Launch:
    """So many threads, in warps of so many, and in blocks of a shape where there is one.

    >>> launch(100).warps, launch(96, block=(12, 4)).warps
    (4, 4)
    """

    threads: int
    warp: int
    shape: tuple[int, int, int] | None = None

    @property
    def block(self) -> int:
        """The threads of a block: all of them, without a shape.

        >>> launch(64, block=(16, 2)).block
        32
        """
        return self.threads if self.shape is None else self.shape[0] * self.shape[1] * self.shape[2]

    @property
    def warps_per_block(self) -> int:
        """The warps of a block, the last one perhaps not full.

        >>> launch(96, block=48).warps_per_block
        2
        """
        return -(-self.block // self.warp)

    @property
    def warps(self) -> int:
        """The warps of the launch.

        >>> launch(96, block=48).warps
        4
        """
        return self.threads // self.block * self.warps_per_block

    def pieces(self) -> Iterator[Lanes]:
        """The lanes of all warps, some thousands at once.

        >>> sum(len(piece.present) for piece in launch(100).pieces())
        4
        """
        step = max(1, _LANES_AT_ONCE // self.warp)
        for first in range(0, self.warps, step):
            yield Lanes(self, first, min(self.warps, first + step))


class Lanes:
    """Some warps of a launch as arrays of warps x lanes.

    >>> lanes = Lanes(launch(6, warp=4), 0, 2)
    >>> lanes["t"].tolist(), lanes.present.tolist()[1]
    ([[0, 1, 2, 3], [4, 5, 4, 4]], [True, True, False, False])
    """

    def __init__(self, of: Launch, first: int, last: int) -> None:
        import numpy as np

        self.launch, self.shape = of, (last - first, of.warp)
        self.warp = np.arange(first, last, dtype=np.int64)[:, None]
        self.lane = np.arange(of.warp, dtype=np.int64)[None, :]
        place = self.warp % of.warps_per_block * of.warp + self.lane
        self.present = place < of.block
        # a lane without a thread repeats the first thread of its warp, so that what it computes is never odd
        self.place = np.where(self.present, place, self.warp % of.warps_per_block * of.warp)

    def __getitem__(self, name: str) -> Any:
        """What a name stands for in each lane."""
        of = self.launch
        across, down, _ = of.shape or (of.block, 1, 1)
        block = self.warp // of.warps_per_block
        match name:
            case "t":
                return block * of.block + self.place
            case "lane":
                return self.lane
            case "warp":
                return self.warp
            case "block":
                return block
            case "x":
                return self.place % across
            case "y":
                return self.place // across % down
        return self.place // (across * down)


def launch(threads: Any, warp: Any = 32, block: Any = None, verb: str = "divergence") -> Launch:
    """A launch of whole blocks, checked.

    >>> launch(100, block=32)
    Traceback (most recent call last):
    perfmodel.errors.DimensionError: divergence: threads = 100: not whole blocks of 32; 96 or 128 are
    """
    count, lanes = whole(threads, "threads", verb, 1, _MOST_THREADS), whole(warp, "warp", verb, 1, 1024)
    if block is None:
        return Launch(count, lanes)
    sides = list(block) if isinstance(block, tuple | list) else [block]
    if not 1 <= len(sides) <= 3:
        raise DimensionError(f"{verb}: block = {brief(block)}: expected 1 to 3 sizes, such as (32, 8)")
    x, y, z = (*(whole(side, "block", verb, 1, 1024) for side in sides), *[1] * (3 - len(sides)))
    size = x * y * z
    if count % size:
        near = [each for each in (count // size * size, (count // size + 1) * size) if each]
        raise DimensionError(
            f"{verb}: threads = {count}: not whole blocks of {size}; {' or '.join(map(str, near))} are"
        )
    return Launch(count, lanes, (x, y, z))
