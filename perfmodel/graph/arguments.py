"""Names and mappings as they are given to a verb: read, or refused in its words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from perfmodel.errors import LabelError
from perfmodel.expressions import by_name


def names_given(given: object, what: str) -> tuple[str, ...]:
    """One name, or several, as a tuple.

    >>> names_given("x", "grad: wrt="), names_given(["x", "w"], "grad: wrt=")
    (('x',), ('x', 'w'))
    >>> names_given(3, "grad: wrt=")
    Traceback (most recent call last):
    perfmodel.errors.LabelError: grad: wrt=3: expected a name or several
    """
    found = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(name, str) for name in found):
        raise LabelError(f"{what}{str(given)[:80]}: expected a name or several")
    return tuple([str(name) for name in found])


def mapping_given(given: object, what: str, example: str) -> dict[Any, Any]:
    """A mapping, or none, as a dict.

    >>> mapping_given({"y": "x"}, "repeat: carry", "{'y': 'x'}"), mapping_given(None, "at", "{n: 64}")
    ({'y': 'x'}, {})
    >>> mapping_given(5, "repeat: carry", "{'y': 'x'}")
    Traceback (most recent call last):
    perfmodel.errors.LabelError: repeat: carry: expected a mapping such as {'y': 'x'}, got 5
    """
    if given is None:
        return {}
    given = by_name(given)
    if not isinstance(given, Mapping):
        raise LabelError(f"{what}: expected a mapping such as {example}, got {str(given)[:80]}")
    return dict(given)


def is_one_of(given: object, known: Iterable[str]) -> bool:
    """Whether a choice is one of some names (an array, say, is none of them).

    >>> is_one_of("stage", ["stage"]), is_one_of(5, ["stage"])
    (True, False)
    """
    return isinstance(given, str) and given in set(known)
