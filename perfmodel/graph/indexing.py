"""How an op's labels find an element of a tensor: by label, by an affine expression, or by a gather.

Almost every axis is indexed by one label. A window (convolution, pooling) is an affine expression of
labels, ``stride*p + dilation*r - padding``; a roll is one taken modulo the extent; an embedding or a
paged cache is a gather, whose index is read from another tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from perfmodel.errors import LabelError
from perfmodel.expressions import Size


class Axis(NamedTuple):
    """A label and how far it runs.

    >>> Axis("m", 4096)
    Axis(label='m', extent=4096)
    """

    label: str
    extent: Size


@dataclass(frozen=True, slots=True)
class Affine:
    """``sum(step * label) + offset``, modulo ``modulo`` where it is given (a roll).

    >>> str(Affine((("p", 2), ("r", 1)), -3))
    '2*p + r - 3'
    """

    terms: tuple[tuple[str, Size], ...]
    offset: Size = 0
    modulo: Size | None = None

    def __str__(self) -> str:
        text = " + ".join(label if step == 1 else f"{step}*{label}" for label, step in self.terms)
        if self.offset != 0:
            text += f" - {-self.offset}" if isinstance(self.offset, int) and self.offset < 0 else f" + {self.offset}"
        return text if self.modulo is None else f"({text}) % {self.modulo}"


@dataclass(frozen=True, slots=True)
class Gathered:
    """An index that is itself read from a tensor: ``by[labels]``.

    >>> str(Gathered("ids", ("token",)))
    'ids[token]'
    """

    by: str
    labels: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.by}[{', '.join(self.labels)}]"


Index: TypeAlias = "str | Affine | Gathered"


def labels_in(index: Index) -> tuple[str, ...]:
    """The labels that an index is made of.

    >>> labels_in(Affine((("p", 2), ("r", 1)), -3))
    ('p', 'r')
    """
    if isinstance(index, str):
        return (index,)
    if isinstance(index, Gathered):
        return index.labels
    return tuple(label for label, _ in index.terms)


def renamed(index: Index, names: Mapping[str, str]) -> Index:
    """The index with labels renamed.

    >>> renamed("k", {"k": "n"})
    'n'
    """
    if isinstance(index, str):
        return names.get(index, index)
    if isinstance(index, Gathered):
        return Gathered(index.by, tuple(names.get(label, label) for label in index.labels))
    return Affine(tuple((names.get(label, label), step) for label, step in index.terms), index.offset, index.modulo)


def resized(index: Index, change: Callable[[Size], Size]) -> Index:
    """The index with every size in it changed (bound to values, say).

    >>> resized(Affine((("p", 2),), -3), lambda size: 2 * size)
    Affine(terms=(('p', 4),), offset=-6, modulo=None)
    """
    if not isinstance(index, Affine):
        return index
    terms = tuple((label, change(step)) for label, step in index.terms)
    return Affine(terms, change(index.offset), None if index.modulo is None else change(index.modulo))


def windowed(index: Index, label: str, window: Affine) -> Index:
    """The index with ``label`` replaced by a window over other labels.

    >>> str(windowed("h", "h", Affine((("p", 2), ("r", 1)), -3)))
    '2*p + r - 3'
    """
    if index == label:
        return window
    if not isinstance(index, Affine) or label not in labels_in(index):
        return index
    terms: list[tuple[str, Size]] = []
    offset = index.offset
    for name, step in index.terms:
        if name == label:
            terms += [(inner, step * inner_step) for inner, inner_step in window.terms]
            offset += step * window.offset
        else:
            terms.append((name, step))
    return Affine(tuple(terms), offset, index.modulo)


def checked_label(label: Any) -> str:
    """A label that is an identifier.

    >>> checked_label("kv_head")
    'kv_head'
    """
    if not (isinstance(label, str) and label.isidentifier()):
        raise LabelError(f"label {label!r}: a label is a name such as 'm' or 'kv_head'")
    return label


def checked_name(name: Any, what: str) -> str:
    """A name that is an identifier.

    >>> checked_name("x", "tensor")
    'x'
    """
    if not (isinstance(name, str) and name.isidentifier()):
        raise LabelError(f"{what} {name!r}: a name is an identifier such as 'x' or 'W_q'")
    return name


def fresh(name: str, taken: Collection[str]) -> str:
    """The name, or the first of name_2, name_3, ... that is free.

    >>> fresh("p", {"p", "p_2"}), fresh("p", {"q"})
    ('p_3', 'p')
    """
    stem, _, number = name.rpartition("_")
    base, count = (stem, int(number)) if stem and number.isdigit() else (name, 1)
    found = name
    while found in taken:
        count += 1
        found = f"{base}_{count}"
    return found
