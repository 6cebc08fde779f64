"""``split`` of an ``online`` loop: flash-decoding and its like, whose running results a second kernel combines."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.strategies import DrawFn
from staging import evaluated, loads, normal, simulated, stores

import perfmodel as pm
from perfmodel.simulation.tallying import count_differences

LAW = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def decoding(program: pm.Program, parts: Any) -> pm.Program:
    """Fused, online over the keys, and these in parts."""
    return pm.split(pm.online(pm.fuse(program), "kv"), kv=parts)


def assert_runs(p: pm.Program, plain: pm.Program, seed: int = 0) -> None:
    """Counts are those of the run at each level; values those of the plain program in float64, within 1e-12."""
    arrays = normal(plain, seed)
    run, expected = simulated(p, arrays), simulated(plain, arrays)
    assert count_differences(p, run.levels) == []
    for name, values in expected.values.items():
        np.testing.assert_allclose(run.values[name], values, rtol=1e-12, atol=1e-12)


# what it is made of, and what it costs

KV, D, DV, HEADS, PARTS = 10, 4, 3, 4, 4


def test_each_part_keeps_a_maximum_a_sum_and_an_output_and_a_second_kernel_combines_them() -> None:
    """(m, l, O) leave the first kernel in the accumulator's format, one of each a part."""
    p = decoding(pm.attention(1, KV, D, DV, heads=HEADS, kv_heads=2), PARTS)
    first, second = p.kernels
    assert first.made[-1:] + second.needed == ("O_sum_partial", "max_partial", "sum_partial", "O_sum_partial")
    assert first.online == ("kv",)
    assert (p.labels["kv_part"], p.labels["kv"]) == (4, 3)  # ceil(10 / 4)
    assert {p.tensors[name].format.name for name in second.needed} == {"fp32"}
    assert [op.function for op in second.ops] == ["max", "sub", "exp", "mul", "sum", "mul", "sum", "div"]


def test_what_a_split_loop_moves() -> None:
    """K, V and Q once; dv + 2 values of each row and part written and read; the output once."""
    p = decoding(pm.attention(1, KV, D, DV, heads=HEADS, kv_heads=2), PARTS)
    rows = PARTS * HEADS
    partial = Counter({"max_partial": rows, "sum_partial": rows, "O_sum_partial": rows * DV})
    assert loads(p) == Counter({"Q": HEADS * D, "K": 2 * KV * D, "V": 2 * KV * DV}) + partial
    assert stores(p) == partial + Counter({"O": HEADS * DV})


def test_combining_costs_2_dv_and_4_for_each_row_and_part() -> None:
    """A comparison, a subtraction, l scaled and added, each element of O scaled and added; one exponential."""
    plain = pm.online(pm.fuse(pm.attention(1, KV, D, DV, heads=HEADS, kv_heads=2)), "kv")
    p = pm.split(plain, kv=PARTS)
    rows = PARTS * HEADS
    assert p.flops - plain.flops == (2 * DV + 4) * rows
    assert p.flops_by_unit["special"] - plain.flops_by_unit["special"] == rows
    assert p.macs == plain.macs


def test_grouped_heads_stay_inside_the_block() -> None:
    """A part of K and V is read once for all the query heads that share it, whatever streams it."""
    p = decoding(pm.attention(1, KV, D, DV, heads=HEADS, kv_heads=2), PARTS)
    cut = pm.tile(p, grid={"kv_head": 1, "kv_part": 1}, stream={"kv": 2}, only="attention")
    assert (loads(cut)["K"], loads(cut)["V"]) == (2 * KV * D, 2 * KV * DV)
    assert loads(cut)["Q"] == PARTS * (HEADS * D)
    assert cut.kernels[1] == p.kernels[1]  # the stage of what combines is another


