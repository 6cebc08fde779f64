"""One figure of a data sheet changed, by its name in the sheet, and nothing else: to see what rests on it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from perfmodel.catalogue.chips import Machine
from perfmodel.catalogue.parts import Clocks

_CLOCKS = tuple(each.name for each in fields(Clocks))
_OF_PEAKS = {"": "flops_per_s", " rate_per_clock": "rate_per_clock", " sparse_flops_per_s": "sparse_flops_per_s"}
_OF_LEVELS = ("capacity_bytes", "bandwidth_bytes_per_s")


def with_figure(machine: Machine, name: str, value: Any) -> Machine:
    """The machine with another value for one of its ``figures``; nothing is scaled with it.

    >>> from perfmodel import machine
    >>> found = with_figure(machine("l40s"), "l2 capacity_bytes", 48_000_000)
    >>> found.level("l2").capacity_bytes, found.level("shared") == machine("l40s").level("shared")
    (48000000, True)
    """
    facts = {each.name: getattr(machine, each.name) for each in fields(machine)}
    figures = dict(machine.figures)
    figures[name] = replace(figures[name], value=value)
    facts["figures"] = tuple(figures.items())
    if name in _CLOCKS:
        facts["clocks"] = replace(machine.clocks, **{name: value})
    elif name in facts:
        facts[name] = value
    else:
        facts["peaks"] = tuple([_part(each, each.label, _OF_PEAKS, name, value) for each in machine.peaks])
        keys = {f" {key}": key for key in _OF_LEVELS}
        facts["levels"] = tuple([_part(each, each.name, keys, name, value) for each in machine.levels])
    return Machine.from_facts(**facts)


def _part(part: Any, label: str, keys: dict[str, str], name: str, value: Any) -> Any:
    """A peak or a level with the new value, where the figure is one of its own."""
    key = keys.get(name.removeprefix(label)) if name.startswith(label) else None
    return part if key is None else replace(part, **{key: value})
