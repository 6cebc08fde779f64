"""Blocks of tiles and the useful share of them: figures, the same grid counted tile by tile, programs, refusals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

import perfmodel as pm

SIZES = st.integers(1, 40)


def test_one_more_row_and_column_waste_a_fifth() -> None:
    """1024 = 8 x 128 fills its tiles; 1025 covers 1152 x 1152."""
    assert pm.tile_grid(1024, 1024, tile=128).tile_fill == 1
    assert pm.tile_grid(1025, 1025, tile=128).tile_fill == pytest.approx((1025 / 1152) ** 2)


@given(m=SIZES, n=SIZES, batch=st.integers(1, 4), rows=st.integers(1, 12), columns=st.integers(1, 12))
def test_walking_over_the_tiles_finds_the_same(m: int, n: int, batch: int, rows: int, columns: int) -> None:
    """Walk over the tiles: each is a block; the part of it inside the output is useful."""
    inside = [
        min(rows, m - top) * min(columns, n - left)
        for _ in range(batch) for top in range(0, m, rows) for left in range(0, n, columns)
    ]  # fmt: skip
    found = pm.tile_grid(m, n, batch, tile=(rows, columns))
    assert found.blocks == len(inside)
    assert found.tile_fill == pytest.approx(sum(inside) / (len(inside) * rows * columns))


@given(m=SIZES, n=SIZES, rows=st.integers(1, 12), columns=st.integers(1, 12))
def test_a_program_that_is_cut_has_the_same_grid(m: int, n: int, rows: int, columns: int) -> None:
    """tile makes as many blocks, and issues as much more work as the fill says."""
    cut = pm.tile(pm.matmul(m, n, 3), m=rows, n=columns)
    found = pm.tile_grid(cut)
    assert found == pm.tile_grid(m, n, tile=(rows, columns))
    assert cut.flops / cut.issued_flops == pytest.approx(found.tile_fill)


def test_inner_tiles_are_the_blocks_where_tiles_nest() -> None:
    """Blocks of 128 x 64 in L2 tiles of 256 x 256: as many as without the L2 tiles; sizes that clash are refused."""
    p = pm.tile(pm.matmul(1000, 1000, 64), m=256, n=256, level="l2")
    found = pm.tile_grid(pm.tile(p, m=128, n=64, level="shared"))
    assert found == pm.tile_grid(1000, 1000, tile=(128, 64))
    with pytest.raises(pm.DimensionError, match="m=96 do not fill the tiles of m=256"):
        pm.tile_grid(pm.tile(p, m=96, n=64, level="shared"))


def test_symbols_stand_wherever_sizes_do() -> None:
    """A grid in symbols, bound, is the grid of the numbers."""
    found = pm.tile_grid("m", "n", "b", tile=("s", "t"))
    values = {"m": 1793, "n": 1025, "b": 3, "s": 256, "t": 128}
    exact = pm.tile_grid(1793, 1025, 3, tile=(256, 128))
    assert pm.compile_formula(found.blocks)(values) == exact.blocks == 3 * 8 * 9
    assert pm.compile_formula(found.tile_fill, "b m n s t")(values) == pytest.approx(exact.tile_fill)


def two_kernels() -> Any:
    """Two matrix products, each cut by itself."""
    a, b, c = [pm.tensor(name, {x: 256, y: 256}) for name, (x, y) in {"A": "mk", "B": "kn", "C": "np"}.items()]
    chain = pm.program(pm.matmul(pm.matmul(a, b).named("AB"), c).named("ABC"))
    first, second = [kernel.name for kernel in chain.kernels]
    return pm.tile(pm.tile(chain, m=64, n=64, only=first), m=32, p=32, only=second), first


def test_the_kernel_is_named_where_several_are_cut() -> None:
    """Without a name two kernels that are cut are refused; the name picks one."""
    p, first = two_kernels()
    assert pm.tile_grid(p, kernel=first).blocks == 4 * 4
    with pytest.raises(pm.LabelError, match="say kernel="):
        pm.tile_grid(p)
    with pytest.raises(pm.LabelError, match="did you mean"):
        pm.tile_grid(p, kernel=first + "x")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: pm.tile_grid(4), pm.DimensionError, "n is missing"),
        (lambda: pm.tile_grid(0, 4), pm.DimensionError, "m = 0"),
        (lambda: pm.tile_grid(4, 4, tile=0), pm.DimensionError, "tile rows = 0"),
        (lambda: pm.tile_grid(4, 4, tile=(1, 2, 3)), pm.DimensionError, "expected .rows, columns."),
        (lambda: pm.tile_grid(4, 4, tile=None), pm.DimensionError, "tile rows = None"),
        (lambda: pm.tile_grid(4, 4, batch=1.5), pm.DimensionError, "batch = 1.5"),
        (lambda: pm.tile_grid(pm.matmul(4, 4, 4)), pm.LabelError, "is cut"),
    ],
)
def test_what_has_no_answer_is_refused(call: Any, error: type[Exception], words: str) -> None:
    """Errors of our own family that name the value and the rule."""
    with pytest.raises(error, match=words):
        call()


def test_grids_differ_and_are_shown() -> None:
    """Another tile is another grid; text and data have the count."""
    found = pm.tile_grid(1793, 1793, 2, tile=(256, 128))
    assert found == pm.tile_grid(1793, 1793, 2, tile=(256, 128)) != pm.tile_grid(1793, 1793)
    assert repr(found).startswith("tile_grid(1793, 1793, batch=2, tile=(256, 128))\n# 2 x 8 x 15 = 240 blocks")
    assert "ceil(1793 / 256) = 8" in found.explain()
    assert found.to_dict()["blocks"] == 2 * 8 * 15
