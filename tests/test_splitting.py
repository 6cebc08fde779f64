"""Splitting a reduction: partial results and what combines them, by a second kernel or in memory."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest
import sympy
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from moves import allowed
from staging import (
    arrays_of,
    assert_counts_as_it_runs,
    assert_same_values,
    evaluated,
    loads,
    operations,
    stores,
)
from strategies import programs, staged

import perfmodel as pm
from perfmodel.graph import reduced
from perfmodel.graph.splits import bound_indices, counted_extents
from perfmodel.simulation.tallying import count_differences

QUICK = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
M, N, K = 6, 5, 10


def assert_runs(p: pm.Program, plain: pm.Program) -> None:
    """Counts are those of the run at each level, and the values those of the program that was not split."""
    arrays = arrays_of(plain)
    run = pm.simulate(p, arrays)
    assert count_differences(p, run.levels) == []
    assert_same_values(run, pm.simulate(plain, arrays))


# by a second kernel


def test_partial_results_are_made_by_one_kernel_and_combined_by_another() -> None:
    """Parts of ceil(10/4) = 3 elements, the last of 1; the partial results in the accumulator's format."""
    p = pm.split(pm.matmul(M, N, K), k=4)
    assert [(kernel.name, kernel.made) for kernel in p.kernels] == [
        ("matmul", ("C_partial",)),
        ("matmul_combine", ("C",)),
    ]
    assert p.tensors["C_partial"].labels == ("k_part", "batch", "m", "n")
    assert p.tensors["C_partial"].format.name == "fp32"
    assert (p.labels["k_part"], p.labels["k"]) == (4, 3)
    assert [str(access.index[-1]) for access in p.ops[0].reads[:1]] == ["3*k_part + k"]


@pytest.mark.parametrize("parts", [2, 3, 4, 5, 7, 10])
def test_a_split_adds_its_partial_results_and_nothing_else(parts: int) -> None:
    """Whatever the ragged end: all of A and B once, each partial result written, read and added once."""
    p = pm.split(pm.matmul(M, N, K), k=parts)
    assert p.flops == 2 * M * N * K + parts * M * N
    assert p.macs == M * N * K
    assert loads(p) == Counter({"A": M * K, "B": K * N, "C_partial": parts * M * N})
    assert stores(p) == Counter({"C_partial": parts * M * N, "C": M * N})
    assert p.bytes == 2 * (M * K + K * N + M * N) + 4 * (2 * parts * M * N)  # bf16, and fp32 written and read
    assert_runs(p, pm.matmul(M, N, K))


def test_hardware_issues_whole_parts() -> None:
    """4 parts of 3 are issued for 10 elements."""
    p = pm.split(pm.matmul(M, N, K), k=4)
    assert p.issued_flops == 2 * M * N * (4 * 3) + 4 * M * N


def test_parts_run_apart_in_the_grid() -> None:
    """Split-K: each part in blocks of its own, which read no more of A and B than blocks along m and n do."""
    plain = pm.matmul(M, N, K)
    p = pm.tile(pm.split(plain, k=4), grid={"k_part": 1}, m=4, n=2, only="matmul")
    # A again for each of ceil(5/2) blocks along n, B for each of ceil(6/4) along m
    assert loads(p) == Counter({"A": 3 * M * K, "B": 2 * K * N, "C_partial": 4 * M * N})
    assert p.flops == 2 * M * N * K + 4 * M * N
    assert_runs(p, plain)


