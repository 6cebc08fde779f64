"""A running maximum's moves in a run: what the sums that follow it are multiplied by, and what that costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from perfmodel.graph.needs import Need
from perfmodel.graph.tiled import Tiled


class Corrections:
    """For each maximum that moves, exp(old - new) of its last move; and the sums that follow it.

    Where nothing has been met yet, old and new are both -inf: there is nothing to correct, and the factor is 1.

    >>> from perfmodel import fuse, online, softmax, tile
    >>> p = tile(online(fuse(softmax(1, 4)), "n"), stream={"n": 2})
    >>> Corrections(p.counted[0].tiled, Counter()).followed
    {'sum': {'max': None}}
    """

    def __init__(self, tiled: Tiled, operations: Counter[str]) -> None:
        self.operations = operations
        self.active = {item.name for item in tiled.rescalings} & tiled.updated  # maxima that move where the run is
        self.reduced = {item.name: item.maximum[0].op.reduced for item in tiled.rescalings}
        self.followed: dict[str, dict[str, None]] = {}
        self.labels = {item.name: item.maximum[0].op.output.tensor.labels for item in tiled.rescalings}
        for item in tiled.rescalings:
            for need, _ in item.sums:
                self.followed.setdefault(need.makes, {})[item.name] = None
        self.factors: dict[str, Any] = {}

    def within(self, label: str, made: Collection[str]) -> set[str]:
        """The maxima that the trips of a loop move, and that sums of the same loop follow."""
        found = {by for name, maxima in self.followed.items() if name in made for by in maxima if by in made}
        return {name for name in found if label in self.reduced[name]}

    def begin(self, need: Need, part: Any, where: Any, held: Any, *, visited: bool) -> Any:
        """Before an op runs: a sum is multiplied as its maxima have moved; what it holds then is returned.

        A maximum stands still in its part of a trip until it is seen to move: a tile may be skipped.
        """
        import numpy as np

        name = need.makes
        if name in self.active:
            self.factors.setdefault(name, np.ones(held.shape))[part] = 1.0
        if visited:
            for maximum in self.active & self.followed.get(name, {}).keys():
                held[where] = self._multiplied(need, maximum, where, held[where])
        return held[where].copy() if name in self.active else None

    def _multiplied(self, need: Need, maximum: str, where: Any, held: Any) -> Any:
        """A part of a sum times exp(old - new); 0 where what was met before weighs nothing."""
        import numpy as np

        labels, axes = need.op.output.tensor.labels, self.labels[maximum]
        factor = self.factors[maximum][tuple([where[labels.index(label)] for label in axes])]
        order = [axes.index(label) for label in labels if label in axes]
        shape = [size if label in axes else 1 for label, size in zip(labels, held.shape, strict=True)]
        factor = factor.transpose(order).reshape(shape)
        self._count(("vector",), held)
        with np.errstate(all="ignore"):
            return np.where(factor == 0, 0.0, held * factor)

    def moved(self, name: str, where: Any, old: Any, new: Any) -> None:
        """After an op has run, if it is a maximum: a subtraction and an exponential for each result."""
        import numpy as np

        if name in self.active:
            with np.errstate(all="ignore"):
                self.factors[name][where] = np.where(old == new, 1.0, np.exp(old - new))
            self._count(("vector", "special"), new)

    def _count(self, units: Sequence[str], values: Any) -> None:
        for unit in units:
            self.operations[unit] += int(values.size)
