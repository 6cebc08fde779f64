"""Python's operators on tensors, each in terms of one map."""

from __future__ import annotations

from typing import Any

from perfmodel.errors import DimensionError
from perfmodel.shown import Shown

_INFINITE = (float("inf"), float("-inf"))


class Algebra(Shown):
    """Arithmetic operators for a class that says how a map is made.

    >>> class Text(Algebra):
    ...     def _map(self, function, *operands):
    ...         return function
    >>> Text() + 1, 1 / Text(), -Text(), Text() ** 2, Text() ** 0.5
    ('add', 'div', 'neg', 'square', 'pow')
    """

    __slots__ = ()
    __array_ufunc__ = None  # so that numpy leaves ``array * tensor`` to the tensor, which refuses it

    def _map(self, function: str, *operands: Any) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self._map("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._map("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._map("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._map("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._map("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._map("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._map("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._map("div", other, self)

    def __neg__(self) -> Any:
        return self._map("neg", self)

    def __abs__(self) -> Any:
        return self._map("abs", self)

    def __pow__(self, exponent: Any) -> Any:
        squared = isinstance(exponent, int | float) and exponent == 2
        return self._map("square", self) if squared else self._map("pow", self, exponent)

    def __rpow__(self, base: Any) -> Any:
        return self._map("pow", base, self)


def finite_number(value: Any, verb: str) -> int | float:
    """A finite number for a scalar operand.

    >>> finite_number(2, "mul")
    2
    """
    if getattr(value, "shape", None) == () and getattr(getattr(value, "dtype", None), "kind", "") in "iuf":
        value = value.item()  # numpy's scalars and 0-d arrays
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value in _INFINITE:
        raise DimensionError(f"{verb}: expected a tensor or a finite number, got {repr(value)[:80]}")
    return value
