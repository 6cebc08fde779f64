"""A second opinion on counts: a small program is walked kernel by kernel, op by op, point by point.

Written from the rules alone (what a kernel reads, writes and does), with sets of elements in place of
closed forms; it shares with the library only what a program is made of and ``Mask.allows``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

from perfmodel.graph.indexing import Affine, Gathered
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.programs import Program

Point = dict[str, int]
Element = tuple[Any, ...]  # a place along each axis; a look-up stands for itself: ("ids", (3,))

ONE_FLOP = {
    "add", "sub", "mul", "div", "max", "min", "neg", "abs", "square", "reciprocal", "sign", "floor", "ceil", "round",
    "relu", "where", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
}  # fmt: skip
ONE_SPECIAL = {
    "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan", "tanh", "erf",
    "sigmoid", "pow",
}  # fmt: skip
COMPOSITE = {"silu": (1, 1), "gelu": (4, 1), "softplus": (1, 2), "copy": (0, 0)}  # FLOPs, special operations


@dataclass
class Counts:
    """What was counted; ``moved`` has elements and bytes of one run by kernel, tensor and direction."""

    operations: Counter[tuple[str, str]] = field(default_factory=Counter)  # by unit and compute format
    issued: int = 0
    macs: int = 0
    moved: dict[tuple[str, str, str], tuple[int, int]] = field(default_factory=dict)
    elements: Counter[str] = field(default_factory=Counter)  # by direction, repetitions included
    bytes: Counter[str] = field(default_factory=Counter)
    footprint_bytes: int = 0
    memory_bytes: int = 0

    def unit(self, name: str) -> int:
        """Operations of one unit, whatever the format."""
        return sum(number for (unit, _), number in self.operations.items() if unit == name)


def counted(program: Program) -> Counts:
    """Everything at once."""
    found = Counts()
    for kernel in program.kernels:
        for op in kernel.ops:
            _count_work(op, int(kernel.repeat), found)
        moved = _moved(kernel, program)
        for (name, direction), (elements, size) in moved.items():
            found.moved[kernel.name, name, direction] = (elements, size)
            found.elements[direction] += kernel.repeat * elements
            found.bytes[direction] += kernel.repeat * size
        held = sum(size for _, size in moved.values()) + _intermediate_peak(kernel, program)
        found.footprint_bytes = max(found.footprint_bytes, held)
    found.memory_bytes = _memory_peak(program)
    return found


def differences(program: Program) -> dict[Any, tuple[Any, Any]]:
    """What a program says of itself beside what was counted, where they differ: empty if all is well.

    A transfer with a remark says that it counts a hull; that, and what it goes into, may only be too large.
    """
    found = counted(program)
    said = {(t.kernel, t.tensor, t.direction): t for item in program.counted for t in item.transfers}
    wrong: dict[Any, tuple[Any, Any]] = {}
    for key in said.keys() | found.moved.keys():
        ours = (said[key].elements, said[key].bytes) if key in said else (0, 0)
        theirs = found.moved.get(key, (0, 0))
        noted = key in said and bool(said[key].note)
        if not (ours == theirs or (noted and ours[0] >= theirs[0] and ours[1] >= theirs[1])):
            wrong[key] = (ours, theirs)
    hulls = any(transfer.note for transfer in said.values())
    for name, (one, other) in _totals(program, found).items():
        if not (one == other or (hulls and name in MOVED and one >= other)):
            wrong[name] = (one, other)
    return wrong


MOVED = ("bytes_read", "bytes_written", "elements_read", "elements_written", "footprint_bytes")


def _totals(program: Program, found: Counts) -> dict[str, tuple[Any, Any]]:
    operations = {key: number for key, number in program.flops_by_format.items() if number}
    counted_operations = {key: number for key, number in found.operations.items() if number}
    return {
        "flops": (program.flops, found.unit("matrix") + found.unit("vector")),
        "flops_by_unit": (program.flops_by_unit, {unit: found.unit(unit) for unit in ("matrix", "vector", "special")}),
        "flops_by_format": (operations, counted_operations),
        "issued_flops": (program.issued_flops, found.issued),
        "macs": (program.macs, found.macs),
        "bytes_read": (program.bytes_read, found.bytes["read"]),
        "bytes_written": (program.bytes_written, found.bytes["write"]),
        "elements_read": (program.elements_read, found.elements["read"]),
        "elements_written": (program.elements_written, found.elements["write"]),
        "footprint_bytes": (program.footprint_bytes, found.footprint_bytes),
        "memory_bytes": (program.memory_bytes, found.memory_bytes),
    }


# work


def visited(op: Op) -> list[Point]:
    """Every point of the op's space, masked ones too."""
    labels = [axis.label for axis in op.space]
    return [dict(zip(labels, place, strict=True)) for place in product(*[range(axis.extent) for axis in op.space])]


