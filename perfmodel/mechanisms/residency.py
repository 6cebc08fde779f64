"""Occupancy: how much of a multiprocessor's room for warps a kernel's blocks fill, what limits it, and what would help.

o = pm.occupancy("h100-sxm", threads=256, registers=64)
o.blocks, o.warps, o.fraction, o.limiter                        4, 32, 0.5, 'registers'
o.most_registers(8)                                             32: what lets 8 blocks in
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from perfmodel.catalogue.capabilities import Limits
from perfmodel.errors import CapacityError
from perfmodel.mechanisms.allotting import (
    Block,
    block_registers,
    block_shared,
    fitting,
    room,
    warps_of,
)
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.given_values import whole
from perfmodel.mechanisms.sharing import carved, limits_of
from perfmodel.mechanisms.wording import call, counted
from perfmodel.showing import percent

_USUAL = {"threads": 256, "registers": 64, "shared_bytes": 0, "carveout_bytes": None}
_MOST = 2**31


def occupancy(
    machine_or_limits: Any,
    threads: int = 256,
    registers: int = 64,
    shared_bytes: int = 0,
    *,
    carveout_bytes: int | None = None,
) -> Occupancy:
    """How many blocks of a kernel are resident at once on one multiprocessor, and what limits that.

    The first argument is a machine or its name, a compute capability from "7.0" to "12.0" (with the portions in
    which it gives out registers and shared memory), or a mapping of limits: ``max_threads`` or ``max_warps``,
    ``max_blocks``, ``registers``, ``shared_bytes`` and others, which round nothing unless a portion is among
    them. ``threads`` and ``shared_bytes`` are of a block, ``registers`` of a thread. ``carveout_bytes`` asks for
    less shared memory than the most (the rest is L1). A block that cannot be launched is an answer too: 0 blocks,
    and the rule that it breaks. ``DimensionError`` for what is no count, ``MachineError`` for unknown limits.

    >>> occupancy("h100-sxm", threads=256, registers=64)
    occupancy('h100-sxm')
    # 4 blocks, 32 of 64 warps: 50 %, limited by registers
    # 48 registers a thread allow 5 blocks: 62 %
    >>> occupancy("8.0", threads=512, registers=156)
    occupancy('8.0', threads=512, registers=156)
    # 0 blocks: registers per block
    # blocks of at most 384 threads, or at most 128 registers a thread
    """
    made, limits, units = limits_of(machine_or_limits)
    block = Block(
        whole(threads, "threads", "occupancy", 1, _MOST),
        whole(registers, "registers", "occupancy", 0, _MOST),
        whole(shared_bytes, "shared_bytes", "occupancy", 0),
    )
    carveout = None if carveout_bytes is None else whole(carveout_bytes, "carveout_bytes", "occupancy", 0)
    blocks, limiters = fitting(carved(limits, carveout), block)
    return Occupancy(made, carved(limits, carveout), units, *_parts(block), carveout, blocks, limiters)


def _parts(block: Block) -> tuple[int, int, int]:
    return block.threads, block.registers, block.shared_bytes


@dataclass(frozen=True, slots=True, repr=False)
class Occupancy(Answer):
    """The blocks that are resident at once, and what limits them.

    >>> occupancy("8.0", threads=224, registers=92).warps
    14
    """

    on: str
    limits: Limits
    units: int | None
    threads: int
    registers: int
    shared_bytes: int
    carveout_bytes: int | None
    blocks: int
    limiters: tuple[str, ...]

    @property
    def block(self) -> Block:
        """What one block asks for.

        >>> occupancy("9.0").block
        Block(threads=256, registers=64, shared_bytes=0)
        """
        return Block(self.threads, self.registers, self.shared_bytes)

    @property
    def limiter(self) -> str:
        """What limits the number of blocks; where several do, all of them.

        >>> occupancy("9.0", registers=32).limiter
        'registers and threads'
        """
        return " and ".join(self.limiters)

    @property
    def room(self) -> dict[str, int]:
        """How many blocks each resource alone would hold.

        >>> occupancy("9.0").room == {"registers": 4, "shared memory": 228, "threads": 8, "blocks": 32}
        True
        """
        return room(self.limits, self.block)

    @property
    def warps_per_block(self) -> int:
        """The warps of a block; the last may have fewer threads.

        >>> occupancy("9.0", threads=100).warps_per_block
        4
        """
        return warps_of(self.limits, self.block)

    @property
    def warps(self) -> int:
        """The warps that are resident at once.

        >>> occupancy("9.0").warps == 4 * 8
        True
        """
        return self.blocks * self.warps_per_block

    @property
    def resident_threads(self) -> int:
        """The threads that are resident at once.

        >>> occupancy({"max_threads": 1536, "max_blocks": 4}, threads=512).resident_threads
        1536
        """
        return self.blocks * self.threads

    @property
    def resident_blocks(self) -> int | None:
        """The blocks that are resident at once on the whole chip; None where its units are not known.

        >>> occupancy("h100-sxm").resident_blocks == 4 * 132
        True
        """
        return None if self.units is None else self.units * self.blocks

    @property
    def fraction(self) -> float:
        """The occupancy: resident warps over those that fit; over threads, where the limits name no warps.

        >>> occupancy("8.0", threads=224, registers=92).fraction == 14 / 64
        True
        """
        return self._fraction(self.blocks)

    def _fraction(self, blocks: int) -> float:
        if self.limits.max_warps is not None:
            return blocks * self.warps_per_block / self.limits.max_warps
        return blocks * self.threads / (self.limits.max_threads or 1)

    def fraction_of(self, blocks: int) -> float:
        """The occupancy of a multiprocessor that runs only so many of its blocks; ``CapacityError`` for too many.

        >>> occupancy({"max_threads": 2048, "max_blocks": 64}, threads=128).fraction_of(8)
        0.5
        """
        asked = whole(blocks, "blocks", "fraction_of", 0)
        if asked > self.blocks:
            raise CapacityError(f"fraction_of: {counted(asked, 'block')}: {self.blocks} fit, limited by {self.limiter}")
        return self._fraction(asked)

    @property
    def allocated_registers(self) -> int:
        """The registers that one block is checked for at launch, rounded as the limits say.

        >>> occupancy("8.0", threads=512, registers=156).allocated_registers == 160 * 512
        True
        """
        return block_registers(self.limits, self.block)

    @property
    def allocated_shared_bytes(self) -> int:
        """The shared memory that one block takes, with what is reserved for the system.

        >>> occupancy("9.0", threads=32, shared_bytes=32 * 1024).allocated_shared_bytes == 33 * 1024
        True
        """
        return block_shared(self.limits, self.block)

    def most_registers(self, blocks: int = 1) -> int:
        """The most registers a thread may use for so many blocks to fit; ``CapacityError`` where none does.

        >>> occupancy("h100-sxm").most_registers(8)
        32
        """
        wanted = whole(blocks, "blocks", "most_registers")
        most = self.limits.max_registers_per_thread or self.limits.registers or 0
        return self._most("registers", wanted, 0, most)

    def most_shared_bytes(self, blocks: int = 1) -> int:
        """The most shared memory a block may use for so many blocks to fit; ``CapacityError`` where none does.

        >>> occupancy("h100-sxm").most_shared_bytes(2) == 113 * 1024
        True
        """
        wanted = whole(blocks, "blocks", "most_shared_bytes")
        return self._most("shared_bytes", wanted, 0, self.limits.shared_bytes or 0)

    def most_threads(self, blocks: int = 1) -> int:
        """The most threads a block may have for so many blocks to fit; ``CapacityError`` where none does.

        >>> occupancy("8.0", registers=156).most_threads() == 12 * 32
        True
        """
        wanted = whole(blocks, "blocks", "most_threads")
        all_threads = self.limits.max_threads or (self.limits.max_warps or 1) * self.limits.warp
        return self._most("threads", wanted, 1, self.limits.max_threads_per_block or all_threads)

    def _most(self, name: str, blocks: int, least: int, most: int) -> int:
        """The largest value of one part of the block with which so many fit: what fits never grows with it."""

        def fits(value: int) -> bool:
            return fitting(self.limits, replace(self.block, **{name: value}))[0] >= blocks

        if not fits(least):
            _, limiters = fitting(self.limits, replace(self.block, **{name: least}))
            raise CapacityError(
                f"most_{name}: {counted(blocks, 'block')} of these never fit: limited by {' and '.join(limiters)}"
            )
        if fits(most):
            return most
        while most - least > 1:
            middle = (least + most) // 2
            least, most = (middle, most) if fits(middle) else (least, middle)
        return least

    @property
    def remedies(self) -> tuple[str, ...]:
        """What would let more warps in, each with what it gives; none at full occupancy.

        >>> occupancy("9.0", threads=32, registers=32).remedies
        ('blocks of 64 threads: 64 of 64 warps, 100 %',)
        """
        from perfmodel.mechanisms.remedies import remedies

        return remedies(self)

    @property
    def made(self) -> str:
        """The expression that makes it.

        >>> occupancy("9.0", threads=128, registers=64).made
        "occupancy('9.0', threads=128)"
        """
        return call("occupancy", repr(self.on), {name: getattr(self, name) for name in _USUAL}, _USUAL)

    def comments(self) -> list[str]:
        """What matters most, a line each.

        >>> occupancy("9.0", registers=32).comments()
        ['8 blocks, 64 of 64 warps: 100 %, limited by registers and threads']
        """
        if not self.blocks:
            return [f"0 blocks: {self.limiter}", *self.remedies[:1]]
        return [f"{counted(self.blocks, 'block')}, {self._filled()}, limited by {self.limiter}", *self.remedies[:1]]

    def _filled(self) -> str:
        if self.limits.max_warps is not None:
            return f"{self.warps} of {self.limits.max_warps} warps: {percent(self.fraction)}"
        return f"{self.resident_threads} of {self.limits.max_threads} threads: {percent(self.fraction)}"

    def working(self) -> list[str]:
        """How many blocks each resource holds, and why.

        >>> occupancy("8.0", threads=224, registers=92).working()[1]
        'registers        2 blocks: 96 a thread as given out, 3,072 a warp; 20 warps in 4 partitions  <- limits'
        """
        from perfmodel.mechanisms.remedies import worked

        return worked(self)
