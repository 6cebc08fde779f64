"""``estimate_many``: one program at many sizes, the effects computed on arrays, the tile chosen for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from perfmodel.catalogue import Machine, machine
from perfmodel.effects.alignment import array_padding
from perfmodel.effects.chips import chip_of
from perfmodel.effects.choosing import chosen_many
from perfmodel.effects.protocols import Protocol, protocol as known_protocol
from perfmodel.effects.roofline import Roofline, roofline
from perfmodel.effects.shapes import CONTRACTION, KernelShape, shape_of
from perfmodel.effects.stack import NAMES, Parts, Setting, kernel_parts
from perfmodel.effects.tiles import Tile, checked_tile
from perfmodel.errors import MachineError
from perfmodel.estimation.kernels import LAUNCH, NEARLY_ONE
from perfmodel.estimation.names import checked_program, names_of
from perfmodel.estimation.size_arrays import arrays_of
from perfmodel.estimation.stacking import rates_of
from perfmodel.expressions import compile_formula, is_concrete
from perfmodel.graph.programs import Program

BOUNDS = ("compute", "memory", LAUNCH)


@dataclass(frozen=True)
class ManyKernels:
    """One kernel at many sizes: its shape in arrays, its tile at each, how often it runs.

    >>> from perfmodel import estimate_many, matmul
    >>> estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [1, 128]}).kernels[0].repeat
    1.0
    """

    shape: KernelShape
    setting: Setting | None
    tile: Tile | None
    repeat: Any
    plain: Parts | None = None  # where there are no effects, or the machine has none: the roofline, padded

    @cached_property
    def parts(self) -> Parts:
        """The seconds of one run at each size, part by part, with all effects of the setting.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [1, 128]}).kernels[0].parts.memory_s.shape
        (2,)
        """
        if self.plain is not None:
            return self.plain
        return kernel_parts(self.shape, self.tile, self.setting) if self.setting else Parts(0.0, 0.0, 0.0, 0.0, 0.0)

    def seconds(self, on: frozenset[str] | None = None) -> Any:
        """Seconds of all runs at each size, with some effects (all of the setting's where None).

        >>> from perfmodel import estimate_many, matmul
        >>> kernel = estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [1, 128]}).kernels[0]
        >>> bool((kernel.seconds(frozenset(["roofline"])) < kernel.seconds()).all())
        True
        """
        if on is None or self.setting is None:
            return self.parts.time_s * self.repeat
        return kernel_parts(self.shape, self.tile, replace(self.setting, on=on)).time_s * self.repeat

    @property
    def bound(self) -> Any:
        """What bounds the kernel at each size: 0 compute, 1 memory, 2 launch, as ``KernelEstimate.bound`` has it.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("n", "n", "n"), "h100-sxm", {"n": [64, 8192]}).kernels[0].bound
        array([2, 0])
        """
        import numpy

        parts = self.parts
        over = parts.launch_s + parts.split_s > numpy.maximum(parts.compute_s, parts.memory_s)
        return numpy.where(over, 2, numpy.where(parts.memory_s * NEARLY_ONE > parts.compute_s, 1, 0))


@dataclass(frozen=True)
class Estimates:
    """A program's times at many sizes: ``time_s`` is an array, and ``steps`` the seconds after each effect.

    >>> from perfmodel import estimate_many, matmul
    >>> found = estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [1, 128, 8192]})
    >>> found.time_s.shape, found.steps[0][0], bool((found.time_s >= found.ideal_time_s).all())
    ((3,), 'roofline', True)
    """

    program: Program
    machine: Machine
    kernels: tuple[ManyKernels, ...]
    effects: tuple[str, ...]
    count: int

    @cached_property
    def time_s(self) -> Any:
        """Seconds at each size, all effects included.

        >>> from perfmodel import estimate, estimate_many, matmul
        >>> many = estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [1, 128]})
        >>> bool(many.time_s[1] == estimate(matmul(128, 4096, 4096), "h100-sxm").time_s)
        True
        """
        return sum([kernel.seconds() for kernel in self.kernels])

    @cached_property
    def steps(self) -> tuple[tuple[str, Any], ...]:
        """The effects in order, with the seconds after each, at each size (at the tile that all of them chose).

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [1, 128]}, "ideal").steps[-1][0]
        'roofline'
        """
        found = []
        for place, name in enumerate(self.effects):
            on = frozenset(self.effects[: place + 1])
            found.append((name, sum([kernel.seconds(on) for kernel in self.kernels])))
        return tuple(found)

    @property
    def ideal_time_s(self) -> Any:
        """Seconds at each size by the roofline alone.

        >>> from perfmodel import estimate_many, matmul
        >>> [f"{t * 1e6:.1f}" for t in estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [4096]}).ideal_time_s]
        ['138.9']
        """
        return self.steps[0][1]

    @property
    def bound(self) -> Any:
        """One of "compute", "memory" and "launch" at each size, by the largest share of the time.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("n", "n", "n"), "h100-sxm", {"n": [64, 8192]}).bound.tolist()
        ['launch', 'compute']
        """
        import numpy

        return numpy.array(BOUNDS, dtype=object)[self.bound_codes]

    @property
    def bound_codes(self) -> Any:
        """The bound at each size as its place in ``BOUNDS``.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("n", "n", "n"), "h100-sxm", {"n": [64, 8192]}).bound_codes
        array([2, 0], dtype=int8)
        """
        import numpy

        pairs = [(numpy.broadcast_to(kernel.bound, (self.count,)), kernel.seconds()) for kernel in self.kernels]
        shares = [sum([numpy.where(bound == place, spent, 0.0) for bound, spent in pairs]) for place in range(3)]
        least = numpy.maximum(numpy.maximum(shares[0], shares[1]), shares[2]) * NEARLY_ONE
        return numpy.where(shares[0] >= least, 0, numpy.where(shares[1] >= least, 1, 2)).astype("int8")

    @property
    def tiles(self) -> Tile | None:
        """The tile of the first contraction at each size; None for a program without one.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("m", 4096, 4096), "h100-sxm", {"m": [4096]}).tiles.m
        array([256.])
        """
        return next((kernel.tile for kernel in self.kernels if kernel.tile is not None), None)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The works of which no rate is known: the times are at least those given.

        >>> from perfmodel import estimate_many, matmul
        >>> estimate_many(matmul("m", 64, 64, dtype="nvfp4"), "a100-sxm-80gb", {"m": [1]}).unknown
        ('matrix nvfp4: a100-sxm-80gb lists no such rate',)
        """
        found = [each for item in self.program.counted for each in roofline(item, self.machine).unknown]
        return tuple(dict.fromkeys(found))

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"estimate_many({self.program.name}, {self.machine.name!r}): {self.count} sizes"