def test_parts_in_symbols() -> None:
    """The combination as a formula; K and V once each, and no ragged end is left over."""
    kv, d, parts = pm.dims("kv d S")
    plain = pm.online(pm.fuse(pm.attention(1, kv, d, heads=8, kv_heads=2)), "kv")
    p = pm.split(plain, kv=parts)
    assert sympy.expand(p.flops - plain.flops - 8 * parts * (2 * d + 4)) == 0
    assert sympy.expand(p.elements_read - plain.elements_read - 8 * parts * (d + 2)) == 0
    assert sympy.expand(p.elements_written - plain.elements_written - 8 * parts * (d + 2)) == 0
    cut = pm.tile(p, grid={"kv_part": 1}, stream={"kv": 64}, only="attention")
    trips = parts * pm.ceil_div(pm.ceil_div(kv, parts), 64)
    assert sympy.expand(cut.flops - p.flops - 8 * trips * (d + 2)) == 0
    at = {kv: 1000, d: 4, parts: 7}
    exact = pm.tile(decoding(pm.attention(1, 1000, 4, heads=8, kv_heads=2), 7), grid={"kv_part": 1},
                    stream={"kv": 64}, only="attention")  # fmt: skip
    assert (evaluated(cut.flops, at), evaluated(cut.elements_read, at)) == (exact.flops, exact.elements_read)


def test_each_part_corrects_as_its_own_maximum_moves() -> None:
    """[1, 3 | 2, 5]: m = 3 and l = e^-2 + 1; m = 5 and l = e^-3 + 1; together (e^-2 + 1) e^-2 + e^-3 + 1."""
    p = pm.split(pm.online(pm.fuse(pm.softmax(1, 4)), "n"), n=2)
    cut = pm.tile(p, grid={"n_part": 1}, stream={"n_inner": 1}, only="softmax")
    run = simulated(cut, {"x": np.array([[1.0, 3.0, 2.0, 5.0]])}, watch=("sum_partial", "sum"))
    seen = [(name, float(values.reshape(-1)[0])) for _, name, values in run.watched]
    assert seen == [
        ("sum_partial", 1.0),
        ("sum_partial", pytest.approx(np.exp(-2) + 1)),
        ("sum_partial", 1.0),
        ("sum_partial", pytest.approx(np.exp(-3) + 1)),
        ("sum", pytest.approx((np.exp(-2) + 1) * np.exp(-2) + np.exp(-3) + 1)),
    ]


# other programs


def test_a_softmax_is_split_and_reads_its_row_again_for_the_quotients() -> None:
    """m and l of each part; then the exponentials again, over the whole row."""
    plain = pm.softmax(4, 10)
    p = pm.split(pm.online(pm.fuse(plain), "n"), n=4)
    assert loads(p) == Counter({"x": 2 * (4 * 10), "max_partial": 4 * 4, "sum_partial": 4 * 4})
    assert stores(p) == Counter({"max_partial": 4 * 4, "sum_partial": 4 * 4, "y": 4 * 10})
    assert_runs(p, plain)
    tiled = pm.tile(p, grid={"m": 2, "n_part": 1}, stream={"n_inner": 2}, only="softmax")
    assert_runs(pm.tile(tiled, grid={"m": 2}, stream={"n": 3}, only="softmax_combine"), plain)


def log_sum_exp(with_weights: bool) -> pm.Program:
    x = pm.tensor("x", {"m": 5, "n": 7})
    top = pm.max(x, "n")
    weights = pm.exp(x - top)
    found = (top + pm.log(pm.sum(weights, "n"))).named("L")
    return pm.program(found, *[weights.named("w")] * with_weights, name="lse")


@pytest.mark.parametrize("with_weights", [False, True])
def test_a_log_sum_exp_is_split_and_its_weights_wait_for_the_whole_maximum(with_weights: bool) -> None:
    """x once for m and l in parts; and again for the weights, where they are wanted."""
    plain = log_sum_exp(with_weights)
    p = pm.split(pm.online(pm.fuse(plain), "n"), n=3)
    assert loads(p)["x"] == (1 + with_weights) * 5 * 7
    assert_runs(p, plain)


def test_a_norm_before_a_matmul_is_split_into_sums_that_need_no_correction() -> None:
    """The mean of squares and the product, in parts; the factor 1 / sqrt stands behind both."""
    x, w, b = pm.tensor("x", {"m": 6, "n": 10}), pm.tensor("w", {"n": 10}), pm.tensor("W", {"n": 10, "k": 5})
    plain = pm.program(pm.einsum("mn,nk->mk", pm.rmsnorm(x, "n", weight=w), b).named("y"), name="norm")
    p = pm.split(pm.online(pm.fuse(plain), "n"), n=3)
    assert p.kernels[1].needed == ("mean_partial", "y_sum_partial")
    assert p.flops_by_unit["special"] == 6
    assert_runs(pm.tile(p, grid={"n_part": 1, "m": 4}, stream={"n": 2}, only="norm"), plain)


