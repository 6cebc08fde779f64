"""sweep: every row is what the program and the estimate say at that point, whatever is swept and by whom."""

from __future__ import annotations

import functools
import itertools
import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import moves
import numpy
import pandas
import pytest
import strategies
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.sweeping.column_names import column_of
from perfmodel.sweeping.measures import COUNTS, TIMES

CUBE = pm.matmul("n", "n", "n")


def same(found: Any, expected: Any) -> bool:
    """Equal counts, times to the last digits, nan beside nan."""
    if isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-9) or (math.isnan(expected) and math.isnan(found))
    return bool(found == expected)


def assert_rows_are_the_points(program: pm.Program, frame: pandas.DataFrame, names: list[str]) -> None:
    """Each row holds what the program, bound to the row's point, says of itself, and its estimate."""
    for row in frame.to_dict("records"):
        bound = program.at({name: int(row[name]) for name in names})
        for metric in [each for each in COUNTS if column_of(each) in row]:
            assert same(row[column_of(metric)], getattr(bound, metric)), (metric, row)
        if "machine" in row:
            found = pm.estimate(bound, row["machine"])
            for metric in ("is_least", "time_s", "ideal_time_s", "flops_per_s", "bytes_per_s", "bound"):
                assert same(row[metric], getattr(found, metric)), (metric, row, getattr(found, metric))


PLAIN = ("map", "reduce", "contract", "rename", "input")  # masks and windows in many symbols take sympy minutes


@settings(max_examples=25)
@given(st.data())
def test_random_programs(data: st.DataObject) -> None:
    """A sweep of a random program over its symbols is the program bound to each point, and its estimate."""
    recipe = data.draw(strategies.recipes(PLAIN, steps=4))
    program = pm.fuse(recipe.symbolic()) if data.draw(st.booleans()) else recipe.symbolic()
    assert_sweep_is_the_points(program, [symbol.name for symbol in program.symbols], data)


@settings(max_examples=25)
@given(st.data())
def test_random_tiled_programs(data: st.DataObject) -> None:
    """A sweep of a random program of ints, cut into tiles, over its labels is the program resized to each point."""
    program = moves.tile(pm.fuse(data.draw(strategies.programs(verbs=PLAIN, steps=4))), data)
    assert_sweep_is_the_points(program, list(program.labels), data)


def assert_sweep_is_the_points(program: pm.Program, names: list[str], data: st.DataObject) -> None:
    """A sweep over a few sizes of two names, and one size of each other, on some chip or none."""
    sizes = st.integers(1, 9)
    counts = [data.draw(st.integers(1, 3 if place < 2 else 1)) for place in range(len(names))]
    points = {
        name: data.draw(st.lists(sizes, min_size=count, max_size=count))
        for name, count in zip(names, counts, strict=True)
    }
    chip = data.draw(st.sampled_from([None, "h100-sxm", "tpu-v5e"]))
    each = [dict(zip(points, values, strict=True)) for values in itertools.product(*points.values())]
    try:
        frame = pm.sweep(program, points, on=chip, metrics=COUNTS + (TIMES if chip else ()))
    except pm.PerfModelError:  # a point, or a symbol for a label, that the program itself refuses
        with pytest.raises(pm.PerfModelError):
            _bound_to_all(program, names, each)
        return
    assert len(frame) == len(each)
    assert_rows_are_the_points(program, frame, names)


def _bound_to_all(program: pm.Program, names: list[str], points: list[dict[str, int]]) -> None:
    program.at({name: pm.dims(name) for name in names})
    for point in points:
        program.at(point).to_dict()


def test_tiles_in_symbols() -> None:
    """Sizes and tiles swept together, also tiles larger than what they cut, which the formulas do not hold for."""
    program = pm.tile(pm.matmul("m", "n", "k"), grid={"m": "tm", "n": "tn"}, stream={"k": "tk"})
    points = {"m": [1, 16, 100], "n": [33, 64], "k": [16, 31, 64], "tm": [16, 64], "tn": [32], "tk": [8, 32]}
    assert_rows_are_the_points(program, pm.sweep(program, points, metrics=COUNTS), list(points))


@pytest.mark.parametrize("chip", ["h100-sxm", "mi300x", "tpu-v5e", "lecture-cpu"])
def test_estimates(chip: str) -> None:
    """Times, rates and bounds are those of the estimate of each point, on chips with and without effects."""
    points = {"m": [1, 8, 255, 256, 257, 8192], "n": [8, 4097, 8192], "k": [64, 8192]}
    program = pm.matmul("m", "n", "k")
    assert_rows_are_the_points(program, pm.sweep(program, points, on=chip, metrics=COUNTS + TIMES), list(points))


