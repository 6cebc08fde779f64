"""Waves: figures that are known, closed forms equal to the events, symbols, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import perfmodel as pm

A100, H100 = 108, 132  # SMs
COUNTS = st.integers(1, 60)
SCHEDULES = st.sampled_from(["static", "dynamic", "stream-k"])


def square(n: Any, tile: Any = (256, 128), units: int = A100) -> Any:
    """The waves of an n x n output."""
    return pm.waves(pm.tile_grid(n, n, tile=tile), units=units)


def test_a100_takes_a_second_wave_from_1793() -> None:
    """Tiles of 256 x 128: 7 x 14, 8 x 15 and 10 x 20 blocks on 108 SMs, and times in proportion to waves times k."""
    sizes = (1792, 1793, 2560)
    found = [square(n) for n in sizes]
    assert [each.blocks for each in found] == [7 * 14, 8 * 15, 10 * 20]
    assert [each.waves for each in found] == [1, 2, 2]
    assert [f"{each.wave_fill:.0%}" for each in found] == ["91%", "56%", "93%"]
    times = [each.time_blocks * n for each, n in zip(found, sizes, strict=True)]
    assert [f"{time / times[0]:.2f}" for time in times] == ["1.00", "2.00", "2.86"]
    assert found[1].tail == 8 * 15 - A100


def test_h100_keeps_to_one_wave_up_to_1408() -> None:
    """128 x 128: 11 x 11 tiles are the last that fit in 132 SMs; 12 x 12 fill two waves to 55 %."""
    assert max(n for n in range(1, 3000) if square(n, 128, H100).waves == 1) == 1408 == 11 * 128
    after = square(1409, 128, H100)
    assert (after.waves, f"{after.wave_fill:.0%}") == (2, "55%")


def test_the_sawtooth_from_one_formula() -> None:
    """The efficiency over n = 1..8192, compiled once, is that of each n by itself, and it is a sawtooth."""
    efficiency = pm.compile_formula(square("n").efficiency)
    sizes = numpy.arange(1, 8193)
    curve = efficiency(n=sizes)
    for n in (1, 255, 256, 1024, 1792, 1793, 2560, 4096, 8192):
        assert curve[n - 1] == pytest.approx(square(n).efficiency, rel=1e-12)
    assert curve.max() <= 1
    assert (numpy.diff(curve) < -1e-9).sum() == sum(  # it falls only where a side takes one more tile
        square(n + 1).time_blocks > square(n).time_blocks for n in range(1, 8192)
    )


@given(blocks=st.integers(1, 400), units=COUNTS, resident=st.integers(1, 4), schedule=SCHEDULES)
def test_equal_blocks_end_when_the_formula_says(blocks: int, units: int, resident: int, schedule: str) -> None:
    """The closed form is the time of the last event, and the fill the share of slots in use."""
    found = pm.waves(blocks, units, resident, schedule)
    events = found.run()
    assert float(events.makespan) == pytest.approx(float(found.time_blocks), rel=1e-12)
    assert events.fill == pytest.approx(found.wave_fill, rel=1e-12)
    assert sum(span.end == events.makespan for span in events.spans) == (
        found.slots if schedule == "stream-k" else found.tail
    )


@given(blocks=st.integers(1, 200), units=COUNTS, steps=st.integers(1, 40))
def test_stream_k_deals_out_whole_steps(blocks: int, units: int, steps: int) -> None:
    """With whole steps the largest share is rounded up to one; it is never slower than whole blocks."""
    found = pm.waves(blocks, units, schedule="stream-k", steps=steps)
    assert float(found.run().makespan) == pytest.approx(found.time_blocks, rel=1e-12)
    whole = pm.waves(blocks, units)
    assert whole.waves_exact <= found.time_blocks <= whole.time_blocks


@given(blocks=st.integers(1, 300), units=st.integers(2, 40), data=st.data(), schedule=SCHEDULES)
def test_units_held_by_other_work(blocks: int, units: int, data: Any, schedule: str) -> None:
    """With busy units the time is that of the events, never below the blocks over what is left."""
    busy = data.draw(st.integers(1, units - 1))
    found = pm.waves(blocks, units, busy=busy, schedule=schedule)
    assert float(found.run().makespan) == pytest.approx(float(found.time_blocks))
    assert found.waves_exact <= found.time_blocks * (1 + 1e-12)
    assert found.waves >= found.time_blocks


def test_static_workers_without_a_unit_double_the_time() -> None:
    """1320 tiles, 10 a worker; 16 of 132 SMs held: 16 workers run after the others, or 1320 tiles on 116 SMs."""
    times = {name: pm.waves(1320, units=132, busy=16, schedule=name).time_blocks for name in ("static", "dynamic")}
    assert times == {"static": 2 * 10, "dynamic": 12}
    assert pm.waves(1320, units=132).time_blocks == 10


@given(lengths=st.lists(st.integers(1, 50), min_size=1, max_size=60), slots=st.integers(1, 9))
def test_unequal_blocks_keep_to_the_bounds_of_list_scheduling(lengths: list[int], slots: int) -> None:
    """Greedy: at least the mean load and the longest block, at most Graham's bound; dealt out beforehand, in turn."""
    count, work, longest = len(lengths), Fraction(sum(lengths)), max(lengths)
    greedy = pm.waves(count, slots, schedule="dynamic").run(lengths)
    least = max(work / slots, Fraction(longest))
    assert least <= greedy.makespan <= work / slots + longest * (1 - Fraction(1, slots))
    dealt = pm.waves(count, slots).run(lengths)
    assert dealt.makespan == max(sum(lengths[place::slots]) for place in range(slots))
    even = pm.waves(count, slots, schedule="stream-k").run(lengths)
    assert even.makespan == work / slots
    assert greedy.busy == dealt.busy == even.busy == work


