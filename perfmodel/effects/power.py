"""Power: a chip full of work lowers its clock until it draws what it may, so the published peak is not sustained.

Two ceilings: a unit issues at the boost clock, and the whole chip sustains ``matrix_reach`` of its peak, near
0.86 TDP / (energy a FLOP * peak). On data that switches fewer bits the same power carries more
(Bhalachandra et al. 2022 and "Strangely, matrix multiplications on GPUs run faster when given predictable data",
H. He 2024).
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip

MOST = 0.97  # of the peak, however little the data switches
# A FLOP of 8 bits takes a little more than half of one of 16: fp8 over bf16 of the best matmuls, as shares of their
# peaks, is 0.88 (H100), 0.93 (GH200), 0.98 (B200) in S. Bekman's Machine Learning Engineering, accelerator tables.
NARROW = 0.92


def sustained_s(seconds: Any, chip: Chip, switching: float = 1.0, bits: float = 16) -> Any:
    """Seconds of work that would take ``seconds`` at the published peak.

    >>> from perfmodel import machine
    >>> chip = Chip.of(machine("h100-sxm"))
    >>> sustained_s(1.0, chip) == 1 / chip.constants.matrix_reach
    True
    """
    reach = chip.constants.matrix_reach * (NARROW if bits <= 8 else 1.0)
    return seconds / min(MOST, reach / switching)
