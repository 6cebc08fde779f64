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


@pytest.mark.parametrize(
    ("extents", "across", "up"),
    [
        ((100, 512), [16, 32, 64], [16, 32, 64, 128, 256, 512]),
        ((1793, 7), [16, 32, 64, 128, 256, 512], [1, 2, 4, 7]),
        ((32, 33), [1, 2, 4, 8, 16, 32], [1, 2, 4, 8, 16, 32, 33]),
        ((1, 64), [1], [16, 32, 64]),
    ],
)
def test_default_sizes_are_those_that_each_label_holds(
    extents: tuple[int, int], across: list[int], up: list[int]
) -> None:
    """Powers of two from 16 to 512; of a short label all powers of two, and the label whole."""
    drawn = pm.plot.tile_map(pm.matmul(*extents, 64), "m", "n")
    assert [int(each.get_text()) for each in drawn.get_xticklabels()] == across
    assert [int(each.get_text()) for each in drawn.get_yticklabels()] == up
    cells = drawn.images[0].get_array()
    for row, high in enumerate(up):
        for column, wide in enumerate(across):
            assert cells[row, column] == float(pm.tile(pm.matmul(*extents, 64), grid={"m": wide, "n": high}).bytes)


def test_each_label_may_have_its_sizes() -> None:
    drawn = pm.plot.tile_map(SQUARE, "m", "n", sizes={"m": [64, 128], "n": [32]})
    assert drawn.images[0].get_array().shape == (1, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pm.plot.tile_map(SQUARE, "m", "n", show="byte"), "did you mean 'bytes'"),
        (lambda: pm.plot.tile_map(SQUARE, "m", "q", sizes=SIZES), "no label 'q' in matmul"),
        (lambda: pm.plot.tile_map(pm.matmul(100, 100, 100), "mm", "n"), "no label 'mm' .*did you mean 'm'"),
        (lambda: pm.plot.tile_map(SQUARE, "m", "n", sizes=(1024,)), "m measures 512"),
        (lambda: pm.plot.tile_map(SQUARE, "m", "n", sizes=()), "positive whole numbers"),
        (lambda: pm.plot.tile_map(SQUARE, "m", "n", sizes=3), "positive whole numbers"),
        (lambda: pm.plot.tile_map(SQUARE, "m", "n", sizes={"k": [8]}), "expected sizes of m and n"),
        (lambda: pm.plot.tile_map(pm.matmul("n", 8, 8), "m", "n"), "without symbols"),
        (lambda: pm.plot.tile_map(SQUARE, "m", "m", sizes=SIZES), "give two labels"),
        (lambda: pm.plot.tile_map(SQUARE, "m", "n", sizes=SIZES, capacity_bytes=-1), "positive number of bytes"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message: str) -> None:
    with pytest.raises(pm.PerfModelError, match=message):
        call()


def test_the_bar_has_the_units_of_the_cells() -> None:
    """1 TB stands on the bar as it does in a cell, never 10^12."""
    for show, unit in (("bytes", "B"), ("intensity", "FLOP/B"), ("issued_flops", "FLOP")):
        drawn = pm.plot.tile_map(SQUARE, "m", "n", sizes=SIZES, show=show)
        bar = drawn.figure.axes[1].yaxis
        assert bar.get_major_formatter()(2e12, 0) == f"2 T{unit}"
        drawn.figure.canvas.draw()
        assert not any("10^" in text.get_text() for text in bar.get_ticklabels(which="both"))