@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=40), slots=st.integers(1, 6))
def test_no_slot_runs_two_blocks_at_once(lengths: list[int], slots: int) -> None:
    """Stays on one slot follow each other, and every block runs once for as long as it lasts."""
    found = pm.waves(len(lengths), slots, schedule="dynamic").run(lengths)
    by_slot: dict[int, list[Any]] = {}
    for span in found.spans:
        by_slot.setdefault(span.slot, []).append(span)
    for stays in by_slot.values():
        assert all(before.end <= after.start for before, after in pairwise(stays))
    assert sorted((span.block, span.end - span.start) for span in found.spans) == list(enumerate(lengths))


@given(blocks=st.integers(1, 500), units=st.integers(1, 150), resident=st.integers(1, 8))
def test_formulas_are_the_numbers(blocks: int, units: int, resident: int) -> None:
    """In symbols every count is a formula; bound, it is the count of the numbers."""
    symbolic, exact = pm.waves("b", "u", "r"), pm.waves(blocks, units, resident)
    values = {"b": blocks, "u": units, "r": resident}
    for name in ("slots", "waves", "tail", "waves_exact", "wave_fill", "efficiency", "tail_fill", "time_blocks"):
        assert pm.compile_formula(getattr(symbolic, name), "b u r")(values) == pytest.approx(
            float(getattr(exact, name)), rel=1e-12
        )


def test_a_machine_says_its_units() -> None:
    """Units come from the catalogue where a machine is given."""
    assert pm.waves(numpy.int64(120), busy=numpy.int64(0)) == pm.waves(120)
    assert pm.waves(120, units=pm.machine("a100-sxm-80gb")) == pm.waves(120, units=A100)
    with pytest.raises(pm.MachineError, match="give units="):
        pm.waves(120, units=pm.Machine(peak=1e12, bandwidth_bytes_per_s=1e9))


