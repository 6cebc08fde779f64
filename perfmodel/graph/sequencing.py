"""Programs one after another, with outputs of the first joined to inputs of the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfmodel.errors import DimensionError, FormatError, LabelError, did_you_mean, listed
from perfmodel.graph.indexing import fresh
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.programs import Program
from perfmodel.graph.rebinding import with_names


def sequence(*programs: Program, join: Mapping[str, str] | None = None, name: str | None = None) -> Program:
    """Programs run in order as one. ``join`` maps an output of an earlier one to an input of a later one.

    Joined axes take the earlier program's labels; other labels and tensors of the later one that would
    clash get names of their own (``n_2``, ``W_2``). Without ``join`` the programs share nothing.

    >>> from perfmodel import matmul, elementwise
    >>> p = sequence(matmul("m", "n", "k"), matmul("m", "h", "n"), join={"C": "A"})
    >>> p.labels
    {'batch': 1, 'm': m, 'n': n, 'k': k, 'n_2': h}
    """
    if not programs:
        raise LabelError("sequence: expected at least one program")
    for item in programs:
        if not isinstance(item, Program):
            raise LabelError(f"sequence: expected programs, got {item!r}")
    waiting = dict(join or {})
    result = programs[0]
    for later in programs[1:]:
        inputs = [item.name for item in later.inputs]
        joined = {out: into for out, into in waiting.items() if out in result.returned and into in inputs}
        for out in joined:
            del waiting[out]
        result = _joined(result, later, joined)
    if waiting:
        out, into = next(iter(waiting.items()))
        outputs = [made for item in programs for made in item.returned]
        raise LabelError(
            f"sequence: join {out!r} -> {into!r}: no earlier output and later input of these names; outputs are "
            f"{listed(outputs)}{did_you_mean(out, outputs)}"
        )
    title = name or "_".join(item.name for item in programs)
    return Program(title, result.kernels, result.returned, result.shared)


def _joined(first: Program, second: Program, join: Mapping[str, str]) -> Program:
    labels = _label_names(first, second, join)
    tensors = _fresh_names(second.tensors, set(first.tensors), {into: out for out, into in join.items()})
    taken = {op.name for op in first.ops}
    ops = _fresh_names([op.name for op in second.ops], taken, {})
    together = all(kernel.repeat == 1 for kernel in (*first.kernels, *second.kernels))
    after = max(kernel.section for kernel in first.kernels) + (0 if together else 1)
    kernel_names = _fresh_names([k.name for k in second.kernels], {k.name for k in first.kernels}, {})
    kernels = [
        Kernel(
            kernel_names[k.name],
            tuple([with_names(op, labels, tensors, ops[op.name]) for op in k.ops]),
            k.repeat,
            k.section + after,
        )
        for k in second.kernels
    ]
    kept = [out for out in first.returned if out not in join]
    returned = (*kept, *[tensors[made] for made in second.returned])
    shared = (*first.shared, *[tensors[made] for made in second.shared])
    return Program(first.name, (*first.kernels, *kernels), returned, tuple(dict.fromkeys(shared)))


def _label_names(first: Program, second: Program, join: Mapping[str, str]) -> dict[str, str]:
    """Where the second program's labels go: joined axes to the first's labels, others to free names."""
    known: dict[str, str] = {}
    inputs = {item.name: item for item in second.inputs}
    for out, into in join.items():
        made, needed = first.tensors[out], inputs[into]
        if made.extents != needed.extents:
            raise DimensionError(
                f"sequence: {out!r} has extents {made.extents} and {into!r} has {needed.extents}; they must be equal"
            )
        if made.format != needed.format:
            raise FormatError(
                f"sequence: {out!r} is {made.format.name} and {into!r} is {needed.format.name}; cast one of them"
            )
        for old, new in zip(needed.labels, made.labels, strict=True):
            if known.setdefault(old, new) != new:
                raise LabelError(f"sequence: label {old!r} of {into!r} would be both {known[old]!r} and {new!r}")
    own = [*second.labels, *[label for item in second.tensors.values() for label in item.labels]]
    taken = {*first.labels, *[label for item in first.tensors.values() for label in item.labels]}
    return _fresh_names(own, taken, known)


def _fresh_names(names: Iterable[str], taken: set[str], known: Mapping[str, str]) -> dict[str, str]:
    """Each name to itself, or to name_2, name_3, ... where it is taken; ``known`` names are settled."""
    found = dict(known)
    used = {*taken, *known.values()}
    for name in dict.fromkeys(names):
        if name in found:
            continue
        free = fresh(name, used)
        found[name] = free
        used.add(free)
    return found
