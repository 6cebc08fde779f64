"""``perfmodel waves``, ``systolic`` and ``energy``: what the units of a chip make of a kernel."""

from __future__ import annotations

import argparse
from typing import Any

from perfmodel.catalogue.names import machine_meant
from perfmodel.errors import DimensionError, MachineError
from perfmodel.mechanisms import Energy, Systolic, Waves, energy, systolic, tile_grid, waves
from perfmodel.reading import describe, read_size


def waved(options: argparse.Namespace) -> Waves:
    """Blocks against units, wave after wave.

    >>> from perfmodel.cli.options import parser
    >>> waved(parser().parse_args(["waves", "120"])).waves
    2
    """
    sizes: list[Any] = [_size(text) for text in options.sizes]
    tile = [read_size(text, "--tile") for text in options.tile]
    if len(sizes) > 2 or len(tile) > 2:
        raise DimensionError(f"waves: {len(sizes)} sizes and a tile of {len(tile)}: expected one or two of each")
    blocks = sizes[0] if len(sizes) == 1 else tile_grid(sizes[0], sizes[1], tile=tile if len(tile) == 2 else tile[0])
    units = machine_meant(options.units) or read_size(options.units, "--units")
    resident = read_size(options.resident, "--resident")
    return waves(blocks, units, resident, options.schedule, busy=options.busy)


def _size(text: str) -> Any:
    if machine_meant(text) is not None:
        raise MachineError(f"waves: SIZE {text!r} is a chip, not a size; --units {text} gives it")
    return read_size(text, "waves: SIZE")


def pulsed(options: argparse.Namespace) -> Systolic:
    """The cycles of a matrix product on a systolic array.

    >>> from perfmodel.cli.options import parser
    >>> pulsed(parser().parse_args(["systolic", "8", "8", "512"])).cycles
    526
    """
    m, n, k, rows, cols = [
        read_size(getattr(options, name), f"systolic: {name}") for name in ("m", "n", "k", "rows", "cols")
    ]
    return systolic(m, n, k, rows, cols, options.dataflow)


def priced(options: argparse.Namespace) -> Energy:
    """The energy of a program.

    >>> from perfmodel.cli.options import parser
    >>> priced(parser().parse_args(["energy", "workload(flops=1e9)", "--table", "lecture"])).energy_j
    0.02
    """
    return energy(describe(options.program), options.table)
