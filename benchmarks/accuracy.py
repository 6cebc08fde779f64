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
    rows = []
    for (chip,), members in grouped(filter(is_library_gemm, found.answers), lambda each: (each.chip,)).items():
        roof = [each for each in filter(is_library_gemm, ideal.answers) if each.chip == chip]
        rows.append((f"`{chip}`", len(members), score(errors(roof)), score(errors(members)),
                     score(errors(filter(is_held, members))),
                     score(errors(each for each in members if not is_held(each)))))  # fmt: skip
    yield table(("chip", "rows", "roofline", "all effects", "held out", "the rest"), rows) + "\n"
    yield "## What each effect is worth\n"
    yield from worth(frame)
    yield "\n## By source, chip and format\n"
    yield by(found.answers, lambda each: (each.row.source, each.chip, each.row.dtype), ("source", "chip", "format"))
    yield "\n## By op and regime\n"
    yield by(found.answers, lambda each: (each.row.source, each.op, each.regime), ("source", "op", "regime"))
    yield "\n## By framework\n"
    framework = [each for each in found.answers if each.row.source == "aiconfigurator"]
    yield by(
        framework,
        lambda each: (each.row.extra.get("fw", "").partition("-")[0], each.row.dtype),
        ("framework", "format"),
    )
    several = frame[frame["gpu"].isin(TAKEN_FOR)]
    if len(several):
        yield "\n## Names that are several products\n"
        yield "With one of the products taken (" + ", ".join(f"{a} as `{b}`" for a, b in TAKEN_FOR.items()) + "):\n"
        yield by(
            pm.validate(several, chips=TAKEN_FOR).answers,
            lambda each: (each.row.source, each.chip, each.op, each.row.dtype),
            ("source", "chip", "op", "format"),
        )
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
