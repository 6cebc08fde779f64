"""One block of a tiled product, described as a product of its own."""

from __future__ import annotations

from typing import Any

import perfmodel as pm
from golden.registry import Inputs, answers
from golden.tools import chip, stored


@answers("s0-6.6-tile-traffic-rect")
def panels_of_a_block(given: Inputs) -> dict[str, Any]:
    block = pm.matmul(given["tm"], given["tn"], 4096, dtype=stored(given["b"]))
    return {"intensity": block.flops / block.bytes_read}


@answers("s2-4.2-block-b*")
def cubic_block(given: Inputs) -> dict[str, Any]:
    b = given["b"]
    block = pm.matmul(b, b, b, dtype="fp32")
    return {
        "oi": block.intensity,
        "bound": pm.estimate(block, chip(given["ridge"] * 1e12, 1e12)).bound,
        "oi_if_C_resident": block.flops / block.bytes_read,
    }
