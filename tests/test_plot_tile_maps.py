"""Tile maps: each cell is what the tiled program counts."""

from __future__ import annotations

import pytest

import perfmodel as pm

SQUARE = pm.matmul(512, 512, 512)
SIZES = (32, 64, 128)


@pytest.mark.parametrize("show", ["bytes", "intensity", "footprint_bytes"])
def test_cells_are_the_counts_of_tiled_programs(show: str) -> None:
    drawn = pm.plot.tile_map(SQUARE, "m", "n", sizes=SIZES, show=show, stream={"k": 32})
    cells = drawn.images[0].get_array()
    for row, up in enumerate(SIZES):
        for column, across in enumerate(SIZES):
            tiled = pm.tile(SQUARE, grid={"m": across, "n": up}, stream={"k": 32})
            assert cells[row, column] == pytest.approx(float(getattr(tiled, show)))


def test_tiles_that_do_not_fit_are_crossed_out() -> None:
    """With k whole, a 128 x 128 tile holds more than one of 32 x 32 four times over."""
    limit = pm.tile(SQUARE, grid={"m": 64, "n": 64}).footprint_bytes
    drawn = pm.plot.tile_map(SQUARE, "m", "n", sizes=SIZES, capacity_bytes=limit)
    crossed = [pm.tile(SQUARE, grid={"m": across, "n": up}).footprint_bytes > limit for up in SIZES for across in SIZES]
    texts = [text.get_text() for text in drawn.texts]
    assert [text == "\N{MULTIPLICATION SIGN}" for text in texts] == crossed
    assert (drawn.get_xlabel(), drawn.get_ylabel()) == ("tile of m", "tile of n")


@pytest.mark.parametrize("extents", [(100, 512), (512, 100), (200, 200), (10, 40), (1, 1), (511, 513)])
def test_default_sizes_are_no_larger_than_the_extents(extents: tuple[int, int]) -> None:
    """Powers of two from 16 to 512, those that both labels hold; where none is, the smaller extent."""
    drawn = pm.plot.tile_map(pm.matmul(*extents, 64), "m", "n")
    shown = [int(each.get_text()) for each in drawn.get_xticklabels()]
    assert shown == ([each for each in (16, 32, 64, 128, 256, 512) if each <= min(extents)] or [min(extents)])
    cells = drawn.images[0].get_array()
    for row, up in enumerate(shown):
        assert cells[row, -1] == float(pm.tile(pm.matmul(*extents, 64), grid={"m": shown[-1], "n": up}).bytes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pm.plot.tile_map(SQUARE, "m", "n", show="byte"), "did you mean 'bytes'"),
        (lambda: pm.plot.tile_map(SQUARE, "m", "q", sizes=SIZES), "no label 'q' in matmul"),
        (lambda: pm.plot.tile_map(pm.matmul(100, 100, 100), "mm", "n"), "no label 'mm' .*did you mean 'm'"),
        (lambda: pm.plot.tile_map(SQUARE, "m", "n", sizes=(1024,)), "m measures 512"),
        (lambda: pm.plot.tile_map(SQUARE, "m", "n", sizes=()), "positive whole numbers"),
        (lambda: pm.plot.tile_map(pm.matmul("n", 8, 8), "m", "n"), "without symbols"),
        (lambda: pm.plot.tile_map(SQUARE, "m", "m", sizes=SIZES), "give two labels"),
        (lambda: pm.plot.tile_map(SQUARE, "m", "n", sizes=SIZES, capacity_bytes=-1), "positive number of bytes"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message: str) -> None:
    with pytest.raises(pm.PerfModelError, match=message):
        call()
