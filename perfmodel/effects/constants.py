"""The eight constants of a chip that no data sheet gives, each with a physical meaning.

They stand in the ``[calibrated]`` table of the chip's data sheet with their source: read off measured timings of a
public data set, a few for the whole chip, none for a row. A chip borrows those that it lacks from its nearest
relative (``perfmodel.effects.relatives``), and the estimate's caveats say so.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from math import sqrt

from perfmodel.catalogue import Machine
from perfmodel.effects.relatives import relative_of

UNLIMITED = 0.77  # a share of the peak that power does not limit: A100s of 250 W and of 400 W sustain as much


@dataclass(frozen=True, slots=True)
class Constants:
    """What a chip does that its data sheet does not say.

    ``launch_s``: the shortest a kernel takes inside a CUDA graph. ``matrix_reach``: the share of the published peak
    that the whole chip sustains on random data (its power limit). ``memory_reach``: the share of the published
    bandwidth that reads and writes reach. ``feed_bytes_per_clock``: what each unit takes from the L2 cache while all
    do. ``step_s``: two steps of a lone block, along k, apart. ``tile_s``: the end of a 128 x 128 tile. ``split_s``:
    adding up partial sums. ``cache_reach``: the share of the last-level cache that a loop keeps.

    >>> from perfmodel import machine
    >>> found, lender = constants_of(machine("h100-sxm"))
    >>> lender, 0.5 < found.matrix_reach < 1
    ('', True)
    """

    launch_s: float
    matrix_reach: float
    memory_reach: float
    feed_bytes_per_clock: float
    step_s: float
    tile_s: float
    split_s: float
    cache_reach: float


NAMES = tuple(item.name for item in fields(Constants))


@lru_cache(maxsize=256)
def constants_of(chip: Machine) -> tuple[Constants | None, str]:
    """A chip's constants, and the relative that lends them ("" for its own; None and "" where it has no relative).

    >>> from perfmodel import machine
    >>> constants_of(machine("h100-pcie"))[1], constants_of(machine("tpu-v5e"))
    ('h100-sxm', (None, ''))
    """
    relative = None if len(own_constants(chip)) == len(NAMES) else relative_of(chip)
    found = lent_constants(chip, relative)
    return found, "" if found is None or relative is None else relative.name


def lent_constants(chip: Machine, relative: Machine | None) -> Constants | None:
    """A chip's own constants with those of a relative for what it lacks; None where some are missing then.

    A relative's power-limited share is scaled by the root of the watts that there are for a FLOP: power grows with
    the clock and the square of the voltage, which falls with it. One that sustains four fifths of its peak or more
    is not held back by its power, and lends its share as it is.

    >>> from perfmodel import machine
    >>> lent_constants(machine("h100-pcie"), None) is None
    True
    """
    found = own_constants(chip)
    if relative is not None:
        lent = own_constants(relative)
        lent["matrix_reach"] = _powered(lent["matrix_reach"], chip, relative)
        found = {**lent, **found}
    return Constants(**found) if len(found) == len(NAMES) else None


def own_constants(chip: Machine) -> dict[str, float]:
    """The constants that stand on a chip's own sheet.

    >>> from perfmodel import machine
    >>> own_constants(machine("tpu-v5e")), len(own_constants(machine("h100-sxm")))
    ({}, 8)
    """
    return {name: float(figure.value) for name, figure in chip.figures if name in NAMES}


def _powered(reach: float, chip: Machine, relative: Machine) -> float:
    watts = [each.tdp_w for each in (chip, relative)]
    peaks = [max([float(peak.flops_per_s) for peak in each.peaks if peak.format in ("fp16", "bf16", "fp32")],
                 default=0.0) for each in (chip, relative)]  # fmt: skip
    if not all(isinstance(item, int | float) for item in watts) or not all(peaks):
        return reach
    if reach >= UNLIMITED:
        return reach
    share = float(watts[0] or 0) / peaks[0] / (float(watts[1] or 1) / peaks[1])
    return min(0.9, reach * sqrt(min(share, 2.0)))
