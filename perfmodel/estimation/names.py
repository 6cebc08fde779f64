"""Which effects a call names: "real", "ideal", some by name, some left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from perfmodel.effects.stack import NAMES
from perfmodel.errors import ExpressionError, PerfModelError, brief, did_you_mean, listed
from perfmodel.graph.programs import Program


def names_of(effects: Any, without: Any = ()) -> tuple[str, ...]:
    """The names of the effects asked for, in the order of the stack; the roofline is where every estimate starts.

    >>> names_of("ideal"), len(names_of("real")) == len(NAMES), "launch" in names_of("real", without="launch")
    (('roofline',), True, False)
    """
    wanted = _listed(effects)
    if len(wanted) == 1 and isinstance(wanted[0], str):
        wanted = {"real": NAMES, "ideal": NAMES[:1]}.get(wanted[0], wanted)
    dropped = _listed(without)
    for name in (*wanted, *dropped):
        if not isinstance(name, str) or name not in NAMES:
            raise ExpressionError(
                f"estimate: no effect {brief(name)}{did_you_mean(name, NAMES)}; there are {listed(NAMES)}, "
                "and 'ideal' and 'real' for the first and for all"
            )
    if "roofline" in dropped:
        raise ExpressionError("estimate: the roofline cannot be left out: the other effects correct it")
    if "roofline" not in wanted:
        said = ["roofline", *[name for name in NAMES if name in wanted]]
        raise ExpressionError(
            f"estimate: the other effects correct the roofline, so it has to be named with them: effects={said!r}"
        )
    return tuple([name for name in NAMES if name in wanted and name not in dropped])


def _listed(given: Any) -> tuple[Any, ...]:
    """One name or several; what is neither stands as it is, to be refused by name."""
    alone = isinstance(given, str | bytes | bytearray | Mapping) or getattr(given, "shape", None) == ()
    return (given,) if alone or not isinstance(given, Iterable) else tuple(given)


def checked_program(program: Any, verb: str) -> None:
    """That a program is one.

    >>> checked_program(3, "estimate")
    Traceback (most recent call last):
    perfmodel.errors.PerfModelError: estimate: expected a program, got 3; ...
    """
    if not isinstance(program, Program):
        raise PerfModelError(
            f"{verb}: expected a program, got {brief(program)}; pm.matmul(m, n, k) makes one, pm.program(y) one of "
            "tensors"
        )
