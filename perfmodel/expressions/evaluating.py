"""Steps evaluated on arrays: inputs checked and blocks of points computed while they are in the cache."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from perfmodel.errors import DimensionError
from perfmodel.expressions.arithmetic import LARGEST_SIZE
from perfmodel.expressions.bounding import Interval, Number, Plan, exact_values, planned
from perfmodel.expressions.generating import Kernel, kernel_of
from perfmodel.expressions.steps import Tape
from perfmodel.expressions.symbols import positive_real, size

# Points computed at a time: 96 KiB a buffer, so that a dozen buffers stay in a core's second-level cache. Measured
# with benchmarks/formulas.py: 12288 and 16384 are as fast, 8192 and 4096 take a tenth and a fifth longer.
BLOCK = 12_288
_NOWHERE = (math.inf, -math.inf)  # the bounds of what has not been seen


@dataclass(frozen=True, slots=True)
class Input:
    """One input as an array: its values, and what they may be.

    >>> checked_input("m", [1, 2, 3], True).whole
    True
    """

    name: str
    values: Any
    whole: bool  # a positive integer, rather than any positive number
    may_be_broken: bool  # a dimension held in floats, so there may be fractions among them
    largest: float


def checked_number(name: str, value: Any, whole: bool) -> int | float:
    """One number for a symbol: an int for a dimension, a float for a quantity.

    >>> checked_number("m", 4096.0, True), checked_number("clk", 1.5e9, False)
    (4096, 1500000000.0)
    """
    if not whole:
        return positive_real(value, name)
    checked = size(value, name)
    if isinstance(checked, int):
        return checked
    raise DimensionError(f"{name} = {checked}: a number was expected, not a formula; bind it first")


def is_array(value: Any) -> bool:
    """Whether a value stands for several numbers: an array, a list, a series.

    >>> is_array([4]), is_array(4), is_array("4")
    (True, False, False)
    """
    if isinstance(value, (str, bytes)) or getattr(value, "shape", None) == ():
        return False
    return hasattr(value, "__array__") or isinstance(value, (Sequence, memoryview))


def checked_input(name: str, value: Any, whole: bool) -> Input:
    """An array for a symbol; what it holds is checked block by block, later.

    >>> checked_input("m", [True], True)
    Traceback (most recent call last):
    perfmodel.errors.DimensionError: m = True: a dimension is a positive integer, not a truth value
    """
    import numpy

    if isinstance(value, numpy.ma.MaskedArray) and numpy.ma.is_masked(value):
        raise DimensionError(f"{name}: some values are masked; drop them first")
    try:
        array = numpy.asarray(value, dtype=None if hasattr(value, "__array__") else object)
    except (TypeError, ValueError) as error:
        raise DimensionError(f"{name}: not an array of numbers ({error})") from None
    if array.dtype.kind == "O":
        numbers = [checked_number(name, item, whole) for item in array.ravel().tolist()]
        array = numpy.array(numbers, dtype="int64" if whole else "float64").reshape(array.shape)
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        kind = "truth values" if array.dtype.kind == "b" else f"{array.dtype}"
        raise DimensionError(f"{name}: an array of {kind}; {_rule(whole)}")
    is_float = array.dtype.kind == "f"
    held = 2.0 ** (numpy.finfo(array.dtype).nmant + 1) if is_float else LARGEST_SIZE
    return Input(name, array, whole, whole and is_float, min(float(LARGEST_SIZE), held) if whole else math.inf)


def _rule(whole: bool) -> str:
    return "a dimension is a positive integer" if whole else "a positive, finite number was expected"


def evaluated(tape: Tape, numbers: Mapping[str, Any], inputs: Sequence[Input], floats: bool = False) -> list[Any]:
    """The results on arrays that broadcast together: int64 for counts (or ``floats`` too), float64 for other values.

    >>> from perfmodel.expressions.lowering import lowered
    >>> from perfmodel.expressions.symbols import dims
    >>> evaluated(lowered([2 * dims("m")]), {}, [checked_input("m", [1, 2, 3], True)])
    [array([2, 4, 6])]
    """
    import numpy

    shape = _joint_shape(inputs)
    dtypes = ["int64" if tape.steps[out].kind == "count" and not floats else "float64" for out in tape.outputs]
    results = [numpy.empty(shape, dtype) for dtype in dtypes]
    flat = [result.reshape(-1) for result in results]
    block = _Blocks(tape, numbers, inputs, min(BLOCK, max(1, math.prod(shape))), floats)
    into = [_results_of(one, tape) if floats else [] for one in inputs]
    start = 0
    with numpy.errstate(all="ignore"):
        for given in _pieces(inputs):
            stop = start + len(given[0])
            parts = [result[start:stop] for result in flat]
            pieces = [
                _floats(piece, [parts[place] for place in places]) for piece, places in zip(given, into, strict=True)
            ]
            block.compute(pieces, parts)
            start = stop
    return results


def _results_of(one: Input, tape: Tape) -> list[int]:
    """The places of the results that are an input itself."""
    steps = [tape.steps[out] for out in tape.outputs]
    return [place for place, step in enumerate(steps) if step.op == "symbol" and step.value == one.name]


def _floats(piece: Any, results: Sequence[Any]) -> Any:
    """Some values as float64 (checked to be exact after); in the results that they are, where there are some."""
    for result in results:
        result[...] = piece
    return results[0] if results else piece.astype("float64", copy=False)


def _joint_shape(inputs: Sequence[Input]) -> tuple[int, ...]:
    import numpy

    try:
        return numpy.broadcast_shapes(*(one.values.shape for one in inputs))
    except ValueError:
        shapes = ", ".join(f"{one.name} {one.values.shape}" for one in inputs)
        raise DimensionError(f"the shapes of the inputs do not broadcast together: {shapes}") from None


def _pieces(inputs: Sequence[Input]) -> Any:
    """The inputs block by block, broadcast, in one order."""
    import numpy

    count = len(inputs)
    if all(one.values.ndim == 1 and one.values.shape == inputs[0].values.shape for one in inputs):
        for start in range(0, len(inputs[0].values), BLOCK):
            yield [one.values[start : start + BLOCK] for one in inputs]
        return
    iterator = numpy.nditer(
        [one.values for one in inputs],
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=[["readonly"]] * count,
        op_dtypes=["float64"] * count,
        casting="same_kind",
        order="C",
        buffersize=BLOCK,
    )
    for pieces in iterator:
        yield pieces if count > 1 else (pieces,)


class _Blocks:
    """Computes block after block; the plan is made anew when the inputs leave the bounds seen so far."""

    def __init__(
        self, tape: Tape, numbers: Mapping[str, Any], inputs: Sequence[Input], points: int, floats: bool
    ) -> None:
        import numpy

        self.lowest, self.highest = numpy.minimum.reduce, numpy.maximum.reduce
        self.tape, self.inputs, self.points, self.floats = tape, inputs, points, floats
        self.varying = tuple(one.name for one in inputs)
        self.values = exact_values(tape, numbers)
        self.bounds: dict[str, Interval] = {name: (value, value) for name, value in numbers.items()}
        self.plan = Plan()
        self.kernel: Kernel | None = None
        self.buffers: list[Any] = []
        self.scalars: list[Any] = []

    def compute(self, pieces: Sequence[Any], results: list[Any]) -> None:
        kernel = self._prepared(pieces)
        points = len(pieces[0])
        buffers = self.buffers if points == self.points else [buffer[:points] for buffer in self.buffers]
        if self.plan.whole:
            pairs = zip(self.inputs, pieces, strict=True)
            pieces = [piece.astype("int64") if one.whole else piece for one, piece in pairs]
        kernel.function(pieces, self.scalars, buffers, results)

    def _prepared(self, pieces: Sequence[Any]) -> Kernel:
        import numpy

        if not self._widen(pieces) and self.kernel is not None:
            return self.kernel
        self.plan = self._planned()
        kernel = kernel_of(self.tape, self.varying, self.plan, self.floats)
        if kernel is not self.kernel:
            self.kernel = kernel
            self.buffers = [numpy.empty(self.points, dtype) for dtype in kernel.buffers]
            self.scalars = [self._scalar(index) for index in kernel.scalars]
        return kernel

    def _planned(self) -> Plan:
        """A plan for a little more than was seen, so that rising inputs do not need one a block."""
        wide = self.bounds | {one.name: _widened(one, *self.bounds[one.name]) for one in self.inputs}
        try:
            plan = _plan(self.tape, tuple(wide.items()))
        except DimensionError:
            return _plan(self.tape, tuple(self.bounds.items()))
        if plan.whole and not (narrow := _plan(self.tape, tuple(self.bounds.items()))).whole:
            return narrow
        self.bounds = wide
        return plan

    def _scalar(self, index: int) -> Any:
        """A value that does not vary, in the kind that the code computes with."""
        value, kind = self.values[index], self.tape.steps[index].kind
        return value if kind == "truth" or (kind == "count" and self.plan.whole) else float(value)

    def _widen(self, pieces: Sequence[Any]) -> bool:
        """Checks a block, and whether it reaches further than the blocks before it."""
        widened = False
        for one, piece in zip(self.inputs, pieces, strict=True):
            low, high = self.lowest(piece), self.highest(piece)
            known = self.bounds.get(one.name, _NOWHERE)
            if not (known[0] <= low and high <= known[1]):  # so also where there is a NaN
                low, high = _checked_ends(one, piece, float(low), float(high))
                self.bounds[one.name] = min(known[0], low), max(known[1], high)
                widened = True
            if one.may_be_broken:
                _check_whole(one, piece)
        return widened


@lru_cache(maxsize=1024)
def _plan(tape: Tape, bounds: tuple[tuple[str, Interval], ...]) -> Plan:
    return planned(tape, dict(bounds))


def _widened(one: Input, low: Number, high: Number) -> Interval:
    """Bounds rounded outwards: to 1 and a power of two for whole numbers, to powers of four for others."""
    if one.whole:
        return 1, min(1 << int(high).bit_length(), int(one.largest))
    return max(low / 4, sys.float_info.min), min(high * 4, sys.float_info.max)


def _checked_ends(one: Input, piece: Any, low: float, high: float) -> Interval:
    """The least and the greatest value of a block, or an error that shows a bad one."""
    if one.whole:
        if low >= 1 and high <= one.largest:
            return int(low), int(high)
        raise _bad(one, piece[~((piece >= 1) & (piece <= one.largest))][0])
    if low > 0 and high < math.inf:
        return low, high
    raise _bad(one, piece[~((piece > 0) & (piece < math.inf))][0])


def _check_whole(one: Input, piece: Any) -> None:
    import numpy

    broken = numpy.floor(piece) != piece
    if broken.any():
        raise _bad(one, piece[broken][0])


def _bad(one: Input, value: Any) -> DimensionError:
    shown = int(value) if one.whole and float(value).is_integer() else float(value)
    if one.whole and value > one.largest:
        limit = int(math.log2(one.largest))
        return DimensionError(
            f"{one.name} = {shown} in {one.values.dtype}: whole numbers are exact up to 2^{limit} there, "
            "and a dimension is at most 2^52"
        )
    return DimensionError(f"{one.name} = {shown}: {_rule(one.whole)}")
