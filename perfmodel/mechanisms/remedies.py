"""What raises an occupancy, each change tried before it is proposed; and the working of one in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from perfmodel.errors import CapacityError
from perfmodel.mechanisms.allotting import Block, by_warps, fitting, warp_registers, warps_of
from perfmodel.mechanisms.wording import counted
from perfmodel.showing import percent

if TYPE_CHECKING:
    from perfmodel.mechanisms.residency import Occupancy


def remedies(o: Occupancy) -> tuple[str, ...]:
    """Changes that let more warps in: fewer registers, less shared memory, another block size.

    >>> from perfmodel import occupancy
    >>> for line in remedies(occupancy("9.0", threads=128, registers=160)):
    ...     print(line)
    128 registers a thread allow 4 blocks: 25 %
    """
    if not o.blocks:
        return tuple(_to_launch(o))
    return tuple(_smaller(o)) + tuple(_other_sizes(o))


def _to_launch(o: Occupancy) -> Iterator[str]:
    """What the block has to be to be launched at all."""
    found = []
    for says, most in (
        ("blocks of at most {:,} threads", o.most_threads),
        ("at most {:,} registers a thread", o.most_registers),
        ("at most {:,} bytes of shared memory a block", o.most_shared_bytes),
    ):
        value = _or_none(lambda most=most: most(1))  # type: ignore[misc]
        if value:
            found.append(says.format(value))
    if found:
        yield ", or ".join(found)


def _or_none(find: Callable[[], int]) -> int | None:
    try:
        return find()
    except CapacityError:
        return None


def _smaller(o: Occupancy) -> Iterator[str]:
    """One block more through fewer registers or less shared memory, where that alone is enough."""
    more = o.blocks + 1
    if "registers" in o.limiters:
        registers = _or_none(lambda: o.most_registers(more))
        if registers:
            yield f"{registers} registers a thread allow {counted(more, 'block')}: {_share(o, registers=registers)}"
    if "shared memory" in o.limiters:
        shared = _or_none(lambda: o.most_shared_bytes(more))
        if shared:
            blocks = counted(more, "block")
            yield f"{shared:,} bytes of shared memory a block allow {blocks}: {_share(o, shared=shared)}"


def _share(o: Occupancy, registers: int | None = None, shared: int | None = None) -> str:
    block = replace(
        o.block,
        registers=o.registers if registers is None else registers,
        shared_bytes=o.shared_bytes if shared is None else shared,
    )
    return percent(fitting(o.limits, block)[0] * o.fraction_of(1))


def _other_sizes(o: Occupancy) -> Iterator[str]:
    """The block size that fills most warps with the same registers a thread and shared memory a block."""
    all_warps = o.limits.max_warps or (o.limits.max_threads or 1) // o.limits.warp
    most = min(all_warps, (o.limits.max_threads_per_block or 2048) // o.limits.warp)
    sizes = [Block(o.limits.warp * warps, o.registers, o.shared_bytes) for warps in range(1, min(most, 64) + 1)]
    if not sizes:
        return
    filled = {size.threads: fitting(o.limits, size)[0] * warps_of(o.limits, size) for size in sizes}
    best = max(filled, key=lambda threads: (filled[threads], -abs(threads - o.threads)))
    if filled[best] * o.limits.warp > o.resident_threads and filled[best] > o.warps:
        share = percent(filled[best] / all_warps)
        yield f"blocks of {best} threads: {filled[best]} of {all_warps} warps, {share}"


def worked(o: Occupancy) -> list[str]:
    """How many blocks each resource holds, and why, a line each.

    >>> from perfmodel import occupancy
    >>> for line in worked(occupancy("9.0", threads=32, registers=32, shared_bytes=32 * 1024)):
    ...     print(line)
    6 blocks, 6 of 64 warps: 9.4 %, limited by shared memory
    registers      64 blocks: 32 a thread as given out, 1,024 a warp; 64 warps in 4 partitions
    shared memory   6 blocks: 33,792 bytes a block (1,024 reserved) of 233,472  <- limits
    threads        64 blocks: 1 warp a block of 64
    blocks         32 blocks: as many as are kept track of
    remedy         32,256 bytes of shared memory a block allow 7 blocks: 11 %
    remedy         blocks of 512 threads: 64 of 64 warps, 100 %
    from           NVIDIA CUDA Programming Guide, compute capabilities, 2026
    ...
    """
    lines = [o.comments()[0]]
    width = max((len(str(blocks)) for blocks in o.room.values()), default=1)
    for name, blocks in o.room.items():
        mark = "  <- limits" if o.blocks and name in o.limiters else ""
        lines.append(f"{name:<14} {blocks:>{width}} {'block' if blocks == 1 else 'blocks'}: {_why(o, name)}{mark}")
    lines += [f"not launched   {_broken(o, rule)}" for rule in (() if o.blocks else o.limiters)]
    lines += [f"remedy         {line}" for line in o.remedies]
    opt_in = o.limits.shared_bytes_without_opt_in
    if o.blocks and opt_in is not None and o.shared_bytes > opt_in:
        lines.append(f"note           over {opt_in:,} bytes of shared memory a block: the kernel has to opt in")
    heads = ["from           ", *[" " * 15] * len(o.limits.sources)]
    return lines + [f"{head}{source}" for head, source in zip(heads, o.limits.sources, strict=False)]


def _why(o: Occupancy, name: str) -> str:
    limits = o.limits
    if name == "registers":
        return _given_registers(o)
    if name == "shared memory":
        kept = f" ({limits.shared_reserved_bytes:,} reserved)" if limits.shared_reserved_bytes else ""
        return f"{o.allocated_shared_bytes:,} bytes a block{kept} of {limits.shared_bytes or 0:,}"
    if name == "blocks":
        return "as many as are kept track of"
    if limits.max_warps is None:
        return f"{o.threads:,} threads a block of {limits.max_threads:,}"
    return f"{counted(o.warps_per_block, 'warp')} a block of {limits.max_warps:,}"


def _given_registers(o: Occupancy) -> str:
    """What a warp's registers come to, in words."""
    limits, each = o.limits, warp_registers(o.limits, o.block)
    if not by_warps(limits) or not each:
        return f"{o.registers:,} a thread, {o.registers * o.threads:,} a block of {limits.registers or 0:,}"
    warps = (limits.registers or 0) // limits.partitions // each * limits.partitions
    inside = f" in {limits.partitions} partitions" if limits.partitions > 1 else ""
    return f"{each / limits.warp:g} a thread as given out, {each:,} a warp; {counted(warps, 'warp')}{inside}"


def _broken(o: Occupancy, rule: str) -> str:
    limits = o.limits
    need, most = {
        "threads per block": (o.threads, limits.max_threads_per_block),
        "registers per thread": (o.registers, limits.max_registers_per_thread),
        "registers per block": (o.allocated_registers, limits.registers_per_block),
        "shared memory per block": (o.shared_bytes, limits.shared_bytes_per_block),
    }.get(rule, (0, 0))
    return f"{rule}: {need:,} of {most or 0:,}" if need else f"{rule}: one block is more than all there is"
