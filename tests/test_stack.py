"""The stack of effects: known figures of tiles and waves, laws of every effect, one estimate and many alike."""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.effects.shapes import shape_of
from perfmodel.effects.stack import EFFECTS
from perfmodel.effects.tile_quantization import blocks
from perfmodel.effects.tiles import Tile
from perfmodel.effects.wave_quantization import last_wave_fill, most_blocks

# What may go either way: the boost of the clock, what hides latency, what the cache gives, a split that is allowed.
NOT_COSTS = ("roofline", "cache reuse", "occupancy", "power", "split-k")
A100, H100 = "a100-sxm-80gb", "h100-sxm"
TILES_AND_WAVES = ("roofline", "tile quantization", "wave quantization")
SIZES = st.integers(1, 9000)
CALIBRATED = (A100, H100, "h200-sxm", "b200-sxm", "l40s")


def cube(n: int) -> pm.Program:
    """A square matmul."""
    return pm.matmul(n, n, n)


@pytest.mark.parametrize(("n", "tiles", "waves", "fill"), [(1792, 98, 1, 91), (1793, 120, 2, 56), (2560, 200, 2, 93)])
def test_tiles_and_waves_of_an_a100(n: int, tiles: int, waves: int, fill: int) -> None:
    """Tiles of 256 x 128 on 108 SMs: ceil(n / 256) * ceil(n / 128) blocks, whole waves, and how full they are."""
    found = int(blocks(shape_of(cube(n).counted[0]).numbers(), Tile(256, 128)))
    assert found == tiles == math.ceil(n / 256) * math.ceil(n / 128)
    assert most_blocks(found, 108) == waves
    assert round(100 * found / (waves * 108)) == fill


def test_one_more_column_takes_twice_the_time() -> None:
    """1792, 1793 and 2560 on an A100 take 1.0, 2.0 and 2.86: two waves for one, and 40/28 of the work in each."""
    one, two, three = [pm.estimate(cube(n), A100, TILES_AND_WAVES, tile=(256, 128)).time_s for n in (1792, 1793, 2560)]
    assert two / one == pytest.approx(2 * 1793 / 1792, rel=1e-9)
    assert three / one == pytest.approx(2 * 2560 / 1792, rel=1e-9)


def test_the_last_wave_of_an_h100() -> None:
    """Tiles of 128 x 128 on 132 SMs: n = 1408 is 121 blocks and one wave, 1409 is 144, two waves, 55 % full."""
    counts = [int(blocks(shape_of(cube(n).counted[0]).numbers(), Tile(128, 128))) for n in (1408, 1409)]
    assert counts == [11 * 11, 12 * 12]
    assert [int(most_blocks(count, 132)) for count in counts] == [1, 2]
    assert round(100 * counts[1] / (2 * 132)) == 55
    assert last_wave_fill(144, 132) == 12 / 132


def test_useful_work_of_whole_tiles() -> None:
    """1024 and 1025 with tiles of 128: 100 % and (1025 / 1152)^2 = 79 % of the issued work is useful."""
    for n, useful in ((1024, 100), (1025, 79)):
        whole = pm.estimate(cube(n), A100, TILES_AND_WAVES[:2], tile=(128, 128)).time_s
        assert round(100 * pm.estimate(cube(n), A100, "ideal").time_s / whole) == useful


def test_the_sawtooth() -> None:
    """Over n = 1..2048 the quantized time is a staircase that never lies under the ideal and steps up at 1793."""
    sizes = numpy.arange(1, 2049)
    found = pm.estimate_many(pm.matmul("n", "n", 4096), A100, {"n": sizes}, TILES_AND_WAVES, tile=(256, 128))
    assert (found.time_s >= found.ideal_time_s * (1 - 1e-12)).all()
    compute = found.time_s / (4096 * 2 * 256 * 128 / (312e12 / 108))
    step = numpy.where(compute > 1.5, 2, 1)
    assert (step[sizes < 1793] == 1).all()
    assert (step[sizes >= 1793] == 2).all()


