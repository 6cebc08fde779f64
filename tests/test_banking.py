"""Bank conflicts: words counted by bank, a formula for strides, and passes served one by one."""

from __future__ import annotations

from math import gcd
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st
from lanes import EXPRESSIONS, Written

import perfmodel as pm
from perfmodel.mechanisms.addresses import addresses
from perfmodel.mechanisms.bank_passes import pass_by_pass, strided_degree

# ---------------------------------------------------------------------------- three ways to count


@given(
    EXPRESSIONS, st.sampled_from([1, 2, 4, 8, 12, 16]), st.integers(0, 9), st.integers(1, 40), st.sampled_from([8, 32]),
    st.sampled_from([2, 4, 8]),
)  # fmt: skip
@settings(max_examples=200)
def test_passes_are_those_in_which_banks_serve_the_threads(
    written: Written, width: int, offset: int, threads: int, banks: int, bank_bytes: int
) -> None:
    """Each pass every bank gives one word to all that wait for it, until none waits."""
    text = f"({written.text}) & 511"
    try:
        found = pm.bank_conflicts(text, width, banks, bank_bytes, offset_bytes=offset, threads=threads)
    except pm.ExpressionError:
        assume(False)
    asked = addresses(text, "bank_conflicts", element_bytes=width, offset_bytes=offset, threads=threads)
    assert (found.passes, found.least_passes, found.degree) == pass_by_pass(asked, banks, bank_bytes)


@given(st.integers(0, 200), st.integers(1, 64), st.integers(1, 64))
def test_an_even_stride_has_a_formula(stride: int, banks: int, threads: int) -> None:
    """Threads go round banks / gcd(stride, banks) banks; a stride of 0 is one word for all."""
    found = pm.bank_conflicts(f"{stride}*t", banks=banks, threads=threads, warp=64)
    assert found.passes == found.degree == strided_degree(stride, banks, threads)
    if banks == threads and stride:
        assert found.degree == gcd(stride, banks)


@given(st.integers(0, 300), st.sampled_from([2, 4, 8, 16]))
def test_padding_is_the_least_that_ends_the_conflict(stride: int, width: int) -> None:
    """With the padded stride there is none, with any less there is one."""
    found = pm.bank_conflicts(f"{stride}*t", width)
    assert found.padding is not None
    assert not pm.bank_conflicts(f"{found.padded_stride}*t", width).conflict
    for less in range(stride, stride + found.padding):
        assert pm.bank_conflicts(f"{less}*t", width).conflict


@given(st.integers(0, 31))
@settings(max_examples=32)
def test_a_swizzle_has_no_conflict(row: int) -> None:
    """x ^ row visits each bank once, by rows and by columns."""
    assert not pm.bank_conflicts(f"32*{row} + (t ^ {row})").conflict
    assert not pm.bank_conflicts(f"32*t + (t ^ {row})").conflict


# ---------------------------------------------------------------------------- figures


@pytest.mark.parametrize(
    ("row", "degree"), [(32, 32), (33, 1), (16, 16), (24, 8), (12, 4), (31, 1), (3, 1), (2, 2), (1, 1)]
)
def test_columns_of_tiles(row: int, degree: int) -> None:
    """A warp down a column of floats: gcd(row length, 32) words in a bank."""
    found = pm.bank_conflicts(f"{row}*t")
    assert (found.degree, found.passes) == (degree, degree)


def test_padding_is_not_always_one() -> None:
    """Rows of 31 need none (32 would be worst), rows of 32 one: 33 * 32 * 4 bytes instead of 32 * 32 * 4."""
    assert pm.bank_conflicts("31*t").padding == 0
    padded = pm.bank_conflicts("32*t")
    assert (padded.padded_stride, padded.padding_bytes) == (33, 32 * 4)
    assert f"{33 * 32 * 4:,} B instead of {32 * 32 * 4:,} B" in padded.explain()


def test_the_old_half_warp_with_16_banks() -> None:
    """A 16 x 16 tile by columns is 16-way, a 16 x 17 one free."""
    degrees = [pm.bank_conflicts(f"{row}*t", banks=16, threads=16, warp=16).degree for row in (16, 17)]
    assert degrees == [16, 1]


def test_one_word_goes_to_all_who_ask() -> None:
    """Broadcast, and the four bytes or two halves of a word, are no conflict."""
    assert pm.bank_conflicts("5 + 0*t").passes == 1
    assert pm.bank_conflicts("t", element_bytes=1).passes == 1
    assert pm.bank_conflicts("t // 2", element_bytes=2).passes == 1


def test_wide_elements_take_turns() -> None:
    """8 bytes: half warps, 2 passes at the least; 16 bytes: quarter warps, 4. A stride of 2 doubles them."""
    for width, turns in ((8, 2), (16, 4)):
        flat, strided = pm.bank_conflicts("t", width), pm.bank_conflicts("2*t", width)
        assert (flat.passes, flat.least_passes, flat.degree) == (turns, turns, 1)
        assert (strided.passes, strided.slowdown) == (2 * turns, 2.0)


def test_warps_are_counted_one_by_one() -> None:
    """Four warps, of which two read columns: 2 * 32 passes and 2."""
    found = pm.bank_conflicts("32*lane if warp % 2 else lane", threads=128)
    assert (found.passes, found.least_passes, found.degree) == (2 * 32 + 2, 4, 32)


# ---------------------------------------------------------------------------- a value; refusals


def test_what_was_given_is_shown() -> None:
    """An index without an even stride has no padding to propose."""
    found = pm.bank_conflicts("t * t", banks=16)
    assert repr(found).splitlines()[0] == "bank_conflicts('t * t', banks=16)"
    assert found == pm.bank_conflicts("t * t", 4, 16)
    assert found.to_dict()["padding"] is None
    assert (found.padding, found.padded_stride, found.padding_bytes) == (None, None, None)
    assert "remedy" not in found.explain()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"banks": 0}, "banks = 0"),
        ({"banks": True}, "banks = True"),
        ({"banks": 2**20}, "banks = 1048576"),
        ({"bank_bytes": 0}, "bank_bytes = 0"),
        ({"bank_bytes": 4.0}, "bank_bytes = 4.0"),
        ({"element_bytes": 0}, "element_bytes = 0"),
        ({"element_bytes": 129}, "element_bytes = 129"),
        ({"threads": -1}, "threads = -1"),
    ],
)
def test_sizes_that_are_none_are_refused(arguments: dict[str, Any], says: str) -> None:
    """Each names itself."""
    with pytest.raises(pm.DimensionError, match=f"bank_conflicts: {says}"):
        pm.bank_conflicts("t", **arguments)


def test_an_index_before_the_start_is_refused() -> None:
    """The thread and the byte are named."""
    with pytest.raises(pm.ExpressionError, match="bank_conflicts: index = '3 - t': thread 4 reads at byte -4"):
        pm.bank_conflicts("3 - t")
