"""Partial results that blocks along a reduced label of the grid combine in memory: where they may, what it moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.errors import TransformError
from perfmodel.expressions import Size, product, total
from perfmodel.graph.nodes import Op
from perfmodel.graph.tilings import Tiling

if TYPE_CHECKING:
    from perfmodel.graph.needs import Need
    from perfmodel.graph.tiled import Tiled
    from perfmodel.graph.visiting import Visits

SUMS = ("sum", "multiply-add")
ADDED = (*SUMS, "max", "min")  # what blocks can combine in memory, one element at a time


def check_combined(op: Op, label: str, tiling: Tiling) -> None:
    """Partial results of blocks along a reduced label are refused, unless they are said to be combined in memory.

    >>> from perfmodel import matmul
    >>> check_combined(matmul(4, 4, 4).ops[0], "k", Tiling(atomic=("k",)))
    """
    if label not in tiling.atomic:
        raise TransformError(
            f"tile: {op.name!r} reduces {label!r}, which is in the grid, and its result leaves the kernel: blocks "
            f"would hold partial results; stream {label!r} instead, or say how to combine them: pm.split(p, {label}=.."
            f') by a second kernel, pm.split(p, {label}=.., combine="atomic") in memory'
        )
    reason = _reason(op, label, tiling)
    if reason:
        raise TransformError(
            f"tile: atomic={label!r}: {op.output.tensor.name!r} {reason}; pm.split(p, {label}=..) combines by a kernel"
        )


def _reason(op: Op, label: str, tiling: Tiling) -> str:
    """Why a result cannot be combined by atomics ("" where it can)."""
    made, mask = op.output.tensor, op.mask
    if op.function not in ADDED:
        return f"is a {op.function}, and only a single sum, max or min is combined by atomics"
    if made.name in tiling.spill:
        return "is spilled as well"
    if made.format.block is not None:
        return f"is stored in {made.format.name}, whose elements share scales: there is no atomic for it"
    if mask is None or label not in (mask.query, mask.key):
        return ""
    if op.function not in SUMS:
        return f"is a {op.function} masked over {label!r}: rows without a key would hold no number"
    looped = {name for name, _ in tiling.stream} & {mask.query, mask.key} & set(op.reduced)
    return f"is masked over {label!r} and loops over {min(looped)!r} in its blocks" if looped else ""


def visits_added(tiled: Tiled, need: Need) -> Visits | None:
    """The masked tiles whose blocks alone add to a result; None where all blocks do.

    >>> from perfmodel import attention, fuse, tile
    >>> p = tile(attention(8, 8, 4, causal=True), grid={"q": 4, "kv": 4}, atomic=["kv"], only="values")
    >>> tiled = p.counted[-1].tiled
    >>> visits_added(tiled, tiled.needs[0]).number  # of 2 x 2 tiles one has no pair
    3
    """
    mask = need.op.mask
    if mask is None or not {mask.query, mask.key} & set(tiled.added(need)):
        return None
    visits = tiled.visits(need)
    return visits if visits is not None and tiled.by_visits(visits, tiled.loops) else None


def moved_by_adding(tiled: Tiled, need: Need, once: tuple[Size, Size]) -> list[tuple[str, Size, Size]]:
    """What combining in memory reads and writes: elements and bytes; ``once`` is what the whole result has.

    Each block reads its part and writes it; before, the whole is written once (zeros), unless an outer tile goes on
    with a sum.

    >>> from perfmodel import matmul, tile
    >>> tiled = tile(matmul(4, 4, 10), grid={"k": 3}, atomic=["k"]).counted[0].tiled
    >>> moved_by_adding(tiled, tiled.needs[0], (16, 32))
    [('read', 64, 128), ('write', 80, 160)]
    """
    from perfmodel.graph.schedules import Load
    from perfmodel.graph.visited import visited_cost

    tensor, visits = need.op.output.tensor, visits_added(tiled, need)
    part = once if visits is None else visited_cost(Load(tensor, tiled.own(need.op)), visits, tiled.trips)
    seen = () if visits is None else visits.labels
    times = product([tiled.trips[label].count for label in tiled.added(need) if label not in seen])
    elements, size = [product([times, amount]) for amount in part]
    if tensor.name in tiled.updated:
        return [("read", elements, size), ("write", elements, size)]
    return [("read", elements, size), ("write", total([elements, once[0]]), total([size, once[1]]))]
