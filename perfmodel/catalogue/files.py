"""Data sheets: the schema of ``hardware/*.toml``, and the reader that checks a whole sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any, TypeVar

from perfmodel.catalogue.agreeing import check_agreement
from perfmodel.catalogue.building import family_or_name
from perfmodel.catalogue.chips import Machine
from perfmodel.catalogue.parts import KINDS, SCOPES, UNITS, Clocks, Figure, Level, Peak, Quantity, Source
from perfmodel.catalogue.plain import plain_sheet
from perfmodel.catalogue.tables import CALIBRATED, Table
from perfmodel.errors import FormatError, MachineError, listed
from perfmodel.number_formats import format as number_format
from perfmodel.showing import quantity as written

# Characters; a data sheet has about 5,000, in lines of at most 200. (A key of n dotted parts takes n^2 steps to read.)
LONGEST_SHEET, LONGEST_LINE = 100_000, 2_000

_ARRAY = ("array_rows", "array_columns")
_IDENTITY = ("name", "vendor", "architecture", "kind", "year", "aliases", "compute_capability")
_TABLES = {
    "memory": ("type", "capacity_bytes", "bandwidth_bytes_per_s", "sector_bytes"),
    "units": ("name", "count", *_ARRAY),
    "clock": ("vector_hz", "matrix_hz", "base_hz"),
    "power": ("tdp_w",),
    "calibrated": CALIBRATED,
}
_LISTS = {
    "peak": ("unit", "format", "accumulate", "flops_per_s", "sparse_flops_per_s", "rate_per_clock", "clock"),
    "level": ("name", "scope", "capacity_bytes", "bandwidth_bytes_per_s"),
}
_RATES = ("flops_per_s", "sparse_flops_per_s", "rate_per_clock")
_PLAIN = ("units", "capacity_bytes", "bandwidth_bytes_per_s", "tdp_w", "compute_capability")

Named = dict[str, Figure]
Part = TypeVar("Part", Peak, Level)


def read_machine(text: str, file: str, *, name: str, made: str) -> Machine:
    """The machine of a data sheet in TOML, every key and figure checked.

    ``file`` is what messages call it, ``made`` the expression that the machine's repr shows. ``MachineError``
    names the file, the key and the value: broken TOML, unknown keys, wrong types, figures that are not
    plausible or have no source, duplicate peaks, a sparse peak under the dense key, and what is missing.

    >>> read_machine("name = 'X'\\nbandwidth_gb_per_s = 900", "x.toml", name="x", made="x")
    Traceback (most recent call last):
    perfmodel.errors.MachineError: x.toml: unknown key 'bandwidth_gb_per_s'; keys carry plain bytes, ...
    """
    sheet = _parsed(text, file)
    sources = _sources(sheet.pop("sources", {}), file)
    top = Table(file, sheet, (*_IDENTITY, *_TABLES, *_LISTS, "sources"), sources)
    memory, units, clock, power, calibrated = (
        Table(f"{file}: [{key}]", sheet.get(key, {}), _TABLES[key], sources) for key in _TABLES
    )
    peaks, figures = _collected(_rows(top, "peak"), _peak)
    levels, level_figures = _collected(_rows(top, "level"), _level)
    figures |= _figures(memory, ("bandwidth_bytes_per_s",), required=True) | _figures(memory, ("capacity_bytes",))
    figures |= _figures(memory, ("sector_bytes",)) | level_figures | _count(units) | _figures(units, _ARRAY)
    figures |= _figures(clock, _TABLES["clock"]) | _figures(power, ("tdp_w",))
    figures |= _figures(top, ("compute_capability",)) | _figures(calibrated, CALIBRATED)
    known = {key: figure.value for key, figure in figures.items()}
    facts = {key: known.get(key) for key in _PLAIN}
    clocks = Clocks(*(known.get(key) for key in _TABLES["clock"]))
    _check_peaks(peaks, facts["units"], clocks, file)
    _check_distinct([level.name for level in levels], "level", file)
    return Machine.from_facts(
        name=name,
        made=made,
        **_identity(top),
        **facts,
        unit_name=units.text("name", "unit"),
        memory_type=memory.text("type", ""),
        clocks=clocks,
        peaks=peaks,
        levels=levels,
        figures=tuple(figures.items()),
    )


def _parsed(text: str, file: str) -> dict[str, Any]:
    if len(text) > LONGEST_SHEET:
        raise MachineError(f"{file}: {len(text)} characters; a data sheet has at most {LONGEST_SHEET}")
    if max(map(len, text.split("\n"))) > LONGEST_LINE:
        raise MachineError(f"{file}: a line of a data sheet has at most {LONGEST_LINE} characters")
    plain = plain_sheet(text)
    if plain is not None:
        return plain
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise MachineError(f"{file}: not TOML: {error}") from None


def _sources(values: Any, file: str) -> dict[str, Source]:
    if not isinstance(values, dict):
        raise MachineError(f"{file}: sources: expected a table [sources] of KEY = {{ title = ..., date = ... }}")
    tables = {key: Table(f"{file}: [sources] {key}", value, ("title", "date")) for key, value in values.items()}
    return {key: Source(table.text("title"), table.text("date")) for key, table in tables.items()}


def _identity(top: Table) -> dict[str, Any]:
    year = top.values.get("year")
    if year is not None and (type(year) is not int or not 1940 <= year <= 2100):
        raise top.refused("year", "expected a year from 1940 to 2100")
    return {
        "title": top.text("name"),
        "vendor": top.text("vendor"),
        "kind": top.text("kind", among=KINDS),
        "architecture": top.text("architecture", ""),
        "year": year,
        "aliases": top.texts("aliases"),
    }


def _rows(top: Table, key: str) -> list[Table]:
    """The tables of a list such as [[peak]], numbered from 1."""
    found = top.values.get(key, [])
    if not isinstance(found, list):
        raise top.refused(key, f"expected tables, each under [[{key}]]")
    where = f"{top.where}: [[{key}]]"
    return [Table(f"{where} {place}", row, _LISTS[key], top.sources) for place, row in enumerate(found, 1)]


def _collected(rows: Iterable[Table], read: Callable[[Table], tuple[Part, Named]]) -> tuple[tuple[Part, ...], Named]:
    """The parts that rows describe, and all their figures by name."""
    pairs = [read(row) for row in rows]
    return tuple(part for part, _ in pairs), {name: figure for _, named in pairs for name, figure in named.items()}


def _figures(table: Table, keys: Iterable[str], prefix: str = "", required: bool = False) -> Named:
    present = [key for key in keys if required or key in table.values]
    return {f"{prefix}{key}": figure for key in present if (figure := table.figure(key, required=required)) is not None}


def _count(units: Table) -> Named:
    figure = units.figure("count")
    return {"units": figure} if figure is not None else {}


def _peak(row: Table) -> tuple[Peak, Named]:
    unit = row.text("unit", among=UNITS)
    name = _format(row, "format", row.text("format"), family_or_name)
    accumulate = tuple(_format(row, "accumulate", each, _name) for each in row.texts("accumulate"))
    clock = row.text("clock", "matrix" if unit == "matrix" else "vector", among=("matrix", "vector"))
    rates = _figures(row, ("flops_per_s",), required=True) | _figures(row, ("sparse_flops_per_s", "rate_per_clock"))
    dense, sparse, rate = (rates[key].value if key in rates else None for key in _RATES)
    if sparse is not None and sparse <= dense:
        raise row.refused("sparse_flops_per_s", f"expected more than the dense peak, {written(dense, 'FLOP/s')}")
    peak = Peak(unit, name, dense, accumulate, sparse, rate, clock)
    label = peak.label
    return peak, {label if key == "flops_per_s" else f"{label} {key}": figure for key, figure in rates.items()}


def _level(row: Table) -> tuple[Level, Named]:
    name, scope = row.text("name"), row.text("scope", among=SCOPES)
    keys = ("capacity_bytes", "bandwidth_bytes_per_s")
    named = _figures(row, keys, f"{name} ")
    if not named:
        raise MachineError(f"{row.where}: {name} has no figure; give {listed(keys)}, or leave the level out")
    capacity, bandwidth = (named[f"{name} {key}"].value if f"{name} {key}" in named else None for key in keys)
    return Level(name, capacity, scope, bandwidth), named


def _name(text: str) -> str:
    return number_format(text).name


def _format(row: Table, key: str, text: str, read: Callable[[str], str]) -> str:
    try:
        return read(text)
    except FormatError as error:
        raise row.refused(key, str(error)) from None


def _check_peaks(peaks: tuple[Peak, ...], units: Quantity | None, clocks: Clocks, file: str) -> None:
    """At least one peak that counts FLOPs, none twice, none that contradicts units, rate per clock and clock."""
    if all(peak.unit == "special" for peak in peaks):
        raise MachineError(f"{file}: no peak; give a [[peak]] with unit, format and flops_per_s")
    _check_distinct([peak.label for peak in peaks], "peak", file)
    for first, second in combinations(peaks, 2):
        if (first.unit, first.format) == (second.unit, second.format) and _overlap(first, second):
            raise MachineError(f"{file}: two peaks for {first.unit} {first.format} with the same accumulator")
    check_agreement(peaks, units, clocks, file)


def _overlap(first: Peak, second: Peak) -> bool:
    return not first.accumulate or not second.accumulate or bool({*first.accumulate} & {*second.accumulate})


def _check_distinct(names: list[str], what: str, file: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise MachineError(f"{file}: [[{what}]] {listed(twice)} stands there twice")
