"""Expressions of thread indices: what Python computes for each thread, exactly, or an error of ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from lanes import EXPRESSIONS, Written

import perfmodel as pm
from perfmodel.mechanisms.lane_values import lane_values
from perfmodel.mechanisms.warps import Lanes, Launch, launch

LARGEST = 2**62


def values_of(given: Any, of: Launch) -> list[int]:
    """The values of all threads in order."""
    values = lane_values(given, of, "index")
    return [
        int(value) for lanes in of.pieces() for value in values.over(lanes)[np.broadcast_to(lanes.present, lanes.shape)]
    ]


def names_of(of: Launch) -> list[dict[str, int]]:
    """What the names stand for in each thread of a launch without blocks."""
    return [{"t": t, "lane": t % of.warp, "warp": t // of.warp} for t in range(of.threads)]


@given(EXPRESSIONS, st.integers(1, 70), st.integers(1, 33))
@settings(max_examples=400)
def test_an_expression_is_what_python_computes(written: Written, threads: int, warp: int) -> None:
    """For each thread; where Python divides by zero or shifts by less than none, or beyond 2^62, it is refused."""
    of = launch(threads, warp)
    try:
        expected = [written.value(names) for names in names_of(of)]
    except (ZeroDivisionError, ValueError, OverflowError, MemoryError):
        with pytest.raises(pm.ExpressionError):
            values_of(written.text, of)
        return
    try:
        found: Any = values_of(written.text, of)
    except pm.ExpressionError as error:
        found = str(error)
    assert found == expected or "beyond 2^62" in found or "shifted by other" in found


def test_each_operator_once() -> None:
    """A fixed line for each, so that none is left to chance."""
    of = launch(4, 2)
    assert values_of("7 - 2*t", of) == [7, 5, 3, 1]
    assert values_of("(t - 2) // 2", of) == [-1, -1, 0, 0]  # division rounds down
    assert values_of("(t - 2) % 3", of) == [1, 2, 0, 1]
    assert values_of("2**t << 1 >> 2", of) == [0, 1, 2, 4]
    assert values_of("t & 1 | 2 ^ ~t", of) == [(t & 1) | (2 ^ ~t) for t in range(4)]
    assert values_of("abs(-t) + +t", of) == [0, 2, 4, 6]
    assert values_of("min(t, 2, 1) + max(t, 2)", of) == [2, 3, 3, 4]
    assert values_of("t if t % 2 else -t", of) == [0, 1, -2, 3]
    assert values_of("0 < t <= 2 != lane", of) == [0, 1, 1, 0]
    assert values_of("not t or warp and lane", of) == [1, 0, 0, 1]
    assert values_of("True + False + t", of) == [1, 2, 3, 4]


def test_what_is_not_evaluated_may_divide_by_zero() -> None:
    """As in Python: the right of a false `and`, the side of an `if` that is not taken, the tail of a comparison."""
    of = launch(3, 2)
    assert values_of("t and 6 // t", of) == [0, 1, 1]
    assert values_of("t == 0 or 6 % t", of) == [1, 0, 0]
    assert values_of("6 // t if t else 9", of) == [9, 6, 3]
    assert values_of("1 <= t <= 6 // t", of) == [0, 1, 1]
    assert values_of("t < 2 and 3**(60*t) > 1 if t != 1 else 5", of)[0::2] == [0, 0]
    with pytest.raises(pm.ExpressionError, match="divided by zero in thread 0"):
        values_of("6 // t", of)


def test_threads_of_blocks_have_places() -> None:
    """Blocks of 3 x 2 threads, a warp of 4: two warps a block, the second half full."""
    of = launch(12, 4, (3, 2))
    assert (of.warps, of.warps_per_block) == (4, 2)
    assert values_of("x", of) == [0, 1, 2] * 4
    assert values_of("y", of) == [0, 0, 0, 1, 1, 1] * 2
    assert values_of("z", launch(8, 4, (1, 2, 2))) == [0, 0, 1, 1] * 2
    assert values_of("block", of) == [0] * 6 + [1] * 6
    assert values_of("t", of) == list(range(12))
    assert values_of("warp", of) == [0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3]
    assert values_of("lane", of) == [0, 1, 2, 3, 0, 1] * 2


@given(st.integers(1, 300), st.integers(1, 40))
def test_pieces_hold_each_thread_once(threads: int, warp: int) -> None:
    """Whatever does not fill its warp, each thread is in one lane, in order."""
    assert values_of("t", launch(threads, warp)) == list(range(threads))


def test_functions_and_lists_are_values_too() -> None:
    """f(t) for each thread, a list, a numpy array; booleans are 0 and 1."""
    of = launch(5, 2)
    assert values_of(lambda t: t * t, of) == [0, 1, 4, 9, 16]
    assert values_of(lambda t: t > 3, of) == [0, 0, 0, 0, 1]
    assert values_of([5, 4, 3, 2, 1], of) == [5, 4, 3, 2, 1]
    assert values_of(np.arange(5, dtype=np.uint8), of) == [0, 1, 2, 3, 4]


def test_numbers_to_the_edge_are_exact() -> None:
    """2^62 is computed, and what is beyond is refused before it wraps."""
    of = launch(2, 2)
    assert values_of("2**61 + 2**61 - t", of) == [LARGEST, LARGEST - 1]
    for text in ("2**62 + t", "2**61 * 4", "-2**62 - t", "3 << 61", "7**60", str(LARGEST + 1), "9" * 400):
        with pytest.raises(pm.ExpressionError, match=r"beyond 2\^62|4300"):
            values_of(text, of)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the text is empty"),
        ("t %", "invalid syntax"),
        ("tid", "no name 'tid'"),
        ("t / 2", "/ does not give a whole number"),
        ("t @ 2", "operators are"),
        ("t * 0.5", "'0.5' is not read here"),
        ("'t'", "is not read here"),
        ("t.real", "is not read here"),
        ("[t]", "is not read here"),
        ("t is 3", "is not read here"),
        ("t in (1, 2)", "is not read here"),
        ("lambda: t", "is not read here"),
        ("(s := 3)", "no name 's'"),
        ("__import__('os').system('true')", "is not read here"),
        ("mix(t, 1)", "did you mean 'min'?"),
        ("min(t)", "two arguments or more"),
        ("abs(t, 1)", "one argument"),
        ("min(t, key=t)", "is not read here"),
        ("t << 63", "shifted by other than 0 to 62 in thread 0"),
        ("1 >> -t", "in thread 1"),
        ("2 ** -t", "raised to other than 0 to 62 in thread 1"),
        ("+".join(["t"] * 4000), "nested too deeply"),
        ("(" * 300 + "t" + ")" * 300, "nested too deeply|too many nested"),
        ("-" * 500 + "t", "nested too deeply"),
        ("t" * 20_000, "at most 10000"),
        ("t\0", "index = "),
    ],
)
def test_text_that_is_no_expression_is_refused(text: str, says: str) -> None:
    """One error of ours for each, that says what is read."""
    with pytest.raises(pm.ExpressionError, match=says.replace("?", r"\?") if "|" not in says else says):
        values_of(text, launch(2, 2))


def _fails(t: int) -> int:
    raise KeyError(t)


@pytest.mark.parametrize(
    ("value", "kind", "says"),
    [
        (lambda t: t / 2, pm.ExpressionError, "thread 0: 0.0: expected a whole number"),
        (lambda t: float("nan"), pm.ExpressionError, "nan: expected a whole number"),
        (lambda t: None, pm.ExpressionError, "None"),
        (lambda t: 2**80, pm.ExpressionError, "beyond 2\\^62"),
        (_fails, pm.ExpressionError, "index = _fails: thread 0: KeyError"),
        (lambda: 3, pm.ExpressionError, "TypeError"),
        ([1, 2], pm.DimensionError, "one for each of 4 threads"),
        ([1, 2, 3, 4.5], pm.ExpressionError, "thread 3: 4.5"),
        ([1, 2, 3, None], pm.ExpressionError, "thread 3: None"),
        (np.array(3), pm.DimensionError, "one for each"),
        (np.array([[1], [2], [3], [4]]), pm.ExpressionError, "thread 0"),
        (np.array([0.5] * 4), pm.ExpressionError, "thread 0"),
        (3, pm.ExpressionError, "expected text such as"),
        (None, pm.ExpressionError, "expected text such as"),
        ({1, 2, 3, 4}, pm.ExpressionError, "expected text such as"),
    ],
)
def test_values_that_are_none_are_refused(value: Any, kind: type[Exception], says: str) -> None:
    """Fractions, NaN, what fails, lists of another length, and what is neither text nor a function nor a list."""
    with pytest.raises(kind, match=says):
        values_of(value, launch(4, 2))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"threads": 0}, "threads = 0"),
        ({"threads": -32}, "threads = -32"),
        ({"threads": True}, "threads = True"),
        ({"threads": 32.0}, "threads = 32.0"),
        ({"threads": 2**40}, "from 1 to 2,147,483,648"),
        ({"threads": 32, "warp": 0}, "warp = 0"),
        ({"threads": 32, "warp": 2048}, "from 1 to 1,024"),
        ({"threads": 32, "block": 0}, "block = 0"),
        ({"threads": 32, "block": (4, 2, 2, 2)}, "1 to 3 sizes"),
        ({"threads": 32, "block": ()}, "1 to 3 sizes"),
        ({"threads": 32, "block": "8"}, "block = '8'"),
        ({"threads": 32, "block": (8, None)}, "block = None"),
        ({"threads": 32, "block": 5}, "30 or 35 are"),
        ({"threads": 3, "block": 5}, "not whole blocks of 5; 5 are"),
    ],
)
def test_a_launch_of_no_whole_blocks_is_refused(arguments: dict[str, Any], says: str) -> None:
    """Threads, warps and blocks are whole numbers that fit together."""
    with pytest.raises(pm.DimensionError, match=says):
        launch(**arguments)


def test_more_than_can_be_computed_is_refused_at_once() -> None:
    """Two thousand million threads, or a million calls of a function: refused, not begun."""
    with pytest.raises(pm.CapacityError, match="fewer threads show the same pattern"):
        lane_values("t % 2", launch(2**31), "index")
    with pytest.raises(pm.CapacityError, match="calls of a function"):
        lane_values(lambda t: t, launch(2**21), "index")
    with pytest.raises(pm.CapacityError, match="a list of"):
        lane_values(range(2**21), launch(2**21), "index")


def test_lanes_without_a_thread_repeat_one_that_is_there() -> None:
    """Three threads in a warp of four: the last lane is as the first, and is not present."""
    lanes = Lanes(launch(3, 4), 0, 1)
    assert lanes["t"].tolist() == [[0, 1, 2, 0]]
    assert lanes.present.tolist() == [[True, True, True, False]]
