"""What must be held: by one kernel at once, and by device memory over the program's run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import sympy

from perfmodel.expressions import Size, as_size, product, total
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
    kept = [op.output.tensor for op in kernel.ops if op.given is None and op.output.tensor.name not in written]
    return [*rows, *_peak(kernel, {tensor.name: tensor_bytes(tensor) for tensor in kept})]


def _peak(kernel: Kernel, inside: Mapping[str, Size]) -> list[Row]:
    """The intermediates alive at the step where they take most together.

    Where it depends on the symbols which step that is, one row stands for all that may be.
    """
    last = {access.tensor.name: step for step, op in enumerate(kernel.ops) for access in op.reads}
    peaks: dict[Size, list[str]] = {}
    alive: list[str] = []
    for step, op in enumerate(kernel.ops):
        made = op.output.tensor.name
        alive += [made] if made in inside else []
        peaks.setdefault(total([inside[name] for name in alive]), list(alive))
        alive = [name for name in alive if last.get(name, step) > step]
    candidates = not_dominated(peaks)
    if len(candidates) > 1:
        return [("intermediate", " or ".join(" + ".join(peaks[size]) for size in candidates), most(candidates))]
    return [("intermediate", name, inside[name]) for size in candidates for name in peaks[size]]


def memory_rows(
    kernels: Sequence[Kernel], tensors: Mapping[str, Tensor], outputs: Collection[str], shared: Collection[str]
) -> tuple[list[Row], list[list[Row]]]:
    """What is alive in device memory: all along, and beside that while each kernel runs.

    Inputs stay for the whole run, once for each repetition that has its own; outputs from the kernel that
    makes them; an intermediate from the kernel that makes it to the last that reads it, and once for each repetition
    where that is in a later section (the layers of a forward pass end before the backward one begins; while a
    repeated kernel runs, all of them are taken to be there). What a kernel spills is there while it runs. An opaque op
    is taken to hold what one run of it reads and writes.

    >>> memory_rows([], {}, [], [])
    ([], [])
    """
    last_read = {name: place for place, kernel in enumerate(kernels) for name in kernel.needed}
    resident: dict[str, Size] = dict(_inputs(kernels, tensors, shared))
    alive: dict[tuple[str, str], Size] = {}
    found = []
    for place, kernel in enumerate(kernels):
        for name in kernel.made:
            if name in outputs:
                copies = 1 if name in shared else kernel.repeat
                alive["output", name] = product([copies, tensor_bytes(tensors[name])])
            elif name in last_read:
                copies = kernel.repeat if kernels[last_read[name]].section > kernel.section else 1
                alive["intermediate", name] = product([copies, tensor_bytes(tensors[name])])
        alive.update({("output", op.output.tensor.name): op.given.bytes_written for op in kernel.ops if op.given})
        rows = [(role, name, size) for (role, name), size in alive.items() if size != 0]
        found.append([*rows, *_spilled(kernel, {name for _, name in alive})])
        for role, name in [key for key in alive if key[0] == "intermediate" and last_read[key[1]] <= place]:
            del alive[role, name]
    return [("input", name, size) for name, size in resident.items() if size != 0], found


def _spilled(kernel: Kernel, known: Collection[str]) -> list[Row]:
    """What a kernel spills and nothing else reads: it lies in memory while the kernel runs."""
    made = {op.output.tensor.name: op.output.tensor for op in kernel.ops}
    names = [name for tiling in kernel.tiles[:1] for name in tiling.spill if name not in known]
    return [("intermediate", name, tensor_bytes(made[name])) for name in names]


def peak_rows(
    names: Sequence[str], resident: list[Row], beside: Sequence[list[Row]]
) -> list[tuple[str, str, str, Size]]:
    """What is alive while the kernel runs at which most is: kernel, role, tensor, bytes.

    Of several such kernels the first; where the symbols decide which it is, all that may be.

    >>> peak_rows(["a", "b"], [("input", "x", 4)], [[], [("output", "y", 8)]])
    [('b', 'input', 'x', 4), ('b', 'output', 'y', 8)]
    """
    totals = [total_held(rows) for rows in beside]
    places = [totals.index(size) for size in not_dominated(totals)]
    return [(names[place], *row) for place in sorted(places) for row in (*resident, *beside[place])]


def saved_rows(kernels: Sequence[Kernel], tensors: Mapping[str, Tensor]) -> list[tuple[str, str, Size, str, str]]:
    """What a section reads that was made, or read already, in an earlier one: tensor, role, bytes, and by whom.

    >>> from perfmodel import elementwise, fuse, grad
    >>> fuse(grad(elementwise("sigmoid(x) * w", 64))).saved
    saved
    tensor   role   bytes  made by      read by
    w        input    128               elementwise_2
    sigmoid  value    128  elementwise  elementwise_2
    """
    first: dict[str, int] = {}
    maker: dict[str, str] = {}
    readers: dict[str, list[str]] = {}
    for kernel in kernels:
        for name in (*kernel.needed, *kernel.made):
            first.setdefault(name, kernel.section)
        maker.update(dict.fromkeys(kernel.made, kernel.name))
        for name in kernel.needed:
            if kernel.section > first[name]:
                readers.setdefault(name, []).append(kernel.name)
    return [
        (
            name,
            "value" if name in maker else "input",
            tensor_bytes(tensors[name]),
            maker.get(name, ""),
            ", ".join(found),
        )
        for name, found in readers.items()
    ]


def _inputs(
    kernels: Sequence[Kernel], tensors: Mapping[str, Tensor], shared: Collection[str]
) -> Iterable[tuple[str, Size]]:
    made = {name for kernel in kernels for name in kernel.made}
    repeats: dict[str, dict[Size, None]] = {}
    for kernel in kernels:
        for name in kernel.needed:
            repeats.setdefault(name, {})[kernel.repeat] = None
        yield from [(op.output.tensor.name, op.given.bytes_read) for op in kernel.ops if op.given]
    for name, found in repeats.items():
        if name not in made:
            copies = 1 if name in shared else most(found)
            yield name, product([copies, tensor_bytes(tensors[name])])


def total_held(rows: Iterable[Row]) -> Size:
    """The bytes of rows together.

    >>> total_held([("input", "x", 4), ("output", "y", 8)])
    12
    """
    return total([size for _, _, size in rows])


def most(sizes: Iterable[Size]) -> Size:
    """The largest size; a ``Max`` only of those of which none is known to be the largest. 0 for none.

    >>> n, m = sympy.symbols("n m", integer=True, positive=True)
    >>> most([4, 12, 8]), most([n, n * m, n * m + 2]), most([n, m])
    (12, m*n + 2, Max(m, n))
    """
    kept = not_dominated(sizes)
    return as_size(sympy.Max(*kept, evaluate=False)) if len(kept) > 1 else kept[0] if kept else 0


def not_dominated(sizes: Iterable[Size]) -> list[Size]:
    """The sizes without those that some other is never less than.

    >>> n, m = sympy.symbols("n m", integer=True, positive=True)
    >>> not_dominated([4, 12, 8]), not_dominated([n, n * m, m])
    ([12], [m*n])
    """
    kept: list[Size] = []
    for size in dict.fromkeys(sizes):
        if not any(_never_less(other, size) for other in kept):
            kept = [*[other for other in kept if not _never_less(size, other)], size]
    return kept


def _never_less(one: Size, other: Size) -> bool:
    """Whether ``one >= other`` is known, however each ``Max`` and ``Min`` in them comes out."""
    gap = one - other
    if isinstance(gap, int):
        return gap >= 0
    choice = next(iter(gap.atoms(sympy.Max, sympy.Min)), None)
    if choice is None:
        return _no_negative_term(gap)
    return all(_never_less(gap.xreplace({choice: argument}), 0) for argument in choice.args)


def _no_negative_term(gap: sympy.Expr) -> bool:
    """Whether each negative term is outweighed by a positive one that has all its factors (symbols are 1 or more)."""
    terms = [term.as_coeff_Mul() for term in sympy.Add.make_args(sympy.expand(gap))]
    spare = {rest: number for number, rest in terms if number > 0}
    if not all(_is_nonnegative(rest) for rest in spare):
        return False
    for number, rest in terms:
        for other in spare if number < 0 else ():
            if _is_multiple(other, rest):
                used = min(spare[other], -number)
                spare[other] -= used
                number += used
        if number < 0:
            return False
    return True


def _is_nonnegative(term: sympy.Expr) -> bool:
    """Whether a product is 0 or more. As a rule its factors are, and of these sympy knows it already."""
    return all(factor.is_nonnegative for factor in sympy.Mul.make_args(term)) or bool(term.is_nonnegative)


def _is_multiple(product: sympy.Expr, factor: sympy.Expr) -> bool:
    """Whether one product of sizes has all the factors of another."""
    rest = (product / factor).as_powers_dict()
    return all(power.is_nonnegative and base.is_integer and base.is_positive for base, power in rest.items())
