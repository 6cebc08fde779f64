"""The stack: one kernel's seconds with any set of effects, from the ideal to all of them.

A name a user leaves out takes its formula out; what remains is the same formula with that one effect idealised, so
that the seconds after each effect in order show what it adds (or, for the cache, takes away).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.catalogue.parts import Peak
from perfmodel.effects import tiles_in_flight
from perfmodel.effects.chips import Chip
from perfmodel.effects.coalescing import spread
from perfmodel.effects.epilogue import epilogue_s
from perfmodel.effects.feeding import feed_s
from perfmodel.effects.few_blocks import bandwidth_share, ramped
from perfmodel.effects.latency import least_step_s
from perfmodel.effects.launch import launched_s
from perfmodel.effects.overlap import overlapped
from perfmodel.effects.power import sustained_s
from perfmodel.effects.protocols import COLD, Protocol
from perfmodel.effects.quantizing import quantized_s
from perfmodel.effects.residency import fetched_bytes
from perfmodel.effects.residents import resident
from perfmodel.effects.row_alignment import load_width, tensor_share
from perfmodel.effects.row_latency import row_s
from perfmodel.effects.row_passes import reread_bytes
from perfmodel.effects.shapes import CONTRACTION, ROWS, STREAM, KernelShape
from perfmodel.effects.splitting_k import split_s
from perfmodel.effects.stream_k import STATIC, STREAM_K, fix_up_s, share
from perfmodel.effects.tile_quantization import blocks, step_elements, steps, times
from perfmodel.effects.tiles import Tile
from perfmodel.effects.wave_quantization import most_blocks

# In the order in which they are added, and what each takes away from the ideal.
EFFECTS = {
    "roofline": "each unit at its peak and memory at its bandwidth, all at once",
    "tile quantization": "blocks are whole: partial tiles and steps of k",
    "wave quantization": "units take whole blocks: the last wave",
    "operand feed": "small tiles wait for their operands",
    "alignment": "rows off 16-byte boundaries are loaded in pieces; arrays pad",
    "k steps": "whole steps of k, no faster than one block's pipeline",
    "occupancy": "blocks that share a unit hide each other's latency",
    "epilogue": "each block ends by storing its tile",
    "split-k": "partial sums are added up",
    "power": "units boost; the whole chip sustains less than its peak",
    "coalescing": "memory moves whole sectors, of which short runs use a part",
    "row passes": "rows that are read again",
    "tiles in flight": "later waves read again what the cache cannot hold",
    "few blocks": "a stream starts and drains; few units draw less bandwidth",
    "memory reach": "the share of the published bandwidth that is reached",
    "cache reuse": "what the timing loop left in the cache",
    "overlap": "compute and memory overlap, but softly",
    "launch": "the shortest that a kernel takes",
}
NAMES = tuple(EFFECTS)
NOTHING = 0.0
IDEAL = frozenset(NAMES[:1])
GEMM_ONLY = NAMES[1:9]  # those that need a tile


@dataclass(frozen=True, slots=True)
class Rates:
    """The peaks that a kernel's works run at, by place; None where the machine lists none.

    >>> Rates((None,)).peaks
    (None,)
    """

    peaks: tuple[Peak | None, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """What holds for all candidates: the chip, the peaks, the effects that are on, the protocol.

    >>> from perfmodel import machine
    >>> Setting(Chip.of(machine("h100-sxm")), Rates(()), frozenset(NAMES)).protocol.name
    'cold'
    """

    chip: Chip
    rates: Rates
    on: frozenset[str]
    protocol: Protocol = COLD
    schedule: str = STATIC

    @property
    def streams(self) -> bool:
        """Whether blocks are dealt out step by step (stream-k): where waves count at all.

        >>> from perfmodel import machine
        >>> chip, both = Chip.of(machine("h100-sxm")), frozenset(["roofline", "wave quantization"])
        >>> [Setting(chip, Rates(()), on, schedule="stream-k").streams for on in (both, IDEAL)]
        [True, False]
        """
        return self.schedule == STREAM_K and "wave quantization" in self.on


@dataclass(frozen=True, slots=True)
class Parts:
    """Seconds of one run: compute, memory, and what comes on top (splits, launch); and the sum.

    >>> Parts(2.0, 1.0, 0.0, 0.5, 2.5).time_s
    2.5
    """

    compute_s: Any
    memory_s: Any
    split_s: Any
    launch_s: Any
    time_s: Any


def kernel_parts(shape: KernelShape, tile: Tile | None, setting: Setting) -> Parts:
    """The seconds of one run of a kernel; ``tile`` is that of a contraction.

    >>> from perfmodel import machine, matmul
    >>> from perfmodel.effects.shapes import shape_of
    >>> h = machine("a100-sxm-80gb")
    >>> shape = shape_of(matmul(1793, 1793, 1793).counted[0]).numbers()
    >>> ideal = Setting(Chip.of(h), Rates((h.find_peak("bf16"),)), frozenset(["roofline"]))
    >>> some = Setting(ideal.chip, ideal.rates, frozenset(["roofline", "tile quantization", "wave quantization"]))
    >>> [f"{float(kernel_parts(shape, Tile(256, 128), each).time_s) * 1e6:.1f}" for each in (ideal, some)]
    ['37.0', '81.4']
    """
    import numpy

    on, chip = setting.on, setting.chip
    split: Any = NOTHING
    if shape.kind == CONTRACTION and tile is not None:
        compute, others = _contraction_s(shape, tile, setting), _others_s(shape, setting)
        if others is not NOTHING:
            compute = numpy.maximum(compute, others)
        if "split-k" in on and setting.streams:
            split = fix_up_s(blocks(shape, tile), steps(shape, tile), tile, chip)
        elif "split-k" in on:
            split = split_s(shape, tile, chip)
    else:
        compute = _others_s(shape, setting, everything=True)
    memory = _memory_s(shape, tile, setting)
    if shape.kind == STREAM:  # a program's own tiles, which may nest
        memory = numpy.maximum(memory, shape.levels_s)
    both = overlapped(compute, memory) if "overlap" in on else numpy.maximum(compute, memory)
    launch: Any = NOTHING
    if "launch" in on:
        grid = _grid(shape, tile, setting) if tile is not None and shape.kind == CONTRACTION else None
        launch = launched_s(chip, grid, setting.protocol.launch_s)
    if shape.kind == ROWS and "row passes" in on:
        launch = launch + row_s(shape)
    if setting.on == IDEAL:
        return Parts(compute, memory, split, launch, both + (split + launch))
    if setting.protocol.quantizer is not None:
        launch = launch + quantized_s(shape, chip, setting.protocol.quantizer)
    total = both + (split + launch) if split is not NOTHING or launch is not NOTHING else both
    if setting.protocol.host_s:
        total = numpy.maximum(total, setting.protocol.host_s)
    return Parts(compute, memory, split, launch, total)


def _grid(shape: KernelShape, tile: Tile, setting: Setting) -> Any:
    """The blocks that run: a tile each, or a persistent one for each unit that gets a step."""
    import numpy

    tiles = blocks(shape, tile)
    return numpy.minimum(tiles * steps(shape, tile), setting.chip.units) if setting.streams else tiles


def _contraction_s(shape: KernelShape, tile: Tile, setting: Setting) -> Any:
    """Seconds of the contraction on its unit: as it is issued, and as the power allows."""
    import numpy

    on, chip, place = setting.on, setting.chip, shape.contracting[0]
    peak = setting.rates.peaks[place]
    if peak is None:
        return 0.0
    count = blocks(shape, tile, "tile quantization" in on)
    taken = steps(shape, tile, "k steps" in on)
    busy = count / chip.units if "operand feed" in on else 1.0
    if setting.streams:
        most = share(count, taken, chip.units) / taken if "k steps" in on else count / chip.units
    else:
        most = most_blocks(count, chip.units, "wave quantization" in on)
    published = float(peak.flops_per_s)
    rate = chip.issued_rate(peak) if "power" in on else published / chip.units
    allowed = tensor_share(shape, chip, peak.unit) if "alignment" in on else 1.0
    rate = rate * allowed
    step = 2 * tile.m * tile.n * step_elements(shape) / rate
    if "operand feed" in on:
        width = load_width(shape) if "alignment" in on else 1.0
        step = numpy.maximum(step, feed_s(tile, chip, width, busy))
    found = most * step
    if "k steps" in on:
        shared = resident(tile, chip.shared_bytes) if "occupancy" in on else 1.0
        if setting.streams:  # blocks that share a unit have its share of steps between them
            least = least_step_s(chip, most * taken, shared) / taken
        else:
            least = least_step_s(chip, most, shared)
        found = numpy.maximum(found, least)
    found = times(taken, found)
    if "epilogue" in on:
        found = found + epilogue_s(tile, chip, numpy.ceil(most) if setting.streams else most, shape.out_bits)
    if "power" in on:
        ideal = shape.work[place] / (published * allowed)
        found = numpy.maximum(
            found, sustained_s(ideal, chip, setting.protocol.switching, shape.bits, published, peak.unit)
        )
    return found


def _others_s(shape: KernelShape, setting: Setting, everything: bool = False) -> Any:
    """Seconds of the busiest of the other units: those of one unit take turns."""
    import numpy

    by_unit: dict[str, Any] = {}
    found: Any = NOTHING
    for place, (amount, peak) in enumerate(zip(shape.work, setting.rates.peaks, strict=True)):
        if peak is None or (place in shape.contracting and not everything):
            continue
        seconds = amount / float(peak.flops_per_s)
        if "power" in setting.on and place in shape.contracting:
            seconds = sustained_s(
                seconds, setting.chip, setting.protocol.switching, shape.bits, float(peak.flops_per_s), peak.unit
            )
        by_unit[peak.unit] = by_unit.get(peak.unit, 0.0) + seconds
    for seconds in by_unit.values():
        found = numpy.maximum(found, seconds)
    return found


def _memory_s(shape: KernelShape, tile: Tile | None, setting: Setting) -> Any:
    import numpy

    on, chip = setting.on, setting.chip
    moved = fetched_bytes(shape, chip, setting.protocol) if "cache reuse" in on else shape.bytes
    if shape.pieces and "coalescing" in on:
        moved = moved * spread(shape, chip.sector_bytes)
    if "row passes" in on and shape.kind == ROWS:
        moved = moved + reread_bytes(shape, chip)
    if "tiles in flight" in on and tile is not None and shape.kind == CONTRACTION:
        moved = moved + tiles_in_flight.reread_bytes(shape, tile, chip)
    rate = chip.bandwidth * (chip.constants.memory_reach if "memory reach" in on else 1.0)
    if "few blocks" in on and tile is not None and shape.kind == CONTRACTION:
        return ramped(moved / (rate * bandwidth_share(_grid(shape, tile, setting), chip.units)))
    found = moved / rate
    if shape.kind == CONTRACTION or setting.on == IDEAL:
        return found
    if "cache reuse" in on and not setting.protocol.cold:
        found = numpy.maximum(found, shape.bytes / chip.cache_bandwidth)  # what stays is read from the cache
    if setting.protocol.unit_bytes:
        found = numpy.maximum(found, shape.bytes / (setting.protocol.unit_bytes * chip.clock_hz * chip.units))
    return found
