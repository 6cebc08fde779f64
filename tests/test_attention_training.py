"""FlashAttention's backward pass as transforms: one kernel of five contractions, or two of three and four."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differences import reals_of
from staging import assert_counts_as_it_runs

import perfmodel as pm

n = pm.dims("n")


def two_kernels(p: pm.Program) -> pm.Program:
    """D by rows; dQ, which sums over keys; dK and dV, which sum over queries: the last two each make P and dS again."""
    g = pm.reassociate(pm.grad(p, of="O"))
    for kernels in ([kernel.name for kernel in p.kernels], ["mul_2", "D"], ["dP", "sub_2", "dS", "dQ"], ["dV", "dK"]):
        g = pm.fuse(g, only=kernels)
    return pm.recompute(g, "P", "dS", keep="D")


def products(p: pm.Program) -> Any:
    """Contractions by kernel."""
    return [sum(op.kind == "contract" for op in kernel.ops) for kernel in p.kernels]


def test_one_kernel_does_five_contractions_and_two_do_seven() -> None:
    """S and dP again, dQ, dK, dV; in two kernels S and dP twice. The forward pass has two."""
    p = pm.attention("n", "n", 64, lse=True, causal=True)
    one = pm.recompute(pm.reassociate(pm.fuse(pm.grad(p, of="O"))), "P")
    two = two_kernels(p)
    assert products(one) == [2, 5]
    assert products(two) == [2, 0, 3, 4]
    assert 2 * one.flops_by_unit["matrix"] == (2 + 5) * p.flops_by_unit["matrix"]
    assert 2 * two.flops_by_unit["matrix"] == (2 + 7) * p.flops_by_unit["matrix"]


def test_nothing_of_the_size_of_the_scores_is_kept() -> None:
    """Memory is linear in n: Q, K, V, O, dO, dQ, dK and dV of n x 64 at 2 bytes, L and D of n at 4 and 2."""
    p = pm.attention("n", "n", 64, lse=True)
    assert two_kernels(p).memory_bytes == 8 * 2 * 64 * n + 4 * n + 2 * n
    assert {row[0] for row in two_kernels(p).saved.rows} == {"Q", "K", "V", "O", "L"}


@pytest.mark.parametrize(("block", "other"), [(128, 64), (64, 64)])
def test_keys_are_read_once_a_block_of_queries_and_queries_once_a_block_of_keys(block: int, other: int) -> None:
    """dQ by blocks of queries reads K and V ceil(n / block) times; dK and dV by blocks of keys Q and dO as often."""
    p = two_kernels(pm.attention("n", "n", 64, lse=True))
    names = [kernel.name for kernel in p.kernels]
    p = pm.tile(p, grid={"q": block}, stream={"kv": other}, only=names[2])
    p = pm.tile(p, grid={"kv": block}, stream={"q": other}, only=names[3])
    read = {(kernel, name): size for kernel, name, way, size, *_ in p.traffic().rows if way == "read"}
    trips = pm.ceil_div(n, block)
    for kernel, once, again in ((names[2], ("Q", "dO"), ("K", "V")), (names[3], ("K", "V"), ("Q", "dO"))):
        assert {read[kernel, name] for name in once} == {64 * n}
        assert {read[kernel, name] for name in again} == {64 * n * trips}


@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, None), (True, 3)])
@pytest.mark.parametrize("blocks", [(2, 3), (3, 2), (4, 5)])
def test_blocks_that_do_not_divide_n_change_no_value(causal: bool, window: int | None, blocks: tuple[int, int]) -> None:
    """dQ, dK and dV to 1e-12, grouped heads, ragged tiles; and what the run loads is what the formulas say."""
    p = pm.attention(7, 7, 3, dv=4, heads=4, kv_heads=2, causal=causal, window=window, lse=True, dtype="fp64")
    plain, two = pm.grad(p, of="O"), two_kernels(p)
    names = [kernel.name for kernel in two.kernels]
    tiled = pm.tile(two, grid={"q": blocks[0]}, stream={"kv": blocks[1]}, only=names[2])
    tiled = pm.tile(tiled, grid={"kv": blocks[0]}, stream={"group": 1, "q": blocks[1]}, only=names[3])
    arrays = reals_of(plain)
    run, expected = pm.simulate(tiled, arrays), pm.simulate(plain, arrays)
    for name, value in expected.values.items():
        np.testing.assert_allclose(run.values[name], value, rtol=1e-12, atol=1e-12)
    assert_counts_as_it_runs(tiled, run)
