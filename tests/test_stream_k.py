"""Stream-K in an estimate: the shares of the mechanism, cuts counted one by one, never slower, carried everywhere."""

from __future__ import annotations

from math import ceil

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.effects.chips import Chip
from perfmodel.effects.shapes import shape_of
from perfmodel.effects.stack import NAMES, Rates, Setting, kernel_parts
from perfmodel.effects.stream_k import cuts, fix_up_s, share
from perfmodel.effects.tiles import Tile

A100, H100 = "a100-sxm-80gb", "h100-sxm"
WAVES = ("roofline", "tile quantization", "wave quantization")
COUNTS, STEPS, UNITS = st.integers(1, 3000), st.integers(1, 400), st.integers(1, 200)
SIZES = st.integers(1, 9000)
TILES = st.sampled_from([(256, 128), (128, 128), (64, 64), (16, 64)])


@given(COUNTS, STEPS, UNITS)
def test_shares_are_those_of_the_mechanism(blocks: int, steps: int, units: int) -> None:
    """In whole units of a block's time: what pm.waves says, closed form and event by event."""
    waves = pm.waves(blocks, units=units, schedule="stream-k", steps=steps)
    assert share(blocks, steps, units) / steps == waves.time_blocks
    assert share(blocks, steps, units) <= ceil(blocks / units) * steps  # whole blocks


@given(st.integers(1, 60), st.integers(1, 40), st.integers(1, 30))
def test_cuts_are_shares_that_begin_inside_a_tile(blocks: int, steps: int, units: int) -> None:
    """Each share in turn: it begins a tile where its first step is a multiple of a tile's."""
    each = ceil(blocks * steps / units)
    starts = range(0, blocks * steps, each)
    assert len(starts) <= units
    assert cuts(blocks, steps, units) == sum(start % steps != 0 for start in starts)


def test_figures_by_hand() -> None:
    """120 tiles of 28 steps on 108 SMs: 32 steps each, 105 shares, 15 of them (0, 7, 14, ...) at a tile's start."""
    assert share(120, 28, 108) == 32
    assert cuts(120, 28, 108) == 105 - 15
    assert cuts(216, 28, 108) == 0  # two whole tiles each
    chip = Chip.of(pm.machine(A100))
    fed = chip.constants.feed_bytes_per_clock * chip.clock_hz * 108  # bytes a second of all units
    moved = 90 * 256 * 128 * (4 + 4) / fed  # fp32 out, and in again
    assert fix_up_s(120, 28, Tile(256, 128), chip) == chip.constants.split_s + moved  # and what any combination costs
    assert fix_up_s(216, 28, Tile(256, 128), chip) == 0


def test_waves_alone() -> None:
    """1793 on an A100 in tiles of 256 x 128: 120 blocks take 120 / 108 block times instead of 2."""
    p = pm.matmul(1793, 1793, 1793)
    static, stream = [pm.estimate(p, A100, WAVES, (256, 128), schedule=each).time_s for each in ("static", "stream-k")]
    assert stream / static == pytest.approx(120 / 108 / 2)
    assert stream / static == pytest.approx(
        pm.waves(120, units=A100, schedule="stream-k").time_blocks / pm.waves(120, units=A100).time_blocks
    )


@settings(deadline=None, max_examples=60)
@given(SIZES, SIZES, SIZES, TILES, st.sampled_from([A100, H100, "b200-sxm", "l40s"]))
def test_its_compute_is_never_slower(m: int, n: int, k: int, tile: tuple[int, int], chip: str) -> None:
    """The same tile, all effects: the busiest unit has no more steps, waits for no more, and stores no more tiles."""
    shape = shape_of(pm.matmul(m, n, k).counted[0]).numbers()
    rates = Rates((pm.machine(chip).find_peak("bf16"),))
    found = [
        kernel_parts(shape, Tile(*tile), Setting(Chip.of(pm.machine(chip)), rates, frozenset(NAMES), schedule=each))
        for each in ("static", "stream-k")
    ]
    assert found[1].compute_s <= found[0].compute_s * (1 + 1e-12)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(SIZES, SIZES, SIZES), min_size=1, max_size=6), st.sampled_from([None, (128, 128)]))
