"""The constants that all chips share: what each means, where it is from, and what half and twice of it would do.

Part of the page of results (``accuracy.py``). Each is changed alone, with all others as they are; the errors are those
of the rows that it matters to. One whose errors hardly move is a guess that no timing holds, and no harm.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

SHOWN = ("H100-SXM5-80GB", "A100-SXM4-80GB", "B200-SXM", "L40S")


class Shared(NamedTuple):
    """A constant by its module and name, the rows that it matters to, what it is, and where it is from."""

    module: str
    name: str
    rows: str
    meaning: str
    origin: str


CONSTANTS = (
    Shared("launch", "START_S", "bf16", "s to start a block on every unit", "read off the timings"),
    Shared("feeding", "PORT_BYTES", "bf16", "bytes a clock that a lone unit takes from the L2", "guess"),
    Shared("residents", "STAGES", "bf16", "steps that a block has in flight", "CUTLASS's pipelines"),
    Shared("residents", "MOST", "bf16", "blocks on a unit at most", "warp slots over warps of a block"),
    Shared("few_blocks", "SATURATING", "bf16", "share of the units that draws the full bandwidth", "guess"),
    Shared("few_blocks", "RAMP_S", "bf16", "s for a stream to start and to drain", "read off the timings"),
    Shared("residency", "RAMP", "bf16", "from the first lines lost to all, over the capacity", "read off the timings"),
    Shared("power", "MOST", "bf16", "share of the peak, however little the data switches", "read off the timings"),
    Shared("power", "NARROW", "narrow", "share that 8 bits sustain of what 16 do", "best matmuls of three chips"),
    Shared("power", "QUARTER", "narrow", "FLOP/s of 4 bits over those of 16, sustained", "read off the timings"),
    Shared("quantizing", "SMALL_S", "narrow", "s of a small kernel before another", "read off the timings"),
    Shared("power", "VECTOR_J", "fp32", "J of an fp32 FLOP on a vector unit", "read off one chip, the L4"),
    Shared("row_latency", "ROW_S", "rows", "s in which a block reduces 8 KB of a row", "read off one chip, the A40"),
    Shared("row_passes", "FROM", "rows", "share of the usable cache where the first rows are lost", "guess"),
    Shared("row_passes", "OVER", "rows", "how much more until all are", "guess"),
)
CHOSEN: dict[str, Callable[[Any], Any]] = {
    "bf16": lambda f: (f["source"] == "aiconfigurator") & (f["dtype"] == "bf16") & f["gpu"].isin(SHOWN),
    "narrow": lambda f: f["dtype"].isin(["fp8", "nvfp4"]) & (f["source"] == "aiconfigurator"),
    "fp32": lambda f: (f["dtype"] == "fp32") & f["op"].isin(["gemm", "bmm"]) & (f["source"] == "neusight"),
    "rows": lambda f: f["op"].isin(["softmax", "layernorm", "rmsnorm"]) & f["source"].isin(["neusight", "vidur"]),
}


@contextmanager
def changed(constant: Shared, factor: float) -> Iterator[None]:
    """The constant times a factor, and back."""
    module: Any = importlib.import_module(f"perfmodel.effects.{constant.module}")
    before = getattr(module, constant.name)
    setattr(module, constant.name, before * factor)
    try:
        yield
    finally:
        setattr(module, constant.name, before)


def value(constant: Shared) -> float:
    """The constant as it stands."""
    return float(getattr(importlib.import_module(f"perfmodel.effects.{constant.module}"), constant.name))


def sensitivities(frame: Any, scored: Callable[[Any], str]) -> Iterator[tuple[str, ...]]:
    """A line for each constant; ``scored`` gives the errors of some rows as text."""
    asis: dict[str, str] = {}
    for each in CONSTANTS:
        some = frame[CHOSEN[each.rows](frame)]
        if not len(some):
            continue
        asis.setdefault(each.rows, scored(some))
        with changed(each, 0.5):
            half = scored(some)
        with changed(each, 2.0):
            twice = scored(some)
        name = f"`{each.module}.{each.name}`"
        yield name, f"{value(each):g}", each.meaning, each.origin, each.rows, half, asis[each.rows], twice