@pytest.mark.parametrize("cuts", [{"k_part": 1}, {"k_part": 2}, {"k_part": 3, "k": 2}])
@pytest.mark.parametrize("stream", [{}, {"n": 2}, {"k": 2}, {"k": 2, "n": 2}])
def test_tiles_of_parts_and_within_parts_stay_exact(cuts: dict[str, int], stream: dict[str, int]) -> None:
    """Parts in blocks of one or more, and loops within parts: no element beyond the end is loaded or multiplied."""
    plain = pm.matmul(M, N, K)
    blocks = {label: size for label, size in cuts.items() if label != "k"}
    loops = stream | ({"k": cuts["k"]} if "k" in cuts else {})
    p = pm.tile(pm.split(plain, k=4), grid={**blocks, "m": 4}, stream=loops, only="matmul")
    assert p.flops == 2 * M * N * K + 4 * M * N
    # A moves with k: loaded once a tile of it, for each of ceil(5/2) trips of n where that loop is around
    assert loads(p)["A"] == (3 if list(loops) == ["n", "k"] else 1) * M * K
    assert_runs(p, plain)


def test_levels_inside_levels_count_as_they_run() -> None:
    """Parts cut by an outer level and again by an inner one."""
    plain = pm.matmul(M, N, K)
    p = pm.tile(pm.split(plain, k=4), grid={"k_part": 2, "m": 4}, stream={"k": 2}, level="l2", only="matmul")
    assert_runs(pm.tile(p, grid={"k_part": 1, "n": 3}, only="matmul"), plain)


def test_a_part_that_has_no_element_holds_the_identity() -> None:
    """5 elements in 4 parts of 2: the last is empty, and changes no maximum of negative numbers."""
    x = pm.tensor("x", {"n": 5})
    plain = pm.program(pm.max(-pm.exp(x), "n").named("y"))
    p = pm.split(plain, n=4)
    assert_runs(p, plain)
    assert p.flops == 5 + 5 + 4  # a sign, a comparison each, and 4 partial results


@pytest.mark.parametrize("function", ["sum", "max", "min", "prod"])
def test_reductions_split_into_the_same_reduction(function: str) -> None:
    """n + parts FLOPs a result, as a reduction over n points counts n."""
    plain = pm.program(reduced(function, pm.tensor("x", {"m": 3, "n": 7}), "n").named("y"))
    p = pm.split(plain, n=3)
    assert [op.function for op in p.ops] == [function, function]
    assert p.flops == 3 * 7 + 3 * 3
    assert_runs(p, plain)


def test_a_mean_is_a_sum_divided_in_the_end() -> None:
    """A mean of parts of 3, 3 and 1 would weigh the last too much."""
    plain = pm.program(pm.mean(pm.tensor("x", {"m": 3, "n": 7}), "n").named("y"))
    p = pm.split(plain, n=3)
    assert [op.function for op in p.ops] == ["sum", "sum", "div"]
    assert p.flops == 3 * 7 + 3 * 3 + 3  # the points, the partial sums, and a division a result
    assert_runs(p, plain)


def test_two_labels_are_split_at_once() -> None:
    """Partial results along both: 2 x 3 of them for each result."""
    x = pm.tensor("x", {"m": 3, "i": 5, "j": 7})
    plain = pm.program(pm.sum(x, ("i", "j")).named("y"))
    p = pm.split(plain, i=2, j=3)
    assert p.tensors["y_partial"].extents == (2, 3, 3)
    assert p.flops == 3 * 5 * 7 + (2 * 3) * 3
    assert_runs(p, plain)


def test_partial_results_are_split_in_turn() -> None:
    """A tree: 8 parts, added in 2 parts of 4."""
    plain = pm.matmul(3, 2, 16)
    p = pm.split(pm.split(plain, k=8), k_part=2)
    assert [kernel.name for kernel in p.kernels] == ["matmul", "matmul_combine", "matmul_combine_combine"]
    assert p.flops == (2 * 16 + 8 + 2) * (3 * 2)
    assert_runs(p, plain)


