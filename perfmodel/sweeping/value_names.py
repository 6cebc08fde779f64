"""What the values of an axis are called in the table: functions by name, by their arguments or by place."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Named:
    """A function with the name that it has in the table.

    >>> Named(abs, "transform 1")(-3)
    3
    """

    function: Callable[..., Any]
    name: str

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.function(*given, **named)


def bare(value: Any) -> Any:
    """The value as it was given.

    >>> bare(Named(abs, "transform 1")) is abs, bare(8)
    (True, 8)
    """
    return value.function if isinstance(value, Named) else value


def label(value: Any) -> Any:
    """How a value stands in a table: numbers and text as they are, functions and formats by name, None as "none".

    >>> [label(each) for each in (None, 8, abs, functools.partial(round, ndigits=2))]
    ['none', 8, 'abs', 'round(ndigits=2)']
    """
    if value is None:
        return "none"
    if isinstance(value, (int, float, str)):
        return value
    if isinstance(value, functools.partial):
        given = [*map(_argument, value.args), *[f"{key}={_argument(each)}" for key, each in value.keywords.items()]]
        return f"{label(value.func)}({', '.join(given)})"
    return getattr(value, "name", None) or getattr(value, "__name__", None) or repr(value)


def _argument(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(label(value))


def named_values(axis: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """The values of an axis, functions that have no name of their own, or one that another has, with one.

    A function without a name is called by its place among the values, and no name is an address in memory.

    >>> [label(each) for each in named_values("transform", [abs, lambda p: p, lambda p: None])]
    ['abs', 'transform 2', 'transform 3']
    """
    taken: dict[str, Any] = {}
    return tuple([_named(axis, place, value, taken) for place, value in enumerate(values, 1)])


def _named(axis: str, place: int, value: Any, taken: dict[str, Any]) -> Any:
    if not callable(value) or not _is_hashable(value):
        return value
    known = next((name for name, each in taken.items() if each is value), None)
    own = str(label(value))
    name = known or (own if not ("<lambda>" in own or _ADDRESS.search(own)) else f"{axis} {place}")
    base, number = name, 1
    while name in taken and taken[name] is not value:
        number += 1
        name = f"{base} ({number})"
    taken[name] = value
    return value if name == own else Named(value, name)


def _is_hashable(value: Any) -> bool:
    return isinstance(value, Hashable)
