"""``perfmodel sweep`` and ``perfmodel suggest``: many sizes of a program, as a table, and those that suit a chip."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from perfmodel.cli.answers import programs_of
from perfmodel.cli.ranges import axes_of
from perfmodel.cli.saving import save_table
from perfmodel.errors import PerfModelError
from perfmodel.suggesting import Suggestions, suggest
from perfmodel.sweeping import sweep, sweep_to

_MOST_SHOWN = 60  # rows; of more the first and last are shown


def swept(options: argparse.Namespace) -> Any:
    """The table of a sweep as text or as rows of plain data; or where it was written.

    >>> from perfmodel.cli.options import parser
    >>> text = ["sweep", "matmul(n, n, n)", "--over", "n=64:192:64", "--metrics", "flops"]
    >>> print(swept(parser().parse_args(text)))
      n    flops
     64   524288
    128  4194304
    192 14155776
    """
    (program,) = programs_of(options)
    asked: dict[str, Any] = {
        "subject": program,
        "points": axes_of(options.over, "--over"),
        "on": options.on,
        "metrics": None if options.metrics is None else _names(options.metrics),
        "effects": options.effects,
        "zipped": options.zip,
    }
    if options.out is not None and Path(options.out).suffix != ".csv":
        place = sweep_to(options.out, **asked)
        return {"out": str(place)} if options.json else f"written to {place}"
    found = sweep(**asked)
    if options.out is not None:
        save_table(found, Path(options.out))
        rows = {"out": options.out, "rows": len(found)}
        return rows if options.json else f"{len(found)} rows written to {options.out}"
    if options.json:
        return {"rows": [{name: _plain(value) for name, value in row.items()} for row in found.to_dict("records")]}
    return found.to_string(index=False, max_rows=_MOST_SHOWN, float_format="{:.4g}".format)


def suggested(options: argparse.Namespace) -> Suggestions:
    """The suggestions.

    >>> from perfmodel.cli.options import parser
    >>> text = ["suggest", "matmul(1793, n, 1793)", "--want", "n=1793", "--on", "a100-sxm-80gb", "--top", "1"]
    >>> suggested(parser().parse_args(text)).explain().splitlines()[4].split(":")[0]
    '  1          n=1792'
    """
    (program,) = programs_of(options)
    axes = axes_of(options.want, "--want")
    wanted = {name: values[0] if isinstance(values, list) and len(values) == 1 else values
              for name, values in axes.items()}  # fmt: skip
    clash = sorted(set(wanted) & {"program", "on", "within", "where", "top", "effects", "protocol"})
    if clash:
        raise PerfModelError(f"--want {clash[0]}: a symbol of that name cannot be wanted; give it another")
    return suggest(program, options.on, options.within, options.where or None, options.top,
                    options.effects, **wanted)  # fmt: skip


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