def test_what_follows_in_a_fused_kernel_follows_the_combination() -> None:
    """A matmul fused with an addition and a relu: the second kernel combines, adds and cuts."""
    a, b, c = pm.tensor("a", {"m": 4, "k": 9}), pm.tensor("b", {"k": 9, "n": 3}), pm.tensor("c", {"n": 3})
    plain = pm.program(pm.relu(pm.einsum("m k, k n -> m n", a, b) + c).named("y"))
    p = pm.split(pm.fuse(plain), k=2)
    assert [len(kernel.ops) for kernel in p.kernels] == [1, 3]
    assert stores(p) == Counter({p.ops[0].output.tensor.name: 2 * 4 * 3, "y": 4 * 3})
    assert_runs(p, plain)
    assert_runs(pm.fuse(p), plain)


def test_reductions_that_need_each_other_are_split_in_turns() -> None:
    """Softmax: the partial maxima, what needs the maximum with the partial sums, and what needs the sum."""
    plain = pm.fuse(pm.softmax(3, 7))
    p = pm.split(plain, n=3)
    assert [kernel.made for kernel in p.kernels] == [
        ("max_partial",),
        ("max", "sub", "exp", "sum_partial"),
        ("sum", "y"),
    ]
    assert p.labels["n"] == 7  # the quotient still has all of n
    assert p.labels["n_inner"] == 3
    assert_runs(p, plain)
    assert_runs(pm.tile(p, grid={"m": 2, "n_part": 1}, only="softmax"), plain)


def test_a_mask_over_other_labels_stays() -> None:
    """Scores of attention, split along the head: the pairs of the mask, in each part and in the combination."""
    plain = pm.attention(5, 5, 4, causal=True)
    p = pm.split(plain, d=2, only="attention.scores")
    pairs = 5 * 6 // 2
    assert p.flops == plain.flops + 2 * pairs
    assert_runs(p, plain)


@pytest.mark.parametrize("kind", [{"causal": True}, {"causal": True, "window": 2}, {"window": 3}, {"chunk": 2}])
@pytest.mark.parametrize("fused", [False, True])
def test_keys_of_a_mask_are_split(kind: dict[str, Any], fused: bool) -> None:
    """Each part has the pairs of its own keys; every partial result is added, those of parts without a pair too."""
    plain = pm.attention(4, 7, 3, **kind)
    plain = pm.fuse(plain, by="stage") if fused else plain
    p = pm.split(plain, kv=3)
    added = 3 * (4 + 4 + 4 * 3)  # 3 parts of a maximum and a sum a row, and of 3 values a row
    assert p.flops == plain.flops + added
    assert_runs(p, plain)
    assert_runs(pm.tile(p, grid={"kv_part": 1, "q": 3}, stream={"kv_inner": 2}, only="values"), plain)


# formulas


def test_the_formulas_of_a_split_program() -> None:
    """Symbols all along: the ragged end cancels, and 4 partial results of 4 bytes are written and read."""
    m, n, k = pm.dims("m n k")
    p = pm.split(pm.matmul(m, n, k), k=4)
    assert p.flops == 2 * m * n * k + 4 * m * n
    assert sympy.expand(p.bytes_read - (2 * k * (m + n) + 4 * 4 * m * n)) == 0
    tiled = pm.tile(p, grid={"k_part": 1}, m=128, n=128, only="matmul")
    assert tiled.flops == p.flops
    across, down = pm.ceil_div(n, 128), pm.ceil_div(m, 128)
    assert sympy.expand(tiled.bytes_read - (2 * k * (m * across + n * down) + 4 * 4 * m * n)) == 0


def test_loops_within_parts_are_formulas_too() -> None:
    """Blocks of one part, loops of 32 within it: all of k is met once, ragged parts and tiles included."""
    m, n, k = pm.dims("m n k")
    p = pm.tile(pm.split(pm.matmul(m, n, k), k=4), grid={"k_part": 1}, m=128, n=128, stream={"k": 32}, only="matmul")
    assert p.flops == 2 * m * n * k + 4 * m * n
    across, down = pm.ceil_div(n, 128), pm.ceil_div(m, 128)
    assert sympy.expand(p.bytes_read - (2 * k * (m * across + n * down) + 4 * 4 * m * n)) == 0


