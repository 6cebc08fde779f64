"""The page of results: how far estimates are from measured times, and what each effect is worth.

    python benchmarks/accuracy.py gemm.csv memory.csv > docs/accuracy.md

The files are tables of measured times with the columns of ``perfmodel validate`` (gpu, op, dtype, time_us, the sizes,
source, extra). Nothing is fitted here: the constants of the chips and the protocols of the sources stand as they are
in the package. A fifth of the shapes, by a hash of their sizes, is shown apart: the chips' constants were not fitted
to it (``calibrate.py``), while those of the protocols were read off all rows.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from shared_constants import sensitivities

import perfmodel as pm
from perfmodel.estimation import EFFECTS
from perfmodel.validation.results import Answer
from perfmodel.validation.summaries import Errors, errors_of

SHOWN = ("h100-sxm", "a100-sxm-80gb", "b200-sxm", "l40s")  # the chips whose effects are shown one at a time
# Names that are several products, and the one that each is taken for, in a table of their own.
TAKEN_FOR = {
    "A100-80GB": "a100-sxm-80gb",
    "H100-80GB": "h100-sxm",
    "V100-SXM2": "v100-sxm2-16gb",
    "M40": "m40-12gb",
    "MI300X|MI325X(gfx942,304CU)": "mi300x",
    "MI350X|MI355X(gfx950,256CU)": "mi355x",
}

UNEXPLAINED = (
    "Products with block scales (`fp8_block`) take longer than those of plain fp8 by more than their bytes, most on "
    "MI300X: the scaling of partial sums, which no effect counts, would be too little of it on Ada and AMD.",
    "nvfp4, and fp8 of more than 256 rows on Blackwell, scatter by framework; SGLang's fp8 of more than a millisecond "
    "there takes a quarter longer than the power allows.",
    "int8 on a T4 (DeepBench, 2018) stays under the rate of its vector unit's products of four: cuBLAS did not use the "
    "matrix unit for it then, and the estimate does.",
    "fp8 of zksainx/pipeweave remains too short for few rows after its tiles are those of 128 rows; its method is not "
    "stated.",
    "Batched products of few blocks on an L4, and fp32 on T4 and MI25, take longer than their peaks and tiles say.",
    "Quantizers: vLLM's takes a block a row, so that many short rows take longer; Blackwell's rows tick in "
    "0.34 us (2.048 us over six runs); what a cache of two dies streams is not known.",
    "Softmax and norms on H100 and A100 in vidur (whole microseconds) run faster than a block a row of its A40 does.",
    "PrincetonUniversity/LLMCompass: its elementwise kernels and norms take 25 us more of the host's clock on an A100 "
    "than its products and softmax.",
    "No estimate: an MI308X has no public sheet of its peaks, which its firmware limits by format; half a TPU7x is no "
    "chip; CPUs of 2018 would have the roofline alone; an Arc Pro B60 has no fp8.",
)


def is_held(answer: Answer) -> bool:
    """Whether a row's shape is kept apart, by a hash of its sizes alone: the fifth that ``calibrate.py`` never sees."""
    text = ",".join(answer.row.cells[name] for name in ("batch", "m", "n", "k"))
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % 5 == 0


def is_library_gemm(answer: Answer) -> bool:
    """Whether a row is a bf16 product of ai-dynamo/aiconfigurator, which the chips' constants are read off."""
    return answer.row.source == "aiconfigurator" and answer.row.op == "gemm" and answer.row.dtype == "bf16"


def errors(answers: Iterable[Answer]) -> Errors | None:
    """The errors of the rows that have an estimate; None where there are none."""
    pairs = [(each.estimated_s, each.measured_s) for each in answers if each.is_mapped]
    return errors_of(pairs) if pairs else None


def score(found: Errors | None) -> str:
    """Median and mean absolute error in percent."""
    return "" if found is None else f"{100 * found.median_error:.1f} / {100 * found.mean_error:.1f}"


def worse(some: Errors | None, all_of_them: Errors | None) -> str:
    """How much larger median and mean are, in percent of the measured."""
    if some is None or all_of_them is None:
        return ""
    median, mean = some.median_error - all_of_them.median_error, some.mean_error - all_of_them.mean_error
    return f"{100 * median:+.1f} / {100 * mean:+.1f}"


