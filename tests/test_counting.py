"""Counting: work by point, and one transfer for each tensor that crosses a kernel's boundary."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from reference import COMPOSITE, ONE_FLOP, ONE_SPECIAL, counted, differences
from strategies import Recipe, recipes, staged

import perfmodel as pm
from perfmodel.graph import Mask, contracted, mapped, reduced
from perfmodel.graph.counting import Transfer, Work, issued_points, macs, points, summed, transfers, work
from perfmodel.graph.functions import FUNCTIONS, REDUCTIONS
from perfmodel.graph.nodes import Op

M, N, K = 3, 4, 5


def op_of(tensor: pm.Tensor) -> Op:
    """The op that made a tensor."""
    assert tensor.producer is not None
    return tensor.producer


def done(op: Op) -> dict[str, int]:
    """Operations by unit."""
    return {item.unit: item.operations for item in work(op)}


def moved(tensor: pm.Tensor, *others: pm.Tensor) -> dict[str, tuple[int, int]]:
    """Elements and bytes that one kernel of everything reads, by tensor."""
    kernel = pm.fuse(pm.program(tensor, *others)).counted[0]
    return {item.tensor: (item.elements, item.bytes) for item in kernel.transfers if item.direction == "read"}


# work


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_elementary_function_costs_what_the_convention_says(name: str) -> None:
    """An add, comparison or max is one FLOP; an exp or a root one special operation; a composite what it does."""
    flops, special = COMPOSITE.get(name, (int(name in ONE_FLOP), int(name in ONE_SPECIAL)))
    x = pm.tensor("x", {"i": N})
    op = op_of(mapped(name, *[x] * FUNCTIONS[name].arity))
    found = {"vector": flops * N, "special": special * N}
    assert done(op) == {unit: number for unit, number in found.items() if number}


def test_a_multiply_add_is_two_flops_and_one_mac() -> None:
    """C[m, n] takes K multiplies and K adds an element."""
    op = op_of(pm.matmul(pm.tensor("a", {"m": M, "k": K}), pm.tensor("b", {"k": K, "n": N})))
    assert done(op) == {"matrix": 2 * M * N * K}
    assert macs(op) == M * N * K


def test_a_contraction_of_three_tensors_takes_three_flops_a_point() -> None:
    """Two multiplies and one add at each of M N K points."""
    tensors = [pm.tensor("a", {"m": M, "k": K}), pm.tensor("b", {"k": K, "n": N}), pm.tensor("c", {"k": K})]
    assert done(op_of(contracted(tensors, ("m", "n")))) == {"matrix": (2 + 1) * M * N * K}


@pytest.mark.parametrize("function", REDUCTIONS)
def test_a_reduction_over_n_points_is_n_flops(function: str) -> None:
    """It starts from the identity, so each of M rows takes N; a mean divides once a row as well."""
    op = op_of(reduced(function, pm.tensor("x", {"m": M, "n": N}), "n"))
    assert done(op) == {"vector": M * N + (M if function == "mean" else 0)}
    assert macs(op) == 0


def test_a_product_without_a_sum_is_a_map() -> None:
    """An outer product has no add: M N multiplies on the vector unit, and no MAC."""
    op = op_of(pm.einsum("m,n->mn", pm.tensor("a", {"m": M}), pm.tensor("b", {"n": N})))
    assert (done(op), macs(op)) == ({"vector": M * N}, 0)


@pytest.mark.parametrize(("align", "pairs"), [("end", 5 + 6 + 7 + 8), ("start", 1 + 2 + 3 + 4)])
def test_masked_points_are_exact(align: str, pairs: int) -> None:
    """Causal, 4 queries and 8 keys: aligned to the end the rows see 5 to 8 keys, to the start 1 to 4."""
    scores = causal_scores(4, 8, align)
    assert points(scores) == pairs * K
    assert done(scores) == {"matrix": 2 * pairs * K}


@pytest.mark.parametrize(("align", "keys"), [("end", 8), ("start", 4)])
def test_issued_points_are_those_of_the_hull(align: str, keys: int) -> None:
    """Aligned to the start, no query sees a key past the fourth; without a mask all points are issued."""
    assert issued_points(causal_scores(4, 8, align)) == 4 * keys * K
    assert issued_points(op_of(pm.exp(pm.tensor("x", {"m": M, "n": N})))) == M * N


def causal_scores(queries: int, keys: int, align: str) -> Op:
    """Scores of queries and keys of length K under a causal mask."""
    q, k = pm.tensor("Q", {"q": queries, "d": K}), pm.tensor("K", {"kv": keys, "d": K})
    return op_of(contracted([q, k], ("q", "kv"), mask=pm.causal(align=align)))


def test_work_can_be_counted_at_other_points() -> None:
    """What hardware visits is given, and takes the same work a point."""
    op = op_of(pm.silu(pm.tensor("x", {"i": N})))
    assert [(item.unit, item.operations) for item in work(op, 7)] == [("vector", 7), ("special", 7)]


def test_summed_takes_the_units_that_it_is_asked_for() -> None:
    """Special operations are no FLOPs."""
    bf16, fp32 = pm.format("bf16"), pm.format("fp32")
    works = [Work("matrix", bf16, fp32, 4), Work("vector", bf16, fp32, 2), Work("special", bf16, fp32, 1)]
    assert summed(works, ("matrix", "vector")) == 4 + 2
    assert summed(works, ("special",)) == 1


# traffic


def test_a_matmul_reads_two_tensors_and_writes_one() -> None:
    """2 reads + 1 write, of 2 bytes an element."""
    (kernel,) = pm.matmul(M, N, K).kernels
    assert transfers(kernel, ["C"]) == (
        Transfer("matmul", "A", "read", M * K, 2 * M * K),
        Transfer("matmul", "B", "read", K * N, 2 * K * N),
        Transfer("matmul", "C", "write", M * N, 2 * M * N),
    )


def test_a_result_that_nobody_needs_outside_is_not_written() -> None:
    """Only what leaves the kernel is written."""
    (kernel,) = pm.matmul(M, N, K).kernels
    assert [item.direction for item in transfers(kernel, [])] == ["read", "read"]


def test_a_tensor_is_loaded_once_a_kernel_however_often_it_is_read() -> None:
    """x stands three times in x*x + x."""
    x = pm.tensor("x", {"i": N})
    assert moved(x * x + x) == {"x": (N, 2 * N)}


def test_a_tensor_seen_under_two_labels_is_loaded_once() -> None:
    """The Gram matrix of x reads x once, not once for each of its sides."""
    x = pm.tensor("x", {"i": M, "k": K})
    assert moved(pm.einsum("ik,jk->ij", x, x)) == {"x": (M * K, 2 * M * K)}


def test_a_roll_and_the_tensor_itself_are_loaded_once() -> None:
    """Every element of x is in its own roll."""
    x = pm.tensor("x", {"i": N})
    assert moved(x * x.roll("i", 1)) == {"x": (N, 2 * N)}


def test_padding_is_never_read() -> None:
    """Three taps with a padding of 1 stand over 4 elements and 2 zeros."""
    x = pm.window(pm.tensor("x", {"i": 4}), "i", "p", "r", 3, padding=1)
    assert moved(pm.sum(x, "r")) == {"x": (4, 2 * 4)}


def test_windows_apart_read_what_they_cover() -> None:
    """Two taps every fourth place of 16: 4 windows x 2, not the hull of 14."""
    x = pm.window(pm.tensor("x", {"i": 16}), "i", "p", "r", 2, stride=4)
    assert moved(pm.sum(x, "r")) == {"x": (4 * 2, 2 * 4 * 2)}


def test_a_gather_reads_a_row_for_each_index_and_the_indices() -> None:
    """3 rows of N for 3 indices, however many rows differ, and 3 indices of 4 bytes."""
    table, ids = pm.tensor("W", {"v": 100, "d": N}), pm.tensor("ids", {"t": 3}, dtype="int32")
    assert moved(pm.gather(table, "v", ids)) == {"W": (3 * N, 2 * 3 * N), "ids": (3, 4 * 3)}


def test_one_index_used_twice_is_looked_up_once_and_two_indices_add() -> None:
    """Within a kernel the same rows are loaded once; rows that another index names are others."""
    table = pm.tensor("W", {"v": 100, "d": N})
    ids, more = pm.tensor("ids", {"t": 3}, dtype="int32"), pm.tensor("more", {"t": 3}, dtype="int32")
    one, same, other = [pm.gather(table, "v", by) for by in (ids, ids, more)]
    assert moved(one, pm.exp(same))["W"] == (3 * N, 2 * 3 * N)
    assert moved(one, other)["W"] == ((3 + 3) * N, 2 * (3 + 3) * N)


def test_look_ups_add_to_a_table_that_is_read_in_order() -> None:
    """An embedding and the output layer that shares its table, in one kernel: all of W and 3 rows."""
    table, ids = pm.tensor("W", {"v": 100, "d": N}), pm.tensor("ids", {"t": 3}, dtype="int32")
    rows = pm.gather(table, "v", ids)
    assert moved(pm.einsum("td,vd->tv", rows, table))["W"] == (100 * N + 3 * N, 2 * (100 + 3) * N)


def test_look_ups_along_two_axes_add() -> None:
    """Columns for one index and rows for another, of a table of 10 x 20."""
    table, ids = pm.tensor("W", {"v": 10, "d": 20}), pm.tensor("ids", {"t": 3}, dtype="int32")
    rows = pm.gather(table, "v", ids)
    columns = pm.gather(table, "d", ids.rename(t="s") * 1)
    assert moved(rows, columns)["W"][0] == 3 * 20 + 3 * 10


def test_a_scale_is_loaded_for_each_look_up_along_the_blocks() -> None:
    """One element of 4 bits and its scale of 8 bits, for each of 6 look-ups: 6 * 12 bits = 9 bytes."""
    table = pm.tensor("W", {"v": 64}, dtype="mxfp4")
    assert moved(pm.gather(table, "v", pm.tensor("ids", {"t": 6}, dtype="int32")))["W"] == (6, 6 * (4 + 8) // 8)


def test_parts_of_a_tensor_are_loaded_once_together() -> None:
    """One window covers elements 0 to 4, another 0 to 2: 5 elements of 2 bytes."""
    x = pm.tensor("x", {"i": 8})
    long = pm.sum(pm.window(x, "i", "p", "r", 5, stride=8), "r")
    short = pm.sum(pm.window(x, "i", "p2", "s", 3, stride=8), "s")
    assert moved(long, short) == {"x": (5, 2 * 5)}


def test_a_hull_never_costs_more_than_its_parts() -> None:
    """A row and a column of a 5 x 5 tensor have a hull of 25; apart they are 5 + 5."""
    x = pm.tensor("x", {"h": 5, "w": 5})
    row = pm.window(x, "h", "p", "r", 1, stride=5)
    column = pm.window(x, "w", "p2", "s", 1, stride=5)
    assert moved(pm.exp(row), pm.exp(column))["x"] == (5 + 5, 2 * (5 + 5))


def test_a_mask_limits_what_is_read_and_written_to_its_hull() -> None:
    """Two queries aligned to the start see keys 0 and 1 of 5: 2 of K, 2 x 2 scores, and all of Q."""
    q, k = pm.tensor("Q", {"q": 2}), pm.tensor("K", {"kv": 5})
    p = pm.program(contracted([q, k], ("q", "kv"), mask=pm.causal(align="start"), name="S"))
    assert [(t.tensor, t.elements) for t in p.counted[0].transfers] == [("Q", 2), ("K", 2), ("S", 2 * 2)]


def test_a_row_without_keys_is_written_as_zero() -> None:
    """Four queries, two keys, aligned to the end: the first two rows see nothing, and their sums are written."""
    q, k = pm.tensor("Q", {"q": 4}), pm.tensor("K", {"kv": 2})
    out = pm.sum(contracted([q, k], ("q", "kv"), mask=pm.causal()), "kv").named("y")
    kernel = pm.fuse(pm.program(out)).counted[0]
    assert [(t.tensor, t.elements) for t in kernel.transfers] == [("Q", 2), ("K", 2), ("y", 4)]


def test_block_scales_of_a_ragged_row_are_moved() -> None:
    """33 elements of MXFP4 a row: 2 rows x (33 * 4 bits + 2 scales * 8 bits) = 37 bytes."""
    assert moved(pm.exp(pm.tensor("x", {"m": 2, "n": 33}, dtype="mxfp4")))["x"] == (66, 2 * (33 * 4 + 2 * 8) // 8)


# laws


@settings(max_examples=120)
@given(staged())
def test_every_count_is_that_of_a_walk_over_every_point(p: pm.Program) -> None:
    """Work, traffic and memory of random programs, staged at random, equal those of the reference."""
    assert differences(p) == {}


@settings(max_examples=40)
@given(recipes(verbs=("mask", "map", "reduce", "contract"), steps=4))
def test_masked_work_is_exact(recipe: Recipe) -> None:
    """Pairs that a mask forbids do no work; the hardware visits the hull of the others."""
    p = recipe.program()
    found = counted(p)
    assert (p.flops, p.issued_flops) == (found.unit("matrix") + found.unit("vector"), found.issued)


@pytest.mark.parametrize(
    "mask",
    [
        pm.causal(),
        pm.causal(align="start"),
        pm.causal(window=2),
        pm.causal(chunk=3),
        Mask("q", "kv", 1, 1),
        Mask("q", "kv", chunk=2, align="start"),
    ],
    ids=Mask.describe,
)
@pytest.mark.parametrize(("queries", "keys"), [(5, 5), (3, 7), (7, 3), (1, 6)])
def test_attention_under_each_mask_is_exact(mask: Mask, queries: int, keys: int) -> None:
    """Scores, softmax and weighted sum, one op a kernel and in one kernel, against the reference."""
    q, k = pm.tensor("Q", {"q": queries, "d": 2}), pm.tensor("K", {"kv": keys, "d": 2})
    scores = contracted([q, k], ("q", "kv"), mask=mask)
    out = contracted([pm.softmax(scores, "kv"), pm.tensor("V", {"kv": keys, "dv": 3})], ("q", "dv"))
    p = pm.program(out)
    assert differences(p) == {}
    assert differences(pm.fuse(p)) == {}
