"""What a formula can reach: exact values on Python numbers, and intervals that decide how to compute.

A count is evaluated in float64 where every number on the way stays below 2^52 (there float64 holds
every whole number, and the ceiling of a true division is right), else in int64 where all stay
below 2^63, else not at all: it would wrap around.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from perfmodel.errors import DimensionError
from perfmodel.expressions.arithmetic import LARGEST_SIZE
from perfmodel.expressions.steps import Step, Tape

_LARGEST_WHOLE = 2**63
_MOST_BITS = 1024  # float64 ends here; a longer number is in nobody's model
_REALS = (-math.inf, math.inf)

Number = Any  # int, float or bool
Interval = tuple[Number, Number]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to evaluate: counts in int64 (``whole``) or float64, and what to check at each point.

    A guard is a step and the rule it must obey: "nonzero", "positive", "nonnegative" or "finite".

    >>> Plan().whole
    False
    """

    whole: bool = False
    guards: tuple[tuple[int, str], ...] = ()


def exact_values(tape: Tape, values: Mapping[str, Number]) -> list[Number]:
    """Every step whose symbols are given, on Python numbers: counts are exact ints. Others are None.

    >>> m, two = Step("symbol", value="m"), Step("constant", value=2)
    >>> exact_values(Tape((m, two, Step("mul", (1, 0))), (2,), frozenset()), {"m": 2**60})
    [1152921504606846976, 2, 2305843009213693952]
    """
    found: list[Number] = []
    for index, step in enumerate(tape.steps):
        if step.op == "constant":
            found.append(step.value)
        elif step.op == "symbol":
            found.append(values.get(step.value))
        else:
            args = [found[arg] for arg in step.args]
            found.append(None if None in args else _exact_value(tape, index, step, args))
    return found


def _exact_value(tape: Tape, index: int, step: Step, args: list[Number]) -> Number:
    if step.op == "mul" and step.kind == "count":
        _check_length(tape, index, *args)
    try:
        value = step.value.at(args[0], args[1:]) if step.op == "sum" else _EXACT[step.op](*args)
        if value == math.inf or value == -math.inf:
            raise OverflowError
        return value
    except DimensionError:
        raise
    except ZeroDivisionError:
        raise DimensionError(f"{tape.text(index)} divides by zero: {tape.text(step.args[1])} is 0") from None
    except OverflowError:
        raise DimensionError(f"{tape.text(index)} would overflow float64") from None
    except ValueError:  # a root or a logarithm of what has none
        raise DimensionError(f"{tape.text(index)} has no real value at {args[0]}") from None


def _check_length(tape: Tape, index: int, left: int, right: int) -> None:
    if left.bit_length() + right.bit_length() > _MOST_BITS:
        raise DimensionError(f"{tape.text(index)} would overflow: it reaches beyond 2^{_MOST_BITS}")