def test_a_combination_is_streamed_online_and_split_in_turn() -> None:
    """What combines is a loop over the parts like the one before it: the same rules rewrite it."""
    plain = pm.attention(3, 23, 4, heads=2, lse=True)
    p = pm.online(decoding(plain, 6), "kv_part", only="attention_combine")
    assert_runs(pm.tile(p, grid={"q": 2}, stream={"kv_part": 4}, only="attention_combine"), plain)
    tree = pm.split(p, kv_part=2)
    assert [kernel.name for kernel in tree.kernels][1:] == ["attention_combine", "attention_combine_combine"]
    assert_runs(tree, plain)


def test_two_labels_that_are_online_are_split_together() -> None:
    """A maximum and sums over n and j: parts of both, combined over one and then over the other."""
    x, v = pm.tensor("x", {"m": 5, "n": 7, "j": 6}), pm.tensor("v", {"n": 7, "j": 6, "k": 3})
    w = pm.exp(x - pm.max(x, ("n", "j")))
    plain = pm.program((pm.einsum("mnj,njk->mk", w, v) / pm.sum(w, ("n", "j"))).named("y"))
    p = pm.split(pm.online(pm.online(pm.fuse(plain), "n"), "j"), n=3, j=4)
    assert len(p.kernels) == 3
    assert_runs(p, plain)
    assert_runs(pm.tile(p, grid={"n_part": 1, "j_part": 1}, stream={"n": 2, "j": 1}, only="y"), plain)


# masks


def test_a_causal_mask_of_one_query_allows_every_key_and_is_dropped() -> None:
    """The last query stands at the last key: the formulas are those without a mask."""
    kv, d = pm.dims("kv d")
    masked = decoding(pm.attention(1, kv, d, causal=True), 4).kernels[0]
    assert [op.mask for op in masked.ops] == [None] * len(masked.ops)
    assert masked.ops == decoding(pm.attention(1, kv, d), 4).kernels[0].ops


def test_a_part_without_an_allowed_pair_holds_0_and_minus_infinity() -> None:
    """12 keys in 4 parts of 3, of which a window of 4 meets the last two: only these are loaded."""
    plain = pm.attention(1, 12, 2, 3, causal=True, window=4)
    p = pm.tile(decoding(plain, 4), grid={"kv_part": 1}, only="attention")
    run = simulated(p, normal(plain), watch=("max_partial", "sum_partial", "O_sum_partial"))
    for _, name, values in run.watched[: 2 * 3]:
        assert np.all(values[..., :1] == (-np.inf if name == "max_partial" else 0))
    assert (loads(p)["K"], loads(p)["V"]) == (2 * 3 * 2, 2 * 3 * 3)
    assert p.flops_by_unit["matrix"] == 2 * 4 * (2 + 3)  # the pairs of the window
    assert_runs(p, plain)


def test_tiles_of_parts_under_a_window_as_a_formula() -> None:
    """The tiles that a window meets, over parts in symbols."""
    kv, d = pm.dims("kv d")
    cut: dict[str, Any] = {"grid": {"kv_part": 1}, "stream": {"kv": 2}, "only": "attention"}
    formulas = pm.tile(decoding(pm.attention(1, kv, d, causal=True, window=4), 3), **cut)
    for keys in (11, 15, 16):
        exact = pm.tile(decoding(pm.attention(1, keys, 2, causal=True, window=4), 3), **cut)
        at = {kv: keys, d: 2}
        assert evaluated(formulas.flops, at) == exact.flops
        assert evaluated(formulas.elements_read, at) == exact.elements_read
        assert evaluated(formulas.issued_flops, at) == exact.issued_flops


def test_a_row_without_a_key_stays_zero() -> None:
    """5 rows and 3 keys, causal from the end: two rows see none; 0 is kept by one select a partial result."""
    plain = pm.attention(5, 3, 2, dv=4, causal=True, lse=True)
    p = decoding(plain, 2)
    assert [op.function for op in p.kernels[1].ops].count("where") == 3  # sums, outputs, and the quotient
    run = simulated(p, normal(plain))
    assert np.all(run.values["O"][..., :2, :] == 0)
    assert np.all(run.values["L"][..., :2] == -np.inf)
    assert_runs(p, plain)


