"""Sums over outer tiles of counts that are formulas in the length of one."""

from __future__ import annotations

import sympy

from perfmodel.errors import DimensionError
from perfmodel.expressions import Size, as_expression, as_size, ceil_div, floor_div, product, remainder, total
from perfmodel.graph.intervals import Trip


def sum_over_tiles(count: Size, symbol: sympy.Symbol, trip: Trip) -> Size:
    """The sum, over the tiles of a label, of a count in the length of one tile.

    >>> length, n = sympy.symbols("length n", integer=True, positive=True)
    >>> sum_over_tiles(3 * length, length, Trip("n", 4, n))
    3*n
    """
    if isinstance(count, int) or symbol not in count.free_symbols:
        return product([count, trip.count])
    found = []
    for term in sympy.Add.make_args(sympy.expand(count)):
        rest, moving = term.as_independent(symbol, as_Add=False)
        if not moving.has(symbol):
            found.append(product([as_size(term), trip.count]))
        elif moving == symbol:
            found.append(as_size(rest * trip.extent))
        else:
            found.append(product([as_size(rest), _full_and_ragged(moving, symbol, trip)]))
    return total(found)


def _full_and_ragged(term: sympy.Expr, symbol: sympy.Symbol, trip: Trip) -> Size:
    """A term at each full tile, and at what is left over (nothing, where it is 0)."""
    step = _inner_tile(term, symbol)
    if step is not None and remainder(trip.size, step) == 0:
        return ceil_div(trip.extent, step)
    if term.xreplace({symbol: sympy.S.Zero}) != 0:
        raise DimensionError(
            f"tile: {term} of a ragged tile is counted at given sizes; bind the symbols with p.at(...)"
        )
    full = product([floor_div(trip.extent, trip.size), as_size(term.xreplace({symbol: as_expression(trip.size)}))])
    return full + as_size(term.xreplace({symbol: as_expression(remainder(trip.extent, trip.size))}))


def _inner_tile(term: sympy.Expr, symbol: sympy.Symbol) -> Size | None:
    """The size T of ceil(length / T), where that is the term."""
    if not isinstance(term, sympy.ceiling):
        return None
    step = symbol / term.args[0]
    return None if step.has(symbol) else as_size(step)
