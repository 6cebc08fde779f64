"""A digest of a question that is the same in every run, so that an answer can be told from another's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import CodeType
from typing import Any

import sympy


def digest(value: Any) -> str:
    """The SHA-256 of a value of dataclasses, collections, arrays, formulas, numbers, text and functions.

    A function counts by its code and what it closes over, so that a changed one is another question.

    >>> digest({"a": 1, "b": frozenset("xyz")}) == digest({"b": frozenset("zyx"), "a": 1})
    True
    >>> digest(lambda n: n) == digest(lambda n: n + 1)
    False
    """
    found = hashlib.sha256()
    for part in _parts(value):
        found.update(part)
        found.update(b"\0")
    return found.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    """A value as a sequence of texts that tells it from others."""
    yield type(value).__name__.encode()
    if is_dataclass(value) and not isinstance(value, type):
        yield from _inside([getattr(value, each.name) for each in fields(value) if each.compare or each.init])
    elif isinstance(value, Mapping):
        yield from _inside(sorted([digest(pair) for pair in value.items()]))
    elif isinstance(value, (set, frozenset)):
        yield from _inside(sorted([digest(each) for each in value]))
    elif isinstance(value, (list, tuple)):
        yield from _inside(list(value))
    elif hasattr(value, "tobytes"):
        yield from (str(value.dtype).encode(), value.tobytes())
    elif isinstance(value, sympy.Basic):
        yield sympy.srepr(value).encode()
    elif isinstance(value, CodeType):
        yield from (value.co_code, *_inside([list(value.co_consts), list(value.co_names)]))
    elif callable(value):
        yield from _called(value)
    else:
        yield repr(value).encode()


def _inside(values: list[Any]) -> Iterator[bytes]:
    yield str(len(values)).encode()
    for each in values:
        yield from _parts(each)


def _called(value: Any) -> Iterator[bytes]:
    yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}".encode()
    if hasattr(value, "func"):  # functools.partial
        yield from _inside([value.func, list(value.args), dict(value.keywords)])
    if hasattr(value, "__code__"):
        closed = [each.cell_contents for each in value.__closure__ or ()]
        yield from _inside([value.__code__, list(value.__defaults__ or ()), dict(value.__kwdefaults__ or {}), closed])
