"""Kernels without names: those that differ in names alone count alike, so that one of them is counted for all."""

from __future__ import annotations

from dataclasses import replace

from perfmodel.graph.indexing import Gathered, Index
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Access, Op, Tensor


def nameless(kernel: Kernel) -> tuple[Kernel, dict[str, str]]:
    """The kernel with its tensors and ops numbered in order of use, and the number of each tensor.

    What no count of one run depends on is left out: its own name, its place in the program, how often it runs.

    >>> from perfmodel import tensor, program
    >>> x, y = tensor("x", {"i": 8}), tensor("y", {"i": 8})
    >>> first, second = [program((each + 1).named("z")).kernels[0] for each in (x, y)]
    >>> first == second, nameless(first)[0] == nameless(second)[0], nameless(first)[1]
    (False, True, {'x': '0', 'z': '1'})
    """
    names: dict[str, str] = {}
    ops = tuple([_numbered(op, names) for op in kernel.ops])
    tiles = tuple([tiling.renamed({}, names) if tiling.spill else tiling for tiling in kernel.tiles])
    return Kernel("", ops, tiles=tiles, online=kernel.online), names


def _numbered(op: Op, names: dict[str, str]) -> Op:
    inputs = tuple([_access(item, names) if isinstance(item, Access) else item for item in op.inputs])
    output = _access(op.output, names)
    return replace(op, name=output.tensor.name, stage="", inputs=inputs, output=output)


def _access(access: Access, names: dict[str, str]) -> Access:
    tensor = access.tensor
    number = names.setdefault(tensor.name, str(len(names)))
    index = tuple([_index(item, names) if isinstance(item, Gathered) else item for item in access.index])
    return Access(Tensor(number, tensor.axes, tensor.format, tensor.mask), index)


def _index(index: Gathered, names: dict[str, str]) -> Index:
    return replace(index, by=names.setdefault(index.by, str(len(names))))