def table(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table in Markdown."""
    names = list(heads)
    lines = [names, ["---"] * len(names), *[[str(cell) for cell in row] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def grouped(answers: Iterable[Answer], key: Callable[[Answer], tuple[str, ...]]) -> dict[tuple[str, ...], list[Answer]]:
    """Rows with an estimate by a key, in the key's order."""
    found: dict[tuple[str, ...], list[Answer]] = {}
    for each in answers:
        if each.is_mapped:
            found.setdefault(key(each), []).append(each)
    return dict(sorted(found.items()))


def by(answers: Iterable[Answer], key: Callable[[Answer], tuple[str, ...]], heads: tuple[str, ...]) -> str:
    """A table of errors by a key."""
    rows = []
    for names, members in grouped(answers, key).items():
        found = errors(members)
        if found is not None:
            held = score(errors(filter(is_held, members))) if len(members) >= 100 else ""
            rows.append((*names, found.rows, score(found), f"{100 * found.bias:+.1f}", held))
    return table((*heads, "rows", "median / mean", "bias", "held out"), rows)


def worth(frame: Any) -> Iterator[str]:
    """Effects added in order, and each left out alone, on the library's bf16 products."""
    chosen = (frame["source"] == "aiconfigurator") & (frame["op"] == "gemm") & (frame["dtype"] == "bf16")
    names = tuple(EFFECTS)

    def row(effects: Any, without: tuple[str, ...] = ()) -> list[str]:
        answers = pm.validate(frame[chosen], effects, without=without).answers
        return [score(errors(each for each in answers if each.chip == chip)) for chip in SHOWN]

    added = [(name, *row(names[: place + 1])) for place, name in enumerate(names)]
    yield "Effects added in order (the launch comes last and carries most of what small products take):\n"
    yield table(("effect", *SHOWN), added) + "\n"
    yield "Each effect left out alone:\n"
    yield table(("effect", *SHOWN), [("(none)", *row("real")), *[(name, *row("real", (name,))) for name in names[1:]]])


def libraries(found: Iterable[Answer], ideal: Iterable[Answer]) -> Iterator[str]:
    """The bf16 products of GPU libraries: all rows of a chip, those held out, and the rest."""
    rows, roofs = [], list(filter(is_library_gemm, ideal))
    for (chip,), members in grouped(filter(is_library_gemm, found), lambda each: (each.chip,)).items():
        roof, held = [each for each in roofs if each.chip == chip], list(filter(is_held, members))
        rows.append((f"`{chip}`", len(members), score(errors(roof)), score(errors(members)), score(errors(held)),
                     worse(errors(held), errors(members)),
                     score(errors(each for each in members if not is_held(each)))))  # fmt: skip
    yield table(("chip", "rows", "roofline", "all effects", "held out", "worse than all by", "the rest"), rows) + "\n"
    yield (
        "The fifth is the same on every chip, and its shapes are other shapes. What holding them out of the fit costs, "
        "apart from that, is in [held_out.md](held_out.md).\n"
    )


def framework_of(answer: Answer) -> str:
    """The framework without its version."""
    return answer.row.extra.get("fw", "").partition("-")[0]


def groups(answers: Iterable[Answer]) -> Iterator[str]:
    """Errors by source, chip and format; by op and regime; by framework."""
    found = list(answers)
    yield "\n## By source, chip and format\n"
    yield by(found, lambda each: (each.row.source, each.chip, each.row.dtype), ("source", "chip", "format"))
    yield "\n## By op and regime\n"
    yield by(found, lambda each: (each.row.source, each.op, each.regime), ("source", "op", "regime"))
    yield "\n## By framework\n"
    framework = [each for each in found if each.row.source == "aiconfigurator"]
    yield by(framework, lambda each: (framework_of(each), each.row.dtype), ("framework", "format"))


def ambiguous(frame: Any) -> Iterator[str]:
    """Rows whose chip's name is that of several products."""
    several = frame[frame["gpu"].isin(TAKEN_FOR)]
    if not len(several):
        return
    yield "\n## Names that are several products\n"
    yield "With one of the products taken (" + ", ".join(f"{a} as `{b}`" for a, b in TAKEN_FOR.items()) + "):\n"
    answers = pm.validate(several, chips=TAKEN_FOR).answers
    heads = ("source", "chip", "op", "format")
    yield by(answers, lambda each: (each.row.source, each.chip, each.op, each.row.dtype), heads)


def shared(frame: Any) -> Iterator[str]:
    """What the constants that all chips share are worth."""
    yield "\n## Constants that all chips share\n"
    yield "Beside the eight of a chip; errors of the rows that each matters to, at half of it, as it is, at twice:\n"
    heads = ("constant", "value", "meaning", "origin", "rows", "half", "as it is", "twice")
    yield table(heads, sensitivities(frame, lambda some: score(errors(pm.validate(some).answers))))


def page(frame: Any) -> Iterator[str]:
    """The page, part by part."""
    found = pm.validate(frame)
    ideal = pm.validate(frame, "ideal")
    yield "# How far estimates are from measured times\n"
    yield "    python benchmarks/accuracy.py gemm.csv memory.csv > docs/accuracy.md\n"
    yield (
        "Absolute error of estimated against measured time, median / mean in percent of the measured; the bias is the "
        "median with its sign. *Held out* is the fifth of the shapes, by a hash of their sizes, that no constant of a "
        "chip was fitted to (those of the protocols, such as a quantizer's, were read off all rows). The measurements "
        "are others' (the sources are named below; the tables themselves are not in this "
        f"repository): {found.rows} rows, of which {found.mapped} have an estimate.\n"
    )
    yield f"All of them: {score(errors(found.answers))}; by the roofline alone {score(errors(ideal.answers))}.\n"
    yield "## bf16 products of GPU libraries\n"
    yield from libraries(found.answers, ideal.answers)
    yield "## What each effect is worth\n"
    yield from worth(frame)
    yield from shared(frame)
    yield from groups(found.answers)
    yield from ambiguous(frame)
    yield "\n## What is not explained\n"
    yield "\n".join([f"- {line}" for line in UNEXPLAINED])
    yield "\n## Rows without an estimate\n"
    yield table(("rows", "why"), [(number, reason.replace("|", "\\|")) for reason, number in found.reasons.items()])


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    frames = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in options.files]
    for part in page(pd.concat(frames, ignore_index=True)):
        print(part)


if __name__ == "__main__":
    main()
