"""The quantities that conditions and tables name: what a program counts, what an estimate gives, what a machine has."""

from __future__ import annotations

from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.errors import MachineError

COUNTS = (
    "flops", "macs", "issued_flops", "bytes", "bytes_read", "bytes_written", "elements_read", "elements_written",
    "footprint_bytes", "memory_bytes", "intensity",
)  # fmt: skip
RATES = ("time_s", "flops_per_s", "bytes_per_s", "fraction_of_peak", "fraction_of_bandwidth")
FACTS = ("capacity_bytes", "bandwidth_bytes_per_s", "units", "tdp_w")


def fact(chip: Machine, name: str, verb: str = "solve") -> Any:
    """A figure of a machine; ``MachineError`` where it lists none.

    >>> from perfmodel import machine
    >>> fact(machine("h100-sxm"), "units")
    132
    """
    value = getattr(chip, name)
    if value is None:
        raise MachineError(f"{verb}: {chip.name} lists no {name}; machine.replace({name}=...) gives one")
    return value
