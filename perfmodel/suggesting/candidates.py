"""The candidates of a search: every combination of sizes near those wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor, prod
from typing import Any

from perfmodel.errors import DimensionError, ExpressionError, LabelError, brief, did_you_mean, listed

MOST = 10**7  # combinations
WITHIN = 0.05  # of a wanted size, unless said


@dataclass(frozen=True, eq=False)
class Grid:
    """The sizes wanted and, for each name, those to try; ``free`` names have no wanted size, only ones to try.

    >>> grid = grid_of({"n": 100, "h": [4, 8, 16]}, 0.02)
    >>> grid.wanted, grid.axes["n"].tolist(), grid.free
    ({'n': 100, 'h': 8}, [98, 99, 100, 101, 102], frozenset({'h'}))
    """

    wanted: dict[str, int]
    axes: dict[str, Any]
    free: frozenset[str]

    def __len__(self) -> int:
        return prod([len(axis) for axis in self.axes.values()])

    def columns(self) -> dict[str, Any]:
        """An array of the sizes of each name, with an entry for each combination.

        >>> grid_of({"n": [1, 2], "m": [3, 4]}, 0.1).columns()["m"]
        array([3, 4, 3, 4])
        """
        import numpy

        found = numpy.meshgrid(*self.axes.values(), indexing="ij")
        return {name: each.reshape(-1) for name, each in zip(self.axes, found, strict=True)}


def grid_of(wanted: Mapping[str, Any], within: Any) -> Grid:
    """The candidates: a wanted size gives those within a share of it, several sizes themselves.

    ``DimensionError`` for what is no size, ``ExpressionError`` for a share that is none.

    >>> len(grid_of({"n": 50257}, 0.05))
    5025
    """
    if isinstance(within, Mapping):
        _check_names(within, wanted)
    if not wanted:
        raise DimensionError("suggest: no size is wanted: name some, such as suggest(p, 'h100-sxm', n=50257)")
    chosen, axes, free = {}, {}, []
    for name, value in wanted.items():
        if _is_list(value):
            axes[name] = _several(name, value)
            chosen[name] = int(axes[name][len(axes[name]) // 2])
            free.append(name)
        else:
            chosen[name] = _size(name, value)
            share = _share(within.get(name, WITHIN) if isinstance(within, Mapping) else within)
            axes[name] = _around(name, chosen[name], share)
    found = Grid(chosen, axes, frozenset(free))
    if len(found) > MOST:
        counts = " x ".join([f"{len(axis)} of {name}" for name, axis in axes.items()])
        raise DimensionError(f"suggest: {counts} are more than {MOST} combinations; narrow within=, or list sizes")
    return found


def _check_names(within: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """A share belongs to a size that is wanted; a list of sizes has none."""
    for name in within:
        if name not in wanted:
            near = did_you_mean(str(name), wanted)
            raise LabelError(f"suggest: within has {name!r}, which is not wanted{near}; wanted are {listed(wanted)}")
        if _is_list(wanted[name]):
            raise LabelError(f"suggest: within has {name!r}, which lists its sizes")


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


def _size(name: str, value: Any) -> int:
    plain = value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value
    plain = int(plain) if type(plain) is float and plain.is_integer() else plain
    if type(plain) is not int or not 0 < plain <= 2**40:
        raise DimensionError(f"suggest: {name} = {brief(value)}: a size is a positive whole number up to 2^40")
    return plain


def _several(name: str, values: Iterable[Any]) -> Any:
    import numpy

    if isinstance(values, range) and len(values) > MOST:
        raise DimensionError(f"suggest: {name} = {values!r}: at most {MOST} sizes")
    found = sorted({_size(name, each) for each in values})
    if not found:
        raise DimensionError(f"suggest: {name} has no sizes to try")
    return numpy.array(found, dtype="int64")


def _share(within: Any) -> float:
    if isinstance(within, bool) or not isinstance(within, (int, float)) or not 0 <= within < 1:
        raise ExpressionError(f"suggest: within={within!r}: expected a share of the wanted size, such as 0.05")
    return float(within)


def _around(name: str, wanted: int, share: float) -> Any:
    import numpy

    least, most = max(1, ceil(wanted * (1 - share))), floor(wanted * (1 + share))
    if most - least >= MOST:
        raise DimensionError(f"suggest: {name} = {wanted} within {share:g}: more than {MOST} sizes; narrow within=")
    return numpy.arange(min(least, wanted), max(most, wanted) + 1, dtype="int64")
