"""Transactions: lines counted in order of address, by formula, and byte by byte; figures, laws, refusals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st
from lanes import EXPRESSIONS, Written

import perfmodel as pm
from perfmodel.mechanisms.addresses import addresses
from perfmodel.mechanisms.merging_requests import one_by_one, strided

WIDTHS = st.sampled_from([1, 2, 3, 4, 8, 12, 16])


# ---------------------------------------------------------------------------- three ways to count


@given(EXPRESSIONS, WIDTHS, st.integers(0, 200), st.integers(1, 40), st.integers(1, 32))
@settings(max_examples=200)
def test_lines_sectors_and_bytes_are_those_that_threads_touch(
    written: Written, width: int, offset: int, threads: int, warp: int
) -> None:
    """Whatever the index, the width and the start: each byte of each thread put into a set for its warp."""
    text = f"({written.text}) & 1023"
    try:
        found = pm.transactions(text, width, offset_bytes=offset, threads=threads, warp=warp)
    except pm.ExpressionError:
        assume(False)
    asked = addresses(text, "transactions", element_bytes=width, offset_bytes=offset, threads=threads, warp=warp)
    assert found.lines == one_by_one(asked, 128)
    assert found.sectors == one_by_one(asked, 32)
    assert found.bytes_used == one_by_one(asked, 1)


@given(st.integers(-70, 70), st.sampled_from([1, 2, 4, 8, 16]), st.integers(1, 64), st.integers(0, 40))
def test_an_even_stride_has_a_formula(stride: int, width: int, threads: int, start: int) -> None:
    """Elements that lie on multiples of their width: from the first line to the last, or a line each."""
    first = 70 * 64 + start
    found = pm.transactions(f"{stride}*t + {first}", width, threads=threads, warp=64)
    for unit, counted in ((128, found.lines), (32, found.sectors)):
        assert counted == strided(threads, stride * width, width, unit, first * width)
    assert found.stride == (stride if threads > 1 else None)


@given(st.permutations(range(32)), st.integers(1, 9))
def test_the_order_of_threads_does_not_matter(order: list[int], stride: int) -> None:
    """Any permutation of the lanes touches the same lines."""
    straight = pm.transactions(f"{stride}*t")
    mixed = pm.transactions([stride * lane for lane in order])
    assert (mixed.lines, mixed.sectors, mixed.bytes_used) == (straight.lines, straight.sectors, straight.bytes_used)


@given(EXPRESSIONS)
def test_efficiencies_are_ordered(written: Written) -> None:
    """No more than all is used; sectors waste no more than lines; and no fewer lines would do than the least."""
    try:
        found = pm.transactions(f"({written.text}) & 4095", threads=64)
    except pm.ExpressionError:
        assume(False)
    assert 0 < found.efficiency <= found.sector_efficiency <= 1
    assert found.bytes_used <= found.bytes_requested


# ---------------------------------------------------------------------------- figures


@pytest.mark.parametrize(("stride", "lines", "sectors"), [(1, 1, 4), (2, 2, 8), (8, 8, 32), (32, 32, 32)])
def test_lines_of_strides(stride: int, lines: int, sectors: int) -> None:
    """fp32: 32 threads at a stride of s take s lines up to a line each, and 4 s sectors up to a sector each."""
    found = pm.transactions(f"{stride}*t", element_bytes=4, line_bytes=128)
    assert (found.lines, found.sectors) == (lines, sectors)
    assert found.efficiency == 1 / lines
    assert found.sector_efficiency == 4 / sectors


def test_bf16_rows_and_columns() -> None:
    """Neighbours of a row of 4,096 lie in one line, half of it used; those of a column in 32."""
    row, column = pm.transactions("t", 2), pm.transactions("4096*t", 2)
    assert (row.lines, row.bytes_used, row.efficiency) == (1, 64, 0.5)
    assert (column.lines, column.efficiency) == (32, 2 / 128)


def test_a_start_off_a_line_takes_one_more() -> None:
    """32 floats from byte 4 on: the last is in the next line; from byte 128 on they are aligned again."""
    assert pm.transactions("t", offset_bytes=4).lines == 2
    assert pm.transactions("t + 32").lines == 1
    assert "from the start of a 128-byte line" in pm.transactions("t", offset_bytes=4).explain()


def test_a_word_for_all_is_one_sector() -> None:
    """Broadcast: 4 of 128 bytes used, 128 asked for."""
    found = pm.transactions("7 + 0*t")
    assert (found.lines, found.sectors, found.bytes_used, found.bytes_requested) == (1, 1, 4, 32 * 4)


def test_an_element_may_lie_across_lines() -> None:
    """12 bytes from byte 120 on."""
    assert pm.transactions("0", 12, offset_bytes=120, threads=1).lines == 2


def test_blocks_of_threads_index_by_place() -> None:
    """A tile of 8 x 4 threads reads 4 rows of 8 floats: a sector each; transposed, 8 rows of 4: half a sector each."""
    rows = pm.transactions("1024*y + x", block=(8, 4))
    columns = pm.transactions("1024*x + y", block=(8, 4))
    assert (rows.sectors, columns.sectors) == (4, 8)
    assert (rows.sector_efficiency, columns.sector_efficiency) == (1.0, 0.5)


def test_each_warp_is_counted_alone() -> None:
    """Two warps that read the same line fetch it twice: no cache is assumed."""
    found = pm.transactions("t % 32", threads=64)
    assert (found.lines, found.lines_per_warp, found.least_lines) == (2, 1.0, 2)


# ---------------------------------------------------------------------------- a value; refusals


def test_what_was_given_is_shown() -> None:
    """Other lines and sectors show in the repr."""
    found = pm.transactions("t", 8, 64)
    assert repr(found).splitlines()[0] == "transactions('t', element_bytes=8, line_bytes=64)"
    assert found == pm.transactions(" t ", 8, 64, sector_bytes=32)
    assert found.to_dict()["lines"] == 32 * 8 // 64
    assert "sector_bytes=64" in repr(pm.transactions("t", line_bytes=128, sector_bytes=64))
    assert "sector_bytes" not in repr(pm.transactions("t", line_bytes=48))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"element_bytes": 0}, "element_bytes = 0"),
        ({"element_bytes": True}, "element_bytes = True"),
        ({"element_bytes": 0.5}, "element_bytes = 0.5"),
        ({"line_bytes": 0}, "line_bytes = 0"),
        ({"line_bytes": 2**30}, "line_bytes = 1073741824"),
        ({"line_bytes": 100, "sector_bytes": 32}, "not whole sectors of 32"),
        ({"sector_bytes": 0}, "sector_bytes = 0"),
        ({"offset_bytes": -4}, "offset_bytes = -4"),
        ({"threads": 0}, "threads = 0"),
        ({"warp": 0}, "warp = 0"),
        ({"block": 7}, "not whole blocks of 7"),
    ],
)
def test_sizes_that_are_none_are_refused(arguments: dict[str, Any], says: str) -> None:
    """Each names itself."""
    with pytest.raises(pm.DimensionError, match=f"transactions: .*{says}"):
        pm.transactions("t", **arguments)


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ("t - 1", "thread 0 reads at byte -4, before the start"),
        ("2**61 * (t + 1) // 2", "beyond 2"),
        ("t / 2", "/ does not give a whole number"),
        ("i", "no name 'i'"),
        ([0.5] * 32, "thread 0: 0.5"),
        (None, "expected text such as"),
    ],
)
def test_an_index_that_is_none_is_refused(index: Any, says: str) -> None:
    """Before the start, beyond what is exact, a fraction, another name."""
    with pytest.raises(pm.ExpressionError, match=f"transactions: index.*{says}"):
        pm.transactions(index)
