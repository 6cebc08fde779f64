"""Rows of measured times: what a table must hold, read once and checked cell by cell.

A table has the columns ``gpu``, ``op``, ``dtype`` and ``time_us`` (or, as sweeps write them, ``machine`` and
``time_s``, which are read where the others are not there) and those of the sizes that its ops need
(``batch``, ``m``, ``n``, ``k``); ``source``, ``extra`` and ``note`` say how a row was measured. An empty cell does
not apply.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from perfmodel.errors import PerfModelError, did_you_mean, listed

REQUIRED = ("gpu", "op", "dtype", "time_us")
ALSO = {"gpu": "machine", "time_us": "time_s"}  # as sweeps name them; read where the first is not there
SIZES = ("batch", "m", "n", "k")
OPTIONAL = ("source", "extra", "note", *SIZES)
BEYOND = "beyond the header "  # how the columns are called that hold what a row of a file has too many of
_COLUMNS = listed([f"{name} (or {ALSO[name]})" if name in ALSO else name for name in REQUIRED])
NEEDS = f"a table needs the columns {_COLUMNS} and the sizes {listed(SIZES)} of its ops"


class Unmapped(Exception):
    """Why a row has no estimate: counted by its text, never dropped.

    >>> str(Unmapped("op cumsum is not described"))
    'op cumsum is not described'
    """


@dataclass(frozen=True, slots=True)
class Row:
    """One measured time, as text and numbers; ``extra`` and ``flags`` are its remarks taken apart.

    ``surplus`` are the cells that it has beyond the header.

    >>> row = Row.read({"gpu": "L4", "op": "gemm", "dtype": "fp32", "m": "8", "time_us": "2.5", "extra": "fw=x;bias=1"})
    >>> row.extra, row.size("m"), row.measured_s
    ({'fw': 'x', 'bias': '1'}, 8, 2.5e-06)
    """

    source: str
    gpu: str
    op: str
    dtype: str
    extra: Mapping[str, str]
    flags: tuple[str, ...]
    cells: Mapping[str, str]
    surplus: int = 0

    @classmethod
    def read(cls, cells: Mapping[str, Any]) -> Row:
        """A row from its cells by column.

        >>> Row.read({"gpu": " L4", "op": "gemm", "dtype": "fp32", "time_us": 1}).gpu
        'L4'
        """
        text = {name: _text(cells.get(name)) for name in (*REQUIRED, *ALSO.values(), *OPTIONAL)}
        text["gpu"] = text["gpu"] if "gpu" in cells else text["machine"]
        flags = tuple(part.strip() for part in text["note"].split(";") if part.strip())
        surplus = len([name for name, cell in cells.items() if name.startswith(BEYOND) and _text(cell)])
        extra = dict(_pairs(text["extra"]))
        return cls(text["source"], text["gpu"], text["op"], text["dtype"], extra, flags, text, surplus)

    def check_cells(self) -> None:
        """``Unmapped`` for a row of a file that has more cells than the header has columns.

        >>> Row.read({"beyond the header 1": "7"}).check_cells()
        Traceback (most recent call last):
        perfmodel.validation.rows.Unmapped: cells beyond the header: 1
        """
        if self.surplus:
            raise Unmapped(f"cells beyond the header: {self.surplus}")

    @property
    def measured_s(self) -> float:
        """The measured time in seconds; ``Unmapped`` where the cell holds none.

        >>> Row.read({"time_us": "3.5"}).measured_s, Row.read({"time_s": "3.5e-6"}).measured_s
        (3.5e-06, 3.5e-06)
        """
        name = "time_s" if self.cells["time_s"] and not self.cells["time_us"] else "time_us"
        try:
            found = float(self.cells[name])
        except ValueError:
            found = math.nan
        if not (math.isfinite(found) and found > 0):
            raise Unmapped(f"{name} = {self.cells[name]!r}: expected a positive number")
        return found if name == "time_s" else found / 1e6

    def size(self, name: str, default: int | None = None) -> int:
        """A size by column, where the op needs one: a positive whole number, else ``Unmapped``.

        >>> Row.read({"m": "64.0"}).size("m"), Row.read({}).size("batch", 1)
        (64, 1)
        """
        text = self.cells[name]
        if not text and default is not None:
            return default
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not (found >= 1 and found == found // 1 and found <= 2**40):
            raise Unmapped(f"{name} = {text!r}: expected a positive whole number")
        return int(found)


def _text(cell: Any) -> str:
    """A cell as text: what a table has for nothing (None, nan) is empty, whole floats are ints."""
    if cell is None or cell != cell:
        return ""
    return str(cell).strip()


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Names and values of ``a=1;b=2``; a name alone has the value "1"."""
    for part in text.split(";"):
        name, equals, value = (each.strip() for each in part.partition("="))
        if name:
            yield name, value if equals else "1"


def rows_of(frame: Any) -> list[Row]:
    """The rows of a DataFrame; ``PerfModelError`` where a column is missing.

    >>> from pandas import DataFrame
    >>> rows_of(DataFrame({"gpu": ["L4"], "op": ["gemm"], "dtype": ["bf16"], "time_us": [1.5], "m": [8]}))[0].size("m")
    8
    """
    columns = [str(name) for name in frame.columns]
    check_columns(columns)
    unused = {also for name, also in ALSO.items() if name in columns}
    read = {*REQUIRED, *ALSO.values(), *OPTIONAL} - unused
    known = [name for name in columns if name in read or name.startswith(BEYOND)]
    cells = {name: frame.iloc[:, columns.index(name)].tolist() for name in known}
    return [Row.read(dict(zip(cells, values, strict=True))) for values in zip(*cells.values(), strict=True)]


def check_columns(columns: Iterable[str]) -> None:
    """That a table has the columns it needs, and none that is read twice.

    >>> check_columns(["gpu", "op", "dtype", "time_us", "m", "m"])
    Traceback (most recent call last):
    perfmodel.errors.PerfModelError: validate: the column 'm' stands twice
    """
    found = list(columns)
    twice = [name for name in (*REQUIRED, *ALSO.values(), *OPTIONAL) if found.count(name) > 1]
    if twice:
        raise PerfModelError(f"validate: the column {twice[0]!r} stands twice")
    missing = [name for name in REQUIRED if name not in found and ALSO.get(name) not in found]
    if missing:
        raise PerfModelError(
            f"validate: no column {missing[0]!r}{did_you_mean(missing[0], found)}; {NEEDS}; "
            f"this one has {listed(found)}"
        )
