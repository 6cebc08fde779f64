"""An energy ledger in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.expressions import is_concrete
from perfmodel.graph.describing import title
from perfmodel.mechanisms.results import number, part_of_all, share
from perfmodel.showing import Text, formula, quantity

if TYPE_CHECKING:
    from perfmodel.mechanisms.energy_entries import Entry
    from perfmodel.mechanisms.energy_ledgers import Energy


def shown(found: Energy) -> str:
    """The expression that makes it, and the figures as comments.

    >>> from perfmodel import energy, matmul
    >>> print(shown(energy(matmul("n", "n", "n"), "lecture")))
    energy(matmul(m=n n=n k=n, bf16), 'lecture')
    # compute 40 n^3 pJ, memory 900 n^2 pJ
    """
    lines = [_written(found), f"# {_sums(found)}"]
    if _numbers(found) and _balances(found):
        lines[1] += f", {number(found.ratio)} times the compute"
        lines.append(
            f"# {number(found.pj_per_flop)} pJ a FLOP; operations and bytes balance at {number(found.ridge)} FLOP/B, "
            f"this does {number(found.program.intensity)} FLOP/B"
        )
    return "\n".join([*lines, *[f"# left out: {words}" for words in found.not_modelled]])


def explained(found: Energy) -> Text:
    """The ledger with its sums, as a person would write it.

    >>> from perfmodel import energy, matmul
    >>> explained(energy(matmul("n", "n", "n"), "lecture"))
    energy(matmul(m=n n=n k=n, bf16), 'lecture'): compute 40 n^3 pJ, memory 900 n^2 pJ
      matrix bf16  2 n^3 FLOP * 20 pJ = 40 n^3 pJ
      memory       6 n^2 B * 150 pJ = 900 n^2 pJ
      rests on     memory: LPDDR
    """
    spent = quantity(found.energy_j, "J") if _numbers(found) else _sums(found)
    lines = [f"{_written(found)}: {spent}", *[_line(entry) for entry in found.entries]]
    if _numbers(found) and _balances(found):
        used, own = found.compute_share, share(found.pj("compute"), found.program.flops)
        lines += [
            f"  shares       compute {part_of_all(used)}, memory {part_of_all(1 - used)}",
            f"  a FLOP       {number(found.pj_per_flop)} pJ, {number(own)} of them for itself",
            f"  ridge        {number(found.ridge)} FLOP/B where both take the same",
        ]
    lines += [f"  rests on     {caveat}" for caveat in found.caveats]
    return Text("\n".join([*lines, *[f"  left out     {words}" for words in found.not_modelled]]))


def _line(entry: Entry) -> str:
    """One line of the ledger: special operations are no FLOPs."""
    unit = "B" if entry.kind == "memory" else "" if entry.item.startswith("special") else "FLOP"
    amount = f"{number(entry.amount)} {unit}".rstrip()
    spent = quantity(entry.joules, "J") if is_concrete(entry.exact) else f"{formula(entry.exact)} pJ"
    return f"  {entry.item:12} {amount} * {number(float(entry.pj_each))} pJ = {spent}"


def _sums(found: Energy) -> str:
    if not _numbers(found):
        return ", ".join([f"{kind} {formula(found.pj(kind))} pJ" for kind in ("compute", "memory")])
    compute, memory = quantity(found.compute_j, "J"), quantity(found.memory_j, "J")
    return f"{quantity(found.energy_j, 'J')}: compute {compute}, memory {memory}"


def _numbers(found: Energy) -> bool:
    return is_concrete(found.pj("compute", "memory"))


def _balances(found: Energy) -> bool:
    """Whether there is something of both to weigh."""
    return bool(found.pj("compute") != 0 and found.program.flops != 0 and found.pj("memory") != 0)


def _written(found: Energy) -> str:
    named = repr(found.table.name) if found.table.sources else "..."
    return f"energy({title(found.program)}, {named})"
