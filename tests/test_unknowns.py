"""Which symbol is asked for, and the values that are tried."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel import SolveError, dims, matmul, solve
from perfmodel.solving.unknowns import range_of, unknown_of

n = dims("n")


def test_a_name_or_a_symbol_or_a_label_is_an_unknown() -> None:
    assert unknown_of(matmul(n, 8, 8), None, "n") == unknown_of(matmul(n, 8, 8), None, n) == n
    assert unknown_of(matmul(8, 8, 8), None, "k") == dims("k")
    with pytest.raises(SolveError, match="'q' does not occur"):
        unknown_of(matmul(8, 8, 8), None, "q")


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ((2, 4), [2, 3, 4]),
        (range(2, 9, 3), [2, 5, 8]),
        (range(8, 1, -3), [2, 5, 8]),
        ([8, 2, 8], [2, 8]),
        (np.array([3, 1]), [1, 3]),
        ([2.0], [2]),
    ],
)
def test_ranges_are_ascending_whole_numbers(given: object, values: list[int]) -> None:
    assert list(range_of(given)) == values


@pytest.mark.parametrize(
    "given", [(), [], (3, 2), [1.5], [True], ["a"], "1..3", (0, 3), [-1], [float("nan")], [10**20], 7, range(1, 2**60)]
)
def test_other_ranges_are_refused(given: object) -> None:
    with pytest.raises(SolveError, match="within="):
        range_of(given)


def test_values_between_those_tried_are_no_answer() -> None:
    """Intervals are of neighbours among the values: the answer says that they are some of a range."""
    found = solve(matmul(n, n, n), n, where="bytes <= 6*100**2", within=range(64, 1024, 64))
    assert found.intervals == ((64, 64),)
    assert "n is one of 15 values tried from 64 to 960" in repr(found)
