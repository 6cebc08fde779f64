"""Indices: how labels find an element, and the names that labels and tensors may have."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfmodel.errors import DimensionError, LabelError
from perfmodel.expressions import bind, dims
from perfmodel.graph.indexing import (
    Affine,
    Axis,
    FreshNames,
    Gathered,
    checked_label,
    checked_name,
    checked_shift,
    distinct,
    fresh,
    labels_in,
    renamed,
    resized,
    windowed,
)

n, s = dims("n s")
WINDOW = Affine((("p", 2), ("r", 1)), -3)
IDS = Gathered("ids", ("b", "t"))


def value(index: Affine, point: dict[str, int]) -> int:
    """The element that an affine index finds."""
    found = index.offset + sum(step * point[label] for label, step in index.terms)
    return int(found if index.modulo is None else found % index.modulo)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (WINDOW, "2*p + r - 3"),
        (Affine((("p", 1),), 4), "p + 4"),
        (Affine((("p", 1), ("r", 3))), "p + 3*r"),
        (Affine((("d", 1),), 64, 128), "(d + 64) % 128"),
        (Affine((("d", 1),), n, 2 * n), "(d + n) % (2*n)"),
        (Affine((("p", s),), -n), "s*p - n"),
        (Affine((("p", s + 1),), -n - 1, n + 1), "((s + 1)*p - (n + 1)) % (n + 1)"),
        (IDS, "ids[b, t]"),
    ],
)
def test_an_index_reads_as_it_is_written(index: Any, text: str) -> None:
    """Steps of 1 and offsets of 0 are left out; sums stand in parentheses."""
    assert str(index) == text


def test_labels_of_an_index() -> None:
    """One, those of a window, or those of the tensor that a gather looks up in."""
    assert labels_in("k") == ("k",)
    assert labels_in(WINDOW) == ("p", "r")
    assert labels_in(IDS) == ("b", "t")


def test_labels_are_renamed_in_every_kind_of_index() -> None:
    """Names that the mapping lacks stay; swapping two is one step, not two."""
    assert renamed("k", {"k": "n"}) == "n"
    assert renamed("k", {"m": "n"}) == "k"
    assert renamed(WINDOW, {"p": "r", "r": "p"}) == Affine((("r", 2), ("p", 1)), -3)
    assert renamed(Affine((("d", 1),), 1, 8), {"d": "e"}) == Affine((("e", 1),), 1, 8)
    assert renamed(IDS, {"t": "token"}) == Gathered("ids", ("b", "token"))


def test_sizes_are_changed_in_windows_alone() -> None:
    """Steps, offset and modulo all; a label or a gather has no size in it."""
    symbolic = Affine((("p", s), ("r", 1)), -n, 2 * n)
    assert resized(symbolic, lambda size: bind(size, {s: 3, n: 5})) == Affine((("p", 3), ("r", 1)), -5, 10)
    assert resized("k", lambda size: 0) == "k"
    assert resized(IDS, lambda size: 0) == IDS


STEPS = st.integers(1, 9)
OFFSETS = st.integers(-9, 9)


@given(outer=STEPS, offset=OFFSETS, inner=STEPS, tap=STEPS, inside=OFFSETS, at=st.tuples(*[st.integers(0, 9)] * 3))
def test_a_window_of_a_window_finds_the_same_element(
    outer: int, offset: int, inner: int, tap: int, inside: int, at: tuple[int, ...]
) -> None:
    """Replacing p by ``inner*u + tap*v + inside`` is looking the outer window up at that p."""
    first = Affine((("p", outer), ("r", 1)), offset, 97)
    second = Affine((("u", inner), ("v", tap)), inside)
    both = windowed(first, "p", second)
    assert isinstance(both, Affine)
    point = {"u": at[0], "v": at[1], "r": at[2]}
    assert value(both, point) == value(first, {"p": value(second, point), "r": at[2]})


def test_a_window_replaces_its_label_alone() -> None:
    """A plain label becomes the window; other labels and gathers are left as they are."""
    assert windowed("h", "h", WINDOW) == WINDOW
    assert windowed("w", "h", WINDOW) == "w"
    assert windowed(IDS, "t", WINDOW) == IDS
    assert windowed(Affine((("q", 1),)), "h", WINDOW) == Affine((("q", 1),))


def test_axes_differ_in_their_labels() -> None:
    """Two axes of one label are refused, with the labels."""
    assert distinct([Axis("m", 4), Axis("n", n)], "rename") == (("m", 4), ("n", n))
    with pytest.raises(LabelError, match="view would have a label twice in m, n, m"):
        distinct([Axis("m", 4), Axis("n", n), Axis("m", 4)], "view")


@pytest.mark.parametrize("name", ["", "2x", "a b", "a-b", "a.b", "m\n", 3, None, ("m",), float("nan"), True])
def test_labels_and_names_are_identifiers(name: Any) -> None:
    """Anything else is a LabelError that shows it."""
    with pytest.raises(LabelError, match="a label is a name"):
        checked_label(name)
    with pytest.raises(LabelError, match="a name is an identifier"):
        checked_name(name, "tensor")


def test_identifiers_pass_as_they_are() -> None:
    """Underscores, digits inside, and letters of any script."""
    assert [checked_label(name) for name in ("m", "kv_head", "_", "m2", "é")] == ["m", "kv_head", "_", "m2", "é"]


@pytest.mark.parametrize(
    "shift", [True, 1.5, 1.0, float("nan"), float("inf"), None, [1], Fraction(1, 2), np.float64(1), n / n / 2]
)
def test_a_shift_is_a_whole_number(shift: Any) -> None:
    """Of either sign; truth values, floats and fractions are refused."""
    with pytest.raises(DimensionError, match="a shift is a whole number"):
        checked_shift(shift, "roll: shift")


def test_shifts_may_be_negative_zero_formulas_or_text() -> None:
    """Formulas may be halves of even extents; sympy's integers become Python's."""
    shifts = (-3, 0, n, -n, n / 2)
    assert tuple(checked_shift(shift, "roll") for shift in shifts) == shifts
    assert checked_shift("d/2", "roll") == dims("d") / 2
    assert type(checked_shift(n - n + 2, "roll")) is int


@pytest.mark.parametrize(
    ("name", "taken", "found"),
    [
        ("p", [], "p"),
        ("p", ["p"], "p_2"),
        ("p", ["p", "p_2"], "p_3"),
        ("p", ["p", "p_3"], "p_2"),
        ("p_2", ["p_2"], "p_3"),
        ("W_q", ["W_q"], "W_q_2"),
        ("_2", ["_2"], "_2_2"),
    ],
)
def test_a_fresh_name_is_the_first_that_is_free(name: str, taken: list[str], found: str) -> None:
    """A number at the end is counted on; a name that is free stays."""
    assert fresh(name, taken) == found


@given(
    wanted=st.lists(st.sampled_from(["p", "p_2", "p_3", "p_9", "q", "q_2", "p_2_2"]), max_size=30),
    taken=st.sets(st.sampled_from(["p", "p_2", "p_4", "q"])),
)
def test_fresh_names_are_those_of_fresh_one_after_another(wanted: list[str], taken: set[str]) -> None:
    """Handing names out remembers where it stopped, and the names are the same as without."""
    names, known = FreshNames(taken), set(taken)
    for name in wanted:
        expected = fresh(name, known)
        known.add(expected)
        assert names.fresh(name) == expected
