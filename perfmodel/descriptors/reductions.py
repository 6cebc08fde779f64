"""Reductions of a tensor over one or several labels."""

from __future__ import annotations

from collections.abc import Iterable

from perfmodel.descriptors.arguments import checked_axis, checked_tensors
from perfmodel.errors import DimensionError, LabelError
from perfmodel.graph.building import reduced
from perfmodel.graph.nodes import Tensor

Labels = str | Iterable[str]


def sum(x: Tensor, labels: Labels = (), *, name: str | None = None, stage: str = "") -> Tensor:  # the field's name
    """The sum over labels: one FLOP a point.

    >>> from perfmodel import tensor
    >>> sum(tensor("x", {"m": 4, "n": 8}), "n").labels
    ('m',)
    """
    return reduced("sum", x, _checked("sum", x, labels), name=name, stage=stage)


def max(x: Tensor, labels: Labels = (), *, name: str | None = None, stage: str = "") -> Tensor:  # the field's name
    """The maximum over labels: one FLOP a point.

    >>> from perfmodel import tensor
    >>> max(tensor("x", {"m": 4, "n": 8}), "n").labels
    ('m',)
    """
    return reduced("max", x, _checked("max", x, labels), name=name, stage=stage)


def min(x: Tensor, labels: Labels = (), *, name: str | None = None, stage: str = "") -> Tensor:  # the field's name
    """The minimum over labels: one FLOP a point.

    >>> from perfmodel import tensor
    >>> min(tensor("x", {"m": 4, "n": 8}), ("m", "n")).labels
    ()
    """
    return reduced("min", x, _checked("min", x, labels), name=name, stage=stage)


def mean(x: Tensor, labels: Labels = (), *, name: str | None = None, stage: str = "") -> Tensor:
    """The mean over labels: one FLOP a point and one more (the division) for each result.

    >>> from perfmodel import tensor
    >>> mean(tensor("x", {"m": 4, "n": 8}), "n").producer.function
    'mean'
    """
    found = _checked("mean", x, labels)
    if x.mask is not None and {x.mask.query, x.mask.key} & set(found):
        raise DimensionError(f"mean: {x.name!r} is masked, so its rows have different counts; divide a sum by a tensor")
    return reduced("mean", x, found, name=name, stage=stage)


def _checked(verb: str, x: Tensor, labels: Labels) -> tuple[str, ...]:
    """One or more different labels of a tensor."""
    checked_tensors(f"{verb}(x, label)", x)
    several = isinstance(labels, Iterable) and not isinstance(labels, str)
    found = tuple([checked_axis(x, label, verb) for label in (labels if several else (labels,))])
    if not found or len(set(found)) < len(found):
        raise LabelError(f"{verb}: expected one or more different labels of {x.name!r}, got {labels!r}")
    return found
