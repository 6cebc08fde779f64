"""One line of an energy ledger, and picojoules as joules."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from perfmodel.expressions import Size, as_expression, is_concrete

PICO = 10**12

# Where a table names no level like the program's, the memory of a size like it is meant.
LIKELY = {"l2": "sram_1mb", "l1": "sram_32kb", "shared": "sram_32kb", "registers": "sram_8kb"}


class Entry(NamedTuple):
    """One line of a ledger: what it is, how much of it there is, and what one takes.

    >>> Entry("compute", "matrix bf16", 2 * 8**3, Fraction(3, 10)).joules
    3.072e-10
    """

    kind: str  # "compute" or "memory"
    item: str
    amount: Size
    pj_each: Fraction

    @property
    def joules(self) -> Any:
        """The energy of the line in joules.

        >>> Entry("memory", "memory", 8, Fraction(150)).joules
        1.2e-09
        """
        return joules(self.exact)

    @property
    def exact(self) -> Any:
        """The energy of the line in pJ, exact.

        >>> Entry("memory", "memory", 8, Fraction(150)).exact
        Fraction(1200, 1)
        """
        return priced(self.amount, self.pj_each)


def joules(pj: Any) -> Any:
    """Picojoules as joules: a float, or a formula.

    >>> joules(Fraction(1200))
    1.2e-09
    """
    return float(pj / PICO) if is_concrete(pj) else pj / PICO


def priced(amount: Size, each: Fraction) -> Any:
    """So many at so much each: a Fraction, or a formula.

    >>> priced(8, Fraction(150))
    Fraction(1200, 1)
    """
    if is_concrete(amount):
        return Fraction(int(amount)) * each
    return as_expression(amount) * as_expression(each)
