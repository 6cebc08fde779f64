"""llm-analysis: the inference of a whole model, at one batch after another. It has no query for a GEMM."""

from __future__ import annotations

import logging

from llm_analysis.analysis import LLMAnalysis
from llm_analysis.config import get_dtype_config_by_name, get_gpu_config_by_name, get_model_config_by_name
from llm_analysis.logger import logger
from rounds import answer, each

logger.setLevel(logging.CRITICAL)  # or most of the time would go into printing
COUNT = 3_000
analysis = LLMAnalysis(
    get_model_config_by_name("NousResearch_Llama-2-7b-hf"),
    get_gpu_config_by_name("a100-sxm-80gb"),
    get_dtype_config_by_name("w16a16e16"),
    flops_efficiency=1.0,
    hbm_memory_efficiency=1.0,
)


def inference(batch: int) -> dict[str, object]:
    return analysis.inference(batch_size_per_gpu=batch, seq_len=2048, num_tokens_to_generate=1)


answer(
    "Llama 2 7B at a batch: prefill, decode and memory, as a dictionary",
    COUNT,
    each(inference, [(1 + at % 32,) for at in range(COUNT)]),
    lambda: inference(1)["decode_latency"],
)
