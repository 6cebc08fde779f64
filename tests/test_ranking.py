"""The ranking of suggestions: by worth, and nothing left out that is worth more than what is listed."""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm
from perfmodel.suggesting.ranking import front
from perfmodel.suggesting.reasons import row_bytes

A100 = "a100-sxm-80gb"

LAWS = (
    (pm.attention(q=2048, kv=2048, d=128, heads="n"), 31), (pm.matmul(17, "n", 31), 30),
    (pm.matmul(8192, "n", 64), 257), (pm.gemv("n", 4096), 1000), (pm.matmul("n", "n", "n"), 1793),
    (pm.rmsnorm(4096, "n"), 100), (pm.embedding(64, 1000, "n"), 65),
)  # fmt: skip


@settings(max_examples=40)
@given(
    st.sampled_from(LAWS), st.sampled_from(["h100-sxm", A100, "lecture-cpu", "tpu-v5e"]), st.integers(-9, 9),
    st.floats(0, 0.3), st.integers(1, 15), st.sampled_from([None, 2, 3, 8]),
)  # fmt: skip
def test_no_size_left_out_ranks_above_one_that_is_listed(
    law: tuple[pm.Program, int], chip: str, more: int, within: float, top: int, multiple: int | None
) -> None:
    """By brute force: worth is gain - distance/2, and 0.0005 a factor of two, 0.01 less for rows off 16 bytes; what is
    left out is worth the same as a neighbour that is listed before it and as aligned."""
    program, wanted = law[0], law[1] + more
    try:
        found = pm.suggest(program, chip, within, where=multiple and f"n % {multiple} == 0", top=top, n=wanted)
    except pm.SolveError:  # no such multiple is near
        return
    sizes = [n for n in range(1, 2 * wanted) if abs(n - wanted) <= within * wanted and n % (multiple or 1) == 0]
    per = "bytes" if program.flops == 0 else "flops"
    rates = pm.sweep(program, {"n": [*sizes, wanted]}, chip, f"{per}_per_s")[f"{per}_per_s"].tolist()
    worth = {n: rate / rates[-1] - abs(n - wanted) / wanted / 2 for n, rate in zip(sizes, rates, strict=False)}
    twos = {n: min(7, (n & -n).bit_length() - 1) for n in sizes}
    off = {n: (row_bytes(program, "n", {"n": n}) or 0) % 16 != 0 for n in sizes}
    score = {n: worth[n] + 0.0005 * twos[n] - 0.01 * off[n] for n in sizes}
    shown = [row.sizes["n"] for row in found.rows]
    assert [score[n] for n in shown] == pytest.approx(sorted([score[n] for n in shown], reverse=True), rel=1e-12)
    span = max(1, (math.floor(wanted * (1 + within)) - max(1, math.ceil(wanted * (1 - within)))) // 40)

    def stands_for(one: int, other: int) -> bool:
        gain = worth[one] + abs(one - wanted) / wanted / 2
        near = 0.01 if off[other] and not off[one] else 0.001
        same = abs(worth[one] - worth[other]) <= near * gain + 1e-12
        return same and abs(one - other) <= span and twos[one] >= twos[other] and score[one] >= score[other] - 1e-12

    for left in set(sizes) - set(shown):
        if any(stands_for(one, left) for one in shown):
            continue
        assert len(shown) == top
        assert score[left] <= score[shown[-1]] + 1e-12


@pytest.mark.parametrize(
    ("program", "chip", "wanted", "within", "friendly"),
    [
        (pm.attention(q=2048, kv=2048, d=128, heads="n"), "h100-sxm", 31, 0.2, {32, 30}),
        (pm.attention(q=2048, kv=2048, d=128, heads="n"), A100, 25, 0.2, {24, 26, 28}),
        (pm.attention(q=2048, kv=2048, d="n", heads=32), "h100-sxm", 100, 0.05, {96, 104}),
        (pm.matmul(17, "n", 31), "h100-sxm", 30, 0.3, {32}),
    ],
)
def test_the_friendly_size_beside_the_first_pick_is_listed(
    program: pm.Program, chip: str, wanted: int, within: float, friendly: set[int]
) -> None:
    """One size of a parity does not keep out those of the other, which are worth more than those listed after it."""
    found = pm.suggest(program, chip, within, top=10, n=wanted)
    assert friendly <= {row.sizes["n"] for row in found.rows}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), min_size=1, max_size=20))
def test_front_of_any_points(points: list[tuple[int, int]]) -> None:
    """No point beats one on the front in both; each point off it is met by one that is as near and nearly as fast."""
    distance, gain = (numpy.array(column, dtype=float) for column in zip(*points, strict=True))
    chosen = front(distance, gain)
    for place in chosen:
        assert not ((distance <= distance[place]) & (gain > gain[place])).any()
    for place in range(len(points)):
        assert any(distance[each] <= distance[place] and gain[each] * 1.001 >= gain[place] for each in chosen)


ODD = ("mi100", "mi300x", "mi325x", "mi350x", "mi355x", "rtx-pro-6000", "rtx-pro-6000-server", "tpu-v1", "tpu-v2",
       "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e")  # fmt: skip


@pytest.mark.parametrize("chip", ODD)
def test_a_size_off_16_bytes_does_not_stand_before_its_aligned_neighbour(chip: str) -> None:
    """Where rows off 16 bytes have no cost, or little: the first is aligned, and one that is not has a note."""
    found = pm.suggest(pm.matmul("n", "n", "n"), chip, n=1793, top=10)
    assert found.best.sizes["n"] * 2 % 16 == 0
    odd = [f"n={row.sizes['n']}" for row in found.rows if row.sizes["n"] * 2 % 16]
    noted = [text for text in found.notes if text.endswith(f"what they cost is little measured on {chip}")]
    assert len(noted) == bool(odd)
    assert all(each in noted[0] for each in odd)
    assert all(text in found.explain() for text in noted)


def test_a_listed_size_off_16_bytes_has_a_note() -> None:
    """Where only odd sizes are asked for, each is named; the whole one beside them is not."""
    found = pm.suggest(pm.matmul("n", "n", "n"), "mi300x", n=[1793, 1795, 1800], top=3)
    assert {row.sizes["n"] for row in found.rows} == {1793, 1795, 1800}
    (noted,) = [text for text in found.notes if "little measured on mi300x" in text]
    assert noted.count("n=") == 2
    assert "n=1800" not in noted
