"""Producers fused in front of windows: what neighbouring tiles repeat, in ints, in symbols and as it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.strategies import DrawFn
from staging import (
    arrays_of,
    assert_counts_as_it_runs,
    assert_same_values,
    cuts,
    evaluated,
    loads,
    operations,
    stores,
    tiled,
)

import perfmodel as pm
from perfmodel.expressions import Size
from perfmodel.graph import reduced

# Halide's blur


def blur(height: Size, width: Size) -> pm.Program:
    """Sums of 3 along the rows of an image of height + 2 by width + 2, then of 3 along its columns, in one kernel."""
    image = pm.tensor("image", {"y": height + 2, "x": width + 2}, dtype="fp32")
    across = reduced("sum", pm.window(image, "x", "col", "i", 3), "i", name="blur_x")
    return pm.fuse(pm.program(reduced("sum", pm.window(across, "y", "row", "j", 3), "j", name="blur_y")))


def producer_work(program: pm.Program, height: Size, width: Size) -> Size:
    """The operations of blur_x: what is left of all once blur_y's 3 a pixel are taken away."""
    return sympy.expand(program.flops - 3 * height * width)


def test_a_blur_at_its_root_repeats_nothing() -> None:
    """Untiled, blur_x runs once for each of its own (height + 2) x width pixels, 3 additions each."""
    h, w = pm.dims("H W")
    assert producer_work(blur(h, w), h, w) == sympy.expand(3 * (h + 2) * w)
    assert producer_work(blur(64, 512), 64, 512) == 3 * (64 + 2) * 512


@pytest.mark.parametrize(
    ("rows", "columns", "ratio"), [(32, 256, Fraction(34, 32)), (1, 1, 3), (8, 64, Fraction(10, 8))]
)
def test_a_blur_in_tiles_computes_its_first_pass_again_in_halos(rows: int, columns: int, ratio: int | Fraction) -> None:
    """A tile of T rows needs T + 2 of blur_x: (T + 2) / T as much work, 34/32 in tiles of 32 and 3 at each point."""
    h, w = pm.dims("H W")
    tile = {"row": rows, "col": columns}
    work = producer_work(pm.tile(blur(h, w), **tile), h, w)
    assert work == sympy.expand(3 * w * (h + 2 * pm.ceil_div(h, rows)))  # two rows more a tile
    assert work.xreplace({h: 64, w: 512}) == ratio * 3 * 64 * 512
    whole = pm.tile(blur(64, 512), **tile)
    assert producer_work(whole, 64, 512) == ratio * 3 * 64 * 512


def test_a_tile_of_a_blur_holds_two_rows_more_than_it_makes() -> None:
    """In tiles of 32 x 256: an intermediate of 34 x 256, and 34 x 258 of the image, both once a tile."""
    h, w = pm.dims("H W")
    for height, width in ((h, w), (64, 512)):
        tiled_blur = pm.tile(blur(height, width), row=32, col=256)
        rows = {row[2]: row[3] for row in tiled_blur.footprint().rows}
        assert rows["blur_x"] == 4 * (34 * 256)
        assert rows["image"] == 4 * (34 * 258)
    down, along = pm.ceil_div(h, 32), pm.ceil_div(w, 256)
    assert loads(pm.tile(blur(h, w), row=32, col=256))["image"].equals((h + 2 * down) * (w + 2 * along))
    assert loads(pm.tile(blur(64, 512), row=32, col=256))["image"] == 2 * 34 * 2 * 258


@pytest.mark.parametrize("tile", [{}, {"row": 4, "col": 8}, {"row": 1, "col": 1}, {"row": 3, "col": 5}])
def test_a_blur_runs_as_it_counts(tile: dict[str, int]) -> None:
    """Each schedule of an 8 x 16 image gives the same values, and does what its formulas say."""
    whole = blur(8, 16)
    cut = pm.tile(whole, **tile) if tile else whole
    run = pm.simulate(cut, arrays_of(whole))
    assert_counts_as_it_runs(cut, run)
    assert_same_values(run, pm.simulate(whole, arrays_of(whole)))


# what is found out about orders of loops


def test_a_halo_is_not_added_twice() -> None:
    """Taps streamed around the tiles of a second window would add to the rows that two tiles share: refused."""
    made = reduced("sum", pm.window(pm.tensor("x", {"h": 8}), "h", "p", "t", 2), "t")
    chain = pm.fuse(pm.program(reduced("sum", pm.window(made, "p", "q", "u", 2), "u")))
    with pytest.raises(pm.TransformError, match=r"each trip of 'q' inside .* stream 'q' outside"):
        pm.tile(chain, stream={"t": 1, "q": 2})
    other = pm.tile(chain, stream={"q": 2, "t": 1})
    run = pm.simulate(other, arrays_of(chain))
    assert_counts_as_it_runs(other, run)
    assert_same_values(run, pm.simulate(chain, arrays_of(chain)))


