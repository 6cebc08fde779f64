"""Rooflines: what each machine attains at each intensity, and where programs stand under them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from perfmodel.catalogue import Machine, machine
from perfmodel.errors import PerfModelError
from perfmodel.estimation import estimate
from perfmodel.expressions import is_concrete
from perfmodel.graph.describing import title
from perfmodel.graph.programs import Program
from perfmodel.plot.style import GREY, TEXT, axes, colour, engineering, finish, legend, listed_of, marker
from perfmodel.showing import quantity

_SPAN = 10  # how far the axis goes beyond what it shows, as a factor


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
    the programs' contractions unless said) beyond. A program stands at its intensity and the FLOP/s that ``effects``
    gives (vector operations beside a matrix unit count too). With ``path`` arrows lead from each program to the next:
    the steps of a derivation. ``levels`` adds the roofs of on-chip memories whose bandwidth is known.
    ``PerfModelError`` for programs with symbols.

    >>> from perfmodel import matmul
    >>> drawn = roofline(matmul(64, 4096, 4096), matmul(4096, 4096, 4096), on="h100-sxm")
    >>> drawn.get_xlabel(), drawn.get_yscale()
    ('intensity in FLOP/B', 'log')
    """
    chips = [machine(each) if not isinstance(each, Machine) else each for each in listed_of(on, (str, Path, Machine))]
    if not chips or any(not is_concrete(peak.flops_per_s) for chip in chips for peak in chip.peaks):
        raise PerfModelError("roofline: on= expects machines, with numbers for their peaks and bandwidths")
    names = _names(programs, labels)
    kind = dtype if dtype is not None else _format(programs)
    drawn = axes(ax, "roofline")
    low, high = _range(programs, chips, kind, levels)
    for place, chip in enumerate(chips):
        _roof(drawn, chip, kind, (low, high), place, levels)
        _points(drawn, chip, programs, names, (place, len(chips)), effects, path)
    for number, name in enumerate(names if len(chips) > 1 else ()):
        drawn.plot([], [], marker(number), color=GREY, markersize=9, label=name)
    drawn.set_xscale("log")
    drawn.set_yscale("log")
    drawn.set_xlim(low, high)
    drawn.margins(y=0.12)
    engineering(drawn.yaxis, "FLOP/s")
    legend(drawn, loc="lower right")
    return finish(drawn, f"roofline, {kind}", ("intensity", "FLOP/B"), ("attained", ""))


def _names(programs: Sequence[Program], labels: Sequence[str] | None) -> list[str]:
    for each in programs:
        if not isinstance(each, Program):
            raise PerfModelError(f"roofline: expected programs, got {each!r}")
        if not is_concrete(each.intensity):
            raise PerfModelError(f"roofline: {each.name} holds symbols; give them values with p.at(...)")
        if each.intensity == 0:
            raise PerfModelError(f"roofline: {each.name} does no FLOP, so it has no place on a logarithmic axis")
    if labels is not None and len(labels) != len(programs):
        raise PerfModelError(f"roofline: {len(labels)} labels for {len(programs)} programs")
    return list(labels) if labels is not None else [" -> ".join([title(each), *each.history[1:]]) for each in programs]


def _format(programs: Sequence[Program]) -> str:
    """The format of the first contraction, else bf16."""
    found = [op.compute.name for each in programs for op in each.ops if op.kind == "contract"]
    return found[0] if found else "bf16"


def _range(programs: Sequence[Program], chips: Sequence[Machine], kind: str, levels: bool) -> tuple[float, float]:
    shown = [float(chip.ridge(kind)) for chip in chips] + [float(each.intensity) for each in programs]
    shown += [float(chip.peak(kind)) / rate for chip in chips if levels for _, rate in _level_rates(chip)]
    seen = [each for each in shown if each > 0]
    return min(seen) / _SPAN, max(seen) * _SPAN


def _roof(drawn: Any, chip: Machine, kind: str, span: tuple[float, float], place: int, levels: bool) -> None:
    peak, ridge = float(chip.peak(kind)), float(chip.ridge(kind))
    low, high = span
    drawn.plot([low, ridge, high], [low * peak / ridge, peak, peak], color=colour(place), linewidth=2, label=chip.name)
    drawn.annotate(f"ridge {ridge:.3g} FLOP/B", (1.0, peak), xycoords=drawn.get_yaxis_transform(), ha="right",
                   textcoords="offset points", xytext=(0, 9), fontsize=TEXT - 2, color=colour(place))  # fmt: skip
    for name, total in _level_rates(chip) if levels else ():
        edge = peak / total  # at least _SPAN times low
        drawn.plot([low, edge], [low * total, peak], color=colour(place), linewidth=1, linestyle="--")
        foot = (low * 1.15, low * 1.15 * total)
        drawn.annotate(name, foot, textcoords="offset points", xytext=(8, 0), va="top", fontsize=TEXT - 2,
                       color=colour(place))  # fmt: skip


def _level_rates(chip: Machine) -> list[tuple[str, float]]:
    """The on-chip memories whose bandwidth is known, and all their units' together."""
    units = float(chip.units or 1)
    found = []
    for level in chip.levels:
        if (rate := level.bandwidth_bytes_per_s) is not None:
            found.append((level.name, float(rate) * (units if level.scope == "unit" else 1.0)))
    return found


def _points(
    drawn: Any,
    chip: Machine,
    programs: Sequence[Program],
    names: Sequence[str],
    turn: tuple[int, int],
    effects: Any,
    path: bool,
) -> None:
    place, chips = turn
    places = []
    for number, (each, name) in enumerate(zip(programs, names, strict=True)):
        x, y = float(each.intensity), estimate(each, chip, effects=effects).flops_per_s
        places.append((x, y))
        label = f"{name}: {quantity(y, 'FLOP/s')}" if chips == 1 else None
        shade = colour(number + 1 if chips == 1 else place)
        drawn.plot([x], [y], marker(number), color=shade, markersize=9, label=label, zorder=3)
    for start, stop in pairwise(places) if path else ():
        arrow = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.4, "shrinkA": 6, "shrinkB": 6}
        arrow |= {"mutation_scale": 14, "connectionstyle": "arc3,rad=-0.35"}  # beside the roof, not along it
        drawn.annotate("", xy=stop, xytext=start, arrowprops=arrow)
