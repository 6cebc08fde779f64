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
_NAMED = 7  # tensors that have a colour of their own; the rest stand together


def memory(program: Program, capacity_bytes: Any = None, *, ax: Any = None) -> Any:
    """Bytes alive while each kernel runs, with the peak and, where given, the capacity marked; returns the Axes.

    Up to twelve kernels stand there by name, more by number, from 0 on. A capacity of more than five times the peak
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
    largest = sorted(
        dict.fromkeys(name for each in sizes for name in each),
        key=lambda name: -max(each.get(name, 0) for each in sizes),
    )
    named = largest[:_NAMED]
    drawn = axes(ax, "memory")
    places = range(len(sizes))
    base = [0.0] * len(sizes)
    for number, name in enumerate([*named, "others"]):
        heights = [_height(each, name, named) for each in sizes]
        if any(heights):
            shade = GREY if name == "others" else colour(number)
            drawn.bar(places, heights, 1.0, base, color=shade, label=name, edgecolor="white", linewidth=0.5)
            base = [below + height for below, height in zip(base, heights, strict=True)]
    _capacity(drawn, capacity, max(base, default=0.0))
    _label_kernels(drawn, program)
    engineering(drawn.yaxis, "B")
    legend(drawn, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    peak = quantity(max(base, default=0.0), "B")
    return finish(drawn, f"alive in device memory, {peak} at the peak", ("kernel", ""), ("alive", ""))


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
