"""Alignment classes: at which bytes the rows of tensors start, and what that allows.

pm.alignment(50257)                       a row of so many bf16 numbers: 2 bytes; 50264 is of the 16-byte class
pm.alignment(pm.matmul(8, 50257, 768))    every tensor of a program
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.errors import FormatError, LabelError, brief, did_you_mean, listed
from perfmodel.expressions import is_concrete, product
from perfmodel.graph.describing import title
from perfmodel.graph.nodes import Tensor
from perfmodel.graph.programs import Program
from perfmodel.mechanisms.aligned_rows import CLASSES, LINE_BYTES, LOAD_BYTES, STEP_BYTES, AlignedRow
from perfmodel.mechanisms.answering import Answer
from perfmodel.mechanisms.given_values import concrete, whole
from perfmodel.number_formats import format as number_format


def alignment(subject: Any, dtype: Any = None) -> Alignment:
    """The bytes at whose multiples rows start: of a number of elements, a tensor, or all tensors of a program.

    A row is the innermost axis as it is stored; the rows of a tensor follow one another without a gap. The class is the
    largest of 2, 4, 8, 16, 32, 64 and 128 bytes that divides a row. A thread loads up to 16 bytes at once, from a
    multiple of as many (CUDA Programming Guide, "device memory accesses"), so that a class under 16 takes more loads,
    and keeps tensor cores from their best kernels; from 128 bytes on, a row is whole cache lines, which A100 and later
    ask for (NVIDIA, Matrix Multiplication Background User's Guide, "Requirements to use tensor cores"). ``dtype`` is
    the format of a number of elements (bf16 unless said). ``DimensionError`` for what is no size.

    >>> alignment(50257)
    alignment(50257)
    # 50257 bf16, 100,514 B a row from multiples of 2 B: loads of 2 B; 50264 allows 16 B, 50304 whole lines
    >>> from perfmodel import matmul
    >>> alignment(matmul(8, 50257, 768)).row("B").class_bytes
    2
    """
    if isinstance(subject, Program | Tensor):
        if dtype is not None:
            raise FormatError(
                f"alignment: dtype = {brief(dtype)}: the tensors of {subject.name} have formats; pm.cast(p, ...) "
                "changes them"
            )
        tensors = _stored(subject) if isinstance(subject, Program) else [subject]
        rows = tuple([_row(each) for each in tensors if each.axes])
        made = title(subject) if isinstance(subject, Program) else repr(subject)
        return Alignment(made, rows)
    form = number_format("bf16" if dtype is None else dtype)
    size = whole(subject, "n", "alignment")
    said = "" if dtype is None else f", dtype={form.name!r}"
    return Alignment(f"{size}{said}", (AlignedRow("", "", size, form.bits, form.name),))


def _stored(program: Program) -> list[Tensor]:
    """The tensors of a program that cross memory, each once."""
    names = dict.fromkeys([item.tensor for count in program.counted for item in count.transfers])
    return [program.tensors[name] for name in names if name in program.tensors]


def _row(tensor: Tensor) -> AlignedRow:
    concrete(tensor.extents, f"the alignment of {tensor.name}", "alignment")
    *outer, inner = tensor.axes
    single = is_concrete(inner.extent) and product([axis.extent for axis in outer]) == 1
    return AlignedRow(tensor.name, inner.label, int(inner.extent), tensor.format.bits, tensor.format.name, single)


@dataclass(frozen=True, slots=True, repr=False)
class Alignment(Answer):
    """Rows of tensors, and where they start; figures without a tensor's name are those of the narrowest row.

    >>> alignment(50304).class_bytes, alignment(50304).next_sizes[64]
    (128, 50304)
    """

    subject: str
    rows: tuple[AlignedRow, ...]

    @property
    def narrowest(self) -> AlignedRow:
        """The row of the smallest class.

        >>> from perfmodel import matmul
        >>> alignment(matmul(8, 50257, 768)).narrowest.tensor
        'B'
        """
        if not self.rows:
            raise LabelError(f"alignment: {self.subject} has no tensor with rows")
        return min(self.rows, key=lambda row: row.alignment_bytes)

    def row(self, tensor: str) -> AlignedRow:
        """The row of a tensor.

        >>> from perfmodel import matmul
        >>> alignment(matmul(8, 50257, 768)).row("A").row_bytes == 2 * 768
        True
        """
        names = [row.tensor for row in self.rows]
        for row in self.rows:
            if row.tensor == tensor:
                return row
        raise LabelError(
            f"alignment: no tensor {brief(tensor)} in {self.subject}{did_you_mean(tensor, names)}; it has "
            f"{listed(names)}"
        )

    @property
    def row_bytes(self) -> Any:
        """Bytes of a row.

        >>> alignment(50257).row_bytes == 2 * 50257
        True
        """
        return self.narrowest.row_bytes

    @property
    def alignment_bytes(self) -> Any:
        """Every row starts at a multiple of so many bytes.

        >>> alignment(50257).alignment_bytes, alignment(50304).alignment_bytes
        (2, 256)
        """
        return self.narrowest.alignment_bytes

    @property
    def power_of_two(self) -> int:
        """The largest power of two that divides the number of elements of a row.

        >>> alignment(50257).power_of_two, alignment(50304).power_of_two
        (1, 128)
        """
        return self.narrowest.power_of_two

    @property
    def class_bytes(self) -> Any:
        """The class: 2, 4, 8, 16, 32, 64 or 128 bytes (1 for rows that start at any).

        >>> [alignment(n).class_bytes for n in (50257, 50264, 50304)]
        [2, 16, 128]
        """
        return self.narrowest.class_bytes

    @property
    def load_bytes(self) -> Any:
        """The widest load of a thread that all rows allow.

        >>> alignment(25, "fp32").load_bytes
        4
        """
        return self.narrowest.load_bytes

    @property
    def vector_loads(self) -> bool:
        """Whether all rows allow loads of 16 bytes, and with them the tensor cores' kernels.

        >>> alignment(50257).vector_loads, alignment(50264).vector_loads
        (False, True)
        """
        return bool(self.narrowest.load_bytes == LOAD_BYTES)

    @property
    def whole_steps(self) -> bool:
        """Whether all rows are whole steps of a tensor core along k: 32 bytes, 16 numbers of 16 bits.

        The k of mma.sync is 16 for bf16 and fp16, 32 for 8 bits, 8 for tf32 (NVIDIA, PTX ISA, matrix shapes).

        >>> alignment(50264).whole_steps, alignment(50272).whole_steps
        (False, True)
        """
        return bool(self.narrowest.class_bytes >= STEP_BYTES)

    @property
    def whole_lines(self) -> bool:
        """Whether all rows start at lines of 128 bytes.

        >>> alignment(50264).whole_lines, alignment(50304).whole_lines
        (False, True)
        """
        return bool(self.narrowest.class_bytes == LINE_BYTES)

    @property
    def next_sizes(self) -> dict[int, int]:
        """The next number of elements of each class, by its bytes.

        >>> alignment(50257).next_sizes
        {2: 50257, 4: 50258, 8: 50260, 16: 50264, 32: 50272, 64: 50272, 128: 50304}
        """
        return {each: self.next(each) for each in CLASSES}

    def next(self, alignment_bytes: int) -> int:
        """The least number of elements, this one or more, whose rows start at multiples of so many bytes.

        >>> alignment(50257).next(256)
        50304
        """
        return self.narrowest.next(alignment_bytes)

    @property
    def made(self) -> str:
        """The expression that makes it.

        >>> alignment(25, "fp32").made
        "alignment(25, dtype='fp32')"
        """
        return f"alignment({self.subject})"

    def to_dict(self) -> dict[str, Any]:
        """Every row, and the figures of the narrowest, as plain data.

        >>> alignment(50257).to_dict()["rows"][0]["load_bytes"]
        2
        """
        rows = {"rows": [row.to_dict() for row in self.rows]}
        if not self.rows:
            return {"subject": self.subject} | rows
        return {**Answer.to_dict(self), **rows, "narrowest": self.narrowest.to_dict()}

    def comments(self) -> list[str]:
        """The narrowest row.

        >>> alignment(64).comments()
        ['64 bf16, 128 B a row from multiples of 128 B: loads of 16 B, whole lines']
        """
        return [self.narrowest.worded()] if self.rows else ["no tensor with rows"]

    def working(self) -> list[str]:
        """Every row, and the next sizes of the classes that the narrowest misses.

        >>> for line in alignment(50257).working():
        ...     print(line)
        50257 bf16, 100,514 B a row from multiples of 2 B: loads of 2 B; 50264 allows 16 B, 50304 whole lines
        next     4 B: 50258, 8 B: 50260, 16 B: 50264, 32 B: 50272, 64 B: 50272, 128 B: 50304
        """
        lines = [row.worded() for row in self.rows]
        if not self.rows:
            return ["no tensor with rows"]
        missed = [f"{each} B: {size}" for each, size in self.next_sizes.items() if each > self.class_bytes]
        of = f" of {self.narrowest.tensor}" if len(self.rows) > 1 else ""
        return [*lines, f"next{of}     {', '.join(missed)}"] if missed else lines
