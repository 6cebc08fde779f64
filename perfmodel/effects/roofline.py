"""The ideal roofline of one kernel: each unit at its peak, memory at its bandwidth, all at the same time.

Williams, Waterman and Patterson 2009 (Communications of the ACM 52(4)): time is the larger of work over
peak and bytes over bandwidth. Assumes perfect overlap, full units, and each byte moved once. Tiles inside tiles
add a term for each on-chip level that serves them (``perfmodel.effects.levels``).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import sympy

from perfmodel.catalogue import Machine
from perfmodel.catalogue.parts import Peak
from perfmodel.effects.levels import PREFIX, levels_of
from perfmodel.expressions import Size, is_concrete
from perfmodel.graph.counting import Work
from perfmodel.graph.kernel_counts import KernelCount
from perfmodel.number_formats import format


class Term(NamedTuple):
    """One resource's part: an amount of work or bytes, the rate, and the seconds that it takes.

    >>> Term("matrix", "matrix bf16", 2e12, 1e12, 2.0).seconds
    2.0
    """

    unit: str  # "matrix", "vector", "special" or "memory"; "level l2" for an on-chip level
    resource: str
    amount: Size
    rate: Any  # FLOP/s, operations/s or B/s
    seconds: Any
    peak: Peak | None = None  # the entry of the machine's data sheet that gives the rate of a unit
    works: tuple[int, ...] = ()  # which of the kernel's works it holds

    @property
    def computes(self) -> bool:
        """Whether it is work of a unit, and not bytes of the memory or of a level.

        >>> Term("matrix", "matrix bf16", 1, 1, 1.0).computes, Term("level l2", "l2", 1, 1, 1.0).computes
        (True, False)
        """
        return self.unit != "memory" and not self.is_level

    @property
    def is_level(self) -> bool:
        """Whether it is the traffic of an on-chip level.

        >>> Term("level l2", "l2", 1, 1, 1.0).is_level
        True
        """
        return self.unit.startswith(PREFIX)


class Roofline(NamedTuple):
    """The terms of one kernel (memory last, levels before it, the innermost first), and remarks on the peaks chosen.

    ``unknown`` is work without a known rate, ``left_out`` levels without one.

    >>> Roofline((), (), ()).terms
    ()
    """

    terms: tuple[Term, ...]
    unknown: tuple[str, ...]
    remarks: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def levels_s(self) -> Any:
        """Seconds of the slowest on-chip level that serves the kernel's tiles; 0 for none.

        >>> Roofline((Term("level l2", "l2", 4, 2, 2.0), Term("memory", "hbm", 1, 1, 1.0)), (), ()).levels_s
        2.0
        """
        found = [term.seconds for term in self.terms if term.is_level]
        if all(is_concrete(item) for item in found):
            return float(max(found, default=0.0))
        return sympy.Max(*found, evaluate=False) if len(found) > 1 else found[0]


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
    unknown: dict[str, None] = {}
    remarks: dict[str, None] = {}
    for place, item in enumerate(count.works):
        unit, name, peak, remark = _rate(item, machine)
        if peak is None:
            unknown[remark] = None
            continue
        if remark:
            remarks[remark] = None
        terms[unit, name] = _term(unit, name, peak, item.operations, place, terms.get((unit, name)))
    moved, bandwidth = count.bytes, machine.bandwidth_bytes_per_s
    memory = Term("memory", _memory_name(machine.memory_type), moved, bandwidth, moved / bandwidth)
    levels = levels_of(count, machine)
    inside = [Term(PREFIX + each.level, each.level, each.bytes, each.rate, each.bytes / each.rate)
              for each in reversed(levels.served)]  # fmt: skip
    return Roofline((*terms.values(), *inside, memory), tuple(unknown), (*remarks, *levels.remarks), levels.left_out)


def _term(unit: str, name: str, peak: Peak, operations: Size, place: int, known: Term | None) -> Term:
    """The work at one place as a term, added to what is known to run at the same peak."""
    amount = operations if known is None else known.amount + operations
    works = (place,) if known is None else (*known.works, place)
    return Term(unit, f"{unit} {name}", amount, peak.flops_per_s, amount / peak.flops_per_s, peak, works)


def _rate(item: Work, machine: Machine) -> tuple[str, str, Peak | None, str]:
    """The unit, format and peak that some work runs at with a remark; no peak, and why, where none is known."""
    name = item.compute.name
    peak = machine.find_peak(item.compute, item.unit, item.accumulate)
    if peak is not None:
        usual = item.accumulate.name == item.compute.accumulator
        return item.unit, name if usual else f"{name} into {item.accumulate.name}", peak, ""
    if item.unit == "special" and item.compute.bits <= format("fp32").bits:
        peak = machine.find_peak("fp32", "special", "fp32")
        if peak is not None:
            return "special", "fp32", peak, f"special operations on {name} run at the fp32 rate"
    if item.unit == "matrix" and not _lists(machine, item):
        peak = machine.find_peak(item.compute, "vector", item.accumulate)
        if peak is not None:
            remark = f"{machine.name} has no matrix unit for {name}: contractions run on the vector unit"
            return "vector", name, peak, remark
    return item.unit, name, None, f"{item.unit} {name}: {machine.name} lists no such rate"


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
    return _memory_name(machine.memory_type)


@lru_cache(maxsize=256)
def _memory_name(kind: str) -> str:
    return next((name for name in ("hbm", "gddr", "lpddr", "ddr") if kind.lower().startswith(name)), "memory")
