"""Formulas in which finite sums stand (masked tiles), evaluated for arrays of sizes: the sums first, then the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import sympy

from perfmodel.errors import DimensionError, ExpressionError
from perfmodel.expressions import Compiled, compile_formula, dims

MOST_TERMS = 2**27  # terms of sums that are evaluated at once: some seconds

Array = Any


def evaluated(count: sympy.Expr, values: Mapping[str, Array]) -> Array:
    """A formula at arrays of sizes, one axis a symbol, as int64.

    ``ExpressionError`` or ``DimensionError`` where that cannot be done exactly.

    >>> import numpy
    >>> t, b = dims("t"), sympy.Symbol("b", integer=True, nonnegative=True)
    >>> evaluated(2 * sympy.Sum(t * b, (b, 0, sympy.ceiling(8 / t) - 1)), {"t": numpy.array([1, 2, 3])})
    array([56, 24, 18])
    """
    given, swaps = dict(values), {}
    for number, item in enumerate(sorted(count.atoms(sympy.Sum), key=str)):
        symbol = dims(f"sum_{number}")
        swaps[item] = symbol - 1  # symbols are positive, and a sum may be 0
        given[symbol.name] = _sums(item, values) + 1
    compiled = compile_formula(count.xreplace(swaps))
    found = compiled({name: given[name] for name in compiled.symbols})
    return _whole(found, count)


def _whole(found: Array, count: sympy.Expr) -> Array:
    if getattr(getattr(found, "dtype", None), "kind", "") != "i":
        raise DimensionError(f"{count} is not known to be whole")
    return found


def _sums(item: sympy.Sum, values: Mapping[str, Array]) -> Array:
    """One sum: one by one for the sizes that its numbers of terms depend on, for all others at once."""
    import numpy

    if not values or any(low != 0 for _, low, _ in item.limits):
        raise ExpressionError(f"{item}: a sum that cannot be evaluated for arrays of sizes")
    numbers = [high + 1 for _, _, high in item.limits]
    terms, places = _term(item)
    counts = numpy.broadcast_arrays(*[_counts(number, values) for number in numbers])
    outer = {symbol.name for number in numbers for symbol in number.free_symbols}
    fresh = [None] * len(numbers)
    inner = {n: values[n][(..., *fresh)] for n in terms.symbols if n not in {*outer, *places}}
    _check_number(item, counts, inner)
    found = numpy.zeros(
        numpy.broadcast_shapes(counts[0].shape, *[a.shape[: -len(fresh)] for a in inner.values()]), "int64"
    )
    for at in numpy.ndindex(*counts[0].shape):
        told = {n: int(numpy.broadcast_to(values[n], counts[0].shape)[at]) for n in outer if n in terms.symbols}
        grid = numpy.ix_(*[numpy.arange(1, int(count[at]) + 1) for count in counts])
        parts = _whole(terms({**dict(zip(places, grid, strict=True)), **told, **inner}), item)
        if int(abs(parts).max()) * prod([array.size for array in grid]) >= 2**63:
            raise DimensionError(f"{item} would overflow")
        place = [slice(n, n + 1) if length > 1 else slice(None) for n, length in zip(at, counts[0].shape, strict=True)]
        found[tuple(place)] = parts.sum(axis=tuple(range(-len(fresh), 0)))
    return found


@lru_cache(maxsize=64)
def _term(item: sympy.Sum) -> tuple[Compiled, list[str]]:
    """What is added up, compiled, and its names for the numbers of the terms, which begin at 1 there.

    Every set of labels that stay whole asks for the same sums.
    """
    first = [dims(f"term_{place}") for place in range(len(item.limits))]
    moved = {index: symbol - 1 for (index, _, _), symbol in zip(item.limits, first, strict=True)}
    inside = item.function.xreplace(moved)
    return compile_formula(inside, {*first, *inside.free_symbols}), [symbol.name for symbol in first]


def _check_number(item: sympy.Sum, counts: Sequence[Array], inner: Mapping[str, Array]) -> None:
    """Refuse what would take minutes."""
    added = sum([prod([int(count) for count in row]) for row in zip(*[count.flat for count in counts], strict=True)])
    added *= prod([array.size for array in inner.values()])
    if added > MOST_TERMS:
        raise DimensionError(f"{item}: {added} terms; at most {MOST_TERMS} are added")


def _counts(number: sympy.Expr, values: Mapping[str, Array]) -> Array:
    """How many terms there are, at each of the sizes that this depends on."""
    import numpy

    axes = next(iter(values.values())).ndim
    if not number.free_symbols:
        return numpy.full([1] * axes, int(number))
    compiled = compile_formula(number)
    return _whole(compiled({name: values[name] for name in compiled.symbols}), number)
