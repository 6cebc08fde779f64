"""How many lines, sectors or bytes the threads of a warp touch: by ranges in order, by a formula, and thread by thread.

What lies in one line is fetched once for all threads of the warp that ask for it in one instruction.
"""

from __future__ import annotations

from typing import Any

from perfmodel.mechanisms.addresses import Addresses


def touched(starts: Any, element_bytes: int, unit: int) -> int:
    """Distinct units (lines, sectors; bytes with 1) that elements at these addresses lie in, a row for each warp.

    Each row is in order of address, so that an element adds the units from its first, or the one after those
    counted, to its last.

    >>> import numpy as np
    >>> touched(np.array([[0, 4, 4, 128]]), 4, 32), touched(np.array([[30]]), 4, 32)
    (2, 2)
    """
    import numpy as np

    first, last = starts // unit, (starts + element_bytes - 1) // unit
    new = last - first + 1
    new[:, 1:] = last[:, 1:] - np.maximum(first[:, 1:], last[:, :-1] + 1) + 1
    return int(new.sum())


def in_order(starts: Any) -> Any:
    """Rows of addresses, each in order.

    >>> import numpy as np
    >>> in_order(np.array([[8, 0, 4]])).tolist()
    [[0, 4, 8]]
    """
    import numpy as np

    return starts if (starts[:, 1:] >= starts[:, :-1]).all() else np.sort(starts, axis=1)


def strided(count: int, stride_bytes: int, element_bytes: int, unit: int, start: int = 0) -> int:
    """The units that ``count`` elements at an even stride touch, by formula, where no element lies across two units.

    Up to a unit apart they leave none out: from the first's to the last's. Further apart each has its own.

    >>> strided(32, 4, 4, 128), strided(32, 8, 4, 128), strided(32, 128, 4, 128)
    (1, 2, 32)
    """
    step = abs(stride_bytes)
    if step >= unit:
        return count
    low = start - (count - 1) * (step if stride_bytes < 0 else 0)
    return (low + (count - 1) * step) // unit - low // unit + 1


def one_by_one(found: Addresses, unit: int) -> int:
    """The units touched, each thread and each byte in turn, a set for each warp.

    >>> from perfmodel.mechanisms.addresses import addresses
    >>> one_by_one(addresses("32*t", "transactions"), 128)
    32
    """
    total = 0
    for lanes in found.launch.pieces():
        starts, present = found.of(lanes).tolist(), lanes.present.tolist()
        for row in range(lanes.shape[0]):
            units: set[int] = set()
            for lane, start in enumerate(starts[row]):
                if present[row if len(present) > 1 else 0][lane]:
                    for byte in range(start, start + found.element_bytes):
                        units.add(byte // unit)
            total += len(units)
    return total