@QUICK
@given(st.integers(2, 40), st.integers(2, 6), st.integers(1, 5), st.integers(1, 6), st.booleans())
def test_formulas_at_sizes_are_counts(size: int, parts: int, block: int, trip: int, streamed: bool) -> None:
    """The formulas of a split and tiled program, bound, are those of the program split at these sizes."""
    assume(parts <= size)

    def made(k: Any) -> pm.Program:
        p = pm.split(pm.matmul(3, 2, k), k=parts)
        return pm.tile(p, grid={"k_part": block}, stream={"k": trip} if streamed else {}, only="matmul")

    expected = made(size)
    assert_runs(expected, pm.matmul(3, 2, size))
    found = made("k")
    counts = [found.flops, found.elements_read, found.elements_written]
    if any("hull" in item.note for kernel in found.counted for item in kernel.transfers):
        return
    values = {pm.dims("k"): size}
    assert [evaluated(count, values) for count in counts] == [
        expected.flops,
        expected.elements_read,
        expected.elements_written,
    ]


# in memory


def test_atomics_read_and_write_the_result_for_each_part() -> None:
    """Zeros are written once; each of the 4 blocks along k reads all of C and writes it."""
    plain = pm.matmul(M, N, K)
    p = pm.split(plain, k=4, combine="atomic")
    assert p.flops == plain.flops
    assert loads(p) == Counter({"A": M * K, "B": K * N, "C": 4 * M * N})
    assert stores(p) == Counter({"C": (1 + 4) * M * N})
    assert p.kernels == pm.tile(plain, grid={"k": 3}, atomic=["k"]).kernels  # tiles of ceil(10/4)
    assert_runs(p, plain)


def test_atomics_join_the_tiles_that_there_are() -> None:
    """Blocks along m, n and k: A for each block along n, B for each along m, and C for each along k."""
    plain = pm.matmul(M, N, K)
    p = pm.split(pm.tile(plain, m=4, n=2), k=4, combine="atomic")
    assert loads(p) == Counter({"A": 3 * M * K, "B": 2 * K * N, "C": 4 * M * N})
    assert stores(p) == Counter({"C": 5 * M * N})
    assert_runs(p, plain)
    m, n, k = pm.dims("m n k")
    formulas = pm.split(pm.tile(pm.matmul(m, n, k), m=4, n=2), k=4, combine="atomic")
    values = {m: M, n: N, k: K}
    assert evaluated(formulas.bytes, values) == p.bytes


@pytest.mark.parametrize("function", ["sum", "max", "min"])
def test_maxima_meet_in_memory_too(function: str) -> None:
    """A maximum starts from minus infinity there."""
    plain = pm.program(reduced(function, -pm.exp(pm.tensor("x", {"m": 3, "n": 7})), "n").named("y"))
    p = pm.split(pm.fuse(plain), n=3, combine="atomic")
    assert loads(p) == Counter({"x": 3 * 7, "y": 3 * 3})
    assert stores(p) == Counter({"y": (1 + 3) * 3})
    assert_runs(p, plain)


@pytest.mark.parametrize("outer", ["l2", "shared"])
def test_atomics_at_a_level_inside_or_around_another(outer: str) -> None:
    """The result meets in what the level's blocks share."""
    plain = pm.matmul(M, N, K)
    cuts: dict[str, dict[str, Any]] = {
        "l2": {"grid": {"m": 4, "k": 5}, "atomic": ["k"] if outer == "l2" else [], "level": "l2"},
        "shared": {"grid": {"n": 2, "k": 2}, "atomic": ["k"]},
    }
    if outer == "shared":
        cuts["l2"] = {"stream": {"k": 5}, "grid": {"m": 4}, "level": "l2"}
    p = pm.tile(pm.tile(plain, **cuts["l2"]), **cuts["shared"])
    assert_runs(p, plain)


