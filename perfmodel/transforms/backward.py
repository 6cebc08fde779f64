"""Walking a program backwards: what flows from the cotangents of its outputs to every value before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfmodel.graph.nodes import Access, Op, Tensor
from perfmodel.graph.operands import Scalar
from perfmodel.graph.programs import Program
from perfmodel.transforms.cotangents import Workbench
from perfmodel.transforms.derivatives import flows
from perfmodel.transforms.normalised import Normalised, normalised


class Backward:
    """The reverse pass over a program, for the values that the wanted inputs reach.

    >>> from perfmodel import matmul
    >>> sorted(Backward(matmul(4, 4, 4), ["A"]).active)
    ['A', 'C']
    """

    def __init__(self, program: Program, wanted: Sequence[str]) -> None:
        self.program = program
        self.values = _values(program)
        self.bench = Workbench(self.values)
        self.parts: dict[str, list[Tensor]] = {}
        self.active = set(wanted)
        for op in program.ops:
            if any(access.tensor.name in self.active for access in op.reads):
                self.active.add(op.output.tensor.name)
        self.groups: dict[str, Normalised] = {}
        for group in normalised(program.ops, program.returned):
            self.groups.update(dict.fromkeys(group.names, group))
        self.places = {op.output.tensor.name: place for place, op in enumerate(program.ops)}

    def run(self, seeds: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The gradient of each input that the seeds, cotangents of outputs, flow to."""
        for name, seed in seeds.items():
            self.parts.setdefault(name, []).append(seed)
        for op in reversed(self.program.ops):
            name = op.output.tensor.name
            group = self.groups.get(name)
            if group is None:
                self._op(op, name)
            elif name == min(group.results, key=self.places.__getitem__):
                self._group(group)
        found = {}
        for item in self.program.inputs:
            if item.name in self.parts:
                self.bench.stage = "backward"
                made = self.bench.total(self.parts[item.name], item.name)
                found[item.name] = self.bench.whole(made, item)
        return found

    def _cotangent(self, name: str) -> Tensor | None:
        if name not in self.parts:
            return None
        return self.bench.added(self.parts[name], name, self.values[name].format)

    def _flow(self, access: Access, factors: Sequence[Tensor], op: Op) -> None:
        if access.tensor.name in self.active:
            self.parts.setdefault(access.tensor.name, []).append(self.bench.back(factors, access, op))

    def _op(self, op: Op, name: str) -> None:
        self.bench.enter(op)
        d = self._cotangent(name)
        if d is None:
            return
        self.bench.enter(op)
        if op.kind == "map":
            self._map(op, d)
        elif op.kind == "contract":
            self._contract(op, d)
        else:
            self._reduce(op, d)

    def _map(self, op: Op, d: Tensor) -> None:
        operands = tuple([self._operand(item, op) for item in op.inputs])
        wanted = [isinstance(item, Access) and item.tensor.name in self.active for item in op.inputs]
        found = flows(self.bench, op.function, d, operands, self.values[op.output.tensor.name])
        for item, flow, want in zip(op.inputs, found, wanted, strict=False):  # a look-up has its indices besides
            if isinstance(item, Access) and want and flow is not None:
                self._flow(item, [flow], op)

    def _operand(self, item: Access | Scalar, op: Op) -> Tensor | Scalar:
        return item if isinstance(item, Scalar) else self.bench.view(item, op.space)

    def _contract(self, op: Op, d: Tensor) -> None:
        """To each factor the contraction of d with the others."""
        for place, access in enumerate(op.reads):
            if access.tensor.name in self.active:
                others = [self.bench.view(a, op.space) for at, a in enumerate(op.reads) if at != place]
                self._flow(access, [d, *others], op)

    def _reduce(self, op: Op, d: Tensor) -> None:
        access = op.reads[0]
        x, y = self.bench.view(access, op.space), self.values[op.output.tensor.name]
        gone = tuple([axis for axis in op.space if axis.label in op.reduced])
        if op.function == "mean":
            d = self.bench.map("div", d, Scalar.count(gone))
        elif op.function == "prod":
            d = self.bench.map("div", self.bench.map("mul", d, y), x)
        elif op.function in ("max", "min"):  # an equal share to each element that attains it
            attains = self.bench.map("equal", x, y)
            kept = tuple([axis for axis in op.space if axis not in gone])
            d = self.bench.map("mul", attains, self.bench.map("div", d, self.bench.product([attains], kept, op.space)))
        self._flow(access, [d], op)

    def _group(self, group: Normalised) -> None:
        """A softmax and a log-sum-exp of one tensor: dx = P (dP - rowsum(P dP) + dL)."""
        shares, logs = [self._of(op) for op in (group.share, group.log)]
        if shares is None and logs is None:
            return
        bench, op = self.bench, group.reader
        bench.enter(op)
        share = self._share(group)
        found = logs
        if shares is not None:
            kept = tuple([axis for axis in op.space if axis.label not in group.labels])
            rows = bench.product([bench.map("mul", share, shares)], kept, op.space)
            rows = bench.claim(rows, "D", rows.format)
            found = bench.map("sub", shares, rows if logs is None else bench.map("sub", rows, logs))
        if found is not None:
            self._flow(group.scores, [bench.map("mul", share, found)], op)

    def _of(self, op: Op | None) -> Tensor | None:
        if op is None:
            return None
        self.bench.enter(op)
        return self._cotangent(op.output.tensor.name)

    def _share(self, group: Normalised) -> Tensor:
        """The softmax: what the forward pass made, or exp(x - L) where it made only the log-sum-exp."""
        if group.share is not None:
            return self.values[group.share.output.tensor.name]
        x = self.bench.view(group.scores, group.reader.space)
        return self.bench.map("exp", self.bench.map("sub", x, self.values[group.results[0]]))


def _values(program: Program) -> dict[str, Tensor]:
    """The forward program's tensors, each with its mask, as inputs of the backward pass."""
    found = dict(program.tensors)
    for op in program.ops:
        mask, item = op.mask, op.output.tensor
        if mask is not None and {mask.query, mask.key} <= set(op.output.index):
            found[item.name] = Tensor(item.name, item.axes, item.format, mask)
    return found
