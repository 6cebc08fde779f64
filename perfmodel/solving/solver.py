"""``solve``: the values of one unknown for which a program on a machine does what is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import sympy

from perfmodel.catalogue import Machine, machine
from perfmodel.errors import SolveError, brief
from perfmodel.expressions import dimension
from perfmodel.expressions.conditions import condition_of, relation_of
from perfmodel.expressions.relations import Joint, Relation, folded
from perfmodel.graph.describing import title
from perfmodel.graph.programs import Program
from perfmodel.solving.bits import bits_asked, by_bits
from perfmodel.solving.combining import combined
from perfmodel.solving.domains import sizes_exist, steady, taken_for_granted, where_all, within_domain
from perfmodel.solving.estimated import by_bounds, by_estimates, is_timed
from perfmodel.solving.exactly import holds_at
from perfmodel.solving.finding import found_in
from perfmodel.solving.integers import Intervals, common
from perfmodel.solving.quantities import bound_relation, check_words, fits_relation, quantities, words
from perfmodel.solving.solutions import Solution
from perfmodel.solving.unknowns import ESTIMATED, prepared, range_of, unknown_of

_SYMPY = (bool, sympy.logic.boolalg.Boolean, Relation)


def solve(
    subject: Any,
    on: Any = None,
    unknown: Any = None,
    *,
    bound: str | None = None,
    fits: bool = False,
    where: Any = None,
    effects: Any = "ideal",
    within: Any = None,
) -> Solution:
    """For which values of one unknown a relation holds.

    ``solve(p, machine, n, bound="compute")`` (or ``fits=True``, or ``where="time_s <= 1e-3"``) asks it of a program,
    ``solve(p, n, where="bytes <= 1e9")`` without a machine, ``solve(relation, n)`` of any sympy relation or text. The
    unknown is a symbol of the program or of the machine, or its name; a label, where the program holds ints; "bits",
    in which every tensor is stored, or "W.bits", in which W is.
    In ``where`` stand counts (flops, bytes, memory_bytes, footprint_bytes, ...), times and rates (time_s,
    flops_per_s, bytes_per_s, fraction_of_peak, fraction_of_bandwidth) and facts (capacity_bytes, ...).
    Comparisons join by ``and``, ``or`` and ``not``, or as a range ("128 <= n < 4096"); of a list all have to hold.
    Beside a fraction such as a measured time, sides within 1e-12 of each other count as equal.

    A dimension is a positive whole number: the answer is exact, by the roots of polynomials where there are no
    ceilings, else by a search that its ``method`` names (``within`` gives the range, 1 .. 2^20 unless said). Other
    unknowns are positive reals. Where other symbols stay, the answer is a formula. ``effects`` other than "ideal" are
    estimated at each value of the range, 1 .. 2^14 unless said (bound="launch" is known there too). ``SolveError``
    where the question cannot be asked.

    >>> from perfmodel import dims, machine, matmul, reals
    >>> solve(matmul("n", "n", "n"), "h100-sxm", "n", bound="compute")
    solve(matmul(m=n n=n k=n, bf16), 'h100-sxm', n, bound='compute')
    # n >= 886; closed form
    >>> n, bandwidth = dims("n"), reals("bandwidth")
    >>> float(solve(matmul(8, 8192, 8192), machine("h100-sxm").replace(bandwidth_bytes_per_s=bandwidth),
    ...             "bandwidth", where="time_s <= 20e-6").least) / 1e12
    6.7239936
    """
    if not isinstance(subject, Program):
        return _of_relation(subject, on, unknown, (bound, fits, where), within)
    if unknown is None:
        on, unknown = None, on
    chip = None if on is None else _machine(on)
    asked = [name for name, value in (("bound", bound), ("fits", fits or None), ("where", where)) if value is not None]
    if len(asked) != 1:
        raise SolveError("solve: ask one thing: bound='compute', fits=True or where='time_s <= 1e-3'")
    bits = bits_asked(subject, unknown)
    symbol = dimension("bits") if bits is not None else unknown_of(subject, chip, unknown)
    made = _made(subject, chip, symbol, asked[0], {"bound": bound, "fits": True, "where": where}[asked[0]])
    condition = None if where is None else condition_of(where)

    def alone(each: Any) -> Solution:
        return _solved(
            made, subject, chip, symbol, bits, (bound, fits, each), effects, within, isinstance(condition, Joint)
        )

    if not isinstance(condition, Joint):
        return alone(condition)
    return _combined(made, condition, alone, subject, symbol, within)


def _solved(
    made: str,
    subject: Program,
    chip: Machine | None,
    symbol: sympy.Symbol,
    bits: str | None,
    asked: tuple[Any, bool, Any],
    effects: Any,
    within: Any,
    joint: bool,
) -> Solution:
    """The solution of one question: a bound, what fits, or one comparison."""
    bound, fits, where = asked
    if bits is not None:
        if effects != "ideal":
            raise SolveError(f"{made}: bits are solved for with ideal times, not effects={effects!r}")
        return by_bits(made, subject, bits, lambda program: _relation(program, chip, bound, fits, where))
    program = prepared(subject, symbol)
    if effects != "ideal" and bound is not None:
        return by_bounds(made, program, chip, symbol, bound, effects, range_of(within, ESTIMATED))
    if effects != "ideal" and where is not None and is_timed(where):  # what no effect changes is a formula
        return by_estimates(made, program, chip, symbol, where, effects, range_of(within, ESTIMATED))
    return _by_formulas(
        made, program, chip, symbol, lambda each: _relation(each, chip, bound, fits, where), where, within, joint
    )


def _combined(
    made: str, condition: Joint, alone: Callable[[Any], Solution], subject: Any, symbol: sympy.Symbol, within: Any
) -> Solution:
    """The solution of several comparisons, each solved alone, among the values asked of."""
    parts: list[Solution] = []
    folded(condition, lambda each: parts.append(alone(each)), {"and": tuple, "or": tuple, "not": tuple})
    tried = None if within is None else range_of(within)
    among: Intervals = ((1, None),) if tried is None else ((tried[0], tried[-1]),)
    if isinstance(subject, Program) and symbol.is_integer and all(each.intervals or not each for each in parts):
        among = common(among, where_all(sizes_exist(prepared(subject, symbol)), symbol))
    contiguous = tried is None or (isinstance(tried, range) and tried.step == 1)
    return combined(made, condition, parts, among, None if contiguous else tried)


def _by_formulas(
    made: str,
    program: Program,
    chip: Machine | None,
    symbol: sympy.Symbol,
    asked: Callable[[Program], Relation],
    where: Any,
    within: Any,
    joint: bool,
) -> Solution:
    """The solution of the relation that a program's formulas make, within the domain of those formulas."""
    relation = asked(program)
    if isinstance(where, str) and not relation.difference.has(symbol):
        check_words(relation, program.symbols, quantities(program, chip))
    moves = symbol.is_integer and any(each.difference.has(symbol) for each in taken_for_granted(program))
    if (joint or moves) and not relation.difference.has(symbol):
        found = steady(made, relation, symbol)
    else:
        found = found_in(made, relation, symbol, within)
    values = None if within is None else range_of(within)
    tried = ((1, None),) if values is None else ((values[0], values[-1]),)

    def holds(value: int) -> bool:
        if values is not None and value not in values:
            return False
        return holds_at(asked(program.at({symbol.name: value})), symbol, sympy.Integer(value))

    return within_domain(found, program, holds, tried)


