"""The energy of a program: every operation and every byte at its price."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import sympy

from perfmodel.errors import MachineError
from perfmodel.expressions import as_expression, is_concrete, positive_real, share
from perfmodel.graph.describing import title
from perfmodel.graph.programs import Program
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.energy_costs import Energies
from perfmodel.mechanisms.energy_entries import LIKELY, PICO, Entry, joules, priced
from perfmodel.showing import Table


@dataclass(frozen=True, slots=True, repr=False)
class Energy(Answer):
    """What a program takes, line by line; energies in joules, and no time in them.

    >>> from perfmodel import energy, workload
    >>> energy(workload(flops=1e9, bytes_read=1e9), "lecture")
    energy(workload(), 'lecture')
    # 170 mJ: compute 20 mJ, memory 150 mJ, 7.5 times the compute
    # 170 pJ a FLOP; operations and bytes balance at 7.5 FLOP/B, this does 1 FLOP/B
    """

    _figure: ClassVar[str] = "energy_j"

    program: Program
    table: Energies
    entries: tuple[Entry, ...]
    not_modelled: tuple[str, ...] = ()
    levels: tuple[tuple[str, str], ...] = field(default=(), compare=False)  # the program's level, the table's

    @property
    def compute_j(self) -> Any:
        """Joules of the operations.

        >>> from perfmodel import energy, workload
        >>> energy(workload(flops=1e9, bytes_read=1e9), "lecture").compute_j
        0.02
        """
        return joules(self.pj("compute"))

    @property
    def memory_j(self) -> Any:
        """Joules of the bytes, of all levels.

        >>> from perfmodel import energy, workload
        >>> energy(workload(flops=1e9, bytes_read=1e9), "lecture").memory_j
        0.15
        """
        return joules(self.pj("memory"))

    @property
    def energy_j(self) -> Any:
        """Joules of all.

        >>> from perfmodel import energy, workload
        >>> energy(workload(flops=1e9, bytes_read=1e9), "lecture").energy_j
        0.17
        """
        return joules(self.pj("compute", "memory"))

    @property
    def ratio(self) -> Any:
        """Energy of the bytes over that of the operations.

        >>> from perfmodel import energy, workload
        >>> [energy(workload(flops=1e9, bytes_read=n), "lecture").ratio for n in (1e9, 2**30)]
        [7.5, 8.05306368]
        """
        return self._over(self.pj("memory"), self.pj("compute"), "compute takes no energy: no ratio to it")

    @property
    def pj_per_flop(self) -> Any:
        """All of the energy over the FLOPs, in pJ.

        >>> from perfmodel import energy, workload
        >>> energy(workload(flops=1e9, bytes_read=1e9), "lecture").pj_per_flop
        170.0
        """
        return self._over(self.pj("compute", "memory"), self.program.flops, "it does no FLOP")

    @property
    def flops_per_j(self) -> Any:
        """FLOPs a joule, which are FLOP/s a watt.

        >>> from perfmodel import energy, workload
        >>> energy(workload(flops=1e9), "lecture").flops_per_j
        50000000000.0
        """
        found = self._over(self.program.flops, self.pj("compute", "memory"), "it takes no energy")
        return found * PICO

    @property
    def ridge(self) -> Any:
        """FLOP/B at which these operations take as much energy as a byte of the memory: the energy balance.

        >>> from perfmodel import energy, matmul
        >>> energy(matmul(64, 64, 64), "lecture").ridge
        7.5
        """
        byte = next((entry.pj_each for entry in self.entries if entry.item == "memory"), None)
        if byte is None:
            raise MachineError(f"energy: {self.program.name}: no energy of a byte of memory is known")
        return self._over(priced(self.program.flops, byte), self.pj("compute"), "compute takes no energy")

    @property
    def compute_share(self) -> Any:
        """The share of the energy that operations take: a half at the ridge.

        >>> from perfmodel import energy, workload
        >>> energy(workload(flops=75, bytes_read=10), "lecture").compute_share
        0.5
        """
        return self._over(self.pj("compute"), self.pj("compute", "memory"), "it takes no energy")

    def power_w(self, time_s: Any) -> Any:
        """Watts that it draws where it takes so long, without what a chip draws at rest.

        >>> from perfmodel import Energies, energy, workload
        >>> f"{energy(workload(flops=9.18e13), Energies(pj_per_op=0.436)).power_w(1.0):.2f} W"
        '40.02 W'
        """
        return self.energy_j / positive_real(time_s, "time_s")

    def time_at_power_s(self, watts: Any) -> Any:
        """Seconds that it takes at least where no more than so many watts are there: power-limited.

        >>> from perfmodel import energy, workload
        >>> energy(workload(flops=1e9, bytes_read=1e9), "lecture").time_at_power_s(17)
        0.01
        """
        return self.energy_j / positive_real(watts, "watts")

    def flops_per_s_at_power(self, watts: Any) -> Any:
        """FLOP/s that so many watts pay for: power-limited.

        >>> from perfmodel import energy, workload
        >>> energy(workload(flops=1e9), "lecture").flops_per_s_at_power(100)
        5000000000000.0
        """
        return self.flops_per_j * positive_real(watts, "watts")

    def scaled(self, ops: Any = 1, bytes: Any = 1) -> Energy:
        """The same program where operations, bytes or both take so many times their energy.

        >>> from perfmodel import energy, workload
        >>> energy(workload(flops=1e9, bytes_read=1e9), "lecture").scaled(ops=0.125).compute_j == 0.02 / 8
        True
        """
        from perfmodel.mechanisms.energy_counting import energy

        return energy(self.program, self.table.scaled(ops, bytes), levels=dict(self.levels))

    def ledger(self) -> Table:
        """The lines: what, how much, at what price.

        >>> from perfmodel import energy, matmul
        >>> energy(matmul(64, 64, 64), "7nm").ledger()
        energy
        kind     item         amount  pj_each     joules
        compute  matrix bf16  524288    0.295  1.547e-07
        memory   memory        24576    43.75  1.075e-06
        """
        rows = [(entry.kind, entry.item, entry.amount, float(entry.pj_each), entry.joules) for entry in self.entries]
        return Table("energy", ("kind", "item", "amount", "pj_each", "joules"), tuple(rows))

    @property
    def made(self) -> str:
        named = repr(self.table.name) if self.table.sources else "..."
        return f"energy({title(self.program)}, {named})"

    @property
    def headline(self) -> str:
        from perfmodel.mechanisms.energy_words import spent

        return spent(self)

    def comments(self) -> list[str]:
        from perfmodel.mechanisms.energy_words import commented

        return commented(self)

    def working(self) -> list[str]:
        """The ledger with its sums.

        >>> from perfmodel import energy, matmul
        >>> energy(matmul(64, 64, 64), "7nm").explain()
        energy(matmul(m=64 n=64 k=64, bf16), '7nm'): 1.23 uJ
          matrix bf16  524,288 FLOP * 0.295 pJ = 154.7 nJ
          memory       24,576 B * 43.75 pJ = 1.075 uJ
          shares       compute 13 %, memory 87 %
          a FLOP       2.346 pJ, 0.295 of them for itself
          ridge        148.3 FLOP/B where both take the same
          rests on     memory: HBM2: the middle of 250 to 450 pJ for 64 bits
        """
        from perfmodel.mechanisms.energy_words import worked

        return worked(self)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Doubtful figures that it rests on.

        >>> from perfmodel import energy, matmul
        >>> energy(matmul(64, 64, 64), "45nm", levels={"memory": "ddr"}).caveats
        ()
        """
        used = [name for _, name in self.levels]
        found = [f"{name}: {words}" for name, words in self.table.remarks if name in used]
        alike = [f"{level}: at the price of {name}" for level, name in self.levels if LIKELY.get(level) == name]
        return (*found, *alike)

    def pj(self, *kinds: str) -> Any:
        """The energy of lines of some kinds ("compute", "memory") in pJ, exact: a Fraction, or a formula.

        >>> from perfmodel import energy, workload
        >>> energy(workload(flops=8, bytes_read=2), "lecture").pj("compute", "memory") == 8 * 20 + 2 * 150
        True
        """
        found = [entry.exact for entry in self.entries if entry.kind in kinds]
        if all(is_concrete(each) for each in found):
            return sum(found, Fraction(0))
        return sympy.Add(*[as_expression(each) for each in found])

    def _over(self, above: Any, below: Any, words: str) -> Any:
        if below == 0:
            raise MachineError(f"energy: {self.program.name}: {words}")
        return share(above, below)
