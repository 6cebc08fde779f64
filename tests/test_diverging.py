"""Divergence: sums over lanes beside warps that run step by step; figures, laws, refusals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.mechanisms.branching import work_of
from perfmodel.mechanisms.lockstep import stepped, summed
from perfmodel.mechanisms.warps import launch

CONDITIONS = st.sampled_from(
    [
        "t % 2",
        "t < 5",
        "t // 3 % 2",
        "lane < 2",
        "warp % 2",
        "t * 7 % 5 - 1",
        "1",
        "0",
        "t - 4",
        "lane ^ 3",
        "t % 4 > 1",
    ]
)
NUMBERS = st.integers(0, 4)
SIDES: st.SearchStrategy[Any] = st.recursive(
    NUMBERS,
    lambda inside: (
        st.tuples(CONDITIONS, st.tuples(NUMBERS, inside)) | st.tuples(CONDITIONS, inside) | st.lists(inside, max_size=3)
    ),
    max_leaves=6,
)
STEPS = st.tuples(NUMBERS, SIDES) | SIDES.filter(lambda side: not isinstance(side, tuple))
LAUNCHES = st.tuples(st.integers(1, 40), st.integers(1, 8)) | st.just((24, 4, 6)) | st.just((24, 4, (2, 3)))


# ---------------------------------------------------------------------------- sums = steps


@given(CONDITIONS, STEPS, LAUNCHES)
@settings(max_examples=300)
def test_the_sums_are_what_warps_issue_step_by_step(condition: str, steps: Any, shape: tuple[Any, ...]) -> None:
    """Branches and loops in each other, warps that are not full, blocks that are not whole warps."""
    of = launch(*shape)
    work = work_of(condition, steps, of)
    assert summed(work, of) == stepped(work, of)


@given(CONDITIONS, NUMBERS, NUMBERS, st.integers(1, 100), st.integers(1, 40))
def test_a_branch_costs_a_warp_each_side_that_one_of_its_threads_takes(
    condition: str, first: int, second: int, threads: int, warp: int
) -> None:
    """Issued: each side for the warps that have a thread there; useful: each thread its own side."""
    found = pm.divergence(condition, threads, (first, second), warp=warp)
    names = [{"t": t, "lane": t % warp, "warp": t // warp} for t in range(threads)]
    taken = [bool(eval_(condition, each)) for each in names]
    warps = [taken[start : start + warp] for start in range(0, threads, warp)]
    assert found.issued_steps == sum(first * any(each) + second * (not all(each)) for each in warps)
    assert found.useful_lane_steps == first * sum(taken) + second * (threads - sum(taken))
    assert found.divergent_warps == sum(any(each) and not all(each) for each in warps)


def eval_(condition: str, names: dict[str, int]) -> int:
    """The value of a condition in one thread, by the evaluator on a list of one warp."""
    t, lane, warp = names["t"], names["lane"], names["warp"]
    return {
        "t % 2": t % 2, "t < 5": t < 5, "t // 3 % 2": t // 3 % 2, "lane < 2": lane < 2, "warp % 2": warp % 2,
        "t * 7 % 5 - 1": t * 7 % 5 - 1, "1": 1, "0": 0, "t - 4": t - 4, "lane ^ 3": lane ^ 3, "t % 4 > 1": t % 4 > 1,
    }[condition]  # fmt: skip


@given(CONDITIONS, STEPS, LAUNCHES)
def test_fractions_are_fractions(condition: str, steps: Any, shape: tuple[Any, ...]) -> None:
    """No more lanes are useful than are issued, and no order of the threads needs fewer steps than the least."""
    found = pm.divergence(condition, shape[0], steps, warp=shape[1], block=shape[2] if len(shape) > 2 else None)
    assert 0 <= found.active_fraction <= 1
    assert found.least_steps <= found.issued_steps
    assert 0 <= found.divergent_steps <= found.issued_steps


@given(st.lists(st.integers(-3, 9), min_size=1, max_size=40), st.integers(1, 8), NUMBERS)
def test_a_loop_takes_as_many_turns_as_the_thread_with_most(trips: list[int], warp: int, steps: int) -> None:
    """A warp's steps are its longest thread's; each thread uses its own; all take part in the fewest."""
    found = pm.divergence(trips, len(trips), steps, warp=warp)
    turns = [[max(0, each) for each in trips[start : start + warp]] for start in range(0, len(trips), warp)]
    assert found.issued_steps == steps * sum(map(max, turns))
    assert found.uniform_steps == steps * sum(map(min, turns))
    assert found.useful_lane_steps == steps * sum(map(sum, turns))


# ---------------------------------------------------------------------------- figures


@pytest.mark.parametrize(
    ("condition", "steps", "percent"),
    [
        ("t % 2 == 0", 4 * (10 + 10), 50),
        ("(t // 32) % 2 == 0", 4 * 10, 100),
        ("t < 100", 3 * 10 + 20, 80),  # 128 * 10 / (50 * 32): the warp that diverges counts twice
    ],
)
def test_figures_of_four_warps(condition: str, steps: int, percent: int) -> None:
    """128 threads, two sides of 10 steps."""
    found = pm.divergence(condition, threads=128, steps=(10, 10))
    assert (found.issued_steps, 100 * found.active_fraction) == (steps, percent)


def test_functions_and_lists_say_the_same_as_text() -> None:
    """Only what they are called differs."""
    text = pm.divergence("t < 100")
    function = pm.divergence(lambda t: t < 100)
    listed = pm.divergence([t < 100 for t in range(128)])
    assert text.to_dict() | {"condition": ""} == function.to_dict() | {"condition": ""}
    assert text.to_dict() | {"condition": ""} == listed.to_dict() | {"condition": ""}
    assert repr(function).startswith("divergence(<lambda>)")
    assert repr(listed).startswith("divergence([1, 1, 1")


def test_work_nests() -> None:
    """A branch in a branch: the 4 threads of a warp go 1, 2 and 3 steps; a loop around a branch; parts in order."""
    inner = pm.divergence("t < 2", 4, (("t < 1", (1, 2)), 3), warp=4)
    assert (inner.issued_steps, inner.useful_lane_steps) == (1 + 2 + 3, 1 + 2 + 3 + 3)
    around = pm.divergence("2 + t % 2", 4, ("t < 2", (5, 1)), warp=4)
    assert around.issued_steps == 2 * (5 + 1) + (5 + 1)  # in the third turn threads 1 and 3, one on each side
    parts = pm.divergence("t < 2", 4, ([1, ("t", 2), 1], 0), warp=4)
    assert parts.issued_steps == 1 + 2 + 1


def test_a_boundary_check_diverges_in_one_warp() -> None:
    """2,000 elements in 4 blocks of 512: threads 1,984 to 2,015 are one warp; 63 warps have work to do."""
    found = pm.divergence("t < 2000", threads=2048, steps=(1, 0), block=512)
    assert (found.divergent_warps, found.issued_steps, found.useful_lane_steps) == (1, 63, 2000)


def test_where_nothing_is_issued_nothing_is_wasted() -> None:
    """No thread takes the side with steps."""
    found = pm.divergence("t < 0", steps=(10, 0))
    assert (found.issued_steps, found.active_fraction) == (0, 1.0)


def test_many_threads_are_summed_in_pieces() -> None:
    """A million threads: as 2^20 / 128 launches of 128."""
    found = pm.divergence("t % 128 < 100", threads=2**20)
    assert found.issued_steps == 2**20 // 128 * 50
    assert found.active_fraction == 0.8


# ---------------------------------------------------------------------------- a value; refusals


def test_what_was_given_is_shown() -> None:
    """The repr is what makes it."""
    found = pm.divergence("t < 3", threads=64, steps=(("t", 2), [1, 2]), block=(8, 4))
    assert repr(found).splitlines()[0] == "divergence('t < 3', threads=64, steps=(('t', 2), [1, 2]), block=(8, 4, 1))"
    assert found == pm.divergence("t < 3", 64, (("t", 2), [1, 2]), block=(8, 4, 1))
    assert found.to_dict()["block"] == [8, 4, 1]
    assert found.explain().splitlines()[0] == repr(found).splitlines()[0]


@pytest.mark.parametrize(
    "steps",
    [-1, True, 1.5, float("nan"), None, "3", 10**10, (1, -1), (1, 2, 3), (), (True, 1), ("t", (1, -1)), [1, "t"], {1}],
)
def test_steps_that_are_none_are_refused(steps: Any) -> None:
    """A side is a whole number of steps, a nested (condition, steps), or a list."""
    with pytest.raises(pm.PerfModelError, match="divergence: "):
        pm.divergence("t < 3", steps=steps)


def test_what_nests_too_deeply_or_runs_too_long_is_refused() -> None:
    """At once, whatever the numbers."""
    deep: Any = 1
    for _ in range(50):
        deep = ("t % 2", (deep, 1))
    with pytest.raises(pm.ExpressionError, match="nested at most"):
        pm.divergence("t % 2", steps=(deep, 1))
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(pm.ExpressionError, match="nested at most"):
        pm.divergence("t % 2", steps=endless)
    with pytest.raises(pm.ExpressionError, match="200 parts"):
        pm.divergence("t % 2", steps=[1] * 300)
    with pytest.raises(pm.CapacityError, match="more than 2\\^62 steps"):
        pm.divergence("2**60", steps=10**9)
    with pytest.raises(pm.CapacityError, match="nested too deeply"):
        pm.divergence("t", steps=("t", ("t", ("t", ("t", 1)))))
    with pytest.raises(pm.CapacityError, match="fewer threads show the same pattern"):
        pm.divergence("t", threads=2**22, steps=("t % 2", (3, 1)))
    assert pm.divergence("2**40", steps=10**3).issued_steps == 4 * 2**40 * 10**3
