"""The ideal roofline of one kernel: each unit at its peak, memory at its bandwidth, all at the same time.

Williams, Waterman and Patterson 2009 (Communications of the ACM 52(4)): time is the larger of work over
peak and bytes over bandwidth. Assumes perfect overlap, full units, and each byte moved once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.expressions import Size
from perfmodel.graph.counting import Work
from perfmodel.graph.counts import KernelCount
from perfmodel.number_formats import format


@dataclass(frozen=True, slots=True)
class Term:
    """One resource's part: an amount of work or bytes, the rate, and the seconds that it takes.

    >>> Term("matrix", "matrix bf16", 2e12, 1e12, 2.0).seconds
    2.0
    """

    unit: str  # "matrix", "vector", "special" or "memory"
    resource: str
    amount: Size
    rate: Any  # FLOP/s, operations/s or B/s
    seconds: Any


@dataclass(frozen=True, slots=True)
class Roofline:
    """The terms of one kernel, what has no known rate, and remarks on how peaks were chosen.

    >>> Roofline((), (), ()).terms
    ()
    """

    terms: tuple[Term, ...]
    unknown: tuple[str, ...]
    remarks: tuple[str, ...]


def roofline(count: KernelCount, machine: Machine) -> Roofline:
    """The ideal terms of one kernel on a machine; memory comes last.

    A contraction runs on the matrix unit where the chip lists the format there, else on the vector unit (and
    a remark says so); special operations in fp32 where the chip lists no narrower rate. Work without a known
    rate is listed, not guessed.

    >>> from perfmodel import Machine, matmul
    >>> found = roofline(matmul(64, 64, 64).counted[0], Machine(peak=1e12, bandwidth_bytes_per_s=1e9))
    >>> [(term.resource, term.seconds) for term in found.terms]
    [('matrix bf16', 5.24288e-07), ('memory', 2.4576e-05)]
    """
    terms: dict[tuple[str, str], Term] = {}
    unknown: list[str] = []
    remarks: list[str] = []
    for item in count.works:
        chosen = _rate(item, machine, remarks)
        if chosen is None:
            unknown.append(f"{item.unit} {item.compute.name}: {machine.name} lists no such rate")
            continue
        unit, name, rate = chosen
        known = terms.get((unit, name))
        amount = item.operations if known is None else known.amount + item.operations
        terms[unit, name] = Term(unit, f"{unit} {name}", amount, rate, amount / rate)
    moved = count.bytes
    bandwidth = machine.bandwidth_bytes_per_s
    memory = Term("memory", memory_name(machine), moved, bandwidth, moved / bandwidth)
    return Roofline((*terms.values(), memory), tuple(dict.fromkeys(unknown)), tuple(dict.fromkeys(remarks)))


def _rate(item: Work, machine: Machine, remarks: list[str]) -> tuple[str, str, Any] | None:
    """The unit, format and rate that some work runs at, or None where the chip lists none."""
    name = item.compute.name
    found = machine.find_peak(item.compute, item.unit, item.accumulate)
    if found is not None:
        return item.unit, name, found.flops_per_s
    if item.unit == "special":
        fp32 = machine.find_peak("fp32", "special", "fp32")
        if fp32 is None or format("fp32").bits < item.compute.bits:
            return None
        remarks.append(f"special operations on {name} run at the fp32 rate")
        return "special", "fp32", fp32.flops_per_s
    if item.unit == "matrix" and not _lists(machine, item):
        vector = machine.find_peak(item.compute, "vector", item.accumulate)
        if vector is not None:
            remarks.append(f"{machine.name} has no matrix unit for {name}: contractions run on the vector unit")
            return "vector", name, vector.flops_per_s
    return None


def _lists(machine: Machine, item: Work) -> bool:
    """Whether the matrix unit has the format with any accumulator: another one is no reason to leave it."""
    names = (item.compute.name, item.compute.family)
    return any(peak.unit == item.unit and peak.format in names for peak in machine.peaks)


def memory_name(machine: Machine) -> str:
    """What the memory level is called: "hbm", "gddr" or "memory".

    >>> from perfmodel import Machine, machine
    >>> memory_name(machine("h100-sxm")), memory_name(Machine(peak=1, bandwidth_bytes_per_s=1))
    ('hbm', 'memory')
    """
    kind = machine.memory_type.lower()
    return next((name for name in ("hbm", "gddr", "lpddr", "ddr") if kind.startswith(name)), "memory")
