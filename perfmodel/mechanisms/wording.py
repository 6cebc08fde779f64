"""How a mechanism's answer writes its figures, and the call that makes it."""

from __future__ import annotations

from typing import Any

from perfmodel.expressions import is_concrete
from perfmodel.showing import formula, percent


def number(value: Any, digits: int = 4) -> str:
    """A number or formula as it stands in a line.

    >>> from sympy import Symbol
    >>> number(71648), number(1.1111111), number(Symbol("n") / 2)
    ('71,648', '1.111', 'n / 2')
    """
    if isinstance(value, int):
        return f"{value:,}"
    if is_concrete(value):
        return f"{float(value):.{digits}g}"
    return formula(value)


def part_of_all(fraction: Any) -> str:
    """A fraction as a percentage, or its formula.

    >>> from sympy import Symbol
    >>> part_of_all(0.5555), part_of_all(Symbol("n"))
    ('56 %', 'n')
    """
    return percent(float(fraction)) if is_concrete(fraction) else formula(fraction)


def counted(value: Any, noun: str, plural: str = "") -> str:
    """A count with its noun, in the plural where it is not one.

    >>> from sympy import Symbol
    >>> counted(1, "wave"), counted(1320, "block"), counted(Symbol("b"), "pass", "passes")
    ('1 wave', '1,320 blocks', 'b passes')
    """
    return f"{number(value)} {noun if value == 1 else plural or f'{noun}s'}"


class Verbatim(str):
    """Text that stands in an expression as it is, without quotes: what was given was no text.

    >>> Verbatim("[1, 2]"), "t"
    ([1, 2], 't')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def call(verb: str, first: str, given: dict[str, Any], usual: dict[str, Any]) -> str:
    """The call that makes a result: its first argument, and those that are not as usual.

    >>> call("occupancy", "'9.0'", {"threads": 128, "registers": 64}, {"threads": 256, "registers": 64})
    "occupancy('9.0', threads=128)"
    """
    said = [f"{name}={value!r}" for name, value in given.items() if name not in usual or usual[name] != value]
    return f"{verb}({', '.join([first, *said])})"
