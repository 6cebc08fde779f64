"""Random expressions of thread indices, with what Python makes of them for one thread."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

Names = dict[str, int]


@dataclass(frozen=True)
class Written:
    """Text, and its value where the names have values, as Python computes it."""

    text: str
    value: Callable[[Names], int]


BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "not ": operator.not_,
}  # fmt: skip


def _constant(number: int) -> Written:
    return Written(str(number), lambda _: number)


def _name(name: str) -> Written:
    return Written(name, lambda names: names[name])


def _binary(symbol: str, left: Written, right: Written) -> Written:
    def value(names: Names) -> int:
        return int(BINARY[symbol](left.value(names), right.value(names)))

    return Written(f"({left.text} {symbol} {right.text})", value)


def _unary(symbol: str, operand: Written) -> Written:
    return Written(f"({symbol}{operand.text})", lambda names: int(UNARY[symbol](operand.value(names))))


def _chosen(test: Written, body: Written, other: Written) -> Written:
    def value(names: Names) -> int:
        return body.value(names) if test.value(names) else other.value(names)

    return Written(f"({body.text} if {test.text} else {other.text})", value)


def _guarded(both: bool, left: Written, right: Written) -> Written:
    def value(names: Names) -> int:
        held = bool(left.value(names))
        return int(held and bool(right.value(names)) if both else held or bool(right.value(names)))

    return Written(f"({left.text} {'and' if both else 'or'} {right.text})", value)


def _between(low: Written, middle: Written, high: Written) -> Written:
    def value(names: Names) -> int:
        return int(low.value(names) <= middle.value(names) < high.value(names))

    return Written(f"({low.text} <= {middle.text} < {high.text})", value)


def _function(name: str, first: Written, second: Written) -> Written:
    join = {"min": min, "max": max}[name]
    return Written(f"{name}({first.text}, {second.text})", lambda names: join(first.value(names), second.value(names)))


LEAVES = st.sampled_from(["t", "lane", "warp"]).map(_name) | st.integers(0, 40).map(_constant)


def _grown(inside: st.SearchStrategy[Written]) -> st.SearchStrategy[Written]:
    return st.one_of(
        st.builds(_binary, st.sampled_from(sorted(BINARY)), inside, inside),
        st.builds(_unary, st.sampled_from(sorted(UNARY)), inside),
        st.builds(_chosen, inside, inside, inside),
        st.builds(_guarded, st.booleans(), inside, inside),
        st.builds(_between, inside, inside, inside),
        st.builds(_function, st.sampled_from(["min", "max"]), inside, inside),
    )


EXPRESSIONS = st.recursive(LEAVES, _grown, max_leaves=8)
