"""Errors of estimates against measured times, group by group.

The error of a row is (estimate - measured) / measured. Of a group: the median and the mean of its absolute value,
and the bias, which is the median of the error itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple


class Errors(NamedTuple):
    """The errors of some rows, as fractions.

    >>> errors_of([(1.1, 1.0), (0.8, 1.0), (1.0, 1.0)])
    Errors(rows=3, median_error=0.1, mean_error=0.1, bias=0.0, within_10=0.67)
    """

    rows: int
    median_error: float
    mean_error: float
    bias: float
    within_10_percent: float

    def __repr__(self) -> str:
        return (
            f"Errors(rows={self.rows}, median_error={round(self.median_error, 4)}, "
            f"mean_error={round(self.mean_error, 4)}, bias={round(self.bias, 4)}, "
            f"within_10={round(self.within_10_percent, 2)})"
        )


def errors_of(pairs: Sequence[tuple[float, float]]) -> Errors:
    """The errors of (estimate, measured) pairs; there is at least one.

    >>> errors_of([(2.0, 1.0)]).mean_error
    1.0
    """
    signed = [(estimate - measured) / measured for estimate, measured in pairs]
    absolute = [abs(each) for each in signed]
    close = sum(1 for each in absolute if each <= 0.1 + 1e-12) / len(pairs)
    return Errors(len(pairs), median(absolute), sum(absolute) / len(pairs), median(signed), close)
