"""From tensors to a program: the ops that made them, in order, under names that are unique."""

from __future__ import annotations

import operator
from collections.abc import Iterable

from perfmodel.errors import DimensionError, LabelError
from perfmodel.expressions import Size
from perfmodel.graph.indexing import FreshNames, Gathered
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.operands import Scalar
from perfmodel.graph.programs import Program


def program(*outputs: Tensor, name: str | None = None) -> Program:
    """The program that computes these tensors: one op a kernel, in an order that can run.

    >>> from perfmodel.graph.nodes import tensor
    >>> x = tensor("x", {"i": "n"})
    >>> p = program((x * 2 + 1).named("y"))
    >>> [kernel.name for kernel in p.kernels], p.bytes
    (['mul', 'add'], 8*n)
    """
    for output in outputs:
        if not isinstance(output, Tensor):
            raise LabelError(f"program: expected tensors, got {output!r}")
        if output.producer is None:
            raise LabelError(f"program: {output.name!r} is an input: nothing computes it")
        if output.index and not all(isinstance(index, str) for index in output.index):
            raise LabelError(f"program: {output.name!r} is only seen rolled or windowed: nothing computes that view")
    if not outputs:
        raise LabelError("program: expected at least one tensor to compute")
    ops, written = named_ops(ops_in_order(outputs), outputs)
    if len(ops) > 1:  # one op has one extent a label
        check_labels(ops)
    kernels = tuple([Kernel(op.name, (op,)) for op in ops])
    if name is not None and not isinstance(name, str):
        raise LabelError(f"program: name={name!r}: a name is text")
    return Program(name or "_".join(written), kernels, written)


def named_ops(
    ops: list[Op], outputs: Iterable[Tensor], tensors: Iterable[str] = (), taken: Iterable[str] = ()
) -> tuple[tuple[Op, ...], tuple[str, ...]]:
    """Traced ops under names that are unique, and the names of the outputs.

    ``tensors`` and ``taken`` are names that other tensors and other ops have already.

    >>> from perfmodel.graph.nodes import tensor
    >>> y = tensor("x", {"i": 4}) * 2
    >>> ops, written = named_ops([y.producer], [y], tensors=["mul"])
    >>> ops[0].name, written
    ('mul', ('mul_2',))
    """
    names = _Names(ops, outputs, tensors, taken)
    found = tuple([names.cleaned(op) for op in ops])
    return found, tuple([names.tensors[id(output.producer)].name for output in outputs])


def ops_in_order(outputs: Iterable[Tensor]) -> list[Op]:
    """Every op behind the outputs, each after those that it needs (without recursion).

    >>> from perfmodel.graph.nodes import tensor
    >>> [op.name for op in ops_in_order([tensor("x", {"i": 4}) * 2 + 1])]
    ['mul', 'add']
    """
    found: dict[int, Op] = {}
    stack = [output.producer for output in reversed(list(outputs)) if output.producer is not None]
    while stack:
        op = stack[-1]
        if id(op) not in found:
            makers = [access.tensor.producer for access in op.reads]
            waiting = [maker for maker in makers if maker is not None and id(maker) not in found]
            if waiting:
                stack += reversed(waiting)
                continue
            found[id(op)] = op
        stack.pop()
    return list(found.values())


def labels_behind(*tensors: Tensor) -> set[str]:
    """Every label of the tensors and of the ops behind them: what a new label has to differ from.

    >>> from perfmodel.graph.nodes import tensor
    >>> from perfmodel.graph.building import reduced
    >>> x = tensor("x", {"m": 4, "n": 8})
    >>> sorted(labels_behind(reduced("sum", x, "n")))
    ['m', 'n']
    """
    found = {label for item in tensors for label in item.labels}
    for op in ops_in_order(tensors):
        found |= {axis.label for axis in op.space}
    return found


class _Names:
    """Unique names for the tensors and ops of a traced program."""

    def __init__(
        self, ops: list[Op], outputs: Iterable[Tensor], tensors: Iterable[str] = (), taken: Iterable[str] = ()
    ) -> None:
        self.inputs: dict[str, Tensor] = {}
        self.tensors: dict[int, Tensor] = {}
        self.wanted: dict[int, str] = {}
        for op in ops:
            for access in op.reads:
                self._seen(access.tensor)
        for output in outputs:
            self._seen(output)
        self.tensor_names = FreshNames([*self.inputs, *tensors])
        self.op_names = FreshNames(taken)

    def _seen(self, tensor: Tensor) -> None:
        producer = tensor.producer
        if producer is not None:
            if tensor.name != producer.output.tensor.name or id(producer) not in self.wanted:
                self.wanted[id(producer)] = tensor.name
            return
        known = self.inputs.setdefault(tensor.name, tensor)
        if known is not tensor and known != tensor:
            raise LabelError(f"program: two different tensors are named {tensor.name!r}: {known!r} and {tensor!r}")

    def cleaned(self, op: Op) -> Op:
        """The op with unique names and tensors that no longer remember how they were made."""
        output = op.output
        name = self.tensor_names.fresh(self.wanted[id(op)])
        if name != output.tensor.name:
            output = Access(Tensor(name, output.tensor.axes, output.tensor.format), output.index)
        self.tensors[id(op)] = output.tensor
        inputs = tuple([item if isinstance(item, Scalar) else self._access(item, op) for item in op.inputs])
        title = self.op_names.fresh(op.name)
        if output is op.output and title == op.name and all(map(operator.is_, inputs, op.inputs)):
            return op
        kind, compute, accumulate = op.kind, op.compute, op.accumulate
        return Op(title, kind, op.function, inputs, output, op.space, op.mask, op.stage, compute, accumulate, op.given)

    def _access(self, access: Access, op: Op) -> Access:
        tensor = self._final(access.tensor)
        index = access.index
        if Gathered in map(type, index):
            final = {other.tensor.name: self._final(other.tensor).name for other in op.reads}
            index = tuple([Gathered(final[i.by], i.labels) if isinstance(i, Gathered) else i for i in index])
        elif tensor is access.tensor:
            return access
        return Access(tensor, index)

    def _final(self, tensor: Tensor) -> Tensor:
        return self.inputs[tensor.name] if tensor.producer is None else self.tensors[id(tensor.producer)]


def check_labels(ops: Iterable[Op]) -> None:
    """One label has one extent throughout a program.

    >>> check_labels([])
    """
    extents: dict[str, tuple[Size, str]] = {}
    for op in ops:
        for label, extent in op.space:
            known, where = extents.setdefault(label, (extent, op.name))
            if known != extent:
                raise DimensionError(
                    f"program: label {label!r} is {known} in {where!r} and {extent} in {op.name!r}; "
                    f"one label has one extent: x.rename({label}=...) gives it another name"
                )
