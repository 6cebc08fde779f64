"""A user's numbers to the parts of a machine: peaks from a number or a mapping, and what-ifs on a chip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from perfmodel.catalogue.agreeing import check_agreement
from perfmodel.catalogue.parts import (
    ANY,
    UNITS,
    Clocks,
    Figure,
    Peak,
    Quantity,
    Source,
    format_or_none,
    quantity,
    ratio,
)
from perfmodel.errors import FormatError, MachineError, brief, did_you_mean, listed
from perfmodel.number_formats import Format, format as number_format

Rates = Any  # a number or formula, or a mapping from "bf16", "matrix bf16" or ("matrix", "bf16") to one
Figures = tuple[tuple[str, Figure], ...]


def family_or_name(text: str | Format) -> str:
    """The name under which a peak is listed: a family (fp8) where the text is one, else the format's own.

    >>> family_or_name("fp8"), family_or_name("fp8_e5m2"), family_or_name("bfloat16")
    ('fp8', 'fp8_e5m2', 'bf16')
    """
    found = number_format(text)
    return found.family if isinstance(text, str) and text.lower() == found.family else found.name


def peaks_from(rates: Rates, units: Iterable[str], verb: str) -> tuple[Peak, ...]:
    """Peaks from a number that serves every unit and format, or from a mapping.

    A key without a unit stands for each of ``units``.

    >>> [peak.label for peak in peaks_from({"bf16": 2e12, "vector fp32": 1e12}, ("matrix", "vector"), "replace")]
    ['matrix bf16', 'vector bf16', 'vector fp32']
    """
    if not isinstance(rates, Mapping):
        return (Peak(ANY, ANY, quantity(rates, "peak", verb)),)
    if not rates:
        raise MachineError(f"{verb}: peak = {{}} names no peak; write peak={{'bf16': 400e12}}")
    found: dict[tuple[str, str], Peak] = {}
    for key, value in rates.items():
        named, name = _unit_and_format(key, verb)
        for unit in [named] if named else units:
            found[unit, name] = Peak(unit, name, quantity(value, f"peak[{brief(key)}]", verb), clock=_clock(unit))
    return tuple(found.values())


def facts_from(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The fields of a machine made by hand, checked.

    >>> given = {"units": 16, "rate_per_clock": 16, "clock_hz": 3.0e9, "bandwidth_bytes_per_s": 20e9}
    >>> facts_from(given, "custom")["peaks"][0].flops_per_s
    768000000000
    """
    facts = checked({key: value for key, value in given.items() if key != "peak"}, "Machine")
    if "bandwidth_bytes_per_s" not in facts:
        raise MachineError("Machine: bandwidth_bytes_per_s is missing; 3.35 TB/s is bandwidth_bytes_per_s=3.35e12")
    rates, rate, clock = given.get("peak"), facts.pop("rate_per_clock", None), facts.pop("clock_hz", None)
    if rates is not None and rate is not None:
        raise MachineError("Machine: peak and rate_per_clock both say the peak; give one of them")
    computed = rates is None
    peaks = (_peak_of_units(facts.get("units"), rate, clock),) if computed else peaks_from(rates, (ANY,), "Machine")
    figures = _figures({"vector_hz": clock, "matrix_hz": clock, **facts}, peaks)
    names = {"name": checked_name(name), "title": name}
    return {**names, **facts, "peaks": peaks, "clocks": Clocks(clock, clock), "figures": figures}


def checked(given: Mapping[str, Any], verb: str) -> dict[str, Quantity]:
    """The quantities that were given, checked; those that are None are left out.

    >>> checked({"units": 16.0, "clock_hz": None}, "Machine")
    {'units': 16}
    """
    found = {key: quantity(value, key, verb) for key, value in given.items() if value is not None}
    if isinstance(found.get("units"), float):
        raise MachineError(f"{verb}: units = {found['units']}: expected a whole number of SMs, CUs or cores")
    return found


def checked_name(name: Any) -> str:
    """A machine's name: text that is not empty.

    >>> checked_name("")
    Traceback (most recent call last):
    perfmodel.errors.MachineError: Machine: name = '': expected text
    """
    if not isinstance(name, str) or not name.strip():
        raise MachineError(f"Machine: name = {brief(name)}: expected text")
    return name


def arguments(given: Mapping[str, Any]) -> str:
    """Keyword arguments as they are written, without those that are None.

    >>> arguments({"peak": {"bf16": 4e14}, "units": None})
    "peak={'bf16': 400000000000000.0}"
    """
    return ", ".join(f"{key}={value!r}" for key, value in given.items() if value is not None)


