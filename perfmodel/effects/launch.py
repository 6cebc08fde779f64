"""Launch: the shortest that a kernel takes, and starting blocks on all units.

``launch_s`` is what the smallest kernel of a CUDA graph takes from one end to the next; a protocol adds what another
way of launching does. A kernel that fills the chip starts a block on each unit, which takes a little longer than one.
Kernels that compute no product start sooner on Hopper, whose products set up tensor maps, clusters and groups of warps
before their first load.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip

# Starting a block on every unit, their first instructions and translations: read off the timings of four chips.
START_S = 0.3e-6
# By compute capability, what a kernel without a product saves: fp8 quantizers on H100 and H200 take 1.2 to 1.4 us
# (TensorRT-LLM) and 1.8 to 2.0 (vLLM) at least, products 2.5; on Ada and Blackwell both take as long (aiconfigurator).
SOONER_S = {"9.0": 0.8e-6}


def launched_s(chip: Chip, blocks: Any = None, extra_s: float = 0.0) -> Any:
    """Seconds from the end of the kernel before to the first work of this one; ``blocks`` are those of a product.

    >>> from perfmodel import machine
    >>> chip = Chip.of(machine("l40s"))
    >>> launched_s(chip) == chip.constants.launch_s, bool(launched_s(chip, 132) > launched_s(chip, 1))
    (True, True)
    """
    import numpy

    alone = chip.constants.launch_s + extra_s
    if blocks is None:
        return alone - SOONER_S.get(chip.capability, 0.0)
    return alone + START_S * numpy.minimum(1.0, blocks / chip.units)
