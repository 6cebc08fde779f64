"""Selecting: kernels and ops by their own name, their stage or a part of it."""

from __future__ import annotations

from typing import Any

import pytest

import perfmodel as pm
from perfmodel.transforms.selecting import chosen, chosen_ops

ATTENTION = pm.attention(4, 4, 8)
SOFTMAX = ["max", "sub", "exp", "sum", "div"]


@pytest.mark.parametrize(
    ("only", "names"),
    [
        (None, ["scores", *SOFTMAX, "values"]),
        ("scores", ["scores"]),
        ("attention.softmax", SOFTMAX),
        ("softmax", SOFTMAX),
        ("attention", ["scores", *SOFTMAX, "values"]),
        (["values", "scores"], ["scores", "values"]),
        (("exp", "attention.values"), ["exp", "values"]),
        ({"exp"}, ["exp"]),
    ],
)
def test_kernels_are_chosen_by_name_op_or_stage(only: Any, names: list[str]) -> None:
    """One name or several, in the order of the program."""
    assert [kernel.name for kernel in chosen(ATTENTION, only, "fuse")] == names


def test_a_fused_kernel_is_chosen_by_any_of_its_ops() -> None:
    """A kernel that holds the op is the kernel meant; the other ops of it are not."""
    p = pm.fuse(ATTENTION)
    assert [kernel.name for kernel in chosen(p, "exp", "fuse")] == ["attention"]
    assert chosen_ops(p, "exp", "cast") == {"exp"}
    assert chosen_ops(p, "softmax", "cast") == set(SOFTMAX)
    assert chosen_ops(p, "attention", "cast") == chosen_ops(p, None, "cast") == {"scores", *SOFTMAX, "values"}


def test_an_op_without_a_stage_is_chosen_by_its_name() -> None:
    """An empty stage has no name."""
    p = pm.elementwise("exp(x) + 1", 4)
    assert chosen_ops(p, "exp", "cast") == {"exp"}
    with pytest.raises(pm.TransformError):
        chosen(p, "", "fuse")


@pytest.mark.parametrize("only", ["score", ["scores", "score"], 3, [None], [["scores"]]])
def test_unknown_names_are_refused_with_what_there_is(only: Any) -> None:
    """Text, numbers and lists alike; a near miss is named."""
    with pytest.raises(
        pm.TransformError, match=r"fuse: attention has no kernel, stage or op .*; its kernels are scores"
    ):
        chosen(ATTENTION, only, "fuse")


def test_near_misses_are_named() -> None:
    """Of kernels, ops and stages."""
    with pytest.raises(pm.TransformError, match=r"\(did you mean 'softmax'\?\)"):
        chosen(ATTENTION, "sofmax", "fuse")


def test_choosing_nothing_is_refused() -> None:
    """An empty list is a mistake, not all and not none."""
    with pytest.raises(pm.TransformError, match=r"fuse: only=\[\] names nothing"):
        chosen(ATTENTION, [], "fuse")


def test_transforms_take_programs() -> None:
    """What is no program is refused by name, before anything is asked of it."""
    for transform in (lambda: pm.fuse(3), lambda: pm.cast(3, "fp8")):  # type: ignore[arg-type, list-item]
        with pytest.raises(pm.TransformError, match="expected a program, got 3"):
            transform()
