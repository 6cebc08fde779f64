"""What moves, tensor by tensor: bars of bytes read and written, a program beside others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfmodel.errors import PerfModelError
from perfmodel.expressions import is_concrete
from perfmodel.graph.programs import Program
from perfmodel.plot.style import axes, colour, engineering, finish, legend


def traffic(*programs: Program, labels: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Bytes that each program moves, stacked by tensor: what is written above what is read, hatched; returns the Axes.

    >>> from perfmodel import attention, fuse
    >>> staged = fuse(attention(1024, 1024, 64), by="stage")
    >>> drawn = traffic(staged, fuse(staged))
    >>> len(drawn.get_xticks())
    2
    """
    if not programs:
        raise PerfModelError("traffic: expected at least one program")
    names = list(labels) if labels is not None else [" -> ".join([each.name, *each.history[1:]]) for each in programs]
    if len(names) != len(programs):
        raise PerfModelError(f"traffic: {len(names)} labels for {len(programs)} programs")
    drawn = axes(ax, "traffic")
    rows = [_bytes_by_tensor(each) for each in programs]
    tensors = list(dict.fromkeys(name for moved in rows for name, _ in moved))
    for place, moved in enumerate(rows):
        base = 0.0
        for (name, direction), amount in moved.items():
            hatch = "//" if direction == "write" else ""
            shade = colour(tensors.index(name))
            drawn.bar(place, amount, 0.6, base, color=shade, hatch=hatch, edgecolor="white")
            base += amount
    for number, name in enumerate(tensors):
        drawn.bar(0, 0, color=colour(number), label=name)
    drawn.bar(0, 0, color="#BBBBBB", hatch="//", edgecolor="white", label="written")
    drawn.set_xticks(range(len(programs)), names, rotation=15 if max(map(len, names)) > 16 else 0)
    engineering(drawn.yaxis, "B")
    legend(drawn, loc="upper right")
    return finish(drawn, "bytes moved, by tensor", ("", ""), ("moved", ""))


def _bytes_by_tensor(program: Program) -> dict[tuple[str, str], float]:
    if not isinstance(program, Program):
        raise PerfModelError(f"traffic: expected programs, got {program!r}")
    found: dict[tuple[str, str], float] = {}
    for _, tensor, direction, _, amount, repeat in program.traffic().rows:
        if not (is_concrete(amount) and is_concrete(repeat)):
            raise PerfModelError(f"traffic: {program.name} holds symbols; give them values with p.at(...)")
        key = (tensor, direction)
        found[key] = found.get(key, 0.0) + float(amount) * float(repeat)
    return dict(sorted(found.items(), key=lambda item: item[0][1] == "write"))
