"""From a row to a case: chip, sizes, regime and protocol, or the reason why there is none."""

from __future__ import annotations

import pytest

from perfmodel.validation.cases import case_of, kind_of
from perfmodel.validation.protocols_of_rows import protocol_of
from perfmodel.validation.rows import Row, Unmapped

GEMM = {"gpu": "h100-sxm", "op": "gemm", "dtype": "bf16", "batch": "1", "m": "8", "n": "64", "k": "32", "time_us": "3"}


def case(**cells: str):
    return case_of(Row.read(GEMM | cells), {})


@pytest.mark.parametrize(("rows", "regime"), [("16", "m <= 16"), ("17", "m 17..256"), ("257", "m > 256")])
def test_a_product_is_reported_by_its_rows(rows: str, regime: str) -> None:
    assert case(m=rows).regime == regime


def test_a_batch_that_shares_one_weight_is_a_taller_product() -> None:
    assert dict(case(batch="4").sizes) == {"m": 4 * 8, "n": 64, "k": 32}


def test_a_batch_of_products_stays_a_batch() -> None:
    assert dict(case(op="bmm", batch="4").sizes) == {"batch": 4, "m": 8, "n": 64, "k": 32}


def test_rows_of_one_kind_share_their_program() -> None:
    assert case(m="8").program is case(m="9").program


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"gpu": "H100"}, "chip ambiguous: H100"),
        ({"gpu": "H100-SXM5-80GB|H200-SXM-141GB"}, "chip ambiguous"),
        ({"gpu": "TRS-80"}, "chip unknown: TRS-80"),
        ({"gpu": ""}, "chip unknown: no name"),
        ({"op": "gem"}, "op gem is not described .did you mean 'gemm'"),
        ({"op": "attn_decode"}, "attention is not estimated"),
        ({"dtype": "fp7"}, "no number format 'fp7'"),
        ({"k": ""}, "k = ''"),
    ],
)
def test_what_cannot_be_mapped_says_why(cells: dict[str, str], reason: str) -> None:
    with pytest.raises(Unmapped, match=reason.replace("|", r"\|")):
        case(**cells)


def test_a_name_that_is_several_chips_may_be_said() -> None:
    assert case_of(Row.read(GEMM | {"gpu": "H100"}), {"H100": "h100-pcie"}).chip.name == "h100-pcie"


def test_a_flushed_cache_goes_before_the_source() -> None:
    found = protocol_of(Row.read({"source": "neusight", "note": "timing=x;L2_flush"}))
    assert (found.name, found.cold) == ("flushed", True)


def test_families_of_ops() -> None:
    assert [kind_of(op) for op in ("silu_mul", "layernorm", "softmax", "rope", "quant_fp8_static", "reduce_sum")] == [
        "elementwise",
        "norm",
        "softmax",
        "rope",
        "quantize",
        "reduction",
    ]
