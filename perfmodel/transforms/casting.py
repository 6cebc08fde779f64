"""Casting: storing, multiplying and accumulating in other number formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfmodel.errors import FormatError, did_you_mean, listed
from perfmodel.graph.arguments import mapping_given
from perfmodel.graph.indexing import Gathered
from perfmodel.graph.nodes import Op, Tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.rebinding import changed_kernels, with_tensors
from perfmodel.number_formats import Format, format, widest
from perfmodel.transforms.selecting import Only, checked_program, chosen_ops


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
    and ``accumulate`` say otherwise. ``only`` limits ``compute`` and ``accumulate`` to kernels, stages or ops;
    the formats of tensors are given by their names. Tiles that cannot be counted in the new formats, or need more
    bytes than they were given, are refused.

    >>> from perfmodel import matmul
    >>> p = matmul(8, 4096, 4096)
    >>> cast(p, B="int8").bytes_read, cast(p, "fp8_e4m3").ops[0].compute.name
    (16842752, 'fp8_e4m3')
    """
    checked_program(program, "cast")
    wanted = {
        name: format(found)
        for name, found in {**mapping_given(tensors, "cast: tensors", "{'W': 'fp8_e4m3'}"), **named}.items()
    }
    everywhere = None if dtype is None else format(dtype)
    arithmetic = {"compute": compute, "accumulate": accumulate}
    said = {name: format(found) for name, found in arithmetic.items() if found is not None}
    _check_asked(program, wanted, everywhere, said, only)
    indices = {index.by for op in program.ops for a in op.reads for index in a.index if isinstance(index, Gathered)}

    def stored(item: Tensor) -> Tensor:
        found = wanted.get(item.name) or (None if item.name in indices else everywhere)
        return item if found is None else replace(item, format=found)

    within = chosen_ops(program, only, "cast")

    def changed(op: Op) -> Op:
        return refitted(op, with_tensors(op, stored), said if op.name in within else {})

    arguments = [repr(everywhere.name)] if everywhere is not None else []
    arguments += [f"{name}={found.name!r}" for name, found in {**said, **wanted}.items()]
    arguments += [] if only is None else [f"only={only!r}"]
    found = program.rewritten(changed_kernels(program.kernels, changed), f"cast({', '.join(arguments)})")
    return found.countable("cast").within_room("cast")


def _check_asked(
    program: Program, wanted: Mapping[str, Format], everywhere: Format | None, said: Mapping[str, Format], only: Only
) -> None:
    """Something is to be changed, and all of it exists."""
    for name in wanted:
        if name not in program.tensors:
            raise FormatError(
                f"cast: {program.name} has no tensor {name!r}; its tensors are {listed(program.tensors)}"
                f"{did_you_mean(name, program.tensors)}"
            )
    if everywhere is None and not wanted and not said:
        raise FormatError("cast: nothing to change; expected a format, compute=, accumulate= or a tensor's name")
    if only is not None and not said:
        raise FormatError(
            f"cast: only={only!r} limits compute= and accumulate=, and neither is given; "
            "cast(p, W='int8') changes the format of one tensor"
        )


def refitted(before: Op, after: Op, said: Mapping[str, Format]) -> Op:
    """The op with its arithmetic following its inputs, where they changed, or as it is told.

    >>> from perfmodel import matmul
    >>> op = matmul(4, 4, 4).ops[0]
    >>> refitted(op, op, {"compute": format("fp16")}).compute.name
    'fp16'
    """
    retyped = _formats(before) != _formats(after)
    compute = said.get("compute") or (widest(_formats(after)) if retyped else before.compute)
    natural = before.accumulate if compute == before.compute else format(compute.accumulator)
    return replace(after, compute=compute, accumulate=said.get("accumulate", natural))


def _formats(op: Op) -> list[Format]:
    """The formats that an op's arithmetic follows: its inputs', or for an opaque op without any, its own."""
    return [access.tensor.format for access in op.reads or (op.output,)]
