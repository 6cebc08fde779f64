"""Reading a table of measured times: a DataFrame as it is, or a CSV file, every cell as text."""

from __future__ import annotations

import csv
from os import PathLike
from pathlib import Path
from typing import Any

from perfmodel.errors import PerfModelError, brief
from perfmodel.validation.rows import BEYOND, NEEDS, check_columns

_LONGEST_PATH = 400  # characters of a path that a message shows


def read_table(given: Any) -> Any:
    """The DataFrame, read from a file where a path is given; ``PerfModelError`` where there is none.

    >>> read_table(42)
    Traceback (most recent call last):
    perfmodel.errors.PerfModelError: validate: expected a DataFrame or the path of a CSV file, got int
    """
    if isinstance(given, (str, PathLike)):
        return _read(Path(given))
    if not (hasattr(given, "columns") and hasattr(given, "iloc")):
        raise PerfModelError(f"validate: expected a DataFrame or the path of a CSV file, got {type(given).__name__}")
    return given


def _read(path: Path) -> Any:
    try:
        import pandas
    except ImportError:
        raise PerfModelError("validate: reading a table needs pandas: pip install 'perfmodel[table]'") from None
    try:
        plain = {"dtype": str, "keep_default_na": False, "header": None}
        header = pandas.read_csv(path, nrows=1, **plain)
        names = header.iloc[0].tolist()
        check_columns(names)  # pandas gives a doubled column another name
        with path.open(newline="", encoding="utf-8-sig") as lines:
            widest = max([len(cells) for cells in csv.reader(lines)], default=0)
        names += [f"{BEYOND}{number + 1}" for number in range(widest - len(names))]
        found = pandas.read_csv(path, names=names, index_col=False, **plain)
        return found.iloc[1:].reset_index(drop=True)  # without the header, which stands in the first row
    except FileNotFoundError:
        raise PerfModelError(f"validate: no file {brief(str(path), _LONGEST_PATH)}; {NEEDS}") from None
    except (OSError, UnicodeDecodeError, csv.Error, pandas.errors.ParserError, pandas.errors.EmptyDataError) as error:
        raise PerfModelError(f"validate: {brief(str(path), _LONGEST_PATH)} is not a CSV table: {error}") from None
