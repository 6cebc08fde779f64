"""The tables of sweeps: columns with units, an order that does not depend on blocks, and points that are none."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import given, strategies as st

import perfmodel as pm

CUBE = pm.matmul("n", "n", "n")


def test_columns_say_their_units() -> None:
    """Intensity is FLOP a byte, and says so; it may be asked for by either name, once."""
    asked = ["intensity", "flops", "intensity_flops_per_byte"]
    found = pm.sweep(CUBE, {"n": [64]}, metrics=asked)
    assert list(found.columns) == ["n", "intensity_flops_per_byte", "flops"]
    assert list(pm.sweep(CUBE, {"n": [64]}).columns) == ["n", "flops", "bytes", "intensity_flops_per_byte"]


@given(
    st.integers(1, 7), st.integers(1, 30), st.booleans(),
    st.lists(st.sampled_from(["l4", "l40s", "h100-sxm", "tpu-v5e"]), unique=True),
)  # fmt: skip
def test_blocks_and_executors_do_not_change_the_order(count: int, block: int, threads: bool, chips: list[str]) -> None:
    """The table is the same however the points are cut into blocks and whoever answers them."""
    points = {"m": range(1, count + 1), "dtype": ["bf16", "fp32"], "k": [8, 5]}
    program, metrics = pm.matmul("m", 64, "k"), ["flops", *(["time_s", "bound"] if chips else [])]
    whole = pm.sweep(program, points, chips or None, metrics)
    with ThreadPoolExecutor(2) as pool:
        cut = pm.sweep(program, points, chips or None, metrics, block=block, executor=pool if threads else None)
    pandas.testing.assert_frame_equal(cut, whole)


def test_the_files_of_a_sweep_are_in_the_order_of_the_table(tmp_path: Path) -> None:
    """However many points a file has, the folder reads as what sweep returns, machines side by side at each point."""
    points, chips = {"n": range(1, 12)}, ["l4", "h100-sxm"]
    whole = pm.sweep(CUBE, points, chips, ["flops", "time_s"])
    for block in (1, 4, 100):
        written = pm.sweep_to(tmp_path / str(block), CUBE, points, chips, ["flops", "time_s"], block=block)
        found = pandas.read_parquet(written)
        assert found["n"].tolist() == whole["n"].tolist()
        assert found["machine"].tolist() == whole["machine"].tolist()
        assert found["time_s"].tolist() == whole["time_s"].tolist()


@pytest.mark.parametrize("folder", ["", ".", "..", "/", "a/..", "a\0b", 4])
def test_a_folder_has_a_name(folder: Any) -> None:
    """What names no folder is refused before anything is asked."""
    with pytest.raises(pm.PerfModelError, match=r"sweep_to: .* is no folder"):
        pm.sweep_to(folder, CUBE, {"n": [1]})


@given(st.lists(st.integers(1, 2**20), min_size=1, max_size=9), st.booleans())
def test_whole_floats_are_sizes(sizes: list[int], frame: bool) -> None:
    """Floats that are whole, as columns with gaps once had, give the table of the ints."""
    floats: Any = pandas.DataFrame({"n": [float(n) for n in sizes]}) if frame else {"n": [float(n) for n in sizes]}
    expected = pm.sweep(CUBE, {"n": sizes}, metrics="bytes")
    pandas.testing.assert_frame_equal(pm.sweep(CUBE, floats, metrics="bytes"), expected)


def test_a_function_gets_what_is_given() -> None:
    """Floats stay floats for a function of the points, and numbers that are whole may stand beside others."""
    seen: list[Any] = []

    def made(n: int, share: float) -> pm.Program:
        seen.append(share)
        return pm.gemv(int(n * share), 8)

    pm.sweep(made, {"n": [64], "share": [0.5, 1.0]}, metrics="flops")
    assert seen == [0.5, 1.0]
    assert {type(each) for each in seen} == {float}


N = pm.dims("n")
BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "two columns": (
        lambda: pm.sweep(CUBE, pandas.DataFrame([[1, 2]], columns=["n", "n"])), pm.LabelError, "'n' is there twice"),
    "text and symbol": (lambda: pm.sweep(CUBE, {"n": [1], N: [2]}), pm.LabelError, "'n' is there twice"),
    "series": (lambda: pm.sweep(CUBE, pandas.Series([1, 2], name="n")), pm.PerfModelError, "points = 0 1 1 2 Name: n"),
    "no whole float": (lambda: pm.sweep(CUBE, {"n": [64.0, 64.5]}), pm.DimensionError, "n = 64.5: a size"),
    "large float": (lambda: pm.sweep(CUBE, {"n": [2.0**60]}), pm.DimensionError, "at most 2^53 as a float"),
    "large int": (lambda: pm.sweep(CUBE, {"n": [2**70, 1.0]}), pm.DimensionError, "n = 1180591620717411303424"),
    "infinite": (lambda: pm.sweep(CUBE, {"n": [float("inf")]}), pm.DimensionError, "n = inf"),
    "missing": (lambda: pm.sweep(CUBE, pandas.DataFrame({"n": [1.0, None]})), pm.DimensionError, "n holds nan"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_points_that_are_none(name: str) -> None:
    """Each is refused in one line that names it."""
    ask, kind, message = BAD[name]
    with pytest.raises(kind, match=re.escape(message)) as caught:
        ask()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("threads", [False, True])
def test_what_a_function_raises_names_the_point(threads: bool) -> None:
    """The first point at which a function fails, with its own error behind it; of the library's own errors none."""
    points = {"n": [64, 8], "parts": [1, 0]}
    with ThreadPoolExecutor(1) as pool:
        asked: dict[str, Any] = {"executor": pool if threads else None, "metrics": "flops"}
        with pytest.raises(pm.PerfModelError, match=r"sweep: made\(n=64, parts=0\): ZeroDivisionError") as caught:
            pm.sweep(made, points, **asked)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(pm.DimensionError):
        pm.sweep(lambda n: pm.matmul(n, 0, 8), {"n": [1]}, metrics="flops")


