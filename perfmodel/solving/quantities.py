"""The words that a condition may use: what a program counts, what a machine has, and what an estimate gives."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection
from typing import Any

import sympy

from perfmodel.catalogue import Machine
from perfmodel.errors import MachineError, SolveError
from perfmodel.estimation import Estimate, estimate
from perfmodel.estimation.kernels import KernelEstimate
from perfmodel.estimation.words import COUNTS, FACTS, RATES, fact
from perfmodel.expressions import Size
from perfmodel.expressions.conditions import unknown_word
from perfmodel.expressions.relations import Relation, exact
from perfmodel.graph.programs import Program

BESIDE = "beside_"  # in front of the quantities of another program


def quantities(program: Program, chip: Machine | None, prefix: str = "") -> dict[str, Callable[[], Any]]:
    """The formulas by name, made when they are asked for.

    >>> from perfmodel import matmul
    >>> quantities(matmul("n", "n", "n"), None)["flops"]()
    2*n**3
    """
    found: dict[str, Callable[[], Any]] = {f"{prefix}{name}": _getter(program, name) for name in COUNTS}
    if chip is None:
        return found
    held = _Ideal(program, chip)
    found |= {f"{prefix}{name}": _getter(held, name) for name in RATES}
    return found | {name: _fact(chip, name) for name in FACTS}


def _getter(owner: Any, name: str) -> Callable[[], Any]:
    return lambda: getattr(owner, name)


def _fact(chip: Machine, name: str) -> Callable[[], Any]:
    return lambda: fact(chip, name)


def words(program: Program, chip: Machine | None) -> dict[str, Callable[[], Any]]:
    """The quantities, and the symbols that are no dimensions (a bandwidth, a peak), by name.

    >>> from perfmodel import Machine, matmul, reals
    >>> words(matmul(8, 8, 8), Machine(peak=1, bandwidth_bytes_per_s=reals("b")))["b"]()
    b
    """
    facts = [] if chip is None else [peak.flops_per_s for peak in chip.peaks]
    facts += [] if chip is None else [chip.bandwidth_bytes_per_s, chip.capacity_bytes]
    symbols = {each for value in facts for each in getattr(value, "free_symbols", ())}
    return {each.name: _constant(each) for each in symbols if not each.is_integer} | quantities(program, chip)


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def check_words(relation: Relation, known: Collection[sympy.Symbol], names: Collection[str]) -> None:
    """``ExpressionError`` for a word of a condition that is neither a symbol of the question nor a quantity.

    >>> from perfmodel.expressions.conditions import relation_of
    >>> check_words(relation_of("foo <= 3"), [], ["flops", "bytes"])
    Traceback (most recent call last):
    perfmodel.errors.ExpressionError: solve: where: no quantity 'foo'; there are flops, bytes
    """
    strange = sorted({each.name for each in relation.difference.free_symbols} - {each.name for each in known})
    if strange:
        raise unknown_word(strange[0], "solve", names)


class _Ideal:
    """The ideal estimate's quantities as exact formulas."""

    def __init__(self, program: Program, chip: Machine) -> None:
        self._program, self._chip = program, chip

    def _estimate(self) -> Estimate:
        found = estimate(self._program, self._chip, effects="ideal")
        unknown = [each for kernel in found.kernels for each in kernel.roofline.unknown]
        if unknown:
            raise MachineError(f"solve: no time without a rate: {unknown[0]}")
        return found

    @property
    def time_s(self) -> Any:
        return seconds_of(self._estimate())

    @property
    def flops_per_s(self) -> Any:
        return sympy.sympify(self._program.flops, strict=True) / self.time_s

    @property
    def bytes_per_s(self) -> Any:
        return sympy.sympify(self._program.bytes, strict=True) / self.time_s

    @property
    def fraction_of_bandwidth(self) -> Any:
        return self.bytes_per_s / exact(self._chip.bandwidth_bytes_per_s)

    @property
    def fraction_of_peak(self) -> Any:
        return peak_seconds_of(self._program, self._chip) / self.time_s


