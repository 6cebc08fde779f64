"""How numbers, formulas and tables are shown to a person.

Prefixes are decimal: GB is 1e9 bytes and never GiB.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from perfmodel.errors import PerfModelError, listed
from perfmodel.expressions import Size, is_concrete

_PREFIXES = ((1e24, "Y"), (1e21, "Z"), (1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"),
             (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p"))  # fmt: skip
_NAMES = {"Max": "max", "Min": "min", "ceiling": "ceil", "Mod": "mod"}

_LARGEST_DIVISOR = 1_000_000  # counts are divided by tile sizes, which are smaller; times by rates, which are not


class Text(str):
    """A string that a prompt or notebook shows as its text, line by line.

    >>> Text("a\\nb")
    a
    b
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def quantity(value: Any, unit: str = "", digits: int = 4) -> str:
    """A number with a decimal prefix and its unit; a formula as it is.

    >>> quantity(11.53e9, "FLOP"), quantity(81.4e-6, "s"), quantity(0, "B"), quantity(4096, "B")
    ('11.53 GFLOP', '81.4 us', '0 B', '4.096 kB')
    """
    if not is_concrete(value):
        return f"{formula(value)} {unit}".rstrip()
    try:
        number = float(value)
    except OverflowError:  # an int that no float holds
        return f"{'below -' if value < 0 else 'over '}1e308 {unit}".rstrip()
    size = abs(number)
    if size == 0 or not math.isfinite(size):
        return f"{number:.0f} {unit}".rstrip()
    for factor, prefix in _PREFIXES:
        if size >= factor * (1 - 0.5 * 10**-digits):
            return f"{_short(number / factor, digits)} {prefix}{unit}".rstrip()
    return f"{number:.{digits}g} {unit}".rstrip()


def _short(number: float, digits: int) -> str:
    text = f"{number:.{digits}g}"
    return f"{number:.0f}" if "e" in text else text


def percent(fraction: float, digits: int = 2) -> str:
    """A fraction as a percentage of two significant digits, whole above 10.

    >>> percent(0.2132), percent(0.0034), percent(1.0)
    ('21 %', '0.34 %', '100 %')
    """
    value = 100 * fraction
    return f"{value:.0f} %" if abs(value) >= 10 or value == 0 else f"{value:.{digits}g} %"


def formula(value: Size, order: Sequence[str] = ()) -> str:
    """A formula as one writes it: ``2 m n k`` with the symbols in the order given.

    >>> m, n = sympy.symbols("m n", integer=True, positive=True)
    >>> formula(2 * n * m + m**2, ["m", "n"]), formula(2 * m + 2 * n), formula(12)
    ('m^2 + 2 m n', '2 (m + n)', '12')
    >>> formula(n / sympy.sqrt(m)), formula(n / m ** sympy.Rational(2, 3))
    ('n / sqrt(m)', 'n / m^(2/3)')
    """
    if not isinstance(value, sympy.Expr):
        return str(value)
    return _written(value, {name: place for place, name in enumerate(dict.fromkeys(order))})


def _written(value: sympy.Expr, order: dict[str, int]) -> str:
    if isinstance(value, sympy.Add):
        common, rest = value.primitive()
        if any(term.as_coeff_Mul()[0] != 1 for term in rest.args):
            return _sum_written(value, order)
        inside = _sum_written(rest, order)
        above = inside if common == 1 else f"({inside})" if common.p == 1 else f"{common.p} ({inside})"
        return above if common.q == 1 else f"{above} / {_divisor(common.q)}"
    if isinstance(value, sympy.Mul):
        return _product_written(value, order)
    if isinstance(value, sympy.Pow) and (value.exp.is_Symbol or (value.exp.is_Integer and value.exp > 0)):
        return f"{_grouped(value.base, order)}^{value.exp}"
    if isinstance(value, sympy.Pow) and value.exp.is_Rational and value.exp.q > 2:
        return f"{_grouped(value.base, order)}^({value.exp})"
    if isinstance(value, sympy.Rational) and value.q >= _LARGEST_DIVISOR:
        return f"{float(value):.4g}"
    if isinstance(value, sympy.Float):
        return f"{float(value):.4g}"
    kind = value.func.__name__
    if isinstance(value, sympy.Max | sympy.Min) or (value.is_Function and kind != "Piecewise"):
        return f"{_NAMES.get(kind, kind)}({', '.join(_written(argument, order) for argument in value.args)})"
    return str(value)


def _sum_written(value: sympy.Add, order: dict[str, int]) -> str:
    """Terms in order, one that is not subtracted first."""
    parts = [_written(term, order) for term in sorted(value.args, key=lambda term: _first(term, order))]
    head = next((part for part in parts if not part.startswith("-")), parts[0])
    parts.remove(head)
    return head + "".join(f" - {part[1:]}" if part.startswith("-") else f" + {part}" for part in parts)


