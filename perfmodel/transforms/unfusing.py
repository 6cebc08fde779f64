"""Unfusing: one op a kernel again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perfmodel.errors import TransformError
from perfmodel.graph.indexing import FreshNames
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.programs import Program
from perfmodel.transforms.selecting import Only, checked_program, chosen


def unfuse(program: Program, only: Only = None) -> Program:
    """The program with one op a kernel, named like its op: all kernels, or those that ``only`` names.

    The inverse of ``fuse``: FLOPs are the same, and what passes between ops is written and read again. Kernels of
    one op stay as they are. Factors that ``online`` moved stay moved, and each reduction ends before the next begins.
    Repetitions and sections are kept. Raises ``TransformError`` for a tiled kernel of several ops: its tiles belong to
    all of them together.

    >>> from perfmodel import elementwise, fuse
    >>> p = elementwise("relu(x*w + b)", "n")
    >>> unfuse(fuse(p)) == p, fuse(p).bytes, unfuse(fuse(p)).bytes
    (True, 8*n, 16*n)
    """
    checked_program(program, "unfuse")
    selected = {kernel.name for kernel in chosen(program, only, "unfuse") if len(kernel.ops) > 1}
    names = FreshNames([kernel.name for kernel in program.kernels if kernel.name not in selected])
    kernels: list[Kernel] = []
    for kernel in program.kernels:
        kernels += _apart(kernel, names) if kernel.name in selected else [kernel]
    return program.rewritten(tuple(kernels), f"unfuse({'' if only is None else f'only={only!r}'})")


def _apart(kernel: Kernel, names: FreshNames) -> Iterator[Kernel]:
    if kernel.tiles:
        raise TransformError(f"unfuse: kernel {kernel.name!r} is tiled; unfuse first, then tile")
    for op in kernel.ops:
        yield replace(kernel, name=names.fresh(op.name), ops=(op,), online=())
