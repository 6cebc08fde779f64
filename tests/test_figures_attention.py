"""Figures of FlashAttention that engineers know, each derived by transforms: no formula of attention is typed in."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from differences import reals_of
from staging import assert_counts_as_it_runs

import perfmodel as pm

N, D, BQ, BK = pm.dims("n d bq bk")


def moved(program: pm.Program) -> Any:
    """Elements read and written."""
    return sympy.expand(program.elements_read + program.elements_written)


def elements(program: pm.Program) -> dict[tuple[str, str, str], Any]:
    """Elements by kernel, tensor and direction."""
    return {row[:3]: row[3] for row in program.traffic().rows}


def flash(n: Any, d: Any, q_block: Any, kv_block: Any, **more: Any) -> pm.Program:
    return pm.recipes.flash_attention(n, n, d, q_block=q_block, kv_block=kv_block, **more)


def keys_outside(n: Any, d: Any, q_block: Any, kv_block: Any, **more: Any) -> pm.Program:
    """FlashAttention-1's order: O, not yet divided, and both statistics spilled on each block of keys."""
    p = pm.online(pm.fuse(pm.attention(n, n, d, lse=True, **more)), "kv")
    p = pm.fuse(pm.unfuse(p), to=[("O_sum", "max", "sum")])  # what divides in the end is a kernel of its own
    loops = {"kv": kv_block, "q": q_block}
    p = pm.tile(pm.online(p, "kv", only="O_sum"), stream=loops, spill=["O_sum", "max", "sum"], only="O_sum")
    return pm.tile(p, grid={"q": q_block}, only="log")


# traffic


@pytest.mark.parametrize(("heads", "kv_heads"), [(1, 1), (32, 8), (32, 1)])
def test_a_block_has_all_the_heads_that_share_keys(heads: int, kv_heads: int) -> None:
    """Q and O once a query head, 2 n d; K and V once a head of their own and tile of queries; the log-sum-exp."""
    p = flash(N, D, BQ, BK, heads=heads, kv_heads=kv_heads, lse=True)
    assert moved(p) == heads * (2 * N * D + N) + kv_heads * 2 * N * D * sympy.ceiling(N / BQ)


