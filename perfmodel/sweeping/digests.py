"""A digest of a question that is the same in every run, so that an answer can be told from another's.

A function counts by its code, what it closes over, and what its code names: data, functions and classes of modules
that are the user's own (neither Python's, nor this library's, nor an installed package's, which count by their
names). An object counts by its class and by the state that would be pickled.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import BuiltinFunctionType, CodeType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

import sympy

_Seen = dict[int, Any]  # what is being looked at or was, by identity; kept, so that no identity is used twice
_PLAIN = (int, float, complex, str, bytes, bool, type(None), range, type(...), slice, Enum)
_INSTALLED = ("site-packages", "dist-packages")
_OF_A_CLASS = ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__", "_abc_impl")


class NoIdentity(Exception):
    """A value holds what cannot be told from another of its kind: an open file, a lock, a generator.

    >>> digest([n for n in ()].__iter__()) == digest([].__iter__())
    True
    >>> digest((n for n in ()))
    Traceback (most recent call last):
    perfmodel.sweeping.digests.NoIdentity: generator: cannot pickle 'generator' object
    """


def digest(value: Any) -> str:
    """The SHA-256 of a value of dataclasses, collections, arrays, formulas, numbers, text, functions and objects.

    A function counts by its code, what it closes over and what it names, so that a changed one is another question.
    ``NoIdentity`` for what cannot be told from others.

    >>> digest({"a": 1, "b": frozenset("xyz")}) == digest({"b": frozenset("zyx"), "a": 1})
    True
    >>> digest(lambda n: n) == digest(lambda n: n + 1)
    False
    """
    try:
        return _digest(value, {})
    except RecursionError:
        raise NoIdentity("it is nested too deeply") from None


def _digest(value: Any, seen: _Seen) -> str:
    found = hashlib.sha256()
    for part in _parts(value, dict(seen)):
        found.update(part)
        found.update(b"\0")
    return found.hexdigest()


def _parts(value: Any, seen: _Seen) -> Iterator[bytes]:
    """A value as a sequence of texts that tells it from others."""
    yield type(value).__name__.encode()
    if is_dataclass(value) and not isinstance(value, type):
        yield from _methods(type(value), seen)
        yield from _inside([getattr(value, each.name) for each in fields(value) if each.compare or each.init], seen)
    elif isinstance(value, _PLAIN):
        yield repr(value).encode()
    elif isinstance(value, sympy.Basic):
        yield sympy.srepr(value).encode()
    elif isinstance(value, ModuleType):
        yield value.__name__.encode()
    elif isinstance(value, CodeType):
        yield from (value.co_code, *_inside([list(value.co_consts), list(value.co_names)], seen))
    elif id(value) in seen:
        yield b"seen"
    else:
        seen[id(value)] = value
        yield from _held(value, seen)
        if not (isinstance(value, type) or hasattr(value, "__code__")):
            seen.pop(id(value))  # equal things in two places count the same, whether they are one object or two


def _held(value: Any, seen: _Seen) -> Iterator[bytes]:
    """The parts of what holds others: collections, functions, classes and objects."""
    if isinstance(value, Mapping):
        yield from _inside(sorted([_digest(pair, seen) for pair in value.items()]), seen)
    elif isinstance(value, (set, frozenset)):
        yield from _inside(sorted([_digest(each, seen) for each in value]), seen)
    elif isinstance(value, (list, tuple)):
        yield from _inside(list(value), seen)
    elif getattr(getattr(value, "dtype", None), "kind", "O") != "O" and hasattr(value, "tobytes"):
        yield from (str(value.dtype).encode(), value.tobytes())
    elif isinstance(value, type):
        yield from (_name(value), *_methods(value, seen))
    elif isinstance(value, functools.partial):
        yield from _inside([value.func, list(value.args), dict(value.keywords)], seen)
    elif hasattr(value, "__code__"):
        yield from _function(value, seen)
    elif hasattr(value, "__wrapped__"):  # functools.lru_cache
        yield from _parts(value.__wrapped__, seen)
    else:
        yield from _object(value, seen)


def _inside(values: list[Any], seen: _Seen) -> Iterator[bytes]:
    yield str(len(values)).encode()
    for each in values:
        yield from _parts(each, seen)


def _name(value: Any) -> bytes:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}".encode()


def _function(value: Any, seen: _Seen) -> Iterator[bytes]:
    """A function, or a method with the object that it is bound to: its code, and what the code names."""
    yield _name(value)
    closed = [_content(cell) for cell in value.__closure__ or ()]
    yield from _inside([value.__code__, list(value.__defaults__ or ()), dict(value.__kwdefaults__ or {}), closed], seen)
    if hasattr(value, "__self__"):
        yield from _parts(value.__self__, seen)
    if _is_own(value.__module__):
        names, attributes = _named(value.__code__)
        for name in sorted(names):
            yield name.encode()
            yield from _reached(value.__globals__.get(name, sys.modules.get(name)), attributes, seen)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _named(code: CodeType) -> tuple[set[str], set[str]]:
    """The globals and modules that code names, and the attributes that it takes; with that of functions inside."""
    names, attributes = set(), set()
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME"):
            names.add(str(each.argval))
        elif each.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
            attributes.add(str(each.argval))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more = _named(inner)
            names, attributes = names | more[0], attributes | more[1]
    return names, attributes


def _reached(value: Any, attributes: set[str], seen: _Seen) -> Iterator[bytes]:
    """What code reaches by a name: of a module of the user's own, those of its things that the code takes."""
    if not isinstance(value, ModuleType):
        yield from _parts(value, seen)
    elif id(value) not in seen and _is_own(value.__name__):
        seen[id(value)] = value
        for name in sorted(attributes & set(vars(value))):
            yield name.encode()
            yield from _reached(vars(value)[name], attributes, seen)


