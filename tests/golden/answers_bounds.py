"""What any order of the work must move, and orders that are known without a constant."""

from __future__ import annotations

from typing import Any

import perfmodel as pm
from golden.registry import Inputs, answers
from golden.tools import least

N = pm.dims("n")
WANTED, FAST_MEMORIES = 295, (1024, 32768)  # FLOP/B and words, where the question has them in its text


@answers("o-rb-max-oi")
def most_intense_matmul(given: Inputs) -> dict[str, Any]:
    def intensity(words: int, dtype: str) -> Any:
        return pm.io_lower_bound(pm.matmul(N, N, N, dtype=dtype), capacity_elements=words).intensity_limit

    return {
        "max_oi": float(intensity(given["S"], "fp32")),
        "words_for_295": least(lambda words: bool(intensity(words, "fp16") >= WANTED)),
    }


@answers("o-rb-fft")
def fast_fourier_transform(given: Inputs) -> dict[str, Any]:
    fft = pm.known_io_orders()["fft"]
    small, large = (fft.at(n=given["N"], M=words) for words in FAST_MEMORIES)
    return {"q1024": small, "q32768": large, "ratio": small / large}


@answers("o-co-matmul")
def cache_oblivious_matmul(given: Inputs) -> dict[str, Any]:
    misses = pm.known_io_orders()["matmul_cache_misses"]
    return {"misses": misses.at(n=given["n"], M=given["Z"], L=given["L"])}
