"""One kernel on one machine: its time, what bounds it, and how far it stands from the ridge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.effects.roofline import Roofline, Term
from perfmodel.estimation.stacking import Stacked
from perfmodel.estimation.times import longest, ratio
from perfmodel.expressions import Size, is_concrete
from perfmodel.graph.counting import summed
from perfmodel.graph.kernel_counts import KernelCount
from perfmodel.showing import Text, plain_dict, quantity
from perfmodel.shown import Shown

UNDECIDED = "depends"  # the bound of a formula whose symbols have no values yet
LAUNCH = "launch"  # the bound and the bottleneck of a kernel that mostly starts and ends
NEARLY_ONE = 1 - 2**-50  # times that differ by less are equal: each is rounded a few times, by 2^-53
_COMPUTE = ("matrix", "vector", "special")  # first: compute is the bound where both take as long


@dataclass(frozen=True, slots=True, repr=False)
class KernelEstimate(Shown):
    """One kernel's roofline, whose time is the maximum of its terms, and its time with the effects beyond it.

    >>> from perfmodel import estimate, matmul
    >>> kernel = estimate(matmul(4096, 4096, 4096), "h100-sxm", effects="ideal").kernels[0]
    >>> [(term.resource, f"{term.seconds * 1e6:.1f} us") for term in kernel.roofline.terms]
    [('matrix bf16', '138.9 us'), ('hbm', '30.0 us')]
    """

    count: KernelCount
    roofline: Roofline
    real: Stacked | None = None  # with the effects beyond the roofline, where they are asked for and apply

    @property
    def name(self) -> str:
        """The kernel's name.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(8, 8, 8), "h100-sxm").kernels[0].name
        'matmul'
        """
        return self.count.kernel.name

    @property
    def repeat(self) -> Size:
        """How often it runs.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(8, 8, 8).repeat(80), "h100-sxm").kernels[0].repeat
        80
        """
        return self.count.kernel.repeat

    @property
    def memory(self) -> Term:
        """The memory term.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(8, 8, 8), "h100-sxm").kernels[0].memory.amount == 3 * 2 * 8 * 8
        True
        """
        return self.roofline.terms[-1]

    def explain(self) -> Text:
        """Its time, what bounds it, and the amount, rate and seconds of each resource.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(4096, 4096, 4096), "h100-sxm", effects="ideal").kernels[0].explain()
        kernel matmul: 138.9 us, bound compute
          matrix bf16  137.4 G / 989.4 T/s = 138.9 us
          hbm          100.7 MB / 3.352 TB/s = 30.03 us
        """
        width = max([len(term.resource) for term in self.roofline.terms], default=0)
        lines = [f"  {term.resource:{width}}  {_working(term)}" for term in self.roofline.terms]
        return Text("\n".join([repr(self), *lines]))

    def to_dict(self) -> dict[str, Any]:
        """Its time, what bounds it and its terms as plain data.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(64, 64, 64), "h100-sxm").kernels[0].to_dict()["terms"]["hbm"]["amount"]  # 3 * 64^2 * 2 B
        24576
        """
        names = ("name", "repeat", "time_s", "bound", "bottleneck")
        terms = {term.resource: {"amount": term.amount, "rate": term.rate, "seconds": term.seconds}
                 for term in self.roofline.terms}  # fmt: skip
        return plain_dict({**{name: getattr(self, name) for name in names}, "terms": terms})

    def __repr__(self) -> str:
        often = "" if self.repeat == 1 else f" a run, {self.repeat} runs"
        return f"kernel {self.name}: {quantity(self.time_s, 's')}{often}, bound {self.bound}"

    def unit_seconds(self) -> dict[str, Any]:
        """Seconds by unit: the formats of one unit take turns, units and memory overlap.

        >>> from perfmodel import estimate, matmul
        >>> list(estimate(matmul(8, 8, 8), "h100-sxm").kernels[0].unit_seconds())
        ['matrix', 'memory']
        """
        found: dict[str, Any] = {}
        for term in self.roofline.terms:
            unit = term.unit
            found[unit] = found[unit] + term.seconds if unit in found else term.seconds
        return found

    @property
    def time_s(self) -> Any:
        """Seconds of one run: a float, or a formula.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul("n", "n", "n"), "h100-sxm").kernels[0].time_s
        Max(n**2/558720000000, n**3/494700000000000)
        """
        return self.ideal_time_s if self.real is None else self.real.time_s

    @property
    def ideal_time_s(self) -> Any:
        """Seconds of one run by the roofline alone.

        >>> from perfmodel import estimate, matmul
        >>> f"{estimate(matmul(4096, 4096, 4096), 'h100-sxm').kernels[0].ideal_time_s * 1e6:.1f} us"
        '138.9 us'
        """
        return longest(self.unit_seconds().values())

    def after(self, place: int, names: tuple[str, ...]) -> Any:
        """Seconds of one run after the effects up to a place among ``names``.

        >>> from perfmodel import estimate, matmul
        >>> e = estimate(matmul(64, 64, 64), "h100-sxm")
        >>> e.kernels[0].after(0, e.effects) == e.ideal_time_s
        True
        """
        if self.real is None:
            return self.ideal_time_s
        done = names[: place + 1]
        return [seconds for name, seconds in self.real.steps if name in done][-1]

    @property
    def compute_s(self) -> Any:
        """Seconds of the busiest compute unit (0 for a kernel that only moves data).

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul("n", "n", "n"), "h100-sxm").kernels[0].compute_s
        n**3/494700000000000
        """
        return longest([seconds for unit, seconds in self.unit_seconds().items() if unit in _COMPUTE])

    @property
    def flops_per_s(self) -> Any:
        """Attained FLOP/s (special operations not counted).

        >>> from perfmodel import Machine, estimate, matmul
        >>> estimate(matmul(8, 8, 8), Machine(peak=1e12, bandwidth_bytes_per_s=1e9)).kernels[0].flops_per_s
        2666666666.6666665
        """
        return ratio(summed(self.count.works, ("matrix", "vector")), self.time_s)

    @property
    def bytes_per_s(self) -> Any:
        """Attained bytes per second at the memory level.

        >>> from perfmodel import Machine, estimate, matmul
        >>> estimate(matmul(8, 8, 8), Machine(peak=1e12, bandwidth_bytes_per_s=1e9)).kernels[0].bytes_per_s
        1000000000.0
        """
        return ratio(self.memory.amount, self.time_s)

    @property
    def ridge_ratio(self) -> Any:
        """Intensity over the ridge point, which is compute over memory seconds: above 1 it is past the ridge.

        >>> from perfmodel import Machine, estimate, matmul
        >>> estimate(matmul(8, 8, 8), Machine(peak=1e12, bandwidth_bytes_per_s=1e9)).kernels[0].ridge_ratio
        0.0026666666666666666
        """
        return ratio(self.compute_s, self.memory.seconds)

    @property
    def bottleneck(self) -> str:
        """The resource that takes longest: "matrix bf16", "hbm", ...; compute where they are equal.

        >>> from perfmodel import estimate, softmax
        >>> [kernel.bottleneck for kernel in estimate(softmax(8, 8), "h100-sxm", effects="ideal").kernels][:3]
        ['hbm', 'hbm', 'hbm']
        """
        if self.real is None:
            return self.ideal_bottleneck
        compute, memory, launch = (self.real.parts.compute_s, self.real.parts.memory_s, self.real.overhead_s)
        if launch > max(compute, memory):
            return LAUNCH
        return self._longest(self._slowest_to_move(memory) if memory * NEARLY_ONE > compute else _COMPUTE)

    @property
    def ideal_bottleneck(self) -> str:
        """The resource that takes longest by the roofline alone.

        >>> from perfmodel import estimate, matmul
        >>> kernel = estimate(matmul(64, 64, 64), "h100-sxm").kernels[0]
        >>> kernel.bottleneck, kernel.ideal_bottleneck
        ('launch', 'hbm')
        """
        return self._longest((*_COMPUTE, *self._moving))

    def _longest(self, units: tuple[str, ...]) -> str:
        """The resource of the slowest of some units."""
        seconds = self.unit_seconds()
        if not all(is_concrete(item) for item in seconds.values()):
            return UNDECIDED
        known = [name for name in units if name in seconds] or list(seconds)
        most = max([seconds[name] for name in known])
        unit = next(name for name in known if seconds[name] >= most * NEARLY_ONE)
        return max([term for term in self.roofline.terms if term.unit == unit], key=lambda term: term.seconds).resource

    @property
    def bound(self) -> str:
        """One of "compute", "memory" and "launch"; "depends" where symbols have no values.

        >>> from perfmodel import estimate, matmul
        >>> [estimate(matmul(n, n, n), "h100-sxm").kernels[0].bound for n in (64, 4096, "n")]
        ['launch', 'compute', 'depends']
        """
        named = self.bottleneck
        if named in (UNDECIDED, LAUNCH):
            return named
        moved = [term.resource for term in self.roofline.terms if not term.computes]
        return "memory" if named in moved else "compute"

    @property
    def _moving(self) -> tuple[str, ...]:
        """What moves bytes: the memory, then the on-chip levels that have a term, the outermost first."""
        return tuple([term.unit for term in reversed(self.roofline.terms) if not term.computes])

    def _slowest_to_move(self, memory_s: float) -> tuple[str, ...]:
        """The levels that take as long as the memory with its effects; else the memory."""
        found = [term.unit for term in self.roofline.terms if term.is_level and term.seconds >= memory_s * NEARLY_ONE]
        return tuple(found) or ("memory",)


def _working(term: Term) -> str:
    unit = "" if term.computes else "B"
    return f"{quantity(term.amount, unit)} / {quantity(term.rate, f'{unit}/s')} = {quantity(term.seconds, 's')}"