def made(n: int, parts: int) -> pm.Program:
    """A program that there is not for no parts."""
    return pm.gemv(n // parts, 8)


@pytest.mark.parametrize(
    "name", ["flops", "bytes", "bound", "time_s", "tile_m", "flops_per_s", "is_least", "intensity_flops_per_byte"]
)
def test_a_size_is_not_lost_under_a_column_of_its_name(name: str, tmp_path: Path) -> None:
    """A size named like a column that is asked for is refused, with the reason, for programs, functions and files."""
    program, points = pm.matmul(name, "n", "n"), {name: [1], "n": [2]}
    columns = {"metrics": name, "on": "h100-sxm"}
    calls: list[Callable[[], Any]] = [
        lambda: pm.sweep(program, points, **columns),
        lambda: pm.sweep(lambda **sizes: pm.matmul(sizes[name], sizes["n"], 8), points, **columns),
        lambda: pm.sweep_to(tmp_path / "files", program, points, **columns),
    ]
    for call in calls:
        with pytest.raises(pm.LabelError, match=f"sweep: {name!r} is a size and a column of the answer"):
            call()
    assert pm.sweep(program, points, metrics="memory_bytes")[name].tolist() == [1]


def test_functions_of_an_axis_are_told_apart_without_addresses() -> None:
    """Lambdas by place, partials by function and arguments, two functions of one name by number."""

    def half(p: pm.Program) -> pm.Program:
        return pm.cast(p, "fp8_e4m3")

    first = half

    def half(p: pm.Program) -> pm.Program:  # type: ignore[no-redef]
        return p

    chosen = [lambda p: p, lambda p: pm.cast(p, "fp32"), functools.partial(pm.cast, dtype="fp32"), first, half,
              functools.partial(lambda p, k: p, k=2), None]  # fmt: skip
    names = ["transform 1", "transform 2", "cast(dtype='fp32')", "half", "half (2)", "transform 6", "none"]
    found = pm.sweep(CUBE, {"transform": chosen, "n": [8]}, metrics="bytes", block=2)
    assert found["transform"].tolist() == names
    with ThreadPoolExecutor(2) as pool:
        again = pm.sweep(CUBE, {"transform": chosen, "n": [8]}, metrics="bytes", block=3, executor=pool)
    pandas.testing.assert_frame_equal(again, found)
    assert found["bytes"].tolist() == [384, 768, 768, 192, 384, 384, 384]  # 3 * 8 * 8 elements of 2, 4 and 1 bytes
    given: list[Any] = []
    pm.sweep(lambda n, make: given.append(make) or CUBE.at(n=n), {"n": [8], "make": chosen[:2]}, metrics="bytes")
    assert given == chosen[:2]


def test_a_tile_that_the_estimate_did_not_choose_is_empty(tmp_path: Path) -> None:
    """Whole numbers where it chose one; <NA> for a program with tiles of its own, no contraction, and a TPU."""
    tiles = ["tile_m", "tile_n", "tile_splits"]
    own = pm.tile(CUBE, m=64, n=64)
    for program, chip in ((own, "h100-sxm"), (pm.elementwise("x + 1", "n"), "h100-sxm"), (CUBE, "tpu-v5e")):
        found = pm.sweep(program, {"n": [1024]}, chip, tiles)
        assert found[tiles].isna().all(axis=None)
    mixed = pm.sweep(CUBE, {"n": [1024, 2048]}, ["h100-sxm", "tpu-v5e"], tiles)
    assert mixed["tile_m"].isna().tolist() == [False, True] * 2
    assert {type(each) for each in mixed["tile_m"].dropna().tolist()} == {int}
    written = pm.sweep_to(tmp_path / "t", CUBE, {"n": [1024, 2048]}, ["h100-sxm", "tpu-v5e"], tiles, block=1)
    assert pandas.read_parquet(written)["tile_m"].isna().tolist() == [False, True] * 2
