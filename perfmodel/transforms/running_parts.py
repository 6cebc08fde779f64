"""An online loop in parts: each part keeps running results of its own, and a second kernel combines them.

A maximum over the parts is the maximum of their maxima. A sum that follows a maximum was made with that of its part,
so it is scaled by exp(that of the part - that of all) before it is added: the rule by which ``online`` corrects a sum
as its maximum moves. Other results are combined as they are, and what stands behind the loop follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from perfmodel.expressions import Size
from perfmodel.graph.indexing import Axis
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.operands import Scalar
from perfmodel.graph.running import Running, running_of
from perfmodel.transforms.factoring import alive, every_row_has_a_key
from perfmodel.transforms.parting import (
    Names,
    Part,
    combined,
    in_parts,
    kept_bounds,
    partial_of,
    space_in_parts,
    stage_behind,
    with_places,
)


@dataclass(frozen=True)
class RunningParts:
    """The two kernels that an online kernel becomes when the label of its loop is cut into parts.

    >>> from perfmodel import attention, fuse, online
    >>> kernel = online(fuse(attention(1, 64, 8)), "kv").kernels[0]
    >>> parts = RunningParts(kernel, "kv", frozenset(["O"]))
    >>> [op.name for op in parts.within], [op.name for op in parts.again]
    (['scores', 'max', 'sub', 'exp', 'sum', 'values'], [])
    """

    kernel: Kernel
    label: str
    leaving: frozenset[str]

    @cached_property
    def running(self) -> Running:
        """How the values of the kernel stand to the loop."""
        return running_of(self.kernel.ops, self.label)

    @cached_property
    def within(self) -> tuple[Op, ...]:
        """The reductions over the label, and what they need."""
        return alive(self.kernel.ops, [op.output.tensor.name for op in self.reductions])

    @property
    def reductions(self) -> list[Op]:
        """The ops that reduce the label."""
        return [op for op in self.kernel.ops if self.label in op.reduced]

    @cached_property
    def behind(self) -> tuple[Op, ...]:
        """What the second kernel does with the combined results; values over the label are made again, whole."""
        ahead = [op for op in self.within if not self.over(op)]
        ops = [op for op in self.kernel.ops if self.label not in op.reduced and op not in ahead]
        return alive(ops, self.leaving)

    @property
    def again(self) -> list[Op]:
        """The ops over the label that the second kernel repeats (their label stays whole)."""
        return [op for op in self.behind if self.over(op)]

    def over(self, op: Op) -> bool:
        """Whether an op has the label."""
        return self.label in [axis.label for axis in op.space]

    def kernels(self, names: tuple[str, str], number: Size, free: Names) -> list[Kernel]:
        """Both kernels: ``names`` are the labels of the parts and within a part, ``number`` is how many there are."""
        work = _Parting(self, names, number, free)
        first = [work.taken(op) for op in self.within]
        behind = [replace(op, stage=stage_behind(op.stage)) for op in self.behind]
        second = alive([*work.combining(), *behind], self.leaving)
        others = [label for label in self.kernel.online if label != self.label]
        later = tuple([label for label in others if any(label in op.reduced for op in second)])
        within = tuple([label for label in others if any(label in op.reduced for op in first)])
        return [
            replace(self.kernel, ops=tuple(first), online=(names[1], *within)),
            replace(self.kernel, name=free.kernels.fresh(f"{self.kernel.name}_combine"), ops=second, online=later),
        ]


class _Parting:
    """Rewrites the ops of one loop for its parts, and combines what they make."""

    def __init__(self, loop: RunningParts, names: tuple[str, str], number: Size, free: Names) -> None:
        self.loop, self.names, self.number, self.free = loop, names, number, free
        self.whole = {op.output.tensor.name for op in loop.again}
        self.made: dict[str, Tensor] = {}  # what a part makes in place of each tensor

    def taken(self, op: Op) -> Op:
        """An op of the loop as the parts do it."""
        if not self.loop.over(op):
            return op
        part = self.part(op)
        op = with_places(op, [part])
        reduces = self.loop.label in op.reduced
        found = partial_of(op, [part], self._name(op)) if reduces else self._value(op, part)
        self.made[op.output.tensor.name] = found.output.tensor
        inputs = [self._read(item, part) if isinstance(item, Access) else item for item in op.inputs]
        again = op.output.tensor.name in self.whole
        name = self.free.ops.fresh(f"{op.name}_in_parts") if again else op.name
        return replace(found, name=name, inputs=tuple(inputs), bounds=(*op.bounds, part.bound(op)))

    def part(self, op: Op) -> Part:
        """The label of an op in its parts."""
        axis = next(axis for axis in op.space if axis.label == self.loop.label)
        return Part.of(axis, self.names, self.number)

    def _name(self, op: Op) -> str:
        return self.free.tensors.fresh(f"{op.output.tensor.name}_partial")

    def _value(self, op: Op, part: Part) -> Op:
        """An op that keeps the label: its result has the parts, and the places within each."""
        made = op.output.tensor
        name = self.free.tensors.fresh(f"{made.name}_in_parts") if made.name in self.whole else made.name
        axes = space_in_parts(made.axes, [part])
        return replace(op, output=Tensor(name, axes, made.format).access, space=space_in_parts(op.space, [part]))

    def _read(self, access: Access, part: Part) -> Access:
        """What is read in a part: of what the parts make themselves, that of the same part."""
        made = self.made.get(access.tensor.name)
        if made is None:
            return in_parts(access, [part])
        index = tuple([part.inner if index == part.label else index for index in access.index])
        return Access(made, (part.part, *index))

    def combining(self) -> list[Op]:
        """The ops that make whole results of partial ones: maxima first met, then the sums that follow them."""
        found: list[Op] = []
        weights: dict[str, Tensor] = {}
        for op in self.loop.reductions:
            part, name = self.part(op), op.output.tensor.name
            partial = self.made[name]
            by = self.loop.running.corrected.get(name)
            if by is not None:
                if by not in weights:
                    found += self._weights(by, part.axes[0])
                    weights[by] = found[-1].output.tensor
                found += self._scaled(op, partial, weights[by])
                partial = found[-1].output.tensor
            found += combined(op, partial, (part.axes[0],), self.free)
        return found

    def _weights(self, by: str, parts: Axis) -> list[Op]:
        """exp(the maximum of a part - that of all parts)."""
        maximum = next(op for op in self.loop.kernel.ops if op.output.tensor.name == by)
        shift = self._map(maximum, "sub", [self.made[by], maximum.output.tensor], f"{by}_shift", parts)
        return [shift, self._map(maximum, "exp", [shift.output.tensor], f"{by}_weight", parts)]

    def _scaled(self, op: Op, partial: Tensor, weight: Tensor) -> list[Op]:
        """Partial sums as if they were made with the maximum of all parts."""
        name, parts = f"{op.output.tensor.name}_weighted", partial.axes[0]
        scaled = self._map(op, "mul", [partial, weight], name, parts)
        if op.mask is None or self.loop.label != op.mask.key or every_row_has_a_key(op, op.mask):
            return [scaled]
        where = self._map(op, "where", [partial, scaled.output.tensor, Scalar(0)], name, parts)
        return [scaled, where]  # a row without a key has no maximum, and nothing to scale

    def _map(self, of: Op, function: str, inputs: Sequence[Tensor | Scalar], name: str, parts: Axis) -> Op:
        """One map over the partial results of an op, in the format of its accumulator."""
        axes = (parts, *of.output.tensor.axes)
        return replace(
            of, kind="map", name=self.free.ops.fresh(name), function=function, space=axes, mask=None, padded=(),
            inputs=tuple([item if isinstance(item, Scalar) else item.access for item in inputs]),
            output=Tensor(self.free.tensors.fresh(name), axes, of.accumulate).access, compute=of.accumulate,
            stage=stage_behind(of.stage), bounds=kept_bounds(of, axes),
        )  # fmt: skip
