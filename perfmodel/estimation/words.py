"""The quantities that conditions and tables name: what a program counts, what an estimate gives, what a machine has."""

from __future__ import annotations

from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.errors import MachineError, listed

COUNTS = (
    "flops", "macs", "issued_flops", "bytes", "bytes_read", "bytes_written", "elements_read", "elements_written",
    "footprint_bytes", "memory_bytes", "intensity",
)  # fmt: skip
RATES = ("time_s", "flops_per_s", "bytes_per_s", "fraction_of_peak", "fraction_of_bandwidth")
_LEVELS = {"shared_bytes": "shared", "l2_bytes": "l2", "vmem_bytes": "vmem"}  # a unit's shared memory, a chip's L2, ..
FACTS = ("capacity_bytes", "bandwidth_bytes_per_s", "units", "tdp_w", *_LEVELS)


def fact(chip: Machine, name: str, verb: str = "solve") -> Any:
    """A figure of a machine, or the capacity of one of its on-chip levels; ``MachineError`` where it lists none.

    >>> from perfmodel import machine
    >>> fact(machine("h100-sxm"), "units")
    132
    >>> fact(machine("h100-sxm"), "shared_bytes") == 228 * 1024
    True
    """
    if name in _LEVELS:
        found = next((each.capacity_bytes for each in chip.levels if each.name == _LEVELS[name]), None)
        if found is None:
            levels = [each.name for each in chip.levels]
            raise MachineError(f"{verb}: {chip.name} lists no {name}; its on-chip levels are {listed(levels)}")
        return found
    value = getattr(chip, name)
    if value is None:
        raise MachineError(f"{verb}: {chip.name} lists no {name}; machine.replace({name}=...) gives one")
    return value
