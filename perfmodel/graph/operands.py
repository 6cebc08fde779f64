"""What an op takes besides tensors: scalars, and counts that were given to it."""

from __future__ import annotations

from dataclasses import dataclass

from perfmodel.expressions import Size


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, or a named kernel argument, in a map: it costs no memory traffic.

    >>> Scalar("alpha")
    Scalar(value='alpha')
    """

    value: str | int | float


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
