"""What it costs to follow a maximum that moves: counts of random programs beside those of their runs."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.strategies import DrawFn
from moves import allowed
from staging import assert_same_values, cuts
from test_online import normal, simulated

import perfmodel as pm
from perfmodel.simulation.tallying import count_differences


def test_each_maximum_costs_a_shift_and_an_exponential_and_each_sum_its_elements() -> None:
    """4 rows x 3 trips: two sums of 1 element a row and one of 5 follow one maximum."""
    x, v = pm.tensor("x", {"m": 4, "n": 6}), pm.tensor("v", {"n": 6, "k": 5})
    w = pm.exp(x - pm.max(x, "n"))
    results = [pm.sum(w, "n").named("a"), pm.mean(w, "n").named("b"), pm.einsum("mn,nk->mk", w, v).named("c")]
    p = pm.online(pm.fuse(pm.program(*results)), "n")
    cut = pm.tile(p, stream={"n": 2})
    assert cut.flops - p.flops == 4 * 3 * (1 + 1 + 1 + 5)  # the subtraction, the sums
    assert cut.flops_by_unit["special"] - p.flops_by_unit["special"] == 4 * 3


def test_a_loop_outside_begins_again() -> None:
    """A loop over k around the one over n: the maximum and its moves come again for each of 3 tiles of k."""
    x, v = pm.tensor("x", {"m": 4, "n": 6}), pm.tensor("v", {"n": 6, "k": 5})
    u = pm.program(pm.einsum("mn,nk->mk", pm.exp(x - pm.max(x, "n")), v).named("u"))
    p = pm.online(pm.fuse(u), "n")
    special = [pm.tile(p, stream=loops).flops_by_unit["special"] for loops in ({"n": 2}, {"k": 2, "n": 2})]
    assert special == [4 * 6 + 4 * 3, 3 * (4 * 6 + 4 * 3)]


def test_whole_tiles_are_issued() -> None:
    """5 rows in tiles of 4, 7 keys in tiles of 3: 8 rows x 3 trips are issued, 5 x 3 are useful."""
    u = pm.tensor("x", {"m": 5, "n": 7})
    p = pm.online(pm.fuse(pm.program(pm.sum(pm.exp(u - pm.max(u, "n")), "n").named("l"))), "n")
    cut = pm.tile(p, grid={"m": 4}, stream={"n": 3})
    points = 5 * 7 * 3  # the maximum, the shift, the sum
    assert (cut.flops, cut.issued_flops) == (points + 2 * (5 * 3), 3 * (8 * 9) + 2 * (8 * 3))


@pytest.mark.parametrize(("size", "trips"), [(6, 0), (3, 2)])
def test_one_tile_moves_nothing(size: int, trips: int) -> None:
    """A tile as large as the label drops the loop, and with it the moves."""
    x = pm.tensor("x", {"m": 4, "n": 6})
    p = pm.online(pm.fuse(pm.program(pm.sum(pm.exp(x - pm.max(x, "n")), "n").named("l"))), "n")
    assert pm.tile(p, m=2, stream={"n": size}).flops - p.flops == 2 * 4 * trips


@st.composite
def weighted(draw: DrawFn) -> tuple[pm.Program, list[str]]:
    """Values scaled by a maximum over one or two labels, summed in several ways, some of which leave."""
    sizes = {label: draw(st.integers(1, 5)) for label in ("m", "n", "j", "k")}
    x = pm.tensor("x", {label: sizes[label] for label in ("m", "n", "j")})
    v = pm.tensor("v", {label: sizes[label] for label in ("n", "j", "k")})
    b = pm.tensor("b", {"n": sizes["n"]})
    over = draw(st.sampled_from([("n",), ("n", "j"), ("n", "j", "m")]))
    top = pm.max(x + b if draw(st.booleans()) else x, over)
    w = pm.exp(x - top) * draw(st.sampled_from([1, b, -2]))
    total = pm.sum(w * w if draw(st.integers(0, 9)) == 0 else w, over)
    results = [
        total,
        pm.einsum("mnj,njk->mk", w, v),
        pm.einsum("mnj,njk->mjk", w, v),
        pm.einsum("mnj,njk->mjk", w / (total * total + 1), v),
        pm.sum(pm.einsum("mnj,njk->mnjk", w, v), "n"),
        pm.einsum("mnj,njk->k", x * (top + 1), v),
        w,
        w / (total * total + 1),
    ]
    chosen = draw(st.lists(st.sampled_from(range(len(results))), min_size=1, max_size=3, unique=True))
    outputs = [results[place].named(f"y{place}") for place in chosen]
    return pm.fuse(pm.program(*outputs)), draw(st.lists(st.sampled_from(over), min_size=1, max_size=2, unique=True))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(weighted(), st.data())
def test_what_is_online_counts_as_it_runs(drawn: tuple[pm.Program, list[str]], data: st.DataObject) -> None:
    """Random sums of scaled values, random labels online, random tiles at up to two levels: counts and values hold."""
    p, labels = drawn
    made = p
    for label in labels:
        made = allowed(made, partial(pm.online, made, label))
    for level in ("l2", "shared")[data.draw(st.integers(0, 1)) :]:
        for name, grid, stream in data.draw(cuts(made)):
            made = allowed(made, partial(pm.tile, made, grid=grid, stream=stream, only=name, level=level))
    arrays = normal(p, data.draw(st.integers(0, 3)))
    run = simulated(made, arrays)
    assert count_differences(made, run.levels) == []
    assert made.issued_flops >= made.flops
    assert_same_values(run, simulated(p, arrays))
