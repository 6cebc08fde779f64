"""Fusing: launching ops together, so that what passes between them stays inside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from perfmodel.errors import LabelError, TransformError, did_you_mean, listed
from perfmodel.graph.arguments import is_one_of, names_given
from perfmodel.graph.indexing import fresh
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.programs import Program
from perfmodel.transforms.selecting import Only, checked_program, chosen

Results = str | Iterable[str | Iterable[str]] | None


def fuse(program: Program, by: str | None = None, only: Only = None, to: Results = None) -> Program:
    """The program with kernels merged: all of a section, or those of one stage, or those that ``only`` names.

    ``to`` names results that end a kernel: each gets one, of its name, with all of its section that leads to it and
    to none named before it; what leads to none of them is merged as without ``to``. Results in a tuple share a kernel:
    ``to=[("O", "L"), "D"]``.

    Only the staging changes: FLOPs are the same, and bytes fall by what no longer crosses a kernel boundary.
    Sets that are not convex (something outside would have to run between their ops) are refused.

    >>> from perfmodel import elementwise, attention
    >>> p = elementwise("relu(x*w + b)", "n")
    >>> p.elements_read + p.elements_written, fuse(p).elements_read + fuse(p).elements_written
    (8*n, 4*n)
    >>> [kernel.name for kernel in fuse(attention("n", "n", 128), by="stage").kernels]
    ['attention.scores', 'attention.softmax', 'attention.values']
    >>> [kernel.made for kernel in fuse(attention("n", "n", 128), to="sum").kernels]
    [('S', 'max', 'sub', 'exp', 'sum'), ('P', 'O')]
    """
    checked_program(program, "fuse")
    if by is not None and not is_one_of(by, ["stage"]):
        raise TransformError(f"fuse: by={by!r} is not known; by='stage' or nothing{did_you_mean(str(by), ['stage'])}")
    if by is not None and to is not None:
        raise TransformError(f"fuse: by={by!r} and to={to!r} each say what is merged; give one of them")
    selected = {kernel.name for kernel in chosen(program, only, "fuse")}
    ends = _leading_to(program, _groups(program, to), selected)
    groups: dict[tuple[object, ...], list[Kernel]] = {}
    for kernel in program.kernels:
        if kernel.name not in selected:
            key: tuple[object, ...] = ("alone", kernel.name)
        elif kernel.name in ends:
            key = ("to", ends[kernel.name])
        elif by == "stage":
            key = ("stage", kernel.section, kernel.stages[0]) if len(kernel.stages) == 1 else ("alone", kernel.name)
        else:
            key = ("section", kernel.section)
        groups.setdefault(key, []).append(kernel)
    named: list[Kernel] = []
    taken: set[str] = set()
    for key, group in groups.items():
        wanted = ends[group[0].name] if key[0] == "to" else _title(program, group, by, only, selected)
        title = fresh(wanted, taken)
        taken.add(title)
        named.append(_merged(group, title))
    arguments = [f"by={by!r}"] * (by is not None) + [f"only={only!r}"] * (only is not None)
    arguments += [f"to={to!r}"] * (to is not None)
    return program.rewritten(_in_order(named), f"fuse({', '.join(arguments)})")


def _groups(program: Program, to: Results) -> list[tuple[str, ...]]:
    """The results that end kernels, those that share one together: each made by the program, and named once."""
    asked = () if to is None else (to,) if isinstance(to, str) or not isinstance(to, Iterable) else tuple(to)
    groups = [names_given(item, "fuse: to=") for item in asked]
    made = [name for kernel in program.kernels for name in kernel.made]
    seen: set[str] = set()
    for name in [name for group in groups for name in group]:
        if name not in made:
            raise LabelError(f"fuse: {program.name} makes no tensor {name!r}; it makes {listed(made)}"
                             f"{did_you_mean(name, made)}")  # fmt: skip
        if name in seen:
            raise LabelError(f"fuse: to={to!r} names {name!r} twice")
        seen.add(name)
    return [group for group in groups if group]


def _leading_to(program: Program, groups: Sequence[Sequence[str]], selected: Collection[str]) -> dict[str, str]:
    """The kernels that lead to named results within a section, with the first result of their group."""
    maker = {name: kernel for kernel in program.kernels for name in kernel.made}
    found: dict[str, str] = {}
    for group in groups:
        across = [name for name in group if maker[name].section != maker[group[0]].section]
        if across:
            raise TransformError(
                f"fuse: to={tuple(group)!r}: {group[0]!r} and {across[0]!r} stand in two sections, which stay apart"
            )
        for name in group:
            if maker[name].name in found or maker[name].name not in selected:
                end = found.get(maker[name].name)
                why = f"leads to {end!r}; name it before {end!r}" if end else "is not among the kernels of only="
                raise TransformError(f"fuse: to={name!r} ends no kernel: it {why}")
        waiting = [maker[name] for name in group]
        section = waiting[0].section
        while waiting:
            kernel = waiting.pop()
            if kernel.name in selected and kernel.name not in found and kernel.section == section:
                found[kernel.name] = group[0]
                waiting += [maker[name] for name in kernel.needed if name in maker]
    return found


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
