"""On-chip levels that a user gives: a mapping from their names to figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from perfmodel.catalogue.parts import Figure, Level, quantity
from perfmodel.errors import MachineError, brief, did_you_mean, listed

KEYS = ("capacity_bytes", "bandwidth_bytes_per_s", "scope")
SCOPES = ("chip", "unit")


def levels_from(given: Any, known: tuple[Level, ...], verb: str) -> tuple[Level, ...]:
    """The levels with what a user gives of them: a number is a bandwidth, a mapping has some of ``KEYS``.

    What is not named stays; new levels come last. Figures of a level whose scope is "unit" are those of one unit.

    >>> levels_from({"l2": 5e12}, (Level("l2", 40_000_000),), "replace")
    (Level(name='l2', capacity_bytes=40000000, scope='chip', bandwidth_bytes_per_s=5000000000000),)
    """
    if not isinstance(given, Mapping):
        raise MachineError(f"{verb}: levels = {brief(given)}: expected a mapping, such as levels={{'l2': 5e12}}")
    found = {level.name: level for level in known}
    for name, figures in given.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise MachineError(f"{verb}: levels: {brief(name)} is no level's name, such as 'l2' or 'shared'")
        found[name] = _changed(found.get(name, Level(name)), figures, f"levels[{brief(name)}]", verb)
    return tuple(found.values())


def with_levels(facts: Mapping[str, Any], given: Any, verb: str) -> dict[str, Any]:
    """The fields of a machine with levels that a user gives (None: as they are), and figures by data sheets' names.

    >>> [name for name, _ in with_levels({"figures": ()}, {"l2": 5e12}, "Machine")["figures"]]
    ['l2 bandwidth_bytes_per_s']
    """
    if given is None:
        return dict(facts)
    levels = levels_from(given, facts.get("levels", ()), verb)
    figures = dict(facts["figures"]) | _figures(given, levels)
    return {**facts, "levels": levels, "figures": tuple(figures.items())}


def _figures(given: Mapping[str, Any], levels: tuple[Level, ...]) -> dict[str, Figure]:
    found = {}
    for level in levels:
        for key in KEYS[:2] if level.name in given else ():
            value = getattr(level, key)
            if value is not None:
                found[f"{level.name} {key}"] = Figure(value)
    return found


def _changed(level: Level, figures: Any, field: str, verb: str) -> Level:
    said = figures if isinstance(figures, Mapping) else {"bandwidth_bytes_per_s": figures}
    for key in said:
        if key not in KEYS:
            raise MachineError(
                f"{verb}: {field}: no key {brief(key)}{did_you_mean(key, KEYS)}; keys are {listed(KEYS)}"
            )
    scope = said.get("scope", level.scope)
    if not isinstance(scope, str) or scope not in SCOPES:
        raise MachineError(f"{verb}: {field}: scope = {brief(scope)}: expected {listed(SCOPES)}")
    values: Any = {key: quantity(said[key], f"{field}.{key}", verb) for key in KEYS[:2] if key in said}
    return replace(level, scope=scope, **values)
