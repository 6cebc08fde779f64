"""Machines by name: ids, aliases, what to say where a name is several products, and a user's own files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.catalogue.chips import Machine
from perfmodel.catalogue.files import LONGEST_SHEET, read_machine
from perfmodel.catalogue.parts import KINDS
from perfmodel.catalogue.words import capacity, headline, rate
from perfmodel.errors import MachineError, did_you_mean, listed
from perfmodel.showing import quantity as written

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

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
    raise MachineError(f"machine: expected a name, a path ending in .toml or a Machine, got {which!r}")


def machines(kind: str | None = None, vendor: str | None = None) -> tuple[str, ...]:
    """The ids of the catalogue, by kind, vendor and year; of one kind (gpu, tpu, npu, cpu) or vendor where asked.

    >>> machines(kind="tpu")
    ('tpu-v5e', 'tpu-v5p')
    """
    found = _catalogue()
    if kind is not None:
        _check_known("kind", kind, KINDS)
        found = tuple(each for each in found if each.kind == kind)
    if vendor is not None:
        _check_known("vendor", vendor, sorted({each.vendor.lower() for each in _catalogue()}))
        found = tuple(each for each in found if each.vendor.lower() == vendor.lower())
    return tuple(each.name for each in found)


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
        return f"{name!r} is several products: {'; '.join(map(_described, found))}. {_spread(found)}Say which"
    if found:
        return f"no chip is named {name!r}; the nearest is {_described(found[0])}"
    names = [*_sheets(), *(alias for chip in _catalogue() for alias in chip.aliases)]
    return (
        f"no chip {name!r}{did_you_mean(name, names)}; there are {listed(machines())}. One of your own: a path ending "
        "in .toml, or pm.Machine(peak=..., bandwidth_bytes_per_s=...)"
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
        raise MachineError(f"machine: {str(path)!r}: a data sheet's path ends in {_SUFFIX}")
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(LONGEST_SHEET + 1)
    except OSError as error:
        raise MachineError(f"machine: {str(path)!r}: {error.strerror or error}") from None
    except ValueError as error:
        raise MachineError(f"machine: {str(path)!r}: not text in UTF-8 ({error})") from None
    return read_machine(text, str(path), name=path.stem, made=f"pm.machine({str(path)!r})")


def _check_known(what: str, value: str, known: Iterable[str]) -> None:
    names = tuple(known)
    if not isinstance(value, str) or value.lower() not in names:
        raise MachineError(f"machines: no {what} {value!r}{did_you_mean(str(value), names)}; there are {listed(names)}")
