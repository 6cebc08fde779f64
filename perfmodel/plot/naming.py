"""What series are called: by what tells them apart, and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from textwrap import fill

from perfmodel.graph.describing import title
from perfmodel.graph.programs import Program

_WIDEST = 42  # characters of a line in a legend


def told_apart(series: Sequence[Sequence[str]], also: Sequence[Sequence[str]] = ()) -> list[str]:
    """A name for each series from its parts: those that differ, and those of ``also`` where names are alike without.

    Names that are alike even so have a number behind them.

    >>> told_apart([("matmul", "a100"), ("matmul", "h100")], also=[("tile 64",), ("tile 128",)])
    ['a100', 'h100']
    >>> told_apart([("matmul",), ("matmul",)])
    ['matmul (1)', 'matmul (2)']
    """
    kept = [place for place, column in enumerate(zip(*series, strict=True)) if len(set(column)) > 1]
    names = [", ".join([parts[place] for place in kept if parts[place]]) or parts[0] for parts in series]
    often, seen = Counter(names), Counter[str]()
    if also and max(often.values()) > 1:
        return told_apart([(*parts, *more) for parts, more in zip(series, also, strict=True)])
    for place, name in enumerate(names):
        if often[name] > 1:
            seen[name] += 1
            names[place] = f"{name} ({seen[name]})"
    return names


def program_names(programs: Sequence[Program], path: bool = False) -> list[str]:
    """What each program is and how it was made; along a path only what was done to the one before.

    >>> from perfmodel import fuse, softmax
    >>> p = softmax(64, 512)
    >>> program_names([p, fuse(p)])
    ['softmax(m=64 n=512, bf16)', 'softmax(m=64 n=512, bf16) -> fuse()']
    >>> program_names([p, fuse(p)], path=True)
    ['softmax(m=64 n=512, bf16)', '-> fuse()']
    """
    names = [[" -> ".join([title(each), *each.history[1:]])] for each in programs]
    for place in range(1, len(programs)) if path else ():
        before, after = programs[place - 1].history, programs[place].history
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
        if alike and title(programs[0]) == title(programs[place]) and after[alike:]:
            names[place] = ["-> " + " -> ".join(after[alike:])]
    return told_apart(names) if len(names) > 1 else [each[0] for each in names]


def wrapped(name: str) -> str:
    """A name in lines that a legend has room for.

    >>> wrapped("sixteen letters " * 4).splitlines()
    ['sixteen letters sixteen letters sixteen', '  letters sixteen letters']
    """
    return fill(name, _WIDEST, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
