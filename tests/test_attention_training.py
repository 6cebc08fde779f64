"""FlashAttention's backward pass as transforms: one kernel of five contractions, or two of three and four."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from differences import reals_of
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.strategies import DrawFn
from staging import assert_counts_as_it_runs

import perfmodel as pm

N, D, B, STEP = pm.dims("n d b step")
FORMS = ("atomic", "kernel")


def backward(q: Any, kv: Any, d: Any, combine: str, **more: Any) -> pm.Program:
    return pm.recipes.flash_attention_backward(q, kv, d, combine=combine, **more)


def elements(program: pm.Program, kernel: str) -> dict[tuple[str, str], Any]:
    """Elements that one kernel moves, by tensor and direction."""
    return {(row[1], row[2]): row[3] for row in program.traffic().rows if row[0] == kernel}


# work


def test_one_kernel_does_five_contractions_and_two_do_seven() -> None:
    """S and dP again, dQ, dK, dV; in two kernels S and dP twice. The forward pass has two, all of the same size."""
    p = pm.attention("n", "n", 64, lse=True, causal=True)
    for combine, kernels in (("atomic", [2, 0, 5]), ("kernel", [2, 0, 3, 4])):
        found = backward("n", "n", 64, combine, causal=True)
        assert [sum(op.kind == "contract" for op in kernel.ops) for kernel in found.kernels] == kernels
        assert 2 * found.flops_by_unit["matrix"] == sum(kernels) * p.flops_by_unit["matrix"]


@pytest.mark.parametrize(("combine", "times"), [("atomic", 1), ("kernel", 2)])
def test_the_weights_are_made_again_from_the_log_sum_exp(combine: str, times: int) -> None:
    """P = exp(S - L): a subtraction and an exponential for each pair, once or twice; dS takes two more operations.

    D takes a product and a sum for each of n x d. Nothing is rescaled behind the forward pass.
    """
    forward, found = pm.recipes.flash_attention(N, N, 64, lse=True), backward("n", "n", 64, combine)
    special = found.flops_by_unit["special"] - forward.flops_by_unit["special"]
    vector = found.flops_by_unit["vector"] - forward.flops_by_unit["vector"]
    assert sympy.expand(special) == times * N**2
    assert sympy.expand(vector) == times * (1 + 2) * N**2 + 2 * 64 * N


# traffic


def test_blocks_of_keys_read_queries_again_and_add_to_dq_in_memory() -> None:
    """A head: K and V once, dK and dV once; on each of n/B blocks Q and dO, and L and D, and dQ read and written.

    dQ starts as zeros, which is one write more.
    """
    trips = sympy.ceiling(N / B)
    found = elements(backward(N, N, D, "atomic", block=B, step=STEP), "dQ")
    assert found == {
        **{(name, "read"): N * D for name in "KV"},
        **{(name, "write"): N * D for name in ("dK", "dV")},
        **{(name, "read"): N * D * trips for name in ("Q", "dO", "dQ")},
        **{(name, "read"): N * trips for name in "LD"},
        ("dQ", "write"): N * D + N * D * trips,
    }


def test_two_kernels_read_keys_a_block_of_queries_and_queries_a_block_of_keys() -> None:
    """dQ: Q, dO, L and D once, K and V n/B times. dK and dV: K and V once, Q, dO, L and D n/B times. No atomics."""
    p = backward(N, N, D, "kernel", block=B, step=STEP)
    trips = sympy.ceiling(N / B)
    assert elements(p, "dQ") == {
        **{(name, "read"): N * D for name in ("Q", "dO")},
        **{(name, "read"): N for name in "LD"},
        **{(name, "read"): N * D * trips for name in "KV"},
        ("dQ", "write"): N * D,
    }
    assert elements(p, "dK") == {
        **{(name, "read"): N * D for name in "KV"},
        **{(name, "read"): N * D * trips for name in ("Q", "dO")},
        **{(name, "read"): N * trips for name in "LD"},
        **{(name, "write"): N * D for name in ("dK", "dV")},
    }


def test_d_reads_o_and_its_gradient_once() -> None:
    """D = rowsum(dO O), of n elements, before either: O is not read again."""
    for combine in FORMS:
        p = backward(N, N, D, combine)
        assert elements(p, "D") == {("O", "read"): N * D, ("dO", "read"): N * D, ("D", "write"): N}
        assert ("O", "read") not in elements(p, "dQ")


def test_at_equal_blocks_both_forms_move_alike_and_one_works_less() -> None:
    """n = 8192, d = 128, blocks of 128. Each of the n/B trips: Q, dO and dQ twice, or Q and dO, and K and V: 4 n d.

    Apart from that five of n x d (K, V, dK, dV and the zeros of dQ) against 3 + 4, which read Q, dO, K and V again,
    and L and D. With dQ in fp32, which blocks that add in bf16 would want, one kernel moves a half more.
    """
    n, d, side = 8192, 128, 128
    five, seven = [backward(n, n, d, how, block=side, step=side) for how in FORMS]
    one = sum(elements(five, "dQ").values())
    two = sum(elements(seven, "dQ").values()) + sum(elements(seven, "dK").values())
    assert two - one == (3 + 4 - 5) * n * d + 2 * n
    assert seven.flops_by_unit["matrix"] * (2 + 5) == five.flops_by_unit["matrix"] * (2 + 7)
    wide = pm.cast(five, dQ="fp32").bytes - five.bytes
    assert wide == 2 * n * d * (2 * (n // side) + 1)


@pytest.mark.parametrize(("heads", "kv_heads"), [(8, 8), (8, 2), (8, 1)])
def test_keys_are_read_and_their_gradients_written_once_for_all_heads_that_share_them(
    heads: int, kv_heads: int
) -> None:
    """The sums over a group stay in the block: K, V, dK and dV by head of their own, the rest by query head."""
    for combine in FORMS:
        p = backward(N, N, D, combine, heads=heads, kv_heads=kv_heads, block=B, step=STEP)
        found = elements(p, "dQ" if combine == "atomic" else "dK")
        assert {found[name, "read"] for name in "KV"} == {kv_heads * N * D}
        assert {found[name, "write"] for name in ("dK", "dV")} == {kv_heads * N * D}
        assert {found[name, "read"] for name in ("Q", "dO")} == {heads * N * D * sympy.ceiling(N / B)}


def test_causal_blocks_of_keys_skip_the_queries_before_them() -> None:
    """nb blocks: nb (nb + 1) / 2 pairs of blocks are visited, by Q and dO and by what is added to dQ alike."""
    n, d, side = 512, 32, 64
    blocks = n // side
    tiles = blocks * (blocks + 1) // 2
    found = elements(backward(n, n, d, "atomic", causal=True, block=side, step=side), "dQ")
    assert {found[name, "read"] for name in ("Q", "dO")} == {tiles * side * d}
    assert found["dQ", "read"] == tiles * side * d
    assert found["dQ", "write"] == tiles * side * d + n * d


def test_nothing_of_the_size_of_the_scores_is_kept() -> None:
    """Memory is linear in n: Q, K, V, O, dO, dQ, dK and dV of n x 64 at 2 bytes, L and D of n at 4 and 2."""
    for combine in FORMS:
        p = backward("n", "n", 64, combine)
        assert p.memory_bytes == 8 * 2 * 64 * N + 4 * N + 2 * N
        assert {row[0] for row in p.saved.rows} == {"Q", "K", "V", "O", "L"}


def test_a_block_holds_what_its_tiles_have() -> None:
    """The footprint is free of n."""
    for combine in FORMS:
        assert backward(N, N, 64, combine, block=B, step=STEP).footprint_bytes.free_symbols <= {B, STEP}


# values and counts of runs


@st.composite
def cases(draw: DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Attention of random sizes, heads and mask; a form, and blocks that need not divide."""
    mask = draw(st.sampled_from([{}, {"causal": True}, {"causal": True, "window": 3}, {"window": 2}, {"chunk": 3}]))
    kv_heads = draw(st.integers(1, 2))
    told = {
        "q": draw(st.integers(1, 8)), "kv": draw(st.integers(1, 8)), "d": draw(st.integers(1, 3)),
        "dv": draw(st.integers(1, 3)), "heads": kv_heads * draw(st.integers(1, 2)), "kv_heads": kv_heads,
        "align": draw(st.sampled_from(["end", "start"])), "dtype": "fp64", **mask,
    }  # fmt: skip
    blocks = {"block": draw(st.integers(1, 8)), "step": draw(st.integers(1, 8))}
    return told, {"combine": draw(st.sampled_from(FORMS)), **blocks}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), st.integers(0, 5))