@pytest.mark.parametrize("kind", [{"causal": True}, {"causal": True, "window": 2}])
def test_only_blocks_with_an_allowed_pair_add(kind: dict[str, Any]) -> None:
    """Weighted sums of causal attention, blocks of rows and keys: zeros once, then each block that has a pair."""
    plain = pm.attention(7, 9, 2, **kind)
    p = pm.tile(plain, grid={"q": 2, "kv": 4}, atomic=["kv"], only="attention.values")
    assert_runs(p, plain)
    # rows 0-1, 2-3, 4-5, 6 end at keys 2-3, 4-5, 6-7, 8 and so see 1, 2, 2 and 3 tiles of 4 keys; in a window of 2
    # keys they begin at 1, 3, 5 and 7: 1, 2, 1 and 2 tiles
    met = 2 * (1 + 2 + 1) + 1 * 2 if "window" in kind else 2 * (1 + 2 + 2) + 1 * 3
    assert loads(p)["O"] == 2 * met
    assert stores(p)["O"] == 2 * (7 + met)


def test_rounding_in_memory_is_bounded() -> None:
    """Each block rounds the result to its format; the error analysis allows for that."""
    assert pm.check(pm.split(pm.matmul(4, 4, 12), k=4, combine="atomic"), rounding=True)
    assert pm.check(pm.split(pm.matmul(4, 4, 12), k=5), rounding=True)


# what check says


@pytest.mark.parametrize("combine", ["kernel", "atomic"])
def test_check_agrees(combine: str) -> None:
    """In ints and in symbols, whose k it measures itself."""
    assert pm.check(pm.split(pm.matmul(64, 64, 50), k=4, combine=combine))
    assert pm.check(pm.split(pm.matmul("m", "n", "k"), k=4, combine=combine))


def test_check_agrees_in_turns_and_with_a_number_of_parts_in_symbols() -> None:
    """Softmax in p parts, its two reductions in turns."""
    assert pm.check(pm.split(pm.fuse(pm.softmax("m", "n")), n="p"))


# laws


@QUICK
@given(st.data())
def test_any_reduction_that_can_be_split_counts_as_it_runs(data: st.DataObject) -> None:
    """Random programs, random parts: values stay, and each partial result adds one operation."""
    plain = data.draw(staged())
    labels = sorted({label for op in plain.ops for label in op.reduced})
    assume(labels)
    label = data.draw(st.sampled_from(labels))
    parts = data.draw(st.integers(2, 4))
    p = allowed(plain, lambda: pm.split(plain, **{label: parts}))
    arrays = arrays_of(plain)
    run = pm.simulate(p, arrays)
    assert_counts_as_it_runs(p, run)
    assert_same_values(run, pm.simulate(plain, arrays))
    assert operations(p)["matrix"] == operations(plain)["matrix"]
    assert operations(p)["vector"] >= operations(plain)["vector"]


@QUICK
@given(st.data())
def test_blocks_that_add_in_memory_count_as_they_run(data: st.DataObject) -> None:
    """Random programs, masks included: reduced labels in the grid, others in the grid too, streamed, or whole."""
    verbs = ("map", "contract", "mask", "reduce", "contract", "input", "reduce")
    plain = p = data.draw(staged(programs(verbs=verbs)))
    for kernel in plain.kernels:
        extents = {label: int(extent) for op in kernel.ops for label, extent in op.space}
        own = sorted({label for op in kernel.ops for label in op.reduced if extents[label] > 1})
        if not own:
            continue
        added = data.draw(st.lists(st.sampled_from(own), min_size=1, unique=True))
        cuts: dict[str, dict[str, int]] = {
            "grid": {label: data.draw(st.integers(1, 2)) for label in added},
            "stream": {},
        }
        for label in data.draw(st.permutations(sorted(extents.keys() - set(added)))):
            where = data.draw(st.sampled_from(["grid", "stream", "whole"]))
            cuts.setdefault(where, {})[label] = data.draw(st.integers(1, extents[label]))
        told: dict[str, Any] = {"grid": cuts["grid"], "stream": cuts["stream"], "atomic": added}
        p = allowed(p, partial(pm.tile, p, only=kernel.name, **told))
    run = pm.simulate(p, arrays_of(plain))
    assert_counts_as_it_runs(p, run)
    assert_same_values(run, pm.simulate(plain, arrays_of(plain)))


