"""Estimates: how long each kernel takes, what bounds it, and what that says of the whole program."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy

from perfmodel.catalogue import Machine
from perfmodel.effects.roofline import Roofline, Term
from perfmodel.estimation import explaining, measuring
from perfmodel.expressions import Size, is_concrete
from perfmodel.graph.counts import KernelCount
from perfmodel.graph.programs import Program
from perfmodel.showing import Text

UNDECIDED = "depends"  # the bound of a formula whose symbols have no values yet


@dataclass(frozen=True, slots=True)
class KernelEstimate:
    """One kernel's roofline: its terms, and the time of one run (their maximum)."""

    count: KernelCount
    roofline: Roofline

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.count.kernel.name

    @property
    def repeat(self) -> Size:
        """How often it runs."""
        return self.count.kernel.repeat

    @property
    def memory(self) -> Term:
        """The memory term."""
        return self.roofline.terms[-1]

    def unit_seconds(self) -> dict[str, Any]:
        """Seconds by unit: the formats of one unit take turns, units and memory overlap."""
        found: dict[str, Any] = {}
        for term in self.roofline.terms:
            found[term.unit] = found[term.unit] + term.seconds if term.unit in found else term.seconds
        return found

    @property
    def time_s(self) -> Any:
        """Seconds of one run: a float, or a formula."""
        seconds = list(self.unit_seconds().values())
        if all(is_concrete(item) for item in seconds):
            return float(max(seconds))
        return sympy.Max(*seconds, evaluate=False) if len(seconds) > 1 else seconds[0]

    @property
    def compute_s(self) -> Any:
        """Seconds of the busiest compute unit (0 for a kernel that only moves data)."""
        seconds = [value for unit, value in self.unit_seconds().items() if unit != "memory"]
        if all(is_concrete(item) for item in seconds):
            return float(max(seconds, default=0.0))
        return sympy.Max(*seconds, evaluate=False) if len(seconds) > 1 else seconds[0]

    @property
    def bottleneck(self) -> str:
        """The resource that takes longest: "matrix bf16", "hbm", ...; compute where they are equal."""
        seconds = self.unit_seconds()
        if not all(is_concrete(item) for item in seconds.values()):
            return UNDECIDED
        longest = max(seconds.values())
        unit = next(name for name in ("matrix", "vector", "special", "memory") if seconds.get(name) == longest)
        terms = [term for term in self.roofline.terms if term.unit == unit]
        return max(terms, key=lambda term: term.seconds).resource

    @property
    def bound(self) -> str:
        """ "compute" or "memory"; "depends" where symbols have no values."""
        named = self.bottleneck
        return named if named == UNDECIDED else "memory" if named == self.memory.resource else "compute"


@dataclass(frozen=True)
class Estimate:
    """How long a program takes on a machine, with its working.

    A program's time is the sum over kernels of each one's maximum; its bound is that of the largest share.
    Times are floats in seconds, or formulas where the program or machine has symbols.

    >>> from perfmodel import estimate, matmul
    >>> e = estimate(matmul(8, 8192, 8192), "h100-sxm", effects="ideal")
    >>> e.bound, e.bottleneck, f"{e.fraction_of_peak:.1%}"
    ('memory', 'hbm', '2.7%')
    """

    program: Program
    machine: Machine
    kernels: tuple[KernelEstimate, ...]
    effects: tuple[str, ...]
    left_out: tuple[str, ...] = field(default=(), repr=False)
    tile: Any = None

    def _summed(self, seconds: list[Any]) -> Any:
        if all(is_concrete(item) for item in seconds):
            return float(sum(seconds))
        return sympy.Add(*seconds)

    @cached_property
    def time_s(self) -> Any:
        """Seconds, all effects included."""
        return self._summed([item.time_s * item.repeat for item in self.kernels])

    @property
    def ideal_time_s(self) -> Any:
        """Seconds by the ideal roofline alone."""
        return self.time_s

    @cached_property
    def shares(self) -> dict[str, float]:
        """Seconds in kernels bound by each resource, largest first; empty while symbols have no values."""
        if not is_concrete(self.time_s):
            return {}
        found: dict[str, float] = {}
        for item in self.kernels:
            found[item.bottleneck] = found.get(item.bottleneck, 0.0) + item.time_s * item.repeat
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    @property
    def bottleneck(self) -> str:
        """The resource whose kernels take the largest share of the time; "depends" for a formula."""
        return next(iter(self.shares), UNDECIDED)

    @property
    def bound(self) -> str:
        """ "compute" or "memory", by the larger share of the time (compute where equal); "depends" for a formula."""
        if not self.shares:
            return UNDECIDED
        memory = sum(item.time_s * item.repeat for item in self.kernels if item.bound == "memory")
        return "memory" if memory > self.time_s - memory else "compute"

    @property
    def flops_per_s(self) -> Any:
        """Attained FLOP/s (special operations not counted)."""
        return self.program.flops / self.time_s

    @property
    def bytes_per_s(self) -> Any:
        """Attained bytes per second at the memory level."""
        return self.program.bytes / self.time_s

    @property
    def fraction_of_peak(self) -> Any:
        """The share of the time for which the busiest compute unit works at its peak."""
        return self._summed([item.compute_s * item.repeat for item in self.kernels]) / self.time_s

    @property
    def fraction_of_bandwidth(self) -> Any:
        """The share of the time for which memory moves bytes at its bandwidth."""
        return self.bytes_per_s / self.machine.bandwidth_bytes_per_s

    @property
    def steps(self) -> tuple[tuple[str, Any], ...]:
        """The effects in order, with the seconds after each."""
        return tuple([(name, self.time_s) for name in self.effects])

    @cached_property
    def not_modelled(self) -> tuple[str, ...]:
        """What the estimate leaves out: work without a known rate, and effects that are not in it."""
        unknown = [text for item in self.kernels for text in item.roofline.unknown]
        return tuple(dict.fromkeys([*unknown, *self.left_out]))

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """Remarks on the peaks chosen, and doubtful figures of the data sheet that it rests on."""
        used = {term.resource for item in self.kernels for term in item.roofline.terms}
        used |= {"bandwidth_bytes_per_s", "memory.bandwidth_bytes_per_s"}
        remarks = [text for item in self.kernels for text in item.roofline.remarks]
        doubts = [f"{name} of {self.machine.name} is doubtful: {why}"
                  for name, why in self.machine.doubts.items() if name in used]  # fmt: skip
        return tuple(dict.fromkeys([*remarks, *doubts]))

    def against(self, seconds: float) -> measuring.Measured:
        """A measured time beside the estimate; one faster than the machine can is refused.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(4096, 4096, 4096), "h100-sxm", effects="ideal").against(200e-6).fraction_of_peak
        0.6945690065494443
        """
        return measuring.measured(self, seconds)

    def explain(self) -> Text:
        """The working: formulas, numbers, rates, times, the conclusion, and what fusing would give."""
        return explaining.explained(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything above as plain data."""
        return explaining.as_dict(self)

    def __repr__(self) -> str:
        return explaining.shown(self)

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def _repr_latex_(self) -> str:
        return explaining.as_latex(self)
