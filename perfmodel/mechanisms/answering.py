"""What the answers of mechanisms share: how they show themselves, and how numbers given to them are checked."""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from operator import index
from typing import Any

from perfmodel.errors import DimensionError
from perfmodel.mechanisms.results import Shown
from perfmodel.showing import Text, plain_dict

LARGEST = 2**53


class Answer(Shown):
    """A result that shows the expression that makes it with what matters as comments, its working, and plain data.

    A result has ``made`` (the expression), ``comments`` and ``working`` (lines).

    >>> from perfmodel import bank_conflicts
    >>> isinstance(bank_conflicts("33*t"), Answer)
    True
    """

    __slots__ = ()

    @property
    def made(self) -> str:
        """The expression that makes the result.

        >>> from perfmodel import bank_conflicts
        >>> bank_conflicts("33*t").made
        "bank_conflicts('33*t')"
        """
        raise NotImplementedError

    def comments(self) -> list[str]:
        """What matters most, a line each.

        >>> from perfmodel import bank_conflicts
        >>> bank_conflicts("33*t").comments()[0]
        '1 pass where 1 is the least: no conflict'
        """
        raise NotImplementedError

    def working(self) -> list[str]:
        """How the result follows, a line each.

        >>> from perfmodel import bank_conflicts
        >>> len(bank_conflicts("33*t").working()) > 2
        True
        """
        return self.comments()

    def explain(self) -> Text:
        """The working as text.

        >>> from perfmodel import bank_conflicts
        >>> print(bank_conflicts("33*t").explain().splitlines()[0])
        bank_conflicts('33*t')
        """
        return Text("\n".join([self.made, *[f"  {line}" for line in self.working()]]))

    def to_dict(self) -> dict[str, Any]:
        """Every figure as plain data.

        >>> from perfmodel import bank_conflicts
        >>> bank_conflicts("33*t").to_dict()["passes"]
        1
        """
        kept = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        derived = {
            name: getattr(self, name)
            for kind in reversed(type(self).__mro__)
            for name, member in vars(kind).items()
            if isinstance(member, property) and name != "made"
        }
        found = {**kept, **derived}
        return plain_dict({name: asdict(each) if is_dataclass(each) else each for name, each in found.items()})  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return "\n".join([self.made, *[f"# {line}" for line in self.comments()]])


def whole(value: Any, name: str, verb: str, least: int = 1, most: int = LARGEST) -> int:
    """An int in a range; booleans, other numbers and text are a ``DimensionError``.

    >>> whole(256, "threads", "occupancy")
    256
    >>> whole(True, "threads", "occupancy")
    Traceback (most recent call last):
    perfmodel.errors.DimensionError: occupancy: threads = True: expected a whole number of 1 or more
    """
    try:
        number = index(value) if type(value).__name__ not in ("bool", "bool_") else None
    except Exception:  # whatever an object of the user's raises, it is no whole number
        number = None
    if number is None or not least <= number <= most:
        above = f"from {least} to {most:,}" if most < LARGEST else f"of {least} or more"
        raise DimensionError(f"{verb}: {name} = {shortened(value)}: expected a whole number {above}")
    return number


class Verbatim(str):
    """Text that stands in an expression as it is, without quotes: what was given was no text.

    >>> Verbatim("[1, 2]"), "t"
    ([1, 2], 't')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def shortened(value: Any, most: int = 60) -> str:
    """A value as a message or an expression shows it.

    >>> shortened("t % 2"), len(shortened("t" * 1000))
    ("'t % 2'", 60)
    """
    try:
        text = repr(value)
    except Exception:  # an int with too many digits, or an object whose own repr fails
        text = f"<{type(value).__name__}>"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def call(verb: str, first: str, given: dict[str, Any], usual: dict[str, Any]) -> str:
    """The call that makes a result: its first argument, and those that are not as usual.

    >>> call("occupancy", "'9.0'", {"threads": 128, "registers": 64}, {"threads": 256, "registers": 64})
    "occupancy('9.0', threads=128)"
    """
    said = [f"{name}={value!r}" for name, value in given.items() if name not in usual or usual[name] != value]
    return f"{verb}({', '.join([first, *said])})"