def test_many_sizes_are_each_one(sizes: list[tuple[int, int, int]], tile: tuple[int, int] | None) -> None:
    """estimate_many and sweep say of each size what estimate does; the law of the whole time: never under the ideal."""
    arrays = {label: numpy.array(column) for label, column in zip("mnk", zip(*sizes, strict=True), strict=True)}
    p = pm.matmul("m", "n", "k")
    many = pm.estimate_many(p, H100, arrays, tile=tile, schedule="stream-k")
    table = pm.sweep(p, arrays, on=H100, metrics="time_s", tile=tile, schedule="stream-k", zipped=True)
    for place, (m, n, k) in enumerate(sizes):
        one = pm.estimate(pm.matmul(m, n, k), H100, tile=tile, schedule="stream-k")
        assert one.time_s >= one.ideal_time_s
        assert many.time_s[place] == pytest.approx(one.time_s, rel=1e-12)
        assert table["time_s"][place] == many.time_s[place]
        assert one.tile.splits == 1


@settings(deadline=None, max_examples=20)
@given(SIZES, SIZES, SIZES)
def test_static_is_the_default(m: int, n: int, k: int) -> None:
    """Said or not, each step is the same."""
    p = pm.matmul(m, n, k)
    assert pm.estimate(p, H100).steps == pm.estimate(p, H100, schedule="static").steps
    assert pm.estimate(p, H100).schedule == "static"


def test_it_is_explained() -> None:
    """Steps each, how full the units are, and the partial tiles; the names of the schedule in the plain data."""
    e = pm.estimate(pm.matmul(1793, 1793, 1792), A100, tile=(256, 128), schedule="stream-k")
    text = e.explain()
    assert "120 blocks of 28 steps on 108 SMs: 32 steps each, 97 % full" in text  # 3360 / (108 * 32)
    assert "90 partial tiles are written and read again" in text
    assert e.to_dict()["schedule"] == "stream-k"
    assert dict(e.steps)["split-k"] > dict(e.steps)["epilogue"]
    whole = pm.estimate(pm.matmul(2304, 3072, 1792), A100, tile=(256, 128), schedule="stream-k")  # 9 x 24 = 2 * 108
    assert whole.time_s == pm.estimate(pm.matmul(2304, 3072, 1792), A100, tile=(256, 128)).time_s


def test_what_leaves_waves_out_has_no_schedule() -> None:
    """Without wave quantization a unit has its average share either way, and nothing is cut."""
    p = pm.matmul(1793, 1793, 1793)
    one, other = [
        pm.estimate(p, A100, tile=(256, 128), without="wave quantization", schedule=each)
        for each in ("static", "stream-k")
    ]
    assert one.time_s == other.time_s
    rows = pm.fuse(pm.softmax(4096, 4096))  # no tiles to deal out
    assert pm.estimate(rows, A100).time_s == pm.estimate(rows, A100, schedule="stream-k").time_s


def test_what_is_no_schedule_is_refused() -> None:
    """Unknown names with what is near, and splits beside stream-k, everywhere it can be said."""
    p = pm.matmul("n", 64, 64)
    with pytest.raises(pm.PerfModelError, match=r"schedule = 'streamk'.*did you mean 'stream-k'"):
        pm.estimate(p.at(n=8), A100, schedule="streamk")
    with pytest.raises(pm.DimensionError, match="leave the splits out"):
        pm.estimate(p.at(n=8), A100, tile=(64, 64, 4), schedule="stream-k")
    with pytest.raises(pm.DimensionError, match="leave the splits out"):
        pm.estimate_many(p, A100, {"n": [8]}, tile=(64, 64, 4), schedule="stream-k")
    with pytest.raises(pm.PerfModelError, match="schedule"):
        pm.sweep(p, {"n": [8]}, on=A100, schedule=None)
    assert pm.estimate(p.at(n=8), A100, tile=(64, 64, 1), schedule="stream_k").time_s > 0