def test_a_program_that_is_cut_gives_its_blocks() -> None:
    """waves takes a tiled program: its blocks are those of its grid."""
    cut = pm.tile(pm.matmul(1793, 1793, 64), m=256, n=128)
    assert pm.waves(cut).efficiency == square(1793).efficiency


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: pm.waves(0), pm.DimensionError, "blocks = 0"),
        (lambda: pm.waves(10, units=-1), pm.DimensionError, "units = -1"),
        (lambda: pm.waves(10, resident=0), pm.DimensionError, "resident = 0"),
        (lambda: pm.waves(float("nan")), pm.DimensionError, "blocks = nan"),
        (lambda: pm.waves(True), pm.DimensionError, "blocks = True"),
        (lambda: pm.waves(10, schedule="statik"), pm.PerfModelError, "did you mean 'static'"),
        (lambda: pm.waves(10, schedule=None), pm.PerfModelError, "schedule = None"),
        (lambda: pm.waves(10, units=4, busy=4), pm.DimensionError, "none of the 4 units"),
        (lambda: pm.waves(10, units=4, busy=-1), pm.DimensionError, "of 0 or more"),
        (lambda: pm.waves(10, steps=4), pm.DimensionError, "stream-k"),
        (lambda: pm.waves(10, schedule="stream-k", steps=0), pm.DimensionError, "steps = 0"),
        (lambda: pm.waves("n").run(), pm.DimensionError, "give n values"),
        (lambda: pm.waves("n", units=4, busy=1).time_blocks, pm.DimensionError, "needs numbers"),
        (lambda: pm.waves(3).run([1, 2]), pm.DimensionError, "2 durations for 3 blocks"),
        (lambda: pm.waves(2).run([1, -2]), pm.DimensionError, "a block = -2"),
        (lambda: pm.waves(2).run([1, float("inf")]), pm.DimensionError, "a block = inf"),
        (lambda: pm.waves(2).run(["1", 2]), pm.DimensionError, "a block = '1'"),
        (lambda: pm.waves(2).run(numpy.ones((2, 2))), pm.DimensionError, "duration of a block"),
        (lambda: pm.waves(2).run([1e308, 1e308]), pm.DimensionError, "duration of a block"),
        (lambda: pm.waves(2).run("12"), pm.DimensionError, "expected a list"),
        (lambda: pm.waves(2**40).run(), pm.CapacityError, "too many"),
        (lambda: pm.waves(5, units=2**40, busy=1).time_blocks, pm.CapacityError, "too many"),
    ],
)
def test_what_has_no_answer_is_refused(call: Any, error: type[Exception], words: str) -> None:
    """Errors of our own family that name the value and the rule."""
    with pytest.raises(error, match=words):
        call()


def test_waves_differ_and_are_shown() -> None:
    """Other sizes are other waves; text and data have the count, and what was given."""
    found = square(1793)
    assert found == square(1793)
    assert found != square(1792)
    assert repr(found).startswith("waves(tile_grid(1793, 1793, tile=(256, 128)), units=108)\n# 120 blocks")
    assert "ceil(120 / 108) = 2" in found.explain()
    assert found.to_dict()["wave_fill"] == found.wave_fill
    assert repr(pm.waves(3, units=2, resident=2, schedule="stream_K", busy=1, steps=4)).startswith(
        "waves(3, units=2, resident=2, schedule='stream-k', busy=1, steps=4)"
    )
    assert "ceiling" not in repr(pm.waves("b"))
    events = found.run()
    assert events.to_dict()["makespan"] == 2
    assert pm.waves(5, schedule="persistent") == pm.waves(5)


@pytest.mark.parametrize("name", ["h100-sxm", "l4", "t4", "h20"])
def test_units_by_the_name_of_a_machine_are_its_units(name: str) -> None:
    """Never algebra such as ``h100 - sxm``."""
    assert pm.waves(264, units=name) == pm.waves(264, units=pm.machine(name))
    with pytest.raises(pm.MachineError, match="several products"):
        pm.waves(264, units="h100")
    assert str(pm.waves(264, units="n - 1").units) == "n - 1"


def test_more_units_of_the_same_peak_in_all_may_be_slower() -> None:
    """The tempting law is false: 108 blocks fill 108 units at once; on 120 slower ones 12 units idle.

    With the same peak in all, a unit of 120 takes 120/108 times as long for its block.
    """
    few, many = pm.waves(108, units=108), pm.waves(108, units=120)
    assert (few.waves, many.waves) == (1, 1)
    assert many.waves * 120 > few.waves * 108
    assert many.wave_fill < few.wave_fill
