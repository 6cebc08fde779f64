"""The page that compare.py writes: a table of points a second, what a point is, and how it was measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
AIM, HAND_AIM = 300, 0.85

PAGE = """# Points a second, beside the peers

Written by `python benchmarks/peers/compare.py --rounds {rounds}` on a machine that did other work too: {machine}.

Each peer ran in an environment of its own, all in one run and in turns; the best round counts. Seconds are those that
the process computed (`process_time`: user and system, all threads), since the clock of a shared machine tells more
about the others. Start, imports and the first answer are left out. The aim is {aim} times the points a second of each
peer, asked as its users would ask it.

## GEMMs

Random m, n, k from 1 to 16,384 on an A100 (80 GB, SXM), 16-bit; slower ones are asked the first of the same shapes.

{gemms}

By hand in numpy: `sweep` has {swept:.2f} of its speed, `estimate_many` {many:.2f} (aim: at least {hand_aim}).

## Whole models

{models}

## What a point is

The peers do different work for a point, so a ratio says how many questions get an answer in the same time, and not
that the answers are alike.

- **perfmodel, GEMM**: the roofline (compute and memory) with block quantization and wave quantization at a fixed tile
  of 256 x 128; formulas of the program, compiled once, on arrays of a million points.
  `sweep` gives a pandas table, `estimate_many` an array. Without a search for a tile: with it a point takes
  a hundred times as long or more (`benchmarks/sweeping.py`).
- **nvidia-matmul-heuristics**: `get` of one configuration searches for a kernel, and gives its tile, stages, split
  and time: more work than ours. So it is asked for the time of one given kernel too, which is nearer to ours: its C
  function does that, past its class in Python, whose `estimateRuntime` raises AttributeError in this version. It has no
  call for many shapes.
- **genz-llm**: `GEMM(...).get_roofline(...)` is a roofline, without blocks or waves: less work than ours, but one
  shape a call, with a dictionary of twenty quantities.
  `decode_moddeling` makes and sums the operators of a model.
- **llm-analysis**: no query for a GEMM. `inference` gives prefill, decode and memory of a model at a batch.
- **mlsysim**: its engine takes models, not GEMMs. `Engine.solve` is a roofline of the FLOPs and weights of a model.
- **perfmodel, model**: a decode step of Llama 3.1 70B over a context of 8,192 tokens at each batch: the ideal roofline
  of each kernel of a layer, 80 layers (`examples/llama_decode_table.py`), by `sweep`.
{failed}"""


def written(workers: Iterable[Any], failed: dict[str, str], versions: dict[str, str], rounds: int) -> str:
    """The page, from workers that have their rounds, and from what did not install."""
    found = list(workers)
    speed = {each.question.arguments: best(each)["points_per_s"] for each in found if each.question.name == "perfmodel"}
    swept, many, hand, model = [speed[(name,)] for name in ("sweep", "many", "hand", "model")]
    gemms = [each for each in found if each.question.kind != "model"]
    models = [each for each in found if each.question.kind == "model"]
    errors = {**failed, **{each.question.name: each.error for each in found if each.error}}
    return PAGE.format(
        rounds=rounds,
        machine=machine(),
        aim=AIM,
        gemms=table(gemms, versions, ["`sweep` of GEMMs against it"], [swept]),
        models=table(models, versions, ["`sweep` of a model against it", "of GEMMs"], [model, swept]),
        swept=swept / hand,
        many=many / hand,
        hand_aim=HAND_AIM,
        failed="".join(f"- **{name}** gave no answer: `{error}`\n" for name, error in errors.items()),
    )


def best(worker: Any) -> dict[str, Any]:
    """The fastest round."""
    found: dict[str, Any] = max(worker.rounds, key=lambda each: each["points_per_s"])
    return found


def machine() -> str:
    """The machine in general words."""
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"


def table(workers: list[Any], versions: dict[str, str], heads: list[str], own: list[float]) -> str:
    """A row for each that answered: what a point is, points, seconds, points a second, how many times ours are."""
    names = ["", "one point", "points", "CPU s", "points/s", *heads]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * 2 + "---:|" * (len(names) - 2)]
    for each in workers:
        if each.error:
            continue
        fastest, name = best(each), each.question.name
        cells = [
            f"{name} {versions[name]}" if each.question.kind != "hand" else "numpy",
            fastest["point"],
            f"{fastest['points']:,}",
            f"{fastest['seconds']:.3f}",
            f"{fastest['points_per_s']:,.0f}",
            *[times(rate / fastest["points_per_s"], name) for rate in own],
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def times(ratio: float, name: str) -> str:
    """A ratio, with a mark where a peer's falls short of the aim."""
    if name == "perfmodel":
        return f"{ratio:,.2f} x"
    return f"{ratio:,.0f} x" + ("" if ratio >= AIM else f" (aim: {AIM})")
