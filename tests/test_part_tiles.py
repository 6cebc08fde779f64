"""Tiles of masked keys in parts: their numbers, where they begin and end, and what makes them."""

from __future__ import annotations

from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.graph.intervals import Trip
from perfmodel.graph.part_tiles import PartTiles, key_tiles


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 7), st.booleans())
def test_tiles_are_numbered_in_the_order_of_their_keys(parts: int, size: int, tile: int, inside: bool) -> None:
    """Key by key: the tile that holds it begins at or before it, ends after it, and is named by its own numbers."""
    length = 6
    cut = Trip("kv", tile, length) if inside else None
    tiles = PartTiles(Trip("kv_part", 1 if inside else size, parts), cut, length)
    before = -1
    for key in range(parts * length):
        number = int(tiles.number_of(key))
        start, stop = tiles.around(key)
        assert start <= key < stop
        assert number == before + (key == start)  # a new tile where one starts, else the same
        assert tiles.number_at(tiles.at(number)) == number
        before = number
    assert before + 1 == tiles.count


def test_parts_that_are_not_one_interval_have_no_tiles() -> None:
    """A tile across two parts holds two runs of keys; and one of all parts is no cut."""
    loop = pm.online(pm.fuse(pm.attention(4, 12, 2, causal=True)), "kv")
    op = pm.split(loop, kv=4).ops[0]
    trips = {"kv_part": Trip("kv_part", 2, 4), "kv": Trip("kv", 2, 3)}
    assert key_tiles(op, trips, ["kv_part", "kv"]) is None
    assert key_tiles(op, trips, ["kv"]) is None
    assert key_tiles(op, trips, ["kv_part"]) == PartTiles(trips["kv_part"], None, 3)
