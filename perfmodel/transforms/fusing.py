"""Fusing: launching ops together, so that what passes between them stays inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfmodel.errors import TransformError, did_you_mean
from perfmodel.graph.arguments import is_one_of
from perfmodel.graph.indexing import fresh
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.programs import Program
from perfmodel.transforms.selecting import Only, checked_program, chosen


def fuse(program: Program, by: str | None = None, only: Only = None) -> Program:
    """The program with kernels merged: all of a section, or those of one stage, or those that ``only`` names.

    Only the staging changes: FLOPs are the same, and bytes fall by what no longer crosses a kernel boundary.
    Sets that are not convex (something outside would have to run between their ops) are refused.

    >>> from perfmodel import elementwise, attention
    >>> p = elementwise("relu(x*w + b)", "n")
    >>> p.elements_read + p.elements_written, fuse(p).elements_read + fuse(p).elements_written
    (8*n, 4*n)
    >>> [kernel.name for kernel in fuse(attention("n", "n", 128), by="stage").kernels]
    ['attention.scores', 'attention.softmax', 'attention.values']
    """
    checked_program(program, "fuse")
    if by is not None and not is_one_of(by, ["stage"]):
        raise TransformError(f"fuse: by={by!r} is not known; by='stage' or nothing{did_you_mean(str(by), ['stage'])}")
    selected = {kernel.name for kernel in chosen(program, only, "fuse")}
    groups: dict[object, list[Kernel]] = {}
    for kernel in program.kernels:
        if kernel.name not in selected:
            key: object = ("alone", kernel.name)
        elif by == "stage":
            key = ("stage", kernel.section, kernel.stages[0]) if len(kernel.stages) == 1 else ("alone", kernel.name)
        else:
            key = ("section", kernel.section)
        groups.setdefault(key, []).append(kernel)
    named: list[Kernel] = []
    taken: set[str] = set()
    for group in groups.values():
        title = fresh(_title(program, group, by, only, selected), taken)
        taken.add(title)
        named.append(_merged(group, title))
    arguments = [f"by={by!r}"] * (by is not None) + [f"only={only!r}"] * (only is not None)
    return program.rewritten(_in_order(named), f"fuse({', '.join(arguments)})")


def _title(program: Program, group: Sequence[Kernel], by: str | None, only: Only, selected: set[str]) -> str:
    """The name of a merged kernel: its stage, what ``only`` says, or the program's; one alone keeps its own."""
    first = group[0]
    if by == "stage" and first.name in selected and len(first.stages) == 1:
        return first.stages[0]
    if len(group) == 1:
        return first.name
    return only if isinstance(only, str) else program.name if only is None else first.name


def _merged(group: Sequence[Kernel], title: str) -> Kernel:
    first = group[0]
    if len(group) > 1:
        for kernel in group:
            if kernel.tiles:
                raise TransformError(f"fuse: kernel {kernel.name!r} is tiled; fuse first, then tile")
            if kernel.online:
                raise TransformError(f"fuse: kernel {kernel.name!r} is online; fuse first, then online")
    for other in group[1:]:
        if other.repeat != first.repeat:
            raise TransformError(
                f"fuse: {first.name!r} runs {first.repeat} times and {other.name!r} {other.repeat} times; "
                "kernels of one repetition can be fused"
            )
    return replace(first, name=title, ops=tuple([op for kernel in group for op in kernel.ops]))


def _in_order(kernels: Sequence[Kernel]) -> tuple[Kernel, ...]:
    """The kernels in an order that can run, as near to the given one as that allows."""
    maker = {name: place for place, kernel in enumerate(kernels) for name in kernel.made}
    waits = [{maker[name] for name in kernel.needed if name in maker} for kernel in kernels]
    done: dict[int, Kernel] = {}
    pending = list(range(len(kernels)))
    while pending:
        ready = next((place for place in pending if waits[place] <= done.keys()), None)
        if ready is None:
            raise _not_convex(kernels, waits, pending)
        done[ready] = kernels[ready]
        pending.remove(ready)
    return tuple(done.values())


def _not_convex(kernels: Sequence[Kernel], waits: Sequence[set[int]], pending: Sequence[int]) -> TransformError:
    """The error for kernels that wait for each other: a merged one, and what would have to run between its ops."""
    cycle = [pending[0]]
    while len(set(cycle)) == len(cycle):  # each pending kernel waits for another pending one
        cycle.append(next(place for place in sorted(waits[cycle[-1]]) if place in pending))
    cycle = cycle[cycle.index(cycle[-1]) + 1 :]
    merged = max(cycle, key=lambda place: len(kernels[place].ops))
    between = cycle[(cycle.index(merged) + 1) % len(cycle)]
    return TransformError(
        f"fuse: {kernels[merged].name!r} is not convex: {kernels[between].name!r} needs a result of one of its ops, "
        f"and another of its ops needs that in turn; fuse {kernels[between].name!r} too, or fewer kernels"
    )
