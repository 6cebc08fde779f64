"""Finite sums that stand in formulas: their terms, added up exactly at numbers and at arrays of points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from perfmodel.errors import DimensionError
from perfmodel.expressions.steps import Tape

MOST_TERMS = 2**27  # terms that are added in one call: some seconds
_ONE_BY_ONE = 64  # so few terms are added without numpy
_AT_ONCE = 2**18  # terms held in arrays at a time

Number = Any
Array = Any


@dataclass(frozen=True, slots=True, eq=False)
class Summand:
    """The term of a sum: the steps that compute it from its number, which begins at 1, and from other symbols.

    >>> from perfmodel.expressions.lowering import lowered
    >>> from perfmodel.expressions.symbols import dims
    >>> Summand("sum of m*i", lowered([dims("i m")[0] * dims("m")]), "i", ("m",)).at(4, [10])  # 10 + 20 + 30 + 40
    100
    """

    text: str
    tape: Tape
    number: str
    names: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether the terms are counts.

        >>> from perfmodel.expressions.lowering import lowered
        >>> from perfmodel.expressions.symbols import dims
        >>> Summand("sum of i", lowered([dims("i")]), "i", ()).whole
        True
        """
        return self.tape.steps[self.tape.outputs[0]].kind == "count"

    def at(self, terms: int, values: Sequence[Number]) -> Number:
        """The sum at numbers.

        >>> from perfmodel.expressions.lowering import lowered
        >>> from perfmodel.expressions.symbols import dims
        >>> Summand("sum of i", lowered([dims("i")]), "i", ()).at(1000, [])
        500500
        """
        self._check(terms, terms)
        if terms > _ONE_BY_ONE:
            return self.over([terms], [[value] for value in values]).tolist()[0]
        from perfmodel.expressions.bounding import exact_values

        given = dict(zip(self.names, values, strict=True))
        out = self.tape.outputs[0]
        return sum([exact_values(self.tape, {**given, self.number: term})[out] for term in range(1, terms + 1)])

    def over(self, terms: Any, values: Sequence[Any]) -> Array:
        """The sums at points: how many terms each has, and the values of the symbols there.

        >>> from perfmodel.expressions.lowering import lowered
        >>> from perfmodel.expressions.symbols import dims
        >>> Summand("sum of i", lowered([dims("i")]), "i", ()).over([1, 2, 3], [])
        array([1, 3, 6])
        """
        import numpy

        columns = numpy.broadcast_arrays(numpy.atleast_1d(terms), *values)
        counts, given = columns[0].astype("int64"), columns[1:]
        if counts.size:
            self._check(int(counts.min()), sum(counts.tolist()))
        found = numpy.zeros(counts.shape, "int64" if self.whole else "float64")
        for points, numbers in _pieces(counts):
            parts = self._terms(points, numbers, given)
            if self.whole and int(abs(parts).max()) * len(parts) + int(abs(found).max()) >= 2**63:
                raise DimensionError(f"{self.text} would overflow: whole numbers are counted exactly below 2^63")
            numpy.add.at(found, points, parts)
        return found

    def _terms(self, points: Array, numbers: Array, given: Sequence[Array]) -> Array:
        """The terms by their numbers and the points that they belong to."""
        from perfmodel.expressions.evaluating import checked_input, evaluated

        kinds = {step.value: step.kind == "count" for step in self.tape.steps if step.op == "symbol"}
        columns = {name: column[points] for name, column in zip(self.names, given, strict=True)}
        columns[self.number] = numbers
        typed = {name: columns[name].astype("int64" if whole else "float64") for name, whole in kinds.items()}
        if not typed:
            typed, kinds = {self.number: numbers}, {self.number: True}
        inputs = [checked_input(str(name), column, kinds[name]) for name, column in typed.items()]
        return evaluated(self.tape, {}, inputs)[0]

    def _check(self, fewest: int, terms: int) -> None:
        if fewest < 0:
            raise DimensionError(f"{self.text} has {fewest} terms")
        if terms > MOST_TERMS:
            raise DimensionError(f"{self.text}: {terms} terms; at most {MOST_TERMS} are added")


def _pieces(counts: Array) -> Iterator[tuple[Array, Array]]:
    """The terms of all points in turn, so many at a time: for each its point, and its number from 1 on."""
    import numpy

    ends = numpy.cumsum(counts)
    starts = ends - counts
    for begin in range(0, int(ends[-1]) if len(ends) else 0, _AT_ONCE):
        places = numpy.arange(begin, min(begin + _AT_ONCE, int(ends[-1])))
        points = numpy.searchsorted(ends, places, side="right")
        yield points, places - starts[points] + 1


def parted(item: sympy.Sum) -> tuple[sympy.Expr, sympy.Expr, sympy.Symbol]:
    """How many terms the outermost of a sum's numbers has, its term, and the symbol of that number, from 1 on.

    >>> from perfmodel.expressions.symbols import dims
    >>> n, i = dims("n"), sympy.Symbol("i", integer=True)
    >>> terms, term, number = parted(sympy.Sum(n * i, (i, 0, n - 1)))
    >>> terms, term.xreplace({number: sympy.Integer(1)})
    (n, 0)
    """
    *inner, (index, low, high) = item.limits
    number = sympy.Symbol(f"{index.name}+1", integer=True, positive=True)  # which nobody's symbol can be called
    term = sympy.Sum(item.function, *inner) if inner else item.function
    return high - low + 1, term.xreplace({index: low + number - 1}), number


def short(expression: Any) -> str:
    """The text of an expression, cut where it is long.

    >>> short(sympy.Integer(4))
    '4'
    """
    text = str(expression)
    return text if len(text) <= 120 else text[:120] + "..."