def estimate_many(
    program: Program,
    on: str | Path | Machine,
    sizes: Mapping[str, Any],
    effects: str | Iterable[str] = "real",
    protocol: str | Protocol | None = None,
    *,
    tile: Any = None,
    without: Iterable[str] = (),
) -> Estimates:
    """How long a program takes at many sizes: as ``estimate`` says of each, a hundred thousand a second.

    ``sizes`` gives each of the program's symbols a number or an array of as many numbers; ``protocol`` says what a
    measurement's loop leaves in cache. ``LabelError`` for a symbol that is unknown or has no value, ``DimensionError``
    for arrays of different lengths.

    >>> from perfmodel import matmul
    >>> estimate_many(matmul("m", "n", 1024), "h100-sxm", {"m": [1, 64], "n": 4096}).time_s.shape
    (2,)
    """
    checked_program(program, "estimate_many")
    names = names_of(effects, without)
    found = on if isinstance(on, Machine) else machine(on)
    count, values = arrays_of(program, sizes)
    if not all(map(is_concrete, (found.bandwidth_bytes_per_s, *[each.flops_per_s for each in found.peaks]))):
        raise MachineError(f"estimate_many: {found.name} has symbols; {found.name}.replace(...) gives them numbers")
    how, given = known_protocol(protocol), checked_tile(tile)
    kernels = [_kernel(item, found, names, how, given, values, count) for item in program.counted]
    return Estimates(program, found, tuple(kernels), names, count)


def _kernel(
    item: Any,
    found: Machine,
    names: tuple[str, ...],
    how: Protocol,
    given: tuple[int, ...] | None,
    values: Mapping[str, Any],
    count: int,
) -> ManyKernels:
    terms, chip = roofline(item, found), chip_of(found)
    shape = replace(shape_of(item), levels_s=terms.levels_s)
    shape = shape.at(values, count, _needed(shape, names, chip is None))
    repeat = _value(item.kernel.repeat, values)
    if chip is None or names == NAMES[:1]:
        return ManyKernels(shape, None, None, repeat, _plain(shape, item, terms, found, names))
    setting = Setting(chip, rates_of(item, terms), frozenset(names), how)
    tiled = shape.kind == CONTRACTION and setting.rates.peaks[shape.contracting[0]] is not None
    return ManyKernels(shape, setting, chosen_many(shape, setting, given) if tiled else None, repeat)


# Effects whose formulas ask for the extents, the bytes in all and the work; the others may ask for any number.
_PLAIN = frozenset(NAMES[:9]) | {"power", "few blocks", "memory reach", "overlap", "launch"}
_EXTENTS = ("batch", "m", "n", "k")


def _needed(shape: KernelShape, names: tuple[str, ...], plain: bool) -> set[str] | None:
    """The numbers of a shape that the effects ask for (None: all); ``plain`` where the machine has no effects."""
    if not plain and not set(names) <= _PLAIN:
        return None
    work = {f"work {place}" for place in range(len(shape.work))}
    if shape.kind != CONTRACTION:
        return {"bytes", "levels_s"} | work
    if len(names) > 1 and "power" not in names and not plain:
        work.discard(f"work {shape.contracting[0]}")  # its seconds are those of its tiles
    return {"bytes", "levels_s", *_EXTENTS} | work


def _plain(shape: KernelShape, item: Any, terms: Roofline, found: Machine, names: tuple[str, ...]) -> Parts:
    import numpy

    by_unit: dict[str, Any] = {}
    for amount, peak in zip(shape.work, rates_of(item, terms).peaks, strict=True):
        if peak is not None:
            by_unit[peak.unit] = by_unit.get(peak.unit, 0.0) + amount / float(peak.flops_per_s)
    compute: Any = numpy.zeros(len(shape.bytes))
    for seconds in by_unit.values():
        compute = numpy.maximum(compute, seconds)
    if found.kind == "tpu" and "alignment" in names and shape.kind == CONTRACTION:
        compute = compute * array_padding(shape)
    memory = numpy.maximum(shape.bytes / float(found.bandwidth_bytes_per_s), shape.levels_s)
    return Parts(compute, memory, 0.0, 0.0, numpy.maximum(compute, memory))


def _value(formula: Any, values: Mapping[str, Any]) -> Any:
    if is_concrete(formula):
        return float(formula)
    compiled = compile_formula(formula)
    return compiled({name: values[name] for name in compiled.symbols})
