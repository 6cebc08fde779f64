"""The eight constants of a chip (``perfmodel.effects.constants``), read off measured GEMM timings.

    python benchmarks/calibrate.py gemm.csv                     errors of the constants as they stand, effect by effect
    python benchmarks/calibrate.py gemm.csv --fit h100-sxm      reads those of its die off four of five shapes

The rows are those of ai-dynamo/aiconfigurator (for AMD of ROCm/aiter) in a CSV with the columns source, gpu, op,
dtype, m, n, k, extra and time_us. One set of constants for a chip, of which chips of one die share five, none for a
row; the fifth shape by a hash of its sizes is never fitted to.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import perfmodel as pm
from perfmodel.effects.chips import Chip
from perfmodel.effects.choosing import chosen_many
from perfmodel.effects.constants import NAMES, Constants
from perfmodel.effects.protocols import protocol
from perfmodel.effects.shapes import shape_of
from perfmodel.effects.stack import EFFECTS, Rates, Setting, kernel_parts
from perfmodel.validation.protocols_of_rows import protocol_of
from perfmodel.validation.rows import Row

CHIPS = {
    "H100-SXM5-80GB": "h100-sxm", "H200-SXM-141GB": "h200-sxm", "A100-SXM4-80GB": "a100-sxm-80gb",
    "B200-SXM": "b200-sxm", "B300-SXM": "b300-sxm", "GB200": "gb200", "GB300": "gb300", "L40S": "l40s",
    "RTX-PRO-6000-BSE": "rtx-pro-6000-server", "ARC-PRO-B60": "arc-pro-b60", "MI350X|MI355X(gfx950,256CU)": "mi355x",
}  # fmt: skip
# Chips of one die share what it decides, the mean of what suits each. Their power, memory and launch are their own.
FAMILIES = (("h100-sxm", "h200-sxm"), ("b200-sxm", "b300-sxm", "gb200", "gb300"))
OF_THE_DIE = ("feed_bytes_per_clock", "step_s", "tile_s", "split_s", "cache_reach")
AMD = ("mi355x",)  # keep the share of their peak that their sheets have from elsewhere
EAGER_S = {"arc-pro-b60": 30e-6}  # what the host takes to enqueue a run where no graph captures it
# Bounds of what each constant can physically be; the fit stays inside.
BOUNDS = {
    "launch_s": (1e-6, 4e-6), "matrix_reach": (0.4, 0.95), "memory_reach": (0.7, 0.99),
    "feed_bytes_per_clock": (8, 128), "step_s": (0.03e-6, 1e-6), "tile_s": (0.2e-6, 8e-6), "split_s": (1e-6, 4e-6),
    "cache_reach": (0.4, 0.95),
}  # fmt: skip


def rows(path: Path, gpu: str) -> dict[str, Any]:
    """One chip's bf16 rows as arrays; ``held`` marks the fifth of the shapes that no fit sees."""
    source = "aiter" if CHIPS[gpu] in AMD else "aiconfigurator"
    with path.open() as file:
        found = [row for row in csv.DictReader(file) if row["source"] == source and row["gpu"] == gpu]
    found = [row for row in found if row["dtype"] == "bf16" and row["op"] == "gemm"]
    table = {name: np.array([int(row[name]) for row in found]) for name in "mnk"}
    table["time_s"] = np.array([float(row["time_us"]) * 1e-6 for row in found])
    table["protocol"] = np.array([protocol_of(Row.read(row)).name for row in found])
    table["held"] = np.array([is_held(row) for row in found])
    return table


def is_held(row: dict[str, str]) -> bool:
    """Whether a shape is kept apart, by a hash of its sizes alone."""
    text = ",".join(row[name] for name in ("batch", "m", "n", "k"))
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % 5 == 0


def errors(table: dict[str, Any], name: str, constants: Constants | None = None, on: Any = tuple(EFFECTS)) -> Any:
    """ln(estimate / measured) of each row."""
    machine = pm.machine(name)
    chip = Chip.of(machine)
    chip = chip if constants is None else replace(chip, constants=constants)
    count = pm.matmul("m", "n", "k").counted[0]
    found = np.empty(len(table["m"]))
    for framework in np.unique(table["protocol"]):
        which = table["protocol"] == framework
        sizes = {label: table[label][which] for label in "mnk"}
        shape = shape_of(count).at(sizes, int(which.sum()))
        how = replace(protocol(str(framework)), host_s=EAGER_S.get(name, 0.0))
        setting = Setting(chip, Rates((machine.find_peak("bf16"),)), frozenset(on), how)
        found[which] = kernel_parts(shape, chosen_many(shape, setting), setting).time_s
    return np.log(found / table["time_s"])


def score(logs: Any) -> str:
    """Median and mean absolute error in percent."""
    off = abs(np.expm1(logs))
    return f"{100 * np.median(off):.1f} / {100 * np.mean(off):.1f}"


