"""Splitting: a reduction cut into parts that run apart, and what combines their partial results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from perfmodel.errors import DimensionError, LabelError, TransformError, did_you_mean, listed
from perfmodel.expressions import Size, ceil_div, product, size
from perfmodel.graph.arguments import is_one_of
from perfmodel.graph.indexing import Affine, Axis, FreshNames, Index, labels_in
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.operands import Scalar
from perfmodel.graph.programs import Program
from perfmodel.graph.scattering import scatters
from perfmodel.graph.tilings import Cut, Tiling
from perfmodel.transforms.selecting import Only, checked_program, chosen
from perfmodel.transforms.tiling import checked_kernel

_COMBINED = {"multiply-add": "sum", "mean": "sum"}  # what adds up partial results, where it is not the same again
_COMBINES = ("kernel", "atomic")


def split(program: Program, only: Only = None, combine: str = "kernel", **labels: Any) -> Program:
    """The program with reductions cut into parts: ``split(p, k=4)`` cuts the reduced label k into 4 of them.

    Each reduction over k makes 4 partial results, along one more axis ``k_part``: part number p has the elements
    from ``ceil(K/4)*p`` on, and the last one ends where k does. They are kept in the format of the accumulator, and a
    kernel of its own combines them (with what stood behind the reduction in its kernel). A mean is a sum that is
    divided in the end. ``k_part`` is a label like any other: ``tile(p, grid={"k_part": 1, ..}, only="matmul")`` runs
    the parts apart (split-K). Within a part the label keeps its name, or is ``k_inner`` where other ops have k whole.

    ``combine="atomic"`` keeps one kernel, whose blocks along k add to the result in memory: it is a tile of
    ``ceil(K/4)`` in the grid, as ``tile(p, grid={"k": ..}, atomic=["k"])`` makes it (in the tiles that there are).

    Refused: labels that nothing reduces, more parts than elements, labels of windows, rolls, look-ups and masks,
    ops that are padded, and kernels that are tiled already (split first; by atomics, tiled or not).

    >>> from perfmodel import matmul
    >>> p = split(matmul(64, 64, 4096, dtype="fp32"), k=4)
    >>> [(kernel.name, kernel.made) for kernel in p.kernels]
    [('matmul', ('C_partial',)), ('matmul_combine', ('C',))]
    >>> p.flops == 2 * 64 * 64 * 4096 + 4 * 64 * 64, p.elements_written == (4 + 1) * 64 * 64
    (True, True)
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


def reductions_over(kernel: Kernel, labels: Mapping[str, Size]) -> list[Op]:
    """The ops of a kernel that reduce any of these labels.

    >>> from perfmodel import matmul
    >>> [op.name for op in reductions_over(matmul(4, 4, 4).kernels[0], {"k": 2})]
    ['matmul']
    """
    return [op for op in kernel.ops if op.kind in ("reduce", "contract") and set(op.reduced) & labels.keys()]


def _check_asked(program: Program, kernels: Sequence[Kernel], label: str, number: Size) -> None:
    """The label is reduced somewhere, into no more parts than it has elements."""
    if label not in program.labels:
        known = program.labels
        raise LabelError(
            f"split: {program.name} has no label {label!r}; its labels are {listed(known)}{did_you_mean(label, known)}"
        )
    ops = [op for kernel in kernels for op in reductions_over(kernel, {label: number})]
    if not ops:
        reduced = dict.fromkeys([name for kernel in kernels for op in kernel.ops for name in op.reduced])
        raise LabelError(f"split: nothing reduces {label!r}; reduced are {listed(reduced)}")
    for op in ops:
        extent = dict(op.space)[label]
        if isinstance(number, int) and number < 2:
            raise DimensionError(f"split: {label}={number}: a split makes 2 parts or more")
        if isinstance(number, int) and isinstance(extent, int) and number > extent:
            raise DimensionError(f"split: {label}={number}: {op.name!r} reduces {extent} elements, fewer than parts")


@dataclass(frozen=True, slots=True)
class _Part:
    """One label that is cut: the label of its parts, that within a part, how many there are, how long they are."""

    label: str
    part: str
    inner: str
    number: Size
    length: Size

    @property
    def axes(self) -> tuple[Axis, Axis]:
        return Axis(self.part, self.number), Axis(self.inner, self.length)

    @property
    def index(self) -> Affine:
        return Affine(((self.part, self.length), (self.inner, 1)), bound=True)


