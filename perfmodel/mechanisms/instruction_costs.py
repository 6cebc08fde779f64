"""What an instruction costs beside its arithmetic, and how wider operations amortise it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from perfmodel.errors import MachineError, brief, did_you_mean, listed
from perfmodel.expressions import size
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.given_values import exact
from perfmodel.mechanisms.wording import number, part_of_all

# Arithmetic in pJ and FLOPs of one lane's instruction: a half multiply-add, a dot product of 4, a 4 x 4 x 4 product.
# Source: W. Dally's tables of "the cost of an instruction" (NVIDIA; Hot Chips keynotes of 2018 and 2023), which put
# fetch, decode and operands at about 30 pJ.
INSTRUCTIONS = {"HFMA": ("1.5", 2), "HDP4A": ("6.0", 2 * 4), "HMMA": ("110", 2 * 4 * 4 * 4)}
OVERHEAD_PJ = 30


@dataclass(frozen=True, slots=True, repr=False)
class InstructionEnergy(Answer):
    """The energy of one instruction: its arithmetic, and fetch, decode and operands.

    >>> from perfmodel import instruction_energy
    >>> instruction_energy("HFMA")
    instruction_energy('HFMA')
    # 30 pJ on 1.5 pJ of arithmetic: 2000 % overhead, 4.8 % useful; 15.75 pJ a FLOP
    """

    name: str
    arithmetic_pj: Fraction
    overhead_pj: Fraction
    flops: int

    @property
    def overhead(self) -> float:
        """What is added to the arithmetic, as a multiple of it.

        >>> from perfmodel import instruction_energy
        >>> [f"{instruction_energy(name).overhead:.0%}" for name in ("HFMA", "HDP4A", "HMMA")]
        ['2000%', '500%', '27%']
        """
        return float(self.overhead_pj / self.arithmetic_pj)

    @property
    def useful(self) -> float:
        """The share of the energy that is arithmetic.

        >>> from perfmodel import instruction_energy
        >>> f"{instruction_energy('HMMA').useful:.0%}"
        '79%'
        """
        return float(self.arithmetic_pj / self._pj)

    @property
    def pj_per_flop(self) -> float:
        """Everything over the FLOPs of the instruction, in pJ.

        >>> from perfmodel import instruction_energy
        >>> instruction_energy("HMMA").pj_per_flop == (30 + 110) / 128
        True
        """
        return float(self._pj / self.flops)

    def widened(self, times: Any) -> InstructionEnergy:
        """An instruction that does so many times the arithmetic at the same overhead.

        >>> from perfmodel import instruction_energy
        >>> instruction_energy("HFMA").widened(4).overhead == 20 / 4
        True
        """
        wider = _whole(times, "times")
        return InstructionEnergy(
            f"{wider} x {self.name}", self.arithmetic_pj * wider, self.overhead_pj, self.flops * wider
        )

    def energy_j(self, flops: Any) -> float:
        """Joules of so many FLOPs in whole instructions.

        >>> from perfmodel import instruction_energy
        >>> instruction_energy("HFMA").energy_j(3) == 2 * 31.5e-12
        True
        """
        instructions = -(-_whole(flops, "flops") // self.flops)
        return float(instructions * self._pj / 10**12)

    @property
    def made(self) -> str:
        own = number(float(self.arithmetic_pj))
        said = repr(self.name) if self.name in INSTRUCTIONS else f"{own}, flops={self.flops}"
        more = "" if self.overhead_pj == OVERHEAD_PJ else f", overhead_pj={number(float(self.overhead_pj))}"
        return f"instruction_energy({said}{more})"

    @property
    def headline(self) -> str:
        return f"{number(float(self._pj))} pJ for {self.flops} FLOP"

    def comments(self) -> list[str]:
        own, more = number(float(self.arithmetic_pj)), number(float(self.overhead_pj))
        shares = f"{part_of_all(self.overhead)} overhead, {part_of_all(self.useful)} useful"
        return [f"{more} pJ on {own} pJ of arithmetic: {shares}; {number(self.pj_per_flop)} pJ a FLOP"]

    def working(self) -> list[str]:
        """The shares with their working.

        >>> from perfmodel import instruction_energy
        >>> instruction_energy("HMMA").explain()
        instruction_energy('HMMA'): 140 pJ for 128 FLOP
          overhead  30 / 110 = 27 %
          useful    110 / (110 + 30) = 79 %
          a FLOP    140 / 128 = 1.094 pJ
        """
        own, more, both = [number(float(pj)) for pj in (self.arithmetic_pj, self.overhead_pj, self._pj)]
        return [
            f"overhead  {more} / {own} = {part_of_all(self.overhead)}",
            f"useful    {own} / ({own} + {more}) = {part_of_all(self.useful)}",
            f"a FLOP    {both} / {self.flops} = {number(self.pj_per_flop)} pJ",
        ]

    @property
    def _pj(self) -> Fraction:
        return self.arithmetic_pj + self.overhead_pj


def instruction_energy(operation: Any, overhead_pj: Any = OVERHEAD_PJ, flops: Any = 2) -> InstructionEnergy:
    """The energy of an instruction: "HFMA", "HDP4A" or "HMMA", or the pJ of an arithmetic of one's own and its FLOPs.

    Fetching, decoding and reading operands takes about 30 pJ whatever the instruction does, so one that does more
    arithmetic spends less of its energy on itself (W. Dally, NVIDIA, keynotes at Hot Chips).

    >>> instruction_energy(1.5).overhead
    20.0
    >>> instruction_energy("HFMA").pj_per_flop > 14 * instruction_energy("HMMA").pj_per_flop
    True
    """
    if isinstance(operation, str) and operation not in INSTRUCTIONS:
        raise MachineError(
            f"instruction_energy: no instruction {brief(operation)}{did_you_mean(operation, INSTRUCTIONS)}; there are "
            f"{listed(INSTRUCTIONS)}, or the pJ of your own: instruction_energy(1.5, flops=2)"
        )
    known = isinstance(operation, str)
    pj, each = INSTRUCTIONS[operation] if known else (operation, flops)
    arithmetic = exact(pj, "instruction_energy: operation")
    if not arithmetic:
        raise MachineError("instruction_energy: an operation that takes no energy has no overhead in percent")
    own = operation if known else "instruction"
    return InstructionEnergy(
        own, arithmetic, exact(overhead_pj, "instruction_energy: overhead_pj"), _whole(each, "flops")
    )


def _whole(value: Any, what: str) -> int:
    found = size(value, f"instruction_energy: {what}")
    if not isinstance(found, int):
        raise MachineError(f"instruction_energy: {what} = {found}: expected a number")
    return found
