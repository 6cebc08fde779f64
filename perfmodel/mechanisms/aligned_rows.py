"""One row of a tensor in memory: its bytes, where the rows after it start, and what that allows."""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import Any, NamedTuple

from perfmodel.mechanisms.given_values import whole
from perfmodel.showing import plain_dict

CLASSES = (2, 4, 8, 16, 32, 64, 128)  # bytes
LOAD_BYTES = 16  # the widest load of a thread
STEP_BYTES = 32  # what one instruction of a tensor core takes of a row along k
LINE_BYTES = 128
ALLOCATED_BYTES = 256  # where a tensor starts: cudaMalloc aligns to 256 bytes or more
_MOST = 2**30


class AlignedRow(NamedTuple):
    """Rows of so many elements of so many bits, one after another; a ``single`` one starts where the tensor does.

    >>> row = AlignedRow("W", "n", 50257, 16, "bf16")
    >>> row.row_bytes, row.alignment_bytes, row.load_bytes, row.next(16)
    (100514, 2, 2, 50264)
    """

    tensor: str
    label: str
    elements: int
    bits: Any
    format: str
    single: bool = False

    @property
    def row_bytes(self) -> Any:
        """Bytes of a row: half ones for an odd number of elements of 4 bits.

        >>> AlignedRow("", "", 25, 16, "bf16").row_bytes, AlignedRow("", "", 25, 4, "int4").row_bytes
        (50, 12.5)
        """
        return _plain(Fraction(self.elements) * Fraction(self.bits) / 8)

    @property
    def power_of_two(self) -> int:
        """The largest power of two that divides the number of elements.

        >>> AlignedRow("", "", 50304, 16, "bf16").power_of_two
        128
        """
        return self.elements & -self.elements

    @property
    def alignment_bytes(self) -> Any:
        """Every row starts at a multiple of so many bytes: the largest power of two that divides a row's bytes.

        A part of a byte where rows start within one.

        >>> AlignedRow("", "", 50304, 16, "bf16").alignment_bytes, AlignedRow("", "", 25, 4, "int4").alignment_bytes
        (256, 0.5)
        """
        if self.single:
            return ALLOCATED_BYTES
        size = Fraction(self.elements) * Fraction(self.bits) / 8
        return _plain(Fraction(size.numerator & -size.numerator, size.denominator))

    @property
    def class_bytes(self) -> Any:
        """The class of a row: 2, 4, 8, 16, 32, 64 or 128 bytes, the largest whose multiples all rows start at.

        1 where not even two bytes are.

        >>> [AlignedRow("", "", n, 16, "bf16").class_bytes for n in (50257, 50264, 50304)]
        [2, 16, 128]
        """
        return max([each for each in CLASSES if self.alignment_bytes >= each], default=1)

    @property
    def load_bytes(self) -> Any:
        """The widest load of a thread that every row allows: 16 bytes, or what its class allows.

        >>> [AlignedRow("", "", n, 16, "bf16").load_bytes for n in (50257, 50260, 50304)]
        [2, 8, 16]
        """
        return min(self.class_bytes, LOAD_BYTES)

    def next(self, alignment_bytes: int) -> int:
        """The least number of elements, this one or more, whose rows start at multiples of so many bytes.

        >>> [AlignedRow("", "", 50257, 16, "bf16").next(each) for each in (16, 128, 256)]
        [50264, 50304, 50304]
        """
        wanted = 8 * whole(alignment_bytes, "alignment_bytes", "next", 1, _MOST)
        bits = Fraction(self.bits)
        step = wanted * bits.denominator // gcd(bits.numerator, wanted * bits.denominator)
        return step * -(-self.elements // step)

    def to_dict(self) -> dict[str, Any]:
        """The row as plain data.

        >>> AlignedRow("W", "n", 50257, 16, "bf16").to_dict()["class_bytes"]
        2
        """
        derived = ("row_bytes", "power_of_two", "alignment_bytes", "class_bytes", "load_bytes")
        return plain_dict(self._asdict() | {name: getattr(self, name) for name in derived})

    def worded(self) -> str:
        """The row in words.

        >>> AlignedRow("W", "n", 50257, 16, "bf16").worded()
        'W: n = 50257 bf16, 100,514 B a row from multiples of 2 B: loads of 2 B; 50264 allows 16 B, 50304 whole lines'
        """
        which = " ".join(part for part in (self.tensor and f"{self.tensor}:", self.label and f"{self.label} =") if part)
        head = f"{which} {self.elements} {self.format}, {self.row_bytes:,} B".lstrip()
        if self.single:
            return f"{head} in one row, which starts where the tensor does: loads of {LOAD_BYTES} B, whole lines"
        remedies = []
        if self.load_bytes < LOAD_BYTES:
            remedies.append(f"{self.next(LOAD_BYTES)} allows {LOAD_BYTES} B")
        if self.class_bytes < LINE_BYTES:
            remedies.append(
                f"{self.next(LINE_BYTES)} whole lines" if remedies else f"{self.next(LINE_BYTES)} allows whole lines"
            )
        lines = ", whole lines" if self.class_bytes == LINE_BYTES else ""
        text = f"{head} a row from multiples of {self.alignment_bytes:g} B: loads of {self.load_bytes} B{lines}"
        return "; ".join([text, ", ".join(remedies)]) if remedies else text


def _plain(value: Fraction) -> Any:
    return int(value) if value.denominator == 1 else float(value)
