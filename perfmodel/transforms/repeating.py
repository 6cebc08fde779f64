"""Ops done again under names of their own, from what is at hand, and the removal of what nothing needs any more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from perfmodel.errors import TransformError
from perfmodel.graph.indexing import FreshNames, Gathered, Index
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.programs import Program
from perfmodel.graph.rebinding import with_tensors
from perfmodel.number_formats import format, widest
from perfmodel.transforms.normalised import Normalised, normalised

Copy = tuple[str, Op]  # the tensor that it stands for, and the op that makes it again


class Repeats:
    """Makes copies of a program's ops; each copy has names that nothing else has.

    >>> from perfmodel import elementwise
    >>> repeats = Repeats(elementwise("exp(exp(x))", 8))
    >>> [op.output.tensor.name for _, op in repeats.again(["y"], at_hand=["x"])]
    ['exp_2', 'y_2']
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.makers = {op.output.tensor.name: op for op in program.ops}
        groups = [group for group in normalised(program.ops, program.returned) if group.log and group.share]
        self.shares = {group.share.output.tensor.name: group for group in groups if group.share is not None}
        self.tensors = FreshNames(program.tensors)
        self.titles = FreshNames([op.name for op in program.ops])

    def again(self, wanted: Iterable[str], at_hand: Collection[str]) -> list[Copy]:
        """Copies of the ops that make these tensors, back to inputs and to what is at hand, in their order.

        A softmax whose log-sum-exp L is at hand is made again as exp(x - L).
        """
        needed: set[str] = set()
        waiting = list(wanted)
        while waiting:
            name = waiting.pop()
            if name in needed:
                continue
            needed.add(name)
            group = self._shortcut(name, at_hand)
            reads = self.makers[name].reads if group is None else (group.scores,)
            before = [access.tensor.name for access in reads]
            waiting += [item for item in before if item in self.makers and item not in at_hand]
        made: dict[str, Tensor] = {}
        found: list[Copy] = []
        for op in self.program.ops:
            name = op.output.tensor.name
            if name in needed:
                group = self._shortcut(name, at_hand)
                found += [self._copy(op, made)] if group is None else self._from_log(group, op, made)
        return found

    def _shortcut(self, name: str, at_hand: Collection[str]) -> Normalised | None:
        """The softmax that a tensor is, where its log-sum-exp is at hand: P = exp(x - L)."""
        group = self.shares.get(name)
        return group if group is not None and group.log and group.log.output.tensor.name in at_hand else None

    def _from_log(self, group: Normalised, op: Op, made: dict[str, Tensor]) -> list[Copy]:
        """exp(x - L) in the place of a softmax."""
        if group.log is None:
            return []
        name, reader = op.output.tensor.name, group.reader
        log = group.log.output.tensor
        wide = widest([group.scores.tensor.format, log.format])
        shift = Tensor(self.tensors.fresh(f"{name}_shift"), op.output.tensor.axes, wide)
        made[name] = replace(op.output.tensor, name=self.tensors.fresh(name))
        inputs = (group.scores, Access(log, log.labels))
        less = replace(
            reader, name=self.titles.fresh("sub"), function="sub", inputs=inputs, output=Access(shift, shift.labels),
            space=op.space, stage=op.stage, compute=wide, accumulate=format(wide.accumulator),
        )  # fmt: skip
        output = Access(made[name], made[name].labels)
        power = replace(less, name=self.titles.fresh("exp"), function="exp", inputs=(less.output,), output=output)
        return [(shift_of(name), reading(less, made)), (name, power)]

    def _copy(self, op: Op, made: dict[str, Tensor]) -> Copy:
        if op.kind == "opaque":
            raise TransformError(f"recompute: {op.name!r} has given counts and no arithmetic to do again")
        tensor = op.output.tensor
        copied = reading(op, made)
        made[tensor.name] = replace(tensor, name=self.tensors.fresh(tensor.name))
        output = replace(op.output, tensor=made[tensor.name])
        return tensor.name, replace(copied, name=self.titles.fresh(op.name), output=output)


def shift_of(name: str) -> str:
    """What the scores less their log-sum-exp are known as, on the way to a softmax: no tensor has such a name.

    >>> shift_of("P")
    'log P'
    """
    return f"log {name}"


def reading(op: Op, instead: Mapping[str, Tensor]) -> Op:
    """The op with other tensors in place of some that it reads.

    >>> from perfmodel.graph.nodes import mapped, tensor
    >>> op = mapped("exp", tensor("x", {"i": 4})).producer
    >>> reading(op, {"x": tensor("z", {"i": 4})}).reads[0].tensor.name
    'z'
    """

    def index(item: Index) -> Index:
        if isinstance(item, Gathered) and item.by in instead:
            return Gathered(instead[item.by].name, item.labels)
        return item

    return with_tensors(op, lambda item: instead.get(item.name, item), index)


def without_dead_ops(kernels: Sequence[Kernel], returned: Collection[str]) -> tuple[Kernel, ...]:
    """The kernels without ops whose results nothing needs; a kernel without ops goes too.

    >>> from perfmodel import elementwise
    >>> [kernel.name for kernel in without_dead_ops(elementwise("exp(x) + 1", 8).kernels, ["exp"])]
    ['exp']
    """
    needed = set(returned)
    kept: list[Kernel] = []
    for kernel in reversed(kernels):
        ops: list[Op] = []
        for op in reversed(kernel.ops):
            if op.output.tensor.name in needed or op.kind == "opaque":
                needed.update([access.tensor.name for access in op.reads])
                ops.append(op)
        if ops:
            kept.append(kernel if len(ops) == len(kernel.ops) else replace(kernel, ops=tuple(ops[::-1])))
    return tuple(kept[::-1])
