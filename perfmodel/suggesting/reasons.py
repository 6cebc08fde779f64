"""Why a size suits a chip: the quanta that it meets: whole tiles, rows of whole 16 bytes, full waves; a TPU's array."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.effects.row_alignment import SUBLANES, array_of
from perfmodel.effects.tile_quantization import blocks
from perfmodel.effects.wave_quantization import last_wave_fill
from perfmodel.estimation import Estimate
from perfmodel.expressions import evaluate
from perfmodel.graph.programs import Program
from perfmodel.showing import percent

_TILES = (256, 128, 64, 32, 16, 8)
_ROWS = (16, 8, 4, 2, 1)


def reasons(program: Program, sizes: Mapping[str, int], found: Estimate) -> tuple[str, ...]:
    """What each size is a multiple of, how its rows start in memory, and the waves that the blocks make.

    >>> from perfmodel import estimate, matmul
    >>> p = matmul(1792, "n", 1792)
    >>> reasons(p, {"n": 1792}, estimate(p.at(n=1792), "a100-sxm-80gb"))[0]
    'n = 1792 = 7 x 256, rows of 16-byte pieces'
    """
    if found.machine.kind == "tpu":
        return tuple([_of_array(name, size, found.machine) for name, size in sizes.items()])
    return (*[_quanta(name, size, row_bytes(program, name, sizes)) for name, size in sizes.items()], *_waves(found))


def _of_array(name: str, size: int, chip: Machine) -> str:
    """The quantum of a TPU that a size is a multiple of: a side of the array, or the sublanes of a register."""
    side = max(array_of(chip))
    if size % side == 0:
        return f"{name} = {size} = {size // side} x {side}, whole passes of the array of {side} x {side}"
    if size % SUBLANES == 0:
        text = f"{name} = {size} = {size // SUBLANES} x {SUBLANES}, whole groups of {SUBLANES} sublanes"
        return f"{text}, no whole sides of the array ({side})"
    return f"{name} = {size}: no whole groups of {SUBLANES} sublanes, nor sides of the array ({side})"


def _quanta(name: str, size: int, row_bytes: float | None) -> str:
    part = next((each for each in _TILES if size % each == 0), None)
    text = f"{name} = {size}" + (f" = {size // part} x {part}" if part and size > part else "")
    if row_bytes is None:
        return text
    piece = next((each for each in _ROWS if row_bytes % each == 0), None)
    return f"{text}, rows of {piece}-byte pieces" if piece else f"{text}, rows that end inside a byte"


def row_bytes(program: Program, name: str, sizes: Mapping[str, int]) -> float | None:
    """The bytes of the rows that are as long as the size: of the narrowest tensor whose last axis holds it.

    >>> from perfmodel import matmul
    >>> row_bytes(matmul(8, "n", 8), "n", {"n": 100})
    200.0
    """
    found = []
    for tensor in program.tensors.values():
        extent: Any = tensor.axes[-1].extent if len(tensor.axes) > 1 else 1  # a vector has no rows
        symbols = {each.name for each in getattr(extent, "free_symbols", ())}
        if name in symbols and symbols <= set(sizes):
            length = evaluate(extent, {each: sizes[each] for each in symbols})
            found.append(float(length) * float(tensor.format.bits) / 8)
    return min(found, default=None)


def _waves(found: Estimate) -> tuple[str, ...]:
    """The blocks of the contraction that takes longest, over the units of the chip."""
    tiled = [each for each in found.kernels if each.real is not None and each.real.tile is not None]
    if not tiled:
        return ()
    real = max(tiled, key=lambda each: float(each.time_s * each.repeat)).real
    if real is None or real.tile is None or real.setting is None:
        return ()
    count, units = int(blocks(real.shape, real.tile)), real.setting.chip.units
    waves = ceil(count / units)
    fill = percent(last_wave_fill(count, units))
    last = f"{waves} waves, the last {fill} full" if waves > 1 else f"1 wave, {fill} full"
    return (f"{found.machine.name}: {count} blocks of {real.tile} on {units} units: {last}",)