@settings(deadline=None, max_examples=40)
@given(m=SIZES, n=SIZES, k=SIZES, chip=st.sampled_from(CALIBRATED))
def test_the_real_time_is_never_shorter_than_the_ideal(m: int, n: int, k: int, chip: str) -> None:
    """With no loop that leaves data in cache every effect costs: the sheet's peak and bandwidth are not beaten."""
    e = pm.estimate(pm.matmul(m, n, k), chip)
    assert e.time_s >= e.ideal_time_s
    assert e.bound in ("compute", "memory", "launch")
    assert 0 < e.fraction_of_peak <= 1


@settings(deadline=None, max_examples=25)
@given(sizes=st.lists(st.tuples(SIZES, SIZES, SIZES), min_size=1, max_size=8), chip=st.sampled_from(CALIBRATED))
def test_many_estimates_are_each_one(sizes: list[tuple[int, int, int]], chip: str) -> None:
    """estimate_many says of each size what estimate says, tile and steps included, to rounding."""
    arrays = {label: numpy.array(column) for label, column in zip("mnk", zip(*sizes, strict=True), strict=True)}
    many = pm.estimate_many(pm.matmul("m", "n", "k"), chip, arrays, protocol="warm")
    for place, (m, n, k) in enumerate(sizes):
        one = pm.estimate(pm.matmul(m, n, k), chip, protocol="warm")
        assert many.time_s[place] == pytest.approx(one.time_s, rel=1e-12)
        for (name, seconds), (other, after) in zip(many.steps, one.steps, strict=True):
            assert name == other
            assert seconds[place] == pytest.approx(after, rel=1e-9)


@pytest.mark.parametrize("name", [name for name in EFFECTS if name not in NOT_COSTS])
def test_leaving_a_cost_out_never_takes_longer(name: str) -> None:
    """Without it the least time over all tiles is at most that with it."""
    for m, n, k in ((1, 4096, 4096), (16, 65536, 512), (333, 1001, 77), (4096, 4096, 4096), (128, 128, 65536)):
        p = pm.matmul(m, n, k)
        assert pm.estimate(p, A100, without=name).time_s <= pm.estimate(p, A100).time_s * (1 + 1e-12)


def test_the_chosen_tile_is_the_best() -> None:
    """No tile that a user fixes beats the one that the search finds, among the library's."""
    p = pm.matmul(1000, 3000, 500)
    best = pm.estimate(p, H100)
    assert best.tile is not None
    for tile in ((64, 64), (128, 128), (128, 256), (64, 128, 4)):
        fixed = pm.estimate(p, H100, tile=tile)
        assert fixed.time_s >= best.time_s
        assert (fixed.tile.m, fixed.tile.n) == tile[:2]


def test_a_split_helps_where_the_output_is_small() -> None:
    """128 x 128 x 65536 has one tile for 132 SMs: k is split; 4096^3 has a thousand, and it is not."""
    assert pm.estimate(pm.matmul(128, 128, 65536), H100).tile.splits > 1
    assert pm.estimate(cube(4096), H100).tile.splits == 1


def test_what_the_loop_left_in_cache_is_the_measurements() -> None:
    """Warm operands that fit the L2 come from it; rotated weights of six times as much do not."""
    p = pm.matmul(16, 4096, 2048)  # a weight of 16 MiB
    warm, rotated, cold = [pm.estimate(p, H100, protocol=name).time_s for name in ("warm", "aiconfigurator-vllm", None)]
    assert warm < rotated <= cold


def test_a_chip_without_constants_borrows_and_says_so() -> None:
    """An RTX 4090 has its own figures and the L40S's constants."""
    e = pm.estimate(cube(4096), "rtx-4090")
    assert any("l40s" in text for text in e.caveats)
    assert not any("are those of" in text for text in pm.estimate(cube(4096), "l40s").caveats)


