"""Einsum patterns: letters or words, one for an axis; and what is no pattern."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.descriptors.patterns import pattern_labels, split_pattern


def test_letters_stand_for_axes() -> None:
    """One letter an axis, spaces around operands allowed."""
    assert split_pattern("mk , kn->mn") == ([["m", "k"], ["k", "n"]], ["m", "n"])


def test_words_stand_for_axes() -> None:
    """With a space inside an operand every operand is read as words."""
    assert split_pattern("q d, kv d -> q kv") == ([["q", "d"], ["kv", "d"]], ["q", "kv"])


def test_an_operand_may_have_no_axes() -> None:
    """A scalar operand, and a scalar result, are empty."""
    assert split_pattern("ij,->") == ([["i", "j"], []], [])


def test_marks_take_the_labels_of_their_first_axis() -> None:
    """A mark is bound to the label that it first stands for; the other operand is seen under that label."""
    x, y = pm.tensor("x", {"token": 4, "d": 8}), pm.tensor("y", {"key": 5, "width": 8})
    views, kept = pattern_labels("ik,jk->ij", [x, y])
    assert [view.labels for view in views] == [("token", "d"), ("key", "d")]
    assert kept == ("token", "key")


def test_a_taken_label_gives_way_to_the_mark() -> None:
    """The same tensor twice: its first axis is two different labels."""
    x = pm.tensor("x", {"n": 4, "d": 8})
    views, kept = pattern_labels("ik,jk->ij", [x, x])
    assert [view.labels for view in views] == [("n", "d"), ("j", "d")]
    assert kept == ("n", "j")


def test_a_mark_that_is_taken_too_gets_a_number() -> None:
    """Where the mark's own name is a label already it becomes j_2."""
    x = pm.tensor("x", {"j": 4, "d": 8})
    views, _ = pattern_labels("ik,jk->ij", [x, x])
    assert views[1].labels == ("j_2", "d")


@pytest.mark.parametrize("pattern", [
    "", "ij", "ij,jk", "ij->jk->ik", "i1,1k->ik", "ii->i", "ij->ii", "i.j->i", "i j, j.k -> i", "->", "(i)->i", None, 4,
    ["ij->i"], "ij,jk->iz", "i;j->i",
])  # fmt: skip
def test_what_is_no_pattern_is_refused(pattern: object) -> None:
    """No arrow or two, digits, an axis twice, other signs, a result from nowhere: each names the pattern."""
    x = pm.tensor("x", {"i": 4, "j": 5})
    with pytest.raises(pm.ExpressionError, match="einsum"):
        pattern_labels(pattern, [x, x])


@pytest.mark.parametrize(("pattern", "count"), [("ij,jk->ik", 1), ("ij->i", 2), ("ij->i", 0)])
def test_operands_and_tensors_are_as_many(pattern: str, count: int) -> None:
    """A pattern for other than the number of tensors says both numbers."""
    with pytest.raises(pm.ExpressionError, match=f"got {count} tensors"):
        pm.einsum(pattern, *[pm.tensor("x", {"i": 4, "j": 5})] * count)


def test_marks_and_axes_are_as_many() -> None:
    """A pattern with fewer marks than the tensor has axes says both numbers."""
    with pytest.raises(pm.DimensionError, match="'i' names 1 axes, 'x' has 2"):
        pm.einsum("i->i", pm.tensor("x", {"i": 4, "j": 5}))


def test_one_mark_has_one_extent() -> None:
    """Axes of one mark that differ in extent are refused with both extents."""
    a, b = pm.tensor("a", {"i": 4, "j": 5}), pm.tensor("b", {"j": 6, "k": 2})
    with pytest.raises(pm.DimensionError, match="einsum: label 'j' is 5 in 'a' and 6 in 'b'"):
        pm.einsum("ij,jk->ik", a, b)


@given(st.text(alphabet="ijk ,->1_.é", max_size=12))
def test_any_text_is_a_pattern_or_our_error(text: str) -> None:
    """Random text either makes a tensor or raises an error of ours."""
    x = pm.tensor("x", {"i": 4, "j": 4})
    for tensors in ([x], [x, x]):
        try:
            made = pm.einsum(text, *tensors)
        except pm.PerfModelError:
            continue
        assert isinstance(made, pm.Tensor)
