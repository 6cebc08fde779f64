"""``visiting``: the visited tiles of masks, held against the mask written out."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings, strategies as st
from staging import evaluated
from strategies import masks

import perfmodel as pm
from perfmodel.expressions import Size, bind
from perfmodel.graph.intervals import Trip
from perfmodel.graph.masks import Mask, causal
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


def test_causal_tiles_are_a_staircase() -> None:
    """8 x 8 in tiles of 2: of 4 rows of tiles the first visits 1, the next 2, ...: 1 + 2 + 3 + 4."""
    visits = Visits(causal(), 8, 8, Trip("q", 2, 8), Trip("kv", 2, 8))
    assert visits.ranges == ((0, 1), (0, 2), (0, 3), (0, 4))
    assert visits.number == 1 + 2 + 3 + 4
    assert visits.pairs[:3] == ((0, 0), (1, 0), (1, 1))


def test_a_label_that_is_not_cut_is_one_tile() -> None:
    """Rows uncut: one tile of rows, which sees every tile of keys."""
    assert Visits(causal(), 8, 8, None, Trip("kv", 2, 8)).ranges == ((0, 4),)
    assert Visits(causal(), 8, 8, Trip("q", 2, 8), None).ranges == ((0, 1),) * 4


def test_rows_past_the_last_key_visit_nothing() -> None:
    """10 rows see themselves only, of 5 keys: the second tile of 5 rows is empty, in ints and in symbols."""
    mask = Mask("q", "kv", left=0, right=None, align="start")
    assert Visits(mask, 10, 5, Trip("q", 5, 10), Trip("kv", 2, 5)).ranges == ((0, 3), (0, 0))
    q, k = pm.dims("Q K")
    formula = Visits(mask, q, k, Trip("q", 5, q), Trip("kv", 2, k)).number
    assert evaluated(formula, {q: 10, k: 5}) == 3


@settings(max_examples=150, deadline=None)
@given(masks().filter(lambda mask: mask.chunk is None), SIZES, SIZES, SIZES, SIZES, st.booleans(), st.booleans())
def test_sums_over_symbols_are_the_listed_tiles(
    mask: Mask, queries: int, keys: int, rows: int, across: int, by_row: bool, by_key: bool
) -> None:
    """Bound, the finite sum is what the visited tiles hold, listed one by one: tiles, their rows, their keys."""
    q, k = pm.dims("Q K")
    formula = Visits(mask, q, k, Trip("q", rows, q), Trip("kv", across, k)).summed(by_row=by_row, by_key=by_key)
    listed = Visits(mask, queries, keys, Trip("q", rows, queries), Trip("kv", across, keys)).pairs
    expected = sum(
        (min(rows, queries - rows * row) if by_row else 1) * (min(across, keys - across * key) if by_key else 1)
        for row, key in listed
    )
    assert evaluated(formula, {q: queries, k: keys}) == expected


def test_chunks_are_counted_at_sizes() -> None:
    """Chunks have no finite sum in symbols: the error says what to do."""
    q = pm.dims("Q")
    visits = Visits(Mask("q", "kv", chunk=4), q, q, Trip("q", 2, q), Trip("kv", 2, q))
    assert not visits.concrete
    with pytest.raises(pm.DimensionError, match="bind the symbols"):
        _ = visits.number


N, R = pm.dims("N R")
BLOCKS = [(a, b) for a in (1, 2, 4, 6, 12) for b in (1, 2, 4, 6, 12)] + [(R, R), (2 * R, R), (R, 2 * R)]


@pytest.mark.parametrize(("rows", "keys"), BLOCKS)
@given(length=st.integers(1, 70), size=st.integers(1, 6))
@settings(max_examples=8)
def test_a_causal_square_has_a_closed_form_where_one_block_divides_the_other(
    rows: Size, keys: Size, length: int, size: int
) -> None:
    """Of tiles, of their keys, and of both times their rows: what the ranges of the tiles add up to."""
    a, b = bind(rows, {R: size}), bind(keys, {R: size})
    tiles = Visits(causal(), length, length, Trip("q", a, length), Trip("kv", b, length))
    formal = Visits(causal(), N, N, Trip("q", rows, N), Trip("kv", keys, N))
    for by_row, by_key in ((False, False), (False, True), (True, False), (True, True)):
        found = formal.summed(by_row=by_row, by_key=by_key)
        assert found.has(sympy.Sum) == ((rows, keys) in [(4, 6), (6, 4)])
        expected = sum(
            (min(a, length - row * a) if by_row else 1)
            * (min(length, stop * b) - start * b if by_key else stop - start)
            for row, (start, stop) in enumerate(tiles.ranges)
        )
        values = {"N": length, "R": size}
        assert pm.evaluate(found, {str(symbol): values[str(symbol)] for symbol in found.free_symbols}) == expected
