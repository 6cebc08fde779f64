"""Relatives: whose constants a chip borrows, by a rule over the data sheets that have all eight of their own.

First a chip of the same vendor, which a compute capability tells too; then one of the same compute capability, of the
same kind of memory (stacked or graphics memory: data-centre and graphics chips of one generation differ in caches,
units and power), of the same architecture, of the very same memory, of the nearest year, and of two as near the older
one. Where no chip of the vendor has constants, the oldest of the same kind of memory lends its own: what later ones do
(bulk copies, clusters, tensor memory) is their vendor's alone.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import takewhile

from perfmodel.catalogue import Machine, machine, machines
from perfmodel.catalogue.tables import CALIBRATED

_KINDS = ("hbm", "gddr")
_NO_YEAR = 2000


@lru_cache(maxsize=256)
def relative_of(chip: Machine) -> Machine | None:
    """The nearest chip with constants of its own; None for what is no GPU, and where nothing is near.

    >>> from perfmodel import machine
    >>> [relative_of(machine(name)).name for name in ("h100-pcie", "rtx-4090", "rtx-5090", "max1550")]
    ['h100-sxm', 'l40s', 'rtx-pro-6000-server', 'arc-pro-b60']
    >>> relative_of(machine("tpu-v5e")), relative_of(machine("apple-m1"))
    (None, None)
    """
    others = [each for each in _lenders() if each.name != chip.name] if chip.kind == "gpu" else []
    related = [each for each in others if each.vendor == chip.vendor or _same_capability(chip, each)]
    if related:
        return max(related, key=lambda each: _nearness(chip, each))
    alike = [each for each in others if _memory(each) == _memory(chip) in _KINDS]
    return min(alike, key=lambda each: (each.year or _NO_YEAR, each.name), default=None)


@lru_cache(maxsize=1)
def _lenders() -> tuple[Machine, ...]:
    chips = [machine(name) for name in machines(kind="gpu")]
    return tuple([each for each in chips if set(CALIBRATED) <= {name for name, _ in each.figures}])


def _nearness(chip: Machine, other: Machine) -> tuple[bool, bool, int, bool, int, int]:
    pairs = zip(chip.architecture.split(), other.architecture.split(), strict=False)
    words = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    year = other.year or _NO_YEAR
    return (
        _same_capability(chip, other),
        _memory(chip) == _memory(other),
        len(words),
        chip.memory_type == other.memory_type,
        -abs((chip.year or _NO_YEAR) - year),
        -year,
    )


def _same_capability(chip: Machine, other: Machine) -> bool:
    return bool(chip.compute_capability) and chip.compute_capability == other.compute_capability


def _memory(chip: Machine) -> str:
    kind = chip.memory_type.lower()
    return next((name for name in _KINDS if kind.startswith(name)), kind)
