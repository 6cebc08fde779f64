"""``needs``: what each op computes in a block, held against following every element back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from test_halos import Windowed, windowed

import perfmodel as pm
from perfmodel.graph import reduced, tensor
from perfmodel.graph.intervals import Interval, Linear
from perfmodel.graph.needs import Need, joined_parts, needs_of, trips_of, within_mask
from perfmodel.graph.tilings import Cut, Tiling


def needs(program: pm.Program, **grid: Any) -> dict[str, Need]:
    """The needs of a program of one kernel, by the tensors that they make."""
    tiling = Tiling(grid=tuple(Cut(*pair) for pair in grid.items()))
    found = needs_of(program.kernels[0], tiling, set(program.returned))
    return {need.op.output.tensor.name: need for need in found}


def spaces(need: Need, **numbers: int) -> dict[str, tuple[Any, Any]]:
    """Its intervals in one block."""
    return {label: interval.at(numbers) for label, interval in need.space.items()}


# by hand


def test_a_matmul_needs_its_tile_and_all_of_k() -> None:
    """Block 1 of tiles of 4 rows: rows 4 to 7, every column and every k."""
    (need,) = needs(pm.matmul(8, 6, 5), m=4).values()
    assert {label: ends for label, ends in spaces(need, m=1).items() if label in "mnk"} == {
        "m": (4, 8), "n": (0, 6), "k": (0, 5)
    }  # fmt: skip
    assert need.labels == ("m",)
    assert [part.at({"m": 1}) for part in need.reads(need.op.reads[0])][-2:] == [(4, 8), (0, 5)]


def test_what_reduces_a_grid_label_and_stays_needs_all_of_it() -> None:
    """A softmax cut along n: the quotient is a tile, its maximum and sum are of whole rows, in every block."""
    found = needs(pm.fuse(pm.softmax(4, 8)), n=2)
    assert spaces(found["y"], n=1)["n"] == (2, 4)
    assert [spaces(found[name], n=1)["n"] for name in ("max", "sum", "exp")] == [(0, 8)] * 3


def test_halos_add_up_through_two_windows() -> None:
    """Tiles of 4 behind two windows of 3: 4 + 2 of the first, 4 + 4 of the map before it."""
    x = pm.tensor("x", {"h": 20})
    one = reduced("sum", pm.window((x * 2).named("a"), "h", "p", "i", 3), "i", name="b")
    two = reduced("sum", pm.window(one, "p", "q", "j", 3), "j", name="c")
    found = needs(pm.fuse(pm.program(two)), q=4)
    assert spaces(found["b"], q=1)["p"] == (4, 4 + 4 + 2)
    assert spaces(found["a"], q=1)["h"] == (4, 4 + 4 + 2 + 2)


def test_two_readers_get_the_hull_of_what_they_need() -> None:
    """One reads its tile, one a window of 3 around it: the window's halo, inside the axis."""
    x = pm.tensor("x", {"o": 8})
    made = (x * 2).named("a")
    blurred = reduced("sum", pm.window(made.rename({"o": "h"}), "h", "o", "t", 3, padding=1), "t")
    found = needs(pm.fuse(pm.program((blurred + made).named("y"))), o=4)
    assert [spaces(found["a"], o=number)["o"] for number in (0, 1)] == [(0, 5), (3, 8)]


def test_a_tile_as_large_as_its_extent_is_no_loop() -> None:
    """One block or trip is none; symbols are taken for two or more."""
    trips = trips_of(
        pm.matmul("m", 64, 64).kernels[0], Tiling(grid=(Cut("m", 16), Cut("n", 64)), stream=(Cut("k", 8),))
    )
    assert list(trips) == ["m", "k"]


def test_a_partial_result_that_leaves_is_refused() -> None:
    """k in the grid: no block would hold a whole sum."""
    with pytest.raises(pm.TransformError, match="blocks would hold partial results; stream 'k' instead"):
        needs(pm.matmul(8, 8, 8), k=4)


def test_a_causal_tile_needs_the_keys_up_to_its_last_row() -> None:
    """Rows 2 and 3 of 4 see keys 0 to 3, rows 0 and 1 keys 0 and 1."""
    q, k = pm.tensor("q", {"q": 4, "d": 2}), pm.tensor("k", {"kv": 4, "d": 2})
    scores = pm.fuse(pm.program(pm.einsum("q d, kv d -> q kv", q, k, mask=pm.causal())))
    (need,) = needs(scores, q=2).values()
    assert [need.space["kv"].at({"q": number}) for number in (0, 1)] == [(0, 2), (0, 4)]
    assert within_mask(need.op, {"q": Interval.whole(4), "kv": Interval.whole(4)}, {})["kv"].at({}) == (0, 4)