def _ceil(p: int, q: int) -> int:
    return -(-p // q)


def _real_power(base: float, exponent: float) -> float:
    if base <= 0:
        raise ValueError
    return math.pow(base, exponent)


_EXACT: dict[str, Callable[..., Number]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "div": operator.truediv,
    "exact": operator.floordiv,
    "ceil": _ceil,
    "floor": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
    "abs": abs,
    "where": lambda condition, chosen, other: chosen if condition else other,
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
    "and": lambda left, right: left and right,
    "or": lambda left, right: left or right,
    "not": operator.not_,
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
    "pow": _real_power,
}


def planned(tape: Tape, bounds: Mapping[str, Interval]) -> Plan:
    """How to evaluate a formula exactly on inputs within bounds, or a ``DimensionError``.

    >>> m = Step("symbol", value="m")
    >>> planned(Tape((m, Step("mul", (0, 0))), (1,), frozenset({0, 1})), {"m": (1, 2**30)}).whole
    True
    """
    reach, guards = _Intervals(tape, bounds).run()
    whole = [index for index, step in enumerate(tape.steps) if step.kind == "count"]
    counts = {index: max(map(abs, reach[index])) for index in whole}
    if all(counts[index] < LARGEST_SIZE for index in tape.exact):
        return Plan(False, guards)
    for index, largest in counts.items():
        if largest >= _LARGEST_WHOLE:
            raise DimensionError(
                f"{tape.text(index)} would overflow: it reaches {_short(largest)} for {_ranges(bounds)}; "
                "whole numbers are counted exactly below 2^63"
            )
    return Plan(True, guards)


def _short(value: int) -> str:
    return str(value) if value.bit_length() < 100 else f"2^{value.bit_length() - 1}"


def _ranges(bounds: Mapping[str, Interval]) -> str:
    return ", ".join(f"{name} up to {high}" for name, (_, high) in sorted(bounds.items()))


class _Intervals:
    """Interval arithmetic along a tape. Ends of counts are exact ints; ends of reals only guide guards."""

    def __init__(self, tape: Tape, bounds: Mapping[str, Interval]) -> None:
        self.tape, self.bounds = tape, bounds
        self.reach: list[Interval] = []
        self.guards: list[tuple[int, str]] = []

    def run(self) -> tuple[list[Interval], tuple[tuple[int, str], ...]]:
        for index, step in enumerate(self.tape.steps):
            self.reach.append(self._step(index, step))
        for index in self.tape.outputs:
            if not all(map(math.isfinite, map(_as_float, self.reach[index]))):
                self.guards.append((index, "finite"))
        return self.reach, tuple(dict.fromkeys(self.guards))

    def _step(self, index: int, step: Step) -> Interval:
        if step.op == "constant":
            return step.value, step.value
        if step.op == "symbol":
            return self.bounds[str(step.value)]
        if step.kind == "truth":
            return False, True
        args = [self.reach[arg] for arg in step.args]
        if step.op == "mul" and step.kind == "count":
            _check_length(self.tape, index, *(max(abs(low), abs(high)) for low, high in args))
        if step.op == "sum":
            return _summed(step, args)
        if step.op in ("div", "ceil", "floor", "mod"):
            return self._divided(step, *args)
        if step.op in ("sqrt", "log", "pow"):
            return self._guarded(step, *args)
        if step.kind == "real":
            args = [(_as_float(low), _as_float(high)) for low, high in args]
        return _INTERVALS[step.op](*args)

    def _divided(self, step: Step, top: Interval, bottom: Interval) -> Interval:
        if bottom[0] <= 0 <= bottom[1]:
            self.guards.append((step.args[1], "nonzero"))
            furthest = max(map(abs, bottom if step.op == "mod" else top))
            return _REALS if step.op == "div" else (-furthest, furthest)
        if step.op == "mod":
            return (0, bottom[1] - 1) if bottom[0] > 0 else (bottom[0] + 1, 0)
        if step.op == "div":
            return _corners(_quotient, _floats(top), _floats(bottom))
        return _corners(_EXACT[step.op], top, bottom)

    def _guarded(self, step: Step, base: Interval, *exponent: Interval) -> Interval:
        low, high = _floats(base)
        if step.op == "log":
            if low <= 0:
                self.guards.append((step.args[0], "positive"))
            return math.log(low) if low > 0 else -math.inf, math.log(high) if high > 0 else math.inf
        if step.op == "sqrt":
            if low < 0:
                self.guards.append((step.args[0], "nonnegative"))
            return math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))
        if low <= 0:
            self.guards.append((step.args[0], "positive"))
        return _corners(_power, (low, high), _floats(exponent[0])) if low > 0 else _REALS


def _summed(step: Step, args: list[Interval]) -> Interval:
    """As many times the term as there are terms; what its own steps reach is looked at when it is added up."""
    summand, (least, most) = step.value, args[0]
    if most <= 0:
        return 0, 0
    bounds = {**dict(zip(summand.names, args[1:], strict=True)), summand.number: (1, most)}
    term = _Intervals(summand.tape, bounds).run()[0][summand.tape.outputs[0]]
    return _corners(operator.mul, (max(least, 0), most), term)


def _as_float(value: Number) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _floats(interval: Interval) -> Interval:
    return _as_float(interval[0]), _as_float(interval[1])


def _corners(function: Callable[[Number, Number], Number], left: Interval, right: Interval) -> Interval:
    ends = [function(a, b) for a in left for b in right]
    if any(isinstance(end, float) and math.isnan(end) for end in ends):
        return _REALS
    return min(ends), max(ends)


def _quotient(top: float, bottom: float) -> float:
    return top / bottom if bottom else math.inf


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


def _exponential(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf


def _magnitude(arg: Interval) -> Interval:
    low, high = arg
    return (max(low, -high, 0), max(-low, high))


def _both(function: Callable[[Number, Number], Number]) -> Callable[[Interval, Interval], Interval]:
    return lambda left, right: (function(left[0], right[0]), function(left[1], right[1]))


_INTERVALS: dict[str, Callable[..., Interval]] = {
    "add": _both(operator.add),
    "sub": lambda left, right: (left[0] - right[1], left[1] - right[0]),
    "mul": lambda left, right: _corners(operator.mul, left, right),
    "neg": lambda arg: (-arg[1], -arg[0]),
    "exact": _both(operator.floordiv),
    "max": _both(max),
    "min": _both(min),
    "abs": _magnitude,
    "where": lambda _, chosen, other: (min(chosen[0], other[0]), max(chosen[1], other[1])),
    "exp": lambda arg: (_exponential(arg[0]), _exponential(arg[1])),
}
