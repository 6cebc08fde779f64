"""What an op of a table is as a program: its FLOPs and bytes, derived by hand."""

from __future__ import annotations

import pytest

from perfmodel import dims
from perfmodel.validation.formats_of_rows import formats_of
from perfmodel.validation.rows import Unmapped
from perfmodel.validation.templates import FORMULAS, OPS, REDUCTIONS, ROWWISE, gemm, memory_op

m, n, k, batch = dims("m n k batch")


def test_a_narrow_product_reads_its_operands_once_and_writes_bf16() -> None:
    made = gemm(formats_of("fp8"))
    assert made.bytes.expand() == m * k + k * n + 2 * m * n  # one byte an operand, two an output


def test_a_bias_is_added_in_the_same_kernel() -> None:
    made = gemm(formats_of("fp32"), bias=True)
    assert len(made.kernels) == 1
    assert made.bytes.expand() == 4 * (m * k + k * n + n + m * n)  # the bias is one row
    assert made.flops == 2 * m * n * k + m * n


def test_a_batch_of_products_has_operands_of_its_own() -> None:
    assert gemm(formats_of("fp32"), batched=True).bytes.expand() == (4 * batch * (m * k + k * n + m * n)).expand()


def test_blocks_of_128_elements_share_a_scale_of_32_bits_and_compute_in_fp8() -> None:
    made = gemm(formats_of("fp8_block")).at(m=256, n=256, k=256)
    assert made.bytes == 2 * 256 * (256 + 4 * 256 // 128) + 2 * 256 * 256  # two scales a row of 256
    assert [work.compute.name for work in made.counted[0].works] == ["fp8_e4m3"]


def test_products_stored_in_fp16_may_compute_in_fp32() -> None:
    made = gemm(formats_of("fp16_fp32math"))
    assert made.bytes == 2 * (m * k + k * n + m * n)
    assert [work.compute.name for work in made.counted[0].works] == ["fp32"]


@pytest.mark.parametrize("op", [*FORMULAS, "rope", "quant_fp8_static", *ROWWISE, *REDUCTIONS])
def test_every_op_is_one_kernel_that_moves_what_it_must(op: str) -> None:
    formats = formats_of("bf16", "fp8") if op == "quant_fp8_static" else formats_of("fp32")
    made = memory_op(op, formats.stored, formats.out)
    at = {"m": 64, "n": 96}
    points, element = 64 * 96, int(formats.stored.bits) // 8
    reads = 2 if op in ("ew_add", "ew_mul", "ew_div", "ew_pow", "silu_mul") else 1  # two full operands, else one
    writes = points // 96 * element if op in REDUCTIONS else points * int(formats.out.bits) // 8
    least = reads * points * element + writes
    vectors = 4 * element * (64 + 96)  # weights, tables of a row or a column, a scale
    assert len(made.kernels) == 1
    assert least <= made.at(at).bytes <= least + vectors


def test_an_unknown_format_is_a_reason() -> None:
    with pytest.raises(Unmapped, match="no number format 'fp7'"):
        formats_of("fp7")


def test_every_op_of_the_list_is_described() -> None:
    assert set(OPS) == {"gemm", "bmm", *FORMULAS, *ROWWISE, *REDUCTIONS, "rope", "quant_fp8_static"}
