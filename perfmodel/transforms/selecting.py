"""Picking kernels by name: ``only="attention"`` means every kernel, stage or op of that name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfmodel.errors import LabelError, TransformError, did_you_mean, listed
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Op
from perfmodel.graph.programs import Program

Only = str | Iterable[str] | None


def checked_program(program: object, verb: str) -> None:
    """Refuse what is no program, before anything is asked of it.

    >>> checked_program(3, "fuse")
    Traceback (most recent call last):
    perfmodel.errors.TransformError: fuse: expected a program, got 3; pm.program(y) makes one of tensors
    """
    if not isinstance(program, Program):
        raise TransformError(f"{verb}: expected a program, got {program!r}; pm.program(y) makes one of tensors")


def chosen(program: Program, only: Only, verb: str) -> tuple[Kernel, ...]:
    """The kernels that ``only`` names: by kernel, op, stage, or a dotted part of a stage. All for None.

    >>> from perfmodel import attention
    >>> [kernel.name for kernel in chosen(attention(4, 4, 8), "scores", "fuse")]
    ['scores']
    """
    wanted = _wanted(program, only, verb)
    return tuple([k for k in program.kernels if wanted is None or wanted & _names(k.ops, k.name)])


def chosen_ops(program: Program, only: Only, verb: str) -> set[str]:
    """The names of the ops that ``only`` names, by themselves, their stage or their kernel. All for None.

    >>> from perfmodel import attention, fuse
    >>> sorted(chosen_ops(fuse(attention(4, 4, 8)), ["scores", "values"], "cast"))
    ['scores', 'values']
    """
    wanted = _wanted(program, only, verb)
    pairs = [(kernel, op) for kernel in program.kernels for op in kernel.ops]
    return {op.name for kernel, op in pairs if wanted is None or wanted & _names([op], kernel.name)}


def check_label(program: Program, label: str, verb: str, does: str, options: Iterable[str] = ()) -> None:
    """Refuse a label that the program lacks; a symbol used as a label is told from the label that it measures.

    ``options`` are keywords that a label may be a misspelling of.

    >>> from perfmodel import matmul
    >>> check_label(matmul("b", 8, 8), "m", "tile", "cuts it")
    """
    if label in program.labels:
        return
    shown = [f"{name} (= {extent})" for name, extent in program.labels.items()]
    measured = [name for name, extent in program.labels.items() if str(extent) == label]
    hint = (
        f". {label} is the symbol that measures {measured[0]}: pm.{verb}(p, {measured[0]}=64) {does}, "
        f"p.at({label}=64) gives it a value"
        if measured
        else did_you_mean(str(label), [*program.labels, *options])
    )
    raise LabelError(f"{verb}: {program.name} has no label {label!r}; its labels are {listed(shown)}{hint}")


def _wanted(program: Program, only: Only, verb: str) -> set[str] | None:
    """The names in ``only``, each of which some kernel, stage or op has."""
    if only is None:
        return None
    wanted = list(only) if isinstance(only, Iterable) and not isinstance(only, str) else [only]
    known = {name for kernel in program.kernels for name in _names(kernel.ops, kernel.name)}
    for name in wanted:
        if not isinstance(name, str) or name not in known:
            raise TransformError(
                f"{verb}: {program.name} has no kernel, stage or op {name!r}; its kernels are "
                f"{listed([kernel.name for kernel in program.kernels])}{did_you_mean(str(name), sorted(known))}"
            )
    if not wanted:
        raise TransformError(f"{verb}: only={only!r} names nothing; leave it out to mean all of {program.name}")
    return set(wanted)


def _names(ops: Sequence[Op], kernel: str) -> set[str]:
    """Every name that picks these ops of a kernel; stage "a.b" is picked by "a.b", "a" and "b"."""
    names = {kernel, *[op.name for op in ops]}
    for op in ops:
        names |= {op.stage, *op.stage.split(".")} if op.stage else set()
    return names
