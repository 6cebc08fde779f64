"""``perfmodel validate``: a table of measured times, estimated and held against the clock."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from perfmodel.errors import PerfModelError
from perfmodel.validation import Validation, validate
from perfmodel.validation.tables import read_table


def validated(options: argparse.Namespace) -> Any:
    """The errors of a table's estimates as text, or the summary as plain data; rows to ``--out`` where asked.

    >>> from perfmodel.cli.options import parser
    >>> validated(parser().parse_args(["validate", "missing.csv"]))
    Traceback (most recent call last):
    perfmodel.errors.PerfModelError: validate: no file 'missing.csv'
    """
    given = read_table(options.file)
    effects = tuple(name.strip() for name in options.effects.split(","))
    found = validate(
        given, effects if len(effects) > 1 else effects[0], without=options.without, chips=_chips(options.chip)
    )
    if options.out is not None:
        _write(found, given, Path(options.out))
    if options.json:
        return found.to_dict(options.by)
    return str(found.explain(options.by))


def _chips(given: list[str]) -> dict[str, str]:
    """Chips by the table's word for them, from texts such as ``A100-80GB=a100-sxm-80gb``."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, chip = (part.strip() for part in text.rpartition("="))
        if not (name and equals and chip):
            raise PerfModelError(f"--chip {text!r}: expected NAME=MACHINE, such as --chip A100-80GB=a100-sxm-80gb")
        found[name] = chip
    return found


def _write(found: Validation, given: Any, path: Path) -> None:
    """The rows beside their estimates; the file appears whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        found.frame(given).to_csv(partial, index=False, float_format="%.6g")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
