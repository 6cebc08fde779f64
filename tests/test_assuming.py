"""What formulas of tiled programs take for granted: it is said, and where it holds the formulas are exact."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.expressions import bind, ceil_div, dimension

M, N, K, T = pm.dims("m n k T")
COUNTS = ("bytes", "flops", "issued_flops", "footprint_bytes")


def assert_exact(p: pm.Program, sizes: dict[str, int]) -> None:
    """Formulas at sizes are the counts of the program bound there."""
    bound = p.at(sizes)
    for name in COUNTS:
        found = bind(getattr(p, name), {dimension(label): length for label, length in sizes.items()})
        assert found == getattr(bound, name), name


def test_a_tile_of_the_grid_is_no_larger_than_its_label() -> None:
    """A footprint in T holds where T <= n; past it, the tile that at cuts is n long: (T^2 + 2 T n) 2 B with T = n."""
    p = pm.tile(pm.matmul(N, N, N), m=T, n=T)
    assert p.assumptions == (N >= T,)
    assert "formulas hold where n >= T: a larger tile is cut to its label" in p.explain()
    assert_exact(p, {"n": 256, "T": 128})
    assert_exact(p, {"n": 128, "T": 128})
    assert p.at(n=128, T=256).footprint_bytes == (128 * 128 + 2 * 128 * 128) * 2
    assert p.at(n=128, T=256).assumptions == ()


def test_what_holds_at_any_size_is_left_out() -> None:
    """A tile of one, one of half its label, and the smaller of two sizes."""
    assert pm.tile(pm.matmul(M, N, K), m=1).assumptions == ()
    assert pm.tile(pm.matmul(2 * M, N, K), m=M).assumptions == ()
    assert pm.tile(pm.matmul(2 * M, N, K), stream={"m": M}).assumptions == ()
    assert pm.tile(pm.matmul(M, N, K), m="min(64, m)").assumptions == ()
    assert pm.tile(pm.matmul(64, N, K), m=32).assumptions == ()


def test_a_tile_that_is_as_large_as_its_label_at_any_size_is_none() -> None:
    """Symbols or not: k in tiles of k, or of more, is no loop."""
    whole = pm.matmul(M, N, K)
    for cut in (K, K + 1):
        p = pm.tile(whole, m=8, stream={"k": cut})
        assert p.assumptions == (M >= 8,)
        assert (p.bytes, p.footprint_bytes) == (pm.tile(whole, m=8).bytes, pm.tile(whole, m=8).footprint_bytes)


def test_tiles_inside_tiles_are_no_larger_than_those_around_them() -> None:
    """An inner tile cuts the outer one: 32 of 64 holds at any size, S of T where T >= S."""
    p = pm.tile(pm.matmul(M, N, K), m=64, level="l2")
    assert pm.tile(p, m=32, stream={"k": 8}).assumptions == (M >= 64, K > 8)
    S = pm.dims("S")
    p = pm.tile(pm.matmul(M, N, K), m=T, level="l2")
    assert pm.tile(p, m=S).assumptions == (M >= T, T >= S)


def test_the_last_outer_tile_makes_two_trips_as_well() -> None:
    """Tiles of 8 of k, streamed by 4 inside: 3 that are left over are one trip, and A is not loaded again for each n.

    In 27 = 3 * 8 + 3 keys that is so, in 29 = 3 * 8 + 5 it is not.
    """
    p = pm.tile(pm.tile(pm.matmul(M, N, K), stream={"k": 8}, level="l2"), stream={"n": 2, "k": 4})
    assert p.assumptions == (K > 8, N > 2, sympy.Mod(K - 1, 8) + 1 > 4)
    sizes = {"m": 5, "n": 6, "k": 29}
    assert served(p, sizes) == {row[1:3]: row[3] for row in p.at(sizes).traffic("l2").rows}
    sizes = {"m": 5, "n": 6, "k": 27}
    assert served(p, sizes)["A", "read"] == 3 * 5 * 27  # once for each of 3 tiles of n
    assert p.at(sizes).traffic("l2").rows[0][3] == 3 * 5 * 24 + 5 * 3


def test_a_block_inside_a_tile_is_as_large_as_it_is_said() -> None:
    """Its bytes are of whole tiles: 2 x 4 of C, and of A and B what 8 of k hold, in bf16."""
    p = pm.tile(pm.tile(pm.matmul(M, N, K), m=8, n=8, stream={"k": 8}, level="l2"), m=2, n=4)
    assert p.footprint_bytes == (2 * 4 + 2 * 8 + 8 * 4) * 2
    assert p.issued_flops == 2 * 8 * 2 * 4 * ceil_div(K, 8) * ceil_div(M, 2) * ceil_div(N, 4)


def test_an_inner_tile_as_large_as_the_outer_is_no_loop() -> None:
    """k in tiles of 8 and again of 8, or of 16: once is enough."""
    once = pm.tile(pm.matmul(M, N, K), m=8, stream={"k": 8}, level="l2")
    for cut in (8, 16):
        p = pm.tile(once, m=2, stream={"n": 4, "k": cut})
        assert p.assumptions == (M >= 8, K > 8, N > 4)
        sizes = {"m": 12, "n": 9, "k": 20}
        assert served(p, sizes) == {row[1:3]: row[3] for row in p.at(sizes).traffic("l2").rows}


def served(p: pm.Program, sizes: dict[str, int]) -> dict[tuple[str, str], int]:
    """Elements that tiles of l2 are asked for, by the formulas."""
    symbols = {dimension(label): length for label, length in sizes.items()}
    return {row[1:3]: bind(row[3], symbols) for row in p.traffic("l2").rows}


@pytest.mark.parametrize("loops", [("m", "n", "k"), ("k", "m"), ("n",), ()])
@settings(max_examples=25)
@given(data=st.data())
def test_formulas_are_exact_where_their_assumptions_hold(loops: tuple[str, ...], data: st.DataObject) -> None:
    """Blocks and loops of a matmul, at random sizes; at others nothing is claimed."""
    tiles = {label: data.draw(st.integers(1, 9)) for label in ("m", "n", "k")}
    sizes = {label: tile + data.draw(st.integers(label in loops, 9)) for label, tile in tiles.items()}
    grid = {label: tiles[label] for label in ("m", "n") if label not in loops}
    p = pm.tile(pm.matmul(M, N, K), grid=grid, stream={label: tiles[label] for label in loops})
    symbols = {dimension(label): length for label, length in sizes.items()}
    assert all(bool(relation.subs(symbols)) for relation in p.assumptions)
    assert_exact(p, sizes)


def test_a_block_beside_padding_alone_has_no_neighbours() -> None:
    """A buffer for 4 rows of a 3 x 3 window has 6 rows of x, of which 4 exist where one block is all there is."""
    h = pm.dims("h")
    p = pm.tile(pm.conv2d(height=h, width=8, c_in=3, c_out=5, kernel=3, padding=1), p=4)
    assert p.assumptions == (h > 4,)
    for rows in (5, 6, 8, 9, 13):
        assert_exact(p, {"h": rows})
    assert p.at(h=8).footprint_bytes - p.at(h=4).footprint_bytes == 2 * 3 * 8 * (6 - 4)
    unpadded = pm.tile(pm.conv2d(height=h, width=8, c_in=3, c_out=5, kernel=3), p=4)
    assert unpadded.assumptions == (h - 2 >= 4,)
    assert_exact(unpadded, {"h": 6})
