"""Counting by two rules: work per point times points, and one transfer per tensor and kernel.

The traffic rule: a tensor that crosses a kernel boundary is written once by the kernel that makes it and
read once by each kernel that uses it; a tensor that stays inside a kernel costs nothing at this level.
A multiply-add is two FLOPs; a reduction over n points is n (it starts from the identity).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from typing import NamedTuple

from perfmodel.expressions import Size, product, smallest, total
from perfmodel.graph.functions import FUNCTIONS
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Op
from perfmodel.graph.operands import Given
from perfmodel.graph.paddings import valid_extents, valid_results
from perfmodel.graph.regions import Region, access_region, joined, output_region, region_bytes
from perfmodel.graph.splits import bound_indices, counted_extents, key_bound, mask_extents, unmasked_extents
from perfmodel.number_formats import Format

Cost = tuple[Size, Size, str]  # elements, bytes, and what is not exact about them


class Work(NamedTuple):
    """Operations of one op on one kind of unit: FLOPs, or special operations on the special unit.

    >>> from perfmodel.number_formats import format
    >>> Work("matrix", format("bf16"), format("fp32"), 2 * 4 * 4 * 4).unit
    'matrix'
    """

    unit: str  # "matrix", "vector" or "special"
    compute: Format
    accumulate: Format
    operations: Size


class Transfer(NamedTuple):
    """One tensor crossing the boundary of one kernel, once: elements and bytes.

    >>> Transfer("exp", "x", "read", 64, 128).bytes
    128
    """

    kernel: str
    tensor: str
    direction: str  # "read" or "write"
    elements: Size
    bytes: Size
    note: str = ""


def points(op: Op) -> Size:
    """The valid points of an op's iteration space: masked-out points and padding are not counted.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> points(mapped("exp", tensor("x", {"i": 4, "j": 8})).producer)
    32
    """
    if op.mask is None and not op.padded and not bound_indices(op):
        return product([axis.extent for axis in op.space])
    if op.mask is not None and key_bound(op) is not None:
        return product([op.mask.pairs(*mask_extents(op, op.mask)), *unmasked_extents(op, op.mask).values()])
    extents = counted_extents(op) if bound_indices(op) else valid_extents(op)
    if op.mask is None:
        return product(list(extents.values()))
    pairs = op.mask.pairs(extents.pop(op.mask.query), extents.pop(op.mask.key))
    return product([pairs, *extents.values()])


def issued_points(op: Op) -> Size:
    """The points that hardware visits for an untiled op: the hull of the masked space, and padding.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> issued_points(mapped("exp", tensor("x", {"i": 4, "j": 8})).producer)
    32
    """
    if op.mask is None:
        return product([axis.extent for axis in op.space])
    extents, (queries, keys) = dict(op.space), mask_extents(op, op.mask)
    first_row, last_row = op.mask.rows(queries, keys)
    del extents[op.mask.query]
    if key_bound(op) is not None:  # all parts, whole
        return product([last_row - first_row, *extents.values()])
    del extents[op.mask.key]
    first_key, last_key = op.mask.columns(queries, keys)
    return product([last_row - first_row, last_key - first_key, *extents.values()])


def macs(op: Op) -> Size:
    """Multiply-accumulates: the points of a contraction, and 0 for any other op.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> macs(mapped("exp", tensor("x", {"i": 4})).producer)
    0
    """
    return points(op) if op.kind == "contract" else 0


def work(op: Op, visited: Size | None = None, results: Size | None = None) -> tuple[Work, ...]:
    """What an op does on each unit, at its valid points or at ``visited`` points.

    A contraction of t tensors costs t FLOPs a point (t - 1 multiplies and an add). ``results`` is how many results
    it completes: those that are valid, or, at ``visited`` points, all of its output.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> [(w.unit, w.operations) for w in work(mapped("silu", tensor("x", {"i": 4})).producer)]
    [('vector', 4), ('special', 4)]
    """
    count = points(op) if visited is None else visited
    if op.kind == "contract":
        return (Work("matrix", op.compute, op.accumulate, len(op.inputs) * count),)
    if op.kind == "reduce":
        every = valid_results(op) if visited is None else product(op.output.tensor.extents)
        made = every if results is None else results
        divisions = made if op.function == "mean" else 0
        return (Work("vector", op.compute, op.accumulate, total([count, divisions])),)
    if op.given is not None:
        given = ((op.function, op.given.flops), ("special", op.given.special))
        return tuple([Work(unit, op.compute, op.accumulate, number) for unit, number in given if number != 0])
    function = FUNCTIONS[op.function]
    found = []
    if function.flops:
        found.append(Work("vector", op.compute, op.accumulate, function.flops * count))
    if function.special:
        found.append(Work("special", op.compute, op.accumulate, function.special * count))
    return tuple(found)


def transfers(kernel: Kernel, leaving: Collection[str]) -> tuple[Transfer, ...]:
    """What crosses the boundary of one kernel, once: reads first, then writes.

    ``leaving`` names the tensors made here that another kernel or the program's user needs.

    >>> from perfmodel.graph.kernels import Kernel
    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = mapped("exp", tensor("x", {"i": 4})).producer
    >>> [(t.tensor, t.direction, t.bytes) for t in transfers(Kernel("exp", (op,)), ["exp"])]
    [('x', 'read', 8), ('exp', 'write', 8)]
    """
    found = [Transfer(kernel.name, name, "read", *_loaded(each)) for name, each in read_regions(kernel).items()]
    for op in kernel.ops:
        name = op.output.tensor.name
        if op.given is not None:
            found += _given_transfers(kernel.name, name, op.given)
        elif name in leaving:
            found.append(Transfer(kernel.name, name, "write", *_cost(output_region(op))))
    return tuple(found)


def read_regions(kernel: Kernel) -> dict[str, list[Region]]:
    """The parts that the ops of a kernel read of each tensor that is not made in it, each once.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = mapped("exp", tensor("x", {"i": 4})).producer
    >>> {name: [region.elements for region in found] for name, found in read_regions(Kernel("exp", (op,))).items()}
    {'x': [4]}
    """
    made = {op.output.tensor.name for op in kernel.ops}
    read: dict[str, list[Region]] = {}
    for op in kernel.ops:
        for access in op.reads:
            name = access.tensor.name
            if name not in made:
                region = access_region(access, op)
                regions = read.setdefault(name, [])
                if region not in regions:
                    regions.append(region)
    return read


def _loaded(regions: Sequence[Region]) -> Cost:
    """What the regions of one tensor that a kernel reads cost together: look-ups, each index once, add to the rest."""
    if len(regions) == 1:
        return _cost(regions[0])
    costs = [_cost(region) for region in regions if region.gathers is not None]
    boxes = [region for region in regions if region.gathers is None]
    return _sum([_together(boxes), *costs] if boxes else costs)


def _together(boxes: Sequence[Region]) -> Cost:
    """The hull of parts that are loaded once, or their sum where that is less than a hull with gaps."""
    elements, size, note = _cost(reduce(joined, boxes))
    if not note or len(boxes) == 1:
        return elements, size, note
    apart = _sum([_cost(box) for box in boxes])
    return smallest(elements, apart[0]), smallest(size, apart[1]), note


def _sum(costs: Sequence[Cost]) -> Cost:
    note = next((note for _, _, note in costs if note), "")
    return total([elements for elements, _, _ in costs]), total([size for _, size, _ in costs]), note


def _cost(region: Region) -> Cost:
    if region.spans is None:
        tensor = region.tensor
        extents, form = tensor.extents, tensor.format
        elements = product(extents)
        return elements, form.bytes_of(extents) if form.block else form.bytes_of_elements(elements), ""
    return region.elements, region_bytes(region), region.note


def _given_transfers(kernel: str, name: str, given: Given) -> list[Transfer]:
    """The traffic of an opaque op, in bytes as they were given (its elements are bytes)."""
    pairs = (("read", given.bytes_read), ("write", given.bytes_written))
    return [Transfer(kernel, name, way, size, size) for way, size in pairs if size != 0]


def summed(works: Collection[Work], units: Collection[str]) -> Size:
    """The operations of some units together.

    >>> from perfmodel.number_formats import format
    >>> bf16, fp32 = format("bf16"), format("fp32")
    >>> summed([Work("matrix", bf16, fp32, 4), Work("special", bf16, fp32, 2)], ["matrix", "vector"])
    4
    """
    return total([item.operations for item in works if item.unit in units])
