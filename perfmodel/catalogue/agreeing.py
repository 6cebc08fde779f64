"""Peaks against units, rate per clock and clock: where a machine has all of them they have to agree."""

from __future__ import annotations

from collections.abc import Iterable

from perfmodel.catalogue.parts import Clocks, Peak, Quantity
from perfmodel.errors import MachineError
from perfmodel.showing import quantity as written

WITHIN = 0.03  # published peaks are rounded: those of all sheets that give the three lie closer
_CAUSES = (
    "the full die's units instead of the product's, a boost clock where the peak is at another (vector_hz and "
    "matrix_hz may differ), a sparse peak as dense (that is sparse_flops_per_s), or the rate of another accumulator"
)


def check_agreement(peaks: Iterable[Peak], units: Quantity | None, clocks: Clocks, where: str) -> None:
    """``MachineError`` for a peak further than 3 % from units * rate_per_clock * clock, where all are numbers.

    >>> peak = Peak("matrix", "bf16", 989.4e12, rate_per_clock=4096, clock="matrix")
    >>> check_agreement([peak], 132, Clocks(1.98e9, 1.83e9), "x")
    >>> check_agreement([peak], 144, Clocks(1.98e9, 1.83e9), "x")
    Traceback (most recent call last):
    perfmodel.errors.MachineError: x: matrix bf16: flops_per_s = 989.4 TFLOP/s, but 144 units * 4096 ... = ...
    """
    for peak in peaks:
        given = (units, peak.rate_per_clock, clocks.of(peak.clock))
        count, rate, clock = given
        if not all(isinstance(item, int | float) for item in (peak.flops_per_s, *given)):
            continue
        derived = count * rate * clock  # type: ignore[operator]  # all three are numbers
        if not derived * (1 - WITHIN) <= peak.flops_per_s <= derived * (1 + WITHIN):
            off = f"{abs(peak.flops_per_s / derived - 1):.0%}"
            raise MachineError(
                f"{where}: {peak.label}: flops_per_s = {written(peak.flops_per_s, 'FLOP/s')}, but {count} units * "
                f"{rate} FLOP a clock (rate_per_clock) * {written(clock, 'Hz')} ({peak.clock}_hz) = "
                f"{written(derived, 'FLOP/s')}, {off} off where 3 % are allowed: one of them is wrong. "
                f"Usual causes: {_CAUSES}"
            )
