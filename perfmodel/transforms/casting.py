"""Casting: storing, multiplying and accumulating in other number formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfmodel.errors import FormatError, did_you_mean, listed
from perfmodel.graph.indexing import Gathered
from perfmodel.graph.nodes import Op, Tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.rebinding import changed_kernels, with_tensors
from perfmodel.number_formats import Format, format, widest
from perfmodel.transforms.selecting import Only, chosen


def cast(
    program: Program,
    dtype: str | Format | None = None,
    compute: str | Format | None = None,
    accumulate: str | Format | None = None,
    only: Only = None,
    tensors: Mapping[str, str | Format] | None = None,
    **named: str | Format,
) -> Program:
    """The program with tensors stored in other formats, and ops computing and accumulating in others.

    ``dtype`` retypes every tensor (indices of look-ups excepted), ``cast(p, W="nvfp4")`` single ones. An op
    computes in the widest format of its inputs and accumulates in that format's accumulator unless ``compute``
    and ``accumulate`` say otherwise. ``only`` limits ``compute`` and ``accumulate`` to kernels, stages or ops.

    >>> from perfmodel import matmul
    >>> p = matmul(8, 4096, 4096)
    >>> cast(p, B="int8").bytes_read, cast(p, "fp8_e4m3").ops[0].compute.name
    (16842752, 'fp8_e4m3')
    """
    wanted = {name: format(found) for name, found in {**(tensors or {}), **named}.items()}
    for name in wanted:
        if name not in program.tensors:
            raise FormatError(
                f"cast: {program.name} has no tensor {name!r}; its tensors are {listed(program.tensors)}"
                f"{did_you_mean(name, program.tensors)}"
            )
    if dtype is None and compute is None and accumulate is None and not wanted:
        raise FormatError("cast: nothing to change; expected a format, compute=, accumulate= or a tensor's name")
    indices = {index.by for op in program.ops for a in op.reads for index in a.index if isinstance(index, Gathered)}
    everywhere = format(dtype) if dtype is not None else None

    def stored(item: Tensor) -> Tensor:
        found = wanted.get(item.name) or (everywhere if item.name not in indices else None)
        return item if found is None else replace(item, format=found)

    within = {op.name for kernel in chosen(program, only, "cast") for op in kernel.ops}

    def changed(op: Op) -> Op:
        inside = op.name in within
        return _recomputed(op, with_tensors(op, stored), compute if inside else None, accumulate if inside else None)

    kernels = changed_kernels(program.kernels, changed)
    said = [repr(getattr(dtype, "name", dtype))] * (dtype is not None)
    said += [f"{key}={getattr(value, 'name', value)!r}" for key, value in
             (("compute", compute), ("accumulate", accumulate), *wanted.items()) if value is not None]  # fmt: skip
    return program.rewritten(kernels, f"cast({', '.join(said)})")


def _recomputed(before: Op, after: Op, compute: str | Format | None, accumulate: str | Format | None) -> Op:
    """The op with its arithmetic following its inputs, where they changed, or as it is told."""
    formats = [access.tensor.format for access in after.reads]
    retyped = formats != [access.tensor.format for access in before.reads]
    found = format(compute) if compute is not None else widest(formats) if retyped else before.compute
    if accumulate is not None:
        total = format(accumulate)
    else:
        total = before.accumulate if found == before.compute else format(found.accumulator)
    return replace(after, compute=found, accumulate=total)
