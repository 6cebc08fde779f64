"""Attention: heads that share K and V, head sizes that differ, masks against brute force, stages, log-sum-exp."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from reference import counted

import perfmodel as pm

N = pm.dims("n")


def pairs(q: int, kv: int, *, causal: bool, window: int | None, chunk: int | None, align: str) -> int:
    """The pairs that a mask allows, one by one: i' is the place of row i among the keys."""
    found = 0
    for i in range(q):
        at = i + kv - q if align == "end" else i
        for j in range(kv):
            seen = not causal or j <= at
            seen &= window is None or (at - window < j and (causal or j < at + window))
            seen &= chunk is None or j // chunk == at // chunk
            found += seen
    return found


def test_scores_and_values_are_two_matmuls() -> None:
    """Q K^T costs 2 q kv d for each query head and P V 2 q kv dv; K and V have fewer heads."""
    p = pm.attention(q="q", kv="kv", d="d", dv="dv", heads=32, kv_heads=8, batch="b")
    q, kv, d, dv, b = pm.dims("q kv d dv b")
    assert p.flops_by_unit["matrix"] == (32 * b * (2 * q * kv * d + 2 * q * kv * dv)).expand()
    assert p.macs == (32 * b * q * kv * (d + dv)).expand()
    assert p.tensors["K"].extents == (b, 8, kv, d)
    assert p.tensors["V"].extents == (b, 8, kv, dv)
    assert p.tensors["Q"].extents == (b, 8, 4, q, d)


def test_the_softmax_between_them_costs_four_flops_and_an_exp() -> None:
    """max, subtract, sum, divide and exp over q kv points of each head; 1/sqrt(d) is folded into Q unless asked for."""
    p = pm.attention(q=N, kv=N, d=64, heads=4)
    assert p.flops_by_unit["vector"] == 4 * (4 * N**2)
    assert p.flops_by_unit["special"] == 4 * N**2
    assert pm.attention(q=N, kv=N, d=64, heads=4, scale=True).flops_by_unit["vector"] == 5 * (4 * N**2)
    assert pm.attention(q=N, kv=N, d=64, heads=4, softmax="naive").flops_by_unit["vector"] == 2 * (4 * N**2)


def test_by_stage_it_is_the_three_kernels_of_the_textbooks() -> None:
    """Scores, softmax, weighted sum: S is written and read, P is written and read; fused none of it moves."""
    p = pm.fuse(pm.attention(q=N, kv=N, d=64), by="stage")
    assert [kernel.name for kernel in p.kernels] == ["attention.scores", "attention.softmax", "attention.values"]
    assert p.elements_read == (2 * 64 * N) + N**2 + (N**2 + 64 * N)  # Q and K; S; P and V
    assert p.elements_written == N**2 + N**2 + 64 * N  # S; P; O
    fused = pm.fuse(p)
    assert (fused.elements_read, fused.elements_written) == (3 * 64 * N, 64 * N)


def test_scores_of_a_long_sequence_fill_gigabytes() -> None:
    """At n = 65,536 in bf16 S and P are 2 * 2 n^2 = 17.2 GB, and each is written and read: 34.4 GB."""
    n = 65_536
    p = pm.fuse(pm.attention(q=n, kv=n, d=64), by="stage")
    occupied = sum(2 * item.extent("q") * item.extent("kv") for name, item in p.tensors.items() if name in ("S", "P"))
    assert occupied == 2 * (2 * n**2) == 17_179_869_184
    table = p.traffic()
    place = {name: table.columns.index(name) for name in ("tensor", "bytes")}
    moved = sum(row[place["bytes"]] for row in table.rows if row[place["tensor"]] in ("S", "P"))
    assert moved == 2 * 2 * (2 * n**2)


@pytest.mark.parametrize("kv_heads", [32, 8, 1])
def test_keys_and_values_move_by_their_own_heads(kv_heads: int) -> None:
    """MHA, GQA and MQA do the same work; K and V move kv_heads times, 2 bytes an element, never once a query head."""
    q, kv, d, dv = 16, 64, 128, 64
    p = pm.fuse(pm.attention(q=q, kv=kv, d=d, dv=dv, heads=32, kv_heads=kv_heads))
    assert p.bytes_read == 2 * (32 * q * d) + 2 * kv_heads * (kv * d + kv * dv)
    assert p.bytes_written == 2 * (32 * q * dv)
    assert p.macs == 32 * q * kv * (d + dv)


@settings(max_examples=60)
@given(
    st.integers(1, 9), st.integers(1, 9), st.booleans(), st.none() | st.integers(1, 10), st.none() | st.integers(1, 10),
    st.sampled_from(["end", "start"]),
)  # fmt: skip
def test_masks_count_the_pairs_that_are_there(
    q: int, kv: int, causal: bool, window: int | None, chunk: int | None, align: str
) -> None:
    """Causal, windows and chunks, aligned to either end, more queries than keys or fewer: exact pairs."""
    mask: dict[str, Any] = {"causal": causal, "window": window, "chunk": chunk, "align": align}
    expected = pairs(q, kv, **mask)
    p = pm.attention(q=q, kv=kv, d=8, dv=4, heads=2, **mask)
    assert p.macs == 2 * expected * (8 + 4)
    assert p.flops_by_unit["special"] == 2 * expected  # an exp for each pair
    assert p.flops_by_unit["vector"] == 2 * 4 * expected


