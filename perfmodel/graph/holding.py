"""What one block of a tiled kernel holds at once: staged and held inputs, accumulators, intermediates."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.expressions import Size, product, total
from perfmodel.graph.intervals import full_length
from perfmodel.graph.memory import Row, total_held
from perfmodel.graph.needs import Need
from perfmodel.graph.nodes import Tensor
from perfmodel.graph.schedules import Loop, Node
from perfmodel.graph.tiled import Tiled


def block_rows(tiled: Tiled) -> list[Row]:
    """Bytes of a full tile, by role: inputs held for the block, inputs staged a trip (twice where they are
    double-buffered), accumulators, and intermediates where they are most together.

    >>> from perfmodel import matmul
    >>> from perfmodel.graph.tilings import Tiling
    >>> tiling = Tiling(grid=(("m", 64), ("n", 64)), stream=(("k", 32),), buffers=2)
    >>> block_rows(Tiled(matmul(256, 256, 256).kernels[0], tiling, frozenset(["C"])))
    [('staged', 'A', 8192), ('staged', 'B', 8192), ('accumulator', 'C', 8192)]
    """
    rows: dict[tuple[str, str], Size] = {}
    for load, path in tiled.loads():
        role, copies = ("staged", tiled.tiling.buffers) if path else ("held", 1)
        lengths = [full_length(interval) for interval in load.part]
        size = product([copies, _bytes_of(load.tensor, lengths)])
        known = rows.get((role, load.tensor.name))
        rows[role, load.tensor.name] = size if known is None or _more(size, known) else known
    found: list[Row] = [(role, name, size) for (role, name), size in rows.items()]
    accumulators = {need.op.output.tensor.name for need, path in tiled.runs() if set(need.op.reduced) & set(path)}
    accumulators |= tiled.updated
    for need in tiled.needs:
        if need.op.output.tensor.name in accumulators:
            found.append(("accumulator", need.op.output.tensor.name, _made_bytes(need, tiled, whole=True)))
    alive = _peak(tiled, accumulators)
    return found + [("intermediate", name, size) for name, size in alive]


def largest_rows(blocks: Sequence[Tiled]) -> list[Row]:
    """The rows of that kind of tile of a level which holds most.

    >>> from perfmodel import matmul, tile
    >>> largest_rows([tile(matmul(64, 64, 64), m=size).counted[0].tiled for size in (8, 16)])[0]
    ('held', 'A', 2048)
    """
    best = block_rows(blocks[0])
    for block in blocks[1:]:
        rows = block_rows(block)
        best = rows if _more(total_held(rows), total_held(best)) else best
    return best


def _made_bytes(need: Need, tiled: Tiled, *, whole: bool) -> Size:
    """Bytes of what an op makes; an accumulator holds the labels of inner loops in full, unless it is spilled."""
    tensor: Tensor = need.op.output.tensor
    held = whole and tensor.name not in tiled.tiling.spill
    lengths = [
        axis.extent if held and set(interval.labels) & set(tiled.loops) else full_length(interval)
        for axis, interval in zip(tensor.axes, need.output, strict=True)
    ]
    return _bytes_of(tensor, lengths)


def _bytes_of(tensor: Tensor, lengths: Sequence[Size]) -> Size:
    """The bytes of a part of a tensor (none where it is all padding)."""
    return 0 if 0 in lengths else tensor.format.bytes_of(tuple(lengths) or (1,))


def _peak(tiled: Tiled, accumulators: set[str]) -> list[tuple[str, Size]]:
    """The other results alive at the step where they are largest together."""
    best: list[tuple[str, Size]] = []
    for nodes in _bodies(tiled.schedule.body):
        last = {a.tensor.name: step for step, need in enumerate(nodes) for a in need.op.reads}
        alive: dict[str, Size] = {}
        for step, need in enumerate(nodes):
            name = need.op.output.tensor.name
            if name not in accumulators:
                alive[name] = _made_bytes(need, tiled, whole=False)
            if _more(total(alive.values()), total([size for _, size in best])):
                best = list(alive.items())
            alive = {key: size for key, size in alive.items() if last.get(key, step) > step}
    return best


def _bodies(nodes: tuple[Node, ...]) -> list[list[Need]]:
    """The runs of ops that follow each other without a loop between them."""
    found: list[list[Need]] = [[]]
    for node in nodes:
        if isinstance(node, Loop):
            found += [*_bodies(node.body), []]
        else:
            found[-1].append(node)
    return [run for run in found if run]


def _more(a: Size, b: Size) -> bool:
    difference = a - b
    return difference > 0 if isinstance(difference, int) else difference.is_nonpositive is not True


def block_bytes(tiled: Tiled) -> Size:
    """Bytes that one block holds at once.

    >>> from perfmodel import matmul
    >>> from perfmodel.graph.tilings import Tiling
    >>> block_bytes(Tiled(matmul(256, 256, 256).kernels[0], Tiling(grid=(("m", 64),)), frozenset(["C"])))
    196608
    """
    return total([size for _, _, size in block_rows(tiled)])
