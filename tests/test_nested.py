"""Tiles inside tiles: what each level asks of the one around it, by formula and by running it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from staging import REFUSED, arrays_of, assert_same_values, cuts
from strategies import fusings, staged

import perfmodel as pm
from perfmodel.expressions import bind
from perfmodel.graph.intervals import Trip
from perfmodel.graph.tile_sums import sum_over_tiles

LAW = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])

# What tiles inside tiles refuse, besides what one level does.
NESTED_REFUSED = (*REFUSED, "share a scale", "names look-ups")


def blocked(program: pm.Program, *levels: tuple[str, int]) -> pm.Program:
    """A product in square tiles at several levels: m and n in the grid, k streamed."""
    for level, size in levels:
        program = pm.tile(program, grid={"m": size, "n": size}, stream={"k": size}, level=level)
    return program


def moved(program: pm.Program, level: str) -> dict[tuple[str, str], Any]:
    """Elements by tensor and direction that a level serves."""
    return {(row[1], row[2]): row[3] for row in program.traffic(level).rows}


def counted(run: Any, level: str) -> dict[tuple[str, str], int]:
    """The same as a run counted it."""
    counts = run.levels[level]
    found = {(name, "read"): number for name, number in counts.loads.items() if number}
    return found | {(name, "write"): number for name, number in counts.stores.items() if number}


def test_each_level_of_a_blocked_product_asks_by_its_own_tiles() -> None:
    """A is read n / T times from each level; C goes back and forth once a trip of the loop outside."""
    p = blocked(pm.matmul(256, 256, 256), ("l2", 64), ("shared", 16), ("registers", 4))
    n = 256
    assert moved(p, "memory") == {("A", "read"): n**3 // 64, ("B", "read"): n**3 // 64, ("C", "write"): n**2}
    assert moved(p, "l2") == {
        ("A", "read"): n**3 // 16, ("B", "read"): n**3 // 16,
        ("C", "read"): n**2 * (n // 64), ("C", "write"): n**2 * (n // 64),  # each of 4 trips of k goes on with C
    }  # fmt: skip
    assert moved(p, "shared") == {
        ("A", "read"): n**3 // 4, ("B", "read"): n**3 // 4,
        ("C", "read"): n**2 * (n // 16), ("C", "write"): n**2 * (n // 16),
    }  # fmt: skip
    assert p.flops == 2 * n**3


def test_levels_stand_in_their_order_however_they_are_given() -> None:
    """l2 around shared around registers, whichever is tiled first."""
    levels = [("registers", 4), ("l2", 64), ("shared", 16)]
    p = blocked(pm.matmul(256, 256, 256), *levels)
    assert p.counted == blocked(pm.matmul(256, 256, 256), *sorted(levels, key=lambda item: -item[1])).counted
    assert [tiling.level for tiling in p.kernels[0].tiles] == ["l2", "shared", "registers"]


def test_the_formulas_of_three_levels_are_those_of_any_size() -> None:
    """Bound at ragged sizes they give what the same tiles in ints give."""
    m, n, k = pm.dims("m n k")
    p = blocked(pm.matmul(m, n, k), ("l2", 12), ("shared", 4), ("registers", 2))
    assert moved(p, "l2")["A", "read"] == m * k * pm.ceil_div(n, 4)
    values = {"m": 37, "n": 29, "k": 50}
    concrete = blocked(pm.matmul(37, 29, 50), ("l2", 12), ("shared", 4), ("registers", 2))
    for level in ("memory", "l2", "shared"):
        bound = {key: bind(size, {m: 37, n: 29, k: 50}) for key, size in moved(p, level).items()}
        assert bound == moved(concrete, level)
        assert moved(p.at(values), level) == moved(concrete, level)


def test_a_ragged_outer_tile_is_cut_by_its_own_length() -> None:
    """10 = 6 + 4 in tiles of 6, cut again in 4: tiles of 4, 2 and 4, so A is read 2 + 1 times as a whole."""
    p = pm.tile(pm.tile(pm.matmul(8, 10, 8), n=6, level="l2"), n=4)
    assert moved(p, "memory")["A", "read"] == 8 * 8 * 2
    assert moved(p, "l2")["A", "read"] == 8 * 8 * (2 + 1)


def test_a_softmax_in_passes_hands_its_statistics_to_the_outer_tile() -> None:
    """The maximum is read back in each outer trip of the sum's pass and of the quotient's."""
    p = pm.tile(pm.tile(pm.fuse(pm.softmax(8, 32)), grid={"m": 4}, stream={"n": 8}, level="l2"), m=2)
    run = pm.simulate(p, {"x": np.random.default_rng(0).normal(size=(8, 32))})
    assert moved(p, "l2") == counted(run, "l2")
    trips = 32 // 8
    assert moved(p, "l2")["x", "read"] == 3 * 8 * 32  # a pass for the maximum, the sum and the quotient
    assert moved(p, "l2")["max", "read"] == 3 * 8 * trips  # its own pass goes on with it, two more use it


def test_halos_of_an_inner_tile_are_read_from_the_outer_one() -> None:
    """A window of 3 over 12 outputs in tiles of 6 cut in 2: 6 + 2 elements an outer tile, 2 + 2 an inner one."""
    x, w = (
        pm.tensor("x", {"batch": 1, "group": 1, "c": 1, "h": 14, "w": 1}),
        pm.tensor("w", {"group": 1, "f": 1, "c": 1, "r": 3, "s": 1}),
    )
    p = pm.tile(pm.tile(pm.program(pm.conv2d(x, w).named("y")), p=6, level="l2"), p=2)
    assert moved(p, "memory")["x", "read"] == 2 * (6 + 2)
    assert moved(p, "l2")["x", "read"] == 6 * (2 + 2)


def test_footprints_stand_by_level_and_the_innermost_is_the_programs() -> None:
    """A and B tiles of bf16, and C, at both levels."""
    p = blocked(pm.matmul(256, 256, 256), ("l2", 64), ("shared", 16))
    rows = {(row[1], row[3]): row[4] for row in p.footprint().rows}
    assert rows == {("l2", name): 64 * 64 * 2 for name in "ABC"} | {("shared", name): 16 * 16 * 2 for name in "ABC"}
    assert p.footprint_bytes == 3 * 16 * 16 * 2


def test_each_level_has_its_own_capacity() -> None:
    """The level that overflows is named."""
    outer = blocked(pm.matmul(256, 256, 256), ("l2", 64))
    with pytest.raises(pm.CapacityError, match="bytes of 'shared', which has 1000"):
        pm.tile(outer, grid={"m": 16, "n": 16}, stream={"k": 16}, capacity_bytes=1000)


def test_a_level_that_no_tile_names_is_refused() -> None:
    """The levels that there are stand in the message."""
    with pytest.raises(pm.LabelError, match="no tiles that ask 'l1'; its levels are l2, memory"):
        blocked(pm.matmul(64, 64, 64), ("l2", 16), ("shared", 4)).traffic("l1")
    with pytest.raises(pm.LabelError, match=r"no tiles that ask \[\]"):
        pm.matmul(64, 64, 64).traffic([])  # type: ignore[arg-type]


def test_check_runs_tiles_inside_tiles() -> None:
    """Values and counts of every level, at small sizes with ragged edges."""
    assert pm.check(blocked(pm.matmul("m", "n", "k"), ("l2", 256), ("shared", 64), ("registers", 8)))


def test_a_tile_larger_than_its_extent_issues_a_whole_tile() -> None:
    """100 rows in one tile of 128: a useful share of 100 / 128."""
    p = pm.tile(pm.matmul(100, 256, 64), m=128, n=128)
    assert p.issued_flops == 2 * 128 * 256 * 64
    assert p.flops == 2 * 100 * 256 * 64


@given(st.integers(1, 200), st.integers(1, 30), st.integers(1, 12))
def test_a_sum_over_tiles_is_the_sum_of_each(extent: int, outer: int, inner: int) -> None:
    """Terms in the length, in ceilings of it and constants, against adding up tile by tile."""
    length = pm.dims("length")
    count = 3 * length + 2 * length * pm.ceil_div(length, inner) + 5
    lengths = [min(outer, extent - start) for start in range(0, extent, outer)]
    expected = sum(3 * size + 2 * size * -(-size // inner) + 5 for size in lengths)
    assert sum_over_tiles(count, length, Trip("n", outer, extent)) == expected


@LAW
@given(st.data())
def test_nested_tiles_count_as_they_run_and_return_the_same_values(data: st.DataObject) -> None:
    """Random programs at two or three levels: loads and stores of every level, work and values."""
    program = data.draw(fusings(data.draw(staged())))
    cut = program
    for level in data.draw(st.sampled_from([("l2", "shared"), ("l2", "shared", "registers")])):
        for name, grid, stream in data.draw(cuts(cut)):
            try:
                cut = pm.tile(cut, grid=grid, stream=stream, only=name, level=level)
            except (pm.TransformError, pm.DimensionError) as error:
                if not any(reason in str(error) for reason in NESTED_REFUSED):
                    raise
    arrays = arrays_of(program)
    with np.errstate(all="ignore"):
        run, plain = pm.simulate(cut, arrays), pm.simulate(program, arrays)
    assert_same_values(run, plain)
    assert +run.counts.operations == {unit: n for unit, n in cut.flops_by_unit.items() if n}
    for level in run.levels:
        kernels = [item.levels.get(level, ()) for item in cut.counted]
        formula: dict[tuple[str, str], int] = {}
        for item in [item for found in kernels for item in found if item.elements != 0]:
            formula[item.tensor, item.direction] = formula.get((item.tensor, item.direction), 0) + item.elements
        assert formula == counted(run, level)


def test_a_ragged_tile_that_only_the_middle_level_cuts_is_issued_whole() -> None:
    """9 rows in outer tiles of 4 and inner ones of 2 are 5 inner tiles, the last with one row: 10 rows are issued."""
    p = pm.tile(pm.matmul("m", 2, 2), stream={"k": 1}, level="registers")
    p = pm.tile(pm.tile(p, m=2, level="shared"), stream={"m": 4}, level="l2")
    assert p.at(m=9).issued_flops == 2 * (5 * 2) * 2 * 2
    assert pm.evaluate(p.issued_flops, m=9) == 2 * (5 * 2) * 2 * 2
    assert p.at(m=9).flops == 2 * 9 * 2 * 2


def test_an_inner_tile_that_holds_the_outer_one_issues_no_more_than_it() -> None:
    """Rows in outer tiles of 1, and inner ones of 2 at two levels, which cut nothing: m rows are issued."""
    p = pm.tile(pm.matmul("m", 2, 2), stream={"m": 2}, level="registers")
    p = pm.tile(pm.tile(p, stream={"m": 2}, level="shared"), m=1, level="l2")
    for rows in (1, 3):
        assert p.at(m=rows).issued_flops == pm.evaluate(p.issued_flops, m=rows) == 2 * rows * 2 * 2
