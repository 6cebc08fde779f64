"""A level of tiles inside another: each run of ops of an outer tile is a kernel whose memory is that tile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.graph.kernels import Kernel
from perfmodel.graph.needs import Need
from perfmodel.graph.nested import Nested, inside_tile
from perfmodel.graph.schedules import looked_up_by
from perfmodel.graph.segments import Segment
from perfmodel.graph.spots import Spot
from perfmodel.graph.tiled import Tiled
from perfmodel.simulation.blocks import BlockRun
from perfmodel.simulation.ledgers import Ledger, Numbers, slices


def block_run(
    blocks: Tiled | Nested, memory: dict[str, Any], scalars: Mapping[str, float], ledger: Ledger, level: str = "memory"
) -> BlockRun:
    """What runs the tiles of a kernel, tiles inside tiles included.

    >>> import numpy as np
    >>> from perfmodel import matmul, tile
    >>> p, ledger = tile(tile(matmul(4, 4, 4), m=2, level="l2"), n=2), {}
    >>> block_run(p.counted[0].nested, {"A": np.ones((1, 4, 4)), "B": np.ones((1, 4, 4))}, {}, ledger).run()
    >>> ledger["memory"].loads["A"], ledger["l2"].loads["A"]  # each half of A once; then once for each half of n
    (16, 32)
    """
    kind: Any = NestedRun if isinstance(blocks, Nested) else BlockRun
    run: BlockRun = kind(blocks, memory, scalars, ledger, level)
    return run


class NestedRun(BlockRun):
    """Runs outer tiles, and in each of them the tiles inside."""

    def __init__(
        self, nested: Nested, memory: dict[str, Any], scalars: Mapping[str, float], ledger: Ledger, level: str
    ) -> None:
        super().__init__(nested.tiled, memory, scalars, ledger, level)
        self.nested = nested

    def _ops(self, needs: list[Need], at: Numbers, path: tuple[str, ...]) -> None:
        if not needs:
            return
        segment = next(item for item in self.nested.segments if item.path == path and list(item.needs) == needs)
        for need in needs:
            self._prepare(need, slices(need.output, at), at, path)
        inside = inside_tile(segment, Spot(at), self.tiled.kernel.name, self.nested.inner)
        local = self._local(segment, inside.kernel, at)
        run = block_run(inside, local, self.scalars, self.ledger, self.tiled.tiling.level)
        run.rounding = self.rounding
        run.run()
        for name in segment.leaving & local.keys():
            self.chip[name].values[slices(segment.parts[name], at)] = local[name]
        for need in needs:
            self._conclude(need, slices(need.output, at), at, path)
            if not self._loops_reduced(need, path):
                self._store(need, at)

    def _local(self, segment: Segment, kernel: Kernel, at: Numbers) -> dict[str, Any]:
        """What the outer tile holds of each tensor that the ops read, or go on summing."""
        import numpy as np

        held = {name: name for name in (*kernel.needed, *segment.updated)}
        for op in kernel.ops:
            for access in op.reads:
                by = looked_up_by(access)
                held |= {access.tensor.name: f"{access.tensor.name}[{', '.join(by)}]"} if by else {}
        keys = {name: key if key in self.chip else name for name, key in held.items()}
        found = {name: self.chip[key].values for name, key in keys.items() if key in self.chip}
        return {name: np.array(values[slices(segment.parts[name], at)]) for name, values in found.items()}
