"""Tiling: cutting labels into blocks that run apart and loops inside a block."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from perfmodel.errors import LabelError, TransformError, brief, did_you_mean, listed
from perfmodel.expressions import Size, size
from perfmodel.graph.arguments import is_one_of, names_given
from perfmodel.graph.cuttings import Cutting
from perfmodel.graph.fitting import check_room
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.needs import Need
from perfmodel.graph.programs import Program
from perfmodel.graph.sums import lengths_sum
from perfmodel.graph.tiled import Tiled
from perfmodel.graph.tilings import OPTIONS, Cut, Tiling
from perfmodel.transforms.selecting import Only, check_label, checked_program, chosen

_MOST_BUFFERS = 32
_REDUNDANT = ("allow", "forbid")
_LEVELS = (  # those of the chips that are known, outermost first
    "infinity-cache", "system-cache", "l3", "l2", "cmem", "l1", "shared", "vmem", "sbuf", "sram", "unified-buffer",
    "tensor-memory", "accumulators", "registers",
)  # fmt: skip
_MEMORIES = ("memory", "hbm", "dram", "ddr", "gddr", "vram", "device", "global")


def tile(
    program: Program,
    *,
    grid: Mapping[str, Any] | None = None,
    stream: Mapping[str, Any] | None = None,
    level: str = "shared",
    buffers: int = 1,
    spill: Collection[str] = (),
    redundant: str = "allow",
    capacity_bytes: Any = None,
    atomic: Collection[str] = (),
    only: Only = None,
    **cuts: Any,
) -> Program:
    """The program with kernels cut into tiles: sizes by label, in every kernel that has the label.

    ``grid`` labels become blocks that run apart, ``stream`` labels loops inside a block, outermost first. Bare keywords
    (``tile(p, m=128, n=128)``) put labels in the grid that a kernel keeps and does not reduce. A tile as large as its
    extent is no loop, and is issued whole (``issued_flops``). Each block asks for what its output tile needs: bytes are
    what blocks request, no cache is assumed. ``spill`` names accumulators that are read and written on each outer trip
    (and loaded where a later loop reads them), ``buffers=2`` stages inputs twice, 4 in a pipeline of four stages,
    ``redundant="forbid"`` refuses ops that several blocks would repeat, and ``capacity_bytes`` a block whose footprint
    exceeds it. ``atomic`` names reduced labels in the grid whose blocks combine in memory a sum, a maximum or a minimum
    that only leaves the kernel: its identity is written once, and each block reads and writes its part. Formulas in
    symbols take no tile to be larger than its label, each loop to make two trips or more, and two blocks or more to
    combine (``p.assumptions``); ``p.at`` is exact at any size. An accumulator is held in its tensor's format: give it
    another (``out_dtype="fp32"``, ``cast(p, C="fp32")``) where partial sums stay wider on chip. A second tiling of a
    kernel at one ``level`` replaces the first; at another it nests: "l2" tiles stand around "shared" ones and those
    around "registers", and ``p.traffic("l2")`` is what the tiles inside ask of those of "l2". A level of one's own chip
    may have any other name: its tiles stand inside those that there are. Under a mask, tiles without an allowed pair
    are skipped at every level; where outer tiles cut it, they are counted at given sizes.

    >>> from perfmodel import matmul
    >>> p = tile(matmul(4096, 4096, 4096, dtype="fp32"), m=128, n=128)
    >>> p.bytes_read == 2 * 4096**3 // 128 * 4, p.flops == 2 * 4096**3
    (True, True)
    """
    checked_program(program, "tile")
    _check_said(grid, stream, level, buffers, spill, redundant)
    for label in (*(grid or {}), *cuts, *(stream or {})):
        check_label(program, label, "tile", "cuts it", OPTIONS)
    twice = [label for label in cuts if label in (grid or {})]
    if twice:
        raise TransformError(f"tile: {twice[0]!r} is given as a keyword and in grid=; give it once")
    blocks = _sizes({**(grid or {}), **cuts}, "tile")
    loops = _sizes(stream or {}, "tile")
    both = [label for label in blocks if label in loops]
    if both or not (blocks or loops):
        raise TransformError(f"tile: {both[0]!r} is both in the grid and streamed" if both else "tile: no label given")
    room = None if capacity_bytes is None else size(capacity_bytes, "capacity_bytes")
    selected = {kernel.name for kernel in chosen(program, only, "tile")}
    in_grid, in_loops = [tuple([Cut(*pair) for pair in found.items()]) for found in (blocks, loops)]
    told = Tiling(level, in_grid, in_loops, tuple(spill), redundant, buffers, room, _atomic(atomic, blocks))
    bare = frozenset(cuts)
    _check_reduced(program, selected, told.atomic)
    kernels = [_cut(program, item, told, bare) if item.name in selected else item for item in program.kernels]
    said = _said(grid or {}, stream or {}, cuts, told, only)
    return program.rewritten(tuple(kernels), f"tile({said})")


def _check_said(grid: Any, stream: Any, level: Any, buffers: Any, spill: Any, redundant: Any) -> None:
    """Refuse what is no mapping, level, number of buffers, list of names or choice."""
    for name, found in (("grid", grid), ("stream", stream)):
        if found is not None and not isinstance(found, Mapping):
            raise LabelError(f"tile: {name} maps labels to sizes, such as {{'m': 128}}; got {found!r}")
    if not isinstance(level, str) or not level.replace("-", "_").isidentifier():
        raise TransformError(f"tile: level={level!r}: a level is a name, such as 'shared' or 'l2'")
    if isinstance(spill, str) or not (isinstance(spill, Collection) and all(isinstance(name, str) for name in spill)):
        raise LabelError(f"tile: spill={spill!r}: names of tensors, such as ['C']")
    inside = level.lower() not in _MEMORIES
    near = did_you_mean(level, _LEVELS) * inside
    if not inside or (level not in _LEVELS and near):
        raise TransformError(f"tile: level={level!r}: tiles stand inside memory, at {listed(_LEVELS)}{near}")
    if not is_one_of(redundant, _REDUNDANT):
        raise TransformError(f"tile: redundant={redundant!r} is not one of {listed(_REDUNDANT)}")
    if not isinstance(buffers, int) or isinstance(buffers, bool) or not 1 <= buffers <= _MOST_BUFFERS:
        most = f"or up to {_MOST_BUFFERS} where inputs are staged ahead"
        raise TransformError(f"tile: buffers={brief(buffers)}: 1, {most}")


def _sizes(given: Mapping[str, Any], verb: str) -> dict[str, Size]:
    return {label: size(value, f"{verb}: {label}") for label, value in given.items()}


def _atomic(labels: Collection[str], blocks: Mapping[str, Size]) -> tuple[str, ...]:
    """The labels whose blocks add in memory: each of them is in the grid."""
    found = names_given(labels, "tile: atomic=")
    for label in found:
        if label not in blocks:
            raise LabelError(f"tile: atomic={label!r} is not in the grid, which has {listed(blocks)}")
    return found


def _check_reduced(program: Program, selected: Collection[str], labels: Collection[str]) -> None:
    """Blocks have something to add in memory along a label that is reduced."""
    ops = [op for kernel in program.kernels if kernel.name in selected for op in kernel.ops]
    reduced = dict.fromkeys([label for op in ops for label in op.reduced])
    for label in [label for label in labels if label not in reduced]:
        raise TransformError(
            f"tile: atomic={label!r}: nothing reduces {label!r} here, so its blocks have nothing to add up in memory; "
            f"reduced are {listed(reduced)}"
        )


def _cut(program: Program, kernel: Kernel, told: Tiling, bare: frozenset[str]) -> Kernel:
    """One kernel with the cuts of the labels that it has."""
    own = {axis.label for op in kernel.ops for axis in op.space}
    grid = tuple([Cut(label, tile) for label, tile in told.grid if label in own])
    stream = tuple([Cut(label, tile) for label, tile in told.stream if label in own])
    if not grid and not stream:
        return kernel
    reduced = {label: op.name for op in kernel.ops for label in op.reduced}
    for label, _ in grid:
        if label in bare and label in reduced and label not in told.atomic:
            raise TransformError(
                f"tile: {label!r} is reduced by {reduced[label]!r} in kernel {kernel.name!r}, so blocks along it would "
                f"each need all of it; say grid={{{label!r}: ..}} for that, or stream={{{label!r}: ..}} to loop over it"
            )
    atomic = tuple([label for label in told.atomic if label in reduced and label in own])
    tiling = replace(told, grid=grid, stream=stream, atomic=atomic)
    found = replace(kernel, tiles=_nested(kernel.tiles, tiling))
    _check(program, found, tiling)
    return found


def checked_kernel(program: Program, kernel: Kernel, tiling: Tiling, inner: Collection[Tiling] = ()) -> Kernel:
    """The kernel cut by a tiling with others inside it, unless it cannot be.

    >>> from perfmodel import matmul
    >>> p = matmul(8, 8, 8)
    >>> checked_kernel(p, p.kernels[0], Tiling(grid=(Cut("m", 4),))).tiles[0].labels
    ('m',)
    """
    found = replace(kernel, tiles=(tiling, *inner))
    _check(program, found, tiling)
    return found


def _nested(tiles: tuple[Tiling, ...], new: Tiling) -> tuple[Tiling, ...]:
    """The levels with one more, or with one replaced; named memory levels in their order, others inside."""
    if any(item.level == new.level for item in tiles):
        return tuple([new if item.level == new.level else item for item in tiles])
    if new.level not in _LEVELS:
        return (*tiles, new)
    rank = _LEVELS.index(new.level)
    inside = [place for place, item in enumerate(tiles) if item.level in _LEVELS and _LEVELS.index(item.level) > rank]
    place = inside[0] if inside else len(tiles)
    return (*tiles[:place], new, *tiles[place:])


def _check(program: Program, kernel: Kernel, tiling: Tiling) -> None:
    """Refuse what the tiling forbids: repeated ops, and a block larger than its level."""
    for name in tiling.spill:
        if name not in kernel.made:
            raise LabelError(f"tile: spill={name!r}: {kernel.name!r} makes {listed(kernel.made)}")
    alone = len(program.kernels) == 1
    Cutting(kernel, program.leaving & frozenset(kernel.made)).asked(partial(_check_blocks, alone=alone))


def _check_blocks(cutting: Cutting, *, alone: bool) -> None:
    _ = cutting.works, cutting.transfers  # what cannot be counted is refused
    for blocks in cutting.blocks:
        for tiled in blocks:
            tiled.check()
            _check_repeated(tiled)
            _check_added(tiled)
    check_room(cutting, "tile", alone=alone)


def _check_added(tiled: Tiled) -> None:
    """Something adds in memory along each label that is said to."""
    for label in tiled.tiling.atomic:
        if label in tiled.grid and not any(label in tiled.added(need) for need in tiled.needs):
            raise TransformError(
                f"tile: atomic={label!r}: {tiled.kernel.name!r} has no result over {label!r} that only leaves it; what "
                "its own ops use has to be complete"
            )


def _check_repeated(tiled: Tiled) -> None:
    for need, _ in tiled.runs() if tiled.tiling.redundant == "forbid" else ():
        missing = [label for label in tiled.grid if label not in need.labels]
        if missing and need.op.function != "copy":
            raise TransformError(
                f"tile: {need.op.name!r} lacks the grid label {missing[0]!r}: each block along it would repeat it"
            )
        if _overlapping(tiled, need):
            raise TransformError(f"tile: {need.op.name!r} is repeated where the tiles of its readers overlap (halos)")


def _overlapping(tiled: Tiled, need: Need) -> bool:
    """Whether several blocks make the same results of an op, because windows read around their tiles."""
    for axis, interval in zip(need.op.output.tensor.axes, need.output, strict=True):
        trips = [label for label in interval.labels if label in tiled.grid]
        if len(trips) == 1 and lengths_sum([interval], tiled.trips) != axis.extent:
            return True
    return False


def _said(grid: Mapping[str, Any], stream: Mapping[str, Any], cuts: Mapping[str, Any], told: Tiling, only: Only) -> str:
    """The arguments as they stand in the history."""
    said = [f"{label}={value}" for label, value in cuts.items()]
    said += [f"grid={dict(grid)}"] * bool(grid) + [f"stream={dict(stream)}"] * bool(stream)
    said += [f"atomic={told.atomic}"] * bool(told.atomic) + [f"spill={told.spill}"] * bool(told.spill)
    said += [f"level={told.level!r}"] * (told.level != "shared") + [f"buffers={told.buffers}"] * (told.buffers != 1)
    said += [f"redundant={told.redundant!r}"] * (told.redundant != "allow")
    said += [f"capacity_bytes={told.capacity_bytes}"] * (told.capacity_bytes is not None)
    said += [f"only={only!r}"] * (only is not None)
    return ", ".join(said)