def changed(machine: Any, changes: Mapping[str, Quantity], rates: Rates) -> dict[str, Any]:
    """The fields of a machine that a what-if changes.

    >>> from perfmodel.catalogue.chips import Machine
    >>> sorted(changed(Machine(peak=1, bandwidth_bytes_per_s=1), {"capacity_bytes": 80}, None))
    ['capacity_bytes', 'clocks', 'figures', 'peaks']
    """
    facts: dict[str, Any] = {key: value for key, value in changes.items() if key != "clock_hz"}
    clock = changes.get("clock_hz")
    clocks = machine.clocks if clock is None else Clocks(clock, clock, machine.clocks.base_hz)
    known = {"units": machine.units, "clock_hz": machine.clocks.of("vector")}
    scaling = [key for key, old in known.items() if key in changes and old is not None]
    replaced = peaks_from(rates, UNITS[:2], "replace") if rates is not None else ()
    kept = [peak for peak in machine.peaks if not _overrides(replaced, peak)]
    scaled = [_scaled(machine, peak, changes, scaling) for peak in kept]
    check_agreement(scaled, changes.get("units", machine.units), clocks, f"replace: {machine.name}")
    gone = {peak.label for peak in machine.peaks} - {peak.label for peak in kept}
    figures = {name: figure for name, figure in machine.figures if not _belongs(name, gone)}
    for peak in scaled if scaling else ():
        _rescale(figures, peak.label, peak.flops_per_s, scaling)
        _rescale(figures, f"{peak.label} sparse_flops_per_s", peak.sparse_flops_per_s, scaling)
    named = {"vector_hz": clock, "matrix_hz": clock, **facts}
    figures |= dict(_figures(named, replaced))
    return {**facts, "clocks": clocks, "peaks": (*replaced, *scaled), "figures": tuple(figures.items())}


def _peak_of_units(units: Quantity | None, rate: Quantity | None, clock: Quantity | None) -> Peak:
    """The peak that units, FLOP a clock and unit, and a clock make, for every unit and format."""
    if units is None or rate is None or clock is None:
        needed = {"units": units, "rate_per_clock": rate, "clock_hz": clock}
        missing = [key for key, value in needed.items() if value is None]
        raise MachineError(f"Machine: give peak=, or {listed(needed)}; missing: {listed(missing)}")
    return Peak(ANY, ANY, quantity(units * rate * clock, "peak"), rate_per_clock=rate)


def _figures(facts: Mapping[str, Any], peaks: Iterable[Peak]) -> Figures:
    given = {**{peak.label: peak.flops_per_s for peak in peaks}, **facts}
    return tuple((name, Figure(value)) for name, value in given.items() if value is not None)


def _unit_and_format(key: Any, verb: str) -> tuple[str, str]:
    """("matrix", "bf16") of a key that names both; ("", "bf16") of one that names the format alone."""
    words = key.split() if isinstance(key, str) else key if isinstance(key, tuple) else (key,)
    if not 1 <= len(words) <= 2 or not all(isinstance(word, str | Format) for word in words):
        raise MachineError(f"{verb}: peak[{brief(key)}]: a key is 'bf16', 'matrix bf16' or ('matrix', 'bf16')")
    unit = words[0] if len(words) == 2 else ""
    if unit and unit not in UNITS:
        raise MachineError(
            f"{verb}: peak[{brief(key)}]: no unit {brief(unit)}{did_you_mean(unit, UNITS)}; units are {listed(UNITS)}"
        )
    try:
        return str(unit), family_or_name(words[-1])
    except FormatError as error:
        raise MachineError(f"{verb}: peak[{brief(key)}]: {error}") from None


def _clock(unit: str) -> str:
    return "matrix" if unit == "matrix" else "vector"


def _overrides(replaced: Iterable[Peak], old: Peak) -> bool:
    """Whether a peak of a chip makes way: for one that serves all, or one of its unit and format or family."""
    known = format_or_none(old.format)
    names = {old.format, known.family if known else old.format}
    return any(new.format == ANY or (new.format in names and new.unit in (old.unit, ANY)) for new in replaced)


def _belongs(name: str, labels: set[str]) -> bool:
    return any(name == label or name.startswith(f"{label} ") for label in labels)


def _scaled(machine: Any, peak: Peak, changes: Mapping[str, Quantity], scaling: Iterable[str]) -> Peak:
    """A peak with other units or another clock, in proportion."""
    dense, sparse = peak.flops_per_s, peak.sparse_flops_per_s
    for key in scaling:
        old = machine.units if key == "units" else machine.clocks.of(peak.clock)
        dense = ratio(dense, changes[key], old)
        sparse = None if sparse is None else ratio(sparse, changes[key], old)
    return replace(peak, flops_per_s=dense, sparse_flops_per_s=sparse)


def _rescale(figures: dict[str, Figure], name: str, value: Quantity | None, scaling: list[str]) -> None:
    if name in figures:
        source = figures[name].source
        title = f"scaled by {' and '.join(scaling)} from: {source.title}"
        figures[name] = replace(figures[name], value=value, source=Source(title, source.date))
