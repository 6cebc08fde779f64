"""What a value becomes when a reduction over a label is used while it still runs: fixed, shifted or scaled.

When a running maximum moves from R to R', a value over the label that was made with R is *fixed* (it does not
depend on R), *shifted* (x - R) or *scaled* (exp of a shift, and that times fixed values: by exp(R - R')). A sum of
scaled values is corrected by the same factor, so it need not wait for the end. What depends on a result of the loop
in any other way *waits* for it, and must not be reduced over the label.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from perfmodel.errors import TransformError
from perfmodel.graph.nodes import Access, Op

_SUMS = ("sum", "mean", "multiply-add")


class State(NamedTuple):
    """What a value is to the loop over a label, and the op (or, of shifted and scaled, the maximum) that makes it so.

    >>> State("scaled", "max").kind
    'scaled'
    """

    kind: str  # "fixed", "maximum", "late" (complete only after the loop), "shifted", "scaled" or "waiting"
    by: str = ""


FIXED = State("fixed")


@dataclass(frozen=True)
class Running:
    """The values of a kernel that are not fixed while a label's loop runs, and the sums that must be corrected.

    >>> from perfmodel import fuse, softmax
    >>> running = running_of(fuse(softmax(4, 8)).kernels[0].ops, "n")
    >>> [f"{name} {state.kind}" for name, state in running.states.items()]
    ['max maximum', 'sub shifted', 'exp scaled', 'sum late', 'y waiting']
    >>> running.corrected
    {'sum': 'max'}
    """

    label: str
    states: dict[str, State] = field(default_factory=dict)
    corrected: dict[str, str] = field(default_factory=dict)  # a sum, and the maximum whose moves it follows
    reused: set[str] = field(default_factory=set)  # what reductions over the label make of such results
    maxima: dict[str, tuple[str, ...]] = field(default_factory=dict)  # and the labels of each maximum

    def follows(self, made: str, source: str) -> bool:
        """Whether a value is the shift by this maximum: it takes the maximum as it stands.

        >>> Running("n", {"sub": State("shifted", "max")}).follows("sub", "max")
        True
        """
        return self.states.get(made) == State("shifted", source)

    def unsettled(self, maxima: Collection[str]) -> set[str]:
        """The values that are made with one of these maxima as it stands.

        >>> Running("n", {"sub": State("shifted", "max")}).unsettled(["max"])
        {'sub'}
        """
        kinds = ("shifted", "scaled")
        return {name for name, state in self.states.items() if state.kind in kinds and state.by in maxima}

    @property
    def needed_again(self) -> bool:
        """Whether a result of the loop is needed at points of the label.

        >>> Running("n").needed_again
        False
        """
        return bool(self.reused) or any(state.kind in ("shifted", "waiting") for state in self.states.values())


def running_of(ops: Sequence[Op], label: str, *, refuse: bool = True) -> Running:
    """How the values of a kernel stand to a label; a reduction of what cannot be corrected is refused.

    >>> from perfmodel import fuse, layernorm
    >>> running_of(fuse(layernorm(4, 8)).kernels[0].ops, "n")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    perfmodel.errors.TransformError: online: 'mean_2' takes the mean over 'n' of what 'sub' makes of a result ...
    """
    found = Running(label)
    for op in ops:
        state = _reduction(op, found, refuse) if label in op.reduced else _value(op, found)
        if state != FIXED:
            found.states[op.output.tensor.name] = state
    return found


def _reads(op: Op, running: Running) -> list[tuple[Access, State]]:
    """What an op reads that is not fixed."""
    found = [(access, running.states.get(access.tensor.name, FIXED)) for access in op.reads]
    return [(access, state) for access, state in found if state != FIXED]


def _value(op: Op, running: Running) -> State:
    """What an op that does not reduce the label makes."""
    moving = _reads(op, running)
    if not moving:
        return FIXED
    if running.label not in [axis.label for axis in op.space]:
        return State("late", op.name)
    if len(moving) == 1 and _as_it_is(moving[0][0]):
        found = _followed(op, *moving[0])
        if found is not None:
            return found
    return next((state for _, state in moving if state.kind == "waiting"), State("waiting", op.name))


def _followed(op: Op, access: Access, state: State) -> State | None:
    """The shift by a maximum, what keeps a value shifted or scaled, and the exponential between the two."""
    first = access is op.inputs[0]
    if state.kind == "maximum" and op.function == "sub" and access is op.inputs[-1] and not first:
        return State("shifted", access.tensor.name)
    if state.kind == "shifted":
        if op.function in ("add", "copy") or (op.function == "sub" and first):
            return state
        return State("scaled", state.by) if op.function == "exp" else None
    if state.kind == "scaled":
        kept = op.function in ("mul", "neg", "copy") or (op.function == "div" and first)
        return state if kept else None
    return None


def _as_it_is(access: Access) -> bool:
    """Whether a tensor is read under its own labels, element by element."""
    return access.index == access.tensor.labels


def _reduction(op: Op, running: Running, refuse: bool) -> State:
    """A reduction over the label: of fixed values, or a sum that can follow a maximum."""
    name, moving = op.output.tensor.name, _reads(op, running)
    if not moving and op.kind == "reduce" and op.function == "max":
        running.maxima[name] = op.output.tensor.labels
        return State("maximum", op.name)
    if not moving:
        return State("late", op.name)
    running.reused.add(name)
    why = _why_not(op, moving, running)
    if not why:
        running.corrected[name] = moving[0][1].by
    elif refuse:
        raise TransformError(_refusal(op, running.label, moving, why))
    return State("late", op.name)


def _why_not(op: Op, moving: Sequence[tuple[Access, State]], running: Running) -> str:
    """The rule that a reduction breaks, if it breaks one."""
    late = [state for _, state in moving if state.kind != "scaled"]
    if late:
        return "only exp(x - max), and that times what does not depend on the loop, can be corrected as it runs"
    if op.function not in _SUMS:
        return "values scaled by exp(old - new) can be summed as they run, and nothing else"
    if len(moving) > 1:
        return "a product of two values that are scaled by exp(old - new) cannot be corrected by one of them"
    access, state = moving[0]
    gone = [label for label in running.maxima[state.by] if label in op.reduced]
    if gone:
        return f"{state.by!r} differs along {gone[0]!r}, which is summed too, so one factor cannot correct the sum"
    return "" if _as_it_is(access) else f"{access.tensor.name!r} is read under other labels than its own"


def _refusal(op: Op, label: str, moving: Sequence[tuple[Access, State]], why: str) -> str:
    verb = {"max": "takes the maximum", "min": "takes the minimum", "mean": "takes the mean"}.get(op.function, "sums")
    names = ("shifted", "scaled")
    access, state = next((pair for pair in moving if pair[1].kind not in names), moving[0])
    if state.kind in names:
        what = f"{access.tensor.name!r}, which is {state.kind} by {state.by!r}"
    elif state.kind == "waiting":
        what = f"what {state.by!r} makes of a result that is complete only after that loop"
    else:
        what = f"{access.tensor.name!r}, which is complete only after that loop"
    preposition = "of " if verb != "sums" else ""
    return f"online: {op.name!r} {verb} over {label!r} {preposition}{what}: {why}"