def seconds_of(found: Estimate) -> Any:
    """The time of an estimate as an exact formula: kernels add, units and memory of one overlap.

    >>> from perfmodel import estimate, matmul
    >>> seconds_of(estimate(matmul("n", 64, 64), "h100-sxm", effects="ideal")).free_symbols
    {n}
    """
    return _sum([sympy.Max(*functools.reduce(operator.iadd, _busy(each), [])) * _times(each) for each in found.kernels])


def peak_seconds_of(program: Program, chip: Machine) -> Any:
    """The seconds for which the busiest compute unit of each kernel works at its peak, as an exact formula.

    >>> from perfmodel import Machine, matmul
    >>> peak_seconds_of(matmul("n", "n", "n"), Machine(peak=4, bandwidth_bytes_per_s=6))
    n**3/2
    """
    kernels = estimate(program, chip, effects="ideal").kernels
    return _sum([sympy.Max(*(_busy(each)[0] or [sympy.S.Zero])) * _times(each) for each in kernels])


def _times(kernel: KernelEstimate) -> Any:
    return sympy.sympify(kernel.repeat, strict=True)


def _busy(kernel: KernelEstimate) -> tuple[list[Any], list[Any]]:
    """Seconds by compute unit, and by level of memory; each is work or bytes over a rate, in exact numbers."""
    sides: tuple[dict[str, list[Any]], dict[str, list[Any]]] = ({}, {})
    for term in kernel.roofline.terms:
        sides[not term.computes].setdefault(term.unit, []).append(_amount(term.amount) / exact(term.rate))
    computing, moving = [[_sum(parts) for parts in side.values()] for side in sides]
    return computing, moving


def _amount(value: Size) -> Any:
    return sympy.sympify(value, strict=True)


def _sum(parts: list[Any]) -> Any:
    return sympy.Add(*parts)


def bound_relation(program: Program, chip: Machine, bound: str) -> Relation:
    """The relation that makes a program bound by compute or by memory.

    Of one kernel: its compute time against its memory time, equality being compute. Of several: the time of those
    bound by compute against that of the others.

    >>> from perfmodel import Machine, matmul
    >>> chip = Machine(peak=100, bandwidth_bytes_per_s=10)
    >>> print(bound_relation(matmul("n", "n", "n"), chip, "compute"))
    n**3/50 >= 3*n**2/5
    """
    if bound not in ("compute", "memory"):
        raise SolveError(f"solve: bound={bound!r}: expected 'compute' or 'memory'")
    found = estimate(program, chip, effects="ideal")
    busy = [_busy(each) for each in found.kernels]
    sides = [(sympy.Max(*computing, sympy.S.Zero), sympy.Max(*moving)) for computing, moving in busy]
    sign = ">=" if bound == "compute" else "<"
    if len(sides) == 1:
        return Relation(_positive(sides[0][0]), sign, sides[0][1])
    shares = [
        _times(kernel) * sympy.Piecewise((compute, compute >= memory), (-memory, True))
        for kernel, (compute, memory) in zip(found.kernels, sides, strict=True)
    ]
    return Relation(_sum(shares), sign, sympy.S.Zero)


def _positive(value: Any) -> Any:
    """Without the 0 that stands for a kernel that computes nothing."""
    if isinstance(value, sympy.Max) and len(value.args) == 2 and sympy.S.Zero in value.args:
        return next(each for each in value.args if each != 0)
    return value


def fits_relation(program: Program, chip: Machine) -> Relation:
    """The relation that makes a program's memory fit the machine's.

    >>> from perfmodel import Machine, matmul
    >>> chip = Machine(peak=1, bandwidth_bytes_per_s=1, capacity_bytes=600)
    >>> print(fits_relation(matmul("n", "n", "n"), chip))
    6*n**2 <= 600
    """
    capacity = _fact(chip, "capacity_bytes")()
    return Relation(_amount(program.memory_bytes), "<=", exact(capacity))
