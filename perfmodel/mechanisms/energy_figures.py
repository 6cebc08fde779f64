"""How the figures of a table of energies are given: their names, in one form, and what is said of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from perfmodel.errors import FormatError, MachineError, brief, listed
from perfmodel.mechanisms.given_values import exact
from perfmodel.number_formats import format as number_format

UNITS = ("matrix", "vector", "special")
PARTS = ("add", "mul")
CLASSES = ("float", "int")
ANY = "any"
MEMORY = "memory"

Costs = tuple[tuple[str, Fraction], ...]


def op_costs(given: Any) -> Costs:
    """Energies of operations by name; a number serves all.

    >>> op_costs({"matrix bf16": 1, "float": 2})
    (('matrix bf16', Fraction(1, 1)), ('float', Fraction(2, 1)))
    """
    return _costs(given, ANY, "pj_per_op", _op_key)


def level_costs(given: Any) -> Costs:
    """Energies of a byte by level; a number is that of the memory.

    >>> level_costs(150)
    (('memory', Fraction(150, 1)),)
    """
    return _costs(given, MEMORY, "pj_per_byte", str.strip)


def _costs(given: Any, alone: str, what: str, key_of: Callable[[str], str]) -> Costs:
    found = {} if given is None else given if isinstance(given, Mapping) else {alone: given}
    for key in found:
        if not isinstance(key, str) or not key.strip():
            raise MachineError(f"Energies: {what}[{brief(key)}]: a key is text")
    costs = {key_of(key): exact(value, f"Energies: {what}[{brief(key)}]") for key, value in found.items()}
    return tuple(costs.items())


def remarks_on(given: Any, what: str) -> tuple[tuple[str, str], ...]:
    """What is said of figures, by figure.

    >>> remarks_on({"memory": "HBM2"}, "remarks")
    (('memory', 'HBM2'),)
    """
    found = {} if given is None else given
    if not isinstance(found, Mapping) or not all(isinstance(each, str) for pair in found.items() for each in pair):
        raise MachineError(f"Energies: {what} = {brief(given)}: expected a mapping from figures to text")
    return tuple(found.items())


def _op_key(key: str) -> str:
    """The name of an operation's energy in one form: "[unit] format", "format add", a unit, a class, or any."""
    words = key.split()
    if words in ([ANY], *[[each] for each in (*UNITS, *CLASSES)]):
        return words[0]
    rest = [word for word in words if word not in (*UNITS, *PARTS)]
    ends = words[-1] in PARTS, words[0] in UNITS
    try:
        if len(rest) != 1 or len(words) > 2 or (len(words) == 2 and not any(ends)):
            raise FormatError("it is not of that form")
        name = number_format(rest[0]).name
    except FormatError as error:
        raise MachineError(
            f"Energies: pj_per_op[{brief(key)}]: a key is a format such as 'fp32', 'matrix bf16', 'fp32 mul', "
            f"{listed([*UNITS, *CLASSES, ANY])}; {error}"
        ) from None
    return f"{name} {words[-1]}" if ends[0] else f"{words[0]} {name}" if ends[1] else name


def as_written(value: Fraction) -> int | float | str:
    """A figure in a form that ``exact`` reads back.

    >>> as_written(Fraction(13, 4)), as_written(Fraction(1, 3))
    (3.25, '1/3')
    """
    if value.denominator == 1:
        return value.numerator
    return float(value) if Fraction(str(float(value))) == value else str(value)