class _Splitter:
    """Cuts the ops of a program, under names that are free in it."""

    def __init__(self, program: Program, kernels: Sequence[Kernel], parts: Mapping[str, Size]) -> None:
        self.parts = parts
        cut = {op.name for kernel in kernels for op in reductions_over(kernel, parts)}
        labels = FreshNames(program.labels)
        self.tensors, self.ops = FreshNames(program.tensors), FreshNames([op.name for op in program.ops])
        self.kernels = FreshNames([kernel.name for kernel in program.kernels])
        self.names: dict[str, tuple[str, str]] = {}
        for label in parts:
            whole = any(label in dict(op.space) and not _cuts(op, label, cut) for op in program.ops)
            part, inner = labels.fresh(f"{label}_part"), labels.fresh(f"{label}_inner") if whole else label
            self.names[label] = (part, inner)

    def halves(self, op: Op) -> tuple[Op, list[Op]]:
        """The op that makes partial results, and those that make its result of them."""
        found = [self._part(op, axis) for axis in op.space if axis.label in self.parts and axis.label in op.reduced]
        _check_splittable(op, [part.label for part in found])
        made = op.output.tensor
        parts = tuple([part.axes[0] for part in found])
        partial = Tensor(self.tensors.fresh(f"{made.name}_partial"), (*parts, *made.axes), op.accumulate)
        function = "sum" if op.function == "mean" else op.function
        first = replace(
            op,
            function=function,
            inputs=tuple([_access(item, found) if isinstance(item, Access) else item for item in op.inputs]),
            output=partial.access,
            space=_space(op.space, found),
        )
        return first, self._combining(op, partial, parts)

    def _part(self, op: Op, axis: Axis) -> _Part:
        number = self.parts[axis.label]
        return _Part(axis.label, *self.names[axis.label], number, ceil_div(axis.extent, number))

    def _combining(self, op: Op, partial: Tensor, parts: tuple[Axis, ...]) -> list[Op]:
        made = op.output.tensor
        mask = op.mask if op.mask is not None and {op.mask.query, op.mask.key} <= set(made.labels) else None
        adds = replace(
            op,
            name=self.ops.fresh(f"{op.name}_combine"),
            kind="reduce",
            function=_COMBINED.get(op.function, op.function),
            inputs=(partial.access,),
            space=(*made.axes, *parts),
            mask=mask,
            stage=op.stage and f"{op.stage}_combine",
            compute=op.accumulate,
        )
        if op.function != "mean":
            return [adds]
        points = product([axis.extent for axis in op.space if axis.label in op.reduced])
        if not isinstance(points, int):
            raise DimensionError(
                f"split: {op.name!r} is a mean over {points} elements: its parts are summed and divided by a number; "
                "bind the symbols with p.at(...)"
            )
        whole = Tensor(self.tensors.fresh(f"{made.name}_sum"), made.axes, op.accumulate)
        divides = replace(
            adds,
            name=self.ops.fresh(f"{op.name}_divide"),
            kind="map",
            function="div",
            inputs=(whole.access, Scalar(points)),
            space=made.axes,
        )
        return [replace(adds, output=whole.access), divides]

    def cut(self, kernel: Kernel) -> list[Kernel]:
        """A kernel as those that follow each other: partial results, then what needs them combined, and so on."""
        if not reductions_over(kernel, self.parts):
            return [kernel]
        if kernel.tiles:
            raise TransformError(f"split: kernel {kernel.name!r} is tiled; split first, then tile (k_part is a label)")
        turn: dict[str, int] = {}  # after how many combinations each result is there
        turns: list[list[Op]] = [[]]
        for op in kernel.ops:
            mine = max([turn.get(access.tensor.name, 0) for access in op.reads], default=0)
            first, after = self.halves(op) if op in reductions_over(kernel, self.parts) else (op, [])
            turns += [[]] if after and len(turns) == mine + 1 else []
            turns[mine].append(first)
            if after:
                turns[mine + 1] += after
            turn[op.output.tensor.name] = mine + bool(after)
        names = [kernel.name, *[self.kernels.fresh(f"{kernel.name}_combine") for _ in turns[1:]]]
        return [replace(kernel, name=name, ops=tuple(ops)) for name, ops in zip(names, turns, strict=True)]


def _by_kernel(program: Program, kernels: Sequence[Kernel], parts: Mapping[str, Size]) -> tuple[Kernel, ...]:
    splitter = _Splitter(program, kernels, parts)
    names = {kernel.name for kernel in kernels}
    found: list[Kernel] = []
    for kernel in program.kernels:
        found += splitter.cut(kernel) if kernel.name in names else [kernel]
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


def _cuts(op: Op, label: str, cut: set[str]) -> bool:
    return op.name in cut and label in op.reduced


def _space(space: tuple[Axis, ...], parts: Sequence[_Part]) -> tuple[Axis, ...]:
    """The axes of the parts first, and each label within its parts."""
    inner = {part.label: part.axes[1] for part in parts}
    return (*[part.axes[0] for part in parts], *[inner.get(axis.label, axis) for axis in space])


def _access(access: Access, parts: Sequence[_Part]) -> Access:
    bound: dict[Index, Index] = {part.label: part.index for part in parts}
    return Access(access.tensor, tuple([bound.get(index, index) for index in access.index]))


def _check_splittable(op: Op, labels: Sequence[str]) -> None:
    """Refuse labels that stand in a mask, or in an index that is not the label itself; and padded ops."""
    if op.padded:
        raise TransformError(
            f"split: {op.name!r} is padded, and parts that end where their label does have no padding: split or pad, "
            "not both"
        )
    if scatters(op):
        raise TransformError(f"split: {op.name!r} adds into places that an index names: that is to come")
    for label in labels:
        if op.mask is not None and label in (op.mask.query, op.mask.key):
            raise TransformError(
                f"split: {op.name!r} is masked over {label!r}: positions within a part are not those of the mask"
            )
        for access in op.reads:
            for index in access.index:
                if not isinstance(index, str) and label in labels_in(index):
                    raise TransformError(
                        f"split: {op.name!r} reads {access.tensor.name!r} at {index}: {label!r} belongs to a window, a "
                        "roll or a look-up"
                    )
