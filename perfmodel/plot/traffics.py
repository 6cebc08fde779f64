"""What moves, tensor by tensor: bars of bytes read and written, a program beside others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfmodel.errors import PerfModelError
from perfmodel.expressions import is_concrete
from perfmodel.graph.describing import title
from perfmodel.graph.programs import Program
from perfmodel.plot.naming import told_apart, wrapped
from perfmodel.plot.style import GREY, TEXT, axes, colour, engineering, finish, legend, short_number

_NAMED, _OTHERS = 6, "others"


def traffic(*programs: Program, labels: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Bytes that each program moves, stacked by tensor: what is written above what is read, hatched; returns the Axes.

    The six tensors that move most have a colour each, the others stand together. ``PerfModelError`` for symbols.

    >>> from perfmodel import attention, fuse
    >>> staged = fuse(attention(1024, 1024, 64), by="stage")
    >>> drawn = traffic(staged, fuse(staged))
    >>> len(drawn.get_xticks())
    2
    """
    if not programs:
        raise PerfModelError("traffic: expected at least one program")
    if labels is not None and len(labels) != len(programs):
        raise PerfModelError(f"traffic: {len(labels)} labels for {len(programs)} programs")
    rows, tensors = _grouped([_bytes_by_tensor(each) for each in programs])
    names = list(labels) if labels is not None else [wrapped(each) for each in _names(programs)]
    drawn = axes(ax, "traffic")
    for place, moved in enumerate(rows):
        base = 0.0
        for (name, direction), amount in moved.items():
            hatch = "//" if direction == "write" else ""
            shade = _shade(name, tensors)
            drawn.bar(place, amount, 0.6, base, color=shade, hatch=hatch, edgecolor="white")
            base += amount
        drawn.text(place, base, short_number(base, "B"), ha="center", va="bottom", fontsize=TEXT - 2)
    for name in tensors:
        drawn.bar(0, 0, color=_shade(name, tensors), label=name)
    drawn.bar(0, 0, color="#BBBBBB", hatch="//", edgecolor="white", label="written")
    drawn.set_xticks(range(len(programs)), names, rotation=15 if max(map(len, names)) > 48 // len(names) else 0)
    engineering(drawn.yaxis, "B")
    legend(drawn, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return finish(drawn, "bytes moved, by tensor", ("", ""), ("moved", ""))


def _names(programs: Sequence[Program]) -> list[str]:
    """By what differs: sizes and formats, or how they were made."""
    if len(programs) == 1:
        return [title(programs[0])]
    return told_apart([(title(each), " -> ".join(each.history[1:]) or "as described") for each in programs])


def _shade(name: str, tensors: list[str]) -> str:
    return GREY if name == _OTHERS else colour(tensors.index(name))


def _grouped(rows: list[dict[tuple[str, str], float]]) -> tuple[list[dict[tuple[str, str], float]], list[str]]:
    """The tensors that move most by name, and the rest together."""
    sums: dict[str, float] = {}
    for moved in rows:
        for (name, _), amount in moved.items():
            sums[name] = sums.get(name, 0.0) + amount
    named = sorted(sums, key=lambda name: -sums[name])[:_NAMED] if len(sums) > _NAMED + 1 else list(sums)
    found: list[dict[tuple[str, str], float]] = []
    for moved in rows:
        kept: dict[tuple[str, str], float] = {}
        for (name, direction), amount in moved.items():
            key = (name if name in named else _OTHERS, direction)
            kept[key] = kept.get(key, 0.0) + amount
        found.append(dict(sorted(kept.items(), key=lambda item: item[0][1] == "write")))
    return found, [*named, *([_OTHERS] if len(named) < len(sums) else [])]


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
