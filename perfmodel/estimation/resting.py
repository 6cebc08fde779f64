"""What an estimate rests on: the figures of the data sheet that its formulas read, of which some are doubtful.

Nothing is listed by effect. The formulas of a kernel run once on numbers that note which of them are read
(``Watched``); a figure is one that the estimate rests on where changing it alone changes a term of the roofline, or a
number that was read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import is_dataclass, replace
from functools import lru_cache
from inspect import ismethod
from operator import attrgetter
from types import MethodType
from typing import TYPE_CHECKING, Any

from perfmodel.catalogue import Machine
from perfmodel.catalogue.figures import with_figure
from perfmodel.effects.chips import Chip, chip_with
from perfmodel.effects.constants import constants_of, lent_constants
from perfmodel.effects.relatives import relative_of
from perfmodel.effects.roofline import roofline
from perfmodel.effects.stack import Rates, kernel_parts
from perfmodel.estimation.stacking import rates_of, stacked
from perfmodel.showing import quantity

if TYPE_CHECKING:
    from perfmodel.estimation.kernels import KernelEstimate
    from perfmodel.estimation.values import Estimate


class Watched:
    """A value whose attributes are read through it, and noted: "units", "constants.launch_s".

    >>> from perfmodel import machine
    >>> from perfmodel.effects.chips import chip_of
    >>> seen = Watched(chip_of(machine("h100-sxm")), names := set())
    >>> seen.constants.step_s > 0, seen.issued_rate(machine("h100-sxm").find_peak("bf16")) > 0, sorted(names)
    (True, True, ['clock_hz', 'constants.step_s', 'units'])
    """

    def __init__(self, value: Any, names: set[str], prefix: str = "") -> None:
        self._value, self._names, self._prefix = value, names, prefix

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._value, name)
        if ismethod(found):
            return MethodType(found.__func__, self)
        path = self._prefix + name
        if is_dataclass(found) and not isinstance(found, type):
            return Watched(found, self._names, f"{path}.")
        self._names.add(path)
        return found


def doubtful(estimate: Estimate) -> tuple[str, ...]:
    """The doubtful figures that an estimate rests on, of the machine and of the one that lends it constants.

    >>> from perfmodel import estimate, matmul
    >>> doubtful(estimate(matmul(4096, 4096, 4096), "h100-sxm"))
    ()
    >>> [text[:37] for text in doubtful(estimate(matmul(4096, 4096, 4096), "l40s"))]
    ['l2 capacity_bytes of l40s is doubtful']
    """
    chip = estimate.machine
    relative = relative_of(chip) if constants_of(chip)[1] else None
    if not chip.doubts and (relative is None or not relative.doubts):
        return ()
    read = [(kernel, _read(kernel)) for kernel in estimate.kernels]
    found = [_said(name, chip) for name in chip.doubts if _rests(read, estimate, _other(chip, name))]
    if relative is not None:
        names = {name for _, (chip_names, _) in read for name in chip_names}
        found += [_said(name, relative) for name in relative.doubts
                  if _differ(names, _chip(chip, relative), _chip(chip, _other(relative, name)))]  # fmt: skip
    return tuple(found)


def overflowing(estimate: Estimate) -> tuple[str, ...]:
    """That a program needs more memory than there is, and the doubt of the capacity where it has one.

    >>> from perfmodel import estimate, matmul
    >>> overflowing(estimate(matmul(200_000, 200_000, 200_000), "h100-sxm"))
    ('it does not fit: 240 GB of tensors, and h100-sxm has 85.9 GB of memory (pm.fits says which)',)
    >>> overflowing(estimate(matmul(4096, 4096, 4096), "h100-sxm"))
    ()
    """
    chip, needed = estimate.machine, estimate.program.memory_bytes
    if not isinstance(needed, int) or not isinstance(chip.capacity_bytes, int | float) or needed <= chip.capacity_bytes:
        return ()
    amounts = f"{quantity(needed, 'B')} of tensors, and {chip.name} has {quantity(chip.capacity_bytes, 'B')} of memory"
    text = f"it does not fit: {amounts} (pm.fits says which)"
    return (text, *[_said(name, chip) for name in chip.doubts if name == "capacity_bytes"])


def _said(name: str, chip: Machine) -> str:
    return f"{name} of {chip.name} is doubtful: {chip.doubts[name]}"


@lru_cache(maxsize=256)
def _other(chip: Machine, name: str) -> Machine:
    """The machine with another value for a figure, by so much that nothing is left as it was."""
    value = dict(chip.figures)[name].value
    return with_figure(chip, name, value * 2 if isinstance(value, int | float) else "")


def _read(kernel: KernelEstimate) -> tuple[set[str], tuple[set[str], ...]]:
    """The names of the chip's numbers and of each peak's that the kernel's formulas read."""
    real, chip_names = kernel.real, set[str]()
    if real is None or real.setting is None:
        return chip_names, ()
    peaks = real.setting.rates.peaks
    peak_names = tuple([set[str]() for _ in peaks])
    rates: Any = [peak and Watched(peak, names) for peak, names in zip(peaks, peak_names, strict=True)]
    chip: Any = Watched(real.setting.chip, chip_names)
    setting = replace(real.setting, chip=chip, rates=Rates(tuple(rates)), on=frozenset(real.names))
    kernel_parts(real.shape, real.tile, setting)
    return chip_names, peak_names


def _rests(read: Iterable[Any], estimate: Estimate, changed: Machine) -> bool:
    """Whether what was read of the machine is other on the changed one."""
    chips = _chip(estimate.machine, relative_of(estimate.machine)), _chip(changed, relative_of(estimate.machine))
    return any(
        _differ(chip_names, *chips) or _kernel_differs(kernel, peak_names, estimate, changed)
        for kernel, (chip_names, peak_names) in read
    )


def _chip(chip: Machine, relative: Machine | None) -> Chip | None:
    constants = lent_constants(chip, relative)
    return None if constants is None else chip_with(chip, constants)


def _differ(names: Iterable[str], one: Any, other: Any) -> bool:
    return any((one is None) != (other is None) or attrgetter(name)(one) != attrgetter(name)(other) for name in names)


def _kernel_differs(
    kernel: KernelEstimate, peak_names: tuple[set[str], ...], estimate: Estimate, changed: Machine
) -> bool:
    terms = roofline(kernel.count, changed)
    if [term[:5] for term in terms.terms] != [term[:5] for term in kernel.roofline.terms]:
        return True
    if kernel.real is None or terms.remarks != kernel.roofline.remarks:
        return terms.remarks != kernel.roofline.remarks
    if kernel.real.setting is None:  # a TPU: its padding
        real = stacked(kernel.count, terms, changed, estimate.effects, estimate.protocol, kernel.real.given)
        return len(kernel.real.names) > 1 and real != kernel.real
    pairs = zip(peak_names, kernel.real.setting.rates.peaks, rates_of(kernel.count, terms).peaks, strict=True)
    return any(_differ(names, old, new) for names, old, new in pairs)
