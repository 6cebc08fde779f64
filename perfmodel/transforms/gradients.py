"""The gradient of a program: its backward pass, by reverse mode, behind a barrier that ``fuse`` never crosses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from perfmodel.errors import LabelError, TransformError, did_you_mean, listed
from perfmodel.graph.arguments import names_given
from perfmodel.graph.indexing import FreshNames, Gathered
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Op, Tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.rebinding import with_tensors
from perfmodel.graph.scattering import scatters
from perfmodel.graph.splits import bound_indices
from perfmodel.graph.tracing import check_labels, named_ops, ops_in_order
from perfmodel.transforms.backward import Backward
from perfmodel.transforms.casting import refitted
from perfmodel.transforms.selecting import checked_program

Names = str | Iterable[str] | None


def grad(program: Program, wrt: Names = None, of: Names = None) -> Program:
    """The program with its backward pass: inputs d<output>, outputs d<input>, both beside what there was.

    ``wrt`` names the inputs whose gradients are wanted (all floating ones that are no index); ``of`` the outputs that
    the loss depends on (all). Each output y brings an input dy, the cotangent. A gradient has its primal's format;
    inputs with one and the same gradient share one tensor, named after the first of them.

    The backward kernels stand in a later section, which ``fuse`` never merges with the forward one: dy depends on y.
    A forward value that they read is *saved*: it leaves the forward kernel, it is counted, ``p.saved`` lists it.

    A softmax or log-sum-exp has the derivative dS = P (dP - rowsum(P dP) + dL), with P read back (``recompute`` makes
    it again as exp(S - L) where the log-sum-exp L is kept). A maximum over labels passes an equal share to each
    element that attains it; for functions with kinks see ``derivatives``. prod divides by its elements: none may be 0.

    Raises ``TransformError`` for opaque ops and for repeated kernels, and for an input without a gradient.

    >>> from perfmodel import elementwise, fuse
    >>> p = fuse(grad(elementwise("sigmoid(sigmoid(sigmoid(x)))", "n")))
    >>> p.elements_read + p.elements_written  # x and three values, then dy, three values and dx
    9*n
    """
    checked_program(program, "grad")
    _check_ops(program)
    wanted, seeded = [None if given is None else names_given(given, f"grad: {what}=")
                      for what, given in (("wrt", wrt), ("of", of))]  # fmt: skip
    inputs = _wanted_inputs(program, wanted)
    backward = Backward(program, [item.name for item in inputs])
    seeds = _seeds(program, backward, seeded)
    found = backward.run(seeds)
    results = {item.name: found[item.name] for item in inputs if item.name in found}
    missing = [name for name in wanted or () if name not in results]
    if missing or not results:
        raise TransformError(
            f"grad: nothing flows from {listed(seeds)} to {listed(missing or [item.name for item in inputs])}"
        )
    kernels, returned = _kernels(program, backward, results, seeds)
    said = [f"{key}={value!r}" for key, value in (("wrt", wrt), ("of", of)) if value is not None]
    every = tuple(dict.fromkeys([*program.returned, *returned]))
    return replace(program, kernels=kernels, returned=every, step=f"grad({', '.join(said)})", parent=program)


def _check_ops(program: Program) -> None:
    for kernel in program.kernels:
        if kernel.repeat != 1:
            raise TransformError(
                f"grad: {kernel.name!r} runs {kernel.repeat} times; take the gradient of one run, and repeat that: "
                "grad(layer).repeat(n, carry={'y': 'x', 'dx': 'dy'})"
            )
        for op in kernel.ops:
            if op.kind == "opaque":
                raise TransformError(f"grad: {op.name!r} has given counts and no arithmetic to differentiate")
            if op.padded:
                raise TransformError(f"grad: {op.name!r} runs padded; take the gradient first, then pad both")
            if bound_indices(op):
                raise TransformError(f"grad: {op.name!r} is split; take the gradient first, then split both")
            if scatters(op):
                raise TransformError(
                    f"grad: {op.name!r} adds into places that an index names, which grad has no rule for; other "
                    "outputs have gradients (of=)"
                )


def _wanted_inputs(program: Program, wrt: tuple[str, ...] | None) -> list[Tensor]:
    """The inputs that gradients are wanted of."""
    inputs = {item.name: item for item in program.inputs}
    indices = {i.by for op in program.ops for access in op.reads for i in access.index if isinstance(i, Gathered)}
    whole = [name for name, item in inputs.items() if name in indices or item.format.kind == "int"]
    for name in wrt or ():
        if name not in inputs:
            raise LabelError(f"grad: {program.name} has no input {name!r}; its inputs are {listed(inputs)}"
                             f"{did_you_mean(str(name), inputs)}")  # fmt: skip
        if name in whole:
            raise TransformError(f"grad: {name!r} is an index or an integer ({inputs[name].format.name}): no gradient")
    return [inputs[name] for name in (wrt if wrt is not None else [name for name in inputs if name not in whole])]


def _seeds(program: Program, backward: Backward, of: tuple[str, ...] | None) -> dict[str, Tensor]:
    """The cotangent of each output that the wanted inputs reach: an input of the backward pass."""
    for name in of or ():
        if name not in program.returned:
            raise LabelError(f"grad: {program.name} has no output {name!r}; its outputs are {listed(program.returned)}"
                             f"{did_you_mean(str(name), program.returned)}")  # fmt: skip
    found = {}
    for item in program.outputs:
        if item.name in backward.active and (of is None or item.name in of):
            name = f"d{item.name}"
            if name in program.tensors:
                raise LabelError(f"grad: {program.name} has a tensor {name!r}, which grad makes: rename it")
            found[item.name] = Tensor(name, item.axes, item.format)
    if not found:
        raise TransformError(f"grad: no output of {program.name} depends on the inputs that gradients are wanted of")
    return found


def _kernels(
    program: Program, backward: Backward, results: Mapping[str, Tensor], seeds: Mapping[str, Tensor]
) -> tuple[tuple[Kernel, ...], list[str]]:
    """Forward and backward kernels, and the names of the gradients."""
    claimed: dict[int, str] = {}
    outputs = []
    for name, made in results.items():
        known = claimed.setdefault(id(made.producer), name)
        if known == name:
            primal = program.tensors[name]
            outputs.append(backward.bench.claim(made, f"d{name}", primal.format))
    ops, written = _named(program, backward, outputs, seeds)
    check_labels([*program.ops, *ops])
    section = max(kernel.section for kernel in program.kernels) + 1
    added = tuple([Kernel(op.name, (op,), section=section) for op in ops])
    return (*program.kernels, *added), written


def _named(
    program: Program, backward: Backward, outputs: Sequence[Tensor], seeds: Mapping[str, Tensor]
) -> tuple[list[Op], list[str]]:
    """The backward ops that the outputs need, in the order of the pass, under names and in formats of their own."""
    needed = {id(op) for op in ops_in_order(outputs)}
    order = [op for op in backward.bench.made if id(op) in needed]
    taken = [op.name for op in program.ops] + [kernel.name for kernel in program.kernels]
    tensors = [*program.tensors, *[item.name for item in seeds.values()]]
    claimed = backward.bench.claimed
    found, written = named_ops(order, outputs, tensors, taken)
    formats = {
        op.output.tensor.name: claimed[id(old)][1]
        for old, op in zip(order, found, strict=True)
        if id(old) in claimed and claimed[id(old)][1] != op.output.tensor.format
    }

    def stored(op: Op) -> Op:
        changed = with_tensors(op, lambda item: replace(item, format=formats.get(item.name, item.format)))
        return refitted(op, changed, {})

    titles = FreshNames(taken)
    ops = []
    for old, op in zip(order, found, strict=True):
        title = titles.fresh(op.output.tensor.name if id(old) in claimed else old.name)
        ops.append(replace(stored(op) if formats else op, name=title))
    return ops, list(written)
