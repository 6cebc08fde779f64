"""mlsysim: the roofline of a whole model, at one batch after another. Its engine takes models, not GEMMs."""

from __future__ import annotations

from mlsysim import Engine, Hardware, Models
from rounds import answer, each

COUNT = 500


def solve(batch: int) -> object:
    return Engine.solve(Models.Language.Llama2_7B, Hardware.Cloud.A100, batch_size=batch, precision="fp16")


answer(
    "Llama 2 7B at a batch: the larger of compute and memory seconds, with units",
    COUNT,
    each(solve, [(1 + at % 64,) for at in range(COUNT)]),
    lambda: solve(1).latency.to("s").magnitude,
)