def _product_written(value: sympy.Mul, order: dict[str, int]) -> str:
    numerator, denominator = sympy.fraction(value)
    if denominator != 1:
        top = _grouped(numerator, order) if isinstance(numerator, sympy.Add) else _written(numerator, order)
        if denominator.is_Integer:
            return f"{top} / {_divisor(denominator)}"
        bottom = _written(denominator, order)
        alone = denominator.as_base_exp()[0].is_Symbol and not denominator.as_base_exp()[1].is_Integer
        return f"{top} / {bottom}" if alone or denominator.is_Symbol else f"{top} / ({bottom})"
    number, rest = value.as_coeff_Mul()
    factors = sorted(sympy.Mul.make_args(rest), key=lambda factor: _first(factor, order))
    text = " ".join(_grouped(factor, order) for factor in factors)
    return text if number == 1 else f"-{text}" if number == -1 else f"{_written(number, order)} {text}"


def _divisor(number: sympy.Integer) -> str:
    """A rate that something is divided by: large ones (bytes a second) to four digits."""
    return str(number) if number < _LARGEST_DIVISOR else f"{float(number):.4g}"


def _grouped(value: sympy.Expr, order: dict[str, int]) -> str:
    return f"({_sum_written(value, order)})" if isinstance(value, sympy.Add) else _written(value, order)


def _first(value: sympy.Expr, order: dict[str, int]) -> tuple[list[int], str]:
    places = sorted(order.get(symbol.name, len(order)) for symbol in value.free_symbols)
    return places or [len(order) + 1], str(value)


@dataclass(frozen=True)
class Table:
    """Rows under column names: text in a terminal, HTML in a notebook, a DataFrame on request.

    >>> Table("sizes", ("tensor", "bytes"), (("x", 8), ("y", 16)))
    sizes
    tensor  bytes
    x           8
    y          16
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __repr__(self) -> str:
        cells = [list(self.columns), *[[_cell(value) for value in row] for row in self.rows]]
        widths = [max(len(row[place]) for row in cells) for place in range(len(self.columns))]
        left = [all(isinstance(row[place], str) for row in self.rows) for place in range(len(self.columns))]
        lines = [
            "  ".join(c.ljust(w) if is_left else c.rjust(w) for c, w, is_left in zip(row, widths, left, strict=True))
            for row in cells
        ]
        return "\n".join([*([self.title] if self.title else []), *[line.rstrip() for line in lines]])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>" for row in self.rows
        )
        return f"<table><caption>{html.escape(self.title)}</caption><tr>{head}</tr>{body}</table>"

    def explain(self) -> Text:
        """What each column holds: the least and the most of numbers, else the first few of what there is.

        >>> Table("sizes", ("tensor", "bytes"), (("x", 8), ("y", 16))).explain()
        sizes: 2 rows
          tensor  x, y
          bytes   8 to 16
        """
        width = max([len(name) for name in self.columns], default=0)
        lines = [f"  {name:{width}}  {_held(values)}".rstrip() for name, values in self._columns().items()]
        return Text("\n".join([f"{self.title or 'table'}: {len(self.rows)} rows", *lines]))

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns by name as plain data: formulas as text.

        >>> Table("", ("a",), ((1,), (sympy.Symbol("n") / 2,))).to_dict()
        {'a': [1, 'n/2']}
        """
        return plain_dict(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [row[place] for row in self.rows] for place, name in enumerate(self.columns)}

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame (needs the extra ``table``).

        >>> len(Table("", ("a",), ((1,), (2,))).to_frame())
        2
        """
        try:
            import pandas
        except ImportError:
            raise PerfModelError("to_frame: pandas is not installed: pip install 'perfmodel[table]' has it") from None
        return pandas.DataFrame(self._columns(), columns=list(self.columns))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return formula(value) if isinstance(value, sympy.Expr) else str(value)


def _held(values: list[Any]) -> str:
    """The range of a column of numbers, the first few different entries of another."""
    if values and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        least, most = _cell(min(values)), _cell(max(values))
        return least if least == most else f"{least} to {most}"
    return listed(dict.fromkeys([_cell(value) for value in values]), limit=4)


def plain(value: Any) -> Any:
    """A value as JSON can hold it: formulas as text, exact integers as ints, sets in order.

    >>> plain({"n": sympy.Symbol("n"), "k": (1, 2.5)})
    {'n': 'n', 'k': [1, 2.5]}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return [plain(item) for item in sorted(value, key=str)]
    if isinstance(value, sympy.Integer) or getattr(getattr(value, "dtype", None), "kind", "") in ("i", "u"):
        return int(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def plain_dict(value: dict[str, Any]) -> dict[str, Any]:
    """A dict whose values JSON can hold.

    >>> plain_dict({"n": sympy.Symbol("n")})
    {'n': 'n'}
    """
    return {str(key): plain(item) for key, item in value.items()}
