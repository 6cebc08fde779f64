"""``visiting``: the visited tiles of masks, held against the mask written out."""

from __future__ import annotations

from hypothesis import given, strategies as st
from strategies import masks

from perfmodel.graph.intervals import Trip
from perfmodel.graph.masks import Mask
from perfmodel.graph.visiting import Visits

SIZES = st.integers(1, 9)


@given(masks(), SIZES, SIZES, SIZES, SIZES)
def test_every_tile_with_an_allowed_pair_is_visited(
    mask: Mask, queries: int, keys: int, rows: int, across: int
) -> None:
    """A tile that holds an allowed pair is visited, and the first and last visited of a row of tiles hold one."""
    visits = Visits(mask, queries, keys, Trip("q", rows, queries), Trip("kv", across, keys))
    pairs = mask.array(queries, keys)
    for row in range(-(-queries // rows)):
        tiles = [
            key
            for key in range(-(-keys // across))
            if pairs[row * rows : (row + 1) * rows, key * across : (key + 1) * across].any()
        ]
        visited = [key for key in range(-(-keys // across)) if visits.holds(row, key)]
        assert set(tiles) <= set(visited)
        assert (visited[:1], visited[-1:]) == (tiles[:1], tiles[-1:])
