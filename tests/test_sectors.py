"""Coalescing as an effect: runs against addresses one by one, dense programs untouched, its place in an estimate."""

from __future__ import annotations

from math import gcd

import numpy
import pytest
from hypothesis import assume, given, settings, strategies as st

import perfmodel as pm
from perfmodel.effects.coalescing import aligned_bits, moved_bits, spread
from perfmodel.effects.pieces import Piece, pieces_of
from perfmodel.effects.shapes import shape_of

H100 = "h100-sxm"
SECTORS = st.sampled_from([32, 64, 128])


def piece(run: int, stride: int, offset: int = 0, period: int = 0) -> Piece:
    """One run of so many bytes."""
    return Piece("x", "read", 1, 8 * run, 8 * period, 8 * offset, strides=(8 * stride,))


def touched(addresses: object, sector: int) -> int:
    """Distinct sectors that hold some byte addresses."""
    return int(numpy.unique(numpy.asarray(addresses) // sector).size)


def moved_of(program: pm.Program) -> float:
    """Bytes of sectors that the pieces of a program's only kernel move."""
    return sum(float(moved_bits(each)) for each in shape_of(program.counted[0]).numbers().pieces) / 8


# ---------------------------------------------------------------------------- the closed form


@given(st.integers(1, 400), st.integers(1, 400), st.integers(0, 200), SECTORS)
def test_a_run_alone_touches_the_sectors_of_its_bytes(run: int, stride: int, offset: int, sector: int) -> None:
    """On average over all places where it may start: each byte of each run put into its sector, one by one."""
    starts = [offset + stride * place for place in range(sector // gcd(stride, sector))]
    counted = [touched(range(start, start + run), sector) for start in starts]
    assert moved_bits(piece(run, stride, offset), sector) == 8 * sector * sum(counted) / len(starts)


@given(st.integers(1, 200), st.integers(0, 200), st.integers(0, 200), SECTORS)
def test_runs_in_a_row_share_their_sectors(run: int, gap: int, offset: int, sector: int) -> None:
    """A cycle of runs at an even stride, on a ring that is whole sectors long: a sector counts once for all of them."""
    stride = run + gap
    cycle = sector // gcd(stride, sector)
    places = [(offset + stride * each + byte) % (stride * cycle) for each in range(cycle) for byte in range(run)]
    assert moved_bits(piece(run, stride, offset, stride), sector) * cycle == 8 * sector * touched(places, sector)


@given(st.integers(1, 32), st.sampled_from([1, 2, 4, 8, 16]))
def test_it_is_what_the_threads_of_a_warp_touch(elements: int, width: int) -> None:
    """A row that one warp reads, an element a thread: the mean over the rows of a table of its transactions."""
    row = elements * width
    rows = range(32 // gcd(row, 32))
    found = [pm.transactions("t", width, threads=elements, offset_bytes=row * place).sectors for place in rows]
    assert moved_bits(piece(row, row)) == 8 * 32 * sum(found) / len(rows)


@given(st.integers(1, 600), st.integers(1, 600), SECTORS)
def test_a_run_moves_no_less_than_itself(run: int, stride: int, sector: int) -> None:
    """And at most a sector less a byte at its two ends together, beyond whole ones."""
    moved = float(moved_bits(piece(run, stride), sector)) / 8
    assert run <= moved < run + 2 * sector - 1
    assert sector % (int(aligned_bits(piece(run, stride), sector)) // 8) == 0


def test_figures_by_hand() -> None:
    """50 B from even bytes: (50 + 32 - 2) = 80 B; 32 B aligned: 32; 4 B from anywhere 4-aligned: one sector."""
    assert [moved_bits(piece(run, stride)) / 8 for run, stride in ((50, 50), (32, 64), (4, 4))] == [80, 32, 32]
    assert moved_bits(piece(1, 1)) / 8 == 32  # a byte lies in one sector
    assert moved_bits(piece(2, 1)) / 8 == 2 + 32 - 1  # two bytes from anywhere: one start in 32 lies across


# ---------------------------------------------------------------------------- programs


@pytest.mark.parametrize(
    "program",
    [
        pm.matmul(1793, 1001, 77), pm.gemv(50257, 999), pm.softmax(13, 4097), pm.fuse(pm.layernorm(8, 1001)),
        pm.elementwise("x + y", 4099), pm.fuse(pm.attention(100, 100, 64, heads=3, causal=True)),
        pm.conv2d(batch=2, height=31, width=31, c_in=3, c_out=8, kernel=3, padding=1),
        pm.optimizer_step(4099), pm.workload(flops=10, bytes_read=999),
    ],
    ids=lambda program: program.name,
)  # fmt: skip
def test_dense_programs_move_what_they_ask_for(program: pm.Program) -> None:
    """Tensors that are touched whole have no pieces: the effect is in no step, and leaving it out changes nothing."""
    assert all(pieces_of(count) == () for count in program.counted)
    real, without = pm.estimate(program, H100), pm.estimate(program, H100, without="coalescing")
    assert real.time_s == without.time_s
    steps = dict(real.steps)
    assert steps["coalescing"] == steps["power"]


def test_rows_of_a_table() -> None:
    """Rows of 25 bf16 numbers: 50 B asked, 80 B moved; beside them an index of 4 B and a result of 50 B a token."""
    p = pm.embedding(65536, 50257, 25)
    found = shape_of(p.counted[0]).numbers()
    assert float(spread(found)) == pytest.approx((80 + 4 + 50) / (50 + 4 + 50), rel=1e-12)
    steps = dict(pm.estimate(p, H100).steps)
    assert steps["coalescing"] / steps["power"] == pytest.approx((80 + 4 + 50) / (50 + 4 + 50), rel=1e-12)
    assert "W is read in runs of 50 B from multiples of 2 B: 2.5 sectors of 32 B each" in pm.estimate(p, H100).explain()


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 200), st.sampled_from(["bf16", "fp32", "fp8", "int4"]), st.integers(1, 5000))
def test_look_ups_cost_the_sectors_of_their_rows(width: int, dtype: str, tokens: int) -> None:
    """Never less than without the effect, as much where rows are whole sectors; the moved bytes by address."""
    p = pm.embedding(tokens, 4096, width, dtype=dtype)
    bits = int(pm.format(dtype).bits)
    assume((width * bits) % 8 == 0)
    row = width * bits // 8
    cycle = 32 // gcd(row, 32)
    counted = sum(touched(range(row * place, row * place + row), 32) for place in range(cycle))
    assert moved_of(p) == pytest.approx(tokens * 32 * counted / cycle)
    real, without = pm.estimate(p, "a100-sxm-80gb"), pm.estimate(p, "a100-sxm-80gb", without="coalescing")
    assert real.time_s >= without.time_s
    assert (real.time_s == without.time_s) == (row % 32 == 0)


@pytest.mark.parametrize(("stride", "extent"), [(2, 64), (3, 112), (16, 64), (40, 320)])
def test_a_window_that_leaves_elements_out(stride: int, extent: int) -> None:
    """Every stride-th element of every stride-th row of images of bf16 numbers: sectors by address."""
    p = pm.pool2d(batch=2, channels=3, height=extent, width=extent, kernel=1, stride=stride)
    axis = numpy.arange(0, extent, stride)
    images = numpy.arange(2 * 3) * extent**2
    places = 2 * (images[:, None, None] + extent * axis[None, :, None] + axis[None, None, :])
    assert moved_of(p) == pytest.approx(32 * touched(places.ravel(), 32))


def test_a_window_with_whole_rows_between() -> None:
    """Three elements wide and five apart: runs of 6 B, in rows of which the hull counts."""
    p = pm.pool2d(batch=4, channels=8, height=80, width=80, kernel=3, stride=5)
    rows = [row for first in range(0, 78, 5) for row in range(first, first + 3)]
    axis = numpy.asarray(rows)
    images = numpy.arange(4 * 8) * 80 * 80
    places = 2 * (images[:, None, None] + 80 * axis[None, :, None] + axis[None, None, :])
    assert moved_of(p) == pytest.approx(32 * touched(places.ravel(), 32), rel=0.03)


def test_many_sizes_are_each_one() -> None:
    """estimate_many evaluates the runs of each size, the effect's step included."""
    many = pm.estimate_many(pm.embedding("t", 50257, "d"), H100, {"t": [4096, 65536, 9], "d": [25, 64, 1]})
    for place, (tokens, width) in enumerate([(4096, 25), (65536, 64), (9, 1)]):
        one = pm.estimate(pm.embedding(tokens, 50257, width), H100)
        assert many.time_s[place] == pytest.approx(one.time_s, rel=1e-12)
        assert dict(many.steps)["coalescing"][place] == pytest.approx(dict(one.steps)["coalescing"], rel=1e-12)


def test_a_chip_without_a_sector_size_says_so() -> None:
    """32 bytes are assumed, and the caveats say it where it matters; NVIDIA's sheets have theirs."""
    p = pm.embedding(4096, 50257, 25)
    assert any("sectors of 32 B are assumed" in text for text in pm.estimate(p, "mi300x").caveats)
    assert not any("sectors" in text for text in pm.estimate(p, H100).caveats)
    assert not any("sectors" in text for text in pm.estimate(pm.matmul(8, 8, 8), "mi300x").caveats)
    assert pm.machine(H100).sources["sector_bytes"].title.startswith("NVIDIA")


def test_a_tiled_kernel_asks_for_the_same_runs_more_often() -> None:
    """Columns in the grid re-read nothing of a table; the share of its sectors is that of the whole kernel."""
    p = pm.embedding(4096, 50257, 25)
    tiled = pm.tile(p, token=128)
    whole, cut = [spread(shape_of(each.counted[0]).numbers()) for each in (p, tiled)]
    assert float(cut) == pytest.approx(float(whole))
