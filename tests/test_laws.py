"""Laws of tiles over random programs, held by execution; and tempting laws that are false, by a counter-example."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from staging import (
    arrays_of,
    assert_counts_as_it_runs,
    assert_same_values,
    cuts,
    evaluated,
    hulls,
    loads,
    operations,
    simulated,
    stores,
    tiled,
)
from strategies import fusings, recipes, staged

import perfmodel as pm

LAW = settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
SHORT = settings(LAW, max_examples=60)


# What tiles of symbols cannot count: masked tiles, and scales that tiles share.
UNCOUNTED = ("bind the symbols", "share a scale")


# laws that hold


@LAW
@given(st.data())
def test_a_tiled_program_counts_as_it_runs_and_returns_the_values_of_the_untiled_one(data: st.DataObject) -> None:
    """Loads, stores and operations of the run are those of the formulas, exactly; values are the same."""
    program = data.draw(staged())
    cut = tiled(program, data.draw(cuts(program)))
    arrays = arrays_of(program, data.draw(st.integers(0, 9)))
    run = simulated(cut, arrays)
    assert_counts_as_it_runs(cut, run)
    assert_same_values(run, simulated(program, arrays))


@SHORT
@given(staged())
def test_an_untiled_program_counts_as_it_runs(program: pm.Program) -> None:
    """A program as it is written loads, stores and does what the traffic rule says (hulls with gaps aside)."""
    assume(not hulls(program))
    assert_counts_as_it_runs(program, simulated(program, arrays_of(program)))


@SHORT
@given(st.data())
def test_fusing_keeps_the_values_and_the_work(data: st.DataObject) -> None:
    """Fusing an untiled program changes no value and no operation, and adds no element moved."""
    program = data.draw(staged())
    fused = data.draw(fusings(program))
    assume(not hulls(program))
    before, after = [simulated(item, arrays_of(program)) for item in (program, fused)]
    assert_same_values(before, after)
    assert after.counts.operations == before.counts.operations
    assert after.counts.loads.total() + after.counts.stores.total() <= (
        before.counts.loads.total() + before.counts.stores.total()
    )


@LAW
@given(st.data())
def test_a_symbolic_program_tiled_and_then_bound_is_the_one_tiled_in_ints(data: st.DataObject) -> None:
    """Tile, then at(): the same counts as building in ints and tiling."""
    recipe = data.draw(recipes())
    program, symbolic = pm.fuse(recipe.program()), pm.fuse(recipe.symbolic())
    chosen = data.draw(cuts(program))
    try:
        bound = at_sizes(tiled(symbolic, chosen), recipe.values)
    except pm.DimensionError as error:  # masked tiles are counted at sizes, not in symbols
        if not any(reason in str(error) for reason in UNCOUNTED):
            raise
        return
    expected = tiled(program, chosen)
    if bound.kernels[0].tiles == expected.kernels[0].tiles:  # one may be refused where the other drops a loop
        assert (loads(bound), stores(bound)) == (loads(expected), stores(expected))
        assert operations(bound) == operations(expected)
        assert bound.bytes == expected.bytes


def at_sizes(program: pm.Program, values: dict[Any, int]) -> pm.Program:
    """The program with the symbols that it has bound."""
    return program.at({symbol: size for symbol, size in values.items() if symbol in program.symbols})


@SHORT
@given(st.data())
def test_formulas_of_tiles_at_sizes_are_the_counts_at_these_sizes(data: st.DataObject) -> None:
    """Binding the formulas of a symbolic tiled program gives what a program of these sizes counts."""
    recipe = data.draw(recipes(verbs=("map", "reduce", "contract", "rename", "input", "window")))
    program, symbolic = pm.fuse(recipe.program()), pm.fuse(recipe.symbolic())
    chosen = data.draw(cuts(program, proper=True))
    expected = tiled(program, chosen)
    try:
        formulas = tiled(symbolic, chosen)
        found = [formulas.elements_read, formulas.elements_written, formulas.flops]
    except pm.DimensionError as error:
        if not any(reason in str(error) for reason in UNCOUNTED):
            raise
        return
    if hulls(formulas) or expected.kernels[0].tiles != formulas.kernels[0].tiles:
        return  # a hull with gaps stands for less where sizes are known
    assert [evaluated(size, recipe.values) for size in found] == [
        expected.elements_read,
        expected.elements_written,
        expected.flops,
    ]


@SHORT
@given(st.data())
def test_a_tile_of_the_full_size_is_untiled(data: st.DataObject) -> None:
    """Cutting every label at its extent gives one block, which counts as none."""
    program = data.draw(staged())
    assume(not hulls(program))
    whole = pm.tile(program, grid=dict(program.labels)) if program.labels else program
    assert (loads(whole), stores(whole)) == (loads(program), stores(program))
    assert operations(whole) == operations(program)


@LAW
@given(st.data())
def test_no_tiling_moves_less_than_what_must_be_moved(data: st.DataObject) -> None:
    """Blocks read each input and write each output at least once: the fused untiled program is a floor."""
    program = pm.fuse(data.draw(recipes(verbs=("map", "reduce", "contract", "input"))).program())
    cut = tiled(program, data.draw(cuts(program)))
    assert cut.bytes_read >= program.bytes_read
    assert cut.bytes_written >= program.bytes_written  # a scale shared by two tiles is written by both
    assert cut.elements_written == program.elements_written
    assert cut.flops >= program.flops


@SHORT
@given(st.data())
def test_issued_work_is_never_less_than_useful_work(data: st.DataObject) -> None:
    """Hardware visits whole tiles, so it issues at least the FLOPs at valid points."""
    program = data.draw(staged())
    cut = tiled(program, data.draw(cuts(program)))
    assert cut.issued_flops >= cut.flops


# tempting laws that are false


def test_splitting_m_does_not_conserve_reads() -> None:
    """Counter-example: cutting only m of a matmul reads B again for each block."""
    p = pm.matmul(64, 64, 64)
    split = pm.tile(p, m=32)
    assert loads(split)["A"] == loads(p)["A"] == 64 * 64
    assert loads(split)["B"] == 2 * loads(p)["B"] == 2 * (64 * 64)  # ceil(64/32) blocks, each reads all of B


@pytest.mark.parametrize(("small", "large"), [(32, 48)])
def test_a_larger_tile_may_move_as_much(small: int, large: int) -> None:
    """Counter-example to "a larger tile moves less": 48 of 64 makes as many blocks as 32."""
    counted = [pm.tile(pm.matmul(64, 64, 64), m=size, n=size) for size in (small, large)]
    assert counted[0].bytes == counted[1].bytes
    assert counted[0].issued_flops == 2 * 64**3
    assert counted[1].issued_flops == 2 * (96 * 96 * 64)  # 2 tiles of 48 a side are issued in full


def test_a_larger_tile_may_move_more() -> None:
    """Counter-example to "a larger tile never moves more": under a causal mask whole tiles of keys are visited.

    Row i of 8 sees i + 1 keys. Tiles of 1 load just these, 1 + 2 + .. + 8 = 36 keys; tiles of 4 load 4 for each of
    the first four rows and 8 for each of the others.
    """
    p = pm.fuse(pm.attention(8, 8, 2, causal=True), by="stage")
    keys = [loads(pm.tile(p, grid={"q": 1}, stream={"kv": size}, only="attention.scores"))["K"] for size in (1, 4)]
    assert keys == [2 * 36, 2 * (4 * 4 + 4 * 8)]
