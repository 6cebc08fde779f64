"""Gated MLP, rotary embedding and look-up."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from reference import counted

import perfmodel as pm

T, H, I = pm.dims("t h i")  # noqa: E741  # tokens, hidden, intermediate
SMALL = st.integers(1, 5)


def test_a_gated_mlp_has_three_matrices() -> None:
    """gate, up and down are t h i MACs each; silu is a special operation and a FLOP, the product another FLOP."""
    p = pm.gated_mlp(T, H, I)
    assert p.macs == 3 * T * H * I
    assert p.flops_by_unit == {"matrix": 6 * T * H * I, "vector": 2 * T * I, "special": T * I}
    weights = [name for name in p.tensors if name.startswith("W_")]
    assert weights == ["W_gate", "W_up", "W_down"]


def test_a_gated_mlp_reads_x_twice_and_each_weight_once() -> None:
    """One op a kernel: gate and up read x each; fused it is read once and nothing in between moves."""
    p = pm.gated_mlp(T, H, I)
    # gate, up: x and a weight; activation; product of two; down: the product and a weight
    assert p.elements_read == (2 * (T * H + H * I) + T * I + 2 * T * I + (T * I + H * I)).expand()
    assert p.elements_written == (2 * T * I + T * I + T * I + T * H).expand()
    assert pm.fuse(p).elements_read == T * H + 3 * H * I
    assert pm.fuse(p).elements_written == T * H


@pytest.mark.parametrize(("activation", "flops", "special"), [("silu", 1, 1), ("gelu", 4, 1), ("relu", 1, 0),
                                                              ("sigmoid", 0, 1), ("tanh", 0, 1)])  # fmt: skip
def test_the_activation_says_what_it_costs(activation: str, flops: int, special: int) -> None:
    """SwiGLU, GEGLU, ReGLU and the gate of the first GLU differ only in the activation."""
    p = pm.gated_mlp(4, 8, 16, activation=activation)
    assert p.flops_by_unit["vector"] == (flops + 1) * (4 * 16)
    assert p.flops_by_unit["special"] == special * (4 * 16)


def test_gated_mlp_on_tensors_costs_what_sizes_cost() -> None:
    """gated_mlp(x, W_gate, W_up, W_down) finds the axes by their order."""
    x = pm.tensor("x", {"token": T, "hidden": H})
    gate, up = (pm.tensor(name, {"hidden": H, "intermediate": I}) for name in ("W_gate", "W_up"))
    down = pm.tensor("W_down", {"intermediate": I, "hidden": H})
    p, q = pm.program(pm.gated_mlp(x, gate, up, down)), pm.gated_mlp(T, H, I)
    assert (p.flops_by_unit, p.bytes_read, p.bytes_written) == (q.flops_by_unit, q.bytes_read, q.bytes_written)


def test_weights_and_result_in_formats_of_their_own() -> None:
    """Weights of 4 bits with scales, the result in fp32: each moves in its own format."""
    p = pm.fuse(pm.gated_mlp(1, 64, 128, dtype={"W_gate": "mxfp4", "W_up": "mxfp4", "W_down": "mxfp4", "y": "fp32"}))
    row = {64: 64 * 4 // 8 + 2, 128: 128 * 4 // 8 + 4}  # a byte of scale for each 32 elements of a row
    assert p.bytes_read == 2 * 64 + 2 * (64 * row[128]) + 128 * row[64]
    assert p.bytes_written == 4 * 64


@given(SMALL, SMALL, SMALL)
def test_the_formulas_are_what_walking_counts(tokens: int, hidden: int, intermediate: int) -> None:
    """Counts of a gated MLP and of a look-up equal a walk element by element."""
    for p in (pm.gated_mlp(tokens, hidden, intermediate), pm.embedding(tokens, intermediate, hidden)):
        found = counted(p)
        assert (p.macs, p.flops_by_unit["special"]) == (found.macs, found.unit("special"))
        assert (p.bytes_read, p.bytes_written) == (found.bytes["read"], found.bytes["write"])


def test_rope_costs_three_flops_an_element() -> None:
    """x * cos + rolled x * sin: two multiplies and an add; fused it reads x and two tables once."""
    d = 128
    x = pm.tensor("x", {"token": T, "head": 8, "d": d})
    table = {"token": T, "d": d}
    p = pm.program(pm.rope(x, pm.tensor("cos", table), pm.tensor("sin", table)))
    assert p.flops == 3 * (T * 8 * d)
    assert pm.fuse(p).elements_read == T * 8 * d + 2 * (T * d)
    assert pm.fuse(p).elements_written == T * 8 * d
    assert p.outputs[0].name == "rope"


def test_rope_rolls_by_half_of_any_label() -> None:
    """The other half of the pair stands d/2 further on, for symbols too."""
    x, d = pm.tensor("x", {"width": "w"}), pm.dims("w")
    made = pm.program(pm.rope(x, x, x, label="width"))
    crossed = made.ops[1].reads[0].index[0]
    assert (crossed.offset, crossed.modulo) == (d / 2, d)


def test_a_look_up_reads_rows_and_indices() -> None:
    """One row of the table for each token and the indices, 4 bytes each; no FLOP."""
    p = pm.embedding(T, 50_257, H)
    assert p.elements_read == T * H + T
    assert p.bytes_read == 2 * T * H + 4 * T
    assert p.bytes_written == 2 * T * H
    assert p.flops == 0
    assert p.tensors["W"].extents == (50_257, H)


def test_embedding_on_tensors_costs_what_sizes_cost() -> None:
    """embedding(ids, W) looks up the first axis of W."""
    ids, table = pm.tensor("ids", {"token": T}, dtype="int32"), pm.tensor("W", {"vocabulary": 100, "hidden": H})
    p, q = pm.program(pm.embedding(ids, table)), pm.embedding(T, 100, H)
    assert (p.bytes_read, p.bytes_written, p.flops) == (q.bytes_read, q.bytes_written, 0)


def test_formats_of_the_look_up() -> None:
    """Indices of 8 bytes, a table of a byte, a result of 2: each moves in its own format."""
    p = pm.embedding(16, 100, 64, dtype={"ids": "int64", "W": "int8", "y": "bf16"})
    assert p.bytes_read == 8 * 16 + 1 * (16 * 64)
    assert p.bytes_written == 2 * (16 * 64)


X, GATE = pm.tensor("x", {"token": 4, "hidden": 8}), pm.tensor("W", {"hidden": 8, "intermediate": 16})
IDS = pm.tensor("ids", {"token": 4}, dtype="int32")


@pytest.mark.parametrize(("call", "said"), [
    (lambda: pm.gated_mlp(), "gated_mlp: tokens, hidden, intermediate not given"),
    (lambda: pm.gated_mlp(4, 4), "gated_mlp: intermediate not given"),
    (lambda: pm.gated_mlp(4, 4, 4, activation="silo"), "did you mean 'silu'"),
    (lambda: pm.gated_mlp(4, 4, 4, activation=None), "gated_mlp: activation = None"),
    (lambda: pm.gated_mlp(4, 4, 4, GATE), "gated_mlp: with sizes it takes no w_down"),
    (lambda: pm.gated_mlp(4, 4, 4, stage="x"), "gated_mlp: with sizes it takes no stage"),
    (lambda: pm.gated_mlp(X, GATE, GATE), "expected tensors, got None"),
    (lambda: pm.gated_mlp(X, 4, GATE, GATE), "expected tensors, got 4"),
    (lambda: pm.gated_mlp(X, GATE, GATE, X), "label"),
    (lambda: pm.gated_mlp(X, GATE, GATE, GATE), "label"),
    (lambda: pm.gated_mlp(pm.tensor("s", {}), GATE, GATE, GATE), "needs 1 axes or more"),
    (lambda: pm.gated_mlp(X, pm.tensor("s", {"hidden": 8}), GATE, GATE), "needs 2 axes or more"),
    (lambda: pm.gated_mlp(X, GATE, GATE, GATE, dtype="fp32"), "gated_mlp: with tensors it takes no dtype"),
    (lambda: pm.rope(4, 4, 4), "expected tensors, got 4"),
    (lambda: pm.rope(X, X, 4), "expected tensors, got 4"),
    (lambda: pm.rope(X, X, X), "rope: tensor 'x' has no label 'd'"),
    (lambda: pm.rope(X, X, X, label=8), "rope: tensor 'x' has no label 8"),
    (lambda: pm.rope(*[pm.tensor("x", {"d": 7})] * 3), "rope: d / 2 = 7 / 2: does not divide"),
    (lambda: pm.rope(pm.tensor("x", {"d": 8}), *[pm.tensor("t", {"d": 4})] * 2), "label 'd'"),
    (lambda: pm.embedding(4, 4), "embedding: hidden not given"),
    (lambda: pm.embedding(IDS, 4), "expected tensors, got 4"),
    (lambda: pm.embedding(IDS, pm.tensor("s", {})), "needs 1 axes or more"),
    (lambda: pm.embedding(IDS, GATE, 4), "embedding: with tensors it takes no hidden"),
    (lambda: pm.embedding(X, GATE), "the indices 'x' are bf16; an index is an int"),
    (lambda: pm.embedding(4, 4, 4, dtype={"ids": "fp32"}), "the indices 'ids' are fp32"),
    (lambda: pm.embedding(4, 4, 4, dtype={"z": "fp32"}), "its tensors are ids, W, y"),
])  # fmt: skip
def test_a_wrong_call_says_what_is_wrong(call: object, said: str) -> None:
    """What is forgotten, of the other form, without the axes that it needs, or no index."""
    with pytest.raises(pm.PerfModelError, match=said):
        call()
