"""``crops``: a mask seen from inside a tile, held against the part of the mask written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from strategies import masks

import perfmodel as pm
from perfmodel.graph.crops import cropped, looks_of
from perfmodel.graph.intervals import Trip
from perfmodel.graph.masks import Mask, causal
from perfmodel.graph.visiting import Visits

SIZES = st.integers(1, 9)


@st.composite
def crops(draw: st.DrawFn) -> tuple[Mask | None, np.ndarray[tuple[int, int], np.dtype[np.bool_]]]:
    """A mask cropped once or twice, and what it allows, cut out of the whole mask."""
    mask: Mask | None = draw(masks())
    queries, keys = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    assert mask is not None
    allowed = mask.array(queries, keys)
    for _ in range(draw(st.integers(1, 2))):
        if mask is None:
            break
        (r0, r1), (k0, k1) = [
            sorted(draw(st.lists(st.integers(0, n), min_size=2, max_size=2, unique=True))) for n in allowed.shape
        ]
        shape = (allowed.shape[0], allowed.shape[1])
        mask = cropped(mask, looks_of(mask, *shape)((r0, r1), (k0, k1)))
        allowed = allowed[r0:r1, k0:k1]
    return mask, allowed


@settings(max_examples=500, deadline=None)
@given(crops())
def test_a_crop_allows_what_the_mask_allows_there(case: tuple[Mask | None, np.ndarray]) -> None:  # type: ignore[type-arg]
    """Pairs, the rows that see a key and the keys that are seen; no mask stands where all is allowed."""
    crop, allowed = case
    if crop is None:
        assert allowed.all()
        return
    assert not allowed.all()
    assert (crop.array(*allowed.shape) == allowed).all()
    assert crop.pairs(*allowed.shape) == allowed.sum()
    for found, axis in ((crop.rows, 1), (crop.columns, 0)):
        places = np.flatnonzero(allowed.any(axis=axis))
        assert found(*allowed.shape) == ((places[0], places[-1] + 1) if len(places) else (0, 0))


@settings(max_examples=300, deadline=None)
@given(crops(), SIZES, SIZES)
def test_tiles_of_a_crop_are_visited_as_those_of_a_mask(
    case: tuple[Mask | None, np.ndarray],  # type: ignore[type-arg]
    rows: int,
    across: int,
) -> None:
    """From the first tile of keys with an allowed pair to the last, for each tile of rows."""
    crop, allowed = case
    if crop is None:
        return
    queries, keys = allowed.shape
    visits = Visits(crop, queries, keys, Trip("q", rows, queries), Trip("kv", across, keys))
    for row, visited in enumerate(visits.ranges):
        tiles = np.flatnonzero(allowed[row * rows : (row + 1) * rows].any(axis=0)) // across
        assert visited == ((tiles[0], tiles[-1] + 1) if len(tiles) else (0, 0))


def test_tiles_along_the_diagonal_look_alike() -> None:
    """A causal mask in tiles of 4: on the diagonal all are one triangle, below it nothing is masked."""
    look = looks_of(causal(), 16, 16)
    assert {look((row, row + 4), (row, row + 4)) for row in range(0, 16, 4)} == {(None, 0, None, 0, 0)}
    assert {look((8, 12), (key, key + 4)) for key in (0, 4)} == {None}


def test_a_mask_in_symbols_is_cropped_at_given_sizes() -> None:
    """A window of unknown width cannot be compared with a tile: the error says what to do."""
    with pytest.raises(pm.DimensionError, match="bind the symbols"):
        looks_of(causal(window="w"), 8, 8)
