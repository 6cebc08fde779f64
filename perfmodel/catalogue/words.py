"""A machine in words: quantities with their units, one line, the whole data sheet, a table, plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from html import escape
from typing import Any

from perfmodel.catalogue.parts import UNITS, Peak, Quantity, format_or_none
from perfmodel.errors import listed
from perfmodel.number_formats import Format
from perfmodel.showing import Text, plain, quantity as written

_BINARY = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def capacity(value: Quantity) -> str:
    """Bytes in binary units where they fit (GiB is 2^30), else in decimal ones (GB is 10^9).

    >>> capacity(85_899_345_920), capacity(132_644_864), capacity(95_000_000_000)
    ('80 GiB', '126.5 MiB', '95 GB')
    """
    if isinstance(value, int) and value % 1024 == 0:
        scale, unit = next(step for step in _BINARY if value >= step[0])
        if len(f"{value / scale:.10g}") <= 6:
            return f"{value / scale:.10g} {unit}"
    return written(value, "B")


def headline(machine: Any) -> Peak:
    """The peak to name first: matrix bf16, or fp16, or fp32, or what there is.

    >>> from perfmodel.catalogue.chips import Machine
    >>> headline(Machine(peak={"fp8": 4e12, "fp16": 2e12}, bandwidth_bytes_per_s=1e9)).label
    'fp16'
    """
    for name in ("bf16", "fp16", "fp32"):
        peak = machine.find_peak(name)
        if peak is not None:
            return peak  # type: ignore[no-any-return]
    return machine.peaks[0]  # type: ignore[no-any-return]


def counted_units(machine: Any) -> str:
    """The units of a chip in words, or nothing where their number is unknown.

    >>> from perfmodel.catalogue.chips import Machine
    >>> counted_units(Machine(units=16, peak=1e12, bandwidth_bytes_per_s=1e9))
    '16 units'
    """
    if machine.units is None:
        return ""
    return f"{machine.units} {machine.unit_name}{'' if machine.units == 1 else 's'}"


def rate(peak: Peak) -> str:
    """A peak in words: FLOP/s, operations a second for integers, results a second for special functions.

    >>> rate(Peak("special", "fp32", 4_181_760_000_000)), rate(Peak("matrix", "int8", 624_000_000_000_000))
    ('4.182 Tresult/s', '624 TOP/s')
    """
    unit = "result/s" if peak.unit == "special" else "OP/s" if peak.format.startswith("int") else "FLOP/s"
    return written(peak.flops_per_s, unit)


def summary(machine: Any) -> str:
    """What a machine is, in one line.

    >>> from perfmodel.catalogue.chips import Machine
    >>> summary(Machine(units=16, rate_per_clock=16, clock_hz=3.0e9, bandwidth_bytes_per_s=20e9))
    'custom: 16 units, peak 768 GFLOP/s, 20 GB/s'
    """
    best = headline(machine)
    held = capacity(machine.capacity_bytes) if machine.capacity_bytes is not None else ""
    parts = [
        counted_units(machine),
        f"{best.label} {rate(best)}",
        written(machine.bandwidth_bytes_per_s, "B/s"),
        held,
    ]
    return f"{machine.title}: {', '.join(part for part in parts if part)}"


def rows(machine: Any) -> list[tuple[str, str, str]]:
    """Every figure of a machine as (name, value in words, source and doubts).

    >>> from perfmodel.catalogue.chips import Machine
    >>> rows(Machine(peak=1e12, bandwidth_bytes_per_s=1e9))[0]
    ('peak', '1 TFLOP/s', 'given by the user')
    """
    order = {unit: place for place, unit in enumerate(UNITS)}
    peaks = sorted(machine.peaks, key=lambda peak: order.get(peak.unit, -1))
    said = {peak.label: rate(peak) for peak in peaks}
    for label, figure in machine.figures:
        said.setdefault(label, _worded(label, figure.value))
    sources = dict(machine.figures)
    return [(label, words, str(sources[label])) for label, words in said.items()]


def explanation(machine: Any) -> Text:
    """The data sheet: every figure with its source, and what is doubtful.

    >>> from perfmodel.catalogue.chips import Machine
    >>> explanation(Machine(peak=1e12, bandwidth_bytes_per_s=1e9))
    custom: peak 1 TFLOP/s, 1 GB/s
      peak                   1 TFLOP/s  given by the user
      bandwidth_bytes_per_s  1 GB/s     given by the user
    """
    table = rows(machine)
    first, second = (max(len(row[column]) for row in table) for column in (0, 1))
    lines = [f"  {label:<{first}}  {words:<{second}}  {source}" for label, words, source in table]
    return Text("\n".join([summary(machine), *lines]))


def missing_peak(machine: Any, wanted: Format, unit: str | None, accumulate: Any) -> str:
    """Why a machine has no such peak, what it has, and what to write instead.

    >>> from perfmodel.catalogue.chips import Machine
    >>> chip = Machine(peak={"matrix bf16": 4e14, "vector fp32": 2e13}, bandwidth_bytes_per_s=1e12, name="chip")
    >>> chip.peak("fp4")
    Traceback (most recent call last):
    perfmodel.errors.MachineError: chip has no fp4 peak: matrix has bf16; vector has fp32. Cast to bf16, or ...
    """
    asked = wanted.family
    units = UNITS[:2] if unit is None else (unit,)
    others = [peak for peak in machine.peaks if peak.unit in units and peak.format in (wanted.name, asked)]
    if others:
        into = wanted.accumulator if accumulate is None else str(accumulate)
        listing = listed(name for peak in others for name in peak.accumulate)
        return f"{machine.name}: the {others[0].unit} {asked} peak accumulates in {listing}, not in {into}"
    has = {name: [peak.format for peak in machine.peaks if peak.unit == name] for name in UNITS}
    listing = "; ".join(f"{name} has {listed(dict.fromkeys(formats))}" for name, formats in has.items() if formats)
    where = f" on its {unit} unit" if unit else ""
    wider = _nearest_wider(wanted, has[unit] if unit else has["matrix"] or has["vector"])
    cast = f"Cast to {wider}, or try" if wider else "Try"
    key = f"{unit} {asked}" if unit else asked
    return f"{machine.name} has no {asked} peak{where}: {listing}. {cast} what if: .replace(peak={{{key!r}: ...}})"


def as_dict(machine: Any) -> dict[str, Any]:
    """A machine as plain data.

    >>> from perfmodel.catalogue.chips import Machine
    >>> as_dict(Machine(peak=1e12, bandwidth_bytes_per_s=1e9))["sources"]["peak"]
    {'title': 'given by the user', 'date': ''}
    """
    left_out = ("figures", "made", "_found")
    data = {each.name: getattr(machine, each.name) for each in fields(machine) if each.name not in left_out}
    data |= {"clocks": asdict(machine.clocks), "sources": {name: asdict(it) for name, it in machine.sources.items()}}
    data |= {name: [asdict(part) for part in data[name]] for name in ("peaks", "levels")}
    found: dict[str, Any] = plain({**data, "caveats": machine.caveats})
    return found


def as_html(machine: Any) -> str:
    """The data sheet as a table for a notebook.

    >>> from perfmodel.catalogue.chips import Machine
    >>> as_html(Machine(peak=1e12, bandwidth_bytes_per_s=1e9)).count("<tr>")
    2
    """
    cells = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows(machine))
    return f"<table><caption>{escape(summary(machine))}</caption>{cells}</table>"


def _nearest_wider(wanted: Format, names: Iterable[str]) -> str:
    """The narrowest of the formats that holds at least as many bits, of the same kind where there is one."""
    known = [found for found in map(format_or_none, names) if found is not None]
    enough = [each for each in known if each.bits >= wanted.bits and each.family != wanted.family]
    best = min(enough, key=lambda each: (each.kind != wanted.kind, each.bits), default=None)
    return best.family if best is not None else ""


def _worded(label: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if label.endswith("bandwidth_bytes_per_s"):
        return written(value, "B/s")
    if label.endswith("capacity_bytes"):
        return capacity(value)
    if label.endswith("_hz"):
        return written(value, "Hz")
    if label.endswith("flops_per_s"):
        return written(value, "FLOP/s")
    return f"{value} W" if label == "tdp_w" else str(value)