@settings(max_examples=15)
@given(st.integers(1, 4), st.integers(1, 5), st.booleans(), st.none() | st.integers(1, 4), st.booleans())
def test_a_masked_program_is_what_walking_its_points_counts(
    q: int, kv: int, causal: bool, window: int | None, lse: bool
) -> None:
    """Work and traffic, the hulls of masks included, equal a walk point by point and element by element."""
    p = pm.attention(q=q, kv=kv, d=2, dv=3, heads=2, kv_heads=1, causal=causal, window=window, lse=lse)
    for staged in (p, pm.fuse(p, by="stage"), pm.fuse(p)):
        found = counted(staged)
        assert (staged.macs, staged.issued_flops) == (found.macs, found.issued)
        assert (staged.bytes_read, staged.bytes_written) == (found.bytes["read"], found.bytes["write"])


def test_the_causal_pairs_of_four_rows_and_eight_keys() -> None:
    """Aligned to the end 5 + 6 + 7 + 8 = 26 pairs, to the start 1 + 2 + 3 + 4 = 10."""
    assert pm.attention(q=4, kv=8, d=1, causal=True).macs == (1 + 1) * (5 + 6 + 7 + 8)
    assert pm.attention(q=4, kv=8, d=1, causal=True, align="start").macs == (1 + 1) * (1 + 2 + 3 + 4)


