"""A factor that lacks a label, pulled out behind the sum over it: sum(p / l * v) over k is sum(p * v) / l.

What is the same for every term need not be known before the sum: it is applied once, to the result.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from perfmodel.graph.indexing import FreshNames, labels_in
from perfmodel.graph.masks import Mask
from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.operands import Scalar
from perfmodel.graph.running import running_of

_SUMS = ("sum", "mean", "multiply-add")


class Factor(NamedTuple):
    """A product or quotient and the operand of it that lacks the label.

    >>> Factor("div", None, None).function
    'div'
    """

    function: str
    by: Access
    op: Op


def factored(ops: Sequence[Op], label: str, leaving: Collection[str], names: FreshNames) -> tuple[Op, ...]:
    """The ops of a kernel with factors that need the end of the label's loop applied after it.

    ``names`` gives fresh names for tensors and ops. Where a row may be without a term under a mask, its result
    stays 0 whatever the factor: one select an element.

    >>> from perfmodel import attention, fuse
    >>> ops = fuse(attention(8, 8, 4)).kernels[0].ops
    >>> [op.name for op in factored(ops, "kv", ["O"], FreshNames(["O", "div", "values"]))]
    ['scores', 'max', 'sub', 'exp', 'sum', 'values', 'div_2']
    """
    states = running_of(ops, label, refuse=False).states
    late = {name for name, state in states.items() if state.kind in ("late", "maximum")}
    work = _Factoring(label, late, names)
    for op in ops:
        work.take(op)
    return alive(work.ops, leaving)


@dataclass
class _Factoring:
    """The rewritten ops so far."""

    label: str
    late: set[str]  # tensors that are complete only after the loop
    names: FreshNames
    ops: list[Op] = field(default_factory=list)
    made: dict[str, Op] = field(default_factory=dict)

    def take(self, op: Op) -> None:
        """One more op, as it is or without its factors."""
        if self.label in op.reduced and op.function in _SUMS:
            kept = op.output.tensor.labels
            own = [item for item in op.inputs if isinstance(item, Access) and self._is_factor(item, kept)]
            if set().union(*[_labels(item) for item in op.inputs if item not in own]) < {a.label for a in op.space}:
                own = []
            pairs = [self._pulled(item, op.mask, kept) for item in op.inputs if item not in own]
            factors = [factor for _, found in pairs for factor in found] + [Factor("mul", item, op) for item in own]
            if factors:
                self._behind(op, tuple([item for item, _ in pairs]), factors)
                return
        self._keep(op)

    def _keep(self, op: Op) -> None:
        self.ops.append(op)
        self.made[op.output.tensor.name] = op

    def _pulled(
        self, item: Access | Scalar, mask: Mask | None, kept: Collection[str]
    ) -> tuple[Access | Scalar, list[Factor]]:
        """An operand without its factors, and these."""
        op = self.made.get(item.tensor.name) if isinstance(item, Access) else None
        if (
            op is None
            or not isinstance(item, Access)
            or item.index != item.tensor.labels
            or op.mask not in (None, mask)
        ):
            return item, []
        places = {"mul": (0, 1), "div": (0,)}.get(op.function, ()) if op.kind == "map" else ()
        for place in places:  # the operand that stays, the other one pulled out
            other = op.inputs[1 - place]
            if (
                isinstance(other, Access)
                and self._is_factor(other, kept)
                and _labels(op.inputs[place]) == {axis.label for axis in op.space}
            ):
                base, found = self._pulled(op.inputs[place], mask, kept)
                return base, [*found, Factor(op.function, other, op)]
        for place in places:  # a factor inside a product with something else
            base, found = self._pulled(op.inputs[place], mask, kept)
            if found and _labels(base) == {axis.label for axis in op.space}:
                inputs = (base, op.inputs[1]) if place == 0 else (op.inputs[0], base)
                return self._fresh(op, inputs), found
        return item, []

    def _fresh(self, op: Op, inputs: tuple[Access | Scalar, ...]) -> Access:
        """The same op on other inputs, under names of its own."""
        tensor = op.output.tensor
        made = Tensor(self.names.fresh(tensor.name), tensor.axes, tensor.format)
        self._keep(replace(op, name=self.names.fresh(op.name), inputs=inputs, output=Access(made, made.labels)))
        return Access(made, made.labels)

    def _is_factor(self, item: Access, kept: Collection[str]) -> bool:
        """Whether an operand is complete only after the loop, and the same for all terms of a sum."""
        return item.tensor.name in self.late and set(item.index) <= set(kept)

    def _behind(self, op: Op, inputs: tuple[Access | Scalar, ...], factors: list[Factor]) -> None:
        """The sum without its factors, then the factors, the last of which makes the result."""
        result = op.output.tensor
        made = Tensor(self.names.fresh(f"{result.name}_sum"), result.axes, result.format)
        kind, function = ("reduce", "sum") if op.kind == "contract" and len(inputs) == 1 else (op.kind, op.function)
        self._keep(replace(op, kind=kind, function=function, inputs=inputs, output=Access(made, made.labels)))
        total = made
        guarded = op.mask is not None and not every_row_has_a_key(op, op.mask)
        for place, factor in enumerate(factors):
            last = place == len(factors) - 1 and not guarded
            item = (Access(made, made.labels), factor.by)
            made = self._applied(factor.function, item, op, factor.op, last=last)
        if guarded:
            sums = (Access(total, total.labels), Access(made, made.labels), Scalar(0))
            self._applied("where", sums, op, factors[-1].op, last=True)

    def _applied(self, function: str, inputs: tuple[Access | Scalar, ...], of: Op, like: Op, *, last: bool) -> Tensor:
        """One map over the results of a sum, in the formats of the op that it stands for."""
        result, stage = of.output.tensor, of.stage
        padded = tuple([item for item in of.padded if item.label in result.labels])
        made = result if last else Tensor(self.names.fresh(f"{result.name}_{function}"), result.axes, result.format)
        self._keep(
            replace(
                like, kind="map", name=self.names.fresh(function), function=function, inputs=inputs, stage=stage,
                output=Access(made, made.labels), space=result.axes, mask=None, padded=padded,
            )
        )  # fmt: skip
        return made


def _labels(item: Access | Scalar) -> set[str]:
    """The labels that move an operand."""
    if isinstance(item, Scalar):
        return set()
    return {label for index in item.index for label in labels_in(index)}


def every_row_has_a_key(op: Op, mask: Mask) -> bool:
    """Whether each result of a masked sum has a term.

    >>> from perfmodel import attention
    >>> op = attention(4, 3, 2, causal=True).ops[-1]  # the first of 4 rows sees none of 3 keys
    >>> every_row_has_a_key(op, op.mask)
    False
    """
    extents = dict(op.space)
    queries, keys = extents[mask.query], extents[mask.key]
    if mask.query in op.reduced:
        return mask.key in op.reduced or mask.columns(queries, keys) == (0, keys)
    return mask.rows(queries, keys) == (0, queries)


def alive(ops: Sequence[Op], leaving: Collection[str]) -> tuple[Op, ...]:
    """The ops whose results are used.

    >>> from perfmodel import attention
    >>> [op.name for op in alive(attention(4, 4, 2).ops, ["max"])]
    ['scores', 'max']
    """
    wanted = set(leaving)
    found = []
    for op in reversed(ops):
        if op.output.tensor.name in wanted:
            found.append(op)
            wanted |= {access.tensor.name for access in op.reads}
    return tuple(found[::-1])