def test_programs_of_several_kernels() -> None:
    """The bound of a program is that of the largest share of the time, as the estimate's."""
    program = pm.fuse(pm.attention("n", "n", 128, heads="h"), by="stage")
    points = {"n": [1, 64, 1024, 8192], "h": [1, 32]}
    assert_rows_are_the_points(program, pm.sweep(program, points, on="a100-sxm-80gb", metrics=TIMES), list(points))


def test_product_has_the_last_axis_fastest_and_machines_faster_still() -> None:
    """2 x 2 points on 2 machines are 8 rows; the columns are the points, the machine, the quantities."""
    found = pm.sweep(pm.matmul("m", 64, "k"), {"m": [2, 1], "k": [8, 8]}, on=["l4", "l40s"], metrics="flops")
    assert list(found.columns) == ["m", "k", "machine", "flops"]
    assert found["m"].tolist() == [2] * 4 + [1] * 4
    assert found["k"].tolist() == [8] * 8  # duplicates stay
    assert found["machine"].tolist() == ["l4", "l40s"] * 4
    assert found["flops"].tolist() == [2 * m * 64 * 8 for m in (2, 2, 1, 1) for _ in range(2)]


def test_zipped_points_and_frames_are_rows() -> None:
    """Axes that go together, as a mapping or as a DataFrame."""
    points = {"m": [3, 1], "k": [5, 7]}
    zipped = pm.sweep(pm.matmul("m", 64, "k"), points, metrics="flops", zipped=True)
    assert zipped["flops"].tolist() == [2 * 3 * 64 * 5, 2 * 1 * 64 * 7]
    pandas.testing.assert_frame_equal(
        zipped, pm.sweep(pm.matmul("m", 64, "k"), pandas.DataFrame(points), metrics="flops")
    )


def test_labels_of_a_program_in_ints_are_swept_too() -> None:
    """m is a label of a matmul of ints: it takes the sizes that are swept."""
    assert pm.sweep(pm.matmul(8, 64, 64), {"m": [1, 2]}, metrics="flops")["flops"].tolist() == [8192, 16384]


def test_formats_and_transforms_are_axes() -> None:
    """Each row is the program cast and transformed so; a mapping of formats is named by itself."""
    formats: list[Any] = ["bf16", "fp8_e4m3", {"B": "int4"}]
    padded = functools.partial(pm.pad, n=64)
    found = pm.sweep(
        pm.matmul(8, "n", 8), {"n": [63, 65], "dtype": formats, "transform": [None, padded]}, metrics="bytes"
    )

    def made(n: int, dtype: Any, make: Any) -> pm.Program:
        base = pm.matmul(8, n, 8)
        program = pm.cast(base, **dtype) if isinstance(dtype, dict) else pm.cast(base, dtype)
        return program if make is None else make(program)  # type: ignore[no-any-return]

    expected = [made(n, each, make).bytes for n in (63, 65) for each in formats for make in (None, padded)]
    assert found["bytes"].tolist() == expected
    assert found["transform"].tolist()[0] == "none"


def test_a_function_is_swept() -> None:
    """A function of the names makes the program of each point, whatever they are."""

    def layer(heads: int, grouped: bool) -> pm.Program:
        return pm.attention(64, 64, 8, heads=heads, kv_heads=1 if grouped else heads)

    found = pm.sweep(layer, {"heads": [2, 4], "grouped": [False, True]}, metrics="bytes_read")
    expected = [layer(heads, grouped).bytes_read for heads in (2, 4) for grouped in (False, True)]
    assert found["bytes_read"].tolist() == expected


def test_blocks_do_not_matter() -> None:
    """The same rows in blocks of any size; with several machines by point within a block."""
    whole = pm.sweep(CUBE, {"n": range(1, 30)}, on="h100-sxm")
    for block in (1, 7, 29, 1000):
        pandas.testing.assert_frame_equal(pm.sweep(CUBE, {"n": range(1, 30)}, on="h100-sxm", block=block), whole)


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors(pool: Any) -> None:
    """Any executor of concurrent.futures gives the same table, rows in order."""
    points = {"n": range(1, 40), "dtype": ["bf16", "fp8"]}
    alone = pm.sweep(CUBE, points, on=["h100-sxm", "l4"], block=20)
    with pool(max_workers=2) as executor:
        found = pm.sweep(CUBE, points, on=["h100-sxm", "l4"], block=20, executor=executor)
    pandas.testing.assert_frame_equal(found, alone)


