"""Programs with symbols for the labels that are to take many sizes."""

from __future__ import annotations

from collections.abc import Iterable

from perfmodel.errors import LabelError, brief, did_you_mean, listed
from perfmodel.expressions import dimension
from perfmodel.graph.programs import Program


def with_symbols(program: Program, names: Iterable[str], verb: str, others: Iterable[str] = ()) -> Program:
    """The program with a symbol for each of these names that is a label and holds an int.

    ``LabelError`` for a name that is neither a symbol nor such a label; ``others`` are listed beside them.

    >>> from perfmodel import matmul
    >>> with_symbols(matmul(8, 64, 64), ["m"], "sweep").flops
    8192*m
    """
    wanted = list(names)
    symbols = {each.name for each in program.symbols}
    fixed = [label for label, size in program.labels.items() if isinstance(size, int)]
    for name in wanted:
        if name not in symbols and name not in fixed:
            known = [*sorted(symbols), *fixed, *others]
            near = did_you_mean(name, known)
            raise LabelError(
                f"{verb}: {program.name} has no symbol or label {brief(name)}{near}; there are {listed(known)}"
            )
    labels = [name for name in wanted if name not in symbols]
    return program.at({name: dimension(name) for name in labels}) if labels else program
