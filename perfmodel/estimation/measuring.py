"""A measured time beside an estimate, and the refusal of times that no machine can reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfmodel.errors import DimensionError, MachineError, listed
from perfmodel.estimation.times import ratio
from perfmodel.expressions import is_concrete, positive_real
from perfmodel.showing import Text, percent, plain_dict, quantity
from perfmodel.shown import Explained

if TYPE_CHECKING:
    from perfmodel.estimation.values import Estimate

USUAL_CAUSES = (
    "the clock stopped before the device had finished; a masked half counted whole; a peak with sparsity taken for "
    "dense; another format, chip or shape than was run; data that stayed in cache between runs"
)
FUSED = "kernels that were fused when it ran (estimate pm.fuse(p))"


@dataclass(frozen=True, slots=True)
class Measured(Explained):
    """A measured time, its estimate, and the rates that it means.

    >>> from perfmodel import estimate, matmul
    >>> estimate(matmul(4096, 4096, 4096), "h100-sxm", effects="ideal").against(200e-6)
    estimate(matmul(m=4096 n=4096 k=4096, bf16), 'h100-sxm').against(0.0002)
    # measured 200 us, estimated 138.9 us: 1.44 times as long
    # attained 687.2 TFLOP/s (69 % of peak), 503.3 GB/s (15 % of bandwidth)
    """

    estimate: Estimate
    seconds: float
    cached_in: str | None = None  # the on-chip level that the data may have stayed in, where memory was beaten

    @property
    def ratio(self) -> float:
        """Measured over estimated time.

        >>> from perfmodel import Machine, estimate, workload
        >>> e = estimate(workload(flops=2e12, bytes_read=1e9), Machine(peak=1e12, bandwidth_bytes_per_s=1e9))
        >>> e.against(5).ratio  # 2 s by the roofline
        2.5
        """
        return float(ratio(self.seconds, self.estimate.time_s))

    @property
    def flops_per_s(self) -> float:
        """Attained FLOP/s.

        >>> from perfmodel import Machine, estimate, workload
        >>> e = estimate(workload(flops=2e12, bytes_read=1e9), Machine(peak=1e12, bandwidth_bytes_per_s=1e9))
        >>> e.against(5).flops_per_s
        400000000000.0
        """
        return float(ratio(self.estimate.program.flops, self.seconds))

    @property
    def bytes_per_s(self) -> float:
        """Attained bytes per second.

        >>> from perfmodel import Machine, estimate, workload
        >>> e = estimate(workload(flops=2e12, bytes_read=1e9), Machine(peak=1e12, bandwidth_bytes_per_s=1e9))
        >>> e.against(5).bytes_per_s
        200000000.0
        """
        return float(ratio(self.estimate.program.bytes, self.seconds))

    @property
    def fraction_of_peak(self) -> float:
        """Attained share of the peak of the busiest compute unit (model FLOPs utilisation).

        >>> from perfmodel import Machine, estimate, workload
        >>> e = estimate(workload(flops=2e12, bytes_read=1e9), Machine(peak=1e12, bandwidth_bytes_per_s=1e9))
        >>> e.against(5).fraction_of_peak
        0.4
        """
        return float(ratio(self.estimate.fraction_of_peak, self.ratio))

    @property
    def fraction_of_bandwidth(self) -> float:
        """Attained share of the memory bandwidth.

        >>> from perfmodel import Machine, estimate, workload
        >>> e = estimate(workload(flops=2e12, bytes_read=1e9), Machine(peak=1e12, bandwidth_bytes_per_s=1e9))
        >>> e.against(5).fraction_of_bandwidth
        0.2
        """
        return float(ratio(self.estimate.fraction_of_bandwidth, self.ratio))

    def explain(self) -> Text:
        """The measured time, the rates that it means, and the working of the estimate beside it.

        >>> from perfmodel import estimate, matmul
        >>> print(estimate(matmul(4096, 4096, 4096), "h100-sxm").against(200e-6).explain().splitlines()[0])
        estimate(matmul(m=4096 n=4096 k=4096, bf16), 'h100-sxm').against(0.0002)
        """
        return Text(f"{self!r}\n\n{self.estimate.explain()}")

    def to_dict(self) -> dict[str, Any]:
        """Times, ratio and rates as plain data.

        >>> from perfmodel import Machine, estimate, workload
        >>> e = estimate(workload(flops=2e12, bytes_read=1e9), Machine(peak=1e12, bandwidth_bytes_per_s=1e9))
        >>> sorted(e.against(5).to_dict())[:3]
        ['bytes_per_s', 'estimated_s', 'flops_per_s']
        """
        names = ("ratio", "flops_per_s", "bytes_per_s", "fraction_of_peak", "fraction_of_bandwidth")
        return plain_dict(
            {"measured_s": self.seconds, "estimated_s": self.estimate.time_s, **{n: getattr(self, n) for n in names}}
        )

    def __repr__(self) -> str:
        from perfmodel.estimation.explaining import expression

        stayed = [f"# faster than memory alone: the data fit {self.cached_in} and may have stayed there"]
        return "\n".join(
            [
                f"{expression(self.estimate)}.against({self.seconds:g})",
                f"# measured {quantity(self.seconds, 's')}, estimated {quantity(self.estimate.time_s, 's')}: "
                f"{self.ratio:.3g} times as long",
                f"# attained {quantity(self.flops_per_s, 'FLOP/s')} ({percent(self.fraction_of_peak)} of peak), "
                f"{quantity(self.bytes_per_s, 'B/s')} ({percent(self.fraction_of_bandwidth)} of bandwidth)",
                *(stayed if self.cached_in is not None else []),
            ]
        )


def measured(estimate: Estimate, seconds: Any) -> Measured:
    """The measured time beside the estimate (see ``Estimate.against``).

    Raises ``MachineError`` where it is shorter than the ideal time: the machine cannot have done this work. Data
    that fit a cache of the chip may have stayed there: then only the compute time is a limit, and it is said.

    >>> from perfmodel import Machine, estimate, workload
    >>> e = estimate(workload(flops=2e12, bytes_read=1e9), Machine(peak=1e12, bandwidth_bytes_per_s=1e9))
    >>> measured(e, 5).seconds
    5.0
    """
    found = positive_real(seconds, "against: seconds")
    ideal = estimate.ideal_time_s
    if not all(is_concrete(item) for item in (ideal, estimate.program.flops, estimate.program.bytes)):
        symbols = listed(estimate.program.symbols)
        raise DimensionError(
            f"against: the estimate is a formula in symbols ({symbols}); bind them first with p.at(...)"
        )
    level = _cache_of(estimate) if found < ideal else None
    if found < ideal and (level is None or found < sum(item.compute_s * item.repeat for item in estimate.kernels)):
        needs = f"{estimate.bottleneck} alone needs" if len(estimate.kernels) == 1 else "its kernels need"
        causes = USUAL_CAUSES if len(estimate.kernels) == 1 else f"{USUAL_CAUSES}; {FUSED}"
        raise MachineError(
            f"against: {quantity(found, 's')} is faster than {estimate.machine.name} can: {needs} "
            f"{quantity(ideal, 's')} for {estimate.program.name}. Usual causes: {causes}."
        )
    return Measured(estimate, found, level)


def _cache_of(estimate: Estimate) -> str | None:
    """The on-chip level that all of the program's data fit in, so that memory need not have moved them again."""
    needed = estimate.program.memory_bytes
    for level in estimate.machine.levels:
        room = level.capacity_bytes if level.scope == "chip" else None
        if room is not None and is_concrete(room) and needed <= room:
            return level.name
    return None
