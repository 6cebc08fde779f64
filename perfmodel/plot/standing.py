"""Where a program stands under a roof, and whether a chip could hold it as it is staged."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from perfmodel.catalogue import Machine
from perfmodel.errors import MachineError
from perfmodel.estimation import estimate
from perfmodel.expressions import is_concrete, total
from perfmodel.graph.kernel_counts import KernelCount
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.programs import Program


class Standing(NamedTuple):
    """A program's place: FLOP/B and FLOP/s of the peak that its work needs longest, and that peak.

    >>> Standing(1.0, 2.0, "matrix bf16", 4.0).roof
    4.0
    """

    intensity: float
    flops_per_s: float
    resource: str  # "" where its rate is not known
    roof: float


def standing(program: Program, chip: Machine, effects: Any, peak: float) -> Standing:
    """Where a program stands: only the FLOPs that run at the peak that they need longest count, so that no point can
    stand above the roof of that peak. What has no known rate stands where memory allows, up to ``peak``;
    ``MachineError`` beyond, and for contractions without a rate.

    >>> from perfmodel import attention, fuse, machine
    >>> found = standing(fuse(attention(4096, 4096, 128)), machine("h100-sxm"), "ideal", 989.4e12)
    >>> found.intensity, found.flops_per_s <= found.roof  # two contractions of 2 * 4096^2 * 128; four tensors once
    (2048.0, True)
    """
    found = estimate(program, chip, effects=effects)
    sums: dict[str, tuple[float, float]] = {}  # FLOPs and their rate by resource
    for kernel in found.kernels:
        for term in kernel.roofline.terms:
            if term.unit in ("matrix", "vector") and term.amount != 0:
                before = sums.get(term.resource, (0.0, 0.0))[0]
                sums[term.resource] = (before + float(term.amount) * float(kernel.repeat), float(term.rate))
    missing = [text for kernel in found.kernels for text in kernel.roofline.unknown if not text.startswith("special")]
    if not sums and found.flops_per_s <= peak:  # as fast as memory brings it
        return Standing(float(program.intensity), float(found.flops_per_s), "", peak)
    if not sums or any(text.startswith("matrix") for text in missing):
        raise MachineError(f"roofline: {program.name} has no place under the roof of {chip.name}: {missing[0]}")
    name, (flops, rate) = max(sums.items(), key=lambda item: item[1][0] / item[1][1])
    return Standing(flops / float(program.bytes), flops / float(found.time_s), name, rate)


def too_large(program: Program, chip: Machine) -> int | None:
    """Bytes that a block needs where no unit of the chip has room for them; None where all fit, or nobody knows.

    A kernel without tiles is one block, which holds what its ops hand on and what it would otherwise read again;
    labels that all it reads and writes carry are cut for nothing. A single op without tiles hands nothing on.

    >>> from perfmodel import attention, fuse, machine
    >>> p = attention(4096, 4096, 128)
    >>> too_large(fuse(p, by="stage"), machine("h100-sxm")), too_large(fuse(p), machine("h100-sxm"))
    (None, 71311360)
    """
    over = [held for each in program.counted for held, room in _blocks(each, chip) if room is not None and held > room]
    return max(over, default=None)


def _blocks(count: KernelCount, chip: Machine) -> list[tuple[int, int | None]]:
    """What a block holds at each level that the kernel is tiled at, and the room there."""
    kernel = count.kernel
    if kernel.tiles:
        held = [(name, total([size for _, _, size in rows])) for name, rows in count.held_by_level]
        return [(int(size), _room(name, chip)) for name, size in held if is_concrete(size)]
    alone = len(kernel.ops) < 2 or not is_concrete(count.held_bytes)
    return [] if alone else [(-(-int(count.held_bytes) // _pieces(kernel)), _room("", chip))]


def _pieces(kernel: Kernel) -> int:
    """Blocks that an untiled kernel can be cut into and move no more: along labels of all that it reads and writes."""
    made, needed = set(kernel.made), set(kernel.needed)
    reads = [access.tensor for op in kernel.ops for access in op.reads]
    inside = {tensor.name for tensor in reads} & made
    crossing = [tensor for tensor in reads if tensor.name in needed]
    crossing += [op.output.tensor for op in kernel.ops if op.output.tensor.name not in inside]
    reduced = {label for op in kernel.ops for label in op.reduced}
    free = set.intersection(*[set(tensor.labels) for tensor in crossing]) - reduced
    first = crossing[0]
    return prod([int(extent) for label, extent in zip(first.labels, first.extents, strict=True) if label in free])


def _room(level: str, chip: Machine) -> int | None:
    """Bytes of a level, or of the largest memory of a unit where the chip has no such level."""
    named = [each for each in chip.levels if each.name == level]
    levels = named or [each for each in chip.levels if each.scope == "unit"]
    return max([each.capacity_bytes for each in levels if isinstance(each.capacity_bytes, int)], default=None)