def test_by_stage_the_scores_go_to_memory_and_back_twice() -> None:
    """Q, K, V and O, and of n^2 each: S written and read, P written and read. Fused, what a block of 128 rows reads."""
    n, d = 65_536, 128
    standard = pm.fuse(pm.attention(n, n, d), by="stage")
    found = elements(standard)
    assert moved(standard) == 4 * n * d + 4 * n**2
    for stage, name, way in (("scores", "S", "write"), ("softmax", "S", "read"),
                             ("softmax", "P", "write"), ("values", "P", "read")):  # fmt: skip
        assert found[f"attention.{stage}", name, way] == n**2
    once = flash(n, d, 128, 64)
    assert moved(once) == 2 * n * d + 2 * n * d * (n // 128)
    assert Fraction(int(moved(standard)), int(moved(once))) == Fraction(4 * d + 4 * n, 2 * d + 2 * n)


def test_training_keeps_a_quarter_of_a_megabyte_a_head_instead_of_17_gigabytes() -> None:
    """n = 65,536, d = 128: S and P of n^2 at 2 bytes (17.2 GB), or L of n at 4 bytes (0.26 MB); and P is not saved."""
    n, d = 65_536, 128
    written = {row[1]: row[4] for row in pm.fuse(pm.attention(n, n, d), by="stage").traffic().rows if row[2] == "write"}
    assert written["S"] + written["P"] == 2 * 2 * n**2 == pytest.approx(17.2e9, rel=2e-3)
    kept = {row[1]: row[4] for row in flash(n, d, 128, 64, lse=True).traffic().rows if row[2] == "write"}
    assert set(kept) == {"O", "L"}
    assert kept["L"] == 4 * n == pytest.approx(0.26e6, rel=1e-2)
    standard = pm.fuse(pm.grad(pm.attention(n, n, d), of="O"), by="stage")
    assert {row[0] for row in standard.saved.rows} == {"Q", "K", "V", "P"}
    assert {row[0] for row in pm.recipes.flash_attention_backward(n, n, d).saved.rows} == {"Q", "K", "V", "O", "L"}


def test_memory_is_linear_in_the_length() -> None:
    """Q, K, V and O of n x d at 2 bytes, and L at 4; by stage S and P of n^2 are alive together at the softmax."""
    assert sympy.expand(flash(N, D, 128, 64, lse=True).memory_bytes) == 4 * 2 * N * D + 4 * N
    held = {row[2] for row in pm.fuse(pm.attention(N, N, 128), by="stage").at(n=4096).memory().rows}
    assert {"S", "P"} <= held


# growth


def largest_square(n: int, d: int, room: int, make: Any) -> pm.Program:
    """The program in the largest square tiles of which a block fits in so many elements."""
    symbolic = make(N, D, BQ, BQ, dtype="fp32")
    held = symbolic.footprint_bytes.xreplace({D: sympy.Integer(d)})
    fitting = [side for side in range(1, room // d) if held.xreplace({BQ: sympy.Integer(side)}) <= 4 * room]
    return symbolic.at(n=n, d=d, bq=fitting[-1])


@pytest.mark.parametrize("d", [64, 128])
def test_traffic_grows_as_n2_d2_over_m(d: int) -> None:
    """At the largest square tile that fits M = d^2, 2 d^2, 4 d^2 elements, 8 to 12 times n^2 d^2 / M are moved.

    A tile of side B holds Q, K, V and O, 4 B d, and the scores and their shifts, 2 B^2: B is a little under M / 4d, and
    K and V are read n / B times, 2 n d n / B, a little over 8 n^2 d^2 / M.
    """
    n, order = 2**18, pm.known_io_orders()["attention"]
    for room in (d * d, 2 * d * d, 4 * d * d):
        p = largest_square(n, d, room, flash)
        assert p.footprint_bytes <= 4 * room
        assert 8 <= moved(p) / order.at(n=n, d=d, M=room) <= 12
        twice = largest_square(2 * n, d, room, flash)
        assert float(moved(twice) / moved(p)) == pytest.approx(4, rel=1e-3)


def test_the_fewest_bytes_are_those_of_the_tallest_tile() -> None:
    """Of all tiles that fit, the search takes the most queries, whose keys come one by one: fewer bytes than square."""
    n, d, room = 4096, 64, 64 * 64
    p = pm.online(pm.fuse(pm.attention(n, n, d, dtype="fp32")), "kv")
    best = pm.best_tiles(p, capacity_bytes=4 * room, grid="q", stream="kv", sizes="all")
    square = largest_square(n, d, room, flash)
    assert best.tiles["kv"] == 1
    assert best.bytes < square.bytes


# the order of the loops


def test_keys_outside_move_half_as_much_again_as_queries_outside() -> None:
    """K and V once; Q read, O read and written on each of n/B trips, 3 n d, where queries outside read K and V, 2 n d.

    Both statistics move with O: 4 n on each trip. The division reads O and the sums, and writes O; L is made there.
    """
    p = keys_outside(N, D, BQ, BK)
    trips = sympy.ceiling(N / BK)
    assert moved(p) == sympy.expand(2 * N * D + trips * (3 * N * D + 4 * N) + (2 * N * D + 2 * N) + N)
    first, second = [largest_square(2**18, 128, 128**2, make) for make in (keys_outside, flash)]
    assert float(moved(first) / moved(second)) == pytest.approx(3 / 2, rel=0.2)


@pytest.mark.parametrize(("q_block", "kv_block"), [(2, 3), (4, 2), (5, 5)])
@pytest.mark.parametrize("causal", [False, True])
def test_either_order_gives_the_values_of_attention(q_block: int, kv_block: int, causal: bool) -> None:
    """Ragged blocks, to 1e-12; and both run as they are counted."""
    plain = pm.attention(7, 7, 3, lse=True, causal=causal, dtype="fp64")
    arrays = reals_of(plain)
    expected = pm.simulate(plain, arrays)
    for make in (flash, keys_outside):
        p = make(7, 3, q_block, kv_block, causal=causal, dtype="fp64", **({"lse": True} if make is flash else {}))
        run = pm.simulate(p, arrays)
        assert_counts_as_it_runs(p, run)
        for name, value in expected.values.items():
            np.testing.assert_allclose(run.values[name], value, rtol=1e-12, atol=1e-12)


# masks


def test_causal_blocks_skip_the_tiles_above_the_diagonal() -> None:
    """nb = n/B blocks: the i-th visits i tiles, nb (nb + 1) / 2 of nb^2; n (n + 1) / 2 pairs of n^2 are work."""
    n, d, side = 1024, 64, 64
    whole, skipped = [flash(n, d, side, side, causal=causal) for causal in (False, True)]
    blocks = n // side
    tiles = blocks * (blocks + 1) // 2
    found = elements(skipped)
    for name in "KV":
        assert found["attention", name, "read"] == tiles * side * d
        assert elements(whole)["attention", name, "read"] == blocks**2 * side * d
    assert skipped.flops_by_unit["matrix"] == 2 * 2 * d * (n * (n + 1) // 2)
    rescaling = tiles * side * (d + 2)
    pairs = pm.online(pm.fuse(pm.attention(n, n, d, causal=True)), "kv").flops
    assert skipped.flops == pairs + rescaling


def test_a_window_reads_keys_in_proportion_to_itself() -> None:
    """256 keys behind each row, blocks of 64: 5 tiles of keys a block of queries (fewer for the first four), not 16."""
    n, d, side = 1024, 64, 64
    found = elements(flash(n, d, side, side, causal=True, window=256))
    assert found["attention", "K", "read"] == (1 + 2 + 3 + 4 + 12 * 5) * side * d