def _methods(kind: type, seen: _Seen) -> Iterator[bytes]:
    """What a class of the user's own holds: its methods and its data, with those of the classes above."""
    for each in kind.__mro__:
        if _is_own(each.__module__):
            held = {name: _bare(value) for name, value in vars(each).items() if _counts(name)}
            yield from _inside([[name, value] for name, value in sorted(held.items()) if not _is_slot(value)], seen)


def _counts(name: str) -> bool:
    return name not in _OF_A_CLASS and not name.startswith("__dataclass_")  # which follows from the rest


def _bare(value: Any) -> Any:
    """The functions of a property, a static method or a method of the class."""
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if isinstance(value, functools.cached_property):
        return value.func
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def _is_slot(value: Any) -> bool:
    return isinstance(value, (MemberDescriptorType, GetSetDescriptorType))


def _object(value: Any, seen: _Seen) -> Iterator[bytes]:
    """An object: its class, and the state that would be pickled."""
    yield _name(value)
    if isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, (ModuleType, type(None))):
        return
    yield from _methods(type(value), seen)
    try:
        known = copyreg.dispatch_table.get(type(value))
        reduced = known(value) if known else value.__reduce_ex__(4)
    except Exception as error:  # any that its class raises
        raise NoIdentity(f"{type(value).__name__}: {error}") from None
    if isinstance(reduced, str):
        yield reduced.encode()
    else:
        made, given, *rest = reduced
        yield from _inside([made, given, *[list(each) if isinstance(each, Iterator) else each for each in rest]], seen)


def _is_own(module: str | None) -> bool:
    """Whether a module is the user's own: neither Python's, nor this library's, nor an installed package's."""
    top = (module or "builtins").partition(".")[0]
    if top in sys.stdlib_module_names or top == __name__.partition(".")[0]:
        return False
    place = str(getattr(sys.modules.get(top), "__file__", None) or "")
    return not any(each in place for each in _INSTALLED)
