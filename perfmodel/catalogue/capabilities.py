"""What a multiprocessor of each CUDA compute capability holds, and in what portions it gives that out.

Volta (7.0) to Blackwell (12.0), in this one place. Sizes are in registers of 32 bits and bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from perfmodel.catalogue.parts import Source
from perfmodel.errors import MachineError, brief, listed

KIB = 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What blocks on one multiprocessor share. None is no limit, or not known; a portion of 1 rounds nothing.

    ``registers`` is the register file, split evenly over ``partitions``: a warp lives in one of them and takes
    ``registers_portion`` at a time; ``warps_portion`` rounds up the warps of a block that registers are given to.
    A block takes shared memory in ``shared_portion`` bytes, after ``shared_reserved_bytes`` for the system;
    ``shared_bytes`` is the largest of ``carveouts`` (splits of ``unified_bytes`` of L1 and shared memory).

    >>> Limits(max_threads=2048, max_blocks=32).registers is None
    True
    """

    name: str = "limits"
    warp: int = 32
    max_threads: int | None = None
    max_warps: int | None = None
    max_blocks: int | None = None
    registers: int | None = None
    shared_bytes: int | None = None
    max_threads_per_block: int | None = None
    max_registers_per_thread: int | None = None
    registers_per_block: int | None = None
    shared_bytes_per_block: int | None = None
    shared_bytes_without_opt_in: int | None = None
    registers_portion: int = 1
    warps_portion: int = 1
    partitions: int = 1
    shared_portion: int = 1
    shared_reserved_bytes: int = 0
    unified_bytes: int | None = None
    carveouts: tuple[int, ...] = ()
    cluster_blocks: int | None = None
    cluster_blocks_with_opt_in: int | None = None
    cluster_scope: str | None = None
    sources: tuple[Source, ...] = ()


_GUIDE = Source("NVIDIA CUDA Programming Guide, compute capabilities", "2026")
_HEADER = Source("NVIDIA cuda_occupancy.h of CUDA 11 to 13.2 (allocation portions)", "2026")
_AMPERE = Source("NVIDIA, Ampere Architecture In-Depth, table 4", "2020-05")
_DEVICES = Source("cudaGetDeviceProperties of an A100, an H100 and two RTX cards (reserved shared memory)", "2026")
_CLUSTERS = Source("NVIDIA CUDA Programming Guide, thread block clusters; Hopper and Blackwell tuning guides", "2025")

_SMALL = (0, 8, 16, 32, 64, 100)  # KiB of shared memory that L1 can be asked to give up
_MEDIUM = (*_SMALL, 132, 164)
_LARGE = (*_MEDIUM, 196, 228)


def _volta(name: str, warps: int, blocks: int, unified: int, carveouts: tuple[int, ...], source: Source) -> Limits:
    """Compute capability 7.x: nothing is reserved, and shared memory is given out in 256 bytes."""
    return Limits(
        name=name,
        max_threads=32 * warps,
        max_warps=warps,
        max_blocks=blocks,
        registers=65_536,
        shared_bytes=carveouts[-1] * KIB,
        max_threads_per_block=1024,
        max_registers_per_thread=255,
        registers_per_block=65_536,
        shared_bytes_per_block=carveouts[-1] * KIB,
        shared_bytes_without_opt_in=48 * KIB,
        registers_portion=256,
        partitions=4,
        shared_portion=256,
        unified_bytes=unified * KIB,
        carveouts=tuple(kib * KIB for kib in carveouts),
        sources=(source, _HEADER),
    )


def _ampere(name: str, warps: int, blocks: int, unified: int, carveouts: tuple[int, ...]) -> Limits:
    """From 8.0 the system keeps 1 KiB of each block, and shared memory is given out in 128 bytes."""
    return replace(
        _volta(name, warps, blocks, unified, carveouts, _GUIDE),
        shared_bytes_per_block=(carveouts[-1] - 1) * KIB,
        shared_portion=128,
        shared_reserved_bytes=KIB,
        sources=(_GUIDE, _HEADER, _DEVICES),
    )


def _hopper(
    name: str, warps: int, blocks: int, unified: int, carveouts: tuple[int, ...], cluster: int | None
) -> Limits:
    """From 9.0 blocks may form clusters, which run at once on one GPC: 8 everywhere, more where asked for."""
    return replace(
        _ampere(name, warps, blocks, unified, carveouts),
        cluster_blocks=8,
        cluster_blocks_with_opt_in=cluster,
        cluster_scope="GPC",
        sources=(_GUIDE, _HEADER, _DEVICES, _CLUSTERS),
    )


CAPABILITIES: dict[str, Limits] = {
    limits.name: limits
    for limits in (
        _volta("7.0", 64, 32, 128, (0, 8, 16, 32, 64, 96), _AMPERE),
        _volta("7.5", 32, 16, 96, (32, 64), _GUIDE),
        _ampere("8.0", 64, 32, 192, _MEDIUM),
        _ampere("8.6", 48, 16, 128, _SMALL),
        _ampere("8.7", 48, 16, 192, _MEDIUM),
        _ampere("8.9", 48, 24, 128, _SMALL),
        _hopper("9.0", 64, 32, 256, _LARGE, 16),
        _hopper("10.0", 64, 32, 256, _LARGE, 16),
        _hopper("10.3", 64, 32, 256, _LARGE, None),
        _hopper("12.0", 48, 24, 128, _SMALL, None),
    )
}


def capability(name: str) -> Limits:
    """The limits of a compute capability.

    >>> capability("9.0").shared_bytes_per_block == 227 * 1024
    True
    >>> capability("6.1")
    Traceback (most recent call last):
    perfmodel.errors.MachineError: no limits of compute capability '6.1'; there are 7.0, 7.5, 8.0, 8.6, ...
    """
    if name not in CAPABILITIES:
        raise MachineError(f"no limits of compute capability {brief(name)}; there are {listed(CAPABILITIES)}")
    return CAPABILITIES[name]
