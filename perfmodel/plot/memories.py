"""What is alive in device memory while a program runs: a step for each kernel, stacked by tensor."""

from __future__ import annotations

from typing import Any

from perfmodel.errors import PerfModelError
from perfmodel.expressions import is_concrete
from perfmodel.graph.memory import memory_rows
from perfmodel.graph.programs import Program
from perfmodel.plot.style import GREY, TEXT, axes, checked_bytes, colour, engineering, finish, legend
from perfmodel.showing import quantity

_FAR = 5  # peaks: a capacity above that would leave the bars no height
_NAMED = (7, 21)  # tensors that are named at least, where there are so many, and at most; the rest stand together
_REST = 0.1  # of what is alive: no more stands together where more names are left
_HATCHES = ("", "//", "..")  # beside as many colours as the least number of names


def memory(program: Program, capacity_bytes: Any = None, *, ax: Any = None) -> Any:
    """Bytes alive while each kernel runs, with the peak and, where given, the capacity marked; returns the Axes.

    The largest tensors are named, until at most a tenth of any kernel's stands together as others (or 21 are). Up to
    twelve kernels stand there by name, more by number, from 0 on. A capacity of more than five times the peak
    is said at the upper edge, so that the bars keep their height.

    >>> from perfmodel import attention, fuse
    >>> memory(fuse(attention(1024, 1024, 64), by="stage")).get_title().split(",")[0]
    'alive in device memory'
    """
    if not isinstance(program, Program):
        raise PerfModelError(f"memory: expected a program, got {program!r}")
    capacity = checked_bytes(capacity_bytes, "memory")
    resident, steps = memory_rows(program.kernels, program.tensors, program.returned, program.shared)
    sizes = [_by_tensor([*resident, *rows], program) for rows in steps]
    named = _named(sizes)
    drawn = axes(ax, "memory")
    places = range(len(sizes))
    base = [0.0] * len(sizes)
    for number, name in enumerate([*named, "others"]):
        heights = [_height(each, name, named) for each in sizes]
        if any(heights):
            shade, hatch = (GREY, "") if name == "others" else _look(number)
            how = {"color": shade, "hatch": hatch, "edgecolor": "white", "linewidth": 0.5}
            drawn.bar(places, heights, 1.0, base, label=name, **how)
            base = [below + height for below, height in zip(base, heights, strict=True)]
    _capacity(drawn, capacity, max(base, default=0.0))
    _label_kernels(drawn, program)
    engineering(drawn.yaxis, "B")
    legend(drawn, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    peak = quantity(max(base, default=0.0), "B")
    return finish(drawn, f"alive in device memory, {peak} at the peak", ("kernel", ""), ("alive", ""))


def _named(sizes: list[dict[str, float]]) -> list[str]:
    """The tensors that are named: those that are the largest part of a kernel's, until few of any are left."""
    totals = [sum(each.values()) or 1.0 for each in sizes]
    shares = [{name: size / total for name, size in each.items()} for each, total in zip(sizes, totals, strict=True)]
    names = dict.fromkeys(name for each in shares for name in each)
    largest = sorted(names, key=lambda name: -max(each.get(name, 0.0) for each in shares))
    least, most = _NAMED
    for count in range(min(least, len(largest)), min(most, len(largest))):
        left = [sum([each.get(name, 0.0) for name in largest[count:]]) for each in shares]
        if max(left) <= _REST:
            return largest[:count]
    return largest[:most]


def _look(number: int) -> tuple[str, str]:
    """The colour of a tensor by its place, and the hatch of its round of colours."""
    least = _NAMED[0]
    return colour(number % least), _HATCHES[number // least]


def _capacity(drawn: Any, capacity: float | None, peak: float) -> None:
    """The height of the picture, with the capacity as a line, or in words where it stands far above."""
    far = capacity is not None and peak > 0 and capacity > _FAR * peak
    drawn.set_ylim(0, max(peak, 0.0 if far else capacity or 0.0) * (1.16 if far else 1.08) or 1.0)
    if capacity is not None and not far:
        drawn.axhline(capacity, color="black", linestyle="--", label="capacity")
    elif capacity is not None:
        said = f"capacity {quantity(capacity, 'B')}, {quantity(capacity / peak, digits=3)} times the peak, is above"
        drawn.annotate(f"\N{UPWARDS ARROW} {said}", (0.01, 0.99), xycoords="axes fraction", va="top", fontsize=TEXT - 2)


def _by_tensor(rows: list[tuple[str, str, Any]], program: Program) -> dict[str, float]:
    found: dict[str, float] = {}
    for _, name, size in rows:
        if not is_concrete(size):
            raise PerfModelError(f"memory: {program.name} holds symbols; give them values with p.at(...)")
        found[name] = found.get(name, 0.0) + float(size)
    return found


def _height(sizes: dict[str, float], name: str, named: list[str]) -> float:
    if name == "others":
        return sum(size for each, size in sizes.items() if each not in named)
    return sizes.get(name, 0.0)


def _label_kernels(drawn: Any, program: Program) -> None:
    names = [kernel.name for kernel in program.kernels]
    if len(names) <= 12:
        turned = {"rotation": 30, "ha": "right"} if max(map(len, names), default=0) > 8 else {}
        drawn.set_xticks(range(len(names)), names, fontsize=TEXT - 3, **turned)
    else:
        from matplotlib.ticker import MaxNLocator

        drawn.xaxis.set_major_locator(MaxNLocator(integer=True))
