"""Numpy code for the steps of a formula, written from the steps alone and compiled once.

Every line is one numpy call into a buffer that is used again as soon as its value is no longer
needed, so that a block of points stays in the cache. No text of a user gets into the code:
inputs are ``x0, x1, ...``, values that do not vary ``s0, s1, ...``, buffers ``t0, t1, ...``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from perfmodel.errors import DimensionError
from perfmodel.expressions.bounding import Plan
from perfmodel.expressions.steps import Step, Tape

# What a step is in numpy: {0}, {1}, {2} are its operands, {out} its buffer.
_CODE = {
    "add": "add({0}, {1}, {out})",
    "sub": "subtract({0}, {1}, {out})",
    "mul": "multiply({0}, {1}, {out})",
    "neg": "negative({0}, {out})",
    "div": "divide({0}, {1}, {out})",
    "exact": "divide({0}, {1}, {out})",
    "ceil": "divide({0}, {1}, {out}); ceil({out}, {out})",
    "floor": "divide({0}, {1}, {out}); floor({out}, {out})",
    # numpy's own remainder of floats takes twenty times as long and gives the same
    "mod": "divide({0}, {1}, {out}); floor({out}, {out}); multiply({out}, {1}, {out}); subtract({0}, {out}, {out})",
    "max": "maximum({0}, {1}, out={out})",
    "min": "minimum({0}, {1}, out={out})",
    "abs": "absolute({0}, {out})",
    "where": "copyto({out}, {2}); copyto({out}, {1}, where={0})",
    "lt": "less({0}, {1}, {out})",
    "le": "less_equal({0}, {1}, {out})",
    "eq": "equal({0}, {1}, {out})",
    "ne": "not_equal({0}, {1}, {out})",
    "and": "logical_and({0}, {1}, {out})",
    "or": "logical_or({0}, {1}, {out})",
    "not": "logical_not({0}, {out})",
    "sqrt": "sqrt({0}, {out})",
    "log": "log({0}, {out})",
    "exp": "exp({0}, {out})",
    "pow": "power({0}, {1}, {out})",
}
_WHOLE_CODE = _CODE | {
    "exact": "floor_divide({0}, {1}, {out})",
    "ceil": "negative({0}, {out}); floor_divide({out}, {1}, {out}); negative({out}, {out})",
    "floor": "floor_divide({0}, {1}, {out})",
    "mod": "remainder({0}, {1}, {out})",
}
_NUMPY = (
    "absolute add ceil copyto divide equal exp floor floor_divide isfinite less less_equal log logical_and logical_not "
    "logical_or maximum minimum multiply negative not_equal power remainder sqrt subtract"
)
# A guard: what is wrong at a point, in numpy, and in words.
_GUARDS = {
    "nonzero": ("equal({0}, 0)", "is 0 at a point, and something is divided by it"),
    "positive": ("less_equal({0}, 0)", "is not positive at a point, so its logarithm or power is no real number"),
    "nonnegative": ("less({0}, 0)", "is negative at a point, so its root is no real number"),
    "finite": ("logical_not(isfinite({0}))", "would overflow float64 at a point"),
}


@dataclass(frozen=True, slots=True)
class Kernel:
    """The compiled code of one formula for one choice of which inputs vary.

    It is called as ``function(inputs, scalars, buffers, outputs)``.

    >>> one = Step("symbol", value="m")
    >>> kernel = kernel_of(Tape((one, Step("mul", (0, 0))), (1,), frozenset()), ("m",), Plan())
    >>> print(kernel.source.rstrip())
    def kernel(x, s, t, y):
        x0, = x
        t0, = t
        y0, = y
        multiply(x0, x0, t0)
        copyto(y0, t0, "unsafe")
    """

    source: str
    function: Callable[..., None]
    scalars: tuple[int, ...]
    buffers: tuple[str, ...]


@lru_cache(maxsize=1024)
def kernel_of(tape: Tape, varying: tuple[str, ...], plan: Plan, floats: bool = False) -> Kernel:
    """The kernel for inputs of which the named ones are arrays and the others numbers; results may all be floats.

    >>> one = Step("symbol", value="m")
    >>> kernel_of(Tape((one, Step("neg", (0,))), (1,), frozenset()), ("m",), Plan()).buffers
    ('float64',)
    """
    import numpy

    writer = _Writer(tape, varying, plan, floats)
    source = writer.source()
    namespace: dict[str, Any] = {name: getattr(numpy, name) for name in _NUMPY.split()}
    namespace["summed"] = lambda index, *args: tape.steps[index].value.over(args[0], args[1:])
    namespace["refuse"] = lambda wrong, index, rule: _refuse(tape, wrong, index, rule)
    exec(compile(source, "<formula>", "exec"), namespace)  # noqa: S102  # written here, from steps alone
    return Kernel(source, namespace["kernel"], tuple(writer.scalars), tuple(writer.buffers))


def _refuse(tape: Tape, wrong: Any, index: int, rule: str) -> None:
    if wrong.any():
        raise DimensionError(f"{tape.text(index)} {_GUARDS[rule][1]}")


class _Writer:
    """Writes the code, giving out buffers and taking them back."""

    def __init__(self, tape: Tape, varying: tuple[str, ...], plan: Plan, floats: bool) -> None:
        self.tape, self.plan, self.floats = tape, plan, floats
        self.inputs = {name: f"x{place}" for place, name in enumerate(varying)}
        self.moving = _moving(tape, varying)
        self.names: dict[int, str] = {}
        self.scalars: list[int] = []
        self.buffers: list[str] = []
        self.free: dict[str, list[str]] = {"float64": [], "int64": [], "bool": []}
        self.direct = self._written_at_once()
        self.uses = Counter(tape.outputs)
        self.uses.update(arg for index in self.moving for arg in tape.steps[index].args)

    def source(self) -> str:
        body = [line for index in range(len(self.tape.steps)) for line in self._lines(index)]
        copied = [(place, out) for place, out in enumerate(self.tape.outputs) if not self._is_there(out, place)]
        body += [f'copyto(y{place}, {self._name(out)}, "unsafe")' for place, out in copied]
        counts = (("x", self.inputs), ("s", self.scalars), ("t", self.buffers), ("y", self.tape.outputs))
        head = [f"{''.join(f'{letter}{i}, ' for i in range(len(many)))}= {letter}" for letter, many in counts if many]
        return "\n    ".join(["def kernel(x, s, t, y):", *head, *body]) + "\n"

    def _is_there(self, out: int, place: int) -> bool:
        """Whether a result needs no copy: it was written at once, or is an input, which floats are given as."""
        step = self.tape.steps[out]
        given = self.floats and step.op == "symbol" and str(step.value) in self.inputs
        return given or self.direct.get(out) == f"y{place}"

    def _lines(self, index: int) -> list[str]:
        step = self.tape.steps[index]
        lines = []
        if step.op == "symbol" and str(step.value) in self.inputs:
            self.names[index] = self.inputs[str(step.value)]
        elif index in self.moving:
            lines = self._code(index, step).split("; ")
        for guarded, rule in self.plan.guards:
            if guarded == index:
                lines.append(f"refuse({_GUARDS[rule][0].format(self._name(index))}, {index}, {rule!r})")
        return lines

    def _code(self, index: int, step: Step) -> str:
        args = [self._name(arg) for arg in step.args]
        if step.op == "sum":
            code = f"copyto({{out}}, summed({index}, {', '.join(args)}))"
        else:
            code = (_WHOLE_CODE if self.plan.whole else _CODE)[step.op]
        if step.op in ("ceil", "floor", "exact") and not self.plan.whole:
            code, args[1] = self._quotient(code, args[1], self.tape.steps[step.args[1]])
        in_place = code.count("; ") == 0 or (step.op in ("ceil", "floor") and not self.plan.whole)
        if in_place:
            self._release(step.args)
        self.names[index] = self._taken(index, step)
        if not in_place:
            self._release(step.args)
        return code.format(*args, out=self.names[index])

    def _quotient(self, code: str, written: str, divisor: Step) -> tuple[str, str]:
        """Division by a power of two is a multiplication, exactly, and four times as fast."""
        if divisor.op == "constant" and isinstance(divisor.value, int) and divisor.value.bit_count() == 1:
            return code.replace("divide", "multiply"), repr(1 / divisor.value)
        return code, written

    def _name(self, index: int) -> str:
        step = self.tape.steps[index]
        if index not in self.names:
            if step.op == "constant":
                exact = step.kind == "truth" or (step.kind == "count" and self.plan.whole)
                self.names[index] = repr(step.value if exact else float(step.value or 0))
            else:
                self.names[index] = f"s{len(self.scalars)}"
                self.scalars.append(index)
        return self.names[index]

    def _written_at_once(self) -> dict[int, str]:
        """The results that need no buffer: they have the dtype of their array of results."""
        found: dict[int, str] = {}
        for place, out in enumerate(self.tape.outputs):
            step = self.tape.steps[out]
            kept = step.kind == "real" or (step.kind == "count" and self.plan.whole != self.floats)
            if out in self.moving and step.op != "symbol" and kept:
                found.setdefault(out, f"y{place}")
        return found

    def _taken(self, index: int, step: Step) -> str:
        if index in self.direct:
            return self.direct[index]
        dtype = dtype_of(step, self.plan)
        if self.free[dtype]:
            return self.free[dtype].pop()
        self.buffers.append(dtype)
        return f"t{len(self.buffers) - 1}"

    def _release(self, args: tuple[int, ...]) -> None:
        for arg in args:
            self.uses[arg] -= 1
            if not self.uses[arg] and self.names[arg].startswith("t"):
                self.free[dtype_of(self.tape.steps[arg], self.plan)].append(self.names[arg])


def dtype_of(step: Step, plan: Plan) -> str:
    """The dtype in which a step is held: counts in float64 too, where that is exact.

    >>> dtype_of(Step("add", (0, 1)), Plan(whole=True))
    'int64'
    """
    if step.kind == "truth":
        return "bool"
    return "int64" if plan.whole and step.kind == "count" else "float64"


def _moving(tape: Tape, varying: tuple[str, ...]) -> frozenset[int]:
    """The steps that depend on an input that varies."""
    found: set[int] = set()
    for index, step in enumerate(tape.steps):
        if (step.op == "symbol" and step.value in varying) or not found.isdisjoint(step.args):
            found.add(index)
    return frozenset(found)
