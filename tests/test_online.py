"""``online``: FlashAttention's figures derived, values and counts of runs, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.strategies import DrawFn
from staging import Array, assert_counts_as_it_runs, assert_same_values, evaluated, loads, normal, simulated, stores

import perfmodel as pm
from perfmodel.graph import contracted
from perfmodel.graph.schedules import Loop
from perfmodel.simulation.tallying import count_differences

N, D, BQ, BK = pm.dims("n d bq bk")
LAW = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def flash(program: pm.Program, **tiles: Any) -> pm.Program:
    """Fused, online over the keys, and tiled."""
    return pm.tile(pm.online(pm.fuse(program), "kv"), **tiles)


def passes(program: pm.Program) -> list[str]:
    """The outermost loops of the one kernel, in order."""
    tiled = program.counted[0].tiled
    assert tiled is not None
    return [node.label for node in tiled.schedule.body if isinstance(node, Loop)]


# the figures


def test_attention_goes_from_three_passes_to_one() -> None:
    """K is read for the maximum, the sum and the output, or once; V once either way."""
    p = pm.fuse(pm.attention(64, 64, 8))
    cut: dict[str, Any] = {"grid": {"q": 16}, "stream": {"kv": 16}}
    waiting, running = pm.tile(p, **cut), pm.tile(pm.online(p, "kv"), **cut)
    assert (passes(waiting), passes(running)) == (["kv"] * 3, ["kv"])
    blocks = 64 // 16
    assert (loads(waiting)["K"], loads(waiting)["V"]) == (3 * (blocks * 64 * 8), blocks * 64 * 8)
    assert (loads(running)["K"], loads(running)["V"]) == (blocks * 64 * 8, blocks * 64 * 8)


def test_flash_attention_moves_2nd_and_2nd_for_each_query_tile() -> None:
    """Q and O once, K and V once for each of ceil(n/Bq) query tiles; n more where the log-sum-exp is kept."""
    for lse in (False, True):
        p = flash(pm.attention(N, N, D, lse=lse), grid={"q": BQ}, stream={"kv": BK})
        moved = sympy.expand(p.elements_read + p.elements_written)
        assert moved == 2 * N * D + 2 * N * D * sympy.ceiling(N / BQ) + N * int(lse)


def test_rescaling_costs_dv_and_2_for_each_row_and_key_tile() -> None:
    """Of q ceil(kv/Bkv): 1 for the subtraction, 1 for the sum and dv for the output; and one exponential each."""
    q, kv, d, dv = 7, 10, 3, 5
    p = pm.online(pm.fuse(pm.attention(q, kv, d, dv)), "kv")
    cut = pm.tile(p, grid={"q": 3}, stream={"kv": 4})
    trips = 3  # ceil(10 / 4)
    assert cut.flops - p.flops == (dv + 2) * q * trips
    assert cut.flops_by_unit["special"] - p.flops_by_unit["special"] == q * trips
    assert cut.flops_by_unit["matrix"] == p.flops_by_unit["matrix"]


def test_rescaling_in_symbols() -> None:
    """The same as a formula: (d + 2) n ceil(n/Bk) vector FLOPs and n ceil(n/Bk) exponentials."""
    p = pm.online(pm.fuse(pm.attention(N, N, D)), "kv")
    cut = pm.tile(p, grid={"q": BQ}, stream={"kv": BK})
    trips = sympy.ceiling(N / BK)
    assert sympy.expand(cut.flops - p.flops) == sympy.expand((D + 2) * N * trips)
    assert cut.flops_by_unit["special"] - p.flops_by_unit["special"] == N * trips


def test_divisions_fall_from_those_of_the_weights_to_those_of_the_output() -> None:
    """Untiled, only the factor moves: q kv divisions become q dv."""
    q, kv, d, dv = 6, 9, 4, 5
    p = pm.fuse(pm.attention(q, kv, d, dv))
    moved = pm.online(p, "kv")
    assert p.flops - moved.flops == q * kv - q * dv
    assert p.bytes == moved.bytes
    assert [op.name for op in moved.ops] == ["scores", "max", "sub", "exp", "sum", "values", "div_2"]


def test_scores_in_a_block_are_bq_by_bk() -> None:
    """What online buys is footprint: linear in the tiles, and free of n."""
    p = flash(pm.attention(N, N, D), grid={"q": BQ}, stream={"kv": BK})
    assert N not in p.footprint_bytes.free_symbols  # type: ignore[union-attr]
    held = flash(pm.attention(64, 64, 8), grid={"q": 16}, stream={"kv": 4}).footprint().rows
    assert ("attention", "intermediate", "S", 2 * (16 * 4)) in held  # bf16
    assert ("attention", "accumulator", "O_sum", 2 * (16 * 8)) in held


def test_only_visited_tiles_are_rescaled_under_a_causal_mask() -> None:
    """8 rows in tiles of 4, keys in tiles of 2: rows 0..3 visit 2 key tiles, rows 4..7 visit 4."""
    p = pm.online(pm.fuse(pm.attention(8, 8, 2, dv=3, causal=True)), "kv")
    cut = pm.tile(p, grid={"q": 4}, stream={"kv": 2})
    trips = 4 * 2 + 4 * 4
    assert cut.flops - p.flops == (3 + 2) * trips
    assert cut.flops_by_unit["special"] - p.flops_by_unit["special"] == trips


def test_causal_rescaling_in_symbols_is_a_finite_sum() -> None:
    """The sum over query tiles, evaluated, is the count at these sizes."""
    tiles: dict[str, Any] = {"grid": {"q": 4}, "stream": {"kv": 3}}
    symbolic = flash(pm.attention(N, N, D, causal=True, lse=True), **tiles)
    exact = flash(pm.attention(14, 14, 2, causal=True, lse=True), **tiles)
    assert evaluated(symbolic.flops, {N: 14, D: 2}) == exact.flops
    assert symbolic.at(n=14, d=2) == exact


def test_online_softmax_in_two_steps() -> None:
    """[1, 3 | 2, 5]: m = 3 and l = e^-2 + 1; m = 5 and l = (e^-2 + 1) e^-2 + e^-3 + 1; the last probability 1 / l."""
    p = pm.tile(pm.online(pm.fuse(pm.softmax(1, 4)), "n"), stream={"n": 2})
    run = simulated(p, {"x": np.array([[1.0, 3.0, 2.0, 5.0]])}, watch=("max", "sum"))
    seen = [(name, float(values[0])) for _, name, values in run.watched]
    first = np.exp(-2) + 1
    assert seen == [
        ("max", 3.0),
        ("sum", pytest.approx(first)),
        ("max", 5.0),
        ("sum", pytest.approx(first * np.exp(-2) + np.exp(-3) + 1)),
    ]
    assert seen[1][1] == pytest.approx(1.1353, abs=1e-4)
    assert seen[3][1] == pytest.approx(1.2034, abs=1e-4)
    assert run.values["y"][0, -1] == pytest.approx(0.831, abs=1e-3)


def test_a_softmax_goes_from_three_passes_to_two() -> None:
    """The maximum and the sum in one, the quotient in another: x is read twice, not three times."""
    p = pm.fuse(pm.softmax(4, 10))
    cut: dict[str, Any] = {"grid": {"m": 2}, "stream": {"n": 4}}
    waiting, running = pm.tile(p, **cut), pm.tile(pm.online(p, "n"), **cut)
    assert (passes(waiting), passes(running)) == (["n"] * 3, ["n"] * 2)
    assert (loads(waiting)["x"], loads(running)["x"]) == (3 * (4 * 10), 2 * (4 * 10))


def norm_into_matmul(form: str) -> pm.Program:
    x = pm.tensor("x", {"m": 6, "n": 10})
    w, b = pm.tensor("w", {"n": 10}), pm.tensor("W", {"n": 10, "k": 5})
    y = pm.rmsnorm(x, "n", weight=w) if form == "rms" else pm.layernorm(x, "n", form=form)
    return pm.program(pm.einsum("mn,nk->mk", y, b).named("y"), name="norm")


def test_a_norm_before_a_matmul_goes_from_two_passes_to_one() -> None:
    """1 / sqrt(mean of squares) is the same for all terms: applied to 6 x 5 results, not to 6 x 10 operands."""
    p = pm.fuse(norm_into_matmul("rms"))
    moved = pm.online(p, "n")
    cut: dict[str, Any] = {"grid": {"m": 4}, "stream": {"n": 3}}
    assert (passes(pm.tile(p, **cut)), passes(pm.tile(moved, **cut))) == (["n"] * 2, ["n"])
    assert p.flops - moved.flops == 6 * 10 - 6 * 5
    assert pm.tile(moved, **cut).flops == moved.flops  # sums that need no shift need no correction
    arrays = normal(p)
    assert_same_values(simulated(pm.tile(moved, **cut), arrays), simulated(p, arrays))


# values and counts of runs


@st.composite
def attentions(draw: DrawFn) -> tuple[pm.Program, dict[str, dict[str, int]]]:
    """Attention of random sizes, heads and mask, with tiles that need not divide."""
    q, kv = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    kv_heads = draw(st.integers(1, 2))
    mask = draw(st.sampled_from([{}, {"causal": True}, {"causal": True, "window": 3}, {"window": 2}, {"chunk": 3}]))
    mask = {**mask, "align": draw(st.sampled_from(["end", "start"]))} if mask else mask
    p = pm.attention(
        q, kv, 2, 3, heads=kv_heads * draw(st.integers(1, 2)), kv_heads=kv_heads, lse=draw(st.booleans()), **mask
    )
    grid = {"q": draw(st.integers(1, q))} if draw(st.booleans()) else {}
    stream = {"kv": draw(st.integers(1, kv))}
    if not grid and draw(st.booleans()):
        stream["q"] = draw(st.integers(1, q))  # keys outside, queries inside: FlashAttention's first order
    return p, {"grid": grid, "stream": stream}


@LAW
@given(attentions(), st.integers(0, 5))
def test_flash_attention_counts_as_it_runs_and_is_attention(
    drawn: tuple[pm.Program, dict[str, dict[str, int]]], seed: int
) -> None:
    """Any mask, grouped heads, ragged tiles: counts are those of the run, values within 1e-12, rows without a key 0."""
    p, tiles = drawn
    arrays = normal(p, seed)
    cut = flash(p, **tiles)
    run, plain = simulated(cut, arrays), simulated(p, arrays)
    assert_counts_as_it_runs(cut, run)
    assert cut.issued_flops >= cut.flops
    for name, values in plain.values.items():
        np.testing.assert_allclose(run.values[name], values, rtol=1e-12, atol=1e-12)


def reference(arrays: dict[str, Array]) -> Array:
    """softmax(Q K^T) V in numpy, for one head a group."""
    scores = np.einsum("bhgqd,bhkd->bhgqk", arrays["Q"], arrays["K"])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhgqk,bhkd->bhgqd", weights / weights.sum(-1, keepdims=True), arrays["V"])  # type: ignore[no-any-return]


@pytest.mark.parametrize("inside", [{"grid": {"q": 3}}, {"grid": {"q": 2}, "stream": {"d": 2}}, {"stream": {"kv": 2}}])
def test_an_outer_tile_may_stream_the_keys_around_inner_tiles(inside: dict[str, dict[str, int]]) -> None:
    """The outer tile holds maxima and sums that inner tiles go on with; counts at both levels are those of the run."""
    p = pm.attention(9, 10, 3, 4, heads=2, kv_heads=1)
    cut = pm.tile(flash(p, grid={"q": 4}, stream={"kv": 5}, level="l2"), **inside)
    arrays = normal(p)
    run = simulated(cut, arrays)
    assert count_differences(cut, run.levels) == []
    np.testing.assert_allclose(run.values["O"], reference(arrays), rtol=1e-12, atol=1e-12)


def test_scores_of_minus_infinity_in_the_first_tile_leave_no_trace() -> None:
    """A row whose first keys weigh nothing: what was made of -inf - -inf is dropped when a finite maximum comes."""
    p = pm.tile(pm.online(pm.fuse(pm.softmax(1, 4)), "n"), stream={"n": 2})
    x = np.array([[-np.inf, -np.inf, 0.0, 0.0]])
    np.testing.assert_allclose(simulated(p, {"x": x}).values["y"], [[0, 0, 0.5, 0.5]])


def test_a_scaled_value_that_leaves_is_stored_when_the_maximum_is_final() -> None:
    """exp(x - max) is an output and summed: its first pass is not what is written."""
    x = pm.tensor("x", {"m": 3, "n": 7})
    w = pm.exp(x - pm.max(x, "n")).named("w")
    p = pm.program(pm.sum(w, "n").named("l"), w)
    cut = pm.tile(pm.online(pm.fuse(p), "n"), stream={"n": 2})
    arrays = normal(p)
    run = simulated(cut, arrays)
    assert_counts_as_it_runs(cut, run)
    assert stores(cut)["w"] == 3 * 7
    assert_same_values(run, simulated(p, arrays))


def test_two_labels_may_be_online_together() -> None:
    """A maximum and its sums over two streamed labels: corrected on each trip of the inner loop."""
    x, v = pm.tensor("x", {"m": 5, "n": 7, "j": 6}), pm.tensor("v", {"n": 7, "j": 6, "k": 3})
    w = pm.exp(x - pm.max(x, ("n", "j")))
    p = pm.program((pm.einsum("mnj,njk->mk", w, v) / pm.sum(w, ("n", "j"))).named("y"))
    both = pm.tile(pm.online(pm.online(pm.fuse(p), "n"), "j"), stream={"n": 2, "j": 4})
    arrays = normal(p)
    run = simulated(both, arrays)
    assert_counts_as_it_runs(both, run)
    assert_same_values(run, simulated(p, arrays))
    with pytest.raises(pm.TransformError, match="'max' is reduced over 'j' too, which is streamed"):
        pm.tile(pm.online(pm.fuse(p), "n"), stream={"n": 2, "j": 4})


def test_check_holds_both_witnesses() -> None:
    """``check`` at small sizes: values and counts."""
    p = flash(pm.attention(4096, 4096, 64, heads=8, kv_heads=2, causal=True), grid={"q": 128}, stream={"kv": 64})
    assert pm.check(p)


def test_keys_outside_and_queries_inside_hold_the_running_results_of_all_rows() -> None:
    """FlashAttention's first loop order: K and V once, Q once for each of 3 key tiles; results held, not spilled.

    The quotient stands in a second pass over the same loops, and reads nothing.
    """
    q, kv, d = 8, 9, 2
    cut = flash(pm.attention(q, kv, d), stream={"kv": 3, "q": 4})
    assert (loads(cut)["K"], loads(cut)["V"], loads(cut)["Q"]) == (kv * d, kv * d, 3 * (q * d))
    held = {row[2]: row[3] for row in cut.footprint().rows if row[1] == "accumulator"}
    assert held == {"max": 2 * q, "sum": 2 * q, "O_sum": 2 * (q * d)}  # bf16


FIRST: dict[str, Any] = {"spill": ["O_sum", "max", "sum"]}  # FlashAttention-1 holds none of its running results


def test_flash_attention_1_spills_its_running_results() -> None:
    """K and V once; Q, O, l and m for each of ceil(n/Bk) key tiles, the last three written as often.

    The quotients stand in a pass of their own, which takes up O and l again.
    """
    first = flash(pm.attention(N, N, D), stream={"kv": BK, "q": BQ}, **FIRST)
    tiles = sympy.ceiling(N / BK)
    again = N * D + N
    assert sympy.expand(first.elements_read - (2 * N * D + (2 * N * D + 2 * N) * tiles + again)) == 0
    assert sympy.expand(first.elements_written - ((N * D + 2 * N) * tiles + N * D)) == 0
    second = flash(pm.attention(N, N, D), grid={"q": BQ}, stream={"kv": BK})
    assert first.flops == second.flops  # the same work in either order
    at = {N: 4096, D: 64, BQ: 128, BK: 128}
    assert evaluated(first.elements_written, at) == (64 + 2) * 4096 * 32 + 4096 * 64
    assert evaluated(second.elements_written, at) == 4096 * 64
    held = first.footprint().rows
    assert ("attention", "accumulator", "O_sum", 2 * BQ * D) in held  # a tile of it, bf16
    assert first.memory_bytes - second.memory_bytes == 2 * (N * D + 2 * N)


@pytest.mark.parametrize("spilled", [["O_sum", "max", "sum"], ["max"], ["O_sum", "sum"]])
@pytest.mark.parametrize("kind", [{}, {"causal": True}, {"window": 2}])
def test_flash_attention_1_is_attention(spilled: list[str], kind: dict[str, Any]) -> None:
    """Ragged tiles, grouped heads, masks: counts are those of the run, values within 1e-12."""
    p = pm.attention(9, 10, 3, 4, heads=4, kv_heads=2, lse=True, **kind)
    cut = flash(p, stream={"kv": 4, "q": 2}, spill=spilled)
    arrays = normal(p)
    run = simulated(cut, arrays)
    assert_counts_as_it_runs(cut, run)
    outputs = 4 * 9 * 4  # taken up for each of 3 key tiles, and in the last pass
    assert loads(cut)["O_sum"] == ("O_sum" in spilled) * (3 + 1) * outputs
    for name, values in simulated(p, arrays).values.items():
        np.testing.assert_allclose(run.values[name], values, rtol=1e-12, atol=1e-12)


def test_what_is_spilled_is_read_where_a_loop_loads_it() -> None:
    """A column sum of quotients takes all rows at once; a spilled result that no outer loop moves has no trips."""
    s = pm.tensor("S", {"q": 8, "kv": 9})
    sums = pm.sum(s, "kv").named("l")
    p = pm.fuse(pm.program(pm.sum(pm.log(sums), "q").named("y")))
    assert pm.check(pm.tile(p, stream={"kv": 3, "q": 4}, spill=["l"]))
    with pytest.raises(pm.TransformError, match="'O_sum' cannot be spilled: no loop that it reduces lies outside"):
        flash(pm.attention(8, 9, 2), stream={"q": 4, "kv": 3}, spill=["O_sum"])


def test_sums_that_leave_may_be_spilled_as_they_are_corrected() -> None:
    """Unnormalised outputs and their sums, read and written on each of 3 outer trips; the maximum held."""
    s, v = pm.tensor("S", {"q": 8, "kv": 9}), pm.tensor("V", {"kv": 9, "dv": 4})
    w = pm.exp(s - pm.max(s, "kv"))
    out = pm.program(contracted([w, v], ("q", "dv"), name="U"), pm.sum(w, "kv").named("l"))
    cut = pm.tile(pm.online(pm.fuse(out), "kv"), stream={"kv": 3, "q": 4}, spill=["U", "l"])
    arrays = normal(out)
    run = simulated(cut, arrays)
    assert_counts_as_it_runs(cut, run)
    assert (loads(cut)["U"], stores(cut)["U"], loads(cut)["l"]) == (3 * (8 * 4), 3 * (8 * 4), 3 * 8)
    assert_same_values(run, simulated(out, arrays))
