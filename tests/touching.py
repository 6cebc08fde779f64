"""What ops touch of their tensors, run through point by point: the oracle of the tests of regions."""

from __future__ import annotations

import itertools
import math
from typing import Any

from hypothesis import strategies as st

from perfmodel.expressions import Size
from perfmodel.graph.building import gather, reduced, window
from perfmodel.graph.indexing import Affine
from perfmodel.graph.masks import Mask
from perfmodel.graph.nodes import Access, Op, Tensor, tensor
from perfmodel.graph.regions import Region, access_region
from perfmodel.graph.tracing import program
from perfmodel.number_formats import Format
from perfmodel.transforms import fuse

# extent, stride, taps, dilation, padding of one axis: dense, with gaps, ragged, dilated, padded, more padding than axis
GEOMETRIES = [
    (5, 1, 1, 1, 0), (5, 1, 3, 1, 1), (6, 2, 3, 1, 1), (7, 3, 2, 1, 0), (7, 3, 2, 1, 1), (8, 2, 3, 2, 2),
    (6, 1, 2, 3, 0), (9, 4, 1, 1, 0), (9, 4, 2, 2, 1), (1, 1, 1, 1, 0), (1, 3, 1, 1, 2), (2, 2, 3, 2, 3),
]  # fmt: skip
AXIS = st.tuples(st.integers(1, 30), st.integers(1, 5), st.integers(1, 5), st.integers(1, 4), st.integers(0, 5)).filter(
    lambda axis: axis[0] + 2 * axis[4] > axis[3] * (axis[2] - 1)
)


def op_of(made: Tensor) -> Op:
    """The op that made a tensor."""
    assert made.producer is not None
    return made.producer


def viewed(x: Tensor, label: str, axis: tuple[Any, ...], out: str, tap: str) -> Tensor:
    """A window along one label, by its geometry (the extent is the tensor's own)."""
    _, stride, taps, dilation, padding = axis
    return window(x, label, out, tap, taps, stride=stride, dilation=dilation, padding=padding)


def pooled(first: tuple[int, ...], second: tuple[int, ...], dtype: str | Format = "bf16") -> Op:
    """A sum over windows along two axes, beside a third axis."""
    x = tensor("x", {"c": 2, "h": first[0], "w": second[0]}, dtype)
    seen = viewed(viewed(x, "h", first, "p", "r"), "w", second, "q", "s")
    return op_of(reduced("sum", seen, ("r", "s")))


def place(index: Any, point: dict[str, int]) -> int:
    """Where an index points, from the values of the labels."""
    if isinstance(index, str):
        return point[index]
    assert isinstance(index, Affine)
    found = index.offset + sum(step * point[label] for label, step in index.terms)
    return found if index.modulo is None else found % index.modulo


def elements(op: Op, access: Access) -> set[tuple[int, ...]]:
    """The elements that an op touches at its valid points."""
    extents = dict(op.space)
    found = set()
    for values in itertools.product(*[range(extent) for extent in extents.values()]):
        point = dict(zip(extents, values, strict=True))
        mask = op.mask
        if mask is not None:
            sizes = extents[mask.query], extents[mask.key]
            if not mask.allows(point[mask.query], point[mask.key], *sizes):
                continue
        found.add(tuple([place(index, point) for index in access.index]))
    limits = access.tensor.extents
    return {element for element in found if all(0 <= at < size for at, size in zip(element, limits, strict=True))}


def hull(touched: set[tuple[int, ...]]) -> int:
    """The elements of the smallest box around the touched ones."""
    sides = [max(at) - min(at) + 1 for at in zip(*touched, strict=True)]
    return math.prod(sides) if touched else 0


def read(op: Op, place: int = 0) -> Region:
    """What the library says of one of the reads of an op."""
    return access_region(op.reads[place], op)


MASKS = st.builds(
    Mask,
    st.just("q"),
    st.just("kv"),
    st.none() | st.integers(0, 9),
    st.none() | st.integers(0, 9),
    st.none() | st.integers(1, 9),
    st.sampled_from(["end", "start"]),
)
EXTENTS = st.integers(1, 9)


def rows_of(table: Tensor, index: str, count: Size = 5, label: str = "t") -> Tensor:
    """Rows of a table along its first axis, by an index of its own."""
    return gather(table, table.labels[0], tensor(index, {label: count}, dtype="int32"))


def fused_reads(*outputs: Tensor) -> dict[str, int]:
    """Elements that the outputs read of each tensor, in one kernel."""
    rows = fuse(program(*outputs)).traffic().rows
    return {row[1]: row[3] for row in rows if row[2] == "read"}
