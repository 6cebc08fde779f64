"""Byte addresses that the threads of warps ask for, from an index expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.errors import ExpressionError
from perfmodel.mechanisms.given_values import whole
from perfmodel.mechanisms.lane_values import LaneValues, lane_values
from perfmodel.mechanisms.warps import Lanes, Launch, launch

_MOST_OFFSET = 2**61


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where each thread begins to read: offset + index * element bytes.

    >>> found = addresses("2*t", "transactions", threads=4, warp=4)
    >>> [found.of(lanes)[0].tolist() for lanes in found.launch.pieces()]
    [[0, 8, 16, 24]]
    """

    verb: str
    launch: Launch
    index: LaneValues
    element_bytes: int
    offset_bytes: int

    def of(self, lanes: Lanes) -> Any:
        """The addresses of some warps; those of lanes without a thread repeat the first of the warp.

        >>> found = addresses("t", "transactions", threads=1, warp=2)
        >>> [found.of(lanes)[0].tolist() for lanes in found.launch.pieces()]
        [[0, 0]]
        """
        import numpy as np

        index = self.index.over(lanes)
        index = np.where(lanes.present, index, index[:, :1])
        largest = max(abs(int(index.min())), abs(int(index.max())))
        if largest * self.element_bytes + self.offset_bytes > _MOST_OFFSET:
            raise ExpressionError(f"{self.index.what} = {self.index.text!r}: an address beyond 2^61")
        found = index * self.element_bytes + self.offset_bytes
        if found.min() < 0:
            row, lane = (int(each) for each in np.argwhere(found < 0)[0])
            raise ExpressionError(
                f"{self.index.what} = {self.index.text!r}: thread {int(lanes['t'][row, lane])} reads at byte "
                f"{int(found[row, lane])}, before the start; add to the index or to offset_bytes"
            )
        return found

    def stride(self) -> int | None:
        """How much the index grows from lane to lane, where it does so evenly in the first warp; else None.

        >>> addresses("33*t + 5", "transactions").stride(), addresses("t ^ 1", "transactions").stride()
        (33, None)
        """
        import numpy as np

        first = Lanes(self.launch, 0, 1)
        count = int(first.present.sum())
        if count < 2:
            return None
        steps = np.diff(self.index.over(first)[0][:count])
        return int(steps[0]) if (steps == steps[0]).all() else None


def addresses(
    index: Any,
    verb: str,
    *,
    element_bytes: Any = 4,
    offset_bytes: Any = 0,
    threads: Any = 32,
    warp: Any = 32,
    block: Any = None,
    most_bytes: int = 128,
) -> Addresses:
    """The addresses of a launch, everything checked.

    >>> addresses("t", "transactions", element_bytes=0)
    Traceback (most recent call last):
    perfmodel.errors.DimensionError: transactions: element_bytes = 0: expected a whole number from 1 to 128
    """
    of = launch(threads, warp, block, verb)
    return Addresses(
        verb,
        of,
        lane_values(index, of, f"{verb}: index"),
        whole(element_bytes, "element_bytes", verb, 1, most_bytes),
        whole(offset_bytes, "offset_bytes", verb, 0, 2**60),
    )
