"""Where an effect counts on arrays what a mechanism counts exactly, the two agree."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.effects import residents, tile_quantization, tiles
from perfmodel.effects.shapes import KernelShape
from perfmodel.effects.tiles import LINE_BYTES, Tile
from perfmodel.effects.wave_quantization import last_wave_fill, most_blocks

SIZES = st.integers(1, 2**20)
SIDES = st.sampled_from([*sorted({side for shape in tiles.SHAPES for side in shape}), 48, 96, 192])
BLOCKS = st.integers(1, 2**40)
UNITS = st.integers(1, 1000)


@given(m=SIZES, n=SIZES, batch=st.integers(1, 64), rows=SIDES, columns=SIDES)
def test_blocks_are_those_of_a_grid_of_tiles(m: int, n: int, batch: int, rows: int, columns: int) -> None:
    """Tile quantization: as a number and as an array, and the fraction of blocks without the effect is the fill."""
    grid = pm.tile_grid(m, n, batch=batch, tile=(rows, columns))
    alone, tile = KernelShape("contraction", float(batch), float(m), float(n)), Tile(rows, columns)
    many = KernelShape("contraction", *[np.full(3, float(size)) for size in (batch, m, n)])
    assert tile_quantization.blocks(alone, tile) == grid.blocks
    assert tile_quantization.blocks(many, tile).tolist() == [grid.blocks] * 3
    parts = tile_quantization.blocks(alone, tile, whole=False)
    np.testing.assert_allclose(parts / grid.blocks, grid.tile_fill, rtol=1e-14)


@given(m=SIZES, k=SIZES, splits=st.sampled_from(tiles.SPLITS))
def test_steps_and_splits_are_blocks_along_k(m: int, k: int, splits: int) -> None:
    """A split shares the steps of a line of bf16 out, and there are so many times the blocks."""
    step = LINE_BYTES // 2
    lines = pm.tile_grid(1, k, tile=(1, step)).blocks
    shape, tile = KernelShape("contraction", 1.0, float(m), 1.0, float(k)), Tile(64, 64, splits)
    assert tile_quantization.steps(shape, tile) == pm.tile_grid(1, lines, tile=(1, splits)).blocks
    assert tile_quantization.blocks(shape, tile) == pm.tile_grid(m, 1, tile=64).blocks * splits


@given(blocks=BLOCKS, units=UNITS)
def test_the_busiest_unit_sets_the_waves(blocks: int, units: int) -> None:
    """Wave quantization: whole blocks take the time of a static schedule, parts of blocks that of stream-K."""
    found = pm.waves(blocks, units)
    assert most_blocks(float(blocks), units) == found.time_blocks
    assert most_blocks(np.full(3, float(blocks)), units).tolist() == [found.waves] * 3
    assert most_blocks(blocks, units, whole=False) == found.waves_exact
    assert most_blocks(blocks, units, whole=False) == pm.waves(blocks, units, schedule="stream-k").time_blocks
    assert last_wave_fill(blocks, units) == found.tail_fill


@given(rows=SIDES, columns=SIDES, shared_kib=st.integers(1, 512))
def test_the_blocks_that_share_a_unit_are_its_occupancy(rows: int, columns: int, shared_kib: int) -> None:
    """Occupancy: shared memory for four stages of a line, at most eight blocks; a block that is there runs."""
    staged = residents.STAGES * LINE_BYTES * (rows + columns)
    limits = {"max_threads": 2048, "max_blocks": residents.MOST, "shared_bytes": shared_kib * 1024}
    found = pm.occupancy(limits, threads=128, registers=0, shared_bytes=staged)
    assert residents.resident(Tile(rows, columns), shared_kib * 1024) == max(1, found.blocks)