def test_dask_cluster_of_two_workers() -> None:
    """A Dask client's executor spreads the blocks over its workers, each in a process of its own."""
    distributed = pytest.importorskip("distributed")
    settings_of = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    points = {"n": range(1, 400)}
    with distributed.LocalCluster(**settings_of) as cluster, distributed.Client(cluster) as client:
        found = pm.sweep(CUBE, points, on="h100-sxm", block=100, executor=client.get_executor())
        assert len({client.submit(_process, key=f"{place}", workers=[each]).result()
                    for place, each in enumerate(client.scheduler_info()["workers"])}) == 2  # fmt: skip
    pandas.testing.assert_frame_equal(found, pm.sweep(CUBE, points, on="h100-sxm"))


def _process() -> int:
    import os

    return os.getpid()


def test_work_that_fails_far_away_says_why_and_cancels_the_rest() -> None:
    """The error of one block is the sweep's own; what waits is not done."""
    with ThreadPoolExecutor(1) as executor, pytest.raises(pm.DimensionError, match="positive integer"):
        pm.sweep(CUBE, {"n": [0, *range(1, 2000)]}, metrics="flops", block=1, executor=executor)


def test_ideal_and_fixed_tile() -> None:
    """Some effects at a tile that is given: 1793 in tiles of 256 x 128 is 120 blocks in 2 waves on 108 units."""
    effects = ["roofline", "tile quantization", "wave quantization"]
    found = pm.sweep(CUBE, {"n": [1792, 1793]}, "a100-sxm-80gb", ("time_s", "tile_m", "tile_n", "tile_splits"),
                     effects=effects, tile=(256, 128))  # fmt: skip
    assert (found["time_s"] * 1e6).round(1).tolist() == [40.7, 81.4]
    assert found.iloc[0, -3:].tolist() == [256, 128, 1]


def test_tiles_are_those_of_the_estimate() -> None:
    """The tile that the search takes at each point; none where a program has no contraction."""
    found = pm.sweep(CUBE, {"n": [64, 4096]}, "h100-sxm", ("tile_m", "tile_n", "tile_splits"))
    for n, row in zip((64, 4096), found.to_dict("records"), strict=True):
        tile = pm.estimate(CUBE.at(n=n), "h100-sxm").tile
        assert tile is not None
        assert (row["tile_m"], row["tile_n"], row["tile_splits"]) == (tile.m, tile.n, tile.splits)
    assert pm.sweep(pm.softmax("m", 64), {"m": [8]}, "h100-sxm", "tile_m")["tile_m"].isna().all()


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "empty": ({"points": {"n": []}}, pm.DimensionError, "n has no values"),
    "empty range": ({"points": {"n": range(5, 5)}}, pm.DimensionError, "n has no values"),
    "float": ({"points": {"n": [8, 1.5]}}, pm.DimensionError, "n = 1.5: a size is a whole number"),
    "floats": ({"points": {"n": numpy.linspace(1, 2, 5)}}, pm.DimensionError, "a size is a whole number"),
    "text": ({"points": {"n": ["8"]}}, pm.DimensionError, "a size is a whole number"),
    "truth": ({"points": {"n": [True]}}, pm.DimensionError, "a size is a whole number"),
    "zero": ({"points": {"n": [4, 0]}}, pm.DimensionError, "positive integer"),
    "negative": ({"points": {"n": range(-3, 3)}}, pm.DimensionError, "positive integer"),
    "huge number": ({"points": {"n": [10**30]}}, pm.DimensionError, "beyond 2"),
    "huge range": ({"points": {"n": range(1, 10**12)}}, pm.PerfModelError, "sweep_to"),
    "beyond floats": ({"points": {"n": range(2**60, 2**60 + 2)}}, pm.DimensionError, "beyond 2"),
    "huge product": ({"points": {"n": range(1, 10**5), "batch": range(1, 10**4)}}, pm.PerfModelError, "sweep_to"),
    "unknown name": ({"points": {"nn": [8]}}, pm.LabelError, "no symbol or label 'nn'"),
    "nothing swept": ({"points": {}}, pm.LabelError, "n of matmul has no values"),
    "no mapping": ({"points": [8, 9]}, pm.PerfModelError, "expected a mapping"),
    "no name": ({"points": {8: [8]}}, pm.LabelError, "named by text"),
    "unknown metric": ({"metrics": "flop"}, pm.ExpressionError, "did you mean 'flops'"),
    "no metric": ({"metrics": []}, pm.ExpressionError, "no quantity"),
    "time without a machine": ({"metrics": "time_s"}, pm.ExpressionError, "on="),
    "unknown machine": ({"on": "h100"}, pm.MachineError, "several products"),
    "unknown effect": ({"effects": "wave"}, pm.ExpressionError, "no effect 'wave'"),
    "bad tile": ({"tile": (0, 4)}, pm.DimensionError, "tile="),
    "machine as an axis": ({"points": {"n": [8], "machine": ["l4"]}}, pm.LabelError, "on="),
    "unknown format": ({"points": {"n": [8], "dtype": ["bf17"]}}, pm.FormatError, "bf17"),
    "no transform": ({"points": {"n": [8], "transform": ["fuse"]}}, pm.ExpressionError, "'fuse' is no function"),
    "number for a machine": ({"on": 5}, pm.MachineError, "expected a name"),
    "number for a metric": ({"metrics": 5}, pm.ExpressionError, "no quantity 5"),
    "machine in symbols": (
        {"on": pm.Machine(peak=pm.reals("P"), bandwidth_bytes_per_s=1e9)},
        pm.MachineError,
        "has symbols",
    ),
    "no executor": ({"executor": 4}, pm.PerfModelError, "submit"),
    "no block": ({"block": 0}, pm.PerfModelError, "block=0"),
    "no subject": ({"subject": 4}, pm.PerfModelError, "expected a program"),
    "unequal": ({"points": {"n": [1, 2], "dtype": ["bf16"]}, "zipped": True}, pm.DimensionError, "of one length"),
    "missing": ({"points": pandas.DataFrame({"n": [8, None]})}, pm.DimensionError, "a size is a whole number"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name: str) -> None:
    """What cannot be swept is refused by name, with the rule."""
    given, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        pm.sweep(**{"subject": CUBE, "points": {"n": [8]}} | given)


