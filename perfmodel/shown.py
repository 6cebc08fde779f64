"""What every value shares: its working as text, as HTML and as plain data.

A class says more of itself where it has more to say; what it leaves out follows from its ``repr`` and its fields.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

import sympy

from perfmodel.errors import brief
from perfmodel.expressions import as_expression
from perfmodel.showing import Text, formula, plain_dict

_WIDEST = 100


class Shown:
    """A value that a notebook shows as its text, and as the formula of one of its figures.

    >>> class Answer(Shown):
    ...     def __repr__(self) -> str:
    ...         return "answer < 4"
    >>> Answer()._repr_html_()
    '<pre>answer &lt; 4</pre>'
    """

    __slots__ = ()
    _figure: ClassVar[str] = ""

    def explain(self) -> Text:
        """What it is, and its fields, a line each.

        >>> from perfmodel import Tile
        >>> Tile(64, 128).explain()
        Tile(m=64, n=128, splits=1)
          m       64
          n       128
          splits  1
        """
        said = {name: _line(value) for name, value in _fields(self).items() if value is not None}
        width = max([len(name) for name in said], default=0)
        lines = [f"  {name:{width}}  {value}" for name, value in said.items() if value]
        return Text("\n".join([repr(self), *lines]))

    def to_dict(self) -> dict[str, Any]:
        """Its fields as plain data: formulas as text.

        >>> from perfmodel import Tile
        >>> Tile(64, 128).to_dict()
        {'m': 64, 'n': 128, 'splits': 1}
        """
        return plain_dict({name: _plain(value) for name, value in _fields(self).items()})

    def _repr_html_(self) -> str:
        return Text(repr(self))._repr_html_()

    def _repr_latex_(self) -> str | None:
        if not self._figure:
            return None
        name = self._figure.replace("_", " ")
        return f"$\\text{{{name}}} = {sympy.latex(as_expression(getattr(self, self._figure)))}$"


class Explained(Shown):
    """A value that a notebook shows with its working.

    >>> class Answer(Explained):
    ...     def explain(self) -> Text:
    ...         return Text("4 < 5")
    >>> Answer()._repr_html_()
    '<pre>4 &lt; 5</pre>'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that show; of another class none."""
    if not is_dataclass(value):
        return {}
    return {each.name: getattr(value, each.name) for each in fields(value) if each.repr and each.name[0] != "_"}


def _line(value: Any) -> str:
    """A field on one line."""
    if isinstance(value, tuple) and len(getattr(value, "_fields", ())) == 2:
        said = f"{value[0]}={value[1]}"
    elif isinstance(value, tuple | list):
        said = ", ".join([_line(each) for each in value])
    elif isinstance(value, sympy.Expr):
        said = formula(value)
    elif isinstance(getattr(value, "name", None), str):
        said = value.name
    else:
        said = value if isinstance(value, str) else (str(brief(value)).splitlines() or [""])[0].split("  # ")[0]
    return said if len(said) <= _WIDEST else said[: _WIDEST - 3] + "..."


def _plain(value: Any) -> Any:
    """A field as plain data, what it holds included."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: _plain(each) for name, each in zip(value._fields, value, strict=True)}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    return {name: _plain(each) for name, each in _fields(value).items()} if is_dataclass(value) else value
