"""The sizes of ``estimate_many``: numbers or arrays by symbol, of one length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.errors import DimensionError, LabelError, did_you_mean, listed
from perfmodel.graph.programs import Program


def arrays_of(program: Program, sizes: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """How many sizes there are, and an array of them for each symbol.

    >>> from perfmodel import matmul
    >>> arrays_of(matmul("m", 8, 8), {"m": [1, 64]})
    (2, {'m': array([ 1, 64])})
    """
    import numpy

    known = [symbol.name for symbol in program.symbols]
    for name in sizes:
        if str(name) not in known:
            near = did_you_mean(str(name), known)
            raise LabelError(f"estimate_many: {program.name} has no symbol {name!r}{near}; it has {listed(known)}")
    missing = [name for name in known if name not in {str(each) for each in sizes}]
    if missing:
        raise LabelError(f"estimate_many: no sizes for {listed(missing)} of {program.name}")
    arrays = {str(name): numpy.asarray(value) for name, value in sizes.items()}
    lengths = {array.size for array in arrays.values() if array.ndim}
    if len(lengths) > 1 or any(array.ndim > 1 for array in arrays.values()):
        raise DimensionError(f"estimate_many: sizes of one length each are expected; got {listed(sorted(lengths))}")
    count = lengths.pop() if lengths else 1
    return count, {name: numpy.broadcast_to(array, (count,)) for name, array in arrays.items()}
