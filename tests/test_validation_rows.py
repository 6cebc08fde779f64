"""Rows of measured times: cells, remarks, and what is refused by name."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from perfmodel import PerfModelError, validate
from perfmodel.validation.rows import Row, Unmapped, rows_of


def row(**cells: object) -> Row:
    return Row.read({"gpu": "l4", "op": "gemm", "dtype": "bf16", "time_us": "2", **cells})


def test_remarks_are_taken_apart_and_a_name_alone_is_true() -> None:
    found = row(extra="fw=vllm-0.24.0; bias=1;best_of_tuned", note="timing=x; cache=resident;")
    assert found.extra == {"fw": "vllm-0.24.0", "bias": "1", "best_of_tuned": "1"}
    assert found.flags == ("timing=x", "cache=resident")


@pytest.mark.parametrize("cell", ["", "0", "-3", "2.5", "nan", "inf", "many", "1e30"])
def test_a_size_that_is_no_positive_whole_number_is_named(cell: str) -> None:
    with pytest.raises(Unmapped, match="m = "):
        row(m=cell).size("m")


def test_a_size_may_be_written_as_a_float_and_an_empty_one_has_a_default() -> None:
    assert row(m="64.0").size("m") == 64
    assert row(batch=math.nan).size("batch", 1) == 1


@pytest.mark.parametrize("cell", ["", "0", "-1", "nan", "inf", "fast"])
def test_a_measured_time_is_a_positive_number(cell: str) -> None:
    with pytest.raises(Unmapped, match="time_us"):
        _ = row(time_us=cell).measured_s


def test_a_missing_column_is_named_with_what_comes_near() -> None:
    with pytest.raises(PerfModelError, match=r"no column 'dtype' .did you mean 'dtypes'"):
        rows_of(pd.DataFrame({"gpu": ["l4"], "op": ["gemm"], "dtypes": ["bf16"], "time_us": [1]}))


def test_a_column_that_stands_twice_is_refused() -> None:
    frame = pd.DataFrame([["l4", "gemm", "bf16", 1, 2]], columns=["gpu", "op", "dtype", "time_us", "time_us"])
    with pytest.raises(PerfModelError, match="'time_us' stands twice"):
        rows_of(frame)


def test_an_empty_table_has_no_rows() -> None:
    assert rows_of(pd.DataFrame(columns=["gpu", "op", "dtype", "time_us"])) == []


def test_columns_as_sweeps_name_them() -> None:
    """machine and time_s in seconds are read where gpu and time_us are not there; where both are, the latter."""
    common = {"op": ["gemm"], "dtype": ["bf16"], "m": [8], "n": [8], "k": [8]}
    own, swept = {"gpu": ["h100-sxm"], "time_us": [3.5]}, {"machine": ["l4"], "time_s": [9e-6]}
    cases = ((own, "h100-sxm", 3.5e-6), (swept, "l4", 9e-6), (own | swept, "h100-sxm", 3.5e-6))
    for given, chip, seconds in cases:
        (row,) = rows_of(pd.DataFrame(common | given))
        assert (row.gpu, row.measured_s) == (chip, seconds)
    (bad,) = rows_of(pd.DataFrame(common | {"machine": ["l4"], "time_s": ["soon"]}))
    with pytest.raises(Unmapped, match="time_s = 'soon'"):
        _ = bad.measured_s
    (empty,) = rows_of(pd.DataFrame(common | swept | {"gpu": [""], "time_us": [""]}))
    with pytest.raises(Unmapped, match="time_us = ''"):
        _ = empty.measured_s


def test_a_missing_file_or_column_says_what_a_table_needs() -> None:
    """The columns and their other names stand in both errors."""
    needs = r"gpu \(or machine\), op, dtype, time_us \(or time_s\) and the sizes batch, m, n, k"
    with pytest.raises(PerfModelError, match=rf"no file 'missing.csv'; a table needs the columns {needs}"):
        validate("missing.csv")
    with pytest.raises(PerfModelError, match=rf"no column 'op'; a table needs the columns {needs}"):
        rows_of(pd.DataFrame({"machine": ["l4"], "dtype": ["bf16"], "time_s": [1]}))
