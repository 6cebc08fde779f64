"""Unfolding windows: a convolution as the matrix product of its copied windows (im2col)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perfmodel.errors import TransformError, listed
from perfmodel.graph.indexing import Affine, Axis, FreshNames, labels_in
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.merging import accumulator
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.operands import Scalar
from perfmodel.graph.programs import Program
from perfmodel.graph.splits import bound_indices
from perfmodel.transforms.selecting import Only, checked_program, chosen


def im2col(program: Program, only: Only = None) -> Program:
    """The program with the windows that contractions read copied out first: convolution as an explicit GEMM.

    y = sum of x[2p + r] w[r]  ->  columns[p, r] = x[2p + r] in a kernel "im2col", then y = sum of columns[p, r] w[r]

    The copy has one axis for each label, those that the contraction keeps first; the zeros of the padding are written
    and read. It does no arithmetic. ``fuse(im2col(p))`` is the implicit GEMM: the copy stays on chip, and tiled, each
    block stages its own part. Raises ``TransformError`` where no contraction reads through a window (an index of two
    or more labels), for a tiled kernel, and where a kernel makes what it reads so (im2col first, then fuse).

    >>> from perfmodel import conv2d, fuse
    >>> p = conv2d(height=256, width=256, c_in=64, c_out=64, kernel=3, padding=1, dtype="fp32")
    >>> im2col(p).bytes_written - p.bytes_written == 256 * 256 * 64 * 9 * 4  # 151 MB
    True
    >>> fuse(im2col(p)).bytes == p.bytes
    True
    """
    checked_program(program, "im2col")
    selected = {kernel.name for kernel in chosen(program, only, "im2col")}
    if not any(_windows(op) for kernel in program.kernels if kernel.name in selected for op in kernel.ops):
        raise TransformError(
            f"im2col: no contraction in {listed(sorted(selected))} of {program.name} reads a tensor through a window "
            "(an index of two or more labels, such as x[2*p + r])"
        )
    writer = _Writer(program)
    kernels: list[Kernel] = []
    for kernel in program.kernels:
        kernels += writer.unfolded(kernel) if kernel.name in selected else [kernel]
    return program.rewritten(tuple(kernels), f"im2col({'' if only is None else f'only={only!r}'})")


def _windows(op: Op) -> list[Access]:
    """What a contraction reads through a window, each once."""
    found = [access for access in op.reads if any(_is_window(index) for index in access.index)]
    return list(dict.fromkeys(found)) if op.kind == "contract" else []


def _is_window(index: object) -> bool:
    return isinstance(index, Affine) and len(index.terms) > 1 and not index.bound


class _Writer:
    """Writes the copies, under names of their own."""

    def __init__(self, program: Program) -> None:
        self.ops = FreshNames([op.name for op in program.ops])
        self.kernels = FreshNames([kernel.name for kernel in program.kernels])
        self.tensors = FreshNames(program.tensors)

    def unfolded(self, kernel: Kernel) -> Iterator[Kernel]:
        """A kernel after the kernels that copy the windows which its contractions read."""
        ops = []
        for op in kernel.ops:
            copied: dict[Access, Access] = {}
            for access in _windows(op):
                self._check(kernel, op, access)
                copy = self._copy(op, access)
                copied[access] = copy.output
                yield replace(kernel, name=self.kernels.fresh("im2col"), ops=(copy,))
            inputs = [item if isinstance(item, Scalar) else copied.get(item, item) for item in op.inputs]
            ops.append(replace(op, inputs=tuple(inputs)))
        yield replace(kernel, ops=tuple(ops))

    def _check(self, kernel: Kernel, op: Op, access: Access) -> None:
        if kernel.tiles:
            raise TransformError(f"im2col: kernel {kernel.name!r} is tiled; im2col first, then tile")
        if bound_indices(op):
            raise TransformError(f"im2col: {op.name!r} is split; im2col first, then split")
        if access.tensor.name in kernel.made:
            raise TransformError(
                f"im2col: kernel {kernel.name!r} makes {access.tensor.name!r} itself, so its windows cannot be copied "
                "by a kernel before it; im2col first, then fuse"
            )

    def _copy(self, op: Op, access: Access) -> Op:
        """The op that copies the windows of one access: an axis a label, those that the contraction keeps first."""
        labels = {label for index in access.index for label in labels_in(index)}
        space = tuple([Axis(*axis) for axis in op.space if axis.label in labels])
        form = access.tensor.format
        columns = Tensor(self.tensors.fresh(f"{access.tensor.name}_columns"), space, form)
        mask = op.mask if op.mask is not None and {op.mask.query, op.mask.key} <= labels else None
        padded = tuple([item for item in op.padded if item.label in labels])
        return Op(
            self.ops.fresh("im2col"), "map", "copy", (access,), Access(columns, columns.labels), space, mask, op.stage,
            form, accumulator(form), padded=padded,
        )  # fmt: skip
