"""A kernel: ops that are launched together."""

from __future__ import annotations

from dataclasses import dataclass

from perfmodel.expressions import Size
from perfmodel.graph.nodes import Op
from perfmodel.graph.tilings import Tiling
from perfmodel.shown import Shown


@dataclass(frozen=True, slots=True, repr=False)
class Kernel(Shown):
    """Ops launched together, how often they run, and the section of the program they stand in.

    ``fuse`` never merges kernels of different sections: a section ends where values must be complete
    before the next begins (the end of a repeated layer, the boundary between forward and backward).
    ``online`` has the labels whose running results are corrected instead of waited for.

    >>> Kernel("empty", ()).repeat
    1
    """

    name: str
    ops: tuple[Op, ...]
    repeat: Size = 1
    section: int = 0
    tiles: tuple[Tiling, ...] = ()
    online: tuple[str, ...] = ()

    @property
    def made(self) -> tuple[str, ...]:
        """Names of the tensors that the kernel makes.

        >>> Kernel("empty", ()).made
        ()
        """
        return tuple([op.output.tensor.name for op in self.ops])

    @property
    def needed(self) -> tuple[str, ...]:
        """Names of the tensors that it reads and does not make, in order of first use.

        >>> Kernel("empty", ()).needed
        ()
        """
        made = self.made
        within = made if len(made) == 1 else set(made)
        names = [access.tensor.name for op in self.ops for access in op.reads]
        return tuple(dict.fromkeys([name for name in names if name not in within]))

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of its ops, in order (an op without a stage is a stage of its own name).

        >>> Kernel("empty", ()).stages
        ()
        """
        return tuple(dict.fromkeys([op.stage or op.name for op in self.ops]))

    def __repr__(self) -> str:
        often = "" if self.repeat == 1 else f", {self.repeat} times"
        ops = ", ".join([op.name for op in self.ops]) or "none"
        return f"kernel {self.name}: ops {ops}{often}\n# reads {', '.join(self.needed)}; makes {', '.join(self.made)}"
