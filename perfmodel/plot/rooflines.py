"""Rooflines: what each machine attains at each intensity, and where programs stand under them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import isclose
from pathlib import Path
from typing import Any

from perfmodel.catalogue import Machine, machine, named_apart
from perfmodel.errors import PerfModelError
from perfmodel.expressions import is_concrete
from perfmodel.graph.programs import Program
from perfmodel.plot.naming import program_names, wrapped
from perfmodel.plot.standing import Standing, standing, too_large
from perfmodel.plot.style import DASHES, GREY, axes, colour, engineering, finish, legend, listed_of, marker
from perfmodel.showing import quantity

_SPAN = 10  # how far the axis goes beyond what it shows, as a factor
_INSIDE = 7  # entries of a legend that have room below the roof
_HOLLOW = "hollow: a block does not fit on chip"


def roofline(
    *programs: Program,
    on: str | Path | Machine | Iterable[str | Path | Machine],
    dtype: str | None = None,
    effects: Any = "ideal",
    labels: Sequence[str] | None = None,
    path: bool = False,
    levels: bool = False,
    ax: Any = None,
) -> Any:
    """Programs under the rooflines of one or several machines; returns the Axes.

    A machine's roof is its bandwidth times the intensity up to the ridge point, and its peak for ``dtype`` (that of
    the programs' contractions unless said) beyond. A program stands at the intensity and the FLOP/s (with
    ``effects``) of the work that needs its peak longest: the FLOPs of a matrix unit do not count those of the vector
    unit beside it, so that none stands above its roof; where that peak is another one, its roof is drawn too.

    With ``path`` arrows lead from each program to the next, the steps of a derivation, and a step is hollow where a
    block, as it is staged, holds more than a unit of the machine can: a fused kernel without tiles has the intensity
    of one block with all its operands on chip, and a tile that fits reads some of them again, so that the path turns
    back. ``levels`` adds the roofs of on-chip memories whose bandwidth is known, a dash for each.
    ``PerfModelError`` for programs with symbols, ``MachineError`` where a machine has no rate for their FLOPs.

    >>> from perfmodel import matmul
    >>> drawn = roofline(matmul(64, 4096, 4096), matmul(4096, 4096, 4096), on="h100-sxm")
    >>> drawn.get_xlabel(), drawn.get_yscale()
    ('intensity in FLOP/B', 'log')
    """
    given = listed_of(on, (str, Path, Machine))
    chips = named_apart([machine(each) if not isinstance(each, Machine) else each for each in given])
    if not chips or any(not is_concrete(peak.flops_per_s) for chip in chips for peak in chip.peaks):
        raise PerfModelError("roofline: on= expects machines, with numbers for their peaks and bandwidths")
    names = _names(programs, labels, path)
    kind = dtype if dtype is not None else _format(programs)
    drawn = axes(ax, "roofline")
    placed = [[standing(each, chip, effects, float(chip.peak(kind))) for each in programs] for chip in chips]
    span = _range([each for row in placed for each in row], chips, kind, levels)
    hollow = [[path and too_large(each, chip) is not None for each in programs] for chip in chips]
    for place, chip in enumerate(chips):
        _roofs(drawn, chip, kind, span, (place, len(chips)), placed[place])
        _points(drawn, placed[place], names, (place, len(chips)), hollow[place])
        _arrows(drawn, placed[place] if path else [])
    if levels:
        _levels(drawn, chips, kind, span[0])
    _keys(drawn, names if len(chips) > 1 else [], hollow=any(any(row) for row in hollow))
    drawn.set_xscale("log")
    drawn.set_yscale("log")
    drawn.set_xlim(*span)
    drawn.margins(y=0.12)
    engineering(drawn.yaxis, "FLOP/s")
    _legend(drawn)
    return finish(drawn, f"roofline, {kind}", ("intensity", "FLOP/B"), ("attained", ""))


def _names(programs: Sequence[Program], labels: Sequence[str] | None, path: bool) -> list[str]:
    for each in programs:
        if not isinstance(each, Program):
            raise PerfModelError(f"roofline: expected programs, got {each!r}")
        if not is_concrete(each.intensity):
            raise PerfModelError(f"roofline: {each.name} holds symbols; give them values with p.at(...)")
        if each.intensity == 0:
            raise PerfModelError(f"roofline: {each.name} does no FLOP, so it has no place on a logarithmic axis")
    if labels is not None and len(labels) != len(programs):
        raise PerfModelError(f"roofline: {len(labels)} labels for {len(programs)} programs")
    return list(labels) if labels is not None else program_names(programs, path)


def _format(programs: Sequence[Program]) -> str:
    """The format of the first contraction, else bf16."""
    found = [op.compute.name for each in programs for op in each.ops if op.kind == "contract"]
    return found[0] if found else "bf16"


def _range(placed: Sequence[Standing], chips: Sequence[Machine], kind: str, levels: bool) -> tuple[float, float]:
    shown = [float(chip.ridge(kind)) for chip in chips] + [each.intensity for each in placed]
    shown += [float(chip.peak(kind)) / rate for chip in chips if levels for _, rate in _level_rates(chip)]
    seen = [each for each in shown if each > 0]
    return min(seen) / _SPAN, max(seen) * _SPAN


def _roofs(
    drawn: Any, chip: Machine, kind: str, span: tuple[float, float], turn: tuple[int, int], placed: Sequence[Standing]
) -> None:
    """The roof of the format, and below or above it those of other peaks that programs stand under."""
    place, chips = turn
    (low, high), peak, ridge = span, float(chip.peak(kind)), float(chip.ridge(kind))
    drawn.plot([low, ridge, high], [low * peak / ridge, peak, peak], color=colour(place), linewidth=2,
               label=f"{chip.name}, ridge at {ridge:.3g} FLOP/B")  # fmt: skip
    others = {each.resource: each.roof for each in placed if each.resource and not isclose(each.roof, peak)}
    for number, (name, roof) in enumerate(others.items()):
        start = roof * ridge / peak  # where the slope of the memory meets it
        owner = f"{chip.name}, " if chips > 1 else ""
        dash = DASHES[(number + 2) % len(DASHES)]
        drawn.plot([start, max(start, high)], [roof, roof], color=colour(place), linewidth=1.4, linestyle=dash,
                   label=f"{owner}{name}: {quantity(roof, 'FLOP/s')}")  # fmt: skip
        if roof > peak:
            drawn.plot([ridge, start], [peak, roof], color=colour(place), linewidth=1.4, linestyle=dash)


def _level_rates(chip: Machine) -> list[tuple[str, float]]:
    """The on-chip memories whose bandwidth is known, and all their units' together."""
    units = float(chip.units or 1)
    found = []
    for level in chip.levels:
        if (rate := level.bandwidth_bytes_per_s) is not None:
            found.append((level.name, float(rate) * (units if level.scope == "unit" else 1.0)))
    return found


