"""One kernel's stack of effects on a machine: its tile, the seconds after each effect, what bounds it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from perfmodel.catalogue import Machine
from perfmodel.catalogue.parts import Peak
from perfmodel.effects.chips import borrowed, chip_of
from perfmodel.effects.choosing import chosen
from perfmodel.effects.protocols import Protocol
from perfmodel.effects.roofline import Roofline
from perfmodel.effects.row_alignment import array_of, array_padding, unmeasured
from perfmodel.effects.shapes import CONTRACTION, ROWS, KernelShape, shape_of
from perfmodel.effects.stack import GEMM_ONLY, NAMES, Parts, Rates, Setting, kernel_parts
from perfmodel.effects.stream_k import STATIC
from perfmodel.effects.tile_limits import check_tile
from perfmodel.effects.tiles import Tile
from perfmodel.graph.kernel_counts import KernelCount


@dataclass(frozen=True, slots=True)
class Stacked:
    """A kernel's seconds with the effects that apply to it (``names``), its tile, and what bounds it.

    >>> from perfmodel import estimate, matmul
    >>> found = estimate(matmul(4096, 4096, 4096), "h100-sxm").kernels[0].real
    >>> found.tile, found.names[0], found.names[-1]
    (Tile(m=256, n=128, splits=1), 'roofline', 'launch')
    """

    shape: KernelShape
    setting: Setting | None
    tile: Tile | None
    parts: Parts
    names: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    plain_s: float = 0.0  # the roofline, where there is no setting
    given: tuple[int, ...] | None = None  # the tile, where it is not searched
    array: tuple[int, int] | None = None  # rows and columns of the systolic array of a TPU

    @property
    def time_s(self) -> float:
        """Seconds of one run, all effects included.

        >>> from perfmodel import estimate, matmul
        >>> found = estimate(matmul(4096, 4096, 4096), "h100-sxm").kernels[0].real
        >>> found.time_s == found.steps[-1][1]
        True
        """
        return float(self.parts.time_s)

    @property
    def overhead_s(self) -> float:
        """Seconds that neither compute nor memory takes: launch, and adding up partial sums.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(64, 64, 64), "h100-sxm", without="launch").kernels[0].real.overhead_s
        0.0
        """
        return float(self.parts.launch_s + self.parts.split_s)

    @property
    def steps(self) -> tuple[tuple[str, float], ...]:
        """The seconds after each effect that applies, in order, the roofline first.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(4096, 4096, 4096), "h100-sxm").kernels[0].real.steps[0][0]
        'roofline'
        """
        places = range(1, len(self.names) + 1)
        return tuple([(self.names[place - 1], self._after(self.names[:place])) for place in places])

    def _after(self, names: tuple[str, ...]) -> float:
        if self.setting is None:  # a TPU: its roofline, then its padding
            return float(self.parts.time_s if len(names) > 1 else self.plain_s)
        return float(kernel_parts(self.shape, self.tile, replace(self.setting, on=frozenset(names))).time_s)


def stacked(
    count: KernelCount,
    found: Roofline,
    machine: Machine,
    names: tuple[str, ...],
    protocol: Protocol,
    given: tuple[int, ...] | None = None,
    schedule: str = STATIC,
) -> Stacked | None:
    """A kernel's stack; None where only the roofline is asked for, or where its sizes or the machine are formulas.

    >>> from perfmodel import Machine, machine, matmul
    >>> from perfmodel.effects.protocols import COLD
    >>> from perfmodel.effects.roofline import roofline
    >>> count, h = matmul(64, 64, 64).counted[0], machine("h100-sxm")
    >>> stacked(count, roofline(count, h), h, ("roofline",), COLD) is None
    True
    """
    if names == NAMES[:1]:
        return None
    shape = replace(shape_of(count), levels_s=found.levels_s)
    if not shape.is_concrete or not any([*shape.work, shape.bytes]):
        return None
    shape = shape.numbers()
    chip = chip_of(machine)
    if chip is None:
        return _padded(shape, found, machine, names) if machine.kind == "tpu" else None
    setting = Setting(chip, rates_of(count, found), frozenset(names), protocol, schedule)
    if not shape.bytes and not any(setting.rates.peaks):
        return None  # no part of it has a known rate: there is no time to add to
    known = shape.kind == CONTRACTION and setting.rates.peaks[shape.contracting[0]] is not None
    if known:
        check_tile(given, machine, count.works[shape.contracting[0]].accumulate)
    tile = chosen(shape, setting, given) if known else None
    relevant = tuple([name for name in names if _applies(name, shape, tile, setting)])
    remarks = borrowed(machine)
    if "coalescing" in relevant and "sector_bytes" not in dict(machine.figures):
        remarks += (f"{machine.name} lists no sector_bytes: sectors of {chip.sector_bytes:g} B are assumed",)
    if "alignment" in relevant and unmeasured(shape):
        remarks += (unmeasured(shape),)
    left_out = (shape.note,) if shape.note else ()
    found_parts = kernel_parts(shape, tile, setting)
    parts = Parts(*[float(getattr(found_parts, each.name)) for each in fields(Parts)])
    return Stacked(shape, setting, tile, parts, relevant, left_out, remarks, given=given)


def rates_of(count: KernelCount, found: Roofline) -> Rates:
    """The peak of each of a kernel's works, as the roofline chose it.

    >>> from perfmodel import machine, matmul
    >>> from perfmodel.effects.roofline import roofline
    >>> count = matmul(64, 64, 64).counted[0]
    >>> rates_of(count, roofline(count, machine("h100-sxm"))).peaks[0].label
    'matrix bf16'
    """
    peaks: list[Peak | None] = [None] * len(count.works)
    for term in found.terms:
        for place in term.works:
            peaks[place] = term.peak
    return Rates(tuple(peaks))


def _applies(name: str, shape: KernelShape, tile: Tile | None, setting: Setting) -> bool:
    if name in GEMM_ONLY or name in ("few blocks", "tiles in flight"):
        return tile is not None and not (name == "split-k" and tile.splits == 1 and not setting.streams)
    if name == "row passes":
        return shape.kind == ROWS
    if name == "coalescing":
        return bool(shape.pieces)
    return name != "cache reuse" or not setting.protocol.cold


def _padded(shape: KernelShape, found: Roofline, machine: Machine, names: tuple[str, ...]) -> Stacked:
    """A TPU's kernel: the roofline, and the padding of its matrix unit."""
    compute = max([float(term.seconds) for term in found.terms if term.computes], default=0.0)
    memory = max([float(term.seconds) for term in found.terms if not term.computes])
    padded, array = "alignment" in names and shape.kind == CONTRACTION, array_of(machine)
    names, plain = names[:1], max(compute, memory)
    if padded:
        names, compute = (*names, "alignment"), compute * float(array_padding(shape, array))
    parts = Parts(compute, memory, 0.0, 0.0, max(compute, memory))
    left_out = ("launch, clocks and the pipelines of a TPU",)
    return Stacked(shape, None, None, parts, names, left_out, plain_s=plain, array=array)