def test_outer_tiles_do_not_cut_parts_under_a_mask() -> None:
    """Positions of a mask count from the first key, not from a tile's corner."""
    p = decoding(pm.attention(4, 12, 2, causal=True), 3)
    outer = pm.tile(p, grid={"kv_part": 1}, level="l2", only="attention")
    said = "'scores' is masked over 'kv_part' and its keys are in parts, of which a tile of 'l2' has some"
    with pytest.raises(pm.TransformError, match=said):
        pm.tile(outer, stream={"kv": 2}, only="attention")


# values and counts of runs


@pytest.mark.parametrize("inner", [{"stream": {"kv": 2}}, {"grid": {"kv_part": 1}, "stream": {"kv": 3}}])
@pytest.mark.parametrize("outer", [{"grid": {"kv_part": 1}, "stream": {"kv": 4}}, {"grid": {"kv_part": 2}}])
def test_tiles_inside_tiles_of_parts_count_as_they_run(outer: dict[str, Any], inner: dict[str, Any]) -> None:
    """Where a part of a tile ends counts from the tile's own corner."""
    plain = pm.attention(2, 23, 4, 3, heads=4, kv_heads=2, lse=True)
    p = pm.tile(decoding(plain, 3), **outer, level="l2", only="attention")
    assert_runs(pm.tile(p, **inner, only="attention"), plain)


@st.composite
def decodings(draw: DrawFn) -> tuple[pm.Program, pm.Program]:
    """Attention of random sizes, its keys in parts that need not divide, in tiles that need not divide either."""
    q, kv = draw(st.integers(1, 4)), draw(st.integers(2, 11))
    kv_heads = draw(st.integers(1, 2))
    heads = kv_heads * draw(st.integers(1, 3))
    kinds = [{}, {}, {"causal": True}, {"causal": True, "window": 3}, {"window": 2}, {"chunk": 3}]
    mask: dict[str, Any] = draw(st.sampled_from(kinds))
    mask = {**mask, "align": draw(st.sampled_from(["end", "start"]))} if mask else mask
    plain = pm.attention(q, kv, 2, 3, heads=heads, kv_heads=kv_heads, lse=draw(st.booleans()), **mask)
    p = decoding(plain, draw(st.integers(2, kv)))
    where = {label: draw(st.sampled_from(["grid", "stream", ""])) for label in ("kv_part", "kv", "q")}
    where["kv"] = where["kv"] and "stream"
    cuts: dict[str, dict[str, int]] = {"grid": {}, "stream": {}}
    for label in draw(st.permutations(list(where))):
        place = where[label]
        cuts.setdefault(place, {})[label] = draw(st.integers(1, int(p.labels[label])))
    if cuts["grid"] or cuts["stream"]:
        p = pm.tile(p, grid=cuts["grid"], stream=cuts["stream"], only="attention")
    return plain, p


@LAW
@given(decodings(), st.integers(0, 5))
def test_flash_decoding_counts_as_it_runs_and_is_attention(drawn: tuple[pm.Program, pm.Program], seed: int) -> None:
    """Any parts, tiles, masks and grouped heads: counts are those of the run, values within 1e-12."""
    plain, p = drawn
    assert_runs(p, plain, seed)
    assert p.issued_flops >= p.flops


def test_rounding_of_parts_is_bounded() -> None:
    """Partial results in fp32, each rounded when it is written."""
    assert pm.check(decoding(pm.attention(2, 23, 4, heads=2), 3), rounding=True)


def test_check_agrees_in_symbols() -> None:
    """Numbers of parts, tiles and all sizes in symbols."""
    kv, d, parts = pm.dims("kv d S")
    p = decoding(pm.attention(1, kv, d, heads=8, kv_heads=2, lse=True), parts)
    assert pm.check(pm.tile(p, grid={"kv_part": 1}, stream={"kv": 64}, only="attention"))


# refusals


def test_what_cannot_be_split_is_refused_by_the_op() -> None:
    """Tiles come after; windows have no parts; a gradient comes before."""
    p = pm.online(pm.fuse(pm.attention(4, 8, 4)), "kv")
    with pytest.raises(pm.TransformError, match="kernel 'attention' is tiled; split first"):
        pm.split(pm.tile(p, grid={"q": 2}), kv=2)
    with pytest.raises(pm.TransformError, match="'scores' reads 'K' at 4\\*kv_part \\+ kv: 'kv' belongs to"):
        pm.split(pm.split(p, kv=2), kv=2)
    with pytest.raises(pm.TransformError, match="'scores' is split; take the gradient first"):
        pm.grad(pm.split(p, kv=2))
