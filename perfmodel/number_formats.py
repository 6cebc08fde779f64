"""Number formats: what an element costs to store, scales included, and what it can hold.

    format("mxfp4")                                          one of formats(), by name
    Format(bits="4.85")                                      one of your own
    Format(bits=4, block=128, scale_bits=16, zero_bits=4)    with a scale and a zero point a group

Largest and smallest values follow from the encodings in ``format_table``, where the sources stand.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

import perfmodel.format_fields as read
import perfmodel.format_table as table
from perfmodel.errors import FormatError, brief, did_you_mean, listed
from perfmodel.expressions import Size, ceil_div, product, scaled, total
from perfmodel.format_table import ALIASES, FLOATS, INTEGERS, SCALED
from perfmodel.shown import Shown

Rank: TypeAlias = "tuple[bool, bool, int | Fraction, int, bool, int | Fraction]"  # see Format.rank


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Format(Shown):
    """A number format: the bits of an element, its encoding, and what a block of elements shares.

    ``bits`` is what an element takes in memory without scales: an int, a Fraction, text, or a float
    as it is written (4.85 is 97/20). ``block`` elements along the innermost axis share ``scale_bits``
    and ``zero_bits``. With ``exponent_bits`` and ``mantissa_bits`` a float has an encoding, "ieee"
    unless said; without them it only stores. A machine lists its peak under ``family``. ``FormatError``.

    >>> Format(bits=4, block=64, scale_bits=16)
    pm.Format(bits=4, block=64, scale_bits=16)  # 4 bits + 16-bit scale a 64 = 4.25 bits
    >>> Format(bits=8, exponent_bits=3, mantissa_bits=4).max_finite
    15.5
    """

    name: str
    bits: int | Fraction
    kind: str
    exponent_bits: int | None
    mantissa_bits: int | None
    bias: int | None
    encoding: str | None
    block: int | None
    scale_bits: int
    zero_bits: int
    family: str
    _cost: tuple[int, int, int] = field(init=False, compare=False)  # see row_cost
    _width: int = field(init=False, compare=False)  # bytes of an element if whole and without block, else 0

    def __init__(
        self,
        name: str = "",
        *,
        bits: int | Fraction | str | float,
        kind: str = "float",
        exponent_bits: int | None = None,
        mantissa_bits: int | None = None,
        bias: int | None = None,
        encoding: str | None = None,
        block: int | None = None,
        scale_bits: int = 0,
        zero_bits: int = 0,
        family: str = "",
    ) -> None:
        exact = read.exact_bits(bits)
        shared = read.checked_block(block, scale_bits, zero_bits)
        encoded = read.checked_encoding(exact, kind, exponent_bits, mantissa_bits, bias, encoding, shared[2])
        name = read.checked_name("name", name or read.default_name(exact, shared[0]))
        family = read.checked_name("family", family or name)
        cost = read.row_cost(exact, shared[1] + shared[2])
        values = (name, exact, kind, *encoded, *shared, family, cost, cost[0] * (cost[1:] == (0, 1)))
        for slot, value in zip(Format.__slots__, values, strict=True):
            object.__setattr__(self, slot, value)

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        fields = {slot: getattr(self, slot) for slot in Format.__slots__ if slot[0] != "_"}
        own = _FORMATS.get(self.name) != self
        made = f"pm.Format({read.arguments(fields)})" if own else f"pm.format({self.name!r})"
        text = read.storage_text(self.bits, self.block, self.scale_bits, self.zero_bits)
        return f"{made}  # {text}{read.limits_text(self.exponent_bits, self.mantissa_bits, self.max_finite)}"

    @property
    def effective_bits(self) -> int | Fraction:
        """Bits of an element of full blocks, with its share of scale and zero point.

        >>> format("nvfp4").effective_bits  # 4 + 8/16
        Fraction(9, 2)
        """
        return read.whole_if_possible(self.bits + Fraction(self.scale_bits + self.zero_bits, self.block or 1))

    @property
    def bytes_per_element(self) -> int | Fraction:
        """Bytes of an element of full blocks: ``effective_bits`` over 8, exact.

        >>> format("bf16").bytes_per_element, format("int4").bytes_per_element
        (2, Fraction(1, 2))
        """
        return read.whole_if_possible(Fraction(self.effective_bits) / 8)

    @property
    def max_finite(self) -> float | int | None:
        """The largest number an element holds, before any scale; None without an encoding.

        A block's scale multiplies it: 2^-127 to 2^127 for MX (``e8m0``), up to 448 for NVFP4 (``fp8_e4m3``). An int
        for integers: MXINT8's fixed 2^-6 counts as scale. 1 for int1, whose bit is read as -1, +1 or as 0, 1.

        >>> format("fp8_e4m3").max_finite, format("int8").max_finite, format("nvfp4").max_finite
        (448.0, 127, 6.0)
        """
        if (how := self.encoding) is None or self.exponent_bits is None or self.mantissa_bits is None:
            return None if how is None else table.largest_integer(int(self.bits), how)
        code = table.largest_code(self.exponent_bits, self.mantissa_bits, how)
        return table.magnitude(code, self.mantissa_bits, self.bias or 0)

    @property
    def min_normal(self) -> float | None:
        """The smallest positive float of full precision, before any scale; None for integers, without an encoding.

        >>> format("fp16").min_normal == 2**-14, format("mxfp4").min_normal, format("e8m0").min_normal == 2**-127
        (True, 1.0, True)
        """
        return None if (m := self.mantissa_bits) is None else table.least_normal(m, self.bias or 0, self.encoding)

    @property
    def min_subnormal(self) -> float | None:
        """The smallest positive float of all, before any scale; None where there are no subnormal numbers.

        >>> format("fp4_e2m1").min_subnormal
        0.5
        """
        return table.magnitude(1, self.mantissa_bits, self.bias or 0) if self.mantissa_bits else None

    @property
    def epsilon(self) -> float | None:
        """The step from 1 to the next float, 2^-mantissa_bits; None for integers.

        >>> format("fp16").epsilon == 2**-10
        True
        """
        return None if self.mantissa_bits is None else math.ldexp(1.0, -self.mantissa_bits)

    @property
    def has_infinity(self) -> bool:
        """Whether a pattern stands for infinity: only where the highest exponent is set apart.

        >>> format("fp8_e5m2").has_infinity, format("fp8_e4m3").has_infinity
        (True, False)
        """
        return self.encoding == "ieee"

    @property
    def accumulator(self) -> str:
        """The format that sums are kept in: fp32, or int32 for integers; 64 bits for what is wider.

        >>> format("bf16").accumulator, format("fp64").accumulator, format("int8").accumulator
        ('fp32', 'fp64', 'int32')
        """
        if self.kind == "int":
            return "int64" if self.bits > 32 else "int32"
        return "fp64" if self.encoding and self.rank > _FORMATS["fp32"].rank else "fp32"

    @property
    def rank(self) -> Rank:
        """What ``widest`` compares, one after the other: whether there is an encoding, whether it is a
        float, exponent and mantissa bits together, mantissa bits, whether there is no block, stored bits.

        >>> format("tf32").rank > format("bf16").rank > format("int32").rank
        True
        """
        mantissa = self.mantissa_bits or 0
        precision = self.bits if self.exponent_bits is None else self.exponent_bits + mantissa
        return self.encoding is not None, self.kind == "float", precision, mantissa, self.block is None, self.bits

    def wider_than(self, other: Format | str) -> bool:
        """Whether this format outranks the other.

        >>> format("fp8_e4m3").wider_than("mxfp8")
        True
        """
        return self.rank > format(other).rank

    def bits_of(self, extents: Collection[Size]) -> Size:
        """Bits of a row-major tensor, exact (a Rational where ``bits`` is not whole); no extents is one scalar.

        Blocks run along the innermost axis, a row at a time, and a ragged last block has its own scale:
        rows * (inner * bits + ceil(inner / block) * (scale_bits + zero_bits)).

        >>> format("mxfp4").bits_of((2, 33))  # 2 rows of 33 * 4 bits and 2 scales * 8 bits
        296
        """
        return scaled(self._parts(read.checked_extents(extents)), Fraction(8, self._cost[2]))

    def bytes_of(self, extents: Collection[Size]) -> Size:
        """Bytes of a stored row-major tensor: ``bits_of`` over 8, rounded up once, for the whole tensor.

        NVFP4 has one more scale of 4 bytes a tensor, for all its blocks; it is left out.

        >>> format("bf16").bytes_of((128, 256)), format("int4").bytes_of((3, 3)), format("nvfp4").bytes_of((16,))
        (65536, 5, 9)
        """
        count = self._width
        if count and isinstance(extents, tuple):  # the common case: whole bytes, ints
            for extent in extents:
                if type(extent) is not int or extent <= 0:
                    break
                count *= extent
            else:
                return count
        return ceil_div(self._parts(read.checked_extents(extents)), self._cost[2])

    def bytes_of_elements(self, elements: Size) -> Size:
        """Bytes of so many elements stored in one run (0 for none), rounded up to whole bytes.

        >>> format("int4").bytes_of_elements(5), format("fp32").bytes_of_elements(5)
        (3, 20)
        """
        if type(elements) is int and elements >= 0 and self._width:
            return elements * self._width
        return ceil_div(self._parts((read.checked_count(elements),)), self._cost[2])

    def _parts(self, extents: tuple[Size, ...]) -> Size:
        """The storage in the parts of a byte that ``_cost`` counts in."""
        *rows, inner = extents or (1,)
        row = product((self._cost[0], inner))
        if self.block:
            row = total((row, product((self._cost[1], ceil_div(inner, self.block)))))
        return product((*rows, row))


def format(name: str | Format) -> Format:
    """The format of this name, in either case; a ``Format`` is returned as it is.

    The width alone (``fp8``, ``fp6``, ``fp4``) stands for ``fp8_e4m3``, ``fp6_e2m3``, ``fp4_e2m1``, as
    storage does not differ within a width. Names of other libraries work: ``bfloat16``, ``half``.

    >>> format("mxfp4")
    pm.format('mxfp4')  # 4 bits + 8-bit scale a 32 = 4.25 bits; E2M1, max 6
    >>> format("b16")
    Traceback (most recent call last):
    perfmodel.errors.FormatError: format: no format 'b16' (did you mean 'bf16'?)
    """
    if isinstance(name, Format):
        return name
    if not isinstance(name, str):
        raise FormatError(f"format: expected a name such as 'bf16' or a pm.Format, got {brief(name)}")
    if found := _FORMATS.get(name) or _FORMATS.get(name.strip().lower()):
        return found
    near = did_you_mean(name.strip()[:60], _FORMATS) or f"; there are {listed(formats(), 40)}"
    raise FormatError(f"format: no format {name[:60]!r}{near}")


def formats() -> tuple[Format, ...]:
    """Every format that has a name here: floats, integers, block-scaled ones.

    >>> [f.name for f in formats()][:3]
    ['fp64', 'fp32', 'tf32']
    """
    return tuple(known for name, known in _FORMATS.items() if name == known.name)


def widest(formats: Iterable[Format | str]) -> Format:
    """The format that an operation on these computes in: the highest ``rank``, by name where equal.

    >>> widest(["fp8_e4m3", "bf16", "int32"]).name, widest(["int8", Format(bits="4.85")]).name
    ('bf16', 'int8')
    """
    given = [format(one) for one in formats]
    if not given:
        raise FormatError("widest: no formats given; expected at least one")
    return max(given, key=lambda one: (one.rank, one.name))


def _tabled() -> dict[str, Format]:
    found: dict[str, Format] = {}  # by name, then by their other names
    for name, (bits, e, m, bias, how, family) in FLOATS.items():
        found[name] = Format(name, bits=bits, exponent_bits=e, mantissa_bits=m, bias=bias, encoding=how, family=family)
    for name, (bits, how, family) in INTEGERS.items():
        found[name] = Format(name, bits=bits, kind="int", encoding=how, family=family)
    for name, (element, block, scale_bits) in SCALED.items():
        found[name] = replace(found[element], name=name, block=block, scale_bits=scale_bits)
    return found | {alias: found[name] for alias, name in ALIASES.items()}


_FORMATS = MappingProxyType(_tabled())
