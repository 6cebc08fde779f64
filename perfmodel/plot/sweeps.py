"""A swept quantity against a size, with the quanta of tiles marked."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any

from perfmodel.errors import PerfModelError, did_you_mean, listed
from perfmodel.plot.style import COLOURS, DASHES, GREY, axes, colour, engineering, finish, legend, listed_of

# What a column's name says of its unit (names carry SI units); longer endings first.
_UNITS = {
    "bytes_per_s": "B/s",
    "flops_per_s": "FLOP/s",
    "time_s": "s",
    "_s": "s",
    "bytes": "B",
    "flops": "FLOP",
}
_RATES = {"flops_per_s": "FLOP/s", "bytes_per_s": "B/s", "flops_per_byte": "FLOP/B"}
_MOST_MARKS = 64
_MARKS = (COLOURS[7], COLOURS[4], COLOURS[5], COLOURS[3])  # those that lines take last, and dark enough for thin ones
_MACHINE = "machine"  # the column of pm.sweep


def sweep(
    frame: Any,
    x: str,
    y: str = "time_s",
    *,
    by: str | None = None,
    quanta: int | Iterable[int] = (),
    title: str = "",
    ax: Any = None,
) -> Any:
    """A column of a swept table against another, one line for each value of ``by``; returns the Axes.

    ``frame`` is a DataFrame such as ``pm.sweep`` returns; one of several machines has a line for each unless ``by``
    names another column, and one of one machine names that. ``quanta`` marks the multiples of tile sizes, where steps
    are to be expected: several have a dash each, and a common multiple that of the largest. Columns that carry a unit
    in their name have it on the axis.
    ``PerfModelError`` for a column that is not there, and where a line would have several values at one ``x``.

    >>> from pandas import DataFrame
    >>> sizes = range(1, 1025)
    >>> table = DataFrame({"n": sizes, "tile_fill": [n / (-(-n // 128) * 128) for n in sizes]})
    >>> sweep(table, "n", "tile_fill", quanta=128).get_ylabel()
    'tile fill'
    """
    _check(frame, (x, y), by)
    chips = frame[_MACHINE].dropna().unique().tolist() if _MACHINE in frame.columns else []
    by = _MACHINE if by is None and len(chips) > 1 else by
    groups = [("", frame)] if by is None else list(frame.groupby(by, sort=False))
    lines = [(name, _line(part, x, y, by)) for name, part in groups]
    drawn = axes(ax, "sweep")
    for place, (name, ordered) in enumerate(lines):
        drawn.plot(ordered[x], ordered[y], color=colour(place), linewidth=1.6, label=str(name))
    chip = str(chips[0]) if len(chips) == 1 else ""
    if by is None:
        drawn.get_lines()[-1].set_label(chip or _words(y))
    _mark(drawn, quanta, (float(frame[x].min()), float(frame[x].max())))
    words = _scaled(drawn, y)
    drawn.set_ylim(min(0.0, float(frame[y].min())), max(0.0, float(frame[y].max())) * 1.05 or None)
    legend(drawn, 2 if by is None and not (title and chip) else 1, frameon=True, edgecolor="none")
    return finish(drawn, title or f"{words} by {x}{f' on {chip}' if chip else ''}", (x, ""), (words, ""))


def _check(frame: Any, numbers: tuple[str, str], by: str | None) -> None:
    from pandas.api.types import is_numeric_dtype

    if not hasattr(frame, "columns") or not hasattr(frame, "groupby"):
        raise PerfModelError(f"sweep: expected a DataFrame such as pm.sweep returns, got {type(frame).__name__}")
    for name in (*numbers, *([by] if by is not None else [])):
        if name not in frame.columns:
            near = did_you_mean(str(name), [str(each) for each in frame.columns])
            raise PerfModelError(f"sweep: no column {name!r}{near}; there are {listed(list(frame.columns))}")
    if frame.empty:
        raise PerfModelError("sweep: the table has no rows")
    for name in numbers:
        if not is_numeric_dtype(frame[name]):
            raise PerfModelError(f"sweep: column {name!r} holds no numbers")
        if frame[name].isna().all() or frame[name].abs().max() == float("inf"):
            raise PerfModelError(f"sweep: column {name!r} holds infinities, or nothing but missing values")


def _line(part: Any, x: str, y: str, by: str | None) -> Any:
    """The rows of one line in order of x; refused where it has several values at one x."""
    found = part.drop_duplicates([x, y]).sort_values(x)
    again = found[x][found[x].duplicated()]
    if len(again):
        others = [str(name) for name in part.columns if name not in (x, y, by) and _tells_apart(part, x, name)]
        rule = f"by={by!r} leaves several" if by is not None else "there are several"
        hint = f"; by= takes one of {listed(others)}" if others and by is None else "; select rows first"
        raise PerfModelError(f"sweep: {rule} values of {y} at {x} = {again.iloc[0]}{hint}")
    return found


def _tells_apart(part: Any, x: str, name: str) -> bool:
    """Whether a column, of whole numbers or text, leaves one row at each x."""
    words = part[name].astype(str)
    whole = part[name].dtype.kind != "f" and words.nunique() < len(part)
    return whole and not part[[x]].assign(word=words).duplicated().any()


def _scaled(drawn: Any, name: str) -> str:
    """The words of a column, its unit (or percent) on the ticks."""
    from matplotlib.ticker import PercentFormatter

    ending = next((each for each in _UNITS if name.endswith(each)), None)
    if ending is not None:
        engineering(drawn.yaxis, _UNITS[ending])
        name = name.removesuffix("_s") if ending in ("time_s", "_s") else name
    elif name == "intensity_flops_per_byte":
        engineering(drawn.yaxis, "FLOP/B")
        name = "intensity"
    elif name.startswith("fraction") or name.endswith(("fill", "efficiency")):
        drawn.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return _words(name)


def _words(name: str) -> str:
    """A column's name in words, rates as they are written: FLOP/s."""
    for column, unit in _RATES.items():
        name = name.replace(column, unit)
    return name.replace("_", " ")


def _mark(drawn: Any, quanta: Any, span: tuple[float, float]) -> None:
    """Thin lines at the multiples of each quantum, of the largest ones where there would be too many.

    Each has an entry of the legend, several a dash each; a common multiple is marked as one of the largest.
    """
    steps = {quantum: _step(quantum, span) for quantum in listed_of(quanta, int)}
    marked: set[int] = set()
    for number, (quantum, step) in enumerate(sorted(steps.items(), reverse=True)):
        several = len(steps) > 1
        shade = _MARKS[number % len(_MARKS)] if several else GREY
        dash = DASHES[number % len(DASHES)] if several else ":"
        first = -(-int(span[0]) // step) * step
        places = [place for place in range(first, int(span[1]) + 1, step) if place not in marked]
        marked |= set(places)
        for place in places:
            drawn.axvline(place, color=shade, linewidth=1.0 if several else 0.6, linestyle=dash, zorder=0)
        label = f"multiples of {step}" + (f" ({step // quantum} x {quantum})" if step > quantum else "")
        if several:
            drawn.plot([], [], color=shade, linewidth=1.0, linestyle=dash, label=label)
        elif places:
            drawn.get_lines()[-1].set_label(label)


def _step(quantum: Any, span: tuple[float, float]) -> int:
    """The multiple of a quantum that is marked."""
    if isinstance(quantum, bool) or not isinstance(quantum, int) or quantum < 1:
        raise PerfModelError(f"sweep: quanta={quantum!r}: expected positive whole numbers")
    return quantum * max(1, ceil((span[1] - span[0]) / _MOST_MARKS / quantum))
