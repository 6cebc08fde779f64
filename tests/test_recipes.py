"""Recipes: each is the lines that its documentation shows, computes what it describes, and counts as it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differences import reals_of
from staging import assert_counts_as_it_runs, loads

import perfmodel as pm
from perfmodel import recipes

N = pm.dims("n")

# ---------------------------------------------------------------------------- the lines of the documentation


def test_flash_attention_is_three_lines() -> None:
    """fuse, online, tile."""
    p = pm.online(pm.fuse(pm.attention(N, N, 64, heads=8, kv_heads=2, causal=True)), "kv")
    p = pm.tile(p, grid={"batch": 1, "kv_head": 1, "q": 64}, stream={"kv": 32})
    assert recipes.flash_attention(N, N, 64, heads=8, kv_heads=2, causal=True, q_block=64, kv_block=32) == p


def test_its_backward_is_a_gradient_reassociated_fused_recomputed_and_tiled() -> None:
    """Five contractions in one kernel, or seven in two."""
    rows, keys = {"batch": 1, "kv_head": 1, "q": 64}, {"batch": 1, "kv_head": 1, "kv": 64}
    g = pm.reassociate(pm.grad(pm.attention(N, N, 64, lse=True), of="O"))
    one = pm.recompute(pm.fuse(g, to=[("O", "L"), "D", ("dQ", "dK", "dV")]), "P", keep="D")
    one = pm.tile(pm.online(one, "kv", only="O"), only=("O", "D"), grid=rows, stream={"kv": 32})
    one = pm.tile(one, only="dQ", grid=keys, stream={"group": 1, "q": 32}, atomic="kv")
    assert recipes.flash_attention_backward(N, N, 64, block=64, step=32) == one
    two = pm.recompute(pm.fuse(g, to=[("O", "L"), "D", "dQ", ("dK", "dV")]), "P", "dS", keep="D")
    two = pm.tile(pm.online(two, "kv", only="O"), only=("O", "D", "dQ"), grid=rows, stream={"kv": 32})
    two = pm.tile(two, only="dK", grid=keys, stream={"group": 1, "q": 32})
    assert recipes.flash_attention_backward(N, N, 64, combine="kernel", block=64, step=32) == two


def test_flash_decoding_is_four_lines() -> None:
    """fuse, online, split, and tiles for the parts and for what combines them."""
    p = pm.split(pm.online(pm.fuse(pm.attention(1, N, 64, heads=8, kv_heads=2)), "kv"), kv=4)
    p = pm.tile(p, only="attention", grid={"batch": 1, "kv_head": 1, "kv_part": 1}, stream={"kv": 32})
    p = pm.tile(p, only="attention_combine", grid={"batch": 1, "kv_head": 1})
    assert recipes.flash_decoding(N, 64, heads=8, kv_heads=2, parts=4, kv_block=32) == p


def test_a_fused_mlp_is_two_lines() -> None:
    """fuse, tile."""
    p = pm.fuse(pm.gated_mlp(N, 64, 256, activation="gelu"))
    p = pm.tile(p, grid={"token": 16}, stream={"intermediate": 32})
    assert recipes.fused_mlp(N, 64, 256, activation="gelu", token_block=16, intermediate_block=32) == p


def test_an_implicit_gemm_is_three_lines() -> None:
    """im2col, fuse, tile."""
    p = pm.fuse(pm.im2col(pm.conv2d(2, 16, 16, 4, 8, stride=2, padding=1)))
    p = pm.tile(p, grid={"batch": 1, "group": 1, "f": 8, "p": 4, "q": 4}, stream={"c": 2})
    assert recipes.implicit_gemm(2, 16, 16, 4, 8, stride=2, padding=1, f_block=8, p_block=4, q_block=4, c_block=2) == p


LAYER = pm.program(
    pm.relu(
        pm.einsum("mk,kj->mj", pm.tensor("x", {"m": 6, "k": 4}, "fp64"), pm.tensor("W", {"k": 4, "j": 4}, "fp64"))
    ).named("y"),
    name="layer",
)


def test_checkpoints_are_a_gradient_recomputed() -> None:
    """By segments of a program that is all layers, or repeated."""
    chain = pm.elementwise("sigmoid(sigmoid(sigmoid(sigmoid(x))))", 8)
    assert recipes.checkpointed(chain, every=2) == pm.recompute(pm.grad(chain), segment=2)
    run = pm.sequence(LAYER, LAYER, join={"y": "x"})
    p = pm.recompute(pm.grad(run), segment=run.returned).repeat(5, carry={"y_2": "x", "dx": "dy_2"})
    assert recipes.checkpointed(LAYER, every=2, layers=10) == p


# ---------------------------------------------------------------------------- what they compute

MADE = {
    "flash": recipes.flash_attention(300, 300, 64, heads=4, kv_heads=2, causal=True),
    "flash, trained": recipes.flash_attention_backward(300, 300, 64, heads=4, kv_heads=2),
    "flash, trained in two": recipes.flash_attention_backward(300, 300, 64, combine="kernel"),
    "flash, decoding": recipes.flash_attention(1, 4096, 64, heads=4, kv_heads=2),
    "flash, decoding in parts": recipes.flash_decoding(300, 64, heads=4, kv_heads=2, q=2, lse=True),
    "flash, decoding four tokens": recipes.flash_decoding(300, 64, heads=4, kv_heads=2, q=4, causal=True),
    "flash, decoding in a window": recipes.flash_decoding(300, 64, q=2, causal=True, window=100, parts=3),
    "flash, decoding in symbols": recipes.flash_decoding("n", "d", heads="h", kv_heads=2, parts="s"),
    "mlp": recipes.fused_mlp(300, 64, 256),
    "convolution": recipes.implicit_gemm(2, 16, 16, 32, 128, padding=1),
    "checkpoints": recipes.checkpointed(LAYER, every=2, layers=6),
    "checkpoints of a chain": recipes.checkpointed(pm.elementwise("exp(exp(exp(x)))", 8), every=2),
    "in symbols": recipes.flash_attention("n", "n", "d", heads="h", kv_heads=2),
}


@pytest.mark.parametrize("name", MADE)
def test_values_and_counts_are_those_of_the_run(name: str) -> None:
    """``check``, at small sizes."""
    assert pm.check(MADE[name])


def test_the_head_of_a_group_reads_its_keys_once() -> None:
    """Of 8 heads that share 2: K and V twice n d a tile of queries, not 8 times."""
    told = {"q": 6, "kv": 10, "d": 3, "dtype": "fp64", "q_block": 4, "kv_block": 3}
    grouped = recipes.flash_attention(heads=8, kv_heads=2, **told)  # type: ignore[arg-type]
    assert {loads(grouped)[name] for name in "KV"} == {2 * (2 * 10 * 3)}  # 2 heads, ceil(6 / 4) tiles
    apart = pm.tile(grouped, grid={"batch": 1, "kv_head": 1, "group": 1, "q": 4}, stream={"kv": 3})
    assert {loads(apart)[name] for name in "KV"} == {8 * (2 * 10 * 3)}
    arrays = reals_of(grouped)
    plain = pm.attention(6, 10, 3, heads=8, kv_heads=2, dtype="fp64")
    run = pm.simulate(grouped, arrays)
    assert_counts_as_it_runs(grouped, run)
    np.testing.assert_allclose(run.values["O"], pm.simulate(plain, arrays).values["O"], rtol=1e-12, atol=1e-12)


def test_a_decode_step_is_one_tile_of_queries() -> None:
    """Blocks larger than the extents cut nothing."""
    p = recipes.flash_attention(1, 8192, 128, heads=32, kv_heads=8)
    assert p.elements_read + p.elements_written == 2 * 32 * 128 + 2 * 8 * 8192 * 128


def test_a_decode_step_in_parts_moves_dv_and_2_values_more_of_each_head_and_part() -> None:
    """Written in fp32 and read back; Q is read in each part."""
    whole = recipes.flash_attention(1, 8192, 128, heads=32, kv_heads=8)
    p = recipes.flash_decoding(8192, 128, heads=32, kv_heads=8, parts=16)
    assert p.elements_read - whole.elements_read == 15 * 32 * 128 + 16 * 32 * (128 + 2)
    assert p.elements_written - whole.elements_written == 16 * 32 * (128 + 2)


def test_an_mlp_reads_its_weights_a_block_of_tokens_and_writes_no_hidden_value() -> None:
    """x and y once; three matrices for each of ceil(300 / 128) blocks."""
    p = recipes.fused_mlp(300, 64, 256)
    assert loads(p) == {"x": 300 * 64, **dict.fromkeys(("W_gate", "W_up", "W_down"), 3 * 64 * 256)}
    assert p.elements_written == 300 * 64


def test_a_block_of_a_convolution_stages_its_own_windows() -> None:
    """8 x 16 places of a 3 x 3 window: 10 x 18 of x, and 8 * 16 * 9 columns for 16 channels, at 2 bytes."""
    held = {row[2]: row[3] for row in recipes.implicit_gemm(1, 64, 64, 64, 64, padding=1).footprint().rows}
    assert held["x"] == 2 * 16 * 10 * 18
    assert held["x_columns"] == 2 * 16 * 8 * 16 * 9


@pytest.mark.parametrize(("every", "again"), [(1, 0), (2, 1), (3, 2), (6, 5), (12, 11)])
def test_checkpoints_keep_one_input_a_segment_and_make_the_rest_again(every: int, again: int) -> None:
    """12 layers: 12 / every inputs x; each segment makes all its layers but the last again, whose y it has anyway."""
    p = recipes.checkpointed(LAYER, every=every, layers=12)
    assert {row[2]: row[3] for row in p.memory().rows}["x"] == 12 // every * (8 * 6 * 4)
    product = 2 * 6 * 4 * 4
    assert p.flops_by_unit["matrix"] == (12 * 3 + 12 // every * again) * product  # forward, dx, dW


@pytest.mark.parametrize("every", [1, 2, 3, 6])
def test_a_repeated_segment_counts_as_layers_written_out(every: int) -> None:
    """Six layers in a row, with every k-th output kept: as many FLOPs and bytes; the gradients stay the same."""
    run, outputs = LAYER, ["y"]
    for place in range(2, 7):
        run = pm.sequence(run, LAYER, join={outputs[-1]: "x"})
        outputs.append(f"y_{place}")
    plain = pm.grad(run)
    written = pm.recompute(plain, segment=outputs[every - 1 :: every])
    p = recipes.checkpointed(LAYER, every=every, layers=6)
    assert (p.flops_by_unit, p.bytes_read, p.bytes_written) == (
        written.flops_by_unit, written.bytes_read, written.bytes_written
    )  # fmt: skip
    arrays = reals_of(plain)
    expected, found = pm.simulate(plain, arrays).values, pm.simulate(written, arrays).values
    assert {"dx", "dW", "dW_6"} <= set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


def test_memory_falls_and_rises_again_with_the_length_of_a_segment() -> None:
    """Inputs of segments, n / k, against values of one, k: least between the ends."""
    layer = pm.elementwise("sigmoid(sigmoid(x))", 1024)
    held = [int(recipes.checkpointed(layer, every=k, layers=64).memory_bytes) for k in (1, 4, 8, 16, 64)]
    assert min(held) < held[0]
    assert min(held) < held[-1]


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: recipes.flash_attention(8, 8, 0), pm.DimensionError, "attention: d = 0"),
        (lambda: recipes.flash_attention(8, 8, 4, q_block=0), pm.DimensionError, "flash_attention: q_block = 0"),
        (lambda: recipes.flash_attention(8, 8, 4, heads=3, kv_heads=2), pm.DimensionError, "does not divide evenly"),
        (
            lambda: recipes.flash_attention_backward(8, 8, 4, combine="atomics"),
            pm.ExpressionError,
            r"combine = 'atomics': expected one of atomic, kernel \(did you mean 'atomic'",
        ),
        (lambda: recipes.flash_decoding(8, 4, parts=9), pm.DimensionError, "no more than 8 keys"),
        (lambda: recipes.checkpointed(LAYER, every=5, layers=12), pm.DimensionError, "layers / every = 12 / 5"),
        (lambda: recipes.checkpointed(LAYER, every=0, layers=12), pm.TransformError, "every=0: a whole number"),
        (lambda: recipes.checkpointed(LAYER, every=True, layers=12), pm.TransformError, "every=True"),
        (lambda: recipes.checkpointed(LAYER, every=0), pm.TransformError, "every=0: a whole number"),
        (lambda: recipes.checkpointed(LAYER, layers=4, carry={"z": "x"}), pm.LabelError, "'z'"),
        (lambda: recipes.checkpointed(LAYER, 2, layers=4, carry={"z": "x"}), pm.LabelError, "'z'"),
        (lambda: recipes.checkpointed(3), pm.TransformError, "checkpointed: expected a program"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_is_refused(make: Any, error: type[Exception], message: str) -> None:
    """By the part that the recipe is made of, or by itself."""
    with pytest.raises(error, match=message):
        make()


def test_they_are_a_module_that_loads_when_it_is_used() -> None:
    """pm.recipes, and its names."""
    assert pm.recipes is recipes
    assert set(recipes.__all__) <= set(dir(pm.recipes))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda r: r.flash_attention(8, 8, 8, q_block=0), r"flash_attention: q_block = 0"),
        (lambda r: r.flash_attention(8, 8, 8, kv_block="x y"), r"flash_attention: kv_block = 'x y'"),
        (lambda r: r.flash_attention_backward(8, 8, 8, block=-3), r"flash_attention_backward: block = -3"),
        (lambda r: r.flash_attention_backward(8, 8, 8, step=1.5), r"flash_attention_backward: step = 1.5"),
        (lambda r: r.flash_decoding(8, 8, parts=None), r"flash_decoding: parts not given"),
        (lambda r: r.flash_decoding(8, 8, parts=1), r"flash_decoding: parts=1: 2 parts of the keys or more"),
        (lambda r: r.flash_decoding(8, 8, parts=9), r"flash_decoding: parts=9: .* no more than 8 keys"),
        (lambda r: r.fused_mlp(8, 8, 8, token_block=0), r"fused_mlp: token_block = 0"),
        (lambda r: r.implicit_gemm(1, 8, 8, 8, 8, c_block=0), r"implicit_gemm: c_block = 0"),
        (lambda r: r.checkpointed(pm.matmul(8, 8, 8), every=0), r"checkpointed: every=0: a whole number of layers"),
        (lambda r: r.checkpointed(pm.matmul(8, 8, 8), layers=4, carry=3), r"checkpointed: carry: expected a mapping"),
        (lambda r: r.checkpointed(pm.matmul(8, 8, 8), carry={"C": "A"}), r"carry says .* give layers= as well"),
    ],
)
def test_recipes_name_their_own_arguments(make: Any, message: str) -> None:
    """Not the labels and transforms that they are made of."""
    with pytest.raises(pm.PerfModelError, match=message):
        make(pm.recipes)
