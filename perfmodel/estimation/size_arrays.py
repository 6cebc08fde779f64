"""The sizes of ``estimate_many``: numbers or arrays by symbol, of one length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.errors import DimensionError, LabelError, brief, did_you_mean, listed
from perfmodel.expressions import by_name
from perfmodel.graph.programs import Program


def arrays_of(program: Program, sizes: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """How many sizes there are, and an array of them for each symbol.

    >>> from perfmodel import matmul
    >>> arrays_of(matmul("m", 8, 8), {"m": [1, 64]})
    (2, {'m': array([ 1, 64])})
    """
    import numpy

    sizes, known = by_name(sizes), [symbol.name for symbol in program.symbols]
    if not isinstance(sizes, Mapping):
        raise DimensionError(
            f"estimate_many: sizes = {brief(sizes)}: expected numbers or arrays by symbol: {{'m': [1, 64]}}"
        )
    for name in sizes:
        if str(name) not in known:
            near = did_you_mean(name, known)
            raise LabelError(f"estimate_many: {program.name} has no symbol {brief(name)}{near}; it has {listed(known)}")
    missing = [name for name in known if name not in {str(each) for each in sizes}]
    if missing:
        raise LabelError(f"estimate_many: no sizes for {listed(missing)} of {program.name}")
    arrays = {str(name): _numbers(str(name), value) for name, value in sizes.items()}
    lengths = {array.size for array in arrays.values() if array.ndim}
    if len(lengths) > 1 or any(array.ndim > 1 for array in arrays.values()):
        raise DimensionError(f"estimate_many: sizes of one length each are expected; got {listed(sorted(lengths))}")
    count = lengths.pop() if lengths else 1
    return count, {name: numpy.broadcast_to(array, (count,)) for name, array in arrays.items()}


def _numbers(name: str, value: Any) -> Any:
    """Sizes as an array of numbers, whose values the formulas check."""
    import numpy

    try:
        found = numpy.asarray(bytes(value) if isinstance(value, bytearray | memoryview) else value)
        return found.astype("float64") if found.dtype.kind == "O" else _plain(found)
    except Exception:  # numpy's own, or whatever an object of the user's raises
        raise DimensionError(
            f"estimate_many: {name} = {brief(value)}: a dimension is a positive integer, or an array of them"
        ) from None


def _plain(found: Any) -> Any:
    """Numbers as they are; text is refused."""
    if found.dtype.kind not in "biufc":
        raise TypeError
    return found
