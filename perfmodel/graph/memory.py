"""What must be held: by one kernel at once, and by device memory over the program's run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from perfmodel.expressions import Size, largest, product, total
from perfmodel.graph.counting import Transfer
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Tensor

Row = tuple[str, str, Size]  # role, tensor, bytes


def tensor_bytes(tensor: Tensor) -> Size:
    """Bytes of a whole tensor as it is stored.

    >>> from perfmodel.graph.nodes import tensor
    >>> tensor_bytes(tensor("x", {"i": 4}, dtype="fp32"))
    16
    """
    return tensor.format.bytes_of(tensor.extents)


def footprint_rows(kernel: Kernel, moved: Sequence[Transfer]) -> list[Row]:
    """What one run of an untiled kernel holds: its inputs, its outputs, and intermediates at their peak.

    >>> footprint_rows(Kernel("empty", ()), ())
    []
    """
    roles = {"read": "input", "write": "output"}
    rows: list[Row] = [(roles[item.direction], item.tensor, item.bytes) for item in moved]
    written = {item.tensor for item in moved if item.direction == "write"}
    inside = {op.output.tensor.name: op.output.tensor for op in kernel.ops if op.output.tensor.name not in written}
    uses = [(op.output.tensor.name, [access.tensor.name for access in op.reads]) for op in kernel.ops]
    rows += [("intermediate", name, tensor_bytes(inside[name])) for name in _peak(uses, inside)]
    return rows


def _peak(uses: Sequence[tuple[str, Sequence[str]]], inside: Mapping[str, Tensor]) -> list[str]:
    """The intermediates alive at the step where they are largest together (the first, if symbolic)."""
    last = {name: step for step, (_, reads) in enumerate(uses) for name in reads if name in inside}
    alive: list[str] = []
    best: list[str] = []
    best_bytes: Size = 0
    for step, (made, _) in enumerate(uses):
        alive += [made] if made in inside else []
        held = total([tensor_bytes(inside[name]) for name in alive])
        if _surely_more(held, best_bytes):
            best, best_bytes = list(alive), held
        alive = [name for name in alive if last.get(name, step) > step]
    return best


def _surely_more(a: Size, b: Size) -> bool:
    difference = a - b
    return difference > 0 if isinstance(difference, int) else difference.is_nonpositive is not True


def memory_rows(
    kernels: Sequence[Kernel], tensors: Mapping[str, Tensor], outputs: Collection[str], shared: Collection[str]
) -> list[list[Row]]:
    """What is alive in device memory while each kernel runs.

    Inputs stay for the whole run, once for each repetition that has its own; outputs from the kernel that
    makes them; an intermediate from the kernel that makes it to the last that reads it.

    >>> memory_rows([], {}, [], [])
    []
    """
    made_in = {name: place for place, kernel in enumerate(kernels) for name in kernel.made}
    last_read = {name: place for place, kernel in enumerate(kernels) for name in kernel.needed}
    inputs: list[Row] = []
    for name in last_read:
        if name not in made_in:
            copies = 1 if name in shared else largest(*[k.repeat for k in kernels if name in k.needed])
            inputs.append(("input", name, product([copies, tensor_bytes(tensors[name])])))
    found = []
    for place in range(len(kernels)):
        rows = list(inputs)
        for name, start in made_in.items():
            if name in outputs and start <= place:
                copies = 1 if name in shared else kernels[start].repeat
                rows.append(("output", name, product([copies, tensor_bytes(tensors[name])])))
            elif start <= place <= last_read.get(name, -1):
                rows.append(("intermediate", name, tensor_bytes(tensors[name])))
        found.append(rows)
    return found


def most(groups: Sequence[Sequence[Row]]) -> Size:
    """The largest total of any group of rows.

    >>> most([[("input", "x", 4)], [("input", "x", 4), ("output", "y", 8)]])
    12
    """
    totals = list(dict.fromkeys([total([size for _, _, size in rows]) for rows in groups]))
    return largest(*totals) if totals else 0
