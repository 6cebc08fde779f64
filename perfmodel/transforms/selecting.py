"""Picking kernels by name: ``only="attention"`` means every kernel, stage or op of that name."""

from __future__ import annotations

from collections.abc import Iterable

from perfmodel.errors import TransformError, did_you_mean, listed
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.programs import Program

Only = str | Iterable[str] | None


def chosen(program: Program, only: Only, verb: str) -> tuple[Kernel, ...]:
    """The kernels that ``only`` names: by kernel, op, stage, or a dotted part of a stage. All for None.

    >>> from perfmodel import attention
    >>> [kernel.name for kernel in chosen(attention(4, 4, 8), "scores", "fuse")]
    ['scores']
    """
    if only is None:
        return program.kernels
    wanted = (only,) if isinstance(only, str) else tuple(only)
    found: dict[str, Kernel] = {}
    for name in wanted:
        matching = [kernel for kernel in program.kernels if name in _names(kernel)]
        if not matching:
            known = list(dict.fromkeys([kernel.name for kernel in program.kernels]))
            stages = [name for kernel in program.kernels for name in sorted(_names(kernel))]
            raise TransformError(
                f"{verb}: {program.name} has no kernel, stage or op {name!r}; its kernels are {listed(known)}"
                f"{did_you_mean(str(name), stages)}"
            )
        found.update({kernel.name: kernel for kernel in matching})
    return tuple([kernel for kernel in program.kernels if kernel.name in found])


def _names(kernel: Kernel) -> set[str]:
    """Every name that picks the kernel; stage "a.b" is picked by "a.b", "a" and "b"."""
    names = {kernel.name, *[op.name for op in kernel.ops]}
    for stage in kernel.stages:
        names |= {stage, *stage.split(".")}
    return names
