"""genz-llm: the roofline of a GEMM operator, one after another; with ``model``, a decode step of a model."""

from __future__ import annotations

import sys

from GenZ import System
from GenZ.operators import GEMM
from GenZ.unit import Unit
from rounds import answer, each, shapes

UNIT = Unit()
A100 = System(flops=312, offchip_mem_bw=2039, off_chip_mem_size=80 * 1024, onchip_mem_bw=18000, bits="bf16")
GEMM_CODE = 3  # the operator's kind in GenZ's lists


def gemm(m: int, n: int, k: int) -> dict[str, object]:
    return GEMM(["gemm", 1, m, n, k, 1, 1, GEMM_CODE], (1.0, 1.0, 1.0)).get_roofline(A100, UNIT)


def decode(batch: int) -> dict[str, object]:
    from GenZ import decode_moddeling  # spelt so

    return decode_moddeling(
        model="llama2_7b", batch_size=batch, input_tokens=2048, output_tokens=1, system_name=A100, bits="bf16"
    )


if "model" in sys.argv:
    COUNT = 30
    answer(
        "Llama 2 7B, a decode step at a batch: a table of its operators",
        COUNT,
        each(decode, [(batch,) for batch in range(1, COUNT + 1)]),
        lambda: decode(1)["Latency"] / 1e3,
    )
else:
    COUNT = 10_000
    answer(
        "a GEMM: the larger of its compute and memory seconds, as a dictionary",
        COUNT,
        each(gemm, shapes(COUNT)),
        lambda: gemm(4096, 4096, 4096)[f"Latency ({UNIT.unit_time})"] / 1e3,
    )
