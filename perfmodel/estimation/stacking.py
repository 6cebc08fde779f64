"""One kernel's stack of effects on a machine: its tile, the seconds after each effect, what bounds it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.catalogue.parts import Peak
from perfmodel.effects.alignment import array_padding
from perfmodel.effects.chips import chip_of
from perfmodel.effects.choosing import chosen
from perfmodel.effects.protocols import Protocol
from perfmodel.effects.roofline import Roofline
from perfmodel.effects.shapes import CONTRACTION, ROWS, KernelShape, shape_of
from perfmodel.effects.stack import GEMM_ONLY, NAMES, Parts, Rates, Setting, kernel_parts
from perfmodel.effects.tiles import Tile
from perfmodel.graph.kernel_counts import KernelCount


@dataclass(frozen=True, slots=True)
class Stacked:
    """A kernel's seconds with the effects: ``steps`` are the seconds after each, in order, the roofline first.

    >>> from perfmodel import estimate, matmul
    >>> found = estimate(matmul(4096, 4096, 4096), "h100-sxm").kernels[0].real
    >>> found.tile, found.steps[0][0], found.steps[-1][0]
    (Tile(m=128, n=256, splits=1), 'roofline', 'launch')
    """

    shape: KernelShape
    setting: Setting | None
    tile: Tile | None
    parts: Parts
    steps: tuple[tuple[str, float], ...]
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def time_s(self) -> float:
        """Seconds of one run, all effects included."""
        return float(self.parts.time_s)

    @property
    def overhead_s(self) -> float:
        """Seconds that neither compute nor memory takes: launch, and adding up partial sums."""
        return float(self.parts.launch_s + self.parts.split_s)


def stacked(
    count: KernelCount,
    found: Roofline,
    machine: Machine,
    names: tuple[str, ...],
    protocol: Protocol,
    given: tuple[int, ...] | None = None,
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
    shape = shape_of(count)
    if not shape.is_concrete:
        return None
    shape = shape.numbers()
    chip = chip_of(machine)
    if chip is None:
        return _padded(shape, found, names) if machine.kind == "tpu" else None
    setting = Setting(chip, rates_of(count, found), frozenset(names), protocol)
    known = shape.kind == CONTRACTION and setting.rates.peaks[shape.contracting[0]] is not None
    tile = chosen(shape, setting, given) if known else None
    relevant = tuple([name for name in names if _applies(name, shape, tile, protocol)])
    parts = kernel_parts(shape, tile, setting)
    steps = [(name, _after(relevant[: place + 1], shape, tile, setting)) for place, name in enumerate(relevant)]
    lent = f"{machine.name} has no calibrated constants of its own: those of {chip.lender} stand in"
    left_out = [shape.note] if shape.note else []
    return Stacked(shape, setting, tile, _plain(parts), tuple(steps), tuple(left_out), (lent,) if chip.lender else ())


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


def _applies(name: str, shape: KernelShape, tile: Tile | None, protocol: Protocol) -> bool:
    if name in GEMM_ONLY or name == "few blocks":
        return tile is not None and not (name == "split-k" and tile.splits == 1)
    if name == "row passes":
        return shape.kind == ROWS
    return name != "cache reuse" or not protocol.cold


def _after(names: tuple[str, ...], shape: KernelShape, tile: Tile | None, setting: Setting) -> float:
    return float(kernel_parts(shape, tile, replace(setting, on=frozenset(names))).time_s)


def _plain(parts: Parts) -> Parts:
    return Parts(
        *[float(item) for item in (parts.compute_s, parts.memory_s, parts.split_s, parts.launch_s, parts.time_s)]
    )


def _padded(shape: KernelShape, found: Roofline, names: tuple[str, ...]) -> Stacked:
    """A TPU's kernel: the roofline, and the padding of its matrix unit."""
    compute = max([float(term.seconds) for term in found.terms[:-1]], default=0.0)
    memory = float(found.terms[-1].seconds)
    steps = [("roofline", max(compute, memory))]
    if "alignment" in names and shape.kind == CONTRACTION:
        compute *= float(array_padding(shape))
        steps.append(("alignment", max(compute, memory)))
    parts: Any = Parts(compute, memory, 0.0, 0.0, max(compute, memory))
    return Stacked(shape, None, None, parts, tuple(steps), ("launch, clocks and the pipelines of a TPU",))
