"""The space of tiles: a quantity over the sizes of two labels, and where blocks no longer fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.errors import LabelError, PerfModelError, did_you_mean, listed
from perfmodel.expressions import compile_formula, dims
from perfmodel.graph.programs import Program
from perfmodel.plot.style import TEXT, axes, checked_bytes, engineering, finish
from perfmodel.transforms import tile

SIZES = (16, 32, 64, 128, 256, 512)  # tried unless others are given
_FEW = 3  # of those: below that, smaller ones and the extent itself are tried
UNITS = {"bytes": "B", "bytes_read": "B", "intensity": "FLOP/B", "footprint_bytes": "B", "issued_flops": "FLOP"}
QUANTITIES = tuple(UNITS)
_NARROW = 20  # greatest over least: at most two powers of ten are in sight


def tile_map(
    program: Program,
    x: str,
    y: str,
    *,
    sizes: Sequence[int] | Mapping[str, Sequence[int]] | None = None,
    show: str = "bytes",
    capacity_bytes: int | None = None,
    stream: Mapping[str, int] | None = None,
    ax: Any = None,
) -> Any:
    """A quantity over tile sizes of the labels x and y, from the formula of ``tile``; returns the Axes.

    ``show`` is bytes, bytes_read, intensity, footprint_bytes or issued_flops; ``stream`` cuts further labels into
    loops, as in ``tile``. Tiles whose footprint exceeds ``capacity_bytes`` are crossed out. ``sizes`` are those of both
    labels, or of each (``{"m": [64, 128], "n": [7]}``), none larger than what it cuts. Unless given, they are the
    powers of two from 16 to 512 that a label holds; of a label that holds fewer than three of them, those from 1 on,
    and its extent. ``PerfModelError`` otherwise, and for a label that there is not.

    >>> from perfmodel import matmul
    >>> drawn = tile_map(matmul(4096, 4096, 4096), "m", "n", stream={"k": 64}, capacity_bytes=233472)
    >>> drawn.get_xlabel()
    'tile of m'
    """
    import numpy

    if show not in QUANTITIES:
        raise PerfModelError(f"tile_map: show={show!r}{did_you_mean(show, QUANTITIES)}; there are {listed(QUANTITIES)}")
    capacity = checked_bytes(capacity_bytes, "tile_map")
    wide, high = _sizes(program, (x, y), sizes)
    across, up = dims(f"tile_of_{x} tile_of_{y}")
    tiled = tile(program, grid={x: across, y: up}, stream=stream or {})
    formulas = {"shown": getattr(tiled, show), "held": tiled.footprint_bytes}
    grid = numpy.meshgrid(numpy.array(wide), numpy.array(high))
    found = compile_formula(formulas, symbols=[across, up])({across: grid[0], up: grid[1]})
    shown, held = (numpy.broadcast_to(numpy.asarray(found[name], float), grid[0].shape) for name in ("shown", "held"))
    drawn = axes(ax, "tile_map")
    picture = drawn.imshow(shown, origin="lower", cmap="cividis", aspect="auto", norm="log")
    _written(drawn, shown, held, capacity)
    bar = drawn.figure.colorbar(picture, ax=drawn)
    bar.set_label(show, fontsize=TEXT - 1)
    _scale(bar.ax.yaxis, show, float(shown.max() / shown.min()))
    drawn.set_xticks(range(len(wide)), [str(each) for each in wide])
    drawn.set_yticks(range(len(high)), [str(each) for each in high])
    return finish(drawn, f"{show} of {program.name} by tile", (f"tile of {x}", ""), (f"tile of {y}", ""), grid=False)


def _sizes(program: Program, pair: tuple[str, str], sizes: Any) -> tuple[Sequence[int], Sequence[int]]:
    """The sizes to try of each label, none larger than its extent."""
    if not isinstance(program, Program) or program.symbols:
        raise PerfModelError(f"tile_map: expected a program without symbols, got {program!r}")
    for label in pair:
        if label not in program.labels:
            near = did_you_mean(str(label), program.labels)
            raise LabelError(
                f"tile_map: no label {label!r} in {program.name}{near}; there are {listed(program.labels)}"
            )
    if pair[0] == pair[1]:
        raise PerfModelError(f"tile_map: x and y are both {pair[0]!r}; give two labels")
    if isinstance(sizes, Mapping) and (odd := [str(each) for each in sizes if each not in pair]):
        raise LabelError(f"tile_map: sizes={listed(odd)}: expected sizes of {pair[0]} and {pair[1]}")
    across, up = [
        _sizes_of(label, int(program.labels[label]), sizes.get(label) if isinstance(sizes, Mapping) else sizes)
        for label in pair
    ]
    return across, up


def _sizes_of(label: str, extent: int, sizes: Sequence[int] | None) -> Sequence[int]:
    """The sizes given of a label, or those that it has room for."""
    if sizes is None:
        usual = [each for each in SIZES if each <= extent]
        few = [2**power for power in range(extent.bit_length()) if 2**power < extent]
        return usual if len(usual) >= _FEW else [*few, extent]
    if isinstance(sizes, str) or not isinstance(sizes, Sequence) or not sizes or not all(map(_counts, sizes)):
        raise PerfModelError(f"tile_map: sizes={sizes!r}: expected positive whole numbers")
    if max(sizes) > extent:
        raise PerfModelError(f"tile_map: {label} measures {extent}; a tile of {max(sizes)} is larger")
    return sizes


def _counts(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int) and value >= 1


def _scale(axis: Any, show: str, span: float) -> None:
    """The ticks of the bar in the units of the cells; those between powers of ten have words where few are in sight."""
    from matplotlib.ticker import EngFormatter, NullFormatter

    unit = UNITS[show]
    engineering(axis, unit)
    axis.set_minor_formatter(EngFormatter(unit=unit) if span < _NARROW else NullFormatter())


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
