"""Whether two runs agree: to float64's rounding, or to what number formats allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

SLACK = 1e-9  # float64's own rounding, relative; absolute near zero


def compared(
    names: Iterable[str], mine: Mapping[str, Any], first: Mapping[str, Any], bounds: Mapping[str, Any]
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """For each value that both have: the largest difference and the largest bound; and where one is exceeded.

    >>> import numpy as np
    >>> compared(["y"], {"y": np.array([1.5])}, {"y": np.array([1.0])}, {"y": np.array([0.75])})
    ({'y': (0.5, 0.75)}, [])
    """
    import numpy as np

    errors: dict[str, tuple[float, float]] = {}
    found = []
    for name in [name for name in names if name in first]:
        if np.shape(mine[name]) != np.shape(first[name]):
            found.append(f"shape of {name}: {np.shape(mine[name])}, not {np.shape(first[name])}")
            continue
        allowed = np.broadcast_to(bounds.get(name, 0.0), np.shape(first[name]))
        with np.errstate(invalid="ignore"):
            apart = np.abs(mine[name] - first[name])
            alike = (mine[name] == first[name]) | (np.isnan(mine[name]) & np.isnan(first[name]))
            within = alike | (apart <= allowed + SLACK + SLACK * np.abs(first[name])) | np.isinf(allowed)
        seen = np.where(alike, 0.0, apart)
        errors[name] = (float(np.max(seen, initial=0.0)), float(np.max(allowed, initial=0.0)))
        if not np.all(within):
            worst = float(np.max(np.where(within, 0.0, seen)))
            found.append(f"value of {name}: differs by up to {worst:.3g}")
    return errors, found