def test_a_gather_is_looked_up_by_its_labels() -> None:
    """8 tokens look up rows of 4 numbers: an interval of look-ups and one of the row, not of the table."""
    (need,) = needs_of(pm.embedding(8, 100, 4).kernels[0], Tiling(grid=(Cut("token", 2),)), {"y"})
    table, ids = need.op.reads
    looked_up = need.looked_up(table)
    assert looked_up is not None
    assert [part.at({"token": 1}) for part in looked_up] == [(2, 4), (0, 4)]
    assert need.looked_up(ids) is None


def test_the_hull_of_parts_that_share_no_movement_is_bounded_by_what_holds_for_both() -> None:
    """A tile and a fixed part: only the edges of the axis hold for both."""
    x = tensor("x", {"m": 8})
    (hull,) = joined_parts([(Interval.tile("m", 2, 8),), (Interval.between(3, 5),)], x)
    assert hull.at({}) == (0, 8)
    shifted = Interval((Linear(1, (("m", 2),)),), (Linear(4, (("m", 2),)), Linear(8)))
    (hull,) = joined_parts([(Interval.tile("m", 2, 8),), (shifted,)], x)
    assert [hull.at({"m": number}) for number in (0, 3)] == [(0, 4), (6, 8)]


# laws


@settings(max_examples=150, deadline=None)
@given(windowed(), st.integers(1, 4))
def test_a_block_computes_the_hull_of_what_its_outputs_need(case: Windowed, size: int) -> None:
    """Element by element back from a tile of outputs: what the first map computes is their hull inside the axis."""
    case = Windowed(case.extent, case.spacings, "")
    whole = case.program(case.extent)
    label = f"o{len(case.spacings) - 1}"
    outputs = int(dict(whole.ops[-1].space)[label])
    found = list(needs(whole, **{label: size}).values())
    for number in range(-(-outputs // size)):
        wanted = set(range(size * number, min(size * number + size, outputs)))
        places = [wanted]
        for place in reversed(range(len(case.spacings))):
            spacing, extent = case.spacings[place], reach(case, place)
            wanted = touched(wanted, spacing, extent)
            places.append(wanted)
        for need, want, axis in zip(found, places[::-1], ["h", *[f"o{n}" for n in range(len(places))]], strict=False):
            start, stop = need.space[axis].at({label: number} if outputs > size else {})
            assert want <= set(range(int(start), int(stop)))
            assert len(case.spacings) > 1 or len(want) < 2 or stop - start <= max(want) - min(want) + 1 + slack(case)


def slack(case: Windowed) -> int:
    """How far a hull may reach past the elements in it, towards padding: less than its longest step."""
    return 2 * max(max(spacing["stride"], spacing["dilation"]) - 1 for spacing in case.spacings)


def reach(case: Windowed, place: int) -> int:
    """The extent that the window in this place looks at."""
    extent = case.extent
    for spacing in case.spacings[:place]:
        extent = (extent + 2 * spacing["padding"] - spacing["dilation"] * (spacing["taps"] - 1) - 1) // spacing[
            "stride"
        ] + 1
    return extent


def touched(outputs: set[int], spacing: dict[str, int], extent: int) -> set[int]:
    """What these outputs of a window look at, inside the axis."""
    places = {
        spacing["stride"] * out + spacing["dilation"] * tap - spacing["padding"]
        for out in outputs
        for tap in range(spacing["taps"])
    }
    return {place for place in places if 0 <= place < extent}


def test_what_windows_leave_out_at_their_ends_is_not_loaded() -> None:
    """One window reads elements 0 and 1, the other, two apart from -1 on, only element 1 of 3: together 2."""
    x = pm.tensor("x", {"c": 3})
    wide = pm.window(x, "c", "p", "r", 2, stride=2)  # one output, elements 0 and 1
    apart = pm.window(x, "c", "q", "s", 1, stride=2, padding=1)  # elements -1, 1 and 3
    p = pm.fuse(pm.program(pm.exp(wide).named("y"), pm.exp(apart).named("z")))
    assert [row[3] for row in p.traffic().rows if row[1] == "x"] == [2]
    assert pm.check(p)
