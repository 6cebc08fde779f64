"""Formulas in which finite sums stand (masked tiles), evaluated for arrays of sizes: the sums first, then the rest.

Each sum is added up at the sizes that it depends on alone, once for all the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import prod
from typing import Any

import sympy

from perfmodel.errors import DimensionError
from perfmodel.expressions import Compiled, compile_formula, dims

MOST_TERMS = 2**27  # terms of a sum that are evaluated for all sizes: some seconds

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
        given[symbol.name] = _sum(item, values) + 1
    return _at(compile_formula(count.xreplace(swaps)), given, count)


def _at(compiled: Compiled, values: Mapping[str, Array], count: sympy.Expr) -> Array:
    found = compiled({name: values[name] for name in compiled.symbols})
    if getattr(getattr(found, "dtype", None), "kind", "") != "i":
        raise DimensionError(f"{count} is not known to be whole")
    return found


def _sum(item: sympy.Sum, values: Mapping[str, Array]) -> Array:
    """A sum at the sizes that it depends on, unless that would take minutes."""
    import numpy

    total, number = _compiled(item)
    counts = number({name: values[name] for name in number.symbols})
    others = prod([values[name].size for name in total.symbols if name not in number.symbols])
    added = int(numpy.sum(counts)) * others
    if added > MOST_TERMS:
        raise DimensionError(f"{item}: {added} terms; at most {MOST_TERMS} are added")
    return _at(total, values, item)


@lru_cache(maxsize=64)
def _compiled(item: sympy.Sum) -> tuple[Compiled, Compiled]:
    """A sum and its number of terms: every set of labels that stay whole asks for the same ones."""
    return compile_formula(item), compile_formula(prod([high - low + 1 for _, low, high in item.limits]))
