"""The space of tiles: a quantity over the sizes of two labels, and where blocks no longer fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.errors import PerfModelError, did_you_mean, listed
from perfmodel.expressions import compile_formula, dims
from perfmodel.graph.programs import Program
from perfmodel.plot.style import TEXT, axes, checked_bytes, finish
from perfmodel.transforms import tile

QUANTITIES = ("bytes", "bytes_read", "intensity", "footprint_bytes", "issued_flops")


def tile_map(
    program: Program,
    x: str,
    y: str,
    *,
    sizes: Sequence[int] = (16, 32, 64, 128, 256, 512),
    show: str = "bytes",
    capacity_bytes: int | None = None,
    stream: Mapping[str, int] | None = None,
    ax: Any = None,
) -> Any:
    """A quantity over tile sizes of the labels x and y, from the formula of ``tile``; returns the Axes.

    ``show`` is bytes, bytes_read, intensity, footprint_bytes or issued_flops; ``stream`` cuts further labels into
    loops, as in ``tile``. Tiles whose footprint exceeds ``capacity_bytes`` are crossed out. Sizes are smaller than the
    extents. ``PerfModelError`` otherwise.

    >>> from perfmodel import matmul
    >>> drawn = tile_map(matmul(4096, 4096, 4096), "m", "n", stream={"k": 64}, capacity_bytes=233472)
    >>> drawn.get_xlabel()
    'tile of m'
    """
    import numpy

    if show not in QUANTITIES:
        raise PerfModelError(f"tile_map: show={show!r}{did_you_mean(show, QUANTITIES)}; there are {listed(QUANTITIES)}")
    capacity = checked_bytes(capacity_bytes, "tile_map")
    across, up = dims(f"tile_of_{x} tile_of_{y}")
    tiled = _tiled(program, {x: across, y: up}, stream or {}, sizes)
    formulas = {"shown": getattr(tiled, show), "held": tiled.footprint_bytes}
    grid = numpy.meshgrid(numpy.array(sizes), numpy.array(sizes))
    found = compile_formula(formulas, symbols=[across, up])({across: grid[0], up: grid[1]})
    shown, held = (numpy.broadcast_to(numpy.asarray(found[name], float), grid[0].shape) for name in ("shown", "held"))
    drawn = axes(ax, "tile_map")
    picture = drawn.imshow(shown, origin="lower", cmap="cividis", aspect="auto", norm="log")
    _written(drawn, shown, held, capacity)
    bar = drawn.figure.colorbar(picture, ax=drawn)
    bar.set_label(show, fontsize=TEXT - 1)
    places = range(len(sizes))
    drawn.set_xticks(places, [str(each) for each in sizes])
    drawn.set_yticks(places, [str(each) for each in sizes])
    return finish(drawn, f"{show} of {program.name} by tile", (f"tile of {x}", ""), (f"tile of {y}", ""), grid=False)


def _tiled(program: Program, grid: Mapping[str, Any], stream: Mapping[str, int], sizes: Sequence[int]) -> Program:
    if not isinstance(program, Program) or program.symbols:
        raise PerfModelError(f"tile_map: expected a program without symbols, got {program!r}")
    if len(grid) != 2:
        raise PerfModelError(f"tile_map: x and y are both {next(iter(grid))!r}; give two labels")
    if not sizes or any(isinstance(each, bool) or not isinstance(each, int) or each < 1 for each in sizes):
        raise PerfModelError(f"tile_map: sizes={sizes!r}: expected positive whole numbers")
    for label in grid:
        extent = program.labels.get(label)
        if extent is not None and max(sizes) > extent:
            raise PerfModelError(f"tile_map: {label} measures {extent}; a tile of {max(sizes)} is larger")
    return tile(program, grid=grid, stream=stream)


def _written(drawn: Any, shown: Any, held: Any, capacity: float | None) -> None:
    """Each cell's value, crossed out where the block does not fit."""
    from matplotlib.ticker import EngFormatter

    short = EngFormatter(places=1, sep="")
    middle = (shown.max() * shown.min()) ** 0.5
    for (row, column), value in _cells(shown):
        fits = capacity is None or held[row, column] <= capacity
        shade = "black" if value > middle else "white"
        text, size = (short(value), TEXT - 3) if fits else ("\N{MULTIPLICATION SIGN}", TEXT + 2)
        drawn.text(column, row, text, ha="center", va="center", color=shade, fontsize=size)


def _cells(shown: Any) -> Any:
    import numpy

    return numpy.ndenumerate(shown)
