"""Reductions of a tensor over one or several labels."""

from __future__ import annotations

from collections.abc import Iterable

from perfmodel.errors import DimensionError
from perfmodel.graph.building import checked_labels, reduced
from perfmodel.graph.nodes import Tensor

Labels = str | Iterable[str]


def sum(x: Tensor, labels: Labels, *, name: str | None = None, stage: str = "") -> Tensor:  # the field's name
    """The sum over labels: one FLOP a point.

    >>> from perfmodel import tensor
    >>> sum(tensor("x", {"m": 4, "n": 8}), "n").labels
    ('m',)
    """
    return reduced("sum", x, labels, name=name, stage=stage)


def max(x: Tensor, labels: Labels, *, name: str | None = None, stage: str = "") -> Tensor:  # the field's name
    """The maximum over labels: one FLOP a point.

    >>> from perfmodel import tensor
    >>> max(tensor("x", {"m": 4, "n": 8}), "n").labels
    ('m',)
    """
    return reduced("max", x, labels, name=name, stage=stage)


def min(x: Tensor, labels: Labels, *, name: str | None = None, stage: str = "") -> Tensor:  # the field's name
    """The minimum over labels: one FLOP a point.

    >>> from perfmodel import tensor
    >>> min(tensor("x", {"m": 4, "n": 8}), ("m", "n")).labels
    ()
    """
    return reduced("min", x, labels, name=name, stage=stage)


def mean(x: Tensor, labels: Labels, *, name: str | None = None, stage: str = "") -> Tensor:
    """The mean over labels: one FLOP a point and one more (the division) for each result.

    >>> from perfmodel import tensor
    >>> mean(tensor("x", {"m": 4, "n": 8}), "n").producer.function
    'mean'
    """
    found = checked_labels(labels, x, "mean")
    if x.mask is not None and {x.mask.query, x.mask.key} & set(found):
        raise DimensionError(f"mean: {x.name!r} is masked, so its rows have different counts; divide a sum by a tensor")
    return reduced("mean", x, found, name=name, stage=stage)
