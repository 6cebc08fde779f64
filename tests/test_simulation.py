"""``simulate``: programs run as they are staged, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from staging import arrays_of, assert_counts_as_it_runs, assert_same_values, loads

import perfmodel as pm
from perfmodel.graph.tiled import Tiled
from perfmodel.graph.tilings import Tiling
from perfmodel.simulation.blocks import BlockRun


def test_what_is_not_on_chip_cannot_be_read() -> None:
    """A schedule that forgets its loads is found out, not served from memory."""
    p = pm.matmul(4, 4, 4)
    tiled = Tiled(p.kernels[0], Tiling(), frozenset(["C"]))
    tiled.__dict__["schedule"] = replace(tiled.schedule, loads=())
    with pytest.raises(pm.PerfModelError, match="'A' is read before it is on chip"):
        BlockRun(tiled, dict(arrays_of(p)), {}, {}, "memory").run()


def test_watched_tensors_are_kept_each_time_they_are_computed() -> None:
    """An accumulator over 4/2 trips is seen twice; the last time it is the result."""
    p = pm.tile(pm.matmul(4, 4, 4), stream={"k": 2})
    run = pm.simulate(p, arrays_of(p), watch=["C"])
    assert [(at, name) for at, name, _ in run.watched] == [({"k": 0}, "C"), ({"k": 1}, "C")]
    np.testing.assert_array_equal(run.watched[-1][2], run.values["C"])


def test_a_missing_array_is_named() -> None:
    """The error lists what is expected."""
    with pytest.raises(pm.LabelError, match=r"no array for 'B'; expected A, B"):
        pm.simulate(pm.matmul(2, 2, 2), {"A": np.ones((1, 2, 2))})


def test_a_wrong_shape_is_refused() -> None:
    """The error gives both shapes and the axes."""
    with pytest.raises(pm.DimensionError, match=r"'A' has shape \(2, 2\); its axes .* are \(1, 2, 2\)"):
        pm.simulate(pm.matmul(2, 2, 2), {"A": np.ones((2, 2)), "B": np.ones((1, 2, 2))})


def test_symbols_have_to_be_bound() -> None:
    """Formulas have no arrays."""
    with pytest.raises(pm.DimensionError, match=r"sizes are formulas in m; bind them with p.at"):
        pm.simulate(pm.matmul("m", 2, 2), {})


def test_a_gather_loads_a_row_an_index() -> None:
    """Three look-ups of one row load it three times: no cache is assumed."""
    table = pm.tensor("table", {"row": 10, "d": 4})
    p = pm.program(pm.gather(table, "row", pm.tensor("at", {"i": 3}, dtype="int32")))
    arrays = arrays_of(p) | {"at": np.full(3, 7)}
    run = pm.simulate(p, arrays)
    assert run.counts.loads["table"] == loads(p)["table"] == 3 * 4
    np.testing.assert_array_equal(run.values[p.returned[0]], np.broadcast_to(arrays["table"][7], (3, 4)))


def test_a_streamed_mean_divides_once() -> None:
    """Sums over trips, then one division a result."""
    x = pm.tensor("x", {"m": 3, "n": 6})
    p = pm.program(pm.mean(x, "n"))
    cut = pm.tile(p, stream={"n": 4})
    run = pm.simulate(cut, arrays_of(cut))
    np.testing.assert_allclose(run.values[p.returned[0]], arrays_of(p)["x"].mean(axis=1))
    assert_counts_as_it_runs(cut, run)
    assert run.counts.operations["vector"] == 3 * 6 + 3  # an add a point, a division a row


@pytest.mark.parametrize("stream", [{}, {"kv": 2}])
def test_rows_without_a_key_give_0_and_a_log_sum_of_minus_infinity(stream: dict[str, int]) -> None:
    """6 causal queries on 4 keys, aligned at the end: the first two see no key."""
    p = pm.fuse(pm.attention(6, 4, 2, causal=True, lse=True))
    cut = pm.tile(p, grid={"q": 2}, stream=stream)
    run = pm.simulate(cut, arrays_of(cut))
    assert np.all(run.values["O"][:, :, :, :2] == 0)
    assert np.all(np.isneginf(run.values["L"][:, :, :, :2]))
    assert np.all(np.isfinite(run.values["L"][:, :, :, 2:]))
    assert_same_values(run, pm.simulate(p, arrays_of(p)))


def test_a_spilled_mean_is_divided_once_on_its_last_trip() -> None:
    """Partial sums go back and forth undivided; what stays in memory is the mean."""
    x = pm.tensor("x", {"n": 5, "k": 7})
    p = pm.tile(pm.program(pm.mean(x, "k").named("y")), stream={"k": 3, "n": 2}, spill=["y"])
    assert pm.check(p)


@pytest.mark.parametrize("row", [10, -1, 0.5, np.nan, 1e30])
def test_rows_that_are_not_there_are_refused(row: float) -> None:
    """An input that names rows of a table names whole numbers within it."""
    table, rows = pm.tensor("T", {"v": 10, "d": 4}), pm.tensor("idx", {"t": 5}, dtype="int32")
    p = pm.program(pm.gather(table, "v", rows))
    with pytest.raises(pm.PerfModelError, match="'idx' names rows 0 to 9 of 'T'"):
        pm.simulate(p, {"T": np.ones((10, 4)), "idx": np.full(5, row)})


@pytest.mark.parametrize("array", [np.ones((1, 2, 2)) * 1j, "text", [[[1], [2, 3]]], [[[None, 1], [1, 1]]]])
def test_what_is_no_array_of_real_numbers_is_refused(array: Any) -> None:
    """Complex numbers, text, ragged lists and objects are no input."""
    with pytest.raises(pm.PerfModelError, match=r"'A' is .*; expected an array of real numbers"):
        pm.simulate(pm.matmul(2, 2, 2), {"A": array, "B": np.ones((1, 2, 2))})


@pytest.mark.parametrize("watch", [5, "q", ["C", "q"]])
def test_only_what_is_made_can_be_watched(watch: Any) -> None:
    """The message names what the program makes."""
    with pytest.raises(pm.LabelError, match="matmul makes C"):
        pm.simulate(pm.matmul(2, 2, 2), {"A": np.ones((1, 2, 2)), "B": np.ones((1, 2, 2))}, watch=watch)


def test_a_tile_that_cuts_nothing_cuts_nothing_when_checked() -> None:
    """All of a reduced label in one tile stays one tile at the small sizes of a check."""
    assert pm.check(pm.tile(pm.matmul(8, 8, 8), grid={"m": 2, "k": 8}))
    assert pm.check(pm.tile(pm.softmax(4, 8), grid={"n": 8}))


@pytest.mark.parametrize(
    ("given", "said"), [({"sizes": 5}, "sizes map labels"), ({"seed": -1}, "seed=-1"), ({"seed": "x"}, "seed='x'")]
)
def test_what_a_check_is_given_is_checked(given: dict[str, Any], said: str) -> None:
    """Sizes are a mapping, a seed a whole number."""
    with pytest.raises(pm.PerfModelError, match=said):
        pm.check(pm.matmul(4, 4, 4), **given)


def test_a_check_of_nested_tiles_keeps_elements_that_share_a_scale_together() -> None:
    """Of k, in blocks of 32 with a scale each, outer tiles stay 32 long: two of them and a ragged one."""
    p = pm.cast(pm.matmul("m", "n", "k"), "mxfp4")
    for level, size in (("l2", 256), ("shared", 64)):
        p = pm.tile(p, grid={"m": size, "n": size}, stream={"k": size}, level=level)
    found = pm.check(p)
    assert found
    assert found.sizes["k"] == 2 * 32 + 1


def test_a_check_makes_a_table_of_its_own_where_only_look_ups_measure_it() -> None:
    """The vocabulary is no label: it becomes small like the others."""
    assert pm.check(pm.tile(pm.embedding("tokens", "vocabulary", "hidden"), token=8))


@pytest.mark.parametrize("rows", [10, "m"])
def test_padded_programs_in_a_sequence_are_checked_with_inputs_of_their_own_size(rows: Any) -> None:
    """The sequence is where the history begins, and it is padded already."""
    first, then = [pm.pad(pm.softmax(rows, 12), m=8) for _ in range(2)]
    assert pm.check(pm.sequence(first, then, join={"y": "x"}))


def test_an_array_that_nothing_reads_is_refused() -> None:
    """A misspelt name would else go unseen."""
    arrays = {"A": np.ones((1, 2, 2)), "B": np.ones((1, 2, 2))}
    with pytest.raises(
        pm.LabelError, match=r"simulate: matmul has no input 'Bs'; expected A, B \(did you mean 'B'\?\)"
    ):
        pm.simulate(pm.matmul(2, 2, 2), {**arrays, "Bs": 1})
    with pytest.raises(pm.LabelError, match=r"no input 'C'; expected A, B"):
        pm.simulate(pm.matmul(2, 2, 2), {**arrays, "C": np.ones((1, 2, 2))})


def test_look_ups_along_two_axes_are_two_loads() -> None:
    """4 rows and 4 columns of a 4 x 4 table by one index: 16 numbers each, whether they are as many or not."""
    x, ids = pm.tensor("x", {"b": 4, "c": 4}), pm.tensor("ids", {"a": 4}, dtype="int32")
    p = pm.fuse(pm.program(pm.gather(x, "b", ids), pm.gather(x, "c", ids)))
    table, names = np.arange(16.0).reshape(4, 4), np.array([1, 1, 3, 0])
    for staged in (p, pm.tile(p, a=2), pm.tile(p, b=2, c=2)):
        run = pm.simulate(staged, {"x": table, "ids": names})
        assert run.counts.loads["x"] == sum(row[3] for row in staged.traffic().rows if row[1] == "x") >= 16 + 16
        np.testing.assert_array_equal(run.values["gather"], table[names])
        np.testing.assert_array_equal(run.values["gather_2"], table[:, names])
