"""Power: a chip full of work lowers its clock until it draws what it may, so the published peak is not sustained.

Two ceilings: a unit issues at the boost clock, and the whole chip sustains ``matrix_reach`` of its peak, near
0.86 TDP / (energy a FLOP * peak). On data that switches fewer bits the same power carries more
(Bhalachandra et al. 2022 and "Strangely, matrix multiplications on GPUs run faster when given predictable data",
H. He 2024). A multiply-add of single precision on the vector unit takes an instruction a lane, and so more energy a
FLOP than one of a matrix unit: ``VECTOR_J`` bounds it apart, in proportion to the bits of the format.
"""

from __future__ import annotations

from typing import Any

from perfmodel.effects.chips import Chip

MOST = 0.97  # of the peak, however little the data switches: a bound that no calibrated chip of random data reaches
# A FLOP of 8 bits takes a little more than half of one of 16: fp8 over bf16 of the best matmuls, as shares of their
# peaks, is 0.88 (H100), 0.93 (GH200), 0.98 (B200) in S. Bekman's Machine Learning Engineering, accelerator tables.
NARROW = 0.92
# One of 4 bits takes about a third: the largest nvfp4 products of ai-dynamo/aiconfigurator sustain 3.1 (B200) to 3.5
# (B300) times the FLOP/s of bf16, whose peaks are a fourth and a sixth of those of fp4.
QUARTER = 3.2
# Energy of an fp32 FLOP of a vector unit, and the share of the watts that the units draw: products on an L4 sustain
# 8.7 of 30.3 TFLOP/s at 72 W (sitar-lab/NeuSight). Binds on Ada alone: other chips have more watts a FLOP.
VECTOR_J, DRAWN = 7e-12, 0.86


def sustained_s(
    seconds: Any,
    chip: Chip,
    switching: float = 1.0,
    bits: float = 16,
    published: float | None = None,
    unit: str = "matrix",
) -> Any:
    """Seconds of work that would take ``seconds`` at the published peak, which formats of 4 bits and
    the vector unit have to say.

    >>> from perfmodel import machine
    >>> chip = Chip.of(machine("h100-sxm"))
    >>> sustained_s(1.0, chip) == 1 / chip.constants.matrix_reach
    True
    """
    share = NARROW if bits <= 8 else 1.0
    if bits <= 5 and published is not None and chip.half_peak > 0:  # 4 bits and their scales
        share = min(share, QUARTER * chip.half_peak / published)
    reach = chip.constants.matrix_reach * share
    if unit == "vector" and published is not None and chip.watts:
        reach = min(reach, DRAWN * chip.watts / (VECTOR_J * bits / 32 * published))
    return seconds / min(MOST, reach / switching)
