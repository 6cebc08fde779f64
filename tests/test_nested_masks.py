"""Masks inside nested levels: what is wholly masked is skipped at every level, by formula and by running it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from staging import arrays_of, assert_same_values
from strategies import masks

import perfmodel as pm
from perfmodel.graph.building import reduced
from perfmodel.graph.masks import Mask
from perfmodel.simulation.tallying import count_differences

LAW = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
LEVELS = ("l2", "shared", "registers")
ORDERS = st.permutations(["q", "kv"])


def attended(mask: Mask, queries: int, keys: int) -> pm.Program:
    """Softmax-attention under any mask, in one kernel, as tensors write it."""
    q, k, v = [
        pm.tensor(name, {"head": 2, label: n, axis: 2})
        for name, label, n, axis in (("Q", "q", queries, "d"), ("K", "kv", keys, "d"), ("V", "kv", keys, "dv"))
    ]
    scores = pm.einsum("head q d, head kv d -> head q kv", q, k, mask=mask)
    return pm.fuse(pm.program(pm.einsum("head q kv, head kv dv -> head q dv", pm.softmax(scores, "kv"), v).named("O")))


@st.composite
def attentions(draw: st.DrawFn) -> pm.Program:
    """Attention under a random mask, some of it online in its keys."""
    p = attended(draw(masks()), draw(st.integers(1, 9)), draw(st.integers(1, 9)))
    return pm.online(p, "kv") if draw(st.booleans()) else p


def read(program: pm.Program, level: str) -> dict[str, int]:
    """Elements that a level is asked for, by tensor."""
    return {row[1]: row[3] for row in program.traffic(level).rows if row[2] == "read"}


def assert_runs_as_counted(cut: pm.Program, plain: pm.Program) -> None:
    """Loads and stores of every level, the work and the values."""
    arrays = arrays_of(plain)
    with np.errstate(all="ignore"):
        run, expected = pm.simulate(cut, arrays), pm.simulate(plain, arrays)
    assert count_differences(cut, run.levels) == []
    assert_same_values(run, expected)
    assert cut.issued_flops >= cut.flops


def causal_in_two_levels(**sizes: Any) -> pm.Program:
    """Causal attention, online, in blocks of 16 rows and keys cut again in 4."""
    p = pm.online(pm.fuse(pm.attention(64, 64, 8, causal=True, **sizes)), "kv")
    p = pm.tile(p, grid={"q": 16}, stream={"kv": 16}, level="l2")
    return pm.tile(p, grid={"q": 4}, stream={"kv": 4})


def test_each_level_of_causal_attention_is_a_staircase_of_its_own() -> None:
    """64 rows: a staircase of 4 steps of 16 from memory, one of 16 steps of 4 from l2; no step above the diagonal."""
    p = causal_in_two_levels()
    d = 8
    assert read(p, "memory")["K"] == (1 + 2 + 3 + 4) * 16 * d
    assert read(p, "l2")["K"] == sum(range(1, 17)) * 4 * d
    assert read(p, "l2")["Q"] == (1 + 2 + 3 + 4) * 16 * d  # once for each outer tile of keys that is visited
    tiles = sum(range(1, 17))  # each of 4 x 4 pairs, issued whole: two products, and 5 vector operations a pair
    matrix = [work.operations for kernel in p.counted for work in kernel.issued if work.unit == "matrix"]
    assert sum(matrix) == 2 * 2 * d * tiles * 4 * 4
    assert p.macs == 2 * d * (64 * 65 // 2)


def test_tiles_that_see_no_key_of_an_outer_tile_ask_for_none_of_it() -> None:
    """A window of 4 in outer tiles of 8 cut in 2: each outer tile meets its own keys and those before it."""
    p = pm.fuse(pm.attention(32, 32, 4, causal=True, window=4), by="stage")
    p = pm.tile(p, grid={"q": 8}, stream={"kv": 8}, level="l2", only="scores")
    p = pm.tile(p, grid={"q": 2}, stream={"kv": 2}, only="scores")
    assert read(p, "memory")["K"] == (1 + 2 + 2 + 2) * 8 * 4
    # Rows 2i and 2i + 1 see keys 2i - 3 to 2i + 1: 3 tiles of 2, of which the first rows lack 2 and the next 1.
    assert read(p, "l2")["K"] == (16 * 3 - 2 - 1) * 2 * 4


def test_masks_in_symbols_are_counted_at_given_sizes() -> None:
    """Tiles along a mask differ from each other: the error says to bind, and bound it is exact."""
    p = pm.fuse(pm.attention("n", "n", 4, causal=True))
    outer = pm.tile(p, grid={"q": 8}, level="l2")
    with pytest.raises(pm.DimensionError, match=r"masks move.*bind the symbols with p.at"):
        pm.tile(outer, grid={"q": 4})
    assert_runs_as_counted(pm.tile(outer.at(n=18), grid={"q": 4}), p.at(n=18))


def test_a_mask_of_unknown_reach_is_counted_at_given_sizes() -> None:
    """The rows and keys are numbers, the window is not."""
    p = pm.tile(pm.fuse(pm.attention(16, 16, 4, causal=True, window="w")), grid={"q": 8}, level="l2")
    with pytest.raises(pm.DimensionError, match="bind the symbols"):
        pm.tile(p, grid={"q": 4})


def test_other_sizes_may_stay_symbols() -> None:
    """The width of a head does not move the mask: bound, the formula is the count."""
    p = pm.online(pm.fuse(pm.attention(20, 20, "d", causal=True)), "kv")
    p = pm.tile(pm.tile(p, grid={"q": 8}, stream={"kv": 8}, level="l2"), grid={"q": 4}, stream={"kv": 4})
    assert read(p, "l2")["K"] == sum(range(1, 6)) * 4 * pm.dims("d")


def test_long_masks_are_counted_by_kinds_of_outer_tiles() -> None:
    """65,536 keys in outer tiles of 1,024: 64 on the diagonal, those below it and those above; then what divides."""
    p = pm.online(pm.fuse(pm.attention(2**16, 2**16, 64, causal=True)), "kv")
    p = pm.tile(pm.tile(p, grid={"q": 1024}, stream={"kv": 1024}, level="l2"), grid={"q": 128}, stream={"kv": 128})
    nested = p.counted[0].nested
    assert nested is not None
    below = 64 * 63 // 2
    assert sorted(share.number for share in nested.shares) == [64, 64, below, below]
    assert read(p, "l2")["K"] == sum(range(1, 2**16 // 128 + 1)) * 128 * 64


def test_a_result_under_a_mask_that_leaves_is_cut_like_the_others() -> None:
    """The scores S are written too: the keys of every op are those of the same inner tiles."""
    q, k = pm.tensor("Q", {"q": 32, "d": 4}), pm.tensor("K", {"kv": 32, "d": 4})
    s = pm.einsum("q d, kv d -> q kv", q, k, mask=pm.causal()).named("S")
    p = pm.fuse(pm.program(s, pm.softmax(s, "kv").named("P")))
    cut = pm.tile(pm.tile(p, grid={"q": 16}, level="l2"), grid={"q": 4}, stream={"kv": 4})
    passes = 3  # maximum, sum and quotient
    assert read(cut, "l2")["K"] == passes * sum(range(1, 9)) * 4 * 4
    assert_runs_as_counted(cut, p)


def test_inner_blocks_that_see_no_key_ask_for_no_queries() -> None:
    """A window of 4 in outer tiles of 8: of the tile of keys before its own, only the first 4 rows of 8 see any."""
    p = pm.fuse(pm.attention(32, 32, 4, causal=True, window=4), by="stage")
    p = pm.tile(p, grid={"q": 8}, stream={"kv": 8}, level="l2", only="scores")
    p = pm.tile(p, grid={"q": 2}, stream={"kv": 2}, only="scores")
    assert read(p, "l2")["Q"] == (4 * 8 + 3 * 2 * 2) * 4  # 4 outer tiles on the diagonal, 3 before it


@LAW
@given(st.data())
def test_masks_inside_nested_tiles_count_as_they_run(data: st.DataObject) -> None:
    """Random masks, sizes and orders at two or three levels, each of which may cut rows, keys and heads."""
    plain = data.draw(attentions())
    cut = plain
    for level in LEVELS[: data.draw(st.integers(2, 3))]:
        sizes = {label: data.draw(st.integers(1, 5)) for label in data.draw(ORDERS)}
        grid = {"q": sizes["q"]} if data.draw(st.booleans()) else {}
        stream = {label: size for label, size in sizes.items() if label not in grid}
        try:
            cut = pm.tile(cut, grid=grid, stream=stream, level=level)
        except pm.TransformError as error:  # of online: the order of loops that it needs
            if "inside the loop that moves it" not in str(error) and "would add to the same" not in str(error):
                raise
    assert_runs_as_counted(cut, plain)


@LAW
@given(masks(), st.integers(1, 24), st.integers(1, 24), st.integers(1, 3), st.integers(1, 3), st.integers(2, 3))
def test_outer_tiles_that_are_whole_inner_tiles_change_nothing_inside(
    mask: Mask, queries: int, keys: int, rows: int, across: int, times: int
) -> None:
    """Then the innermost tiles are those of one level: as many are visited, and K is asked for as often.

    There are two outer tiles along the keys, and two inner ones in each, or more: of one tile, the hull is loaded.
    """
    assume(keys > across * times and not 0 < keys % (across * times) <= across)
    p = pm.online(attended(mask, queries, keys), "kv")
    one = pm.tile(p, grid={"q": rows}, stream={"kv": across})
    outer = pm.tile(p, grid={"q": rows * times}, stream={"kv": across * times}, level="l2")
    two = pm.tile(outer, grid={"q": rows}, stream={"kv": across})
    assert read(two, "l2")["K"] == read(one, "memory")["K"]
    assert (two.macs, two.flops_by_unit["matrix"]) == (one.macs, one.flops_by_unit["matrix"])
    issued = [[w.operations for k in found.counted for w in k.issued if w.unit == "matrix"] for found in (one, two)]
    assert sum(issued[0]) == sum(issued[1])


@pytest.mark.parametrize("function", ["sum", "prod", "max", "min", "mean"])
def test_pairs_that_a_mask_hides_hold_zero_however_they_are_staged(function: str) -> None:
    """Row 0 of 2 sees no key of 1, row 1 does: over b the first is 0 in every staging, a product and a maximum too."""
    q, kv = [pm.tensor(name, {label: n, "b": 2}) for name, label, n in (("Q", "q", 2), ("K", "kv", 1))]
    scores = pm.einsum("q b, kv b -> q kv b", q, kv, mask=Mask("q", "kv", chunk=1, align="end"))
    p = pm.program(reduced(function, scores, "b").named("y"))
    arrays = {"Q": np.full((2, 2), 3.0), "K": np.ones((1, 2))}
    seen = {"sum": 3 + 3, "prod": 3 * 3, "max": 3, "min": 3, "mean": 3}[function]
    fused = pm.fuse(p)
    for stream in ({"kv": 1, "q": 1}, {"q": 1, "kv": 1}, {"q": 2}, {"b": 1}, {"b": 1, "q": 1}):
        assert pm.simulate(pm.tile(fused, stream=stream), arrays).values["y"].tolist() == [[0], [seen]]
    nested = pm.tile(pm.tile(fused, grid={"q": 2}, stream={"b": 1}, level="l2"), grid={"q": 1})
    for staged in (p, fused, pm.tile(fused, grid={"q": 1}), nested):
        assert pm.simulate(staged, arrays).values["y"].tolist() == [[0], [seen]]


@pytest.mark.parametrize(("function", "empty"), [("sum", 0), ("prod", 1), ("max", -np.inf), ("min", np.inf)])
def test_a_row_without_a_key_holds_the_identity_of_its_reduction(function: str, empty: float) -> None:
    """Over the keys, a row that sees none is what the reduction starts from, in every staging."""
    q, kv = pm.tensor("Q", {"q": 3}), pm.tensor("K", {"kv": 2})
    scores = pm.einsum("q, kv -> q kv", q, kv, mask=Mask("q", "kv", right=0))
    p = pm.fuse(pm.program(reduced(function, scores, "kv").named("y")))
    arrays = {"Q": np.full((3,), 2.0), "K": np.ones((2,))}
    seen = [empty, 2, {"sum": 2 + 2, "prod": 2 * 2, "max": 2, "min": 2}[function]]
    for tiles in ({"grid": {"q": 1}}, {"stream": {"kv": 1}}, {"grid": {"q": 2}, "stream": {"kv": 1}}):
        assert pm.simulate(pm.tile(p, **tiles), arrays).values["y"].tolist() == seen
    assert pm.simulate(p, arrays).values["y"].tolist() == seen
