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
from perfmodel.solving.asking import Question
from perfmodel.solving.bits import bits_asked, bits_symbol, by_bits
from perfmodel.solving.combining import combined
from perfmodel.solving.domains import sizes_exist, steady, taken_for_granted, where_all, within_domain
from perfmodel.solving.estimated import by_bounds, by_estimates, is_timed
from perfmodel.solving.exactly import holds_at
from perfmodel.solving.finding import found_in
from perfmodel.solving.integers import Intervals, common
from perfmodel.solving.quantities import BESIDE, check_words
from perfmodel.solving.solutions import ALGEBRA, Solution
from perfmodel.solving.unknowns import ESTIMATED, opened, prepared, range_of, unknown_of

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
    beside: Program | None = None,
) -> Solution:
    """For which values of one unknown a relation holds.

    ``solve(p, machine, n, bound="compute")`` (or ``fits=True``, or ``where="time_s <= 1e-3"``) asks it of a program,
    ``solve(p, n, where="bytes <= 1e9")`` without a machine, ``solve(relation, n)`` of any sympy relation or text. The
    unknown is a symbol of the program or of the machine, or its name; a label, where the program holds ints; "bits",
    in which every tensor is stored, or "W.bits", in which W is; "bandwidth_bytes_per_s", "capacity_bytes" or "peak".
    In ``where`` stand counts (flops, bytes, memory_bytes, footprint_bytes, ...), times and rates (time_s,
    flops_per_s, bytes_per_s, fraction_of_peak, fraction_of_bandwidth) and facts (capacity_bytes, ...).
    Comparisons join by ``and``, ``or`` and ``not``, or as a range ("128 <= n < 4096"); of a list all have to hold.
    ``beside`` is another program, whose quantities are named beside_time_s, beside_bytes, ...; without ``where`` it
    asks where the program takes no longer (without a machine: moves no more) than that one.
    Next to a fraction such as a measured time, sides within 1e-12 of each other count as equal.

    A dimension is a positive whole number: the answer is exact, without end, as its ``method`` says: by the roots of
    polynomials, by the one edge of what only grows, or in each residue class of what repeats. What has none of these is
    tried at 1 .. 2^20 (or ``within``), and the answer claims nothing beyond. Other unknowns are positive reals. Where
    other symbols stay, the answer is a formula. ``effects`` other than "ideal" are estimated at each value of the
    range; unless it is said, of 1 .. 2^14, and beyond at powers of two to 2^30, between which an edge is closed in
    (bound="launch" is known there too). ``SolveError`` where the question cannot be asked.

    Of the answer, ``.least`` (or ``int()``) is the smallest value, ``.most`` the largest, as of what fits (None without
    end), ``.intervals`` all of them; ``.values`` are the crossings, ``.expression`` a sympy relation.

    >>> from perfmodel import dims, machine, matmul, reals
    >>> solve(matmul("n", "n", "n"), "h100-sxm", "n", bound="compute")
    solve(matmul(m=n n=n k=n, bf16), 'h100-sxm', n, bound='compute')
    # n >= 886; closed form
    >>> solve(matmul("n", "n", "n"), "h100-sxm", "n", fits=True).most
    119651
    >>> n, bandwidth = dims("n"), reals("bandwidth")
    >>> float(solve(matmul(8, 8192, 8192), machine("h100-sxm").replace(bandwidth_bytes_per_s=bandwidth),
    ...             "bandwidth", where="time_s <= 20e-6").least) / 1e12
    6.7239936
    """
    if callable(subject) and not isinstance(subject, (Program, *_SYMPY)):
        subject = _called(subject, on if unknown is None else unknown)
    if not isinstance(subject, Program):
        if beside is not None:
            raise SolveError("solve: beside= is a program beside another one; a relation stands alone")
        return _of_relation(subject, on, unknown, (bound, fits, where), within)
    if unknown is None:
        on, unknown = None, on
    if beside is not None and (bound, fits, where) == (None, False, None):
        where = "bytes <= beside_bytes" if on is None else "time_s <= beside_time_s"
    chip = opened(None if on is None else _machine(on), unknown, subject)
    asked = _one_of({"bound": bound, "fits": fits or None, "where": where}, beside)
    bits = bits_asked(subject, unknown)
    symbol = bits_symbol(unknown) if bits is not None else unknown_of(subject, chip, unknown)
    made = _made(subject, chip, symbol if bits is None else repr(unknown), *asked)
    condition = None if where is None else condition_of(where)

    def alone(each: Any, within: Any) -> Solution:
        question = Question(made, subject, chip, symbol, bound, fits, each, beside)
        return _solved(question, bits, effects, within, isinstance(condition, Joint))

    if not isinstance(condition, Joint):
        return alone(condition, within)
    return _combined(made, condition, alone, subject, symbol, within)


def _one_of(asked: dict[str, Any], beside: Program | None) -> tuple[str, Any]:
    """The one thing that is asked, and its value; what stands beside has to be asked of."""
    given = [(name, value) for name, value in asked.items() if value is not None]
    if len(given) != 1:
        raise SolveError("solve: ask one thing: bound='compute', fits=True or where='time_s <= 1e-3'")
    ((name, value),) = given
    if beside is not None and (name != "where" or BESIDE not in str(value)):
        raise SolveError(
            f"solve: {name}= asks nothing of the program in beside=: name its quantities in where=, as in "
            "'time_s <= beside_time_s'"
        )
    return name, value


