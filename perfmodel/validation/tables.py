"""Reading a table of measured times: a DataFrame as it is, or a CSV file, every cell as text."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

from perfmodel.errors import PerfModelError, brief
from perfmodel.validation.rows import NEEDS, check_columns

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
        header = pandas.read_csv(path, dtype=str, keep_default_na=False, header=None, nrows=1)
        check_columns(header.iloc[0].tolist())  # pandas gives a doubled column another name
        with catch_warnings():
            simplefilter("error", pandas.errors.ParserWarning)  # rows longer than the header
            return pandas.read_csv(path, dtype=str, keep_default_na=False, index_col=False)
    except pandas.errors.ParserWarning:
        raise PerfModelError(
            f"validate: {brief(str(path), _LONGEST_PATH)}: rows have more cells than the header has columns"
        ) from None
    except FileNotFoundError:
        raise PerfModelError(f"validate: no file {brief(str(path), _LONGEST_PATH)}; {NEEDS}") from None
    except (OSError, UnicodeDecodeError, pandas.errors.ParserError, pandas.errors.EmptyDataError) as error:
        raise PerfModelError(f"validate: {brief(str(path), _LONGEST_PATH)} is not a CSV table: {error}") from None