def valid(op: Op) -> list[Point]:
    """The points that the mask allows."""
    if op.mask is None:
        return visited(op)
    query, key, extents = op.mask.query, op.mask.key, dict(op.space)
    return [at for at in visited(op) if op.mask.allows(at[query], at[key], extents[query], extents[key])]


def _hull_points(op: Op) -> int:
    """Points of the smallest box around the valid ones (only the mask's two axes can shrink)."""
    if op.mask is None:
        return len(visited(op))
    points = valid(op)
    bounds = {label: _hull([at[label] for at in points]) for label in (op.mask.query, op.mask.key)}
    return sum(1 for at in visited(op) if all(at[label] in bound for label, bound in bounds.items()))


def _hull(places: list[int]) -> range:
    return range(min(places), max(places) + 1) if places else range(0)


def _count_work(op: Op, repeat: int, found: Counts) -> None:
    points = len(valid(op))
    if op.kind == "contract":
        found.macs += repeat * points
    for unit, number in _operations(op, points).items():
        found.operations[unit, op.compute.name] += repeat * number
    issued = _operations(op, _hull_points(op))
    found.issued += repeat * sum(number for unit, number in issued.items() if unit != "special")


def _operations(op: Op, points: int) -> dict[str, int]:
    """FLOPs and special operations of one op that does its work at so many points."""
    if op.given is not None:
        return {op.function: op.given.flops, "special": op.given.special}
    if op.kind == "contract":
        multiplies, adds = len(op.inputs) - 1, 1
        return {"matrix": points * (multiplies + adds)}
    if op.kind == "reduce":
        kept = [label for label in op.output.index if isinstance(label, str)]
        results = {tuple(at[label] for label in kept) for at in visited(op)}
        return {"vector": points + (len(results) if op.function == "mean" else 0)}
    if op.function in COMPOSITE:
        flops, special = COMPOSITE[op.function]
        return {"vector": flops * points, "special": special * points}
    if op.function in ONE_SPECIAL:
        return {"special": points}
    assert op.function in ONE_FLOP, op.function
    return {"vector": points}


# traffic


def _moved(kernel: Kernel, program: Program) -> dict[tuple[str, str], tuple[int, int]]:
    """Elements and bytes that cross the kernel's boundary in one run, by tensor and direction."""
    made = {op.output.tensor.name for op in kernel.ops}
    sets: dict[tuple[str, str], set[Element]] = {}
    tensors: dict[str, Tensor] = {}
    given: dict[tuple[str, str], tuple[int, int]] = {}
    for op in kernel.ops:
        for access in op.reads:
            if access.tensor.name not in made:
                tensors[access.tensor.name] = access.tensor
                sets.setdefault((access.tensor.name, "read"), set()).update(touched(access, op))
        name = op.output.tensor.name
        if op.given is not None:
            given[name, "read"] = (op.given.bytes_read, op.given.bytes_read)
            given[name, "write"] = (op.given.bytes_written, op.given.bytes_written)
        elif name in program.returned or _read_elsewhere(name, kernel, program):
            tensors[name] = op.output.tensor
            sets[name, "write"] = _written(op)
    counts = {key: _cost(tensors[key[0]], found) for key, found in sets.items()}
    return {**counts, **{key: pair for key, pair in given.items() if pair != (0, 0)}}


def _cost(tensor: Tensor, elements: set[Element]) -> tuple[int, int]:
    """Elements and bytes: what is read by place, and what each index looks up, is loaded apart."""
    apart: dict[tuple[str, ...], set[Element]] = {}
    for element in elements:
        looked_up_by = tuple(place[0] for place in element if isinstance(place, tuple))
        apart.setdefault(looked_up_by, set()).add(element)
    return len(elements), sum(stored_bytes(tensor, found) for found in apart.values())


def _read_elsewhere(name: str, kernel: Kernel, program: Program) -> bool:
    others = [op for other in program.kernels if other is not kernel for op in other.ops]
    return any(access.tensor.name == name for op in others for access in op.reads)


