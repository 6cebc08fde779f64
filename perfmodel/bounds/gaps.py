"""What a tiling moves, beside what any order of the work must move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.bounds.deriving import io_lower_bound
from perfmodel.bounds.values import IoBound
from perfmodel.bounds.working import written
from perfmodel.errors import TransformError
from perfmodel.expressions import Size, share, total
from perfmodel.graph.programs import Program
from perfmodel.showing import Text, plain_dict
from perfmodel.shown import Shown
from perfmodel.transforms.casting import cast
from perfmodel.transforms.selecting import checked_program


@dataclass(frozen=True)
class TilingGap(Shown):
    """Elements that a tiled program moves and holds, and the bound at a capacity of what it holds.

    >>> from perfmodel import io_lower_bound, matmul, tile
    >>> p = matmul(1024, 1024, 1024)
    >>> io_lower_bound(p).against(tile(p, grid={"m": 64, "n": 64}, stream={"k": 1}))
    io_lower_bound(matmul(m=1024 n=1024 k=1024, bf16), capacity_elements=4224).against(...)
    # moved 34,603,008 elements, at least 33,033,672: 1.05 times the bound
    """

    bound: IoBound
    moved: Size

    @property
    def held(self) -> Size:
        """Elements that a block holds at once, which is the capacity that the bound is taken at.

        >>> from perfmodel import io_lower_bound, matmul, tile
        >>> p = matmul(64, 64, 64)
        >>> io_lower_bound(p).against(tile(p, grid={"m": 8, "n": 8}, stream={"k": 1})).held == 8 * 8 + 8 + 8
        True
        """
        return self.bound.capacity_elements

    @property
    def ratio(self) -> Any:
        """Elements moved over the bound: 1 is as good as can be; a formula of symbols.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul(64, 64, 64)).against(matmul(64, 64, 64)).ratio  # all held at once
        1.0
        """
        return share(self.moved, self.bound.elements)

    def explain(self) -> Text:
        """What is moved beside what has to be, at the capacity that a block takes.

        >>> from perfmodel import io_lower_bound, matmul
        >>> io_lower_bound(matmul(64, 64, 64)).against(matmul(64, 64, 64)).explain().splitlines()[-1]
        '# moved 12,288 elements, at least 12,288: 1 times the bound'
        """
        return Text(f"{self.bound.explain()}\n{repr(self).splitlines()[-1]}")

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain data.

        >>> from perfmodel import io_lower_bound, matmul
        >>> sorted(io_lower_bound(matmul(64, 64, 64)).against(matmul(64, 64, 64)).to_dict())
        ['bound', 'held', 'moved', 'ratio']
        """
        return plain_dict(
            {"moved": self.moved, "held": self.held, "bound": self.bound.elements, "ratio": self.ratio},
        )

    def __repr__(self) -> str:
        ratio = f"{self.ratio:.3g}" if isinstance(self.ratio, float) else written(self.ratio)
        return "\n".join(
            [
                f"{repr(self.bound).splitlines()[0]}.against(...)",
                f"# moved {written(self.moved)} elements, at least {written(self.bound.elements)}: "
                f"{ratio} times the bound",
            ]
        )


def beside(bound: IoBound, tiled: Program) -> TilingGap:
    """The tiling's traffic beside the bound at a capacity of its footprint (see ``IoBound.against``).

    >>> from perfmodel import io_lower_bound, matmul
    >>> beside(io_lower_bound(matmul(64, 64, 64)), matmul(64, 64, 64)).moved == 3 * 64**2
    True
    """
    checked_program(tiled, "against")
    if tiled.ops != bound.program.ops:
        raise TransformError(
            f"against: {tiled.name} is not {bound.program.name} staged in another way: their ops or sizes differ. "
            "Tile the program that the bound was asked for"
        )
    in_elements = cast(tiled, "int8")  # a byte an element, so that bytes held are elements held
    moved = total([tiled.elements_read, tiled.elements_written])
    return TilingGap(io_lower_bound(bound.program, in_elements.footprint_bytes), moved)
