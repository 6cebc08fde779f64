"""Few blocks: a unit has only so many bytes in flight, so a few units cannot draw the whole bandwidth.

Little's law: bandwidth = bytes in flight / latency. About half of the units, each with its stages in flight, saturate
the memory of today's GPUs; below that the bandwidth is in proportion. The stream also has to start and to drain, which
takes a few memory latencies and matters where it is short.
"""

from __future__ import annotations

from typing import Any

# The share of units that draws the full bandwidth: a guess for all chips, of little weight (docs/accuracy.md has what
# half and twice of each shared constant would do).
SATURATING = 0.55
RAMP_S = 2e-6  # a few memory latencies, the first loads of all units and the last: read off the timings of four chips


def bandwidth_share(blocks: Any, units: Any) -> Any:
    """The share of the bandwidth that so many blocks draw.

    >>> float(bandwidth_share(11, 40)), float(bandwidth_share(100, 40))
    (0.5, 1.0)
    """
    import numpy

    return numpy.minimum(1.0, blocks / (units * SATURATING))


def ramped(seconds: Any) -> Any:
    """Seconds of a stream with its start and its end.

    >>> round(float(ramped(100e-6)) * 1e6, 1), float(ramped(0.0))
    (102.0, 0.0)
    """
    return seconds * (1 + RAMP_S / (seconds + RAMP_S))
