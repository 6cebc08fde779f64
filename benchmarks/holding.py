"""What holding a fifth of the shapes out of the fit costs, apart from which shapes happen to be in it.

    python benchmarks/holding.py gemm.csv > docs/held_out.md

The constants of each chip are fitted twice by the procedure of ``calibrate.py``, without the fifth and with it. What
holding out costs is the difference of the fifth's own errors under the two fits; what remains of the gap to the other
shapes is that they are other shapes. Random fifths show how large such a gap is by chance. Takes some ten minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from accuracy import table as markdown
from calibrate import AMD, CHIPS, errors, family_of, fitted_family, rows

DRAWS = 1000
MOST = (1.5, 2.0)  # median and mean, in percent, that the fifth may be worse by
SHOWN = "a100-sxm-80gb"  # the chip whose fifth is taken apart


def percents(logs: Any) -> tuple[float, float]:
    """Median and mean absolute error in percent."""
    off = 100 * abs(np.expm1(logs))
    return float(np.median(off)), float(np.mean(off))


def pair(found: Sequence[float], sign: str = "") -> str:
    """Two numbers as text."""
    return " / ".join([f"{item:{sign}.1f}" for item in found])


def minus(first: Sequence[float], second: Sequence[float]) -> tuple[float, ...]:
    """The differences."""
    return tuple([a - b for a, b in zip(first, second, strict=True)])


def shapes(found: dict[str, Any]) -> Any:
    """The number of each row's shape: rows of one shape and several frameworks share it."""
    return np.unique(np.stack([found[name] for name in "mnk"]), axis=1, return_inverse=True)[1].ravel()


def gap(logs: Any, held: Any) -> tuple[float, ...]:
    """How much worse some rows are than the rest."""
    return minus(percents(logs[held]), percents(logs[~held]))


def drawn(found: dict[str, Any], logs: Any, draws: int = DRAWS) -> Any:
    """The gaps of random fifths: as many shapes as are held out, whole ones, from one seed."""
    numbers, generator = shapes(found), np.random.default_rng(0)
    many = len(np.unique(numbers[found["held"]]))
    chosen = [generator.permutation(numbers.max() + 1)[:many] for _ in range(draws)]
    return np.array([gap(logs, np.isin(numbers, each)) for each in chosen])


def costs(found: dict[str, Any], without: Any, seen: Any, draws: int = DRAWS) -> tuple[list[str], list[str]]:
    """A chip's part of both tables, from ln(estimate / measured) under the fits without the fifth and with it.

    What holding out costs; the gap of the fifth and of random ones.
    """
    held = found["held"]
    price = minus(percents(without[held]), percents(seen[held]))
    gaps, ours = drawn(found, seen, draws), gap(seen, held)
    larger = [f"{100 * share:.0f} %" for share in (gaps >= ours).mean(axis=0)]
    over = 100 * float((gaps > MOST).any(axis=1).mean())
    first = [str(len(held)), pair(percents(without[held])), pair(percents(seen[held])), pair(price, "+"),
             pair(minus(percents(without[held]), percents(without)), "+"), pair(gap(without, held), "+")]  # fmt: skip
    return first, [pair(ours, "+"), pair(gaps.std(axis=0)), " / ".join(larger), f"{over:.0f} %"]


def both_fits(tables: Mapping[str, dict[str, Any]], rounds: int = 150) -> dict[str, tuple[Any, Any]]:
    """ln(estimate / measured) of chips of one die under the fits without the fifth and with it, by name."""
    without = fitted_family(tables, rounds)
    everything = {name: found | {"held": np.zeros_like(found["held"])} for name, found in tables.items()}
    seen = fitted_family(everything, rounds)
    return {
        name: (errors(found, name, without[name]), errors(found, name, seen[name])) for name, found in tables.items()
    }