def touched(access: Access, op: Op) -> set[Element]:
    """The elements that an op asks for, along the axes of a mask their hull; padding is not read."""
    found = {element for at in valid(op) if (element := _element(access, at)) is not None}
    limited = [] if op.mask is None else [op.mask.query, op.mask.key]
    for axis, index in enumerate(access.index):
        if isinstance(index, str) and index in limited:
            bound = _hull([element[axis] for element in found])
            found = {(*element[:axis], place, *element[axis + 1 :]) for element in found for place in bound}
    return found


def _element(access: Access, at: Point) -> Element | None:
    places: list[Any] = []
    for axis, index in zip(access.tensor.axes, access.index, strict=True):
        if isinstance(index, Gathered):
            places.append((index.by, tuple(at[label] for label in index.labels)))
            continue
        place = at[index] if isinstance(index, str) else _affine(index, at)
        if not 0 <= place < axis.extent:
            return None
        places.append(place)
    return tuple(places)


def _affine(index: Affine, at: Point) -> int:
    place = index.offset + sum(step * at[label] for label, step in index.terms)
    return int(place if index.modulo is None else place % index.modulo)


def _written(op: Op) -> set[Element]:
    """All of the output; where a mask lies over it, the hull (a row without keys still gets its zero)."""
    labels = op.output.tensor.labels
    if op.mask is not None and {op.mask.query, op.mask.key} <= set(labels):
        return touched(op.output, op)
    if not set(labels) <= {axis.label for axis in op.space}:  # added into places: zero where nothing is added
        return set(product(*[range(int(extent)) for extent in op.output.tensor.extents]))
    return {tuple(at[label] for label in labels) for at in visited(op)}


def stored_bytes(tensor: Tensor, elements: set[Element]) -> int:
    """Bytes of elements: their bits, and the scale of each block of a row that they touch."""
    form = tensor.format
    bits = Fraction(form.bits) * len(elements)
    if form.block is not None:
        bits += (form.scale_bits + form.zero_bits) * len({_block(element, form.block) for element in elements})
    return math.ceil(bits / 8)


def _block(element: Element, block: int) -> Element:
    """Where the element's scale stands: blocks run along the last axis."""
    if not element:
        return ()
    last = element[-1]
    return (*element[:-1], last // block if isinstance(last, int) else last)


def whole(tensor: Tensor) -> int:
    """Bytes of all of a tensor."""
    return stored_bytes(tensor, set(product(*[range(extent) for extent in tensor.extents])))


# memory


def _intermediate_peak(kernel: Kernel, program: Program) -> int:
    """The most that results which never leave the kernel take at once, each from its making to its last use."""
    peak = 0
    for step, _ in enumerate(kernel.ops):
        held = 0
        for start, op in enumerate(kernel.ops):
            name = op.output.tensor.name
            if op.given is not None or name in program.returned or _read_elsewhere(name, kernel, program):
                continue
            uses = [use for use, user in enumerate(kernel.ops) if name in _names_read(user)]
            if start <= step <= max(uses, default=start):
                held += whole(op.output.tensor)
        peak = max(peak, held)
    return peak


def _names_read(op: Op) -> set[str]:
    return {access.tensor.name for access in op.reads}


def _needs(kernel: Kernel) -> set[str]:
    made = {op.output.tensor.name for op in kernel.ops}
    return {name for op in kernel.ops for name in _names_read(op)} - made


def _memory_peak(program: Program) -> int:
    """The most that is alive while any one kernel runs."""
    return max((sum(_alive(program, place)) for place in range(len(program.kernels))), default=0)


def _alive(program: Program, place: int) -> Iterator[int]:
    """Bytes of each tensor in device memory while the kernel at this place runs."""
    kernels = program.kernels
    for item in program.inputs:
        readers = [int(kernel.repeat) for kernel in kernels if item.name in _needs(kernel)]
        yield whole(item) * (1 if item.name in program.shared else max(readers))
    for start, kernel in enumerate(kernels):
        for op in kernel.ops:
            made = op.output.tensor
            uses = [use for use, user in enumerate(kernels) if made.name in _needs(user)]
            if op.given is not None:
                yield op.given.bytes_read + (op.given.bytes_written if start <= place else 0)
            elif made.name in program.returned and start <= place:
                yield whole(made) * (1 if made.name in program.shared else int(kernel.repeat))
            elif start <= place <= max(uses, default=-1):
                later = kernels[max(uses)].section > kernel.section  # every repetition's own, until the later section
                yield whole(made) * (int(kernel.repeat) if later else 1)
