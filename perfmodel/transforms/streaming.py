"""Streaming a reduction: its running results are corrected as they move, instead of waited for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from perfmodel.errors import LabelError, TransformError, did_you_mean, listed
from perfmodel.graph.arguments import is_one_of
from perfmodel.graph.indexing import FreshNames
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.programs import Program
from perfmodel.graph.running import running_of
from perfmodel.transforms.factoring import factored
from perfmodel.transforms.selecting import Only, checked_program, chosen


def online(program: Program, label: str, only: Only = None) -> Program:
    """The program in which results of a reduction over ``label`` that are needed at its points are used as they run.

    Streamed, such a loop goes over its label again and again: once for each reduction that must end before the next
    begins. ``online`` rewrites each kernel by three rules. A factor that lacks the label is applied once, after the
    sum: sum(p / l * v) becomes sum(p * v) / l. A shift by a maximum (x - R) takes the maximum as it stands. A sum of
    what is *scaled* by it (exp of a shift, and that times what does not depend on R) is multiplied by exp(R - R')
    when R moves to R': on each trip of the loop a subtraction and an exponential for each R and a multiplication
    for each element of the sum, all counted. What else depends on a running result waits for the end, and where
    it would be reduced over the label again, the rewrite is refused with the name of the op.

    Fuse first and tile afterwards: without a loop over the label only the factors move. Attention goes from three
    passes over the keys to one (Milakov and Gimelshein 2018, arXiv 1805.02867; Dao et al. 2022, arXiv 2205.14135).

    >>> from perfmodel import attention, fuse, tile
    >>> p = fuse(attention(q=1024, kv=1024, d=64))
    >>> cut = {"grid": {"q": 128}, "stream": {"kv": 64}}
    >>> tile(p, **cut).elements_read, tile(online(p, "kv"), **cut).elements_read  # K three times a query tile, or once
    (2162688, 1114112)
    """
    checked_program(program, "online")
    if not is_one_of(label, program.labels):
        raise LabelError(
            f"online: {program.name} has no label {label!r}; its labels are {listed(program.labels)}"
            f"{did_you_mean(str(label), program.labels)}"
        )
    selected = {kernel.name for kernel in chosen(program, only, "online")}
    names = FreshNames([*program.tensors, *[op.name for op in program.ops]])
    kernels = tuple([_streamed(k, label, program.leaving, names) if k.name in selected else k for k in program.kernels])
    if not any(label in kernel.online for kernel in kernels if kernel.name in selected):
        raise TransformError(
            f"online: no kernel of {program.name} needs the result of a reduction over {label!r} at points of "
            f"{label!r} again; fuse the reduction with what uses it first"
        )
    asked = [repr(label)] + [f"only={only!r}"] * (only is not None)
    return program.rewritten(kernels, f"online({', '.join(asked)})")


def _streamed(kernel: Kernel, label: str, leaving: Collection[str], names: FreshNames) -> Kernel:
    """One kernel, where the label's reductions are needed again; another stays as it is."""
    if label in kernel.online or not running_of(kernel.ops, label, refuse=False).needed_again:
        return kernel
    if kernel.tiles:
        raise TransformError(f"online: kernel {kernel.name!r} is tiled; online first, then tile")
    ops = factored(kernel.ops, label, leaving, names)
    running_of(ops, label)
    return replace(kernel, ops=ops, online=(*kernel.online, label))
