"""Shared-memory banks: how many passes a warp's access takes when several words lie in one bank.

pm.bank_conflicts("32*t")                                        a column of a 32-wide tile: 32 passes
pm.bank_conflicts("33*t")                                        with one column of padding: 1

Words of 4 bytes go round 32 banks; each bank gives one word a pass, to every thread that asks for it. Accesses of 8
and of 16 bytes are served for half and quarter warps in turn, so that each turn asks for no more than a word a bank
(NVIDIA CUDA Programming Guide, shared memory; NVIDIA developer forums for the wide accesses).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any

from perfmodel.errors import brief
from perfmodel.mechanisms.addresses import Addresses, addresses
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.bank_passes import passes
from perfmodel.mechanisms.given_values import whole
from perfmodel.mechanisms.wording import call, counted

_MOST_PADDING = 64  # elements of a row that are tried
_USUAL = {
    "element_bytes": 4, "banks": 32, "bank_bytes": 4, "offset_bytes": 0, "threads": 32, "warp": 32, "block": None,
}  # fmt: skip


def bank_conflicts(
    index: Any,
    element_bytes: int = 4,
    banks: int = 32,
    bank_bytes: int = 4,
    *,
    offset_bytes: int = 0,
    threads: int = 32,
    warp: int = 32,
    block: Any = None,
) -> BankConflicts:
    """The passes that a warp's access of shared memory takes, and the padding that would make it one.

    ``index`` is text in ``t`` (and ``lane``, ``warp``; ``x``, ``y``, ``z``, ``block`` where ``block`` gives the
    shape of a block of threads), a function of t, or a list of one index for each thread; in elements of
    ``element_bytes``, from ``offset_bytes`` past the first bank. ``degree`` is the most words that any bank has to
    give in one turn. ``ExpressionError`` for an index that is none, ``DimensionError`` for what is no size.

    >>> bank_conflicts("32*t")
    bank_conflicts('32*t')
    # 32 passes where 1 is the least: 32-way conflict
    # rows of 33 elements instead of 32: no conflict
    >>> bank_conflicts("33*t").passes
    1
    """
    number = whole(banks, "banks", "bank_conflicts", 1, 1024)
    width = whole(bank_bytes, "bank_bytes", "bank_conflicts", 1, 128)
    found = addresses(
        index, "bank_conflicts", element_bytes=element_bytes, offset_bytes=offset_bytes, threads=threads, warp=warp,
        block=block,
    )  # fmt: skip
    total, least, degree = passes(found, number, width)
    of = found.launch
    return BankConflicts(
        found.index.text,
        found.element_bytes, number, width, found.offset_bytes, of.threads, of.warp, of.shape, of.warps,
        total, least, degree, found.stride(), _padding(found, number, width) if degree > 1 else 0,
    )  # fmt: skip


def _padding(found: Addresses, banks: int, width: int) -> int | None:
    """The fewest elements added to an even stride that end the conflicts; None where no padding does."""
    stride = found.stride()
    if stride is None:
        return None
    for more in range(1, _MOST_PADDING + 1):
        other = addresses(
            f"t * {abs(stride) + more}", found.verb, element_bytes=found.element_bytes, threads=found.launch.warp,
            warp=found.launch.warp,
        )  # fmt: skip
        if passes(other, banks, width)[2] == 1:
            return more
    return None


@dataclass(frozen=True, slots=True, repr=False)
class BankConflicts(Answer):
    """The passes of an access of shared memory.

    >>> bank_conflicts("24*t").degree
    8
    """

    index: str
    element_bytes: int
    banks: int
    bank_bytes: int
    offset_bytes: int
    threads: int
    warp: int
    block: tuple[int, int, int] | None
    warps: int
    passes: int
    least_passes: int
    degree: int
    stride: int | None
    padding: int | None

    @property
    def conflict(self) -> bool:
        """Whether some bank has to give several words in one turn.

        >>> bank_conflicts("0*t").conflict, bank_conflicts("2*t").conflict
        (False, True)
        """
        return self.degree > 1

    @property
    def slowdown(self) -> float:
        """Passes over the fewest for elements so wide.

        >>> bank_conflicts("16*t").slowdown
        16.0
        """
        return self.passes / self.least_passes

    @property
    def padded_stride(self) -> int | None:
        """The least even stride from the given one up without a conflict, in elements; None where there is none.

        >>> bank_conflicts("32*t").padded_stride, bank_conflicts("31*t").padded_stride
        (33, 31)
        """
        return None if self.stride is None or self.padding is None else abs(self.stride) + self.padding

    @property
    def padding_bytes(self) -> int | None:
        """What the padding costs in shared memory: a row for each thread of a warp.

        >>> bank_conflicts("32*t").padding_bytes == 32 * 1 * 4
        True
        """
        return None if self.padding is None else self.warp * self.padding * self.element_bytes

    @property
    def made(self) -> str:
        """The expression that makes it.

        >>> bank_conflicts("t", element_bytes=8).made
        "bank_conflicts('t', element_bytes=8)"
        """
        return call("bank_conflicts", brief(self.index, 200), {name: getattr(self, name) for name in _USUAL}, _USUAL)

    def comments(self) -> list[str]:
        """What matters most, a line each.

        >>> bank_conflicts("t", element_bytes=16).comments()
        ['4 passes where 4 is the least: no conflict']
        """
        kind = f"{self.degree}-way conflict" if self.conflict else "no conflict"
        lines = [f"{counted(self.passes, 'pass', 'passes')} where {self.least_passes:,} is the least: {kind}"]
        if self.padding:
            lines.append(f"rows of {self.padded_stride} elements instead of {abs(self.stride or 0)}: no conflict")
        return lines

    def working(self) -> list[str]:
        """How the passes follow.

        >>> for line in bank_conflicts("32*t").working():
        ...     print(line)
        banks    32 of 4 B; each gives one word a pass, to all threads that ask for it
        stride   32 elements = 128 B; gcd(32 words, 32 banks) = 32 threads a bank
        passes   32 for 1 warp of 32 threads, 1 at the least: 32-way conflict
        remedy   rows of 33 elements instead of 32: 4,224 B instead of 4,096 B for 32 rows
        """
        kind = f"{self.degree}-way conflict" if self.conflict else "no conflict"
        lines = [
            f"banks    {self.banks} of {self.bank_bytes} B; each gives one word a pass, to all threads that ask for it"
        ]
        if self.stride is not None:
            lines.append(f"stride   {self._stride_said()}")
        lines.append(
            f"passes   {self.passes:,} for {counted(self.warps, 'warp')} of {self.warp} threads, "
            f"{self.least_passes:,} at the least: {kind}"
        )
        if self.padding:
            lines.append(f"remedy   {self._padded()}")
        return lines

    def _padded(self) -> str:
        now, padded = abs(self.stride or 0), self.padded_stride or 0
        before, after = (self.warp * each * self.element_bytes for each in (now, padded))
        rows = f"{after:,} B instead of {before:,} B for {self.warp} rows"
        return f"rows of {padded} elements instead of {now}: {rows}"

    def _stride_said(self) -> str:
        apart = abs(self.stride or 0) * self.element_bytes
        said = f"{counted(self.stride or 0, 'element')} = {apart:,} B"
        if apart == 0:
            return f"{said}: all threads read one word"
        if apart % self.bank_bytes or self.element_bytes != self.bank_bytes:
            return said
        words = apart // self.bank_bytes
        return f"{said}; gcd({words} words, {self.banks} banks) = {counted(gcd(words, self.banks), 'thread')} a bank"
