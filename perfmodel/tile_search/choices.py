"""What is searched: the labels that are cut, the sizes to try for each, and the room that there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from perfmodel.catalogue import Machine, machine
from perfmodel.errors import DimensionError, LabelError, MachineError, PerfModelError, did_you_mean, listed
from perfmodel.expressions import size
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.programs import Program

MOST_CANDIDATES = 2**24  # three arrays of them take 0.3 GB


@dataclass(frozen=True)
class Axis:
    """A label and its extent, with the sizes to try, ascending.

    >>> Axis("m", 6, (1, 2, 4, 6)).parts  # those that cut 6, and the one that leaves it whole
    (slice(0, 3, None), slice(3, 4, None))
    """

    label: str
    extent: int
    sizes: tuple[int, ...]

    @property
    def parts(self) -> tuple[slice, ...]:
        """The places of the sizes that cut and of the whole extent, of those that there are.

        >>> Axis("m", 6, (1, 2, 4)).parts
        (slice(0, 3, None),)
        """
        cuts = len([size for size in self.sizes if size < self.extent])
        return tuple([part for part in (slice(0, cuts), slice(cuts, len(self.sizes))) if part.start < part.stop])


def room_of(on: str | Path | Machine | None, level: str, capacity_bytes: Any) -> int:
    """The capacity in bytes, given or the machine's.

    >>> room_of(None, "shared", 65536), room_of("h100-sxm", "shared", None) == 228 * 1024
    (65536, True)
    """
    found = on if on is None or isinstance(on, Machine) else machine(on)
    if capacity_bytes is not None:
        return number_of(capacity_bytes, "capacity_bytes")
    if found is None:
        raise PerfModelError(
            "best_tiles: no capacity given, and without one the largest tiles are best: capacity_bytes=65536, or "
            "on='h100-sxm' for that of its level 'shared'"
        )
    room = found.level(level).capacity_bytes
    if not isinstance(room, int):
        raise MachineError(f"best_tiles: the capacity of {level!r} of {found.name} is {room}: say capacity_bytes=")
    return room


def number_of(value: Any, what: str) -> int:
    """A positive whole number, and no formula.

    >>> number_of(64.0, "top")
    64
    """
    found = size(value, f"best_tiles: {what}")
    if not isinstance(found, int):
        raise DimensionError(f"best_tiles: {what} = {found}: a number was expected, not a formula")
    return found


def labels_cut(program: Program, kernels: Sequence[Kernel], grid: Any, stream: Any) -> tuple[list[str], list[str]]:
    """The labels of the grid and of the loops: as they are given, or those that are kept and those that are reduced.

    >>> from perfmodel import matmul
    >>> p = matmul(8, 8, 8)
    >>> labels_cut(p, p.kernels, (), ()), labels_cut(p, p.kernels, "m", ())
    ((['m', 'n'], ['k']), (['m'], []))
    """
    if program.symbols:
        raise DimensionError(
            f"best_tiles: the sizes of {program.name} hold {listed(program.symbols)}: bind them first with p.at(...)"
        )
    blocks, loops = [_listed(given, name) for given, name in ((grid, "grid"), (stream, "stream"))]
    ops = [op for kernel in kernels for op in kernel.ops]
    extents = {axis.label: axis.extent for op in ops for axis in op.space}
    if not blocks and not loops:
        reduced = {label for op in ops for label in op.reduced}
        loops = [label for label, extent in extents.items() if label in reduced and extent != 1]
        blocks = [label for label, extent in extents.items() if label not in reduced and extent != 1]
    for label in (*blocks, *loops):
        if label not in extents:
            shown = [f"{name} (= {extent})" for name, extent in extents.items()]
            near = did_you_mean(str(label), extents)
            raise LabelError(f"best_tiles: {program.name} has no label {label!r}; its labels are {listed(shown)}{near}")
    twice = [label for label, times in Counter([*blocks, *loops]).items() if times > 1]
    if twice or not (blocks or loops):
        raise LabelError(
            f"best_tiles: {twice[0]!r} is named twice" if twice else "best_tiles: there is no label to cut"
        )
    return blocks, loops


def _listed(given: Any, name: str) -> list[str]:
    if isinstance(given, str):
        return [given]
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, Mapping) else [given]
    if not all(isinstance(label, str) for label in found):
        raise LabelError(f"best_tiles: {name} names labels, such as ('m', 'n'), and sizes= their sizes; got {given!r}")
    return found


def axes_of(kernels: Sequence[Kernel], labels: Sequence[str], sizes: Any) -> tuple[Axis, ...]:
    """The labels with their candidates: powers of two and the whole extent, where nothing else is said.

    >>> from perfmodel import matmul
    >>> p = matmul(12, 8, 8)
    >>> axes_of(p.kernels, ["m", "k"], {"k": [4, 8, 16]})
    (Axis(label='m', extent=12, sizes=(1, 2, 4, 8, 12)), Axis(label='k', extent=8, sizes=(4, 8)))
    """
    given = {} if sizes is None else dict.fromkeys(labels, sizes) if isinstance(sizes, str) else sizes
    if not isinstance(given, Mapping):
        raise LabelError(
            f"best_tiles: sizes maps labels to candidates, such as {{'m': [64, 128]}}, or is 'all'; got {sizes!r}"
        )
    for label in given:
        if label not in labels:
            near = did_you_mean(str(label), labels)
            raise LabelError(
                f"best_tiles: sizes of {label!r}, which is not cut; the labels cut are {listed(labels)}{near}"
            )
    extents = {axis.label: int(axis.extent) for kernel in kernels for op in kernel.ops for axis in op.space}
    found = [Axis(label, extents[label], _candidates(label, given.get(label), extents[label])) for label in labels]
    if prod([len(axis.sizes) for axis in found]) > MOST_CANDIDATES:
        numbers = " x ".join([f"{len(axis.sizes)} of {axis.label}" for axis in found])
        raise DimensionError(
            f"best_tiles: {numbers} combinations of sizes; at most {MOST_CANDIDATES}: give fewer sizes or labels"
        )
    return tuple(found)


def _candidates(label: str, given: Any, most: int) -> tuple[int, ...]:
    """The sizes to try, ascending; one beyond the whole extent is the extent."""
    if given is None:
        return tuple(sorted({*[2**power for power in range(most.bit_length()) if 2**power < most], most}))
    if isinstance(given, str) and given == "all":
        if most > MOST_CANDIDATES:
            raise DimensionError(f"best_tiles: sizes of {label!r}: 'all' are {most}; at most {MOST_CANDIDATES}")
        return tuple(range(1, most + 1))
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DimensionError(
            f"best_tiles: sizes of {label!r} = {given!r}: expected several, such as [64, 128], or 'all'"
        )
    found = sorted({min(number_of(value, f"sizes of {label!r}"), most) for value in given})
    if not found:
        raise DimensionError(f"best_tiles: sizes of {label!r} are none")
    return tuple(found)
