"""A measured row as a case: the program in symbols, its sizes, the chip, and how the time was taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perfmodel.catalogue import Machine, machine
from perfmodel.effects.protocols import Protocol
from perfmodel.errors import MachineError, did_you_mean
from perfmodel.graph.programs import Program
from perfmodel.validation.formats_of_rows import formats_of
from perfmodel.validation.protocols_of_rows import protocol_of
from perfmodel.validation.rows import Row, Unmapped
from perfmodel.validation.templates import FORMULAS, OPS, REDUCTIONS, ROWWISE, gemm, memory_op

GEMM_REGIMES = ((16, "m <= 16"), (256, "m 17..256"))  # decode, batched decode, and the rest
_ATTENTION = ("attn_", "mla_")


@dataclass(frozen=True, slots=True)
class Case:
    """What a row asks: a program in symbols, sizes by symbol, a chip and a protocol; and where it is reported.

    >>> row = Row.read({"gpu": "h100-sxm", "op": "gemm", "dtype": "bf16", "m": 8, "n": 64, "k": 32, "time_us": 3})
    >>> found = case_of(row, {})
    >>> tuple(found.program.labels), found.sizes, found.chip.name, found.regime
    (('batch', 'm', 'n', 'k'), (('m', 8), ('n', 64), ('k', 32)), 'h100-sxm', 'm <= 16')
    """

    program: Program
    sizes: tuple[tuple[str, int], ...]
    chip: Machine
    protocol: Protocol
    regime: str


def case_of(row: Row, chips: Mapping[str, Machine]) -> Case:
    """The case of a row; ``chips`` names the chip where the table's word for it is ambiguous. ``Unmapped``, why not.

    >>> case_of(Row.read({"gpu": "H100", "op": "gemm", "dtype": "bf16"}), {})
    Traceback (most recent call last):
    perfmodel.validation.rows.Unmapped: chip ambiguous: H100
    """
    chip = _chip(row.gpu, chips)
    program, sizes, regime = _described(row)
    return Case(program, sizes, chip, protocol_of(row, chip), regime)


def _chip(name: str, chips: Mapping[str, Machine]) -> Machine:
    try:
        return machine(chips.get(name, name))
    except MachineError as error:
        several = "several products" in str(error) or "|" in name
        raise Unmapped(f"chip {'ambiguous' if several else 'unknown'}: {name or 'no name'}") from None


def _described(row: Row) -> tuple[Program, tuple[tuple[str, int], ...], str]:
    if row.op.startswith(_ATTENTION):
        raise Unmapped(f"op {row.op}: attention is not estimated against measurements yet")
    if row.op not in OPS:
        raise Unmapped(f"op {row.op or 'without a name'} is not described{did_you_mean(row.op, OPS)}")
    return _gemm(row) if row.op in ("gemm", "bmm") else _memory_op(row)


def _gemm(row: Row) -> tuple[Program, tuple[tuple[str, int], ...], str]:
    formats = formats_of(row.dtype, row.extra.get("out", ""))
    batch, m, n, k = row.size("batch", 1), row.size("m"), row.size("n"), row.size("k")
    if row.op == "bmm":
        sizes = (("batch", batch), ("m", m), ("n", n), ("k", k))
        return gemm(formats, batched=True), sizes, "batched"
    rows = batch * m  # a product of a batch with one weight is a taller product
    made = gemm(formats, bias=row.extra.get("bias") == "1")
    regime = next((name for most, name in GEMM_REGIMES if rows <= most), "m > 256")
    return made, (("m", rows), ("n", n), ("k", k)), regime


def _memory_op(row: Row) -> tuple[Program, tuple[tuple[str, int], ...], str]:
    stored, _, written = row.dtype.partition("->")
    formats = formats_of(stored, written)
    sizes = (("m", row.size("batch", 1) * row.size("m")), ("n", row.size("n")))
    return memory_op(row.op, formats.stored, formats.out), sizes, kind_of(row.op)


def kind_of(op: str) -> str:
    """The family that an op is reported under.

    >>> kind_of("ew_add"), kind_of("rmsnorm"), kind_of("softmax"), kind_of("reduce_max")
    ('elementwise', 'norm', 'softmax', 'reduction')
    """
    if op in FORMULAS:
        return "elementwise"
    if op in ROWWISE:
        return "softmax" if op == "softmax" else "norm"
    return "reduction" if op in REDUCTIONS else {"quant_fp8_static": "quantize"}.get(op, op)
