"""``estimate_many``: what does not depend on the sizes is done once, by ``prepared``; the rest for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

from perfmodel.catalogue import Machine, machine
from perfmodel.effects.chips import chip_of
from perfmodel.effects.choosing import chosen_many
from perfmodel.effects.protocols import Protocol, protocol as known_protocol
from perfmodel.effects.roofline import roofline
from perfmodel.effects.row_alignment import array_of, array_padding
from perfmodel.effects.shapes import CONTRACTION, KernelShape, OpenShape, shape_of
from perfmodel.effects.stack import NAMES, Parts, Rates, Setting
from perfmodel.effects.stream_k import STATIC, checked_schedule
from perfmodel.effects.tile_limits import check_tile
from perfmodel.effects.tiles import checked_tile
from perfmodel.errors import MachineError
from perfmodel.estimation.many import Estimates, ManyKernels
from perfmodel.estimation.names import checked_program, names_of
from perfmodel.estimation.size_arrays import arrays_of
from perfmodel.estimation.stacking import rates_of
from perfmodel.expressions import Compiled, compile_formula, is_concrete
from perfmodel.graph.programs import Program


def estimate_many(
    program: Program,
    on: str | Path | Machine,
    sizes: Mapping[str, Any],
    effects: str | Iterable[str] = "real",
    protocol: str | Protocol | None = None,
    *,
    tile: Any = None,
    without: Iterable[str] = (),
    schedule: str = STATIC,
) -> Estimates:
    """How long a program takes at many sizes: as ``estimate`` says of each, a hundred thousand a second.

    ``sizes`` gives each of the program's symbols a number or an array of as many numbers; ``protocol`` says what a
    measurement's loop leaves in cache, ``schedule`` how blocks are dealt out. ``LabelError`` for a symbol that is
    unknown or has no value, ``DimensionError`` for arrays of different lengths.

    >>> from perfmodel import matmul
    >>> estimate_many(matmul("m", "n", 1024), "h100-sxm", {"m": [1, 64], "n": 4096}).time_s.shape
    (2,)
    """
    return prepared(program, on, effects, protocol, tile=tile, without=without, schedule=schedule).at(sizes)


def prepared(
    program: Program,
    on: str | Path | Machine,
    effects: str | Iterable[str] = "real",
    protocol: str | Protocol | None = None,
    *,
    tile: Any = None,
    without: Iterable[str] = (),
    schedule: str = STATIC,
) -> Prepared:
    """What ``estimate_many`` finds before it looks at sizes, for those who come with sizes again and again.

    >>> from perfmodel import matmul
    >>> [prepared(matmul("m", 8, 8), "h100-sxm").at({"m": sizes}).count for sizes in ([1], [1, 2])]
    [1, 2]
    """
    checked_program(program, "estimate_many")
    names = names_of(effects, without)
    found = on if isinstance(on, Machine) else machine(on)
    if not all(map(is_concrete, (found.bandwidth_bytes_per_s, *[each.flops_per_s for each in found.peaks]))):
        raise MachineError(f"estimate_many: {found.name} has symbols; {found.name}.replace(...) gives them numbers")
    how, given = known_protocol(protocol), checked_tile(tile)
    dealt = checked_schedule(schedule, given)
    kernels = tuple([_kernel(item, found, names, how, given, dealt) for item in program.counted])
    return Prepared(program, found, names, kernels)


@dataclass(frozen=True)
class Prepared:
    """A program on a machine, ready for sizes.

    >>> from perfmodel import matmul
    >>> prepared(matmul("m", 8, 8), "h100-sxm", "ideal").effects
    ('roofline',)
    """

    program: Program
    machine: Machine
    effects: tuple[str, ...]
    kernels: tuple[PreparedKernel, ...]

    def at(self, sizes: Mapping[str, Any]) -> Estimates:
        """The estimates at some sizes.

        >>> from perfmodel import matmul
        >>> prepared(matmul("m", 4096, 4096), "h100-sxm").at({"m": [1, 128]})
        estimate_many(matmul, 'h100-sxm'): 2 sizes
        """
        count, values = arrays_of(self.program, sizes)
        made: dict[Any, ManyKernels] = {}  # kernels that are alike are estimated once
        for kernel in self.kernels:
            if kernel.alike not in made:
                made[kernel.alike] = kernel.at(values, count)
        kernels = tuple([made[kernel.alike] for kernel in self.kernels])
        return Estimates(self.program, self.machine, kernels, self.effects, count)


@dataclass(frozen=True)
class PreparedKernel:
    """One kernel, its formulas compiled; ``setting`` is None where the machine has no effects or none is asked for.

    >>> from perfmodel import matmul
    >>> prepared(matmul("m", 8, 8), "h100-sxm", "ideal").kernels[0].setting is None
    True
    """

    shape: OpenShape
    rates: Rates
    setting: Setting | None
    tiled: bool
    given: tuple[int, ...] | None
    repeat: float | Compiled
    bandwidth: float
    array: tuple[int, int] | None  # of a TPU that pads to it

    @property
    def alike(self) -> Any:
        """What tells it from the other kernels of its program on its machine.

        >>> from perfmodel import matmul
        >>> one, two = prepared(matmul("m", 8, 8), "h100-sxm").kernels * 2
        >>> one.alike == two.alike
        True
        """
        return self.shape.shape, self.rates, self.repeat

    def at(self, values: Mapping[str, Any], count: int) -> ManyKernels:
        """The kernel at so many values of its symbols.

        >>> import numpy
        >>> from perfmodel import matmul
        >>> prepared(matmul("m", 8, 8), "h100-sxm").kernels[0].at({"m": numpy.array([1, 8])}, 2).shape.m
        array([1., 8.])
        """
        shape, repeat = self.shape.at(values, count), self.repeat
        if isinstance(repeat, Compiled):
            repeat = repeat({name: values[name] for name in repeat.symbols})
        if self.setting is None:
            return ManyKernels(shape, None, None, repeat, self._plain(shape))
        tile = chosen_many(shape, self.setting, self.given) if self.tiled else None
        return ManyKernels(shape, self.setting, tile, repeat)

    def _plain(self, shape: KernelShape) -> Parts:
        import numpy

        by_unit: dict[str, Any] = {}
        for amount, peak in zip(shape.work, self.rates.peaks, strict=True):
            if peak is not None:
                by_unit[peak.unit] = by_unit.get(peak.unit, 0.0) + amount / float(peak.flops_per_s)
        compute: Any = reduce(numpy.maximum, by_unit.values(), numpy.zeros(len(shape.bytes)))
        if self.array is not None:
            compute = compute * array_padding(shape, self.array)
        memory = numpy.maximum(shape.bytes / self.bandwidth, shape.levels_s)
        return Parts(compute, memory, 0.0, 0.0, numpy.maximum(compute, memory))


def _kernel(
    item: Any, found: Machine, names: tuple[str, ...], how: Protocol, given: tuple[int, ...] | None, dealt: str
) -> PreparedKernel:
    terms, chip = roofline(item, found), chip_of(found)
    shape, rates, times = replace(shape_of(item), levels_s=terms.levels_s), rates_of(item, terms), item.kernel.repeat
    contracts = shape.kind == CONTRACTION
    tiled = contracts and rates.peaks[shape.contracting[0]] is not None
    if tiled and chip is not None and len(names) > 1:
        check_tile(given, found, item.works[shape.contracting[0]].accumulate)
    return PreparedKernel(
        OpenShape.of(shape, _needed(shape, names, chip is None)),
        rates,
        None if chip is None or names == NAMES[:1] else Setting(chip, rates, frozenset(names), how, dealt),
        tiled,
        given,
        float(times) if is_concrete(times) else compile_formula(times),
        float(found.bandwidth_bytes_per_s),
        array_of(found) if found.kind == "tpu" and "alignment" in names and contracts else None,
    )


# Effects whose formulas ask for the extents, the bytes in all and the work; the others may ask for any number.
_PLAIN = frozenset(NAMES[:9]) | {"power", "coalescing", "few blocks", "memory reach", "overlap", "launch"}
_EXTENTS = ("batch", "m", "n", "k")


def _needed(shape: KernelShape, names: tuple[str, ...], plain: bool) -> set[str] | None:
    """The numbers of a shape that the effects ask for (None: all); ``plain`` where the machine has no effects."""
    if not plain and not set(names) <= _PLAIN:
        return None
    work = {f"work {place}" for place in range(len(shape.work))} | shape.piece_names
    if shape.kind != CONTRACTION:
        return {"bytes", "levels_s"} | work
    if len(names) > 1 and "power" not in names and not plain:
        work.discard(f"work {shape.contracting[0]}")  # its seconds are those of its tiles
    return {"bytes", "levels_s", *_EXTENTS} | work