def test_causal_work_is_half_of_a_square_and_its_diagonal() -> None:
    """n (n + 1) / 2 of n^2 pairs; a window of w keys has n w - w (w - 1) / 2."""
    assert pm.attention(q=N, kv=N, d=64, causal=True).macs == 128 * N * (N + 1) / 2
    windowed = pm.attention(q=4096, kv=4096, d=64, causal=True, window=512)
    assert windowed.macs == 128 * (4096 * 512 - 512 * 511 // 2)


def test_a_decode_step_sees_the_whole_cache() -> None:
    """One query aligned to the end sees every key, masked or not; aligned to the start only the first."""
    full = pm.attention(q=1, kv=8192, d=128, heads=64, kv_heads=8)
    assert pm.attention(q=1, kv=8192, d=128, heads=64, kv_heads=8, causal=True).flops == full.flops
    assert pm.attention(q=1, kv=8192, d=128, causal=True, align="start").macs == 2 * 128


def test_a_window_spares_keys_of_the_cache() -> None:
    """With a window of 1024 one query reads 1024 of 8192 keys and values."""
    p = pm.fuse(pm.attention(q=1, kv=8192, d=128, causal=True, window=1024))
    assert p.elements_read == 128 + 2 * (1024 * 128)  # Q; K and V


@pytest.mark.parametrize("softmax", ["safe", "naive"])
def test_the_log_sum_exp_is_written_in_fp32(softmax: str) -> None:
    """One number for each row and query head, 4 bytes; a log each, and an add where a maximum was taken off."""
    p = pm.attention(q=16, kv=32, d=8, heads=4, kv_heads=2, batch=3, lse=True, softmax=softmax)
    plain = pm.attention(q=16, kv=32, d=8, heads=4, kv_heads=2, batch=3, softmax=softmax)
    rows = 3 * 4 * 16
    assert p.outputs[1].name == "L"
    assert p.outputs[1].labels == ("batch", "kv_head", "group", "q")
    assert p.outputs[1].format.name == "fp32"
    assert pm.fuse(p).bytes_written == pm.fuse(plain).bytes_written + 4 * rows
    assert p.flops_by_unit["special"] == plain.flops_by_unit["special"] + rows
    assert p.flops - plain.flops == (rows if softmax == "safe" else 0)


def test_formats_by_tensor() -> None:
    """An fp8 cache, scores in fp32, an output in bf16: each tensor moves in its own format."""
    p = pm.attention(q=N, kv=N, d=64, dtype={"K": "fp8_e4m3", "V": "fp8_e4m3", "S": "fp32", "P": "bf16", "L": "fp16"},
                     lse=True)  # fmt: skip
    assert [p.tensors[name].format.name for name in "QKVSPOL"] == [
        "bf16", "fp8_e4m3", "fp8_e4m3", "fp32", "bf16", "bf16", "fp16",
    ]  # fmt: skip
    assert pm.fuse(p).bytes_read == 2 * (64 * N) + 1 * (64 * N) + 1 * (64 * N)


@pytest.mark.parametrize("mask", [{}, {"causal": True}, {"window": 3}, {"causal": True, "chunk": 4, "align": "start"}])
def test_tensors_cost_what_sizes_cost(mask: dict[str, Any]) -> None:
    """attention(Q, K, V) on tensors counts as the sizes do, with their labels found by name."""
    q = pm.tensor("Q", {"kv_head": 2, "group": 3, "q": 5, "d": 8})
    k = pm.tensor("K", {"kv_head": 2, "kv": 7, "d": 8})
    v = pm.tensor("V", {"kv_head": 2, "kv": 7, "dv": 4})
    p = pm.program(pm.attention(q, k, v, **mask))
    same = pm.attention(q=5, kv=7, d=8, dv=4, heads=6, kv_heads=2, **mask)
    assert (p.flops_by_unit, p.bytes_read, p.bytes_written) == (same.flops_by_unit, same.bytes_read, same.bytes_written)


def test_values_may_have_the_label_d_too() -> None:
    """V[kv, d] is seen as V[kv, dv]: its columns are not those of Q and K."""
    q, k, v = (pm.tensor(n, {row: 4, "d": 8}) for n, row in (("Q", "q"), ("K", "kv"), ("V", "kv")))
    made = pm.attention(q, k, v)
    assert made.labels == ("q", "dv")
    assert pm.program(made).macs == 2 * (4 * 4 * 8)


def test_a_symbolic_program_bound_is_the_concrete_one() -> None:
    """Every count of the formulas at given sizes equals that of the ints."""
    given_sizes = {"q": 5, "kv": 9, "d": 8, "heads": 6, "kv_heads": 2, "batch": 3}
    names = {name: f"s_{name}" for name in given_sizes}
    for mask in ({}, {"causal": True}, {"causal": True, "window": 3}, {"chunk": 4}):
        p = pm.attention(**names, **mask).at({f"s_{name}": value for name, value in given_sizes.items()})
        q = pm.attention(**given_sizes, **mask)
        assert (p.flops_by_unit, p.bytes_read, p.bytes_written) == (q.flops_by_unit, q.bytes_read, q.bytes_written)
        assert p == q


Q, K, V = (pm.tensor(n, {"h": 2, row: 4, "d": 8}) for n, row in (("Q", "q"), ("K", "kv"), ("V", "kv")))


@pytest.mark.parametrize(("call", "said"), [
    (lambda: pm.attention(), "attention: q, kv, d not given"),
    (lambda: pm.attention(4, 4), "attention: d not given"),
    (lambda: pm.attention(q=4, kv=4, d=4, heads=6, kv_heads=4), "heads / kv_heads = 6 / 4: does not divide"),
    (lambda: pm.attention(q=4, kv=4, d=4, heads=4, kv_heads=8), "heads / kv_heads = 4 / 8: does not divide"),
    (lambda: pm.attention(q=4, kv=4, d=4, causal="no"), "attention: causal = 'no': expected True or False"),
    (lambda: pm.attention(q=4, kv=4, d=4, lse="no"), "attention: lse = 'no'"),
    (lambda: pm.attention(q=4, kv=4, d=4, scale=2), "attention: scale = 2"),
    (lambda: pm.attention(q=4, kv=4, d=4, align="ends"), "did you mean 'end'"),
    (lambda: pm.attention(q=4, kv=4, d=4, softmax="saf"), "did you mean 'safe'"),
    (lambda: pm.attention(q=4, kv=4, d=4, stage="x"), "attention: with sizes it takes no stage"),
    (lambda: pm.attention(q=4, kv=4, d=4, dtype={"W": "bf16"}), "its tensors are Q, K, V, S, P, O, L"),
    (lambda: pm.attention(Q, 4, 4), "expected tensors, got 4"),
    (lambda: pm.attention(Q, K, None), "expected tensors, got None"),
    (lambda: pm.attention(Q, K, V, heads=4), "attention: with tensors it takes no heads"),
    (lambda: pm.attention(Q, K, V, lse=True), "attention: with tensors it takes no lse"),
    (lambda: pm.attention(Q, K, V, dtype="fp32"), "attention: with tensors it takes no dtype"),
    (lambda: pm.attention(K, K, V), "'K' needs labels q, d; it has h, kv, d"),
    (lambda: pm.attention(Q, Q, V), "'Q' needs labels kv, d"),
    (lambda: pm.attention(Q, K, pm.tensor("V", {"h": 2, "kv": 4})), "'V' needs labels kv, dv"),
    (lambda: pm.attention(pm.tensor("Q", {"q": 4, "d": 8}), K, V), "'Q' lacks h of 'K': they would be summed"),
    (lambda: pm.attention(Q, pm.tensor("K", {"h": 3, "kv": 4, "d": 8}), V), "label 'h'"),
    (lambda: pm.attention(Q, pm.tensor("K", {"h": 2, "kv": 4, "d": 9}), V), "label 'd'"),
    (lambda: pm.attention(Q, K, pm.tensor("V", {"h": 2, "kv": 5, "d": 8})), "label 'kv'"),
])  # fmt: skip
def test_a_wrong_call_says_what_is_wrong(call: object, said: str) -> None:
    """Heads that do not divide, words that merely count as true, labels that are missing or would be summed."""
    with pytest.raises(pm.PerfModelError, match=said):
        call()
