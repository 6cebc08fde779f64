"""A formula as a list of elementary steps, each on one or two earlier ones, each done once.

``lowering`` writes sums and products of many terms; ``linearized`` shares what they have in common
and cuts them into steps. The same steps are then read three ways: on exact Python numbers
and on intervals (``bounding``), and as numpy code (``generating``).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

Kind = Literal["count", "real", "truth"]

_MANY = ("mul", "add", "max", "min")  # associative and commutative: they may hold many args
_PAIRED_AT_MOST = 24  # pairs of longer sums are not searched: the search is quadratic
# How tightly an operator binds, for messages.
_BINDS = {"or": 1, "and": 2, "lt": 3, "le": 3, "eq": 3, "ne": 3, "add": 4, "sub": 4, "mul": 5, "div": 5}
_BINDS |= {"exact": 5, "mod": 5, "pow": 6}
_SIGNS = {"or": " or ", "and": " and ", "lt": " < ", "le": " <= ", "eq": " == ", "ne": " != ", "add": " + "}
_SIGNS |= {"sub": " - ", "mul": "*", "div": "/", "exact": "/", "mod": " % ", "pow": "**"}


@dataclass(frozen=True, slots=True)
class Step:
    """One operation on earlier steps; ``value`` is a constant's number, a symbol's name or what a sum adds up.

    >>> Step("mul", (0, 1)).kind
    'count'
    """

    op: str
    args: tuple[int, ...] = ()
    value: Any = None
    kind: Kind = "count"


@dataclass(frozen=True, slots=True, eq=False)
class Tape:
    """Steps in order, which of them are the results, and which counts have to be exact.

    >>> Tape((Step("symbol", value="m"),), (0,), frozenset({0})).text(0)
    'm'
    """

    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    exact: frozenset[int]

    def text(self, index: int, longest: int = 100) -> str:
        """A step as a person would write it, for messages.

        >>> m, two = Step("symbol", value="m"), Step("constant", value=2)
        >>> Tape((m, two, Step("mul", (1, 0))), (2,), frozenset({2})).text(2)
        '2*m'
        """
        written = _written(self.steps, index, longest)
        return written if len(written) <= longest else written[:longest] + "..."


def _written(steps: tuple[Step, ...], index: int, room: int) -> str:
    step = steps[index]
    if step.op in ("constant", "symbol"):
        return str(step.value)
    if step.op == "sum":
        return str(step.value.text)
    if room <= 0:
        return "..."
    args = [_written(steps, arg, room - 8) for arg in step.args]
    ops = [steps[arg].op for arg in step.args]
    if step.op in ("ceil", "floor"):
        return f"{step.op}({_joined('div', args, ops)})"
    if step.op not in _SIGNS:
        return f"{step.op}({', '.join(args)})"
    if (step.op == "mul" and ops[1] == "constant") or (step.op == "add" and ops[0] == "constant"):
        args, ops = args[::-1], ops[::-1]  # 2*m + 1, not 1 + m*2
    return _joined(step.op, args, ops)


def _joined(op: str, args: list[str], ops: list[str]) -> str:
    closed = [f"({text})" if _loose(inner, op) else text for text, inner in zip(args, ops, strict=True)]
    return _SIGNS[op].join(closed).replace(" + -", " - ")


def _loose(inner: str, outer: str) -> bool:
    """Whether an operand needs brackets."""
    looser = _BINDS.get(inner, 9) - _BINDS[outer]
    return looser < 0 or (looser == 0 and outer not in ("add", "mul"))


def share(nodes: list[Step]) -> None:
    """Gives every pair of terms that several sums (or products) hold a node of its own, in place.

    >>> nodes = [Step("symbol", value=name) for name in "kmn"]
    >>> nodes += [Step("mul", (0, 1)), Step("mul", (0, 1, 2))]
    >>> share(nodes)
    >>> nodes[4].args
    (2, 3)
    """
    for op in _MANY:
        while _share_once(nodes, op):
            pass


def _share_once(nodes: list[Step], op: str) -> bool:
    holders: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, step in enumerate(nodes):
        if step.op == op and len(step.args) <= _PAIRED_AT_MOST:
            for pair in dict.fromkeys(combinations(sorted(step.args), 2)):
                holders[pair].append(index)
    changed = False
    for pair, indices in sorted(holders.items(), key=lambda item: (-len(item[1]), item[0])):
        changed |= len(indices) > 1 and _share_pair(nodes, op, pair, indices)
    return changed


def _share_pair(nodes: list[Step], op: str, pair: tuple[int, int], indices: list[int]) -> bool:
    homes = [index for index in indices if tuple(sorted(nodes[index].args)) == pair]
    users = [index for index in indices if len(nodes[index].args) > 2 and _holds(nodes[index].args, pair)]
    if not users or len(homes) + len(users) < 2:
        return False
    if not homes:
        nodes.append(Step(op, pair, kind=_joint(nodes, pair)))
        homes = [len(nodes) - 1]
    for user in users:
        rest = list(nodes[user].args)
        for arg in pair:
            rest.remove(arg)
        nodes[user] = Step(op, (*rest, homes[0]), kind=nodes[user].kind)
    return True


def _holds(args: tuple[int, ...], pair: tuple[int, int]) -> bool:
    first, second = pair
    return args.count(first) >= 2 if first == second else first in args and second in args


def _joint(nodes: list[Step], args: tuple[int, ...]) -> Kind:
    return "count" if all(nodes[arg].kind == "count" for arg in args) else "real"


def linearized(nodes: list[Step], outputs: list[int]) -> Tape:
    """The nodes that the outputs need, in order, with sums and products cut into steps of two.

    >>> nodes = [Step("symbol", value=name) for name in "kmn"] + [Step("add", (0, 1, 2))]
    >>> [step.op for step in linearized(nodes, [3]).steps]
    ['symbol', 'symbol', 'add', 'symbol', 'add']
    """
    share(nodes)
    writer = _Linear(nodes)
    results = tuple(writer.placed(output) for output in outputs)
    steps = tuple(writer.steps)
    return Tape(steps, results, _exact_steps(steps, results))


class _Linear:
    """Writes nodes as steps, operands first, each once."""

    def __init__(self, nodes: list[Step]) -> None:
        self.nodes = nodes
        self.steps: list[Step] = []
        self.places: dict[int, int] = {}
        self.known: dict[Step, int] = {}

    def placed(self, node: int) -> int:
        if node not in self.places:
            step = self.nodes[node]
            if step.op in _MANY:
                self.places[node] = self._chain(step)
            else:
                self.places[node] = self._put(step, *map(self.placed, step.args))
        return self.places[node]

    def _put(self, step: Step, *args: int) -> int:
        placed = Step(step.op, args, step.value, step.kind)
        if placed not in self.known:
            self.known[placed] = len(self.steps)
            self.steps.append(placed)
        return self.known[placed]

    def _chain(self, step: Step) -> int:
        """One by one: counts before reals (they stay exact), and what is subtracted last."""

        def rank(arg: int) -> tuple[bool, bool]:
            return step.op == "add" and self.nodes[arg].op == "neg", self.nodes[arg].kind != "count"

        first, *rest = sorted(step.args, key=rank)
        current = self.placed(first)
        for arg in rest:
            taken = step.op == "add" and self.nodes[arg].op == "neg"
            other = self.placed(self.nodes[arg].args[0] if taken else arg)
            both = self.steps[current].kind == self.steps[other].kind == "count"
            current = self._put(Step("sub" if taken else step.op, kind="count" if both else "real"), current, other)
        return current


def _exact_steps(steps: tuple[Step, ...], outputs: tuple[int, ...]) -> frozenset[int]:
    """The counts that must not round: counted results, and all that a rounding or a comparison reads."""
    exact = {index for index in outputs if steps[index].kind == "count"}
    for index in reversed(range(len(steps))):
        step = steps[index]
        if index in exact or step.kind == "truth" or step.op in ("ceil", "floor", "mod", "sum"):
            exact |= {arg for arg in step.args if steps[arg].kind == "count"}
    return frozenset(exact)
