"""``tilings``: a tiling as a value: its labels and sizes, bound and renamed."""

from __future__ import annotations

from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.expressions import bind
from perfmodel.graph.tilings import Cut, Tiling

TILING = Tiling("l2", (Cut("m", 128), Cut("n", 64)), (Cut("k", 32),), spill=("C",), buffers=2, capacity_bytes=4096)


def test_labels_and_sizes_come_in_the_order_of_the_cuts() -> None:
    """The grid first, then the loops from outside in, and the room of the level last."""
    assert TILING.labels == ("m", "n", "k")
    assert TILING.sizes == (128, 64, 32, 4096)
    assert Tiling().labels == Tiling().sizes == ()


def test_resizing_changes_every_size_and_nothing_else() -> None:
    """Tiles and the room of the level are sizes; the level, the spill and the buffers stay."""
    half = TILING.resized(lambda size, what: size // 2)
    assert half.sizes == (64, 32, 16, 2048)
    assert (half.level, half.spill, half.buffers, half.labels) == ("l2", ("C",), 2, TILING.labels)
    assert Tiling("l2", (Cut("m", 128),)).resized(lambda size, what: size // 2).capacity_bytes is None


def test_renaming_changes_labels_and_spilled_tensors() -> None:
    """m becomes q and C becomes O; what is not named stays."""
    found = TILING.renamed({"m": "q"}, {"C": "O"})
    assert (found.labels, found.spill, found.sizes) == (("q", "n", "k"), ("O",), TILING.sizes)


def test_symbols_are_bound() -> None:
    """A tile of T, at T = 16."""
    t = pm.dims("T")
    symbolic = Tiling(grid=(Cut("m", t),), capacity_bytes=4 * t)
    assert symbolic.resized(lambda size, what: bind(size, {t: 16})).sizes == (16, 4 * 16)


LABELS = st.lists(st.sampled_from("mnkq"), unique=True)


@given(LABELS, LABELS, st.permutations("mnkq"))
def test_renaming_back_gives_the_tiling(grid: list[str], stream: list[str], order: list[str]) -> None:
    """A renaming of all labels and its inverse undo each other, and leave the sizes alone."""
    tiling = Tiling(grid=tuple(Cut(label, 4) for label in grid), stream=tuple(Cut(label, 2) for label in stream))
    there = dict(zip("mnkq", order, strict=True))
    renamed = tiling.renamed(there, {})
    assert renamed.labels == tuple(there[label] for label in tiling.labels)
    assert renamed.renamed({new: old for old, new in there.items()}, {}) == tiling
