"""Splitting: a reduction cut into parts that run apart, and what combines their partial results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from perfmodel.errors import DimensionError, LabelError, TransformError, did_you_mean, listed
from perfmodel.expressions import Size, ceil_div, size
from perfmodel.graph.arguments import is_one_of
from perfmodel.graph.indexing import FreshNames
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Op
from perfmodel.graph.programs import Program
from perfmodel.graph.tilings import Cut, Tiling
from perfmodel.transforms.parting import Names, Part, combined, partial_of, with_places
from perfmodel.transforms.running_parts import RunningParts
from perfmodel.transforms.selecting import Only, checked_program, chosen
from perfmodel.transforms.tiling import checked_kernel

_COMBINES = ("kernel", "atomic")


def split(program: Program, only: Only = None, combine: str = "kernel", **labels: Any) -> Program:
    """The program with reductions cut into parts: ``split(p, k=4)`` cuts the reduced label k into 4 of them.

    Each reduction over k makes 4 partial results, along one more axis ``k_part``: part number p has the elements
    from ``ceil(K/4)*p`` on, and the last one ends where k does (11 parts of 16 elements have 2 each, and the
    last three none: they hold what the reduction begins with, and are written and read as the others are). They are
    kept in the format of the accumulator, and a kernel of its own combines them (with what stood behind the reduction
    in its kernel). A mean is a sum that is divided in the end. ``k_part`` is a label like any other:
    ``tile(p, grid={"k_part": 1, ..}, only="matmul")`` runs the parts apart (split-K). Within a part the label keeps its
    name, or is ``k_inner`` where other ops have k whole.

    A kernel that is ``online`` over the label keeps running results in each part (a maximum, and sums that follow it).
    The second kernel takes the maximum of all parts, scales the sums of each by exp(its maximum - that of all) and adds
    them; what stood behind the loop follows, and values over the label that are wanted are made again. (Scores that are
    minus infinity all through a part have no exp(x - maximum) there: leave them out by a mask, which has.) With
    ``tile(p, grid={"kv_part": 1}, stream={"kv": ..}, only="attention")`` that is flash-decoding (Dao et al. 2023,
    https://pytorch.org/blog/flash-decoding/).

    ``combine="atomic"`` keeps one kernel, whose blocks along k add to the result in memory: it is a tile of
    ``ceil(K/4)`` in the grid, as ``tile(p, grid={"k": ..}, atomic=["k"])`` makes it (in the tiles that there are).

    Keys of a mask keep their positions in parts; a part without an allowed pair holds what its reduction begins with.

    Refused: labels that nothing reduces, more parts than elements, labels of windows, rolls and look-ups, the rows of a
    mask, ops that are padded, and kernels that are tiled already (split first; by atomics, tiled or not).

    >>> from perfmodel import matmul
    >>> p = split(matmul(64, 64, 4096, dtype="fp32"), k=4)
    >>> [(kernel.name, kernel.made) for kernel in p.kernels]
    [('matmul', ('C_partial',)), ('matmul_combine', ('C',))]
    >>> p.flops == 2 * 64 * 64 * 4096 + 4 * 64 * 64, p.elements_written == (4 + 1) * 64 * 64
    (True, True)

    >>> from perfmodel import attention, fuse, online
    >>> plain = online(fuse(attention(1, 4096, 64)), "kv")
    >>> p = split(plain, kv=8)
    >>> p.kernels[1].needed, p.flops == plain.flops + 8 * (2 * 64 + 4)
    (('max_partial', 'sum_partial', 'O_sum_partial'), True)
    """
    checked_program(program, "split")
    if not is_one_of(combine, _COMBINES):
        raise TransformError(f"split: combine={combine!r} is not one of {listed(_COMBINES)}")
    parts = {label: size(value, f"split: {label}") for label, value in labels.items()}
    if not parts:
        raise LabelError("split: no label given; split(p, k=4) cuts the reduced label k into 4 parts")
    kernels = chosen(program, only, "split")
    for label, number in parts.items():
        _check_asked(program, kernels, label, number)
    said = [f"{label}={number}" for label, number in parts.items()] + [f"only={only!r}"] * (only is not None)
    said += [f"combine={combine!r}"] * (combine != "kernel")
    found = _by_atomics(program, kernels, parts) if combine == "atomic" else _by_kernel(program, kernels, parts)
    return program.rewritten(found, f"split({', '.join(said)})")


def reductions_over(kernel: Kernel, labels: Collection[str]) -> list[Op]:
    """The ops of a kernel that reduce any of these labels.

    >>> from perfmodel import matmul
    >>> [op.name for op in reductions_over(matmul(4, 4, 4).kernels[0], ["k"])]
    ['matmul']
    """
    return [op for op in kernel.ops if op.kind in ("reduce", "contract") and set(op.reduced) & set(labels)]


def _check_asked(program: Program, kernels: Sequence[Kernel], label: str, number: Size) -> None:
    """The label is reduced somewhere, into no more parts than it has elements."""
    if label not in program.labels:
        known = program.labels
        raise LabelError(
            f"split: {program.name} has no label {label!r}; its labels are {listed(known)}{did_you_mean(label, known)}"
        )
    ops = [op for kernel in kernels for op in reductions_over(kernel, [label])]
    if not ops:
        reduced = dict.fromkeys([name for kernel in kernels for op in kernel.ops for name in op.reduced])
        raise LabelError(f"split: nothing reduces {label!r}; reduced are {listed(reduced)}")
    for op in ops:
        extent = dict(op.space)[label]
        if isinstance(number, int) and number < 2:
            raise DimensionError(f"split: {label}={number}: a split makes 2 parts or more")
        if isinstance(number, int) and isinstance(extent, int) and number > extent:
            raise DimensionError(f"split: {label}={number}: {op.name!r} reduces {extent} elements, fewer than parts")


class _Splitter:
    """Cuts the ops of a program, under names that are free in it."""

    def __init__(self, program: Program, kernels: Sequence[Kernel], parts: Mapping[str, Size]) -> None:
        self.parts, self.leaving = parts, program.leaving
        self.free = Names(program.tensors, [op.name for op in program.ops], [kernel.name for kernel in program.kernels])
        labels = FreshNames(program.labels)
        self.names: dict[str, tuple[str, str]] = {}
        for label in parts:
            cut = {op.name for kernel in kernels for op in self._in_parts(kernel, label)}
            whole = any(label in dict(op.space) and op.name not in cut for op in program.ops)
            part, inner = labels.fresh(f"{label}_part"), labels.fresh(f"{label}_inner") if whole else label
            self.names[label] = (part, inner)

    def _in_parts(self, kernel: Kernel, label: str) -> Sequence[Op]:
        """The ops of a kernel that run in parts of a label alone."""
        if label not in kernel.online:
            return reductions_over(kernel, [label])
        loop = RunningParts(kernel, label, self.leaving)
        return [op for op in loop.within if op not in loop.again]

    def cut(self, kernel: Kernel, labels: Collection[str], leaving: frozenset[str]) -> list[Kernel]:
        """A kernel as those that follow each other: partial results, then what needs them combined, and so on."""
        if not reductions_over(kernel, labels):
            return [kernel]
        if kernel.tiles:
            raise TransformError(f"split: kernel {kernel.name!r} is tiled; split first, then tile (k_part is a label)")
        running = [label for label in labels if label in kernel.online and reductions_over(kernel, [label])]
        if not running:
            return self._in_turns(kernel, labels)
        rest = [label for label in labels if label != running[0]]
        loop = RunningParts(kernel, running[0], leaving)
        first, second = loop.kernels(self.names[running[0]], self.parts[running[0]], self.free)
        return [*self.cut(first, rest, leaving | {*second.needed}), *self.cut(second, rest, leaving)]

    def _in_turns(self, kernel: Kernel, labels: Collection[str]) -> list[Kernel]:
        """Reductions that wait for each other are combined one after another."""
        turn: dict[str, int] = {}  # after how many combinations each result is there
        turns: list[list[Op]] = [[]]
        for op in kernel.ops:
            mine = max([turn.get(access.tensor.name, 0) for access in op.reads], default=0)
            first, after = self._halves(op, labels) if op in reductions_over(kernel, labels) else (op, [])
            turns += [[]] if after and len(turns) == mine + 1 else []
            turns[mine].append(first)
            if after:
                turns[mine + 1] += after
            turn[op.output.tensor.name] = mine + bool(after)
        names = [kernel.name, *[self.free.kernels.fresh(f"{kernel.name}_combine") for _ in turns[1:]]]
        return [replace(kernel, name=name, ops=tuple(ops)) for name, ops in zip(names, turns, strict=True)]

    def _halves(self, op: Op, labels: Collection[str]) -> tuple[Op, list[Op]]:
        """The op that makes partial results, and those that make its result of them."""
        cut = [axis for axis in op.space if axis.label in labels and axis.label in op.reduced]
        found = [Part.of(axis, self.names[axis.label], self.parts[axis.label]) for axis in cut]
        first = partial_of(with_places(op, found), found, self.free.tensors.fresh(f"{op.output.tensor.name}_partial"))
        return first, combined(op, first.output.tensor, tuple([part.axes[0] for part in found]), self.free)


def _by_kernel(program: Program, kernels: Sequence[Kernel], parts: Mapping[str, Size]) -> tuple[Kernel, ...]:
    splitter = _Splitter(program, kernels, parts)
    names = {kernel.name for kernel in kernels}
    found: list[Kernel] = []
    for kernel in program.kernels:
        found += splitter.cut(kernel, list(parts), program.leaving) if kernel.name in names else [kernel]
    return tuple(found)


def _by_atomics(program: Program, kernels: Sequence[Kernel], parts: Mapping[str, Size]) -> tuple[Kernel, ...]:
    """Kernels with the reduced labels in the grid of their outermost tiles, and added in memory."""
    names = {kernel.name for kernel in kernels}
    found = []
    for kernel in program.kernels:
        cuts = {label: dict(op.space)[label] for op in reductions_over(kernel, parts) for label in op.reduced}
        cuts = {label: ceil_div(extent, parts[label]) for label, extent in cuts.items() if label in parts}
        found.append(_added(program, kernel, cuts) if kernel.name in names and cuts else kernel)
    return tuple(found)


def _added(program: Program, kernel: Kernel, cuts: Mapping[str, Size]) -> Kernel:
    outer, *inner = kernel.tiles or (Tiling(),)
    for label in cuts:
        if label in outer.labels:
            raise TransformError(
                f"split: {label!r} is cut in the tiles of {kernel.name!r} already; tile(p, grid={{{label!r}: ..}}, "
                f"atomic=[{label!r}]) says both at once"
            )
    grid = (*outer.grid, *[Cut(label, length) for label, length in cuts.items()])
    return checked_kernel(program, kernel, replace(outer, grid=grid, atomic=(*outer.atomic, *cuts)), inner)