def taken_apart(found: dict[str, Any], name: str) -> Iterator[str]:
    """Where a chip's fifth differs: by framework and by measured time, and its shapes of the largest errors."""
    logs, held = errors(found, name), found["held"]
    parts = [(name.partition("-")[2], found["protocol"] == name) for name in np.unique(found["protocol"])]
    ends = (0, 5, 20, 100, np.inf)
    took = found["time_s"] * 1e6
    parts += [(f"{low} to {high} us", (took >= low) & (took < high)) for low, high in pairwise(ends)]
    lines = [(label, (which & held).sum(), pair(percents(logs[which & held])), (which & ~held).sum(),
              pair(percents(logs[which & ~held]))) for label, which in parts]  # fmt: skip
    yield markdown(("part", "held out: rows", "errors", "the rest: rows", "errors"), lines) + "\n"
    numbers = shapes(found)
    worst = sorted(np.unique(numbers[held]), key=lambda each: -abs(np.expm1(logs[numbers == each])).sum())[:10]
    places = [np.flatnonzero(numbers == each) for each in worst]
    lines = [(" x ".join([str(found[label][place[0]]) for label in "mnk"]), len(place),
              f"{1e6 * found['time_s'][place].mean():.1f}",
              " ".join([f"{100 * np.expm1(item):+.0f}" for item in logs[place]])) for place in places]  # fmt: skip
    yield "The ten shapes of the fifth that add most to its errors:\n"
    yield markdown(("m x n x k", "rows", "mean us", "errors, %"), lines)


def page(path: Path, chips: Sequence[str], draws: int = DRAWS, rounds: int = 150) -> Iterator[str]:
    """The page, part by part."""
    tables = {name: rows(path, gpu) for gpu, name in CHIPS.items() if name in chips}
    families = dict.fromkeys([tuple([each for each in family_of(name) if each in tables]) for name in tables])
    fits = [both_fits({name: tables[name] for name in family}, rounds) for family in families]
    logs = {name: both for fit in fits for name, both in fit.items()}
    lines = [(f"`{name}`", *costs(found, *logs[name], draws)) for name, found in tables.items()]
    yield "# What holding shapes out costs\n"
    yield "    python benchmarks/holding.py gemm.csv > docs/held_out.md\n"
    yield (
        "Median / mean absolute error in percent of bf16 products of GPU libraries. A fifth of the shapes, by a hash "
        "of their sizes, is held out of the fit of a chip's eight constants, of which chips of one die share five. The "
        "first two columns of errors are both of that fifth: under the constants fitted without it, and under those "
        "fitted to all shapes by the same procedure, from the same start. Their difference is what holding out costs: "
        "a fit with too many constants would show here. The last two columns compare the fifth with all rows and with "
        "the other shapes, which are other shapes and not as hard. The form of the effects was chosen with all rows in "
        "view; no fit undoes that.\n"
    )
    heads = ("chip", "rows", "fitted without it", "fitted with it", "cost", "fifth - all", "fifth - rest")
    yield markdown(heads, [(name, *first) for name, first, _ in lines]) + "\n"
    yield "## Random fifths\n"
    yield (
        f"Under the fit to all shapes, for which no shape is held out: the gap of the fifth to the rest, the standard "
        f"deviation of the gap of {draws} random fifths (whole shapes, as many), how many of them have a gap as large, "
        f"and how many one above {MOST[0]} in the median or {MOST[1]:.0f} in the mean.\n"
    )
    heads = ("chip", "fifth - rest", "by chance", "as large", f"above {MOST[0]} or {MOST[1]:.0f}")
    yield markdown(heads, [(name, *second) for name, _, second in lines]) + "\n"
    if SHOWN in tables:
        yield f"## The fifth on `{SHOWN}`\n"
        yield from taken_apart(tables[SHOWN], SHOWN)


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--chips", nargs="*", default=[name for name in CHIPS.values() if name not in AMD])
    options = parser.parse_args()
    for part in page(options.file, options.chips):
        print(part, flush=True)


if __name__ == "__main__":
    main()
