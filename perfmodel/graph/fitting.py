"""The largest tiles that fit: what the error about a level that is too small suggests instead."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from perfmodel.errors import CapacityError, PerfModelError
from perfmodel.expressions import Size, smallest
from perfmodel.graph.cuttings import Cutting
from perfmodel.graph.holding import block_bytes, block_rows, largest_block
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.memory import total_held
from perfmodel.graph.tiled import Tiled
from perfmodel.graph.tilings import OPTIONS, Cut, Tiling


def capped(tiling: Tiling, most: int) -> Tiling:
    """The tiling with every tile that is larger than ``most`` cut down to it.

    >>> capped(Tiling(grid=(Cut("m", 128), Cut("n", 16))), 64).grid
    (Cut(label='m', size=64), Cut(label='n', size=16))
    """
    grid, stream = [tuple([Cut(name, smallest(size, most)) for name, size in c]) for c in (tiling.grid, tiling.stream)]
    return replace(tiling, grid=grid, stream=stream)


def largest_fitting(kernel: Kernel, tiling: Tiling, leaving: frozenset[str], room: int) -> int | None:
    """The largest common cap on the tile sizes under which a block fits in ``room`` bytes; None where none is found.

    Found by bisection between 1 and the sizes asked for, which do not fit: with the cap that is returned the block
    fits, with one more it does not.

    >>> from perfmodel import matmul
    >>> tiling = Tiling(grid=(Cut("m", 128), Cut("n", 128)), stream=(Cut("k", 32),))
    >>> largest_fitting(matmul(256, 256, 256).kernels[0], tiling, frozenset(["C"]), 32768)  # 2 (2 * 99 * 32 + 99^2)
    99
    """
    fits, over = 0, max([int(size) for _, size in tiling.cuts], default=1)
    if over == 1 or not _fits(kernel, capped(tiling, 1), leaving, room):
        return None
    fits = 1
    while over - fits > 1:
        middle = (fits + over) // 2
        if _fits(kernel, capped(tiling, middle), leaving, room):
            fits = middle
        else:
            over = middle
    return fits


def _fits(kernel: Kernel, tiling: Tiling, leaving: frozenset[str], room: int) -> bool:
    needed = _needed(kernel, tiling, leaving)
    return isinstance(needed, int) and needed <= room


def _needed(kernel: Kernel, tiling: Tiling, leaving: frozenset[str]) -> Size | None:
    """What a block needs, or None where such tiles cannot be."""
    tiled = Tiled(kernel, tiling, leaving)
    try:
        tiled.check()
        return block_bytes(tiled)
    except PerfModelError:
        return None


def check_rooms(kernels: Sequence[Kernel], leaving: frozenset[str], verb: str) -> None:
    """Refuse tiles that need more bytes than they were given, where both are numbers.

    >>> from perfmodel import matmul
    >>> check_rooms(matmul(8, 8, 8).kernels, frozenset(), "at")
    """
    for kernel in kernels:
        if any(tiling.capacity_bytes is not None for tiling in kernel.tiles):
            question = partial(check_room, verb=verb, alone=len(kernels) == 1)
            Cutting(kernel, leaving & frozenset(kernel.made)).asked(question)


def check_room(cutting: Cutting, verb: str, *, alone: bool) -> None:
    """Refuse a kernel of which a tile needs more bytes than its level was said to have.

    ``alone`` says that the program has no other kernel.

    >>> from perfmodel import matmul, tile
    >>> p = tile(matmul(8, 8, 8), m=4, capacity_bytes=1024)
    >>> check_room(p.counted[0].cutting, "tile", alone=True)
    """
    for blocks in cutting.blocks:
        tiling = blocks[0].tiling
        if not isinstance(tiling.capacity_bytes, int):
            continue
        tiled = largest_block(blocks)
        rows = block_rows(tiled)
        needed = total_held(rows)
        if isinstance(needed, int) and needed > tiling.capacity_bytes:
            raise CapacityError(
                f"{verb}: a block of {tiled.kernel.name!r} needs {needed} bytes of {tiling.level!r}, which has "
                f"{tiling.capacity_bytes}: "
                + ", ".join(f"{role} {name} {held}" for role, name, held in rows)
                + advice(tiled.kernel, tiling, tiled.leaving, alone=alone)
            )


def advice(kernel: Kernel, tiling: Tiling, leaving: frozenset[str], *, alone: bool) -> str:
    """The end of the message about a block that does not fit: the largest tiles that do, with a line to paste.

    ``alone`` says that the program has no other kernel, so that the line need not pick this one.

    >>> from perfmodel import matmul
    >>> tiling = Tiling(grid=(Cut("m", 128), Cut("n", 128)), stream=(Cut("k", 32),), capacity_bytes=32768)
    >>> advice(matmul(256, 256, 256).kernels[0], tiling, frozenset(["C"]), alone=True)
    ". Tiles of up to 99 fit, in 32274 bytes: pm.tile(p, m=99, n=99, stream={'k': 32}, capacity_bytes=32768)"
    """
    room = tiling.capacity_bytes
    if not isinstance(room, int) or not all(isinstance(size, int) for size in tiling.sizes):
        return ""
    most = largest_fitting(kernel, tiling, leaving, room)
    if most is None:
        least = _needed(kernel, capped(tiling, 1), leaving)
        return "" if least is None else f". No tile of these labels fits: even tiles of 1 need {least} bytes"
    found = capped(tiling, most)
    line = written(kernel, found, only="" if alone else kernel.name)
    return f". Tiles of up to {most} fit, in {_needed(kernel, found, leaving)} bytes: {line}"


def written(kernel: Kernel, tiling: Tiling, only: str = "") -> str:
    """The call of ``tile`` that cuts a kernel so.

    >>> from perfmodel import matmul
    >>> written(matmul(64, 64, 64).kernels[0], Tiling("l2", (Cut("m", 8),), (Cut("k", 4),), buffers=2))
    "pm.tile(p, m=8, stream={'k': 4}, level='l2', buffers=2)"
    """
    reduced = {label for op in kernel.ops for label in op.reduced}
    bare = all(
        label.isidentifier() and label not in {"program", *OPTIONS, *(reduced - {*tiling.atomic})}
        for label, _ in tiling.grid
    )
    parts = [f"{label}={size}" for label, size in tiling.grid] if bare else [f"grid={_mapping(tiling.grid)}"]
    parts += [f"stream={_mapping(tiling.stream)}"] if tiling.stream else []
    parts += [f"level={tiling.level!r}"] * (tiling.level != "shared")
    parts += [f"buffers={tiling.buffers}"] * (tiling.buffers != 1)
    parts += [f"atomic={tiling.atomic!r}"] * bool(tiling.atomic)
    parts += [f"spill={tiling.spill!r}"] * bool(tiling.spill)
    parts += [f"redundant={tiling.redundant!r}"] * (tiling.redundant != "allow")
    parts += [] if tiling.capacity_bytes is None else [f"capacity_bytes={tiling.capacity_bytes}"]
    parts += [f"only={only!r}"] * bool(only)
    return f"pm.tile(p, {', '.join(parts)})"


def _mapping(cuts: Collection[Cut]) -> str:
    return repr(dict(cuts))