# a case by hand


def test_taps_that_meet_only_padding_need_nothing() -> None:
    """One element, padding 2, dilation 2: of two taps at -2 and 0 the first needs no product, the second one.

    The formula once took the empty tile for a negative length, though its number of tiles was known.
    """

    def summed(extent: Size) -> pm.Program:
        made = pm.tensor("x", {"a": extent, "b": 8}) * 2
        return pm.fuse(
            pm.program(reduced("sum", pm.window(made, "a", "o", "t", 2, stride=3, dilation=2, padding=2), "t"))
        )

    n = pm.dims("n")
    formula = pm.tile(summed(n), stream={"t": 1}).flops
    assert pm.tile(summed(1), stream={"t": 1}).flops == 8 * (1 + 2)  # one product and two additions a column
    assert evaluated(formula, {n: 1}) == 8 * (1 + 2)


# the law


@dataclass(frozen=True)
class Windowed:
    """A map, then one window or two, each summed; perhaps the map's result is read once more, or leaves."""

    extent: int
    spacings: tuple[dict[str, int], ...]
    again: str

    def program(self, extent: Size) -> pm.Program:
        """The kernel of all of it."""
        made = pm.tensor("x", {"c": 2, "h": extent}) * 2
        outputs = [made] if self.again == "leaves" else []
        if self.again == "read":
            outputs.append(pm.relu(made.rename({"h": "o0"}) if self.aligned else made))
        seen, label = made, "h"
        for place, spacing in enumerate(self.spacings):
            view = pm.window(seen, label, f"o{place}", f"t{place}", **spacing)
            seen, label = reduced("sum", view, f"t{place}"), f"o{place}"
        return pm.fuse(pm.program(*outputs, seen.named("out")))

    @property
    def aligned(self) -> bool:
        """Whether the first window has as many outputs as inputs."""
        first = self.spacings[0]
        return first["stride"] == 1 and 2 * first["padding"] == first["dilation"] * (first["taps"] - 1)


@st.composite
def windowed(draw: DrawFn) -> Windowed:
    """Any stride, dilation, padding and number of taps that fit."""
    extent = reach = draw(st.integers(1, 9))
    spacings = []
    for _ in range(draw(st.integers(1, 2))):
        stride, dilation, padding = [draw(st.integers(low, 3)) for low in (1, 1, 0)]
        taps = draw(st.integers(1, min(3, 1 + (reach + 2 * padding - 1) // dilation)))
        reach = (reach + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
        spacings.append({"taps": taps, "stride": stride, "dilation": dilation, "padding": padding})
    return Windowed(extent, tuple(spacings), draw(st.sampled_from(("", "read", "leaves"))))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(windowed(), st.data())
def test_formulas_of_fused_windows_at_sizes_are_what_runs(case: Windowed, data: st.DataObject) -> None:
    """The formula in the extent, bound, is the count in ints, and that is what the run does, loads and stores."""
    whole = case.program(case.extent)
    chosen = data.draw(cuts(whole, proper=True))
    cut, n = tiled(whole, chosen), pm.dims("n")
    run = pm.simulate(cut, arrays_of(cut))
    assert_counts_as_it_runs(cut, run)
    assert_same_values(run, pm.simulate(whole, arrays_of(whole)))
    formulas = tiled(case.program(n), chosen)
    if formulas.kernels[0].tiles != cut.kernels[0].tiles:
        return
    assert at_size(formulas.flops_by_unit, {n: case.extent}) == operations(cut)
    assert operations(formulas.at(n=case.extent)) == operations(cut)
    hulls = {item.tensor for kernel in formulas.counted for item in kernel.transfers if item.note}
    for found, expected in ((loads(formulas), loads(cut)), (stores(formulas), stores(cut))):
        exact = {name: number for name, number in at_size(found, {n: case.extent}).items() if name not in hulls}
        assert exact == {name: number for name, number in expected.items() if name not in hulls}


def at_size(found: Mapping[str, Any], values: dict[Any, int]) -> dict[str, int]:
    """Formulas by name at sizes; what comes to none is left out."""
    numbers = {name: evaluated(size, values) for name, size in found.items()}
    return {name: number for name, number in numbers.items() if number}
