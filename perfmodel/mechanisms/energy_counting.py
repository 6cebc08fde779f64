"""The operations and bytes of a program, priced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from perfmodel.errors import LabelError, MachineError, PerfModelError, brief, did_you_mean, listed
from perfmodel.expressions import Size, product, total
from perfmodel.graph.programs import Program
from perfmodel.mechanisms.energy_costs import Energies
from perfmodel.mechanisms.energy_entries import LIKELY, Entry
from perfmodel.mechanisms.energy_ledgers import Energy
from perfmodel.mechanisms.energy_sources import energy_tables
from perfmodel.number_formats import Format


def energy(program: Program, table: Any = "7nm", *, levels: Mapping[str, str] | None = None) -> Energy:
    """The energy of a program: each operation by unit and format, each byte by the level that serves it.

    ``table`` is an ``Energies`` or a name of ``energy_tables()``; ``levels`` says which figure of the table a level of
    the program takes, where the names differ: ``levels={"memory": "ddr"}``. What blocks ask of an inner level counts
    where tiles name one (``tile(..., level="l2")`` around another). A FLOP of a contraction is half a multiply of its
    format and half an add of its accumulator's; what has no figure is listed in ``not_modelled`` and costs nothing.

    >>> from perfmodel import matmul
    >>> found = energy(matmul(4096, 4096, 4096), "7nm")
    >>> f"{found.energy_j * 1e3:.1f} mJ, {found.pj_per_flop:.3f} pJ a FLOP, ridge {found.ridge:.0f} FLOP/B"
    '44.9 mJ, 0.327 pJ a FLOP, ridge 148 FLOP/B'
    >>> energy(matmul("n", "n", "n"), "lecture").memory_j
    9*n**2/10000000000
    """
    if not isinstance(program, Program):
        raise PerfModelError(
            f"energy: expected a program, got {brief(program)}; pm.workload(flops=..., bytes_read=...) is one"
        )
    prices, named = _table(table), {} if levels is None else levels
    entries, missing = [], []
    for kind, item, amount, pj in [*_operations(program, prices), *_bytes(program, prices, named)]:
        if pj is None:
            missing.append(f"{item}: {prices.name or 'the table'} has no energy for it")
        else:
            entries.append(Entry(kind, item, amount, pj))
    return Energy(program, prices, tuple(entries), tuple(missing), tuple(_used(program, prices, named).items()))


def _table(table: Any) -> Energies:
    if isinstance(table, Energies):
        return table
    known = energy_tables()
    if not isinstance(table, str) or table not in known:
        raise MachineError(
            f"energy: no table {brief(table)}{did_you_mean(table, known)}; there are {listed(known)}, or your own: "
            "pm.Energies(pj_per_op=20, pj_per_byte=150)"
        )
    return known[table]


def _operations(program: Program, prices: Energies) -> Iterator[tuple[str, str, Size, Any]]:
    """Operations by unit, format and accumulator, with what one takes."""
    found: dict[tuple[str, Format, Format], list[Size]] = {}
    for item in program.counted:
        for work in item.works:
            amount = product([item.kernel.repeat, work.operations])
            found.setdefault((work.unit, work.compute, work.accumulate), []).append(amount)
    for (unit, compute, accumulate), amounts in found.items():
        usual = unit != "matrix" or accumulate.name == compute.accumulator
        name = f"{unit} {compute.name}" + ("" if usual else f" into {accumulate.name}")
        yield "compute", name, total(amounts), prices.find_op(unit, compute, accumulate)


def _bytes(program: Program, prices: Energies, levels: Mapping[str, str]) -> Iterator[tuple[str, str, Size, Any]]:
    """Bytes by the level that serves them, with what one takes."""
    used, known = _used(program, prices, levels), dict(prices.levels)
    for level in _levels(program):
        moved = [
            product([item.kernel.repeat, transfer.bytes])
            for item in program.counted
            for transfer in item.levels.get(level, ())
        ]
        amount = total(moved)
        if amount != 0:
            yield "memory", level, amount, known[used[level]] if level in used else None


def _levels(program: Program) -> list[str]:
    return list(dict.fromkeys([level for item in program.counted for level in item.levels]))


def _used(program: Program, prices: Energies, levels: Mapping[str, str]) -> dict[str, str]:
    """The figure of the table that each level of the program takes."""
    known, found = dict(prices.levels), _levels(program)
    if not isinstance(levels, Mapping):
        raise LabelError(f"energy: levels = {brief(levels)}: expected a mapping such as {{'memory': 'ddr'}}")
    for level, name in levels.items():
        if level not in found:
            raise LabelError(f"energy: {program.name} has no level {brief(level)}{did_you_mean(level, found)}; "
                             f"it has {listed(found)}")  # fmt: skip
        prices.per_byte(name)
    choices = {level: levels.get(level, level if level in known else LIKELY.get(level, "")) for level in found}
    return {level: name for level, name in choices.items() if name in known}
