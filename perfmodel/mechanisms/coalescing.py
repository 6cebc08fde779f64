"""Warp transactions: the lines and sectors of memory that the threads of a warp ask for in one instruction.

pm.transactions("32*t", element_bytes=4, line_bytes=128)         32 lines for 32 threads
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.errors import DimensionError, brief
from perfmodel.mechanisms.addresses import addresses
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.given_values import whole
from perfmodel.mechanisms.merging_requests import in_order, touched
from perfmodel.mechanisms.wording import call, counted
from perfmodel.showing import percent

_USUAL = {
    "element_bytes": 4, "line_bytes": 128, "sector_bytes": 32, "offset_bytes": 0, "threads": 32, "warp": 32,
    "block": None,
}  # fmt: skip
_MOST_UNIT = 2**20


def transactions(
    index: Any,
    element_bytes: int = 4,
    line_bytes: int = 128,
    *,
    sector_bytes: int | None = None,
    offset_bytes: int = 0,
    threads: int = 32,
    warp: int = 32,
    block: Any = None,
) -> Transactions:
    """The lines that a load x[index] touches, warp by warp, and the share of them that is used.

    ``index`` is text in ``t`` (and ``lane``, ``warp``; ``x``, ``y``, ``z``, ``block`` where ``block`` gives the
    shape of a block of threads), a function of t, or a list of one index for each thread; in elements of
    ``element_bytes``, from ``offset_bytes`` past a line's start. A line holds sectors (of 32 bytes, unless said),
    the least that memory moves on NVIDIA GPUs; ``efficiency`` is by lines, ``sector_efficiency`` by sectors.
    ``ExpressionError`` for an index that is none or is before the start, ``DimensionError`` for what is no size.

    >>> transactions("2*t")
    transactions('2*t')
    # 2 lines of 128 B for 1 warp: 50 % of their bytes used; 8 sectors of 32 B: 50 %
    >>> transactions("32*t").lines, transactions("32*t").sector_efficiency
    (32, 0.125)
    """
    line = whole(line_bytes, "line_bytes", "transactions", 1, _MOST_UNIT)
    usual = 32 if line % 32 == 0 else line
    sector = usual if sector_bytes is None else whole(sector_bytes, "sector_bytes", "transactions", 1, _MOST_UNIT)
    if line % sector:
        raise DimensionError(f"transactions: line_bytes = {line}: not whole sectors of {sector} bytes")
    found = addresses(
        index, "transactions", element_bytes=element_bytes, offset_bytes=offset_bytes, threads=threads, warp=warp,
        block=block, most_bytes=_MOST_UNIT,
    )  # fmt: skip
    units = {line: 0, sector: 0, 1: 0}
    for lanes in found.launch.pieces():
        starts = in_order(found.of(lanes))
        for unit in units:
            units[unit] += touched(starts, found.element_bytes, unit)
    of = found.launch
    return Transactions(
        found.index.text,
        found.element_bytes, line, sector, found.offset_bytes, of.threads, of.warp, of.shape, of.warps,
        units[line], units[sector], units[1], found.stride(),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Transactions(Answer):
    """The lines and sectors that warps touch, and the distinct bytes in them that are used.

    >>> transactions("t", element_bytes=2).bytes_used
    64
    """

    index: str
    element_bytes: int
    line_bytes: int
    sector_bytes: int
    offset_bytes: int
    threads: int
    warp: int
    block: tuple[int, int, int] | None
    warps: int
    lines: int
    sectors: int
    bytes_used: int
    stride: int | None

    @property
    def bytes_requested(self) -> int:
        """What all threads ask for, a byte that several ask for counted as often.

        >>> transactions("0*t").bytes_requested == 32 * 4
        True
        """
        return self.threads * self.element_bytes

    @property
    def bytes_of_lines(self) -> int:
        """The bytes of all lines touched.

        >>> transactions("2*t").bytes_of_lines == 2 * 128
        True
        """
        return self.lines * self.line_bytes

    @property
    def bytes_of_sectors(self) -> int:
        """The bytes of all sectors touched.

        >>> transactions("32*t").bytes_of_sectors == 32 * 32
        True
        """
        return self.sectors * self.sector_bytes

    @property
    def efficiency(self) -> float:
        """Distinct bytes used over the bytes of the lines.

        >>> transactions("32*t").efficiency == 4 / 128
        True
        """
        return self.bytes_used / self.bytes_of_lines

    @property
    def sector_efficiency(self) -> float:
        """Distinct bytes used over the bytes of the sectors.

        >>> transactions("2*t").sector_efficiency
        0.5
        """
        return self.bytes_used / self.bytes_of_sectors

    @property
    def lines_per_warp(self) -> float:
        """Lines for each warp, on average.

        >>> transactions("2*t", threads=128).lines_per_warp
        2.0
        """
        return self.lines / self.warps

    @property
    def elements_per_line(self) -> int:
        """The whole elements that one line holds.

        >>> transactions("t", line_bytes=64).elements_per_line
        16
        """
        return self.line_bytes // self.element_bytes

    @property
    def least_lines(self) -> int:
        """The lines that hold the used bytes of a warp on average, side by side and aligned, for all warps.

        >>> transactions("32*t").least_lines
        1
        """
        return self.warps * -(-self.bytes_used // (self.warps * self.line_bytes))

    @property
    def made(self) -> str:
        """The expression that makes it.

        >>> transactions("t", element_bytes=2).made
        "transactions('t', element_bytes=2)"
        """
        given = {name: getattr(self, name) for name in _USUAL}
        usual = {**_USUAL, "sector_bytes": 32 if self.line_bytes % 32 == 0 else self.line_bytes}
        return call("transactions", brief(self.index, 200), given, usual)

    def comments(self) -> list[str]:
        """What matters most, a line each.

        >>> transactions("t").comments()
        ['1 line of 128 B for 1 warp: 100 % of their bytes used; 4 sectors of 32 B: 100 %']
        """
        return [
            f"{counted(self.lines, 'line')} of {self.line_bytes} B for {counted(self.warps, 'warp')}: "
            f"{percent(self.efficiency)} of their bytes used; {counted(self.sectors, 'sector')} of "
            f"{self.sector_bytes} B: {percent(self.sector_efficiency)}"
        ]

    def working(self) -> list[str]:
        """How the lines follow.

        >>> for line in transactions("32*t").working():
        ...     print(line)
        asked    32 threads x 4 B = 128 B, 128 B of them distinct
        stride   32 elements = 128 B from lane to lane
        lines    32 of 128 B = 4,096 B: 3.1 % used
        sectors  32 of 32 B = 1,024 B: 12 % used
        remedy   neighbouring threads on neighbouring elements: 1 line
        """
        lines = [
            f"asked    {counted(self.threads, 'thread')} x {self.element_bytes} B = {self.bytes_requested:,} B, "
            f"{self.bytes_used:,} B of them distinct"
        ]
        if self.stride is not None:
            apart = f"{counted(self.stride, 'element')} = {self.stride * self.element_bytes:,} B"
            lines.append(f"stride   {apart} from lane to lane")
        lines += [
            f"lines    {self.lines:,} of {self.line_bytes} B = {self.bytes_of_lines:,} B: {percent(self.efficiency)} "
            "used",
            f"sectors  {self.sectors:,} of {self.sector_bytes} B = {self.bytes_of_sectors:,} B: "
            f"{percent(self.sector_efficiency)} used",
        ]
        if self.lines > self.least_lines:
            lines.append(
                f"remedy   neighbouring threads on neighbouring elements{self._and_aligned()}: "
                f"{counted(self.least_lines, 'line')}"
            )
        return lines

    def _and_aligned(self) -> str:
        return f", from the start of a {self.line_bytes}-byte line" if self.offset_bytes % self.line_bytes else ""
