"""``check`` picks small sizes that fit each other, and refuses those that do not."""

from __future__ import annotations

from typing import Any

import pytest

import perfmodel as pm


@pytest.mark.parametrize("sizes", [(8, 8, 8), ("t", "h", "i"), (8, 13, 8)])
def test_a_label_that_is_split_in_one_op_and_whole_in_another_has_one_extent(sizes: Any) -> None:
    """hidden is reduced in parts by gate and up, and is a label of the output: x and y have one extent along it."""
    checked = pm.check(pm.split(pm.gated_mlp(*sizes), hidden=2))
    assert checked
    assert 2 * checked.sizes["hidden_inner"] >= checked.sizes["hidden"] > checked.sizes["hidden_inner"]


@pytest.mark.parametrize(
    ("program", "sizes", "said"),
    [
        (pm.pad(pm.pool2d(height=5, width=5, channels=2, kernel=2), q=4), {"q": 3}, r"label 'q' of pool2d is 2, which"),
        (pm.pad(pm.pool2d(height=4, width=4, channels=2, kernel=2), s=4), {"s": 4}, r"label 's' of pool2d is 2, which"),
        (pm.conv2d(height=5, width=5, c_in=1, c_out=1), {"q": 2}, r"label 'q' of conv2d is 3, which other sizes"),
        (pm.conv2d(height="h", width=5, c_in=1, c_out=1), {"p": 3}, r"'p' belongs to a window and is h - 2; bind it"),
        (pm.split(pm.matmul(8, 8, 16), k=4), {"k": 3}, r"label 'k' of matmul is 4, which other sizes follow from"),
        (pm.split(pm.gated_mlp(8, 8, 8), hidden=2), {"hidden": 7}, r"label 'hidden' of gated_mlp is 8, which other"),
        (pm.matmul(8, 8, 8), {"m": "b"}, r"check: m=b: a run has a number of elements"),
    ],
)
def test_sizes_that_others_follow_from_are_refused(program: pm.Program, sizes: dict[str, Any], said: str) -> None:
    """The program that it is held against would have to be another one."""
    with pytest.raises(pm.PerfModelError, match=said):
        pm.check(program, sizes)


def test_labels_of_one_axis_are_given_one_extent() -> None:
    """x is read along i and along j: two extents for its one axis are refused."""
    x = pm.tensor("x", {"i": 8})
    p = pm.program(pm.einsum("i,j->ij", x, x))
    with pytest.raises(pm.LabelError, match=r"check: i, j of .* have one extent"):
        pm.check(p, {"i": 3, "j": 4})


def test_a_size_that_is_said_again_is_no_other() -> None:
    """s is 2, padded to 4: said as it is, and other labels as one likes."""
    p = pm.pad(pm.pool2d(height=4, width=4, channels=2, kernel=2), s=4)
    assert pm.check(p, {"s": 2, "c": 5}).sizes["c"] == 5


@pytest.mark.parametrize(("m", "n", "k"), [(6, 4, 5), (7, 7, 7), (9, 5, 16)])
def test_a_tile_that_holds_the_one_around_it_holds_it_in_a_small_run_too(m: int, n: int, k: int) -> None:
    """Blocks of half of k add in memory; a tile inside that holds a block's k cuts nothing, whatever the size."""
    outer = pm.tile(pm.matmul(m, n, k), grid={"m": 2, "n": 2}, stream={"batch": 2}, level="l2")
    halves = pm.split(outer, combine="atomic", k=2)
    assert pm.check(pm.tile(halves, grid={"k": -(-k // 2) + 1}, stream={"m": 3}))
    with pytest.raises(pm.TransformError, match=r"'matmul' reduces 'k', which is in the grid"):
        pm.tile(halves, grid={"k": -(-k // 2) - 1}, stream={"m": 3})


def test_a_tile_of_a_symbol_holds_the_same_one_around_it_in_a_small_run_too() -> None:
    """Both levels are t long: none of the inner tiles is smaller, so it may stand in the grid of what adds up k."""
    p = pm.tile(pm.matmul(8, 8, "k"), grid={"k": "t"}, atomic=["k"], level="l2")
    assert pm.check(pm.tile(p, grid={"k": "t"}, stream={"m": 3}))
