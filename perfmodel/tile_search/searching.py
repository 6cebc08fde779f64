"""Searching tile sizes: every combination of the candidates, counted exactly, the best under a capacity."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.errors import (
    CapacityError,
    LabelError,
    PerfModelError,
    TransformError,
)
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.programs import Program
from perfmodel.showing import Table as Printed, Text, percent, plain_dict, quantity
from perfmodel.shown import Shown
from perfmodel.tile_search.choices import Axis, axes_of, labels_cut, number_of, room_of
from perfmodel.tile_search.tables import Cutter, Search, Sizes, Table, first_of, joined, kernel_alone
from perfmodel.transforms import tile
from perfmodel.transforms.selecting import Only, checked_program, chosen


@dataclass(frozen=True)
class BestTiles(Shown):
    """The best of all combinations of tile sizes; made by ``best_tiles``.

    ``tiles`` are the sizes by label, ``bytes`` what the whole program then moves, ``footprint_bytes`` what its
    largest block holds. Of ``candidates`` combinations ``fitting`` ones fit in ``capacity_bytes``.

    >>> from perfmodel import best_tiles, matmul
    >>> found = best_tiles(matmul(512, 512, 512), capacity_bytes=65536)
    >>> found.tiles, found.bytes == 2 * (512 * 512 * (512 // 128 + 512 // 128) + 512 * 512)
    ({'m': 128, 'n': 128, 'k': 1}, True)
    """

    program: Program
    sizes: tuple[tuple[str, int], ...]
    bytes: int
    footprint_bytes: int
    capacity_bytes: int
    candidates: int
    fitting: int
    leading: tuple[tuple[int, ...], ...]  # the best rows: sizes, bytes, footprint
    call: str

    @property
    def tiles(self) -> dict[str, int]:
        """The size of each label's tiles; a size that is the whole extent cuts nothing.

        >>> from perfmodel import best_tiles, matmul
        >>> best_tiles(matmul(64, 64, 64), grid="m", capacity_bytes=2**14).tiles
        {'m': 32}
        """
        return dict(self.sizes)

    def table(self) -> Printed:
        """The best combinations, best first.

        >>> from perfmodel import best_tiles, matmul
        >>> best_tiles(matmul(64, 64, 64), grid="m", capacity_bytes=2**14, top=2).table()
         m  bytes  footprint_bytes
        32  32768            16384
        16  49152            12288
        """
        return Printed("", (*[label for label, _ in self.sizes], "bytes", "footprint_bytes"), self.leading)

    def explain(self) -> Text:
        """What was searched, what the best moves and holds, what the next best costs, and how it is written.

        >>> from perfmodel import best_tiles, matmul
        >>> best_tiles(matmul(64, 64, 64), grid="m", capacity_bytes=2**14).explain()
        matmul: 6 of 7 combinations of m fit in 16.38 kB
          tiles   m=32: 32.77 kB moved
          held    16.38 kB, 100 % of what there is
          next    m=16: 49.15 kB moved, 50 % more
          call    pm.tile(p, grid={'m': 32})
        """
        labels = [label for label, _ in self.sizes]
        told = [(_tiles(labels, row), row[-2]) for row in self.leading]
        lines = [
            f"{self.program.name}: {self.fitting} of {self.candidates} combinations of {', '.join(labels)} fit in "
            f"{quantity(self.capacity_bytes, 'B')}",
            f"  tiles   {_tiles(labels, [size for _, size in self.sizes])}: {quantity(self.bytes, 'B')} moved",
            f"  held    {quantity(self.footprint_bytes, 'B')}, {percent(self.footprint_bytes / self.capacity_bytes)} "
            "of what there is",
        ]
        for tiles, moved in told[1:2]:
            more = "as many" if moved == self.bytes else f"{percent(moved / self.bytes - 1)} more"
            lines.append(f"  next    {tiles}: {quantity(moved, 'B')} moved, {more}")
        return Text("\n".join([*lines, f"  call    {self.call}"]))

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data.

        >>> from perfmodel import best_tiles, matmul
        >>> best_tiles(matmul(64, 64, 64), grid="m", capacity_bytes=2**14).to_dict()["tiles"]
        {'m': 32}
        """
        counts = {name: getattr(self, name) for name in ("bytes", "footprint_bytes", "capacity_bytes")}
        searched = {"candidates": self.candidates, "fitting": self.fitting}
        return plain_dict(
            {"tiles": self.tiles, **counts, **searched, "call": self.call, "best": self.table().to_dict()}
        )

    def __repr__(self) -> str:
        head = f"{self.program.name}: {quantity(self.bytes, 'B')}, a block of {quantity(self.footprint_bytes, 'B')}"
        head += f" in {quantity(self.capacity_bytes, 'B')}; {self.fitting} of {self.candidates} combinations fit"
        return f"{self.call}\n# {head}\n{self.table()!r}"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def best_tiles(
    program: Program,
    on: str | Path | Machine | None = None,
    by: str = "bytes",
    *,
    capacity_bytes: Any = None,
    sizes: str | Mapping[str, Any] | None = None,
    grid: str | Iterable[str] = (),
    stream: str | Iterable[str] = (),
    level: str = "shared",
    buffers: int = 1,
    spill: Collection[str] = (),
    redundant: str = "allow",
    only: Only = None,
    top: int = 10,
) -> BestTiles:
    """The tile sizes that move the fewest bytes, of all whose blocks fit in a level of memory.

    ``grid`` and ``stream`` name the labels that are cut, loops outermost first; where neither is given, the grid
    takes the labels of outputs that nothing reduces, and the reduced labels are streamed. ``sizes`` maps a label to
    its candidates; powers of two and the whole extent where it does not, every size for ``"all"``. The capacity is
    that of ``level`` on the machine ``on``, or ``capacity_bytes``. Every combination is counted exactly, as ``tile``
    counts it with the same ``buffers``, ``spill``, ``redundant`` and ``only``. Of equals the smaller footprint is
    better, then the larger tile of the first label, of the second and so on. ``top`` rows are kept for the table.

    ``CapacityError`` where nothing fits; ``DimensionError`` for sizes in symbols, and for too many combinations.

    >>> from perfmodel import matmul
    >>> best_tiles(matmul(4096, 4096, 4096), "h100-sxm", sizes={"k": [32]}, top=2)
    pm.tile(p, grid={'m': 256, 'n': 256}, stream={'k': 32})
    # matmul: 1.107 GB, a block of 163.8 kB in 233.5 kB; 121 of 169 combinations fit
      m    n   k       bytes  footprint_bytes
    256  256  32  1107296256           163840
    512  128  32  1375731712           172032
    """
    checked_program(program, "best_tiles")
    _check_said(by, level)
    room, rows = room_of(on, level, capacity_bytes), number_of(top, "top")
    kernels = chosen(program, only, "best_tiles")
    _check_levels(kernels, level)
    blocks, loops = labels_cut(program, kernels, grid, stream)
    axes = axes_of(kernels, [*blocks, *loops], sizes)
    spilled = _names(spill)
    options = {"level": level, "buffers": buffers, "spill": spilled, "redundant": redundant}
    cut = partial(_cut, blocks=blocks, loops=loops, options=options)
    table = _counted(program, kernels, axes, cut)
    fits = table.allowed & (table.footprint <= room)
    if not fits.any():
        raise _nothing(axes, table, level, room)
    leading = tuple([_row(axes, table, place) for place in first_of(table, fits, rows).tolist()])
    chosen_sizes = dict(zip([axis.label for axis in axes], leading[0], strict=False))
    found = cut(program, chosen_sizes, only=only)
    counts = (found.bytes, _largest_block(found, kernels, axes))
    if counts != leading[0][-2:]:  # cannot be, as the tests hold: an answer that tile contradicts is none
        raise PerfModelError(f"best_tiles: counted {leading[0][-2:]} bytes, but tile says {counts}: please report it")
    call = _call(blocks, loops, chosen_sizes, options, only)
    return BestTiles(found, tuple(chosen_sizes.items()), *counts, room, fits.size, int(fits.sum()), leading, call)


def _cut(
    program: Program,
    sizes: Sizes,
    *,
    blocks: Sequence[str],
    loops: Sequence[str],
    options: Mapping[str, Any],
    only: Only = None,
) -> Program:
    """The program cut at these sizes."""
    grid, stream = [_picked(sizes, [label for label in labels if label in sizes]) for labels in (blocks, loops)]
    return tile(program, grid=grid, stream=stream, only=only, **options)


def _check_levels(kernels: Sequence[Kernel], level: str) -> None:
    for kernel in kernels:
        for tiling in [tiling for tiling in kernel.tiles if tiling.level != level]:
            raise TransformError(
                f"best_tiles: kernel {kernel.name!r} is tiled at {tiling.level!r}; one level at a time is searched"
            )


def _counted(program: Program, kernels: Sequence[Kernel], axes: Sequence[Axis], cut: Cutter) -> Table:
    """The counts of the program at every combination."""
    named = {kernel.name for kernel in kernels}
    tables, rest = [], 0
    for kernel in program.kernels:
        alone = kernel_alone(program, kernel)
        own = tuple([axis for axis in axes if axis.label in alone.labels]) if kernel.name in named else ()
        if own:
            tables.append(([axis.label for axis in own], Search(alone, own, cut).table()))
        else:
            rest += number_of(alone.bytes, "bytes") if alone.bytes != 0 else 0
    return joined(tables, [axis.label for axis in axes], rest)


def _largest_block(program: Program, kernels: Sequence[Kernel], axes: Sequence[Axis]) -> Any:
    """The footprint of the largest block of the kernels that were cut."""
    labels = {axis.label for axis in axes}
    cut = {kernel.name for kernel in kernels if labels & {axis.label for op in kernel.ops for axis in op.space}}
    return max([item.held_bytes for item in program.counted if item.kernel.name in cut])


def _row(axes: Sequence[Axis], table: Table, place: int) -> tuple[int, ...]:
    """The sizes and counts of one combination."""
    at, rest = [], place
    for axis in reversed(axes):
        rest, number = divmod(rest, len(axis.sizes))
        at.append(number)
    sizes = [axis.sizes[number] for axis, number in zip(axes, reversed(at), strict=True)]
    return (*sizes, int(table.bytes.flat[place]), int(table.footprint.flat[place]))


def _tiles(labels: Sequence[str], sizes: Sequence[int]) -> str:
    return ", ".join([f"{label}={size}" for label, size in zip(labels, sizes, strict=False)])


def _nothing(axes: Sequence[Axis], table: Table, level: str, room: int) -> PerfModelError:
    """The error where nothing fits: what the smallest block needs, or why none is allowed."""
    if not table.allowed.any() and table.refusal is not None:
        return table.refusal
    by_footprint = Table(table.footprint, table.bytes, table.allowed)
    *sizes, _, least = _row(axes, table, int(first_of(by_footprint, table.allowed, 1)[0]))
    tiles = _tiles([axis.label for axis in axes], sizes)
    others = "" if table.refusal is None else f"; others are refused: {table.refusal}"
    return CapacityError(
        f"best_tiles: no block fits in {room} bytes of {level!r}: the least is {least}, with {tiles}{others}"
    )


def _call(blocks: Sequence[str], loops: Sequence[str], sizes: Sizes, options: Mapping[str, Any], only: Only) -> str:
    """The line that cuts the program so."""
    usual = {"level": "shared", "buffers": 1, "spill": (), "redundant": "allow"}
    parts = [f"{n}={_picked(sizes, ls)}" for n, ls in (("grid", blocks), ("stream", loops)) if ls]
    parts += [f"{name}={value!r}" for name, value in options.items() if value != usual[name]]
    parts += [] if only is None else [f"only={only!r}"]
    return f"pm.tile(p, {', '.join(parts)})"


def _picked(sizes: Sizes, labels: Sequence[str]) -> dict[str, int]:
    return {label: sizes[label] for label in labels}


def _names(spill: Any) -> tuple[str, ...]:
    found = (spill,) if isinstance(spill, str) else spill
    if not isinstance(found, Collection) or not all(isinstance(name, str) for name in found):
        raise LabelError(f"best_tiles: spill={spill!r}: expected names of tensors, such as ['C']")
    return tuple(found)


def _check_said(by: Any, level: Any) -> None:
    if not isinstance(by, str) or by != "bytes":
        raise PerfModelError(f"best_tiles: by={by!r} is not known; by='bytes' is")
    if not isinstance(level, str):
        raise PerfModelError(f"best_tiles: level={level!r}: a level is a name, such as 'shared' or 'l2'")
