"""Matrix products, decode and einsum: work, traffic and labels, from sizes and from tensors alike."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from reference import counted

import perfmodel as pm

M, N, K, B = pm.dims("m n k b")
SMALL = st.integers(1, 6)


def test_a_matmul_counts_two_flops_a_mac() -> None:
    """C[b, m, n] = A[b, m, k] B[b, k, n] has b m n k MACs, two FLOPs each, on the matrix unit."""
    p = pm.matmul(M, N, K, batch=B)
    assert p.macs == B * M * N * K
    assert p.flops == p.flops_by_unit["matrix"] == 2 * p.macs
    assert p.flops_by_unit["vector"] == p.flops_by_unit["special"] == 0


def test_a_matmul_moves_each_matrix_once() -> None:
    """A and B are read and C is written, 2 bytes an element, for each of the batch."""
    p = pm.matmul(M, N, K, batch=B)
    assert p.bytes_read == 2 * B * M * K + 2 * B * K * N
    assert p.bytes_written == 2 * B * M * N


def test_a_matmul_has_the_promised_names() -> None:
    """Labels batch, m, n, k; tensors A, B, C; one kernel."""
    p = pm.matmul(4, 5, 6, batch=7)
    assert {name: item.labels for name, item in p.tensors.items()} == {
        "A": ("batch", "m", "k"),
        "B": ("batch", "k", "n"),
        "C": ("batch", "m", "n"),
    }
    assert p.labels == {"batch": 7, "m": 4, "n": 5, "k": 6}
    assert [kernel.name for kernel in p.kernels] == ["matmul"]


@given(st.integers(1, 2**40))
def test_a_square_bf16_matmul_has_an_intensity_of_a_third(n: int) -> None:
    """2 n^3 FLOPs over 3 matrices of 2 n^2 bytes are n / 3 FLOP/B."""
    assert pm.matmul(n, n, n).intensity == pytest.approx(n / 3, rel=1e-15)


def test_a_symbolic_square_has_an_intensity_of_a_third() -> None:
    """The same as a formula, exactly."""
    assert pm.matmul(N, N, N).intensity == N / 3


@given(SMALL, SMALL, SMALL, SMALL)
def test_a_matmul_is_what_walking_its_points_counts(m: int, n: int, k: int, batch: int) -> None:
    """The formulas equal a count point by point and element by element."""
    p = pm.matmul(m, n, k, batch=batch, dtype={"A": "int4", "B": "mxfp4", "C": "fp32"})
    found = counted(p)
    assert (p.macs, p.flops) == (found.macs, found.unit("matrix"))
    assert (p.bytes_read, p.bytes_written) == (found.bytes["read"], found.bytes["write"])


def test_an_output_format_of_its_own() -> None:
    """out_dtype, or the mapping's C, says what is written; the inputs stay and the sums are in fp32."""
    for p in (pm.matmul(M, N, K, out_dtype="fp32"), pm.matmul(M, N, K, dtype={"C": "fp32"})):
        assert p.bytes_written == 4 * M * N
        assert p.bytes_read == 2 * M * K + 2 * K * N
        assert p.ops[0].accumulate.name == "fp32"


def test_weights_of_four_bits_are_computed_in_the_activations_format() -> None:
    """An int4 weight takes half a byte an element; the product is computed in bf16, the wider one."""
    p = pm.matmul(M, N, 64, dtype={"B": "int4"})
    assert p.ops[0].compute.name == "bf16"
    assert p.bytes_read == 2 * (M * 64) + (64 * N) / 2


def test_integers_are_summed_in_int32() -> None:
    """An int8 product accumulates in int32."""
    assert pm.matmul(8, 8, 8, dtype="int8").ops[0].accumulate.name == "int32"


def test_gemv_shares_one_weight_among_the_batch() -> None:
    """y[b, n] = x[b, k] W[k, n]: W is read once for all b tokens."""
    p = pm.gemv(N, K, batch=B)
    assert p.flops == 2 * B * N * K
    assert p.bytes == 2 * B * K + 2 * K * N + 2 * B * N
    assert set(p.tensors) == {"x", "W", "y"}
    assert list(p.labels) == ["batch", "n", "k"]


@pytest.mark.parametrize(("m", "k", "n", "batch"), [(4, 5, 6, 1), (4, 5, 6, 3), (M, K, N, B)])
def test_tensors_cost_what_sizes_cost(m: object, k: object, n: object, batch: object) -> None:
    """matmul(a, b) on tensors of the same axes counts as matmul(m, n, k) does."""
    a = pm.tensor("A", {"batch": batch, "m": m, "k": k})
    b = pm.tensor("B", {"batch": batch, "k": k, "n": n})
    p, q = pm.program(pm.matmul(a, b)), pm.matmul(m, n, k, batch=batch)
    assert (p.flops, p.macs, p.bytes_read, p.bytes_written) == (q.flops, q.macs, q.bytes_read, q.bytes_written)


