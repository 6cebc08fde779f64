"""Estimates: how long a program takes on a machine, and what its kernels say of the whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from perfmodel.catalogue import Machine
from perfmodel.effects.protocols import COLD, Protocol
from perfmodel.effects.stream_k import STATIC
from perfmodel.effects.tiles import Tile
from perfmodel.estimation import explaining, measuring, resting
from perfmodel.estimation.kernels import LAUNCH, NEARLY_ONE, UNDECIDED, KernelEstimate
from perfmodel.estimation.times import added, ratio, repeated
from perfmodel.expressions import is_concrete
from perfmodel.graph.programs import Program
from perfmodel.showing import Text


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
    protocol: Protocol = COLD
    schedule: str = STATIC

    @property
    def tile(self) -> Tile | None:
        """The tile of the contraction that takes longest; None where there is none, or only the roofline.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(4096, 4096, 4096), "h100-sxm").tile
        Tile(m=256, n=128, splits=1)
        """
        tiled = [item for item in self.kernels if item.real is not None and item.real.tile is not None]
        found = max(tiled, key=lambda item: item.time_s * item.repeat, default=None)
        return None if found is None or found.real is None else found.real.tile

    @cached_property
    def time_s(self) -> Any:
        """Seconds, all effects included.

        >>> from perfmodel import Machine, estimate, workload
        >>> estimate(workload(flops=2e12, bytes_read=1e9), Machine(peak=1e12, bandwidth_bytes_per_s=1e9)).time_s
        2.0
        """
        return added([repeated(item.time_s, item.repeat) for item in self.kernels])

    @property
    def is_least(self) -> bool:
        """Whether work without a known rate is left out, so that the time is one that it takes at least.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(64, 64, 64, dtype="fp8"), "a100-sxm-80gb").is_least  # it has no fp8 unit
        True
        """
        return any(item.roofline.unknown for item in self.kernels)

    @property
    def ideal_time_s(self) -> Any:
        """Seconds by the ideal roofline alone.

        >>> from perfmodel import Machine, estimate, workload
        >>> estimate(workload(bytes_read=3e9), Machine(peak=1e12, bandwidth_bytes_per_s=1e9)).ideal_time_s
        3.0
        """
        return added([repeated(item.ideal_time_s, item.repeat) for item in self.kernels])

    @property
    def shares(self) -> dict[str, float]:
        """Seconds in kernels bound by each resource, largest first; empty while symbols have no values.

        >>> from perfmodel import Machine, estimate, workload
        >>> estimate(workload(bytes_read=3e9), Machine(peak=1e12, bandwidth_bytes_per_s=1e9)).shares
        {'memory': 3.0}
        """
        if not is_concrete(self.time_s):
            return {}
        found: dict[str, float] = {}
        for item in self.kernels:
            found[item.bottleneck] = found.get(item.bottleneck, 0.0) + repeated(item.time_s, item.repeat)
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    @property
    def bottleneck(self) -> str:
        """The resource whose kernels take the largest share of the time; "depends" for a formula.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(4096, 4096, 4096), "h100-sxm", effects="ideal").bottleneck
        'matrix bf16'
        """
        return next(iter(self.shares), UNDECIDED)

    @property
    def bound(self) -> str:
        """One of "compute", "memory" and "launch", by the largest share of the time (compute where equal).

        It is "depends" for a formula.

        >>> from perfmodel import estimate, matmul
        >>> [estimate(matmul(n, n, n), "h100-sxm", effects="ideal").bound for n in (885, 886, "n")]
        ['memory', 'compute', 'depends']
        """
        if not self.shares:
            return UNDECIDED
        by_bound = {
            name: [repeated(item.time_s, item.repeat) for item in self.kernels if item.bound == name]
            for name in ("compute", "memory", LAUNCH)
        }
        known = [name for name in by_bound if by_bound[name]]
        most = max([sum(by_bound[name]) for name in known])
        return next(name for name in known if sum(by_bound[name]) >= most * NEARLY_ONE)

    @property
    def flops_per_s(self) -> Any:
        """Attained FLOP/s (special operations not counted); nan where nothing has a known rate.

        >>> from perfmodel import Machine, estimate, matmul
        >>> estimate(matmul(8, 8, 8), Machine(peak=1e12, bandwidth_bytes_per_s=1e9)).flops_per_s
        2666666666.6666665
        """
        return ratio(self.program.flops, self.time_s)

    @property
    def bytes_per_s(self) -> Any:
        """Attained bytes per second at the memory level.

        >>> from perfmodel import Machine, estimate, matmul
        >>> estimate(matmul(8, 8, 8), Machine(peak=1e12, bandwidth_bytes_per_s=1e9)).bytes_per_s
        1000000000.0
        """
        return ratio(self.program.bytes, self.time_s)

    @property
    def fraction_of_peak(self) -> Any:
        """The share of the time for which the busiest compute unit works at its peak.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(4096, 4096, 4096), "h100-sxm", effects="ideal").fraction_of_peak
        1.0
        """
        return ratio(self._compute_s, self.time_s)

    @property
    def fraction_of_bandwidth(self) -> Any:
        """The share of the time for which memory moves bytes at its bandwidth.

        >>> from perfmodel import estimate, matmul
        >>> round(estimate(matmul(4096, 4096, 4096), "h100-sxm", effects="ideal").fraction_of_bandwidth, 3)
        0.216
        """
        return ratio(self._memory_s, self.time_s)

    @property
    def ridge_ratio(self) -> Any:
        """Compute over memory seconds, which for one kernel is intensity over the ridge point.

        Above 1 the work is past the ridge, where compute bounds it; nan where no byte moves.

        >>> from perfmodel import estimate, matmul
        >>> round(estimate(matmul(4096, 4096, 4096), "h100-sxm", effects="ideal").ridge_ratio, 2)
        4.63
        """
        return ratio(self._compute_s, self._memory_s)

    @property
    def _compute_s(self) -> Any:
        return added([repeated(item.compute_s, item.repeat) for item in self.kernels])

    @property
    def _memory_s(self) -> Any:
        return added([repeated(item.memory.seconds, item.repeat) for item in self.kernels])

    @property
    def steps(self) -> tuple[tuple[str, Any], ...]:
        """The effects in order, with the seconds after each.

        >>> from perfmodel import Machine, estimate, workload
        >>> estimate(workload(bytes_read=3e9), Machine(peak=1e12, bandwidth_bytes_per_s=1e9), "ideal").steps
        (('roofline', 3.0),)
        """
        found = []
        for place, name in enumerate(self.effects):
            after = [repeated(item.after(place, self.effects), item.repeat) for item in self.kernels]
            found.append((name, added(after)))
        return tuple(found)

    @cached_property
    def not_modelled(self) -> tuple[str, ...]:
        """What the estimate leaves out: work without a known rate, and effects that are not in it.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(8, 8, 8, dtype="bf16"), "v100-sxm2-16gb").not_modelled[0]
        'matrix bf16: v100-sxm2-16gb lists no such rate'
        """
        unknown = [text for item in self.kernels for text in item.roofline.unknown]
        return tuple(dict.fromkeys([*unknown, *self.left_out]))

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """Remarks on peaks and lent figures, memory that is too small, doubtful figures read, work of no known rate.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(8, 8, 8, dtype="fp32"), "h100-sxm").caveats
        ('h100-sxm has no matrix unit for fp32: contractions run on the vector unit',)
        """
        remarks = [text for item in self.kernels for text in item.roofline.remarks]
        remarks += [text for item in self.kernels if item.real is not None for text in item.real.remarks]
        remarks += [f"{t.tensor}: {t.note}" for item in self.kernels for t in item.count.transfers if t.note]
        missing = [
            f"{text}: it takes at least the time of the rest" for k in self.kernels for text in k.roofline.unknown
        ]
        return tuple(dict.fromkeys([*remarks, *resting.overflowing(self), *resting.doubtful(self), *missing]))

    def against(self, seconds: float) -> measuring.Measured:
        """A measured time beside the estimate; ``MachineError`` for one faster than the machine can.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(4096, 4096, 4096), "h100-sxm", effects="ideal").against(200e-6).ratio > 1.4
        True
        """
        return measuring.measured(self, seconds)

    def explain(self) -> Text:
        """The working: formulas, numbers, rates, times, the conclusion, and what fusing would give.

        >>> from perfmodel import estimate, matmul
        >>> print(estimate(matmul(8, 8192, 8192), "h100-sxm", effects="ideal").explain().splitlines()[0])
        matmul(m=8 n=8192 k=8192, bf16) on h100-sxm: 40.12 us, memory-bound (hbm), 2.7 % of peak,
        """
        return explaining.explained(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything above as plain data.

        >>> from perfmodel import estimate, matmul
        >>> estimate(matmul(8, 8192, 8192), "h100-sxm", effects="ideal").to_dict()["bound"]
        'memory'
        """
        return explaining.as_dict(self)

    def __repr__(self) -> str:
        return explaining.shown(self)

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def _repr_latex_(self) -> str:
        return explaining.as_latex(self)


def peak_seconds(found: Estimate) -> tuple[Any, Any]:
    """The seconds for which the busiest compute unit, and memory, work at their peak rates: numbers or formulas.

    >>> from perfmodel import Machine, estimate, matmul
    >>> peak_seconds(estimate(matmul("n", "n", "n"), Machine(peak=2, bandwidth_bytes_per_s=6), effects="ideal"))
    (n**3, n**2)
    """
    return found._compute_s, found._memory_s
