"""Softmax, layernorm and rmsnorm: their steps, their traffic, one op a kernel and fused."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from reference import counted

import perfmodel as pm

M, N = pm.dims("M N")
SMALL = st.integers(1, 6)


def functions(p: pm.Program) -> list[str]:
    """What each op does, in order."""
    return [op.function for op in p.ops]


def test_a_safe_softmax_has_five_steps() -> None:
    """max, x - max, exp, sum, divide: reads 5 M N + 2 M elements, writes 3 M N + 2 M; fused M N and M N."""
    p = pm.softmax(M, N)
    assert functions(p) == ["max", "sub", "exp", "sum", "div"]
    # reads: x for max; x and max; x - max; exp for sum; exp and sum
    assert p.elements_read == M * N + (M * N + M) + M * N + M * N + (M * N + M)
    assert p.elements_written == M + M * N + M * N + M + M * N  # one of each step
    fused = pm.fuse(p)
    assert (fused.elements_read, fused.elements_written) == (M * N, M * N)


def test_a_softmax_costs_four_flops_and_an_exp_a_point() -> None:
    """max, subtract, sum, divide are one FLOP a point each; exp is one special operation."""
    p = pm.softmax(M, N)
    assert p.flops == p.flops_by_unit["vector"] == 4 * M * N
    assert p.flops_by_unit["special"] == M * N
    assert pm.fuse(p).flops == p.flops


def test_a_naive_softmax_leaves_the_maximum_out() -> None:
    """exp, sum, divide: three steps, reads 3 M N + M and writes 2 M N + M."""
    p = pm.softmax(M, N, form="naive")
    assert functions(p) == ["exp", "sum", "div"]
    assert p.elements_read == M * N + M * N + (M * N + M)
    assert p.elements_written == M * N + M + M * N


def test_a_layernorm_takes_two_means() -> None:
    """mean, x - mean, square, mean, + eps, rsqrt, times, times weight, plus bias; fused x, weight, bias in, y out."""
    p = pm.layernorm(M, N)
    assert functions(p) == ["mean", "sub", "square", "mean", "add", "rsqrt", "mul", "mul", "add"]
    # six ops over M N points (two of them sums), two divisions and one add for each row
    assert p.flops == 7 * M * N + 2 * M + M
    assert p.flops_by_unit["special"] == M  # one rsqrt a row
    fused = pm.fuse(p)
    assert fused.elements_read == M * N + N + N
    assert fused.elements_written == M * N


def test_the_moments_form_takes_two_sums_of_one_pass() -> None:
    """mean(x^2) - mean(x)^2: both means read x itself, so neither waits for the other."""
    p = pm.layernorm(M, N, form="moments")
    read = {op.output.tensor.name: [access.tensor.name for access in op.reads] for op in p.ops}
    assert [read[op.output.tensor.name] for op in p.ops if op.function == "mean"] == [["x"], ["square"]]
    assert read["square"] == ["x"]
    # nine steps and two more: the square of the mean, and its subtraction, of one row each
    assert p.flops == pm.layernorm(M, N).flops + 2 * M
    assert pm.fuse(p).elements_read == M * N + 2 * N


def test_an_rmsnorm_takes_one_mean() -> None:
    """square, mean, + eps, rsqrt, times, times weight; fused x and weight in, y out."""
    p = pm.rmsnorm(M, N)
    assert functions(p) == ["square", "mean", "add", "rsqrt", "mul", "mul"]
    assert p.flops == 4 * M * N + M + M  # square, sum, two multiplies; a division and an add for each row
    assert p.flops_by_unit["special"] == M
    assert (pm.fuse(p).elements_read, pm.fuse(p).elements_written) == (M * N + N, M * N)


@pytest.mark.parametrize("name", ["softmax", "layernorm", "rmsnorm"])
@given(m=SMALL, n=SMALL)
def test_the_formulas_are_what_walking_counts(name: str, m: int, n: int) -> None:
    """Counts of the ints, of the symbols bound to them, and of a walk element by element are equal."""
    p, formula = getattr(pm, name)(m, n), getattr(pm, name)("a", "b").at(a=m, b=n)
    found = counted(p)
    for q in (p, formula):
        assert (q.bytes_read, q.bytes_written) == (found.bytes["read"], found.bytes["write"])
        assert (q.flops_by_unit["vector"], q.flops_by_unit["special"]) == (found.unit("vector"), found.unit("special"))


@pytest.mark.parametrize("name", ["softmax", "layernorm", "rmsnorm"])
def test_tensors_cost_what_sizes_cost(name: str) -> None:
    """On a tensor, with weights for the norms, the counts are those of the sizes."""
    x, weight, bias = pm.tensor("x", {"m": M, "n": N}), pm.tensor("weight", {"n": N}), pm.tensor("bias", {"n": N})
    more = {"softmax": {}, "layernorm": {"weight": weight, "bias": bias}, "rmsnorm": {"weight": weight}}[name]
    p, q = pm.program(getattr(pm, name)(x, "n", **more)), getattr(pm, name)(M, N)
    assert (p.flops, p.flops_by_unit, p.bytes_read, p.bytes_written) == (
        q.flops, q.flops_by_unit, q.bytes_read, q.bytes_written,
    )  # fmt: skip


def test_any_label_can_be_normalised() -> None:
    """Over the first of three axes each of the other places is a row."""
    p = pm.program(pm.softmax(pm.tensor("x", {"a": 4, "b": 5, "c": 6}), "a", name="p"))
    assert p.outputs[0].labels == ("a", "b", "c")
    assert pm.fuse(p).flops == 4 * (4 * 5 * 6)
    assert p.elements_written == 3 * (4 * 5 * 6) + 2 * (5 * 6)


@pytest.mark.parametrize("name", ["softmax", "layernorm", "rmsnorm"])
def test_the_result_can_have_its_own_format(name: str) -> None:
    """dtype={"y": "fp32"} writes 4 bytes an element and changes nothing else."""
    p, q = pm.fuse(getattr(pm, name)(M, N, dtype={"y": "fp32"})), pm.fuse(getattr(pm, name)(M, N))
    assert p.bytes_written == 4 * M * N
    assert p.bytes_read == q.bytes_read


def test_a_norm_without_a_weight_is_one_multiply_less() -> None:
    """On a tensor the weight is optional."""
    x = pm.tensor("x", {"m": 4, "n": 8})
    assert pm.program(pm.rmsnorm(x, "n")).flops == pm.rmsnorm(4, 8).flops - 4 * 8


X = pm.tensor("x", {"m": 4, "n": 8})


@pytest.mark.parametrize(("call", "said"), [
    (lambda: pm.softmax(4), "softmax: n not given"),
    (lambda: pm.softmax(), "softmax: m, n not given"),
    (lambda: pm.softmax(X), "softmax: tensor 'x' has no label None"),
    (lambda: pm.softmax(X, "z"), "softmax: tensor 'x' has no label 'z'"),
    (lambda: pm.softmax(X, 8), "softmax: tensor 'x' has no label 8"),
    (lambda: pm.softmax(X, "n", "fp32"), "softmax: with a tensor it takes no dtype"),
    (lambda: pm.softmax(4, 4, form="saf"), "did you mean 'safe'"),
    (lambda: pm.softmax(4, 4, name="y"), "softmax: with sizes it takes no name"),
    (lambda: pm.softmax(4, 4, dtype={"z": "bf16"}), "its tensors are x, y"),
    (lambda: pm.layernorm(X, 8), "layernorm: tensor 'x' has no label 8"),
    (lambda: pm.layernorm(X, "n", weight=4), "expected tensors, got 4"),
    (lambda: pm.layernorm(X, "n", bias="b"), "expected tensors, got 'b'"),
    (lambda: pm.layernorm(X, "n", weight=pm.tensor("w", {"n": 9})), "label 'n'"),
    (lambda: pm.layernorm(4, 4, form="moment"), "did you mean 'moments'"),
    (lambda: pm.layernorm(4, 4, weight=X), "layernorm: with sizes it takes no weight"),
    (lambda: pm.rmsnorm(X, None), "rmsnorm: tensor 'x' has no label None"),
    (lambda: pm.rmsnorm(X, "n", weight=4), "expected tensors, got 4"),
    (lambda: pm.rmsnorm(4, 4, weight=X), "rmsnorm: with sizes it takes no weight"),
    (lambda: pm.rmsnorm(4), "rmsnorm: n not given"),
])  # fmt: skip
def test_a_wrong_call_says_what_is_wrong(call: object, said: str) -> None:
    """Labels that are not there, forms that do not exist, arguments of the other form."""
    with pytest.raises(pm.PerfModelError, match=said):
        call()


def test_a_mean_over_masked_rows_is_refused() -> None:
    """Rows of a mask have different counts, so a norm over them has no one divisor."""
    q, k = pm.tensor("Q", {"q": 6, "d": 8}), pm.tensor("K", {"kv": 6, "d": 8})
    scores = pm.einsum("q d, kv d -> q kv", q, k, mask=pm.causal())
    with pytest.raises(pm.DimensionError, match="masked"):
        pm.rmsnorm(scores, "kv")
