"""Colours that everyone tells apart, text that a slide shows, and a package that loads when it is used."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

from matplotlib.colors import to_rgb

import perfmodel as pm
from perfmodel.plot.style import COLOURS, MARKERS, TEXT, axes, short_number

# Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision Deficiency":
# what a person without red, or without green, cones sees of linear RGB.
UNSEEN = {
    "red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}


def seen(colour: str, cones: str) -> list[float]:
    return [sum(part * value for part, value in zip(row, to_rgb(colour), strict=True)) for row in UNSEEN[cones]]


def test_colours_differ_without_red_or_green() -> None:
    """Any two of the eight are at least a tenth of a channel apart."""
    for cones in UNSEEN:
        for one, other in combinations(COLOURS, 2):
            apart = max(abs(a - b) for a, b in zip(seen(one, cones), seen(other, cones), strict=True))
            assert apart > 0.1, (one, other, cones)


def test_series_differ_by_shape_too() -> None:
    assert len(set(MARKERS)) == len(COLOURS)


def test_text_is_legible_on_a_slide() -> None:
    """12 points on a picture 8 inches wide: a fiftieth of its width, as a line of 24 points on a slide of 16 inches."""
    assert TEXT / 72 / axes(None, "sweep").figure.get_size_inches()[0] >= 1 / 50


def test_numbers_have_prefixes() -> None:
    assert short_number(1234.5e6, "FLOP/s") == "1.23 GFLOP/s"


def test_drawing_loads_with_its_first_use() -> None:
    code = "import sys, perfmodel as pm; pm.plot; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_every_kind_is_public() -> None:
    assert set(pm.plot.__all__) == {"memory", "roofline", "sweep", "tile_map", "traffic", "waterfall"}
