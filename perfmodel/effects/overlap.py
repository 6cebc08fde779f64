"""Overlap: compute and memory run at the same time, but not perfectly where both take about as long.

time = (compute^q + memory^q)^(1/q), q = 3: the larger of the two where one dominates, 26 % more where they are equal.
"""

from __future__ import annotations

from typing import Any


def overlapped(first: Any, second: Any) -> Any:
    """Seconds of two things that overlap softly.

    >>> round(float(overlapped(1.0, 1.0)), 2), round(float(overlapped(1.0, 0.1)), 2)
    (1.26, 1.0)
    """
    import numpy

    return numpy.cbrt(first * first * first + second * second * second)
