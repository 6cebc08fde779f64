"""What a block holds at once, in symbols as in numbers."""

from __future__ import annotations

import pytest

import perfmodel as pm
from perfmodel.expressions import bind


def rows_spread_again() -> pm.Program:
    """z[i, k] = sum over j of exp(x[i, j]), times w[k]."""
    x, w = pm.tensor("x", {"i": 16, "j": 8}), pm.tensor("w", {"k": 32})
    return pm.fuse(pm.program((pm.sum(pm.exp(x), "j") * w).named("z")))


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 16, 31])
def test_the_peak_of_intermediates_is_exact_in_symbols(size: int) -> None:
    """exp(x) of 8 columns and its sum, or the sum and a tile of T columns: which is more depends on T."""
    p = rows_spread_again()
    symbolic = pm.tile(p, i=4, k="T").footprint_bytes
    # bf16: 4 rows of x and T columns of w, then 4 rows of exp(x) and of sums, or of sums and of z
    expected = 2 * (4 * 8 + size) + 2 * (4 + 4 * max(8, size))
    assert pm.tile(p, i=4, k=size).footprint_bytes == expected
    assert bind(symbolic, {pm.dims("T"): size}) == expected


def test_one_row_stands_for_the_steps_that_may_be_the_peak() -> None:
    """Where it depends on a symbol, the table names both; in numbers it names the one."""
    p = rows_spread_again()
    rows = [row[2] for row in pm.tile(p, i=4, k="T").footprint().rows if row[1] == "intermediate"]
    assert rows == ["exp + sum or sum + z"]
    rows = [row[2] for row in pm.tile(p, i=4, k=2).footprint().rows if row[1] == "intermediate"]
    assert rows == ["exp", "sum"]
