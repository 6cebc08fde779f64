"""Few blocks: a unit has only so many bytes in flight, so a few units cannot draw the whole bandwidth.

Little's law: bandwidth = bytes in flight / latency. About half of the units, each with its stages in flight, saturate
the memory of today's GPUs; below that the bandwidth is in proportion.
"""

from __future__ import annotations

from typing import Any

SATURATING = 0.55  # the share of units that draws the full bandwidth


def bandwidth_share(blocks: Any, units: Any) -> Any:
    """The share of the bandwidth that so many blocks draw.

    >>> float(bandwidth_share(11, 40)), float(bandwidth_share(100, 40))
    (0.5, 1.0)
    """
    import numpy

    return numpy.minimum(1.0, blocks / (units * SATURATING))
