"""How many operations stand one after another in a reduction: a tree, a chain, or lanes that end in a tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import sympy

from perfmodel.errors import CapacityError
from perfmodel.expressions import Size, as_expression, as_size, ceil_div, smallest, total

MOST_VALUES = 2**20


class ceil_log2(sympy.Function):  # type: ignore[misc]  # sympy has no types; named as it prints
    """The least whole e with 2^e not below a size: the levels of a binary tree over so many leaves.

    >>> ceil_log2(1024), ceil_log2(1025), ceil_log2(sympy.Symbol("n"))
    (10, 11, ceil_log2(n))
    """

    nargs = 1

    @classmethod
    def eval(cls, leaves: Any) -> Any:
        """The number for a whole one, else nothing: it stays as it is.

        >>> ceil_log2.eval(sympy.Integer(8))
        3
        """
        return sympy.Integer((int(leaves) - 1).bit_length()) if leaves.is_Integer and leaves.is_positive else None

    def _eval_is_integer(self) -> Any:
        return self.args[0].is_positive

    def _eval_is_nonnegative(self) -> Any:
        return True if self.args[0].is_integer and self.args[0].is_positive else None


def tree_depth(leaves: Size) -> Size:
    """The levels of a binary tree.

    >>> tree_depth(1), tree_depth(1024), tree_depth(1025)
    (0, 10, 11)
    """
    return (leaves - 1).bit_length() if isinstance(leaves, int) else as_size(ceil_log2(as_expression(leaves)))


def reduction_depth(values: Size, lanes: Size | None = None) -> Size:
    """The operations that stand one after another where values are reduced.

    Without ``lanes`` a tree, ceil(log2 n); else each lane takes its values one after another, from the identity on,
    and a tree joins the lanes: ceil(n / lanes) + ceil(log2 lanes). One lane is a chain of n.

    >>> reduction_depth(1024), reduction_depth(1024, 1), reduction_depth(64, 32)
    (10, 1024, 7)
    """
    if lanes is None:
        return tree_depth(values)
    if lanes == 1:
        return values
    return total([ceil_div(values, lanes), tree_depth(smallest(values, lanes))])


class ReductionRun(NamedTuple):
    """A reduction that was carried out: its result, its steps one after another, and its operations in all.

    >>> run_reduction([1, 2, 3, 4])
    ReductionRun(result=10, steps=2, operations=3)
    """

    result: Any
    steps: int
    operations: int


def run_reduction(values: list[Any], lanes: int | None = None) -> ReductionRun:
    """A sum step by step; in a step each pair, or each lane, adds once.

    >>> run_reduction([1] * 64, lanes=32)
    ReductionRun(result=64, steps=7, operations=95)
    """
    if len(values) > MOST_VALUES:
        raise CapacityError(f"run: {len(values)} values are too many to add one by one")
    left, steps, operations = list(values), 0, 0
    if lanes is not None:
        left = [0] * min(lanes, len(values))
        for start in range(0, len(values), lanes):
            for lane, value in enumerate(values[start : start + lanes]):
                left[lane] += value
                operations += 1
            steps += 1
    while len(left) > 1:
        pairs = [left[place : place + 2] for place in range(0, len(left), 2)]
        operations += sum(len(pair) == 2 for pair in pairs)
        left, steps = [sum(pair) for pair in pairs], steps + 1
    return ReductionRun(left[0], steps, operations)
