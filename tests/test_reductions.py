"""Sums, maxima, minima and means over one or several labels."""

from __future__ import annotations

import pytest

import perfmodel as pm

M, N = pm.dims("m n")
X = pm.tensor("x", {"m": M, "n": N, "c": 3})


@pytest.mark.parametrize("reduce", [pm.sum, pm.max, pm.min])
def test_a_reduction_costs_one_flop_a_point(reduce: object) -> None:
    """It starts from the identity, so n points are n FLOPs; it reads all and writes one for each row."""
    p = pm.program(reduce(X, "n", name="y"))
    assert p.flops == p.flops_by_unit["vector"] == 3 * M * N
    assert (p.elements_read, p.elements_written) == (3 * M * N, 3 * M)
    assert p.outputs[0].labels == ("m", "c")


def test_a_mean_divides_once_a_result() -> None:
    """m n points are added, and each of the m results is divided."""
    x = pm.tensor("x", {"m": M, "n": N})
    assert pm.program(pm.mean(x, "n")).flops == M * N + M


@pytest.mark.parametrize("labels", [("m", "n"), ["n", "m"], {"m": 0, "n": 0}, ("m", "n", "c")])
def test_several_labels_go_at_once(labels: object) -> None:
    """One op reduces several labels, in any order."""
    made = pm.sum(X, labels)
    assert made.labels == tuple(label for label in X.labels if label not in labels)
    assert pm.program(made).flops == 3 * M * N


def test_names_and_stages_can_be_given() -> None:
    """name is the tensor's, stage the op's."""
    made = pm.max(X, "n", name="top", stage="softmax")
    assert (made.name, made.producer.stage) == ("top", "softmax")


def test_a_masked_sum_counts_the_pairs_that_are_there() -> None:
    """A row sum of causal scores adds the pairs on and under the diagonal: 6 * 7 / 2 of 6 x 6."""
    q, k = pm.tensor("Q", {"q": 6, "d": 8}), pm.tensor("K", {"kv": 6, "d": 8})
    scores = pm.einsum("q d, kv d -> q kv", q, k, mask=pm.causal())
    added = pm.program(pm.sum(scores, "kv"))
    assert added.flops_by_unit["vector"] == 6 * 7 // 2
    with pytest.raises(pm.DimensionError, match=r"mean: .* is masked"):
        pm.mean(scores, "kv")


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean"])
@pytest.mark.parametrize("labels", ["z", 4, None, (), [], ("n", "n"), ("n", 4), [None], 2.5, ...])
def test_labels_that_are_not_there_are_refused(name: str, labels: object) -> None:
    """Unknown labels, none, one twice, numbers: each is an error of ours with the verb in it."""
    with pytest.raises(pm.LabelError, match=f"{name}: "):
        getattr(pm, name)(X, labels)


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean"])
@pytest.mark.parametrize("operand", [4, None, "x", [X]])
def test_what_is_no_tensor_is_refused(name: str, operand: object) -> None:
    """A number, text or a list has no labels to reduce."""
    with pytest.raises(pm.LabelError, match=rf"{name}\(x, label\): expected tensors"):
        getattr(pm, name)(operand, "n")


def test_a_label_near_miss_is_suggested() -> None:
    """A misspelt label brings the one that was meant."""
    with pytest.raises(pm.LabelError, match="did you mean 'token'"):
        pm.sum(pm.tensor("x", {"token": 4, "d": 8}), "tokens")
    with pytest.raises(pm.LabelError, match="expected one or more"):
        pm.sum(X)
