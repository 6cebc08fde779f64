"""What machines are called that are a chip with other figures: by what was changed, so that two are told apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any


def what_if_name(name: str, changes: Mapping[str, Any]) -> str:
    """The name of a chip with other figures: those of an earlier change stay, unless they are changed again.

    >>> once = what_if_name("h100-sxm", {"bandwidth_bytes_per_s": 1e12, "units": None})
    >>> once, what_if_name(once, {"peak": {"bf16": 4e14}})
    ('h100-sxm (bandwidth_bytes_per_s=1e12)', 'h100-sxm (bandwidth_bytes_per_s=1e12, peak bf16=4e14)')
    >>> what_if_name(once, {"bandwidth_bytes_per_s": 2e12})
    'h100-sxm (bandwidth_bytes_per_s=2e12)'
    """
    base, _, rest = name.removesuffix(")").rpartition(" (")
    before = rest.split(", ") if base and name.endswith(")") and "=" in rest else []
    now = dict([each for key, value in changes.items() if value is not None for each in _items(key, value)])
    kept = [each for each in before if not _again(each.partition("=")[0], now)]
    said = [*kept, *[f"{key}={value}" for key, value in now.items()]]
    return f"{base if before else name} ({', '.join(said)})" if said else name


def _again(key: str, now: Mapping[str, str]) -> bool:
    """Whether a figure is changed again, by itself or with all of its kind."""
    return any(key == each or key.startswith(f"{each} ") for each in now)


def _items(key: str, value: Any) -> list[tuple[str, str]]:
    """A change as words and numbers: an entry of a mapping each."""
    if not isinstance(value, Mapping):
        return [(key, _number(value))]
    named = {" ".join(map(str, name)) if isinstance(name, tuple) else str(name): each for name, each in value.items()}
    return [item for name, each in named.items() for item in _items(f"{key} {name}", each)]


def _number(value: Any) -> str:
    """A number, short where that says all of it: 1e12; formulas and text as they are."""
    try:
        short = f"{float(value):.6g}".replace("e+", "e")
        return short if float(short) == value else str(value)
    except (TypeError, ValueError, OverflowError):
        return str(value)


def named_apart(chips: Iterable[Any]) -> tuple[Any, ...]:
    """The machines, those of a name that another one has with a number behind it; a machine given twice is one.

    >>> from perfmodel import Machine
    >>> custom = [Machine(peak=1e12, bandwidth_bytes_per_s=rate) for rate in (1e9, 2e9, 1e9)]
    >>> [each.name for each in named_apart(custom)]
    ['custom', 'custom (2)', 'custom']
    """
    found: dict[str, Any] = {}
    said = []
    for chip in chips:
        name, number = chip.name, 1
        while name in found and found[name] != chip:
            number += 1
            name = f"{chip.name} ({number})"
        found[name] = chip
        said.append(chip if number == 1 else _renamed(chip, name))
    return tuple(said)


def _renamed(chip: Any, name: str) -> Any:
    """The machine under another name, its figures and their sources as they are."""
    return type(chip).from_facts(**{each.name: getattr(chip, each.name) for each in fields(chip)} | {"name": name})
