"""``perfmodel validate``: a table of measured times, estimated and held against the clock."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from perfmodel.cli.saving import save_table
from perfmodel.errors import PerfModelError
from perfmodel.validation import validate
from perfmodel.validation.tables import read_table


def validated(options: argparse.Namespace) -> Any:
    """The errors of a table's estimates as text, or the summary as plain data; rows to ``--out`` where asked.

    >>> from perfmodel.cli.options import parser
    >>> validated(parser().parse_args(["validate", "missing.csv"]))
    Traceback (most recent call last):
    perfmodel.errors.PerfModelError: validate: no file 'missing.csv'; a table needs the columns gpu (or machine), ...
    """
    given = read_table(options.file)
    found = validate(given, options.effects, without=options.without, chips=_chips(options.chip))
    if options.out is not None:
        save_table(found.frame(given), Path(options.out), float_format="%.6g")
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
