"""The columns of a table, named with their units, for quantities that programs name without."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_COLUMNS = {"intensity": "intensity_flops_per_byte"}
_QUANTITIES = {column: name for name, column in _COLUMNS.items()}


def column_of(quantity: str) -> str:
    """The column that holds a quantity.

    >>> column_of("intensity"), column_of("flops")
    ('intensity_flops_per_byte', 'flops')
    """
    return _COLUMNS.get(quantity, quantity)


def quantities_of(given: Any) -> Any:
    """The quantities that are asked for, which may be named by their columns too; what is neither stays as it is.

    >>> quantities_of(["flops", "intensity_flops_per_byte"]), quantities_of("intensity"), quantities_of(None)
    (['flops', 'intensity'], 'intensity', None)
    """
    if isinstance(given, str):
        return _QUANTITIES.get(given, given)
    if not isinstance(given, Iterable):
        return given
    return [_QUANTITIES.get(each, each) if isinstance(each, str) else each for each in given]