def loss(logs: Any) -> float:
    """What the fit makes small: the median and the mean of the absolute logarithm."""
    off = abs(logs)
    return float(np.median(off) + np.mean(off) + 0.3 * np.mean(np.minimum(off, 0.2)))


def simplex(f: Callable[[Any], float], start: Any, rounds: int) -> tuple[Any, float]:
    """Nelder and Mead's search for a minimum (1965), which needs no derivatives."""
    points = [start, *[start + 0.15 * step for step in np.eye(len(start))]]
    values = [f(point) for point in points]
    for _ in range(rounds):
        order = np.argsort(values)
        points, values = [points[i] for i in order], [values[i] for i in order]
        middle = np.mean(points[:-1], axis=0)
        tried = [middle + scale * (middle - points[-1]) for scale in (1.0, 2.0, -0.5)]
        found = [f(tried[0])]
        if found[0] < values[0]:
            found.append(f(tried[1]))
        elif found[0] >= values[-2]:
            tried = [tried[0], tried[2]]
            found.append(f(tried[1]))
        best = int(np.argmin(found))
        if found[best] < values[-1]:
            points[-1], values[-1] = tried[best], found[best]
        else:
            points = [points[0] + 0.5 * (point - points[0]) for point in points]
            values = [f(point) for point in points]
    best = int(np.argmin(values))
    return points[best], values[best]


def fitted(table: dict[str, Any], name: str, rounds: int = 150, kept: Mapping[str, float] | None = None) -> Constants:
    """The constants that suit the rows that are not held out, inside their bounds, from a few starts.

    Those that are ``kept`` stay as they are given.
    """
    open_rows = {key: value[~table["held"]] for key, value in table.items()}
    now = Chip.of(pm.machine(name)).constants
    fixed = dict(kept or {}) | ({"matrix_reach": now.matrix_reach} if name in AMD else {})
    free = [each for each in NAMES if each not in fixed]
    low, high = (np.array([BOUNDS[each][side] for each in free]) for side in (0, 1))

    def constants(logs: Any) -> Constants:
        found = np.clip(np.exp(logs), low, high)
        return Constants(**fixed, **{each: float(item) for each, item in zip(free, found, strict=True)})

    best: tuple[Any, float] | None = None
    for change in ({}, {"step_s": 2.0, "tile_s": 0.7}, {"feed_bytes_per_clock": 1.3, "tile_s": 1.5}):
        start = np.log([getattr(now, each) * change.get(each, 1.0) for each in free])
        point, value = simplex(lambda x: loss(errors(open_rows, name, constants(x))), start, rounds)
        point, value = simplex(lambda x: loss(errors(open_rows, name, constants(x))), point, rounds)
        if best is None or value < best[1]:
            best = point, value
        if kept:
            break  # what the other starts change is kept
    return constants(best[0] if best is not None else np.log(low))


def family_of(name: str) -> tuple[str, ...]:
    """The chips of a chip's die; itself alone where there are no others."""
    return next((each for each in FAMILIES if name in each), (name,))


def fitted_family(tables: Mapping[str, dict[str, Any]], rounds: int = 150) -> dict[str, Constants]:
    """The constants of chips of one die, by name: each fitted alone, then what the die decides is their mean, then
    the rest again."""
    alone = {name: fitted(table, name, rounds) for name, table in tables.items()}
    if len(alone) == 1:
        return alone
    mean = {each: float(np.exp(np.mean([np.log(getattr(item, each)) for item in alone.values()])))
            for each in OF_THE_DIE}  # fmt: skip
    return {name: fitted(table, name, rounds, mean) for name, table in tables.items()}


def report(table: dict[str, Any], name: str, constants: Constants | None = None) -> str:
    """All rows, the rows held out, and the effects added and left out one at a time."""
    held = table["held"]
    logs = errors(table, name, constants)
    lines = [f"{name}: {len(logs)} rows: all {score(logs)}, held out {score(logs[held])}, fitted {score(logs[~held])}"]
    names = tuple(EFFECTS)
    for place, effect in enumerate(names):
        added = score(errors(table, name, constants, names[: place + 1]))
        without = score(errors(table, name, constants, [each for each in names if each != effect or each == names[0]]))
        lines.append(f"  {effect:<18} up to it {added:>13}   without it {without:>13}")
    return "\n".join(lines)


def main() -> None:
    """Print the errors, or fit the chips that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--fit", nargs="*", default=[], metavar="CHIP")
    options = parser.parse_args()
    tables = {name: rows(options.file, gpu) for gpu, name in CHIPS.items()}
    if not options.fit:
        for name, table in tables.items():
            print(report(table, name), flush=True)
    for family in dict.fromkeys([family_of(name) for name in options.fit]):
        for name, found in fitted_family({each: tables[each] for each in family}).items():
            print(name, {each: float(f"{getattr(found, each):.3g}") for each in NAMES})
            print(report(tables[name], name, found).splitlines()[0], flush=True)


if __name__ == "__main__":
    main()
