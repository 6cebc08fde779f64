"""How many blocks fit on one multiprocessor: by formulas, and by an allocator that places them one by one.

The rules and portions are those of NVIDIA's cuda_occupancy.h: warps of a block are whole; a warp's registers are
rounded up to a portion and lie in one of the partitions of the register file; shared memory is rounded up after
what the system reserves for each block.
"""

from __future__ import annotations

from dataclasses import dataclass

from perfmodel.catalogue.capabilities import Limits
from perfmodel.expressions import LARGEST_SIZE

RESOURCES = ("registers", "shared memory", "threads", "blocks")  # the order in which several limiters are named


@dataclass(frozen=True, slots=True)
class Block:
    """What one block asks for.

    >>> Block(256, 64, 0).threads
    256
    """

    threads: int
    registers: int
    shared_bytes: int


def round_up(value: int, portion: int) -> int:
    """The least multiple of a portion that is not below a value.

    >>> round_up(2944, 256)
    3072
    """
    return -(-value // portion) * portion


def warps_of(limits: Limits, block: Block) -> int:
    """The warps of a block.

    >>> warps_of(Limits(), Block(224, 64, 0))
    7
    """
    return -(-block.threads // limits.warp)


def warp_registers(limits: Limits, block: Block) -> int:
    """The registers that one warp is given.

    >>> warp_registers(Limits(registers_portion=256), Block(224, 92, 0))
    3072
    """
    return round_up(block.registers * limits.warp, limits.registers_portion)


def block_registers(limits: Limits, block: Block) -> int:
    """The registers that a launch is checked for, warps rounded up; where nothing is rounded, one thread at a time.

    >>> block_registers(Limits(registers_portion=64, warps_portion=2), Block(224, 48, 0)) == 48 * 32 * 8
    True
    """
    if not by_warps(limits):
        return block.registers * block.threads
    each = max(limits.warps_portion, limits.partitions)
    return warp_registers(limits, block) * round_up(warps_of(limits, block), each)


def by_warps(limits: Limits) -> bool:
    """Whether registers are given out by whole warps; plain limits give them out by threads.

    >>> by_warps(Limits()), by_warps(Limits(registers_portion=256))
    (False, True)
    """
    return (limits.registers_portion, limits.warps_portion, limits.partitions) != (1, 1, 1)


def block_shared(limits: Limits, block: Block) -> int:
    """The shared memory that a block is given, what is reserved for the system included.

    >>> block_shared(Limits(shared_portion=128, shared_reserved_bytes=1024), Block(32, 8, 32 * 1024)) == 33 * 1024
    True
    """
    return round_up(block.shared_bytes + limits.shared_reserved_bytes, limits.shared_portion)


def impossible(limits: Limits, block: Block) -> tuple[str, ...]:
    """The rules by which a block of this kind cannot be launched at all; none where it can.

    >>> from perfmodel.catalogue.capabilities import capability
    >>> impossible(capability("8.0"), Block(512, 156, 0))
    ('registers per block',)
    """
    asked = {
        "threads per block": (block.threads, limits.max_threads_per_block),
        "registers per thread": (block.registers, limits.max_registers_per_thread),
        "registers per block": (block_registers(limits, block), limits.registers_per_block),
        "shared memory per block": (block.shared_bytes, limits.shared_bytes_per_block),
    }
    return tuple(name for name, (need, most) in asked.items() if most is not None and need > most)


def room(limits: Limits, block: Block) -> dict[str, int]:
    """How many blocks each resource alone would hold, those without a limit left out.

    >>> from perfmodel.catalogue.capabilities import capability
    >>> room(capability("8.0"), Block(224, 92, 0))
    {'registers': 2, 'shared memory': 164, 'threads': 9, 'blocks': 32}
    """
    found = {
        "registers": _by_registers(limits, block),
        "shared memory": _share(limits.shared_bytes, block_shared(limits, block)),
        "threads": _by_threads(limits, block),
        "blocks": limits.max_blocks,
    }
    return {name: blocks for name, blocks in found.items() if blocks is not None}


def _share(of: int | None, each: int) -> int | None:
    return None if of is None or each == 0 else of // each


def _by_registers(limits: Limits, block: Block) -> int | None:
    """Each partition holds whole warps; the warps of all of them are shared out to blocks."""
    each = warp_registers(limits, block)
    if limits.registers is None or each == 0:
        return None
    if not by_warps(limits):
        return limits.registers // (block.registers * block.threads)
    warps = limits.registers // limits.partitions // each * limits.partitions
    return warps // round_up(warps_of(limits, block), limits.warps_portion)


def _by_threads(limits: Limits, block: Block) -> int | None:
    of_threads = _share(limits.max_threads, block.threads)
    of_warps = _share(limits.max_warps, warps_of(limits, block))
    return min((each for each in (of_threads, of_warps) if each is not None), default=None)


def fitting(limits: Limits, block: Block) -> tuple[int, tuple[str, ...]]:
    """How many blocks are resident at once, and what limits them.

    >>> from perfmodel.catalogue.capabilities import capability
    >>> fitting(capability("9.0"), Block(256, 32, 0))
    (8, ('registers', 'threads'))
    """
    broken = impossible(limits, block)
    if broken:
        return 0, broken
    held = room(limits, block)
    least = min(held.values(), default=LARGEST_SIZE)
    return least, tuple(name for name in RESOURCES if held.get(name) == least)


class Allocator:
    """One multiprocessor that takes blocks one at a time, their warps into the partition with the most registers left.

    >>> from perfmodel.catalogue.capabilities import capability
    >>> Allocator(capability("8.0")).fill(Block(224, 92, 0))
    2
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        whole = limits.partitions if by_warps(limits) else 1
        self.files = [None if limits.registers is None else limits.registers // whole] * whole
        self.shared, self.threads, self.warps, self.blocks = (
            limits.shared_bytes,
            limits.max_threads,
            limits.max_warps,
            limits.max_blocks,
        )

    def fill(self, block: Block) -> int:
        """Place blocks of one kind until one does not fit; how many did.

        >>> Allocator(Limits(max_threads=1536, max_blocks=4)).fill(Block(512, 0, 0))
        3
        """
        placed = 0
        while not impossible(self.limits, block) and self.place(block):
            placed += 1
        return placed

    def place(self, block: Block) -> bool:
        """Take one block if everything it asks for is free; else take nothing.

        >>> Allocator(Limits(max_warps=1)).place(Block(33, 0, 0))
        False
        """
        files = self._seated(block)
        left = [
            _less(self.shared, block_shared(self.limits, block)),
            _less(self.threads, block.threads),
            _less(self.warps, warps_of(self.limits, block)),
            _less(self.blocks, 1),
        ]
        if files is None or any(each is not None and each < 0 for each in left):
            return False
        self.files, (self.shared, self.threads, self.warps, self.blocks) = files, left
        return True

    def _seated(self, block: Block) -> list[int | None] | None:
        """The register files after each warp of the block is seated, or None where one finds no room."""
        files = list(self.files)
        warps = round_up(warps_of(self.limits, block), self.limits.warps_portion)
        asked = [warp_registers(self.limits, block)] * warps
        if not by_warps(self.limits):
            asked = [block.registers] * block.threads
        for registers in asked:
            place = max(range(len(files)), key=lambda each: files[each] or 0)
            left = _less(files[place], registers)
            if left is not None and left < 0:
                return None
            files[place] = left
        return files


def _less(free: int | None, asked: int) -> int | None:
    return None if free is None else free - asked
