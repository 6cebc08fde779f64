"""How an op's labels find an element of a tensor: by label, by an affine expression, or by a gather.

Almost every axis is indexed by one label. A window (convolution, pooling) is an affine expression of
labels, ``stride*p + dilation*r - padding``; a roll is one taken modulo the extent; an embedding or a
paged cache is a gather, whose index is read from another tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import sympy

from perfmodel.errors import DimensionError, LabelError, listed
from perfmodel.expressions import Size, as_size, parse_size


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

    Beyond the axis a window reads zeros. Where the index is ``bound`` there is no point beyond it: the labels of a
    split one (``pm.split``) are a place each, and the last part ends where the axis does.

    >>> str(Affine((("p", 2), ("r", 1)), -3))
    '2*p + r - 3'
    """

    terms: tuple[tuple[str, Size], ...]
    offset: Size = 0
    modulo: Size | None = None
    bound: bool = False

    def __str__(self) -> str:
        text = " + ".join(label if step == 1 else f"{_factor(step)}*{label}" for label, step in self.terms)
        if self.offset != 0:
            text += f" - {_factor(-self.offset)}" if _negative(self.offset) else f" + {self.offset}"
        modulo = f"({self.modulo})" if isinstance(self.modulo, sympy.Add | sympy.Mul) else self.modulo
        return text if self.modulo is None else f"({text}) % {modulo}"


def _negative(value: Size) -> bool:
    return value < 0 if isinstance(value, int) else bool(value.could_extract_minus_sign())


def _factor(value: Size) -> str:
    return f"({value})" if isinstance(value, sympy.Add) else str(value)


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
    return replace(index, terms=tuple((names.get(label, label), step) for label, step in index.terms))


def resized(index: Index, change: Callable[[Size], Size]) -> Index:
    """The index with every size in it changed (bound to values, say).

    >>> resized(Affine((("p", 2),), -3), lambda size: 2 * size)
    Affine(terms=(('p', 4),), offset=-6, modulo=None, bound=False)
    """
    if not isinstance(index, Affine):
        return index
    terms = tuple((label, change(step)) for label, step in index.terms)
    modulo = None if index.modulo is None else change(index.modulo)
    return replace(index, terms=terms, offset=change(index.offset), modulo=modulo)


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
    return replace(index, terms=tuple(terms), offset=offset)


def distinct(axes: Iterable[Axis], what: str) -> tuple[Axis, ...]:
    """Axes whose labels all differ.

    >>> distinct([Axis("m", 4), Axis("n", 8)], "rename")
    (Axis(label='m', extent=4), Axis(label='n', extent=8))
    """
    found = tuple(axes)
    labels = [axis.label for axis in found]
    if len(set(labels)) < len(labels):
        raise LabelError(f"{what} would have a label twice in {listed(labels)}")
    return found


def checked_label(label: Any) -> str:
    """A label that is an identifier.

    >>> checked_label("kv_head")
    'kv_head'
    """
    if not (isinstance(label, str) and label.isidentifier()):
        raise LabelError(f"label {label!r}: a label is a name such as 'm' or 'kv_head'")
    return label


def checked_shift(shift: Any, what: str) -> Size:
    """How far a roll goes: a whole number of either sign, a formula, or text.

    >>> checked_shift(-1, "roll"), checked_shift("d/2", "roll")
    (-1, d/2)
    """
    if isinstance(shift, str):
        shift = parse_size(shift, what)
    if isinstance(shift, sympy.Expr):
        shift = as_size(shift)
    if type(shift) is int or (isinstance(shift, sympy.Expr) and shift.is_integer is not False):
        return shift
    raise DimensionError(f"{what} = {shift!r}: a shift is a whole number, a formula in pm.dims, or text such as 'd/2'")


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
    if name not in taken:
        return name
    base, count = _numbered(name)
    while (found := f"{base}_{count + 1}") in taken:
        count += 1
    return found


def _numbered(name: str) -> tuple[str, int]:
    stem, _, number = name.rpartition("_")
    return (stem, int(number)) if stem and number.isdigit() else (name, 1)


class FreshNames:
    """Names handed out once each, as ``fresh`` would, without a search from the start for each of many.

    >>> names = FreshNames(["p_2"])
    >>> [names.fresh(wanted) for wanted in ("p", "p", "p", "q")]
    ['p', 'p_3', 'p_4', 'q']
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def fresh(self, wanted: str) -> str:
        """The name, or the first of name_2, name_3, ... that is free; it is taken from now on.

        >>> FreshNames(["p"]).fresh("p")
        'p_2'
        """
        found = wanted
        if found in self._taken:
            base, count = _numbered(wanted)
            count = max(count, self._last.get(wanted, 0)) + 1
            while (found := f"{base}_{count}") in self._taken:
                count += 1
            self._last[wanted] = count
        self._taken.add(found)
        return found
