"""Solving for the bits that tensors are stored in: each whole number of bits is a format, and each is tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

from perfmodel.errors import SolveError, did_you_mean, listed
from perfmodel.expressions.relations import Relation
from perfmodel.graph.programs import Program
from perfmodel.number_formats import Format
from perfmodel.solving.answers import whole_answer
from perfmodel.solving.solutions import EXHAUSTIVE, Solution
from perfmodel.transforms import cast

WIDEST = 64
_WORD = "bits"


def bits_asked(program: Program, unknown: Any) -> str | None:
    """Which tensor's bits are asked for: its name, "" for all of them, None where the unknown is something else.

    >>> from perfmodel import gemv
    >>> [bits_asked(gemv(64, 64), word) for word in ("bits", "W.bits", "n")]
    ['', 'W', None]
    """
    if not isinstance(unknown, str) or any(each.name == unknown for each in program.symbols):
        return None
    name, _, word = unknown.rpartition(".")
    if word != _WORD:
        return None
    if name and name not in program.tensors:
        near = did_you_mean(name, program.tensors)
        raise SolveError(f"solve: no tensor {name!r}{near}; there are {listed(program.tensors)}")
    return name


def bits_symbol(name: str) -> sympy.Symbol:
    """The symbol of bits that are asked for, by the name that they are asked for with.

    >>> bits_symbol("W.bits")
    W.bits
    """
    return sympy.Symbol(name, integer=True, positive=True)


def by_bits(made: str, program: Program, asked: sympy.Symbol, relation: Callable[[Program], Relation]) -> Solution:
    """The bits, 1 to 64, for which a relation on the program holds; what is computed keeps its format.

    >>> from perfmodel import machine, gemv
    >>> from perfmodel.solving.quantities import fits_relation
    >>> chip = machine("h100-sxm").replace(capacity_bytes=2**20)
    >>> found = by_bits("solve(...)", gemv(1024, 1024), bits_symbol("W.bits"), lambda p: fits_relation(p, chip))
    >>> found.most  # 2^20 weights and two rows
    7
    """
    tensor = asked.name.rpartition(".")[0]
    if program.symbols:
        raise SolveError(f"{made}: give {listed(map(str, program.symbols))} values first: p.at(...)")
    stored = {bits: relation(_stored(program, tensor, bits)) for bits in range(1, WIDEST + 1)}
    for each in stored.values():
        if each.difference.free_symbols:
            others = ", ".join(sorted(map(str, each.difference.free_symbols)))
            raise SolveError(f"{made}: give {others} values first: p.at(...)")
    held = [bits for bits, each in stored.items() if each.holds(each.difference)]
    intervals: list[tuple[int, int]] = []
    for bits in held:
        if intervals and intervals[-1][1] == bits - 1:
            intervals[-1] = (intervals[-1][0], bits)
        else:
            intervals.append((bits, bits))
    one = stored[1]
    reason = "" if held else f"no number of bits from 1 to {WIDEST}: with 1 bit the sides are {_sides(one)}"
    answer = whole_answer(asked, tuple(intervals))
    return Solution(made, asked, one, EXHAUSTIVE, tuple(intervals), (), answer, reason, (1, WIDEST))


def _stored(program: Program, tensor: str, bits: int) -> Program:
    names = [tensor] if tensor else list(program.tensors)
    computed = sorted({op.compute.name for op in program.ops})
    if len(computed) > 1:
        raise SolveError(f"solve: bits: the program computes in {listed(computed)}; ask it of one format")
    return cast(program, tensors=dict.fromkeys(names, Format(bits=bits)), compute=computed[0])


def _sides(relation: Relation) -> str:
    left, right = (float(sympy.N(side)) for side in (relation.left, relation.right))
    return f"{left:.4g} and {right:.4g}"