def test_gemv_on_tensors_costs_what_sizes_cost() -> None:
    """gemv(x, W) on tensors counts as gemv(n, k, batch) does."""
    x, weight = pm.tensor("x", {"batch": B, "k": K}), pm.tensor("W", {"k": K, "n": N})
    p, q = pm.program(pm.gemv(x, weight)), pm.gemv(N, K, batch=B)
    assert (p.flops, p.bytes) == (q.flops, q.bytes)
    assert p.ops[0].name == "gemv"


def test_a_square_matrix_times_itself_gets_a_label_of_its_own() -> None:
    """x[i, j] x[j, i'] : the second use of i is another label."""
    x = pm.tensor("x", {"i": 4, "j": 4})
    made = pm.matmul(x, x)
    assert made.labels == ("i", "j_2")
    assert pm.program(made).macs == 4 * 4 * 4


def test_a_vector_times_a_matrix() -> None:
    """A first operand without rows gives a vector."""
    made = pm.matmul(pm.tensor("v", {"k": K}), pm.tensor("W", {"k": K, "n": N}), out_dtype="fp32", name="y")
    assert (made.name, made.labels, made.format.name) == ("y", ("n",), "fp32")


def test_batch_labels_of_the_second_operand_are_kept() -> None:
    """Labels that only the weights have are batch labels too (experts)."""
    made = pm.matmul(pm.tensor("x", {"m": 4, "k": 8}), pm.tensor("W", {"expert": 3, "k": 8, "n": 2}))
    assert made.labels == ("expert", "m", "n")
    assert pm.program(made).macs == 3 * 4 * 8 * 2


def test_einsum_is_a_matmul() -> None:
    """ "mk,kn->mn" has the counts of matmul, whatever the tensors' own labels are called."""
    a, b = pm.tensor("A", {"i": M, "j": K}), pm.tensor("B", {"j": K, "l": N})
    p, q = pm.program(pm.einsum("mk,kn->mn", a, b)), pm.matmul(M, N, K)
    assert (p.flops, p.bytes) == (q.flops, q.bytes)
    assert p.outputs[0].labels == ("i", "l")


def test_einsum_of_three_tensors_costs_three_flops_a_point() -> None:
    """Two multiplies and an add a point; MACs are the points."""
    a, b, c = (pm.tensor(name, {"i": 4, "j": 5}) for name in "abc")
    p = pm.program(pm.einsum("ij,ij,ij->i", a, b, c))
    assert (p.flops, p.macs) == (3 * 4 * 5, 4 * 5)


def test_einsum_without_a_sum_is_no_contraction() -> None:
    """An outer product is one multiply a point; a transposition costs nothing but its traffic."""
    a, b = pm.tensor("a", {"i": 4}), pm.tensor("b", {"j": 5})
    outer = pm.program(pm.einsum("i,j->ij", a, b))
    assert (outer.flops, outer.macs) == (4 * 5, 0)
    turned = pm.program(pm.einsum("ij->ji", pm.tensor("x", {"i": 4, "j": 5})))
    assert (turned.flops, turned.bytes) == (0, 2 * (4 * 5) + 2 * (4 * 5))  # one read, one write


def test_einsum_can_be_masked() -> None:
    """Scores of a causal mask count the pairs on and under the diagonal only."""
    q, k = pm.tensor("Q", {"q": 6, "d": 8}), pm.tensor("K", {"kv": 6, "d": 8})
    p = pm.program(pm.einsum("q d, kv d -> q kv", q, k, mask=pm.causal()))
    assert p.macs == 8 * (6 * 7 // 2)


@pytest.mark.parametrize("call", [
    lambda x, w: pm.matmul(x, 4),
    lambda x, w: pm.matmul(4, w),
    lambda x, w: pm.matmul(x, w, 4),
    lambda x, w: pm.matmul(x, w, batch=4),
    lambda x, w: pm.matmul(x, w, dtype="fp32"),
    lambda x, w: pm.matmul(w, w),
    lambda x, w: pm.matmul(x, pm.tensor("v", {"k": 8})),
    lambda x, w: pm.matmul(pm.tensor("s", {}), w),
    lambda x, w: pm.matmul(x, w, out_dtype="fp31"),
    lambda x, w: pm.matmul(4, 4, 4, name="y"),
    lambda x, w: pm.matmul(4, 4, 4, stage="mlp"),
    lambda x, w: pm.matmul(4, 4),
    lambda x, w: pm.matmul(),
    lambda x, w: pm.gemv(x, 4),
    lambda x, w: pm.gemv(4, w),
    lambda x, w: pm.gemv(4),
    lambda x, w: pm.gemv(x, w, batch=2),
    lambda x, w: pm.gemv(4, 4, stage="mlp"),
    lambda x, w: pm.einsum("mk,kn->mn", x, 4),
    lambda x, w: pm.einsum("mk,kn->mn", x, w, mask=4),
    lambda x, w: pm.einsum("mk,kn->mn", x, w, mask=pm.causal()),
])  # fmt: skip
def test_a_call_of_neither_form_is_refused(call: object) -> None:
    """Sizes and tensors do not mix, nothing is ignored, and what is forgotten is named."""
    x, w = pm.tensor("x", {"m": 4, "k": 8}), pm.tensor("W", {"k": 8, "n": 2})
    with pytest.raises(pm.PerfModelError, match=r"matmul|gemv|einsum|format"):
        call(x, w)
