"""The effects of one kernel in words: the tile, the waves, what each effect adds, and what would help."""

from __future__ import annotations

from math import ceil, prod
from typing import TYPE_CHECKING

from perfmodel.effects.choosing import chosen, narrowed
from perfmodel.effects.coalescing import worded
from perfmodel.effects.residents import resident
from perfmodel.effects.row_alignment import SUBLANES, VECTOR_BYTES, rows_of, worded as aligned
from perfmodel.effects.shapes import KernelShape
from perfmodel.effects.stack import EFFECTS, Setting, kernel_parts
from perfmodel.effects.stream_k import cuts, share
from perfmodel.effects.tile_quantization import steps
from perfmodel.effects.tiles import Tile
from perfmodel.effects.wave_quantization import last_wave_fill
from perfmodel.mechanisms.aligned_rows import LINE_BYTES
from perfmodel.mechanisms.wording import counted
from perfmodel.showing import percent, quantity

if TYPE_CHECKING:
    from perfmodel.estimation.kernels import KernelEstimate
    from perfmodel.estimation.stacking import Stacked

LABELS = {
    "tile quantization": "tile", "wave quantization": "wave", "alignment": "align", "operand feed": "feed",
    "k steps": "k steps", "occupancy": "occupy", "epilogue": "store", "split-k": "split", "power": "power",
    "coalescing": "sectors", "row passes": "rows", "tiles in flight": "l2", "few blocks": "blocks",
    "memory reach": "reach", "cache reuse": "cache", "overlap": "overlap", "launch": "launch",
}  # fmt: skip
_SHOWN = 0.002  # an effect of less than this share of the time is not worth a line
_ALWAYS = ("tile quantization", "wave quantization")
_WORTH = 0.9  # a remedy takes at most this share of the time for each unit of work

Row = tuple[str, str, str]


def effect_rows(kernel: KernelEstimate, unit_name: str) -> list[Row]:
    """A line for each effect that matters: what it is here, its factor, and the seconds after it.

    >>> from perfmodel import estimate, matmul
    >>> e = estimate(matmul(1793, 1793, 1793), "a100-sxm-80gb", ["roofline", "tile quantization"], tile=(256, 128))
    >>> effect_rows(e.kernels[0], "SM")
    [('  tile     256 x 128: 8 x 15 blocks cover 2048 x 1920', 'x 1.22', '45.19 us')]
    """
    found = kernel.real
    if found is None:
        return []
    rows: list[Row] = []
    before = found.steps[0][1]
    for name, seconds in found.steps[1:]:
        text = _text(name, found, unit_name)
        always = (name in _ALWAYS and text != EFFECTS[name]) or (name == "alignment" and _in_part(found))
        if always or abs(seconds - before) > _SHOWN * before:
            rows.append((f"  {LABELS[name]:<8} {text}", _factor(name, before, seconds), quantity(seconds, "s")))
        before = seconds
    return rows


def _in_part(found: Stacked) -> bool:
    """Whether rows of a contraction are cache lines in part, which is worth a line even where it costs nothing."""
    return found.setting is not None and any(row.class_bytes < LINE_BYTES for row in rows_of(found.shape))


def _factor(name: str, before: float, after: float) -> str:
    if name in ("launch", "split-k", "row passes") or before == 0:
        return f"+ {quantity(after - before, 's')}"
    return f"x {after / before:.2f}"


def _text(name: str, found: Stacked, unit_name: str) -> str:
    tile, shape, setting = found.tile, found.shape, found.setting
    if found.array is not None:
        return _padded(shape, found.array)
    if name == "coalescing" and setting is not None:
        return worded(shape, setting.chip.sector_bytes)
    if tile is None or setting is None:
        return EFFECTS[name]
    if name == "alignment":
        return aligned(shape)
    rows, columns = ceil(shape.m / tile.m), ceil(shape.n / tile.n)
    if name == "tile quantization":
        return f"{tile}: {rows} x {columns} blocks cover {rows * tile.m} x {columns * tile.n}"
    blocks, units = _blocks(shape, tile), setting.chip.units
    if name in ("wave quantization", "split-k") and setting.streams:
        return _streamed(name, blocks, int(steps(shape, tile)), units, unit_name)
    if name == "wave quantization":
        waves = ceil(blocks / units)
        fill = percent(last_wave_fill(blocks, units))
        number = "1 wave" if waves == 1 else f"{waves} waves"
        return f"{blocks} blocks on {units} {unit_name}s: {number}, {'last ' if waves > 1 else ''}{fill} full"
    if name == "occupancy":
        return f"{int(resident(tile, setting.chip.shared_bytes))} blocks share a {unit_name} and hide latency"
    if name == "memory reach":
        return f"{percent(setting.chip.constants.memory_reach)} of the published bandwidth is reached"
    if name == "split-k":
        whole = kernel_parts(shape, Tile(tile.m, tile.n), setting).time_s
        return f"{EFFECTS[name]}; unsplit it would be {quantity(float(whole), 's')}"
    if name == "power":
        return f"the chip sustains {percent(setting.chip.constants.matrix_reach)} of its peak"
    return EFFECTS[name]