def _machine(on: str | Path | Machine) -> Machine:
    return on if isinstance(on, Machine) else machine(on)


def _relation(program: Program, chip: Machine | None, bound: Any, fits: bool, where: Any) -> Relation:
    if where is not None:
        return relation_of(where, words(program, chip))
    if chip is None:
        raise SolveError("solve: bound= and fits= ask about a machine: solve(p, 'h100-sxm', n, bound='compute')")
    return bound_relation(program, chip, bound) if bound is not None else fits_relation(program, chip)


def _of_relation(given: Any, unknown: Any, more: Any, asked: tuple[Any, Any, Any], within: Any) -> Solution:
    if more is not None or asked != (None, False, None) or not isinstance(given, (str, Joint, *_SYMPY, list, tuple)):
        raise SolveError(
            f"solve: expected a program, or a relation with the unknown alone as in solve(2*n**2 <= 80e9, n); got "
            f"{brief(given)}; describe(...) reads a program from text"
        )
    condition = condition_of(given)
    meant = {dimension(unknown.name): unknown} if isinstance(unknown, sympy.Symbol) else {}

    def read(each: Any) -> Relation:
        found = relation_of(each)
        if isinstance(each, str):  # a word in it is the unknown of that name
            return found._replace(left=found.left.xreplace(meant), right=found.right.xreplace(meant))
        return found

    relations: list[Relation] = []
    folded(condition, lambda each: relations.append(read(each)), {"and": tuple, "or": tuple, "not": tuple})
    symbol = unknown_of(relations, None, unknown)
    made = f"solve({relations[0] if not isinstance(condition, Joint) else condition}, {symbol})"
    if not isinstance(condition, Joint):
        return found_in(made, relations[0], symbol, within)

    def alone(each: Any) -> Solution:
        relation = read(each)
        held = relation.difference.has(symbol)
        return found_in(made, relation, symbol, within) if held else steady(made, relation, symbol)

    return _combined(made, condition, alone, None, symbol, within)


def _made(program: Program, chip: Machine | None, symbol: sympy.Symbol, name: str, value: Any) -> str:
    machine_part = "" if chip is None else f"{chip.name!r}, "
    return f"solve({title(program)}, {machine_part}{symbol}, {name}={value!r})"