def test_a_tpu_pads_to_its_array() -> None:
    """n = 129 on an array of 128 takes what 256 takes; the rest is said to be left out."""
    many = pm.estimate(pm.matmul(8192, 129, 8192), "tpu-v5e")
    assert dict(many.steps)["alignment"] == pytest.approx(pm.estimate(pm.matmul(8192, 256, 8192), "tpu-v5e").time_s)
    assert any("TPU" in text for text in many.not_modelled)


@pytest.mark.parametrize(
    ("chip", "side"),
    [("tpu-v1", 256), *[(f"tpu-{name}", 128) for name in ("v2", "v3", "v4", "v5e", "v5p")],
     ("tpu-v6e", 256), ("tpu-v7x", 256)],
)  # fmt: skip
def test_a_tpu_has_the_array_of_its_data_sheet(chip: str, side: int) -> None:
    """One column past the array's side takes a second array's time; m is padded to 8 sublanes alone."""
    form = "int8" if chip == "tpu-v1" else "bf16"
    machine = pm.machine(chip).replace(bandwidth_bytes_per_s=1e18)  # so that memory takes no time

    def seconds(m: int, n: int, k: int) -> float:
        return float(pm.estimate(pm.matmul(m, n, k, dtype=form), machine, ["roofline", "alignment"]).time_s)

    whole = seconds(64, side, side)
    assert whole == pytest.approx(pm.estimate(pm.matmul(64, side, side, dtype=form), machine, "ideal").time_s)
    assert seconds(64, side + 1, side) == pytest.approx(2 * whole) == seconds(64, side, side + 1)
    assert seconds(65, side, side) == pytest.approx(whole * 72 / 64)
    many = pm.estimate_many(pm.matmul("m", side, side, dtype=form), machine, {"m": [64, 65]}).time_s
    assert many.tolist() == pytest.approx([whole, whole * 72 / 64])
    explained = pm.estimate(pm.matmul(64, side + 1, side, dtype=form), machine).explain()
    assert f"an array of {side} x {side} pads m, n, k to 64, {2 * side}, {side}" in explained


def test_sizes_are_checked() -> None:
    """Unknown and missing symbols, and arrays of different lengths, are refused by name."""
    p = pm.matmul("m", "n", 64)
    with pytest.raises(pm.LabelError, match="no symbol 'mm'"):
        pm.estimate_many(p, H100, {"mm": [1], "n": [1]})
    with pytest.raises(pm.LabelError, match="no sizes for n"):
        pm.estimate_many(p, H100, {"m": [1]})
    with pytest.raises(pm.DimensionError, match="one length"):
        pm.estimate_many(p, H100, {"m": [1, 2], "n": [1, 2, 3]})


@given(m=SIZES, n=SIZES, k=SIZES, chip=st.sampled_from([H100, "b200-sxm"]))
def test_rows_that_the_engine_takes_are_multiplied_half_as_fast_again(m: int, n: int, k: int, chip: str) -> None:
    """Rows of A and B at multiples of 16 bytes: wgmma; others: mma.sync, at two thirds of its rate. bf16: 8 numbers."""
    ideal, found = [
        float(
            pm.estimate_many(pm.matmul("m", "n", "k"), chip, {"m": m, "n": n, "k": k}, effects, tile=(128, 128))
            .kernels[0]
            .parts.compute_s[0]
        )
        for effects in (["roofline", "tile quantization"], ["roofline", "tile quantization", "alignment"])
    ]
    assert found / ideal == pytest.approx(1.0 if n % 8 == k % 8 == 0 else 3 / 2)


def test_an_odd_vocabulary_costs_on_chips_whose_engine_asks_for_16_bytes() -> None:
    """50257 against 50264 columns: more on A100 and H100; where mma.sync is all there is, the power hides it."""
    for chip in (A100, H100):
        odd, even = [pm.estimate(pm.matmul(8192, n, 4096), chip).time_s for n in (50257, 50264)]
        assert odd > 1.03 * even