def _padded(shape: KernelShape, array: tuple[int, int]) -> str:
    """What a systolic array pads a contraction to."""
    sides = ((shape.m, SUBLANES), (shape.n, array[1]), (shape.k, array[0]))
    m, n, k = [ceil(extent / side) * side for extent, side in sides]
    return f"an array of {array[0]} x {array[1]} pads m, n, k to {m}, {n}, {k}"


def _streamed(name: str, blocks: int, taken: int, units: int, unit_name: str) -> str:
    """How stream-k deals out the steps of all blocks, and what it cuts."""
    if name == "split-k":
        return f"{int(cuts(blocks, taken, units))} partial tiles are written and read again"
    each = int(share(blocks, taken, units))
    filled = percent(blocks * taken / (each * units))
    return f"{counted(blocks, 'block')} of {taken} steps on {units} {unit_name}s: {each} steps each, {filled} full"


def _blocks(shape: KernelShape, tile: Tile) -> int:
    rows, columns = ceil(shape.m / tile.m), ceil(shape.n / tile.n)
    return int(int(shape.batch) * rows * columns * tile.splits)


def remedy_row(kernel: KernelEstimate) -> list[tuple[str]]:
    """What smaller sizes would save: whole tiles and aligned rows, where that is worth a remark.

    The time is that of an estimate of those sizes, whose tile is searched anew where it is not fixed.

    >>> from perfmodel import estimate, matmul
    >>> some = ["roofline", "tile quantization", "wave quantization"]
    >>> print(remedy_row(estimate(matmul(1793, 1793, 1793), "a100-sxm-80gb", some, tile=(256, 128)).kernels[0])[0][0])
      remedy   m = 1792 (7 x 256), n = 1792 (14 x 128): 98 blocks, 1 wave, 40.68 us: 50 % of the time
    """
    found = kernel.real
    if found is None or found.tile is None or found.setting is None:
        return []
    best: tuple[float, str] | None = None
    for sizes in _smaller(found.shape, found.tile, found.setting):
        less = narrowed(found.shape, **sizes)
        tile = chosen(less, found.setting, found.given)
        seconds = float(kernel_parts(less, tile, found.setting).time_s)
        work = prod([value / getattr(found.shape, name) for name, value in sizes.items()])
        if seconds / found.time_s < _WORTH * work and (best is None or seconds < best[0]):
            best = (seconds, _remedy(found, less, tile, sizes, seconds))
    return [] if best is None else [(best[1],)]


def _smaller(shape: KernelShape, tile: Tile, setting: Setting) -> list[dict[str, float]]:
    """m, n or both cut back to whole tiles, and k to whole loads where its rows are not."""
    cut = {name: float(int(getattr(shape, name) // side) * side) for name, side in (("m", tile.m), ("n", tile.n))}
    found = {name: value for name, value in cut.items() if 0 < value < getattr(shape, name)}
    k: dict[str, float] = {}
    if {"alignment", "operand feed"} <= setting.on and (shape.k * shape.bits / 8) % VECTOR_BYTES:
        whole = 8 * VECTOR_BYTES / shape.bits
        k = {"k": shape.k // whole * whole} if shape.k > whole else {}
    options = [{name: value, **k} for name, value in found.items()]
    return [each for each in ([found | k] if len(found) == 2 else []) + options + [k] if each]


def _remedy(found: Stacked, less: KernelShape, tile: Tile, sizes: dict[str, float], seconds: float) -> str:
    if found.setting is None:
        return ""
    parts = [f"{name} = {int(value)}{_in_tiles(name, value, tile)}" for name, value in sizes.items()]
    blocks = _blocks(less, tile)
    waves = ceil(blocks / found.setting.chip.units)
    number = "" if found.setting.streams else ", 1 wave" if waves == 1 else f", {waves} waves"
    part = percent(seconds / found.time_s)
    return f"  remedy   {', '.join(parts)}: {blocks} blocks{number}, {quantity(seconds, 's')}: {part} of the time"


def _in_tiles(name: str, value: float, tile: Tile) -> str:
    """The tiles that an extent is cut into, where they are whole."""
    side = {"m": tile.m, "n": tile.n}.get(name)
    return f" ({int(value / side)} x {side})" if side and value % side == 0 else ""
