"""What is asked of a program, of another one beside it, and of a machine: the relation that it means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy

from perfmodel.catalogue import Machine
from perfmodel.errors import SolveError
from perfmodel.expressions.conditions import relation_of
from perfmodel.expressions.relations import Relation
from perfmodel.graph.programs import Program
from perfmodel.solving.quantities import BESIDE, bound_relation, fits_relation, quantities, words
from perfmodel.solving.unknowns import prepared


@dataclass(frozen=True)
class Question:
    """One question: what bounds a program, whether it fits, or one comparison.

    >>> from perfmodel import dims, matmul
    >>> print(Question("solve(...)", matmul("n", "n", "n"), None, dims("n"), where="bytes <= 600").relation())
    6*n**2 <= 600
    """

    made: str
    program: Program
    chip: Machine | None
    symbol: sympy.Symbol
    bound: Any = None
    fits: bool = False
    where: Any = None
    beside: Program | None = None

    @property
    def programs(self) -> tuple[Program, ...]:
        """The program, and the one beside it.

        >>> from perfmodel import dims, matmul
        >>> len(Question("solve(...)", matmul("n", 8, 8), None, dims("n"), beside=matmul("n", 4, 4)).programs)
        2
        """
        return (self.program,) if self.beside is None else (self.program, self.beside)

    def prepared(self) -> Question:
        """The question with the unknown in its programs: a label that held an int measures it instead.

        >>> from perfmodel import dims, matmul
        >>> Question("solve(...)", matmul(4, 8, 8), None, dims("m")).prepared().program.flops
        128*m
        """
        if self.symbol in self.program.symbols:
            return self
        beside = None if self.beside is None else prepared(self.beside, self.symbol)
        return replace(self, program=prepared(self.program, self.symbol), beside=beside)

    def relation_at(self, value: int) -> Relation:
        """The relation of the programs at a value of the unknown, counted anew.

        >>> from perfmodel import dims, matmul
        >>> asked = Question("solve(...)", matmul("n", "n", "n"), None, dims("n"), where="bytes <= 600")
        >>> print(asked.relation_at(2))
        24 <= 600
        """
        bound = [each.at({self.symbol.name: value}) if self.symbol in each.symbols else each for each in self.programs]
        return self.relation(*bound)

    def relation(self, *given: Program) -> Relation:
        """The relation that is asked of the programs (of those given instead).

        >>> from perfmodel import dims, matmul
        >>> asked = Question("solve(...)", matmul("n", 8, 8), None, dims("n"), where="flops <= 256")
        >>> print(asked.relation(), asked.relation(matmul(2, 8, 8)), sep="; ")
        128*n <= 256; 256 <= 256
        """
        programs = given or self.programs
        if self.where is not None:
            return relation_of(self.where, self.words(programs), own=self.sizes)
        if self.chip is None:
            raise SolveError("solve: bound= and fits= ask about a machine: solve(p, 'h100-sxm', n, bound='compute')")
        if self.bound is not None:
            return bound_relation(programs[0], self.chip, self.bound)
        return fits_relation(programs[0], self.chip)

    @property
    def sizes(self) -> set[str]:
        """The sizes of the programs, and the unknown.

        >>> from perfmodel import dims, matmul
        >>> sorted(Question("solve(...)", matmul("n", 8, 8), None, dims("b"), where="n <= b").sizes)
        ['b', 'n']
        """
        return {self.symbol.name, *[each.name for program in self.programs for each in program.symbols]}

    def words(self, programs: Sequence[Program]) -> dict[str, Callable[[], Any]]:
        """The words that a comparison may use.

        >>> from perfmodel import dims, matmul
        >>> asked = Question("solve(...)", matmul("n", 8, 8), None, dims("n"), beside=matmul("n", 4, 4))
        >>> asked.words(asked.programs)["beside_flops"]()
        32*n
        """
        found = words(programs[0], self.chip)
        return found if len(programs) == 1 else found | quantities(programs[1], self.chip, BESIDE)
