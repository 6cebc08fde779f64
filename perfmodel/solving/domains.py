"""Where a program's formulas hold: its sizes exist, and its loops make the trips that the formulas assume.

Values at which a loop is dropped (a tile at least as large as its extent) are counted anew, one by one; where there
are too many of them, the answer says what it takes for granted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import sympy

from perfmodel.errors import SolveError
from perfmodel.expressions import as_expression, is_concrete
from perfmodel.expressions.conditions import relation_of
from perfmodel.expressions.relations import Relation
from perfmodel.graph.programs import Program
from perfmodel.solving.answers import whole_answer
from perfmodel.solving.exactly import holds_at
from perfmodel.solving.finding import found_in
from perfmodel.solving.integers import Intervals, common, joined, without
from perfmodel.solving.patterns import both, combine, either, of_intervals
from perfmodel.solving.solutions import ALGEBRA, CLOSED, Solution, with_pattern

_MOST_ANEW = 256
_MOST_TO_EXTENT = 2**11  # where a tile's size is asked for: values up to the largest extent that it may cut


def sizes_exist(program: Program) -> list[Relation]:
    """The sizes of labels that are not positive at every value of their symbols.

    >>> from perfmodel import conv2d
    >>> [str(each) for each in sizes_exist(conv2d(height="n", width="n", c_in=8, c_out=8))]
    ['n - 2 >= 1']
    """
    sizes = dict.fromkeys(as_expression(size) for size in program.labels.values() if not is_concrete(size))
    return [Relation(size, ">=", sympy.S.One) for size in sizes if not size.is_positive]


def taken_for_granted(program: Program) -> list[Relation]:
    """What the formulas of a program assume of its tiles.

    >>> from perfmodel import matmul, tile
    >>> tiled = tile(matmul("n", "n", "n"), grid={"m": 128, "n": 128}, stream={"k": 32})
    >>> [str(each) for each in taken_for_granted(tiled)]
    ['n >= 128', 'n > 32']
    """
    return [relation_of(each) for each in program.assumptions]


def steady(made: str, relation: Relation, unknown: sympy.Symbol) -> Solution:
    """The solution of a relation without the unknown: every value or none, before the domain is looked at.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> steady("solve(...)", Relation(sympy.S(3), "<=", sympy.S(4)), n).intervals
    ((1, None),)
    """
    if relation.difference.free_symbols:  # it is left to the others
        return Solution(made, unknown, relation, ALGEBRA, expression=relation.as_sympy())
    holds = relation.holds(relation.difference)
    reason = "" if holds else f"{relation} nowhere"
    if not unknown.is_integer:
        everywhere = ((sympy.S.Zero, sympy.oo),) if holds else ()
        return Solution(made, unknown, relation, CLOSED, everywhere, (), sympy.true if holds else sympy.false, reason)
    intervals = ((1, None),) if holds else ()
    return Solution(made, unknown, relation, CLOSED, intervals, (), whole_answer(unknown, intervals), reason)


def within_domain(
    found: Solution, programs: Sequence[Program], holds: Callable[[int], bool], tried: Intervals
) -> Solution:
    """A solution of the formulas of some programs, where they hold; elsewhere each value is counted anew by ``holds``.

    >>> from perfmodel import dims, matmul, solve, tile
    >>> tiled = tile(matmul("n", "n", "n"), grid={"m": 128, "n": 128}, stream={"k": 32})
    >>> solve(tiled, dims("n"), where="footprint_bytes == 6144").intervals  # 3 * 32^2 * 2, no loop
    ((32, 32),)
    """
    exist, granted = ([each for program in programs for each in of(program)] for of in (sizes_exist, taken_for_granted))
    if not exist and not granted:
        return found
    if not found.unknown.is_integer or found.method == ALGEBRA:
        return replace(found, given=(*found.given, *(each.as_sympy() for each in (*exist, *granted))))
    sizes = common(tried, where_all(exist, found.unknown))
    trusted = where_all(granted, found.unknown)
    beyond = without(sizes, trusted)
    runs, given = combine([found.pattern, of_intervals(common(sizes, trusted))], both), ()
    if beyond:
        anew = _anew(beyond, holds, _past(programs))
        given = () if anew is not None else tuple(each.as_sympy() for each in granted)
        runs = combine([runs, of_intervals(anew or ())], either)
    found = with_pattern(found, runs)
    reason = "" if runs else found.reason or f"no whole number satisfies {found.relation} where the sizes exist"
    return replace(found, reason=reason, given=(*found.given, *given))


def _past(programs: Sequence[Program]) -> int | None:
    """The largest extent, past which a tile cuts no label whatever its size is; None where one is a formula."""
    sizes = [size for each in programs for size in each.labels.values()]
    known = [int(size) for size in sizes if is_concrete(size)]
    return max(known, default=1) if len(known) == len(sizes) else None


def where_all(relations: Sequence[Relation], unknown: sympy.Symbol) -> Intervals:
    """The whole numbers at which all of some relations hold; those without the unknown stand as they are.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> where_all([Relation(n, ">=", sympy.Integer(3)), Relation(n, "<", sympy.Integer(9))], n)
    ((3, 8),)
    """
    found: Intervals = ((1, None),)
    for each in relations:
        if each.difference.has(unknown):
            held = found_in("solve", each, unknown)
            if held.runs or held.unknown_beyond is not None:
                raise SolveError(f"solve: where {each} is not known for every {unknown}: {held.answer}")
            found = common(found, held.intervals)
        elif not holds_at(each, unknown, sympy.S.One):
            return ()
    return found


def _anew(beyond: Intervals, holds: Callable[[int], bool], past: int | None) -> Intervals | None:
    """Which values hold, each counted anew; None where they are too many.

    A tile past every extent drops its loops, whatever its size is: one value tells for all of them.
    """
    found: list[tuple[int, int | None]] = []
    for first, last in beyond:
        end, most = last, _MOST_ANEW
        if last is None and past is not None:
            end, most = max(first - 1, past), _MOST_TO_EXTENT
            if holds(end + 1):
                found.append((end + 1, None))
        if end is None or end - first >= most:
            return None
        found += [(value, value) for value in range(first, end + 1) if holds(value)]
    return joined(sorted(found, key=lambda pair: pair[0]))
