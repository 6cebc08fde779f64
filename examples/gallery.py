"""Every kind of picture that perfmodel draws, as files: python examples/gallery.py [FOLDER]."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pandas as pd
from matplotlib import pyplot

import perfmodel as pm

N, TILE, SMS = pm.dims("n"), (256, 128), 108  # an A100, and a tile that its libraries use


def staged_attention() -> list[pm.Program]:
    """One derivation: an op a kernel, the textbook's three kernels, and one kernel that streams K and V."""
    naive = pm.attention(4096, 4096, 128, heads=8)
    streamed = pm.tile(pm.online(pm.fuse(naive), "kv"), grid={"kv_head": 1, "q": 128}, stream={"kv": 64})
    return [naive, pm.fuse(naive, by="stage"), streamed]


STAGES = ["one op a kernel", "three kernels", "fused, online, tiled"]


def steps() -> dict[str, pm.Program]:
    """The same derivation step by step, and blocks of the L2 cache around those of an SM."""
    naive, three, tiled = staged_attention()
    fused = pm.fuse(naive)
    online = pm.online(fused, "kv")
    cached = pm.tile(online, grid={"kv_head": 1, "q": 1024}, level="l2")
    nested = pm.tile(cached, grid={"q": 128}, stream={"kv": 64})
    return {"one op a kernel": naive, "three kernels": three, "fused": fused, "online": online,
            "tiled for an SM": tiled, "tiled for the L2 too": nested}  # fmt: skip


def roofline() -> Any:
    """A projection at growing batch: from bound by memory to bound by compute."""
    batches = (1, 8, 64, 512, 4096)
    steps = [pm.gemv(8192, 8192, batch=b) for b in batches]
    return pm.plot.roofline(*steps, on="h100-sxm", labels=[f"batch {b}" for b in batches])


def derivation() -> Any:
    """FlashAttention derived, as a path under the roof: what does not fit on chip is hollow."""
    return pm.plot.roofline(*steps().values(), on="h100-sxm", labels=list(steps()), path=True)


def levels() -> Any:
    """The roofs of on-chip memories above that of device memory."""
    return pm.plot.roofline(*staged_attention()[1:], on="a100-sxm-80gb", labels=STAGES[1:], levels=True)


def machines() -> Any:
    """Two shapes on three chips."""
    shapes = [pm.matmul(64, 8192, 8192), pm.matmul(4096, 4096, 4096)]
    chips = ["a100-sxm-80gb", "h100-sxm", "b200-sxm"]
    return pm.plot.roofline(*shapes, on=chips, labels=["m = 64", "m = 4096"], effects="real")


def sawtooth() -> Any:
    """Blocks and waves: how much of an A100 a square matmul keeps busy."""
    sizes = range(1024, 4097)
    busy = pm.compile_formula(pm.waves(pm.tile_grid(N, N, tile=TILE), units=SMS).efficiency)(n=list(sizes))
    table = pd.DataFrame({"n": sizes, "efficiency": busy})
    title = "n x n matmul, tiles of 256 x 128 on 108 SMs"
    return pm.plot.sweep(table, "n", "efficiency", quanta=256, title=title)


def waterfall() -> Any:
    """One row of blocks too many, effect by effect."""
    sizes = (1792, 1793)
    found = [pm.estimate(pm.matmul(n, n, n), "a100-sxm-80gb") for n in sizes]
    return pm.plot.waterfall(*found, labels=[f"n = {n}" for n in sizes])


def traffic() -> Any:
    """What each staging of attention moves."""
    return pm.plot.traffic(*staged_attention(), labels=STAGES)


def memory() -> Any:
    """What is alive while the three kernels of attention run."""
    return pm.plot.memory(staged_attention()[1])


def tile_map() -> Any:
    """Bytes by tile, and which tiles an SM's shared memory holds."""
    shared = 228 * 1024  # an H100's
    square = pm.matmul(4096, 4096, 4096)
    return pm.plot.tile_map(square, "m", "n", stream={"k": 64}, capacity_bytes=shared)


PICTURES: tuple[Callable[[], Any], ...] = (
    roofline, derivation, levels, machines, sawtooth, waterfall, traffic, memory, tile_map,
)  # fmt: skip


def shown(drawn: Any) -> dict[str, list[Any]]:
    """The numbers and words of a picture, to six digits; of a long line at most 64 points."""
    points = [line.get_xydata() for line in drawn.get_lines()]
    lines = [each[:: max(1, -(-len(each) // 64))] for each in points]
    bars = [(*bar.get_xy(), bar.get_width(), bar.get_height()) for bar in drawn.patches]
    found = {"lines": lines, "bars": bars, "cells": [image.get_array() for image in drawn.images]}
    numbers = {
        name: [[float(f"{x:.6g}") for x in numpy.ravel(each)] for each in several] for name, several in found.items()
    }
    words = [drawn.get_title(), *[text.get_text() for text in drawn.texts], *drawn.get_legend_handles_labels()[1]]
    return {**numbers, "words": words}


def draw(folder: Path) -> None:
    """Write each picture, which carries what it shows as text; the same input gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        path = folder / f"{picture.__name__}.png"
        drawn = picture()
        carried = {"Software": None, "Comment": json.dumps(shown(drawn))}
        drawn.figure.savefig(path, dpi=160, metadata=carried)
        pyplot.close("all")
        print(f"{path}: {picture.__doc__}")


if __name__ == "__main__":
    draw(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/gallery"))