def _levels(drawn: Any, chips: Sequence[Machine], kind: str, low: float) -> None:
    """The roofs of on-chip memories: a dash a memory, the colour of its machine."""
    dashes: dict[str, Any] = {}
    for place, chip in enumerate(chips):
        peak = float(chip.peak(kind))
        for name, total in _level_rates(chip):
            dash = dashes.setdefault(name, DASHES[len(dashes) % len(DASHES)])
            drawn.plot([low, peak / total], [low * total, peak], color=colour(place), linewidth=1, linestyle=dash)
    for name, dash in dashes.items():
        shade = colour(0) if len(chips) == 1 else GREY
        drawn.plot([], [], color=shade, linewidth=1, linestyle=dash, label=f"{name}, all of a chip's")


def _points(
    drawn: Any, placed: Sequence[Standing], names: Sequence[str], turn: tuple[int, int], hollow: Sequence[bool]
) -> None:
    place, chips = turn
    for number, (each, name, empty) in enumerate(zip(placed, names, hollow, strict=True)):
        rate = f"{'' if each.resource else 'at most '}{quantity(each.flops_per_s, 'FLOP/s')}"
        label = wrapped(f"{name}: {rate}") if chips == 1 else None
        shade = colour(number + 1 if chips == 1 else place)
        # hollow ones grow, so that steps that stand at one place show around each other
        size, inside = (9 + 3 * sum(hollow[:number]), "none") if empty else (9, shade)
        drawn.plot([each.intensity], [each.flops_per_s], marker(number), color=shade, markersize=size, label=label,
                   markerfacecolor=inside, markeredgecolor=shade if empty else "black",
                   markeredgewidth=1.6 if empty else 0.6, zorder=3)  # fmt: skip


def _arrows(drawn: Any, placed: Sequence[Standing]) -> None:
    """An arrow for each step that moves."""
    for before, after in pairwise([each[:2] for each in placed]):
        if all(isclose(one, other) for one, other in zip(before, after, strict=True)):
            continue
        arrow = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.4, "shrinkA": 8, "shrinkB": 8}
        arrow |= {"mutation_scale": 14, "connectionstyle": "arc3,rad=-0.35"}  # beside the roof, not along it
        drawn.annotate("", xy=after, xytext=before, arrowprops=arrow)


def _keys(drawn: Any, names: Sequence[str], *, hollow: bool) -> None:
    """What the legend says beside the lines and points themselves."""
    for number, name in enumerate(names):
        drawn.plot([], [], marker(number), color=GREY, markersize=9, label=wrapped(name))
    if hollow:
        drawn.plot([], [], "o", color=GREY, markersize=9, markerfacecolor="none", label=_HOLLOW)


def _legend(drawn: Any) -> None:
    """Below the roof, or below the picture where it is long."""
    _, labels = drawn.get_legend_handles_labels()
    lines = sum(1 + label.count("\n") for label in labels)
    if lines <= _INSIDE:
        legend(drawn, 1, loc="lower right")
    else:
        wide = drawn.get_window_extent().width > drawn.figure.bbox.width / 2
        legend(drawn, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2 if wide else 1)
