"""Where the time goes: from the ideal roofline to the estimate, one effect after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfmodel.errors import PerfModelError
from perfmodel.estimation import Estimate
from perfmodel.expressions import is_concrete
from perfmodel.graph.describing import title as title_of
from perfmodel.plot.naming import told_apart, wrapped
from perfmodel.plot.style import GREY, TEXT, axes, colour, engineering, finish, legend, short_number

_TOTAL = "estimate"
_SEEN = 5e-3  # effects that change no estimate by this share of its time are left out of the picture


def waterfall(*estimates: Estimate, labels: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Seconds added (or saved) by each effect, from ``Estimate.steps``, one or several estimates; returns the Axes.

    Each bar starts where the effects above it end; the last is the whole estimate. Effects that change nothing are
    left out. Without ``labels`` several are called by what differs: the program and its sizes, how it was made, the
    machine; the tile and the effects where that is all. ``PerfModelError`` for what is no estimate, or one
    that holds symbols.

    >>> from perfmodel import estimate, matmul
    >>> drawn = waterfall(estimate(matmul(1793, 1793, 1793), "a100-sxm-80gb"))
    >>> [text.get_text() for text in drawn.get_yticklabels()][:2]
    ['roofline', 'tile quantization']
    """
    names = _names(estimates, labels)
    steps = [_changes(each) for each in estimates]
    rows = _rows(steps, [each.time_s for each in estimates])
    drawn = axes(ax, "waterfall", max(5.0, 0.28 * len(rows) * len(estimates)))  # a line of text for each bar
    height = 0.8 / len(estimates)
    longest = max(max(end for _, end in each.values()) for each in steps)
    for number, (changes, name) in enumerate(zip(steps, names, strict=True)):
        for place, row in enumerate(rows):
            if row in changes:
                _bar(drawn, changes[row], (place + (number + 0.5) * height - 0.4, height), row,
                     (number, len(estimates)), longest)  # fmt: skip
        drawn.barh(0, 0, color=colour(number), label=name)
    drawn.set_yticks(range(len(rows)), rows)
    drawn.invert_yaxis()
    drawn.set_xlim(0, longest * 1.18)
    engineering(drawn.xaxis, "s")
    legend(drawn, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    title = f"from the roofline to the estimate: {names[0]}" if len(estimates) == 1 else _shared(estimates)
    return finish(drawn, title, ("time", ""), ("", ""))


def _names(estimates: Sequence[Any], labels: Sequence[str] | None) -> list[str]:
    if not estimates:
        raise PerfModelError("waterfall: expected at least one estimate: pm.estimate(p, 'h100-sxm')")
    for each in estimates:
        if not isinstance(each, Estimate):
            raise PerfModelError(f"waterfall: expected estimates such as pm.estimate(p, 'h100-sxm'), got {each!r}")
        if not is_concrete(each.time_s):
            raise PerfModelError(f"waterfall: {each.program.name} holds symbols; give them values with p.at(...)")
    if labels is not None and len(labels) != len(estimates):
        raise PerfModelError(f"waterfall: {len(labels)} labels for {len(estimates)} estimates")
    if labels is not None:
        return list(labels)
    if len(estimates) == 1:
        return [f"{estimates[0].program.name} on {estimates[0].machine.name}"]
    return [wrapped(name) for name in told_apart(*zip(*map(_said, estimates), strict=True))]


def _said(found: Estimate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What an estimate is of, how that was made and where it runs; what it was taken to be."""
    made, tile = " -> ".join(found.program.history[1:]), found.tile
    effects = f"effects {', '.join(found.effects)}" if found.effects else "no effects"
    return (title_of(found.program), made, found.machine.name), ("" if tile is None else f"tile {tile}", effects)


def _shared(estimates: Sequence[Estimate]) -> str:
    """The title of several: with the program or the machine that they have in common."""
    programs, chips = {each.program.name for each in estimates}, {each.machine.name for each in estimates}
    of = f": {programs.pop()}" if len(programs) == 1 else ""
    return f"from the roofline to the estimate{of}{f' on {chips.pop()}' if len(chips) == 1 else ''}"


def _changes(found: Estimate) -> dict[str, tuple[float, float]]:
    """Seconds before and after each effect, and the whole."""
    changes, before = {}, 0.0
    for name, after in found.steps:
        changes[name] = (before, float(after))
        before = float(after)
    return {**changes, _TOTAL: (0.0, float(found.time_s))}


def _rows(steps: Sequence[dict[str, tuple[float, float]]], times: Sequence[float]) -> list[str]:
    """The effects that change an estimate, in order."""
    named = dict.fromkeys(name for changes in steps for name in changes if name != _TOTAL)
    seen = [
        name
        for name in named
        if any(
            name in changes and abs(changes[name][1] - changes[name][0]) > _SEEN * time
            for changes, time in zip(steps, times, strict=True)
        )
    ]
    return [*seen, _TOTAL]


def _bar(
    drawn: Any, change: tuple[float, float], spot: tuple[float, float], row: str, turn: tuple[int, int], longest: float
) -> None:
    before, after = change
    (place, height), (number, several) = spot, turn
    added = after - before
    shade = colour(number)
    if several == 1 and row not in ("roofline", _TOTAL):
        shade = colour(1) if added > 0 else colour(2)
    hatch = "//" if added < 0 else ""
    drawn.barh(place, added, height, before, color=shade, hatch=hatch, edgecolor="white", linewidth=0.5)
    sign = "" if before == 0 else "+" if added > 0 else "-"
    if abs(added) > _SEEN * longest:
        text = f"{sign}{short_number(abs(added), 's')}"
        size = TEXT - 2 if several < 3 else TEXT - 4
        drawn.text(max(before, after) + longest * 0.01, place, text, va="center", fontsize=size, color=GREY)