def _called(make: Callable[..., Any], unknown: Any) -> Any:
    """What a function makes of the unknown."""
    name = str(unknown)
    try:
        return make(**{name: dimension(name)})
    except TypeError as error:
        raise SolveError(f"solve: {getattr(make, '__name__', 'the function')}({name}): {error}") from None


def _solved(asked: Question, bits: str | None, effects: Any, within: Any, joint: bool) -> Solution:
    """The solution of one question: a bound, what fits, or one comparison."""
    made, program, chip, symbol = asked.made, asked.program, asked.chip, asked.symbol
    if bits is not None:
        if effects != "ideal" or asked.beside is not None:
            given = "beside" if asked.beside is not None else f"effects={effects!r}"
            raise SolveError(f"{made}: bits are solved for with ideal times of one program, not {given}")
        return by_bits(made, program, symbol, asked.relation)
    asked = asked.prepared()
    tried, onward = range_of(within, ESTIMATED), within is None
    if effects != "ideal" and asked.bound is not None:
        return by_bounds(made, asked.program, chip, symbol, asked.bound, effects, tried, onward)
    if effects != "ideal" and asked.where is not None and is_timed(asked.where):  # what no effect changes is a formula
        return by_estimates(made, asked.programs, chip, symbol, asked.where, effects, tried, onward)
    return _by_formulas(asked, within, joint)


def _combined(
    made: str, condition: Joint, alone: Callable[[Any, Any], Solution], subject: Any, symbol: sympy.Symbol, within: Any
) -> Solution:
    """The solution of several comparisons, each solved alone, among the values asked of."""
    leaves: list[Any] = []
    folded(condition, leaves.append, {"and": tuple, "or": tuple, "not": tuple})
    plain = [place for place, each in enumerate(leaves) if not _is_searched(each)]
    known = {place: alone(leaves[place], within) for place in plain}
    narrow = within if within is not None or not symbol.is_integer else _narrowed(condition, known)
    rest = {place: _tried(each, alone, within, narrow) for place, each in enumerate(leaves) if place not in known}
    parts = [(known | rest)[place] for place in range(len(leaves))]
    tried = None if within is None else range_of(within)
    among: Intervals = ((1, None),) if tried is None else ((tried[0], tried[-1]),)
    if isinstance(subject, Program) and symbol.is_integer and not any(each.method == ALGEBRA for each in parts):
        among = common(among, where_all(sizes_exist(prepared(subject, symbol)), symbol))
    contiguous = tried is None or (isinstance(tried, range) and tried.step == 1)
    return combined(made, condition, parts, among, None if contiguous else tried)


def _tried(leaf: Any, alone: Callable[[Any, Any], Solution], within: Any, narrow: Any) -> Solution:
    """The solution of what holds ceilings: without end where that is known, else of the range that others leave."""
    if narrow is within or is_timed(leaf):
        return alone(leaf, narrow)
    found = alone(leaf, None)
    return found if found.unknown_beyond is None else alone(leaf, narrow)


def _is_searched(leaf: Any) -> bool:
    """Whether a comparison is tried value by value: it holds what is rounded."""
    return any(sign in str(leaf) for sign in ("%", "//", "ceil", "floor", "Mod"))


def _narrowed(condition: Joint, known: dict[int, Solution]) -> tuple[int, int] | None:
    """The range that the comparisons leave which all have to hold, where it has an end."""
    found: Intervals = ((1, None),)
    place = 0  # of a comparison, those inside others counted too
    for part in condition.parts if condition.join == "and" else ():
        if not isinstance(part, Joint) and place in known and known[place].intervals and not known[place].runs:
            found = common(found, known[place].intervals)
        place += folded(part, lambda _: 1, dict.fromkeys(("and", "or", "not"), sum))
    if not found or found[-1][1] is None or found[-1][1] - found[0][0] >= ESTIMATED:
        return None
    return found[0][0], found[-1][1]


def _by_formulas(asked: Question, within: Any, joint: bool) -> Solution:
    """The solution of the relation that a program's formulas make, within the domain of those formulas."""
    relation, symbol = asked.relation(), asked.symbol
    if isinstance(asked.where, str) and not relation.difference.has(symbol):
        check_words(relation, asked.program.symbols, asked.words(asked.programs))
    granted = [each for program in asked.programs for each in taken_for_granted(program)]
    moves = symbol.is_integer and any(each.difference.has(symbol) for each in granted)
    if (joint or moves) and not relation.difference.has(symbol):
        found = steady(asked.made, relation, symbol)
    else:
        found = found_in(asked.made, relation, symbol, within)
    values = None if within is None else range_of(within)
    tried = ((1, None),) if values is None else ((values[0], values[-1]),)

    def holds(value: int) -> bool:
        if values is not None and value not in values:
            return False
        return holds_at(asked.relation_at(value), symbol, sympy.Integer(value))

    return within_domain(found, asked.programs, holds, tried)


def _machine(on: str | Path | Machine) -> Machine:
    return on if isinstance(on, Machine) else machine(on)


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

    def alone(each: Any, within: Any) -> Solution:
        relation = read(each)
        held = relation.difference.has(symbol)
        return found_in(made, relation, symbol, within) if held else steady(made, relation, symbol)

    return _combined(made, condition, alone, None, symbol, within)


def _made(program: Program, chip: Machine | None, symbol: Any, name: str, value: Any) -> str:
    machine_part = "" if chip is None else f"{chip.name!r}, "
    return f"solve({title(program)}, {machine_part}{symbol}, {name}={value!r})"
