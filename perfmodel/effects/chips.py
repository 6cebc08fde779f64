"""What the effects need of a machine: units, the clock they issue at, memory, cache, and the calibrated constants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.catalogue.parts import Peak, Quantity
from perfmodel.effects.coalescing import SECTOR_BYTES
from perfmodel.effects.constants import Constants, constants_of
from perfmodel.effects.relatives import relative_of
from perfmodel.showing import quantity

SHARED_BYTES = 64 * 1024  # where a data sheet does not say: the least that a GPU of the last ten years has
# The last-level cache over memory, where no sheet says: 2.6 on an A100, 2.7 on a V100, 2 on an H100 (gpu-benches).
CACHE_RATIO = 2.5
_A = {"tpu": "a TPU", "npu": "an npu", "cpu": "a CPU"}
_CACHES = ("infinity-cache", "system-cache", "l3", "l2")  # the last level comes first


@dataclass(frozen=True, slots=True)
class Chip:
    """A machine in plain numbers; ``lender`` is the relative whose constants it has, "" for its own.

    >>> from perfmodel import machine
    >>> chip = Chip.of(machine("h100-sxm"))
    >>> chip.units, chip.clock_hz / 1e9, chip.lender
    (132, 1.98, '')
    """

    units: int
    clock_hz: float
    bandwidth: float
    cache_bytes: float | None
    shared_bytes: float
    constants: Constants
    lender: str = ""
    cache_bandwidth: float = 0.0
    half_peak: float = 0.0  # FLOP/s of the matrix unit in 16 bits
    sector_bytes: float = SECTOR_BYTES
    watts: float = 0.0  # what the board may draw; 0 where no sheet says
    capability: str = ""

    @classmethod
    def of(cls, machine: Machine) -> Chip:
        """The numbers of a machine that ``chip_of`` finds enough of.

        >>> from perfmodel import machine
        >>> Chip.of(machine("a100-sxm-80gb")).shared_bytes == 164 * 1024
        True
        """
        found = chip_of(machine)
        if found is None:
            raise ValueError(f"{machine.name} lacks figures that the effects need")
        return found

    def issued_rate(self, peak: Peak) -> float:
        """FLOP/s of one unit at the clock that it boosts to.

        >>> from perfmodel import machine
        >>> h = machine("h100-sxm")
        >>> Chip.of(h).issued_rate(h.find_peak("bf16")) == 4096 * 1.98e9
        True
        """
        if peak.rate_per_clock is not None:
            return max(float(peak.rate_per_clock) * self.clock_hz, float(peak.flops_per_s) / self.units)
        return float(peak.flops_per_s) / self.units


@lru_cache(maxsize=256)
def chip_of(machine: Machine) -> Chip | None:
    """A GPU in plain numbers; None for other machines, and where ``lacking`` says what it lacks.

    >>> from perfmodel import Machine, machine
    >>> chip_of(Machine(peak=1e12, bandwidth_bytes_per_s=1e9)), chip_of(machine("tpu-v5e"))
    (None, None)
    """
    constants, lender = constants_of(machine)
    return None if constants is None else chip_with(machine, constants, lender)


def chip_with(machine: Machine, constants: Constants, lender: str = "") -> Chip | None:
    """A machine in plain numbers with these constants; None where it lacks others that the effects need.

    >>> from perfmodel import machine
    >>> chip_with(machine("h100-pcie"), constants_of(machine("h100-sxm"))[0]).units
    114
    """
    clock = clock_of(machine)
    numbers = (machine.units, clock, machine.bandwidth_bytes_per_s)
    if not all(isinstance(item, int | float) for item in numbers):
        return None
    return Chip(
        int(_number(machine.units)),
        _number(clock),
        _number(machine.bandwidth_bytes_per_s),
        _cache_figure(machine, "capacity_bytes"),
        next((_number(level.capacity_bytes) for level in machine.levels if level.name == "shared"), SHARED_BYTES),
        constants,
        lender,
        _cache_figure(machine, "bandwidth_bytes_per_s") or CACHE_RATIO * _number(machine.bandwidth_bytes_per_s),
        max([_number(peak.flops_per_s) for peak in machine.peaks if _is_half(peak)], default=0.0),
        next((float(figure.value) for name, figure in machine.figures if name == "sector_bytes"), SECTOR_BYTES),
        _number(machine.tdp_w) if isinstance(machine.tdp_w, int | float) else 0.0,
        machine.compute_capability or "",
    )


def clock_of(machine: Machine) -> Quantity | None:
    """The clock that a chip boosts to; of one whose sheet has none, the clock at which its peak fits its units.

    That takes what a unit does in a clock, which chips of one architecture share: the relative's figure.

    >>> from perfmodel import machine
    >>> clock_of(machine("h100-sxm")) / 1e9, f"{clock_of(machine('h100-nvl')) / 1e9:.3g}"
    (1.98, '1.54')
    """
    clock, relative = machine.clocks.of("vector"), relative_of(machine)
    if clock is not None or relative is None or not isinstance(machine.units, int):
        return clock
    if machine.architecture.split()[:1] != relative.architecture.split()[:1]:
        return None
    rates = {peak.label: peak.rate_per_clock for peak in relative.peaks}
    for peak in sorted(machine.peaks, key=lambda peak: peak.unit == "matrix"):
        rate = rates.get(peak.label)
        if rate is not None and isinstance(peak.flops_per_s, int | float):
            return peak.flops_per_s / (machine.units * rate)
    return None


@lru_cache(maxsize=256)
def borrowed(machine: Machine) -> tuple[str, ...]:
    """What a chip's numbers owe to a relative, in words.

    >>> from perfmodel import machine
    >>> borrowed(machine("h100-sxm")), borrowed(machine("h100-pcie"))
    ((), ('calibrated constants that h100-pcie lacks are those of h100-sxm',))
    """
    lender, relative, found = constants_of(machine)[1], relative_of(machine), []
    if lender and relative is not None:
        apart = f", the oldest of its kind of memory: no chip of {machine.vendor} has all of its own"
        text = f"calibrated constants that {machine.name} lacks are those of {lender}"
        found.append(text + (apart if relative.vendor != machine.vendor else ""))
    clock = clock_of(machine)
    if relative is not None and machine.clocks.of("vector") is None and isinstance(clock, int | float):
        of = f"its peak, its units and what a unit of {relative.name} does in a clock"
        found.append(f"{machine.name} lists no clock: {quantity(clock, 'Hz')} follows from {of}")
    return tuple(found)


def lacking(machine: Machine) -> str:
    """What keeps the effects beyond the roofline from a machine; "" for nothing.

    >>> from perfmodel import Machine, machine
    >>> lacking(machine("gaudi3"))
    'tiles, waves, caches and launches are modelled on GPUs, and gaudi3 is an npu'
    >>> lacking(Machine(peak=1e12, bandwidth_bytes_per_s=1e9, units=8, name="mine"))
    'mine lists no clock, calibrated constants or relative that lends them, which they need'
    """
    name = machine.name
    if machine.kind not in ("gpu", ""):
        return f"tiles, waves, caches and launches are modelled on GPUs, and {name} is {_A[machine.kind]}"
    figures = {"units": machine.units, "clock": clock_of(machine), "bandwidth": machine.bandwidth_bytes_per_s}
    lacks = [what for what, value in figures.items() if value is None]
    if constants_of(machine)[0] is None:
        lacks.append("calibrated constants or relative that lends them")
    if lacks:
        return f"{name} lists no {', '.join(lacks)}, which they need"
    formulas = [what for what, value in figures.items() if not isinstance(value, int | float)]
    return f"formulas of {name} ({', '.join(formulas)}), which replace(...) gives numbers" if formulas else ""


def _is_half(peak: Peak) -> bool:
    return peak.unit == "matrix" and peak.format in ("bf16", "fp16") and isinstance(peak.flops_per_s, int | float)


def _cache_figure(machine: Machine, name: str) -> float | None:
    """A figure of the last level of cache, where it is known."""
    for cache in _CACHES:
        for level in machine.levels:
            found = getattr(level, name)
            if level.name == cache and level.scope == "chip" and isinstance(found, int | float):
                return float(found)
    return None


def _number(value: Any) -> float:
    return float(value)
