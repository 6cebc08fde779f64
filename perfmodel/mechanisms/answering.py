"""What every answer of a mechanism is: the expression that makes it, what matters, its working, and plain data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from perfmodel.errors import PerfModelError
from perfmodel.graph.programs import Program
from perfmodel.showing import Text, plain_dict
from perfmodel.shown import Shown


class Answer(Shown):
    """A result that shows the expression that makes it with what matters as comments, its working, and plain data.

    A result has ``made`` (the expression), ``comments`` and ``working`` (lines), and where one figure can be a formula,
    ``_figure`` names the one that a notebook typesets.

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

    @property
    def headline(self) -> str:
        """What stands behind the expression where the working begins; nothing, where the working says all.

        >>> from perfmodel import waves
        >>> waves(98, units=108).headline
        '1 wave, 91 % filled'
        """
        return ""

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
        head = f"{self.made}: {self.headline}" if self.headline else self.made
        return Text("\n".join([head, *[f"  {line}" for line in self.working()]]))

    def to_dict(self) -> dict[str, Any]:
        """Every figure as plain data; one that is none here (nothing to divide by) is left out.

        >>> from perfmodel import bank_conflicts
        >>> bank_conflicts("33*t").to_dict()["passes"]
        1
        """
        return plain_dict(dict(_figures(self)))

    def __repr__(self) -> str:
        return "\n".join([self.made, *[f"# {line}" for line in self.comments()]])


def _figures(record: Any) -> Iterator[tuple[str, Any]]:
    """What a record holds, and what follows from it."""
    held = [each.name for each in fields(record)] if is_dataclass(record) else record._fields
    derived = [
        name
        for kind in reversed(type(record).__mro__)
        for name, member in vars(kind).items()
        if isinstance(member, property) and not name.startswith("_")
    ]
    for name in dict.fromkeys([*held, *derived]):
        if name not in ("made", "headline"):
            with suppress(PerfModelError):
                yield name, _data(getattr(record, name))


def _data(value: Any) -> Any:
    """Records as dicts, programs by their names, fractions and arrays as numbers."""
    if isinstance(value, Program):
        return value.name
    if isinstance(value, Answer):
        return value.to_dict()
    if is_dataclass(value) or hasattr(value, "_fields"):
        return dict(_figures(value))
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    if isinstance(value, tuple):
        return [_data(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value