def test_gradients_are_those_of_attention_and_counts_those_of_the_run(
    case: tuple[dict[str, Any], dict[str, Any]], seed: int
) -> None:
    """dQ, dK and dV within 1e-12 of the naive gradient; ragged blocks, grouped heads, masks, rows without a key."""
    told, how = case
    plain = pm.grad(pm.attention(**told, lse=True), of="O")
    p = pm.recipes.flash_attention_backward(**told, **how)
    arrays = reals_of(plain, seed)
    with np.errstate(all="ignore"):
        run, expected = pm.simulate(p, arrays), pm.simulate(plain, arrays)
    assert {"dQ", "dK", "dV", "O", "L"} <= set(run.values)
    for name, value in expected.values.items():
        np.testing.assert_allclose(run.values[name], value, rtol=1e-12, atol=1e-12)
    assert_counts_as_it_runs(p, run)


@pytest.mark.parametrize("combine", FORMS)
def test_the_scale_of_the_scores_goes_back_with_them(combine: str) -> None:
    """S / sqrt(d): dQ and dK are scaled too."""
    plain = pm.grad(pm.attention(6, 7, 3, lse=True, scale=True, dtype="fp64"), of="O")
    arrays = reals_of(plain) | {"scale": 3**-0.5}
    p = backward(6, 7, 3, combine, scale=True, dtype="fp64", block=4, step=3)
    run, expected = pm.simulate(p, arrays), pm.simulate(plain, arrays)
    for name, value in expected.values.items():
        np.testing.assert_allclose(run.values[name], value, rtol=1e-12, atol=1e-12)
    assert_counts_as_it_runs(p, run)


def test_an_inner_kernel_may_be_cut_in_other_ways() -> None:
    """Of the same lines: one kernel that makes D itself, and reads O for it again for each block of keys."""
    g = pm.reassociate(pm.grad(pm.attention("n", "n", 64, lse=True), of="O"))
    g = pm.recompute(pm.fuse(g, to=[("O", "L"), ("dQ", "dK", "dV")]), "P")
    p = pm.tile(g, only="dQ", grid={"kv": 128}, stream={"q": 64}, atomic="kv")
    assert elements(p, "dQ")["O", "read"] == 64 * N * sympy.ceiling(N / 128)
    assert pm.check(p)
