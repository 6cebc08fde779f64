"""What an op takes besides tensors: scalars, and counts that were given to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import sympy

from perfmodel.expressions import Size, product


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, or a named kernel argument, in a map: it costs no memory traffic.

    One that counts the points along labels (what a mean divides by) has them in ``axes`` and follows their sizes.

    >>> Scalar("alpha").value, Scalar.count([("n", 8), ("m", 4)]).value
    ('alpha', 32)
    """

    value: str | int | float | sympy.Expr
    axes: tuple[tuple[str, Size], ...] = ()

    @classmethod
    def count(cls, axes: Iterable[tuple[str, Size]]) -> Scalar:
        """The number of points along these labels.

        >>> Scalar.count([("n", 8)])
        Scalar(value=8, axes=(('n', 8),))
        """
        found = tuple([(label, extent) for label, extent in axes])
        return cls(product([extent for _, extent in found]), found)

    def changed(self, axis: Callable[[str, Size], tuple[str, Size]]) -> Scalar:
        """The scalar with each axis that it counts changed.

        >>> Scalar.count([("n", 8)]).changed(lambda label, extent: (label, 2 * extent)).value
        16
        """
        return self.count([axis(label, extent) for label, extent in self.axes]) if self.axes else self


@dataclass(frozen=True, slots=True)
class Given:
    """The counts of an opaque op, as its user gave them.

    >>> Given(flops=8, special=0, bytes_read=4, bytes_written=4).bytes_read
    4
    """

    flops: Size
    special: Size
    bytes_read: Size
    bytes_written: Size
