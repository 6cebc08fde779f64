"""Machines by name: ids, aliases, what to say where a name is several products, and a user's own files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.catalogue.chips import Machine
from perfmodel.catalogue.comparison import Machines
from perfmodel.catalogue.files import LONGEST_SHEET, read_machine
from perfmodel.catalogue.parts import KINDS, Peak, Quantity, quantity
from perfmodel.catalogue.words import capacity, headline, rate
from perfmodel.errors import MachineError, brief, did_you_mean, listed
from perfmodel.number_formats import Format
from perfmodel.showing import quantity as written

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_LONGEST_PATH = 400  # characters of a path that a message shows
_SUFFIX = ".toml"


def machine(which: str | os.PathLike[str] | Machine) -> Machine:
    """A machine: by the id or alias of a catalogue chip, or from a data sheet of your own (a path ending in .toml).

    Case, spaces and underscores do not matter. A name that is several products, such as "H100", is a
    ``MachineError`` that lists them; an unknown one shows near misses.

    >>> machine("h100-sxm")
    pm.machine('h100-sxm')  # NVIDIA H100 SXM5 80 GB: 132 SMs, matrix bf16 989.4 TFLOP/s, 3.352 TB/s, 80 GiB
    >>> machine("H100")
    Traceback (most recent call last):
    perfmodel.errors.MachineError: machine: 'H100' is several products: h100-pcie (matrix bf16 756.5 TFLOP/s, ...
    """
    if type(which) is str and not which.endswith(_SUFFIX):
        return _named(which)
    if isinstance(which, Machine):
        return which
    if isinstance(which, str | os.PathLike):
        return _from_file(Path(which))
    raise MachineError(f"machine: expected a name, a path ending in .toml or a Machine, got {brief(which)}")


def machine_meant(text: str) -> Machine | None:
    """The machine that a text names where a size could stand too: None where the text is a size.

    Text that looks like a machine's name (part of one with a digit, or nearly one) and is none is a ``MachineError``,
    never algebra: "h100-smx" is not a difference.

    >>> machine_meant("h100-sxm").name, machine_meant("n - 1"), machine_meant("2*n")
    ('h100-sxm', None, None)
    """
    if text.strip().endswith(_SUFFIX):
        return machine(text.strip())
    key = _key(text)
    known = {*_sheets(), *(_key(alias) for chip in _catalogue() for alias in chip.aliases)}
    if key in known:
        return _named(text)
    if not re.fullmatch(r"[a-z][a-z0-9.]*(-[a-z0-9.]+)*", key):
        return None
    coined = any(re.search("[a-z]", word) and re.search("[0-9]", word) for word in key.split("-"))
    part = coined and any(set(key.split("-")) <= _words(chip) for chip in _catalogue())
    near = len(key) > 3 and get_close_matches(key, known, n=1, cutoff=0.75)
    return _named(text) if part or near else None


def machines(
    kind: str | None = None,
    vendor: str | None = None,
    *,
    format: str | Format | None = None,
    min_flops_per_s: float | None = None,
    min_bandwidth_bytes_per_s: float | None = None,
    min_capacity_bytes: float | None = None,
) -> Machines:
    """The catalogue side by side, by kind, vendor and year: ids, shown as a table, with ``to_frame()`` for pandas.

    Of one kind (gpu, tpu, npu, cpu) or vendor where asked; with a peak for a number format on the matrix or the
    vector unit, and that of at least ``min_flops_per_s``; with at least a bandwidth, or a memory of known capacity.
    ``MachineError`` for a kind or vendor that there is not, and for a least rate without its format.

    >>> list(machines(kind="tpu", format="fp8", min_bandwidth_bytes_per_s=2e12))
    ['tpu-v5p', 'tpu-v7x']
    """
    chips = _catalogue()
    if kind is not None:
        _check_known("kind", kind, KINDS)
    if vendor is not None:
        _check_known("vendor", vendor, sorted({each.vendor.lower() for each in chips}))
    least = {
        "bandwidth_bytes_per_s": _least("min_bandwidth_bytes_per_s", min_bandwidth_bytes_per_s),
        "capacity_bytes": _least("min_capacity_bytes", min_capacity_bytes),
    }
    flops = _least("min_flops_per_s", min_flops_per_s)
    if flops is not None and format is None:
        raise MachineError("machines: min_flops_per_s is of a number format: give format='bf16' too")
    return Machines(
        each
        for each in chips
        if (kind is None or each.kind == kind.lower())
        and (vendor is None or each.vendor.lower() == vendor.lower())
        and (format is None or _reaches(each.find_peak(format), flops))
        and all(value is None or (getattr(each, key) or 0) >= value for key, value in least.items())
    )


def _reaches(peak: Peak | None, flops: Quantity | None) -> bool:
    return peak is not None and (flops is None or peak.flops_per_s >= flops)


def _least(name: str, value: float | None) -> Quantity | None:
    found = None if value is None else quantity(value, name, "machines")
    if found is not None and not isinstance(found, int | float):
        raise MachineError(f"machines: {name} = {value}: expected a number, not a formula")
    return found


@lru_cache(maxsize=1)
def _sheets() -> dict[str, Traversable]:
    """The data sheets by id: in the installed package, else in the checkout beside it."""
    from importlib.resources import files

    packaged = files("perfmodel") / "hardware"
    folder = packaged if packaged.is_dir() else Path(__file__).parents[2] / "hardware"
    if not folder.is_dir():
        raise MachineError(f"machine: the folder of data sheets is missing from the installation: {folder}")
    return {each.name.removesuffix(_SUFFIX): each for each in folder.iterdir() if each.name.endswith(_SUFFIX)}


@cache
def _chip(name: str) -> Machine:
    text = _sheets()[name].read_text(encoding="utf-8")
    return read_machine(text, f"hardware/{name}{_SUFFIX}", name=name, made=f"pm.machine({name!r})")


@lru_cache(maxsize=1)
def _catalogue() -> tuple[Machine, ...]:
    chips = [_chip(name) for name in _sheets()]
    return tuple(
        sorted(chips, key=lambda chip: (KINDS.index(chip.kind), chip.vendor.lower(), chip.year or 0, chip.name))
    )


@lru_cache(maxsize=4096)
def _named(name: str) -> Machine:
    key = _key(name)
    if key in _sheets():
        return _chip(key)
    found = [chip for chip in _catalogue() if key in map(_key, chip.aliases)]
    if len(found) == 1:
        return found[0]
    raise MachineError(f"machine: {_not_found(name, key)}")


def _key(name: str) -> str:
    """A name in the form of an id: lower case, words apart by one hyphen."""
    return re.sub(r"[\s_/-]+", "-", name.strip().lower())


def _not_found(name: str, key: str) -> str:
    """What a name that is no id and no alias may stand for."""
    words = set(key.split("-")) - {""}
    found = [chip for chip in _catalogue() if words and words <= _words(chip)]
    if len(found) > 1:
        return f"{brief(name)} is several products: {'; '.join(map(_described, found))}. {_spread(found)}Say which"
    if found:
        return f"no chip is named {brief(name)}; the nearest is {_described(found[0])}"
    names = [*_sheets(), *(alias for chip in _catalogue() for alias in chip.aliases)]
    return (
        f"no chip {brief(name)}{did_you_mean(name, names)}; there are {len(_sheets())}, which pm.machines() lists. "
        "One of your own: a path ending in .toml, or pm.Machine(peak=..., bandwidth_bytes_per_s=...)"
    )


def _words(chip: Machine) -> set[str]:
    return {word for name in (chip.name, chip.title, *chip.aliases) for word in _key(name).split("-")}


def _described(chip: Machine) -> str:
    best = headline(chip)
    held = f", {capacity(chip.capacity_bytes)}" if chip.capacity_bytes is not None else ""
    return f"{chip.name} ({best.label} {rate(best)}, {written(chip.bandwidth_bytes_per_s, 'B/s')}{held})"


def _spread(chips: list[Machine]) -> str:
    """How far apart variants are: "They differ by 31 % in peak and 64 % in bandwidth. "."""
    figures = {
        "peak": [headline(chip).flops_per_s for chip in chips],
        "bandwidth": [chip.bandwidth_bytes_per_s for chip in chips],
    }
    apart = {name: round(100 * (max(values) / min(values) - 1)) for name, values in figures.items()}
    said = [f"{percent} % in {name}" for name, percent in apart.items() if percent]
    return f"They differ by {' and '.join(said)}. " if said else ""


def _from_file(path: Path) -> Machine:
    if path.suffix != _SUFFIX:
        raise MachineError(f"machine: {brief(str(path), _LONGEST_PATH)}: a data sheet's path ends in {_SUFFIX}")
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(LONGEST_SHEET + 1)
    except OSError as error:
        raise MachineError(f"machine: {brief(str(path), _LONGEST_PATH)}: {error.strerror or error}") from None
    except ValueError as error:
        raise MachineError(f"machine: {brief(str(path), _LONGEST_PATH)}: not text in UTF-8 ({error})") from None
    return read_machine(text, str(path), name=path.stem, made=f"pm.machine({str(path)!r})")


def _check_known(what: str, value: str, known: Iterable[str]) -> None:
    names = tuple(known)
    if not isinstance(value, str) or value.lower() not in names:
        raise MachineError(f"machines: no {what} {brief(value)}{did_you_mean(value, names)}; there are {listed(names)}")
