"""How every picture looks: colours, sizes that are legible on a slide, and units with engineering prefixes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from perfmodel.errors import PerfModelError

# Okabe and Ito 2008, "Color Universal Design": eight colours that people with any colour vision tell apart; black last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# On and off, in line widths: dashes that are told apart at a glance.
DASHES = ((0, (6, 2)), (0, (1, 1.5)), (0, (8, 2, 1, 2)), (0, (3, 4)), (0, (12, 3)), (0, (6, 2, 1, 2, 1, 2)))
TEXT = 12  # points: read from the back of a room when the picture fills a slide
GREY = "#555555"


def colour(place: int) -> str:
    """The colour of the series at a place, again from the start after the last.

    >>> colour(0), colour(8) == colour(0)
    ('#0072B2', True)
    """
    return COLOURS[place % len(COLOURS)]


def marker(place: int) -> str:
    """The marker of the series at a place: series differ by shape too.

    >>> marker(1)
    's'
    """
    return MARKERS[place % len(MARKERS)]


def axes(ax: Any, verb: str, height: float = 5) -> Any:
    """The Axes to draw in: those given, or new ones of a height in inches.

    >>> axes(None, "roofline").name
    'rectilinear'
    """
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise PerfModelError(f"{verb}: drawing needs matplotlib: pip install 'perfmodel[plot]'") from None
        return pyplot.subplots(figsize=(8, height), layout="constrained")[1]
    if not (hasattr(ax, "plot") and hasattr(ax, "get_xlim")):
        raise PerfModelError(f"{verb}: ax={ax!r}: expected the Axes of matplotlib")
    return ax


def finish(ax: Any, title: str, x: tuple[str, str], y: tuple[str, str], grid: bool = True) -> Any:
    """Title, labels with their units, and text of one size; each of ``x`` and ``y`` is a label and a unit.

    >>> finish(axes(None, "sweep"), "t", ("n", ""), ("time", "s")).get_ylabel()
    'time in s'
    """
    ax.set_title(title, fontsize=TEXT + 1)
    for axis, (label, unit) in ((ax.xaxis, x), (ax.yaxis, y)):
        axis.set_label_text(f"{label} in {unit}" if unit else label, fontsize=TEXT)
        axis.set_tick_params(labelsize=TEXT - 1)
    if grid:
        ax.grid(True, which="major", color="#DDDDDD", linewidth=0.8)
        ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def engineering(axis: Any, unit: str) -> None:
    """Ticks of an axis with engineering prefixes: 1.5 TFLOP/s.

    >>> drawn = axes(None, "sweep")
    >>> engineering(drawn.yaxis, "B")
    >>> drawn.yaxis.get_major_formatter()(2e9, 0)
    '2 GB'
    """
    from matplotlib.ticker import EngFormatter

    axis.set_major_formatter(EngFormatter(unit=unit))


def short_number(value: float, unit: str) -> str:
    """A number with its prefix as the ticks have it, to three digits.

    >>> short_number(2.716e9, "B"), short_number(36.9e-6, "s").replace("\N{MICRO SIGN}", "u")
    ('2.72 GB', '36.9 us')
    """
    from matplotlib.ticker import EngFormatter

    return str(EngFormatter(unit=unit)(float(f"{value:.3g}")))


def checked_bytes(value: Any, verb: str) -> float | None:
    """A capacity in bytes, None where none is given.

    >>> checked_bytes(233472, "tile_map"), checked_bytes(None, "memory")
    (233472.0, None)
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise PerfModelError(f"{verb}: capacity_bytes={value!r}: expected a positive number of bytes")
    return float(value)


def legend(ax: Any, least: int = 2, **how: Any) -> None:
    """The legend, where there are so many series or more.

    >>> legend(axes(None, "sweep"))
    """
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) >= least:
        ax.legend(handles, labels, **{"fontsize": TEXT - 2, "frameon": False, **how})


def listed_of(given: Any, kinds: type | tuple[type, ...]) -> list[Any]:
    """One thing or several as a list.

    >>> listed_of("h100-sxm", str), listed_of(("a", "b"), str)
    (['h100-sxm'], ['a', 'b'])
    """
    return [given] if isinstance(given, kinds) or not isinstance(given, Iterable) else list(given)
