"""An energy ledger in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.expressions import is_concrete, share
from perfmodel.mechanisms.wording import number, part_of_all
from perfmodel.showing import formula, quantity

if TYPE_CHECKING:
    from perfmodel.mechanisms.energy_entries import Entry
    from perfmodel.mechanisms.energy_ledgers import Energy


def spent(found: Energy) -> str:
    """All that is spent, or its parts where they are formulas.

    >>> from perfmodel import energy, matmul
    >>> spent(energy(matmul("n", "n", "n"), "lecture"))
    'compute 40 n^3 pJ, memory 900 n^2 pJ'
    """
    return quantity(found.energy_j, "J") if _numbers(found) else _parts(found)


def commented(found: Energy) -> list[str]:
    """The figures, a line each.

    >>> from perfmodel import energy, workload
    >>> commented(energy(workload(flops=1e9, bytes_read=1e9), "lecture"))[0]
    '170 mJ: compute 20 mJ, memory 150 mJ, 7.5 times the compute'
    """
    lines = [f"{spent(found)}: {_parts(found)}" if _numbers(found) else _parts(found)]
    if _numbers(found) and _balances(found):
        lines[0] += f", {number(found.ratio)} times the compute"
        lines.append(
            f"{number(found.pj_per_flop)} pJ a FLOP; operations and bytes balance at {number(found.ridge)} FLOP/B, "
            f"this does {number(found.program.intensity)} FLOP/B"
        )
    return [*lines, *[f"left out: {words}" for words in found.not_modelled]]


def worked(found: Energy) -> list[str]:
    """The ledger with its sums, as a person would write it.

    >>> from perfmodel import energy, matmul
    >>> for line in worked(energy(matmul("n", "n", "n"), "lecture")):
    ...     print(line)
    matrix bf16  2 n^3 FLOP * 20 pJ = 40 n^3 pJ
    memory       6 n^2 B * 150 pJ = 900 n^2 pJ
    rests on     memory: LPDDR
    """
    lines = [_line(entry) for entry in found.entries]
    if _numbers(found) and _balances(found):
        used, own = found.compute_share, share(found.pj("compute"), found.program.flops)
        lines += [
            f"shares       compute {part_of_all(used)}, memory {part_of_all(1 - used)}",
            f"a FLOP       {number(found.pj_per_flop)} pJ, {number(own)} of them for itself",
            f"ridge        {number(found.ridge)} FLOP/B where both take the same",
        ]
    lines += [f"rests on     {caveat}" for caveat in found.caveats]
    return [*lines, *[f"left out     {words}" for words in found.not_modelled]]


def _line(entry: Entry) -> str:
    """One line of the ledger: special operations are no FLOPs."""
    unit = "B" if entry.kind == "memory" else "" if entry.item.startswith("special") else "FLOP"
    amount = f"{number(entry.amount)} {unit}".rstrip()
    spent = quantity(entry.joules, "J") if is_concrete(entry.exact) else f"{formula(entry.exact)} pJ"
    return f"{entry.item:12} {amount} * {number(float(entry.pj_each))} pJ = {spent}"


def _parts(found: Energy) -> str:
    if not _numbers(found):
        return ", ".join([f"{kind} {formula(found.pj(kind))} pJ" for kind in ("compute", "memory")])
    return f"compute {quantity(found.compute_j, 'J')}, memory {quantity(found.memory_j, 'J')}"


def _numbers(found: Energy) -> bool:
    return is_concrete(found.pj("compute", "memory"))


def _balances(found: Energy) -> bool:
    """Whether there is something of both to weigh."""
    return bool(found.pj("compute") != 0 and found.program.flops != 0 and found.pj("memory") != 0)
