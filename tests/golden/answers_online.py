"""Running maxima and sums: what they are block by block, and what correcting them costs."""

from __future__ import annotations

from typing import Any

import numpy as np

import perfmodel as pm
from golden.registry import Inputs, answers


def running_softmax(blocks: list[list[float]]) -> tuple[list[float], list[float], list[float]]:
    """The maximum and the sum after each block of equal length, and the softmax."""
    row = np.array([[value for block in blocks for value in block]], dtype=float)
    p = pm.tile(pm.online(pm.fuse(pm.softmax(1, row.size)), "n"), stream={"n": len(blocks[0])})
    run = pm.simulate(p, {"x": row}, watch=("max", "sum"))
    maxima, sums = [[float(values[0]) for _, name, values in run.watched if name == own] for own in ("max", "sum")]
    return maxima, sums, run.values["y"][0].tolist()


@answers("s0-ex8")
def two_blocks(given: Inputs) -> dict[str, Any]:
    maxima, sums, weights = running_softmax([given["a"], given["b"]])
    return {"m1": maxima[0], "l1": sums[0], "m2": maxima[1], "l2": sums[1], "p4": weights[-1]}


@answers("s1-3.2-rescale")
def one_move(given: Inputs) -> dict[str, Any]:
    """Scores of m0, then m1: a sum of 1, which becomes the factor, and another 1."""
    _, sums, _ = running_softmax([[given["m0"]], [given["m1"]]])
    return {"factor": (sums[1] - 1) / sums[0]}


@answers("s2-2.6-rescale", "s2-3.3-rescale-code")
def share_of_rescaling_the_output(given: Inputs) -> dict[str, Any]:
    """Of one row; what the output costs grows with its width, what the maximum and the sum cost does not."""
    n, d = given["N"], given["d"]

    def untiled(width: int) -> pm.Program:
        return pm.online(pm.fuse(pm.attention(1, n, d, dv=width)), "kv")

    def rescaling(width: int) -> Any:
        p = untiled(width)
        return pm.tile(p, stream={"kv": given.get("BJ", 1)}).flops - p.flops

    output, p = rescaling(2 * d) - rescaling(d), untiled(d)
    return {
        "share_of_macs_pct": 100 * output / p.macs,
        "share_of_flops_pct": 100 * output / p.flops_by_unit["matrix"],
    }
