"""Rows of odd sizes: the next sizes of each class, what padding costs, where rows start."""

from __future__ import annotations

from typing import Any

import perfmodel as pm
from golden.registry import Inputs, answers


@answers("H01")
def vocabulary_of_gpt2(given: Inputs) -> dict[str, Any]:
    odd = given["V"]
    found = pm.alignment(odd)
    padded = found.next(128)
    head = pm.matmul("t", "v", 768)  # tokens, vocabulary, width: only the vocabulary changes
    return {
        "multiple of 8": found.next(8 * 2),  # bytes of so many bf16 numbers
        "multiple of 64": found.next(64 * 2),
        "multiple of 128": found.next(128 * 2),
        "extra work": head.at(v=padded).flops / head.at(v=odd).flops - 1,
        "power of two in 50257": found.power_of_two,
        "power of two in 50304": pm.alignment(padded).power_of_two,
        "row alignment of 50257 in bf16": found.alignment_bytes,
    }
