"""``visited``: what visited tiles move, by kinds of tiles, held against every visited pair of tiles taken alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given, settings, strategies as st
from strategies import TINY_BLOCKS, masks

import perfmodel as pm
from perfmodel.graph.indexing import Affine
from perfmodel.graph.intervals import Interval, Linear, Trip
from perfmodel.graph.masks import Mask, causal
from perfmodel.graph.needs import index_interval
from perfmodel.graph.parts import part_bytes, placed
from perfmodel.graph.schedules import Load
from perfmodel.graph.sums import lengths_sum
from perfmodel.graph.visited import visited_cost
from perfmodel.graph.visiting import Visits

SIZES = st.integers(1, 9)
FORMATS = ("bf16", "int4", "mxfp4", TINY_BLOCKS)


def by_pairs(load: Load, visits: Visits, trips: Mapping[str, Trip]) -> tuple[int, int]:
    """Elements and bytes, tile by tile of all that are visited."""
    query, key = visits.mask.query, visits.mask.key
    moved = [label for label in (query, key) if label in load.labels and label in visits.labels]
    found = Counter(
        tuple([(label, number) for label, number in zip((query, key), pair, strict=True) if label in moved])
        for pair in visits.pairs
    )
    elements = size = 0
    for numbers, times in found.items():
        part = tuple([placed(interval, dict(numbers)) for interval in load.part])
        elements += times * int(lengths_sum(part, trips))
        size += times * int(part_bytes(load.tensor.format, part, trips))
    return elements, size


@st.composite
def cases(draw: st.DrawFn) -> tuple[Load, Visits, dict[str, Trip]]:
    """A mask over rows and keys of which one or both are cut, and a load that any of their tiles may move."""
    mask, queries, keys = draw(masks()), draw(SIZES), draw(SIZES)
    rows, across, other = [
        Trip(label, draw(st.integers(1, 4)), n) for label, n in (("q", queries), ("kv", keys), ("d", 5))
    ]
    parts = {
        "q": Interval.tile("q", rows.size, queries),
        "kv": Interval.tile("kv", across.size, keys),
        "d": Interval.tile("d", other.size, 5),
        "whole": Interval.whole(3),
    }
    parts["halo"] = parts["kv"].widened(Interval.whole(3)).through(1, -1).clipped(keys)
    parts["both"] = parts["kv"].widened(parts["q"]).clipped(queries + keys)
    parts["seen"] = Interval((Linear(0),), parts["q"].through(1, keys - queries).stops).clipped(keys)
    window = Affine((("kv", 3), ("taps", 1)), -1)  # leaves every third key out
    parts["gaps"] = index_interval(window, {"kv": parts["kv"], "taps": Interval.whole(2)}, 3 * keys)
    names = draw(st.lists(st.sampled_from(sorted(parts)), max_size=3, unique=True))
    axes = {f"{name}_axis": 3 * (queries + keys) for name in names}
    load = Load(pm.tensor("x", axes, dtype=draw(st.sampled_from(FORMATS))), tuple([parts[name] for name in names]))
    row_cut = rows if draw(st.booleans()) else None
    return load, Visits(mask, queries, keys, row_cut, across), {"q": rows, "kv": across, "d": other}


@settings(max_examples=400, deadline=None)
@given(cases())
def test_kinds_of_tiles_add_up_to_all_pairs_of_tiles(case: tuple[Load, Visits, dict[str, Trip]]) -> None:
    """Ragged tiles, halos, gaps, scales that tiles share and axes that both labels move: the sum over every pair."""
    load, visits, trips = case
    if visits.rows_cut is None and "q" in load.labels:
        visits = Visits(visits.mask, visits.queries, visits.keys, trips["q"], visits.keys_cut)
    assert visited_cost(load, visits, trips) == by_pairs(load, visits, trips)


def test_causal_keys_are_read_by_the_tiles_of_rows_that_see_them() -> None:
    """8 x 8 in tiles of 3: rows of tiles visit 3, 6 and 8 keys of 4 elements; 2 B each."""
    rows, across = Trip("q", 3, 8), Trip("kv", 3, 8)
    load = Load(pm.tensor("K", {"kv": 8, "d": 4}), (Interval.tile("kv", 3, 8), Interval.whole(4)))
    visits = Visits(causal(), 8, 8, rows, across)
    assert visited_cost(load, visits, {"q": rows, "kv": across}) == ((3 + 6 + 8) * 4, (3 + 6 + 8) * 4 * 2)


def test_pairs_of_tiles_hold_the_ragged_ones_of_both_sides() -> None:
    """5 x 5 in tiles of 2, all visited: the tiles together are the 25 pairs, 12 bits each rounded up a tile."""
    rows, across = Trip("q", 2, 5), Trip("kv", 2, 5)
    load = Load(pm.tensor("S", {"q": 5, "kv": 5}, dtype="int4"), (Interval.tile("q", 2, 5), Interval.tile("kv", 2, 5)))
    visits = Visits(Mask("q", "kv"), 5, 5, rows, across)
    # 4 tiles of 2 x 2 (2 B), 2 of 2 x 1 and 2 of 1 x 2 (1 B), 1 of 1 x 1 (rounded up to 1 B)
    assert visited_cost(load, visits, {"q": rows, "kv": across}) == (5 * 5, 4 * 2 + 4 * 1 + 1)


def test_long_rows_are_counted_without_their_pairs() -> None:
    """n^2 / 2 pairs of tiles of 1 (5e8 here) would take minutes: each of n rows reads the keys up to its own."""
    n = 2**15
    rows, across = Trip("q", 1, n), Trip("kv", 1, n)
    load = Load(pm.tensor("K", {"kv": n}), (Interval.tile("kv", 1, n),))
    found = visited_cost(load, Visits(causal(), n, n, rows, across), {"q": rows, "kv": across})
    assert found == (n * (n + 1) // 2, 2 * n * (n + 1) // 2)


def test_scaled_formats_in_symbols_are_counted_at_sizes() -> None:
    """A scale belongs to a number of elements: in symbols the error says what to do."""
    n = pm.dims("n")
    rows, across = Trip("q", 2, n), Trip("kv", 2, n)
    load = Load(pm.tensor("K", {"kv": n}, dtype="mxfp4"), (Interval.tile("kv", 2, n),))
    with pytest.raises(pm.DimensionError, match="bind the symbols"):
        visited_cost(load, Visits(causal(), n, n, rows, across), {"q": rows, "kv": across})


def test_masked_tiles_of_odd_bits_are_counted_at_sizes() -> None:
    """Each part is rounded up to whole bytes, which no sum of elements is; in ints they are counted."""
    n = pm.dims("n")
    p = pm.cast(pm.fuse(pm.attention(n, n, 8, causal=True)), K="int4")
    with pytest.raises(pm.DimensionError, match="bind the symbols"):
        pm.tile(p, grid={"q": 4}, stream={"kv": 2})
    assert pm.check(pm.tile(p.at(n=9), grid={"q": 4}, stream={"kv": 2}))


@pytest.mark.parametrize("order", [("q", "kv"), ("kv", "q")])
def test_tiles_that_see_nothing_or_that_nothing_sees_load_nothing(order: tuple[str, str]) -> None:
    """Outside the loop over keys the first rows load no queries, and outside that over rows the last keys nothing.

    12 rows, aligned to the start, see themselves and the next key of 8: rows 0 to 7, tiles of 2 rows, 4 of 6; of
    12 keys 8 rows see 0 to 8, tiles of 2 keys, 5 of 6. In symbols, bound, it is the same.
    """
    many, few = 12, 8
    q, k = (many, few) if order[0] == "q" else (few, many)
    mask = Mask("q", "kv", left=0, right=1, align="start")
    found = []
    for rows, columns in ((q, k), ("rows", "keys")):
        a, b = pm.tensor("A", {"q": rows, "d": 3}), pm.tensor("B", {"kv": columns, "d": 3})
        scores = pm.program(pm.einsum("q d, kv d -> q kv", a, b, mask=mask).named("S"))
        cut = pm.tile(scores, stream=dict.fromkeys(order, 2))
        cut = cut.at(rows=q, keys=k) if cut.symbols else cut
        found.append({row[1]: row[3] for row in cut.traffic().rows if row[2] == "read"})
    tensor, tiles = ("A", 4) if order[0] == "q" else ("B", 5)
    assert found[0][tensor] == tiles * 2 * 3
    assert found[0] == found[1]
