"""What ``check`` saw."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from perfmodel.showing import Text, plain_dict
from perfmodel.shown import Explained


@dataclass(frozen=True)
class Check(Explained):
    """What a check saw: whether values and counts are equal, at which sizes, and what differs.

    With rounding, values are equal that differ by no more than their formats explain; ``errors`` then has, for each
    output, the largest difference and the largest that was allowed.

    >>> from perfmodel import check, fuse, softmax, tile
    >>> check(tile(fuse(softmax("m", "n")), grid={"m": 8}, stream={"n": 32}))
    values equal, counts equal (at m=7 n=7)
    """

    values_equal: bool
    counts_equal: bool
    sizes: dict[str, int] = field(hash=False)
    differences: tuple[str, ...] = ()
    errors: dict[str, tuple[float, float]] = field(default_factory=dict, hash=False)

    def __bool__(self) -> bool:
        return self.values_equal and self.counts_equal

    def explain(self) -> Text:
        """The verdict, the sizes that were run, and each output's largest difference beside what was allowed.

        >>> from perfmodel import check, matmul
        >>> check(matmul("m", "n", "k")).explain()
        values equal, counts equal (at m=4 n=4 k=4)
          values    each output held against the first program of the history that computes it
          counts    elements by tensor and operations by unit, of the run and of the formulas
        """
        lines = [
            repr(self),
            "  values    each output held against the first program of the history that computes it",
            "  counts    elements by tensor and operations by unit, of the run and of the formulas",
        ]
        for name, (seen, bound) in self.errors.items():
            lines.append(f"  {name:8}  differs by {seen:.3g} at most; {bound:.3g} is allowed by its formats")
        return Text("\n".join(lines))

    def to_dict(self) -> dict[str, Any]:
        """What was seen as plain data; ``errors`` as pairs of the largest difference and the largest allowed.

        >>> from perfmodel import check, matmul
        >>> check(matmul("m", "n", "k")).to_dict()["sizes"]["m"]
        4
        """
        return plain_dict({each.name: getattr(self, each.name) for each in fields(self)})

    def __repr__(self) -> str:
        alike = "within their formats' rounding" if self.errors else "equal"
        said = [f"values {alike if self.values_equal else 'differ'}"]
        said.append(f"counts {'equal' if self.counts_equal else 'differ'}")
        at = " ".join(f"{label}={extent}" for label, extent in self.sizes.items() if extent != 1)
        free = [f"no bound on {name}" for name, (_, bound) in self.errors.items() if bound == math.inf]
        return "\n".join([f"{', '.join(said)} (at {at})", *[f"# {text}" for text in (*self.differences, *free)]])