def test_functions_that_do_not_fit_are_refused() -> None:
    """One that takes other names, and one that returns no program."""
    with pytest.raises(pm.ExpressionError, match="unexpected keyword"):
        pm.sweep(lambda a: CUBE, {"b": [1]})
    with pytest.raises(pm.PerfModelError, match="expected a program"):
        pm.sweep(lambda a: a, {"a": [1]})  # type: ignore[arg-type, return-value]
    with pytest.raises(pm.LabelError, match="has no values"):
        pm.sweep(lambda a: pm.matmul(a, "n", 4), {"a": [1]}, metrics="flops")


@pytest.mark.parametrize("block", [2, 100])
def test_the_table_shares_no_memory_with_the_points(block: int) -> None:
    """Points of a DataFrame are copied: to write in the table leaves them as they were, and the other way round."""
    points = pandas.DataFrame({"n": [64, 128, 192], "m": [1, 2, 3]})
    table = pm.sweep(pm.matmul("m", "n", 8), points, metrics="flops", block=block)
    table.loc[0, "n"] = 7
    points.loc[1, "n"] = 9
    assert table["n"].tolist() == [7, 128, 192]
    assert points["n"].tolist() == [64, 9, 192]
    assert table["flops"].tolist() == [2 * 8 * 64 * 1, 2 * 8 * 128 * 2, 2 * 8 * 192 * 3]


def test_a_lambda_cannot_be_sent_to_another_process() -> None:
    """The message says what to write instead; a thread takes it."""
    with ProcessPoolExecutor(1) as executor, pytest.raises(pm.PerfModelError, match="a def at the top of a module"):
        pm.sweep(lambda n: pm.matmul(n, n, n), {"n": [1, 2]}, metrics="flops", executor=executor)
    with ThreadPoolExecutor(1) as executor:
        found = pm.sweep(lambda n: pm.matmul(n, n, n), {"n": [1, 2]}, metrics="flops", executor=executor)
    assert found["flops"].tolist() == [2 * 1**3, 2 * 2**3]


def test_an_executor_that_is_shut_down_takes_no_work() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(pm.PerfModelError, match="takes no work"):
        pm.sweep(CUBE, {"n": [1, 2]}, metrics="flops", executor=executor)


def test_a_missing_value_of_a_table_is_named() -> None:
    """Not the whole number beside it, which pandas made a float."""
    with pytest.raises(pm.DimensionError, match="n holds nan, a missing value"):
        pm.sweep(CUBE, pandas.DataFrame({"n": [1, None]}), metrics="flops")


def test_no_machine_at_all_is_refused() -> None:
    with pytest.raises(pm.PerfModelError, match=r"on=\[\] holds no machine"):
        pm.sweep(CUBE, {"n": [1]}, on=[])
