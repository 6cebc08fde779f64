"""A kernel in tiles and what is counted of it, once for all kernels that differ from it in names alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import sympy

from perfmodel.errors import PerfModelError
from perfmodel.expressions import Size
from perfmodel.graph.assuming import assumptions_of
from perfmodel.graph.counting import Transfer, Work
from perfmodel.graph.holding import level_rows
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.memory import Row, total_held
from perfmodel.graph.nameless import nameless
from perfmodel.graph.nested import Nested
from perfmodel.graph.tiled import Tiled

_T = TypeVar("_T")


@dataclass(frozen=True)
class Cutting:
    """A kernel in tiles, and what is counted of it: each count is made when it is first asked for.

    >>> from perfmodel import matmul, tile
    >>> Cutting(tile(matmul(8, 8, 8), m=4).kernels[0], frozenset(["C"])).macs
    512
    """

    kernel: Kernel
    leaving: frozenset[str]

    @cached_property
    def names(self) -> dict[str, str]:
        """The number of each tensor in the kernel without names."""
        return self._like[1]

    @cached_property
    def _like(self) -> tuple[Cutting, dict[str, str]]:
        plain, names = nameless(self.kernel)
        return _kept(plain, frozenset([names[name] for name in self.leaving])), names

    def asked(self, question: Callable[[Cutting], _T]) -> _T:
        """What the kernel without names answers, which others like it share; what is wrong is said in its own names.

        >>> from perfmodel import matmul, tile
        >>> found = Cutting(tile(matmul(8, 8, 8), m=4).kernels[0], frozenset(["C"]))
        >>> found.asked(lambda cutting: [item.tensor for item in cutting.transfers]), found.names
        (['0', '1', '2'], {'A': '0', 'B': '1', 'C': '2'})
        """
        try:
            return question(self._like[0])
        except PerfModelError:
            return question(self)

    @cached_property
    def tiled(self) -> Tiled:
        """Its outermost tiles."""
        return Tiled(self.kernel, self.kernel.tiles[0], self.leaving)

    @cached_property
    def nested(self) -> Nested | None:
        """And the tiles inside them, if any."""
        return None if len(self.kernel.tiles) == 1 else Nested(self.tiled, self.kernel.tiles[1:])

    @property
    def _all(self) -> Tiled | Nested:
        return self.nested or self.tiled

    @cached_property
    def assumptions(self) -> tuple[sympy.Rel, ...]:
        """Where its formulas hold (see ``assuming``)."""
        return assumptions_of(self._all)

    @cached_property
    def works(self) -> tuple[Work, ...]:
        """The work of one run."""
        return self._all.works()

    @cached_property
    def issued(self) -> tuple[Work, ...]:
        """The same as hardware issues it."""
        return self._all.issued_works()

    @cached_property
    def macs(self) -> Size:
        """Multiply-accumulates of one run."""
        return self._all.macs()

    @cached_property
    def transfers(self) -> tuple[Transfer, ...]:
        """What crosses its boundary in one run."""
        return self._all.transfers()

    @cached_property
    def blocks(self) -> list[list[Tiled]]:
        """The kinds of tile at each level, outermost first."""
        return [[self.tiled]] if self.nested is None else self.nested.blocks()

    @cached_property
    def held(self) -> list[tuple[str, list[Row]]]:
        """What a tile holds at once, by level, outermost first."""
        return [(found[0].tiling.level, level_rows(found)) for found in self.blocks]

    @cached_property
    def held_bytes(self) -> Size:
        """Bytes that a tile of the innermost level holds at once."""
        return total_held(self.held[-1][1])


@lru_cache(maxsize=4096)
def _kept(kernel: Kernel, leaving: frozenset[str]) -> Cutting:
    """A kernel without names and what it has counted: ``tile`` asks to check it, and the program to count it."""
    return Cutting(kernel, leaving)
