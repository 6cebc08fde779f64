"""Reading an einsum pattern against the tensors that it is given."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.errors import DimensionError, ExpressionError, LabelError, listed
from perfmodel.graph.indexing import fresh
from perfmodel.graph.nodes import Tensor


def split_pattern(pattern: str) -> tuple[list[list[str]], list[str]]:
    """The marks of each operand and of the result.

    >>> split_pattern("mk,kn->mn")
    ([['m', 'k'], ['k', 'n']], ['m', 'n'])
    >>> split_pattern("q d, kv d -> q kv")
    ([['q', 'd'], ['kv', 'd']], ['q', 'kv'])
    """
    if not isinstance(pattern, str) or pattern.count("->") != 1:
        raise ExpressionError(f"einsum: {pattern!r} is not a pattern such as 'mk,kn->mn' (with one ->)")
    left, right = pattern.split("->")
    operands = left.split(",")
    words = any(" " in part.strip() for part in [*operands, right])
    marks = [part.split() if words else list(part.strip()) for part in operands]
    result = right.split() if words else list(right.strip())
    for mark in [*result, *[mark for operand in marks for mark in operand]]:
        if not mark.isidentifier():
            raise ExpressionError(f"einsum: {mark!r} in {pattern!r} is not a name")
    for found in [result, *marks]:
        if len(set(found)) < len(found):
            raise ExpressionError(f"einsum: {' '.join(found)!r} in {pattern!r} names an axis twice")
    return marks, result


def pattern_labels(pattern: str, tensors: Sequence[Tensor]) -> tuple[list[Tensor], tuple[str, ...]]:
    """The tensors as views whose labels agree, and the labels of the result.

    >>> from perfmodel.graph.nodes import tensor
    >>> views, kept = pattern_labels("ik,jk->ij", [tensor("x", {"n": 4, "d": 8})] * 2)
    >>> [view.labels for view in views], kept
    ([('n', 'd'), ('j', 'd')], ('n', 'j'))
    """
    marks, result = split_pattern(pattern)
    if len(marks) != len(tensors):
        raise ExpressionError(f"einsum: {pattern!r} has {len(marks)} operands, got {len(tensors)} tensors")
    names: dict[str, str] = {}
    for found, item in zip(marks, tensors, strict=True):
        if not isinstance(item, Tensor):
            raise LabelError(f"einsum: expected tensors, got {item!r}")
        if len(found) != len(item.axes):
            raise DimensionError(
                f"einsum: {' '.join(found)!r} names {len(found)} axes, {item.name!r} has {len(item.axes)} "
                f"({listed(item.labels)})"
            )
        for mark, label in zip(found, item.labels, strict=True):
            if mark not in names:
                names[mark] = label if label not in names.values() else fresh(mark, names.values())
    for mark in result:
        if mark not in names:
            raise ExpressionError(f"einsum: {mark!r} of the result stands in no operand of {pattern!r}")
    views = [_view(item, [names[mark] for mark in found]) for found, item in zip(marks, tensors, strict=True)]
    return views, tuple([names[mark] for mark in result])


def _view(item: Tensor, labels: Sequence[str]) -> Tensor:
    changed = {old: new for old, new in zip(item.labels, labels, strict=True) if old != new}
    return item.rename(changed) if changed else item
