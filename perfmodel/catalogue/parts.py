"""The parts of a machine: numbers that are checked, their sources, peaks, on-chip levels, clocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Any, TypeAlias

import sympy

from perfmodel.errors import FormatError, MachineError, brief
from perfmodel.number_formats import Format, format as number_format
from perfmodel.shown import Shown

Quantity: TypeAlias = "int | float | sympy.Expr"

UNITS = ("matrix", "vector", "special")  # matrix before vector: the order in which a peak is looked for
ANY = "any"  # the unit, or the format, of a peak that serves all of them
SCOPES = ("chip", "unit")  # one for the whole chip, or one in each SM, CU, core
KINDS = ("gpu", "tpu", "npu", "cpu")
_SMALLEST, _LARGEST = 1e-30, 1e30  # beyond these a ratio of two may leave float64
_NOT_NUMBERS = (sympy.nan, sympy.oo, -sympy.oo, sympy.zoo)


@dataclass(frozen=True, slots=True)
class Source(Shown):
    """Where a figure comes from, and when that was printed or looked up.

    >>> print(Source("NVIDIA H100 datasheet", "2023-03"))
    NVIDIA H100 datasheet, 2023-03
    """

    title: str
    date: str = ""

    def __str__(self) -> str:
        return f"{self.title}, {self.date}" if self.date else self.title


GIVEN = Source("given by the user")


@dataclass(frozen=True, slots=True)
class Figure(Shown):
    """One figure of a chip with its source; a doubtful one says why in its note.

    >>> print(Figure(8.19e11, Source("a vendor's page", "2026-11"), doubtful=True, note="printed as 800 elsewhere"))
    a vendor's page, 2026-11; doubtful: printed as 800 elsewhere
    """

    value: Any
    source: Source = GIVEN
    doubtful: bool = False
    note: str = ""

    def __str__(self) -> str:
        doubt = "doubtful" + (": " if self.note else "") if self.doubtful else ""
        remark = doubt + self.note
        return f"{self.source}; {remark}" if remark else str(self.source)


@dataclass(frozen=True, slots=True)
class Peak(Shown):
    """The dense peak of one unit in one number format, in FLOP/s (results a second for "special").

    ``accumulate`` names the formats that sums are kept in at this rate; empty means any. The peak
    with 2:4 sparsity stands apart, in ``sparse_flops_per_s``. ``rate_per_clock`` is FLOP a clock in
    one SM, CU or core, and ``clock`` the clock that it runs on ("matrix" or "vector").

    >>> Peak("matrix", "fp16", 330_300_000_000_000, ("fp16",)).label
    'matrix fp16 into fp16'
    """

    unit: str
    format: str
    flops_per_s: Quantity
    accumulate: tuple[str, ...] = ()
    sparse_flops_per_s: Quantity | None = None
    rate_per_clock: Quantity | None = None
    clock: str = "vector"

    def accumulates_in(self, name: str) -> bool:
        """Whether sums are kept in this format at this rate.

        >>> Peak("matrix", "bf16", 1, ("fp32",)).accumulates_in("fp16")
        False
        """
        return not self.accumulate or name in self.accumulate

    @property
    def label(self) -> str:
        """The peak's name in sources and messages; an accumulator other than the usual one is said.

        >>> Peak("matrix", "fp16", 1, ("fp32",)).label, Peak("any", "any", 1).label
        ('matrix fp16', 'peak')
        """
        return _peak_label(self.unit, self.format, self.accumulate)


@dataclass(frozen=True, slots=True)
class Level(Shown):
    """A level of on-chip memory: its capacity (of the chip, or of each unit) and bandwidth, where known.

    >>> Level("shared", 233_472, "unit").capacity_bytes == 228 * 1024
    True
    """

    name: str
    capacity_bytes: Quantity | None = None
    scope: str = "chip"
    bandwidth_bytes_per_s: Quantity | None = None


@dataclass(frozen=True, slots=True)
class Clocks(Shown):
    """The clocks of the published peaks, in hertz; a chip may run its matrix unit slower than the rest.

    >>> Clocks(vector_hz=1_980_000_000, matrix_hz=1_829_520_100).of("matrix")
    1829520100
    """

    vector_hz: Quantity | None = None
    matrix_hz: Quantity | None = None
    base_hz: Quantity | None = None

    def of(self, clock: str) -> Quantity | None:
        """The clock of this name; where only one is given, it is both.

        >>> Clocks(vector_hz=1_410_000_000).of("matrix")
        1410000000
        """
        first, second = (self.matrix_hz, self.vector_hz) if clock == "matrix" else (self.vector_hz, self.matrix_hz)
        return first if first is not None else second


@lru_cache(maxsize=4096)
def _peak_label(unit: str, name: str, accumulate: tuple[str, ...]) -> str:
    words = [word for word in (unit, name) if word != ANY]
    known = format_or_none(name)
    usual = known is None or not accumulate or known.accumulator in accumulate
    return " ".join(words or ["peak"]) + ("" if usual else f" into {', '.join(accumulate)}")


def format_or_none(name: str) -> Format | None:
    """The format of this name, or None for a format of the user's own, or for "any".

    >>> format_or_none("fp8").name, format_or_none("any")
    ('fp8_e4m3', None)
    """
    try:
        return number_format(name)
    except FormatError:
        return None


def quantity(value: Any, field: str, verb: str = "Machine") -> Quantity:
    """A number that is positive and finite (a whole one as an int), or a formula that can be.

    Text, booleans, NaN and infinities are a ``MachineError``.

    >>> quantity(3.35e12, "bandwidth_bytes_per_s"), quantity(sympy.Symbol("clk", positive=True), "clock_hz")
    (3350000000000, clk)
    """
    if isinstance(value, sympy.Expr):
        if not _may_be_positive(value):
            raise _refused(value, field, verb)
        if value.free_symbols:
            return value
        value = int(value) if value.is_Integer else float(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _refused(value, field, verb)
    number: Any = value  # a numbers.Real has no typed comparisons
    if not _SMALLEST <= number <= _LARGEST:
        raise _refused(value, field, verb)
    return int(number) if number == math.floor(number) else float(number)


def ratio(value: Quantity, new: Quantity, old: Quantity) -> Quantity:
    """``value * new / old``, without rounding where all are whole and so is the result.

    >>> ratio(312_000_000_000_000, 54, 108)
    156000000000000
    """
    if isinstance(value, int) and isinstance(new, int) and isinstance(old, int):
        exact = Fraction(value * new, old)
        return exact.numerator if exact.denominator == 1 else float(exact)
    return value * new / old


def _may_be_positive(value: sympy.Expr) -> bool:
    provably_not = (value.is_positive is False, value.is_real is False, value.is_finite is False)
    undecided_number = not value.free_symbols and value.is_positive is not True
    return not (any(provably_not) or undecided_number or value.has(*_NOT_NUMBERS))


def _refused(value: Any, field: str, verb: str) -> MachineError:
    text = "; text is not read as a number" if isinstance(value, str) else ""
    return MachineError(
        f"{verb}: {field} = {brief(value)}: expected a positive, finite number up to 1e30 or a formula in symbols "
        f"(pm.reals){text}"
    )