# refusals


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"k": 11}, "fewer than parts"),
        ({"k": 1}, "2 parts or more"),
        ({"m": 2}, "nothing reduces 'm'; reduced are k"),
        ({"kk": 2}, "no label 'kk'.*did you mean 'k'"),
        ({}, "no label given"),
        ({"k": 2, "combine": "magic"}, "combine='magic' is not one of"),
        ({"k": 0}, "split: k"),
    ],
)
def test_what_cannot_be_split_is_refused(told: dict[str, Any], message: str) -> None:
    """By the label, the number and the rule."""
    with pytest.raises(pm.PerfModelError, match=message):
        pm.split(pm.matmul(M, N, K), **told)


def test_tiled_kernels_masks_windows_and_symbolic_means_are_refused() -> None:
    """Split first; positions of masks, taps of windows and divisors in symbols have no parts."""
    with pytest.raises(pm.TransformError, match="is tiled; split first"):
        pm.split(pm.tile(pm.matmul(M, N, K), m=2), k=2)
    with pytest.raises(pm.TransformError, match="'dV' is masked over 'q'; of a mask only the keys have parts"):
        pm.split(pm.grad(pm.attention(4, 4, 2, causal=True)), q=2)
    with pytest.raises(pm.TransformError, match="belongs to a window"):
        pm.split(pm.conv2d(height=6, width=6, c_in=2, c_out=2), r=2)
    with pytest.raises(pm.DimensionError, match="bind the symbols"):
        pm.split(pm.program(pm.mean(pm.tensor("x", {"n": "n"}), "n").named("y")), n=2)


def test_partial_results_without_a_word_are_refused_with_both_remedies() -> None:
    """A reduced label in the grid: the message names the second kernel and the atomics."""
    with pytest.raises(
        pm.TransformError, match=r'blocks would hold partial .*pm\.split\(p, k=\.\.\).*combine="atomic"'
    ):
        pm.tile(pm.matmul(M, N, K), grid={"k": 3})


def test_what_no_atomic_can_do_is_refused() -> None:
    """Means, products, results that the kernel goes on with, scaled formats, and labels outside the grid."""
    x = pm.tensor("x", {"m": 3, "n": 7})
    for function in ("mean", "prod"):
        with pytest.raises(pm.TransformError, match="only a single sum, max or min"):
            pm.split(pm.program(reduced(function, x, "n").named("y")), n=2, combine="atomic")
    with pytest.raises(pm.TransformError, match="no result over 'n' that only leaves"):
        pm.split(pm.fuse(pm.program(pm.exp(pm.sum(x, "n")).named("y"))), n=2, combine="atomic")
    with pytest.raises(pm.TransformError, match="share scales"):
        pm.split(pm.matmul(M, 32, K, out_dtype="mxfp8"), k=2, combine="atomic")
    with pytest.raises(pm.TransformError, match="is a max masked over 'kv'"):
        pm.tile(pm.attention(4, 4, 2, causal=True), grid={"kv": 2}, atomic=["kv"], only="max")
    with pytest.raises(pm.LabelError, match="is not in the grid"):
        pm.tile(pm.matmul(M, N, K), m=2, atomic=["k"])
    with pytest.raises(pm.TransformError, match="is cut in the tiles of"):
        pm.split(pm.tile(pm.matmul(M, N, K), stream={"k": 2}), k=2, combine="atomic")


