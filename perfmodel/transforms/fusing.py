"""Fusing: launching ops together, so that what passes between them stays inside."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.errors import TransformError, did_you_mean
from perfmodel.graph.indexing import fresh
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.programs import Program
from perfmodel.transforms.selecting import Only, chosen


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
    if by not in (None, "stage"):
        raise TransformError(f"fuse: by={by!r} is not known; by='stage' or nothing{did_you_mean(str(by), ['stage'])}")
    selected = {kernel.name for kernel in chosen(program, only, "fuse")}
    groups: dict[object, list[Kernel]] = {}
    for kernel in program.kernels:
        if kernel.name not in selected:
            key: object = ("alone", kernel.name)
        elif by == "stage":
            key = ("stage", kernel.section, kernel.stages[0] if len(kernel.stages) == 1 else kernel.name)
        else:
            key = ("section", kernel.section)
        groups.setdefault(key, []).append(kernel)
    named: list[Kernel] = []
    taken: set[str] = set()
    for group in groups.values():
        kept = len(group) == 1 and (by is None or group[0].name not in selected)
        title = fresh(group[0].name if kept else _title(program, group, by, only), taken)
        taken.add(title)
        named.append(_merged(group, title))
    arguments = [f"by={by!r}"] * (by is not None) + [f"only={only!r}"] * (only is not None)
    return program.rewritten(_in_order(named), f"fuse({', '.join(arguments)})")


def _title(program: Program, group: Sequence[Kernel], by: str | None, only: Only) -> str:
    if by == "stage":
        return group[0].stages[0]
    return only if isinstance(only, str) else program.name if only is None else group[0].name


def _merged(group: Sequence[Kernel], title: str) -> Kernel:
    first = group[0]
    for other in group[1:]:
        if other.repeat != first.repeat:
            raise TransformError(
                f"fuse: {first.name!r} runs {first.repeat} times and {other.name!r} {other.repeat} times; "
                "kernels of one repetition can be fused"
            )
    return Kernel(title, tuple([op for kernel in group for op in kernel.ops]), first.repeat, first.section)


def _in_order(kernels: Sequence[Kernel]) -> tuple[Kernel, ...]:
    """The kernels in an order that can run, as near to the given one as that allows."""
    maker = {name: place for place, kernel in enumerate(kernels) for name in kernel.made}
    waits = [{maker[name] for name in kernel.needed if name in maker} for kernel in kernels]
    done: dict[int, Kernel] = {}
    pending = list(range(len(kernels)))
    while pending:
        ready = next((place for place in pending if waits[place] <= done.keys()), None)
        if ready is None:
            raise _not_convex([kernels[place] for place in pending])
        done[ready] = kernels[ready]
        pending.remove(ready)
    return tuple(done.values())


def _not_convex(stuck: Sequence[Kernel]) -> TransformError:
    """The error for kernels that wait for each other: a merged one and what must run between its ops."""
    merged = max(stuck, key=lambda kernel: len(kernel.ops))
    between = [k.name for k in stuck if k is not merged and set(k.made) & set(merged.needed)]
    return TransformError(
        f"fuse: {merged.name!r} is not convex: {between[0] if between else stuck[0].name!r} needs a result of one "
        f"of its ops and another of its ops needs that in turn; fuse it too, or fewer kernels"
    )
