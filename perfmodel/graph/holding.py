"""What one block of a tiled kernel holds at once: staged and held inputs, accumulators, intermediates."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.expressions import Size, product, total
from perfmodel.graph.memory import Row, most, not_dominated
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
        if load.tensor.name in tiled.tiling.spill:  # taken up where its accumulator was
            continue
        role, copies = ("staged", tiled.tiling.buffers) if path else ("held", 1)
        lengths = [interval.full_length for interval in load.part]
        size = product([copies, _bytes_of(load.tensor, lengths)])
        key = (role, load.tensor.name)
        rows[key] = most([rows[key], size]) if key in rows else size
    found: list[Row] = [(role, name, size) for (role, name), size in rows.items()]
    accumulators = {need.makes for need, path in tiled.runs() if set(need.op.reduced) & set(path)}
    accumulators |= tiled.updated
    for need in tiled.needs:
        if need.makes in accumulators:
            found.append(("accumulator", need.makes, _made_bytes(need, tiled, whole=True)))
    alive = _peak(tiled, accumulators)
    return found + [("intermediate", name, size) for name, size in alive]


def largest_block(blocks: Sequence[Tiled]) -> Tiled:
    """That kind of tile of a level which holds most.

    >>> from perfmodel import matmul, tile
    >>> block_bytes(largest_block([tile(matmul(64, 64, 64), m=size).counted[0].tiled for size in (16, 8)]))
    12288
    """
    if len(blocks) == 1:
        return blocks[0]
    best, held = blocks[0], block_bytes(blocks[0])
    for block in blocks[1:]:
        size = block_bytes(block)
        if most([held, size]) != held:
            best, held = block, size
    return best


def level_rows(blocks: Sequence[Tiled]) -> list[Row]:
    """What a tile of a level holds at once, of the kind that holds most.

    Where it depends on the symbols which kind that is, one row stands for all that may be.

    >>> from perfmodel import matmul, tile
    >>> level_rows([tile(matmul(64, 64, k), m=m).counted[0].tiled for m, k in ((16, 64), (8, "k"))])
    [('most', 'A + B + C', Max(12288, 144*k + 1024))]
    """
    found = {block_bytes(block): block for block in reversed(blocks)}
    sizes = not_dominated([block_bytes(block) for block in blocks])
    if len(sizes) == 1:
        return block_rows(found[sizes[0]])
    names = [" + ".join(dict.fromkeys([name for _, name, _ in block_rows(found[size])])) for size in sizes]
    return [("most", " or ".join(dict.fromkeys(names)), most(sizes))]


def _made_bytes(need: Need, tiled: Tiled, *, whole: bool) -> Size:
    """Bytes of what an op makes; an accumulator holds the labels of inner loops in full, unless it is spilled."""
    tensor: Tensor = need.op.output.tensor
    held = whole and tensor.name not in tiled.tiling.spill
    lengths = [
        axis.extent if held and set(interval.labels) & set(tiled.loops) else interval.full_length
        for axis, interval in zip(tensor.axes, need.output, strict=True)
    ]
    return _bytes_of(tensor, lengths)


def _bytes_of(tensor: Tensor, lengths: Sequence[Size]) -> Size:
    """The bytes of a part of a tensor (none where it is all padding)."""
    return 0 if 0 in lengths else tensor.format.bytes_of(tuple(lengths) or (1,))


def _peak(tiled: Tiled, accumulators: set[str]) -> list[tuple[str, Size]]:
    """The other results alive at the step where they are largest together.

    Where it depends on the symbols which step that is, one row stands for all that may be.
    """
    peaks: dict[Size, dict[str, Size]] = {}
    for nodes in _bodies(tiled.schedule.body):
        last = {a.tensor.name: step for step, need in enumerate(nodes) for a in need.op.reads}
        alive: dict[str, Size] = {}
        for step, need in enumerate(nodes):
            name = need.makes
            if name not in accumulators:
                alive[name] = _made_bytes(need, tiled, whole=False)
            peaks.setdefault(total(alive.values()), dict(alive))
            alive = {key: size for key, size in alive.items() if last.get(key, step) > step}
    candidates = not_dominated(peaks)
    if len(candidates) > 1:
        return [(" or ".join(" + ".join(peaks[size]) for size in candidates), most(candidates))]
    return [row for size in candidates for row in peaks[size].items()]


def _bodies(nodes: tuple[Node, ...]) -> list[list[Need]]:
    """The runs of ops that follow each other without a loop between them."""
    found: list[list[Need]] = [[]]
    for node in nodes:
        if isinstance(node, Loop):
            found += [*_bodies(node.body), []]
        else:
            found[-1].append(node)
    return [run for run in found if run]


def block_bytes(tiled: Tiled) -> Size:
    """Bytes that one block holds at once.

    >>> from perfmodel import matmul
    >>> from perfmodel.graph.tilings import Tiling
    >>> block_bytes(Tiled(matmul(256, 256, 256).kernels[0], Tiling(grid=(("m", 64),)), frozenset(["C"])))
    196608
    """
    return total([size for _, _, size in block_rows(tiled)])