def test_a_bound_index_counts_the_elements_that_there_are() -> None:
    """10 elements of k, not 4 parts of 3."""
    op = pm.split(pm.matmul(M, N, K), k=4).ops[0]
    assert [(str(index), extent) for index, extent in bound_indices(op)] == [("3*k_part + k", K)]
    assert counted_extents(op)["k_part"] == K


def test_an_op_is_split_or_padded_but_not_both() -> None:
    """Parts end where their label does, and padding starts there; blocks that add in memory may be padded."""
    padded = pm.pad(pm.matmul(6, 6, 7), m=4)
    with pytest.raises(pm.TransformError, match="split: 'matmul' is padded"):
        pm.split(padded, k=2)
    with pytest.raises(pm.TransformError, match="pad: op 'matmul' is split"):
        pm.pad(pm.split(pm.matmul(6, 6, 7), k=2), m=4)
    assert pm.check(pm.split(pm.pad(pm.matmul(6, 6, 7), m=4, k=5), k=2, combine="atomic"))


@pytest.mark.parametrize(("label", "combine"), [(label, how) for label in "mnk" for how in ("kernel", "atomic")])
def test_a_backward_pass_is_split_and_a_split_has_no_gradient(label: str, combine: str) -> None:
    """The gradient comes first; then every reduction of it may be split, either way."""
    assert pm.check(pm.split(pm.grad(pm.matmul(5, 6, 7)), combine=combine, **{label: 2}))
    with pytest.raises(pm.TransformError, match="is split; take the gradient first"):
        pm.grad(pm.split(pm.matmul(5, 6, 7), k=2))


def test_windows_are_copied_out_before_a_split_and_scatters_are_not_split() -> None:
    """A copied window is split like any label; the windows of a split op are not copied."""
    conv = pm.conv2d(height=5, width=5, c_in=4, c_out=4, kernel=3, padding=1)
    assert pm.check(pm.split(pm.im2col(conv), r=2))
    with pytest.raises(pm.TransformError, match="is split; im2col first, then split"):
        pm.im2col(pm.split(conv, c=2))
    with pytest.raises(pm.TransformError, match="no contraction in"):  # the places of parts are no window
        pm.im2col(pm.split(pm.matmul(6, 6, 7), k=2))
    with pytest.raises(pm.TransformError, match="'dx' adds into places that an index names"):
        pm.split(pm.grad(conv), f=2)


def test_online_results_are_split_and_added_too() -> None:
    """Parts of a label that is online, made by kernels of their own, or by blocks that add in memory."""
    x = pm.tensor("x", {"i": 5, "j": 7})
    online = pm.online(pm.fuse(pm.program(pm.sum(pm.exp(x - pm.max(x, "j")), "j").named("s"))), "j")
    assert pm.check(pm.split(online, j=2))
    assert pm.check(pm.tile(pm.split(online, j=2, combine="atomic"), level="registers", stream={"j": 2}))
    attention = pm.fuse(pm.split(pm.attention(7, 7, 4, causal=True), d=2))
    assert pm.check(pm.tile(pm.online(attention, "kv"), grid={"q": 3}, stream={"kv": 2}))


def test_parts_that_are_left_without_elements_are_written_and_read_too() -> None:
    """16 elements in 11 parts: 8 of 2 each and 3 of none, which hold 0; by atomics there are 8 blocks."""
    p = pm.split(pm.matmul(4, 4, 16, dtype="fp32"), k=11)
    assert p.macs == 4 * 4 * 16
    found = {(row[1], row[2]): row[3] for row in p.traffic().rows}
    assert found["C_partial", "write"] == found["C_partial", "read"] == 11 * 4 * 4
    assert pm.check(p)
    added = pm.split(pm.matmul(4, 4, 16, dtype="fp32"), k=11, combine="atomic")
    assert {(row[1], row[2]): row[3] for row in added.traffic().rows}["C", "read"] == 8 * 4 * 4
