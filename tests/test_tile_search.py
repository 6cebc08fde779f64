"""``best_tiles`` beside plain loops over ``tile``, and the arrays that it searches beside each tiling."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import product as combinations
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.strategies import DataObject
from strategies import recipes

import perfmodel as pm
from perfmodel.tile_search import searching, tables
from perfmodel.tile_search.choices import Axis
from perfmodel.tile_search.tables import Search, Table, first_of, kernel_alone

POWERS = [1, 2, 4, 8, 16, 32, 64]


def by_loop(program: pm.Program, labels: dict[str, Any], room: float, **options: Any) -> list[tuple[int, ...]]:
    """Every combination that fits, best first: sizes, bytes, footprint."""
    found = []
    for sizes in combinations(*labels.values()):
        at = dict(zip(labels, sizes, strict=True))
        stream = {label: at.pop(label) for label in options.get("stream", ())}
        p = pm.tile(program, grid=at, stream=stream)
        if p.footprint_bytes <= room:
            found.append((*sizes, p.bytes, p.footprint_bytes))
    return sorted(found, key=lambda row: (*row[-2:], *[-size for size in row[:-2]]))


# beside a plain loop


@pytest.mark.parametrize("room", [64, 1000, 4096, 2**14, 10**6])
def test_the_best_tiles_of_a_matmul_are_those_of_a_plain_loop(room: int) -> None:
    """All powers of two in m, n and k: the same best rows in the same order, under several capacities."""
    expected = by_loop(pm.matmul(64, 64, 64), dict.fromkeys("mnk", POWERS), room, stream="k")
    found = pm.best_tiles(pm.matmul(64, 64, 64), capacity_bytes=room, top=20)
    assert found.leading == tuple(expected[:20])
    assert (found.candidates, found.fitting) == (7**3, len(expected))
    assert found.tiles == dict(zip("mnk", expected[0], strict=False))
    assert (found.bytes, found.footprint_bytes) == expected[0][-2:]


def test_every_size_of_a_ragged_matmul() -> None:
    """sizes="all" of 7 x 5 x 3: the ragged last tiles move what exists."""
    expected = by_loop(pm.matmul(7, 5, 3), {"m": range(1, 8), "n": range(1, 6), "k": range(1, 4)}, 60, stream="k")
    found = pm.best_tiles(pm.matmul(7, 5, 3), sizes="all", capacity_bytes=60, top=1000)
    assert found.leading == tuple(expected)
    assert found.candidates == 7 * 5 * 3


def test_the_program_is_the_one_that_tile_makes() -> None:
    """Its counts are read off the program that it returns, which the line in its repr makes."""
    p = pm.matmul(512, 512, 512)
    found = pm.best_tiles(p, capacity_bytes=65536, sizes={"k": [32]})
    assert found.program == pm.tile(p, grid={"m": 128, "n": 128}, stream={"k": 32})
    assert repr(found).splitlines()[0] == "pm.tile(p, grid={'m': 128, 'n': 128}, stream={'k': 32})"
    assert (found.program.bytes, found.program.footprint_bytes) == (found.bytes, found.footprint_bytes)
    # A and B are read 512/128 times each, C is written once, in bf16
    assert found.bytes == 2 * (512 * 512 * (4 + 4) + 512 * 512)
    assert pickle.loads(pickle.dumps(found)) == found
    assert found.to_dict()["tiles"] == {"m": 128, "n": 128, "k": 32}


def test_a_machine_gives_the_capacity_of_its_level() -> None:
    """228 KiB of shared memory on an H100; capacity_bytes= comes before it."""
    p = pm.matmul(256, 256, 256)
    assert pm.best_tiles(p, "h100-sxm").capacity_bytes == 228 * 1024
    assert pm.best_tiles(p, pm.machine("h100-sxm"), capacity_bytes=1024).capacity_bytes == 1024


def test_options_are_those_of_tile() -> None:
    """Two buffers hold staged inputs twice, and a spilled accumulator is read and written again."""
    p = pm.matmul(64, 64, 64)
    cut: dict[str, Any] = {"grid": "m", "stream": ("k", "n"), "spill": ("C",), "buffers": 2}
    found = pm.best_tiles(p, capacity_bytes=4096, sizes={"n": [8, 16], "k": [8, 16]}, **cut)
    sizes = found.tiles
    again = pm.tile(
        p, grid={"m": sizes["m"]}, stream={"k": sizes["k"], "n": sizes["n"]}, spill=("C",), buffers=2, level="shared"
    )
    assert found.program == again
    assert "buffers=2, spill=('C',)" in found.call


def test_combinations_that_tile_refuses_are_left_out() -> None:
    """A whole k leaves no trip to spill on: tile refuses it, and the others are searched."""
    found = pm.best_tiles(pm.matmul(64, 64, 64), grid=(), stream=("k", "n"), spill=("C",), capacity_bytes=10**6)
    assert found.fitting == 6 * 6  # k and n both cut
    assert found.tiles["k"] == 32
    with pytest.raises(pm.TransformError, match="cannot be spilled"):
        pm.best_tiles(pm.matmul(64, 64, 64), grid="m", spill=("C",), capacity_bytes=10**6)


def test_several_kernels_are_cut_alike() -> None:
    """Attention by stage: one query tile for all kernels; bytes are the program's, the footprint a block's."""
    p = pm.fuse(pm.attention(16, 16, 4), by="stage").repeat(3)
    found = pm.best_tiles(p, grid="q", capacity_bytes=2000)
    expected = by_loop(p, {"q": [1, 2, 4, 8, 16]}, 2000)
    assert found.leading == tuple(expected)
    one = pm.best_tiles(p, grid="q", capacity_bytes=2000, only="attention.softmax")
    assert [bool(kernel.tiles) for kernel in one.program.kernels] == [False, True, False]
    assert one.bytes == one.program.bytes


def test_kernels_without_the_labels_stay_as_they_are() -> None:
    """Two matmuls, the first cut: the second moves what it moves, and its whole matrices are no block."""
    p = pm.sequence(pm.matmul(24, 40, 8), pm.matmul(40, 12, 40))
    found = pm.best_tiles(p, grid=("m", "n"), capacity_bytes=4000)
    assert found.bytes == pm.tile(p, m=24, n=40).bytes == p.bytes
    assert found.footprint_bytes == 2 * (24 * 8 + 8 * 40 + 24 * 40) < found.program.footprint_bytes


# beside every tiling


def assert_as_tiled(search: Search) -> None:
    """Each place of the arrays is what tile says at its sizes."""
    found = search.table()
    for at in combinations(*[range(len(axis.sizes)) for axis in search.axes]):
        sizes = {axis.label: axis.sizes[number] for axis, number in zip(search.axes, at, strict=True)}
        try:
            cut = search.cut(search.program, sizes)
            counts = (cut.bytes, cut.footprint_bytes)
        except pm.TransformError:
            assert not found.allowed[at], sizes
            continue
        assert found.allowed[at], sizes
        assert (found.bytes[at], found.footprint[at]) == counts, sizes


def searches(program: pm.Program, kernel: pm.Kernel, blocks: list[str], loops: list[str], **options: Any) -> Search:
    """All sizes of these labels, by formulas wherever there are any."""
    alone = kernel_alone(program, kernel)
    extents = {label: int(alone.labels[label]) for label in (*blocks, *loops)}
    axes = tuple([Axis(label, e, tuple(range(1, e + 1))) for label, e in extents.items()])
    settled = {"level": "shared", "buffers": 1, "spill": (), "redundant": "allow", **options}
    return Search(alone, axes, partial(searching._cut, blocks=blocks, loops=loops, options=settled), few=0)


@settings(max_examples=60, deadline=None)
@given(recipes(), st.data())
def test_arrays_hold_what_tile_says_for_every_size(recipe: Any, data: DataObject) -> None:
    """Random programs, fused or not, random labels in the grid and streamed, every size: equal at each, or refused."""
    program = recipe.program()
    program = pm.fuse(program) if data.draw(st.booleans()) else program
    kernel = data.draw(st.sampled_from(program.kernels))
    own = list(dict.fromkeys([axis.label for op in kernel.ops for axis in op.space]))
    labels = data.draw(st.lists(st.sampled_from(own), min_size=1, max_size=3, unique=True)) if own else []
    if not labels:
        return
    place = data.draw(st.integers(0, len(labels)))
    options = {
        "buffers": data.draw(st.sampled_from([1, 2, 4])),
        "redundant": data.draw(st.sampled_from(["allow", "forbid"])),
    }
    assert_as_tiled(searches(program, kernel, labels[:place], labels[place:], **options))


@pytest.mark.parametrize(
    ("program", "blocks", "loops"),
    [
        (pm.matmul(7, 6, 5), "mn", "k"),
        (pm.matmul(5, 4, 6, dtype="int4"), "mn", "k"),
        (pm.matmul(3, 4, 32, dtype="nvfp4"), "m", "k"),
        (pm.fuse(pm.softmax(5, 9)), "m", "n"),
        (pm.fuse(pm.rmsnorm(5, 9)), "m", "n"),
        (pm.conv2d(height=9, width=6, c_in=2, c_out=3, kernel=3, padding=1), "pq", "c"),
        (pm.conv2d(height=11, width=6, c_in=2, c_out=3, kernel=3, stride=2, padding=1), "pf", "c"),
        (pm.conv2d(height=11, width=6, c_in=1, c_out=1, kernel=2, stride=3), "p", "r"),
        (pm.fuse(pm.attention(q=7, kv=9, d=2)), ("q",), ("kv",)),
        (pm.fuse(pm.attention(q=7, kv=9, d=2, causal=True)), ("q",), ("kv",)),
        (pm.fuse(pm.attention(q=9, kv=9, d=2, causal=True)), ("q",), ()),
        (pm.fuse(pm.attention(q=9, kv=5, d=2, causal=True)), ("q",), ("kv",)),  # some rows see no key
    ],
)
def test_named_programs_hold_what_tile_says(program: pm.Program, blocks: Any, loops: Any) -> None:
    """Matmul, packed and scaled formats, norms, windows with halos and gaps, attention with and without a mask."""
    assert_as_tiled(searches(program, program.kernels[0], list(blocks), list(loops), buffers=2))


def test_causal_attention_is_searched_by_its_sum_over_rows() -> None:
    """Its bytes are a sum over tiles of rows that stands: it is added up for every size, and agrees with tile."""
    p = pm.fuse(pm.attention(q=64, kv=64, d=4, causal=True))
    found = pm.best_tiles(p, grid="q", stream="kv", capacity_bytes=1500, top=20)
    assert found.leading == tuple(by_loop(p, {"q": POWERS, "kv": POWERS}, 1500, stream=("kv",))[:20])
    wide = pm.fuse(pm.attention(q=128, kv=128, d=4, causal=True))
    assert pm.best_tiles(wide, grid="q", stream="kv", sizes="all", capacity_bytes=1500).candidates == 128**2


def test_tiles_without_a_formula_are_tried_one_by_one_or_refused() -> None:
    """Scaled formats share a scale among 16 elements: exact for a few sizes, refused with the reason for many."""
    p = pm.matmul(64, 64, 128, dtype="nvfp4")
    expected = by_loop(p, {"m": POWERS, "n": POWERS, "k": [16, 40, 128]}, 3000, stream="k")
    found = pm.best_tiles(p, sizes={"k": [16, 40, 128]}, capacity_bytes=3000)
    assert found.leading == tuple(expected[:10])
    with pytest.raises(pm.DimensionError, match=r"have no formula \(.*\), so they are tried one by one.* up to 4096"):
        pm.best_tiles(p, sizes="all", capacity_bytes=3000)


# what is refused, and large counts


@pytest.mark.parametrize(
    ("asked", "kind", "message"),
    [
        ({"by": "time_s"}, pm.PerfModelError, "by='time_s' is not known; by='bytes' is"),
        ({"capacity_bytes": None}, pm.PerfModelError, "no capacity given"),
        ({"capacity_bytes": 5}, pm.CapacityError, "in 5 bytes of 'shared': the least is 6, with m=1, n=1, k=1"),
        ({"capacity_bytes": "c"}, pm.DimensionError, "capacity_bytes = c: a number was expected"),
        ({"capacity_bytes": 0}, pm.DimensionError, "capacity_bytes = 0"),
        ({"top": 0}, pm.DimensionError, "top = 0"),
        ({"grid": "mm"}, pm.LabelError, "matmul has no label 'mm'"),
        ({"grid": ("m", "m")}, pm.LabelError, "'m' is named twice"),
        ({"grid": "m", "stream": "m"}, pm.LabelError, "'m' is named twice"),
        ({"grid": {"m": 4}}, pm.LabelError, "grid names labels"),
        ({"grid": 3}, pm.LabelError, "grid names labels"),
        ({"grid": "k"}, pm.CapacityError, "with k=16; others are refused: .* stream 'k' instead"),
        ({"sizes": {"q": [4]}}, pm.LabelError, "sizes of 'q', which is not cut"),
        ({"sizes": 4}, pm.LabelError, "sizes maps labels to candidates"),
        ({"sizes": {"m": 4}}, pm.DimensionError, "expected several"),
        ({"sizes": {"m": []}}, pm.DimensionError, "are none"),
        ({"sizes": {"m": [0]}}, pm.DimensionError, "sizes of 'm' = 0"),
        ({"sizes": {"m": ["T"]}}, pm.DimensionError, "a number was expected"),
        ({"sizes": "some"}, pm.DimensionError, "expected several"),
        ({"buffers": 33}, pm.TransformError, "buffers=33"),
        ({"spill": ("D",)}, pm.LabelError, "spill='D'"),
        ({"only": "softmax"}, pm.TransformError, "no kernel, stage or op 'softmax'"),
        ({"on": "h100-smx"}, pm.MachineError, "h100-sxm"),
        ({"on": "h100-sxm", "capacity_bytes": None, "level": "l7"}, pm.MachineError, "no on-chip level 'l7'"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_is_refused(asked: dict[str, Any], kind: type[Exception], message: str) -> None:
    """Each error names what was given and the rule."""
    with pytest.raises(kind, match=message):
        pm.best_tiles(pm.matmul(16, 16, 16), **{"capacity_bytes": 1024, **asked})


def test_symbols_and_too_many_combinations_are_refused() -> None:
    """Sizes are numbers, and at most 2^24 combinations are searched."""
    with pytest.raises(pm.DimensionError, match=r"hold m: bind them first with p.at"):
        pm.best_tiles(pm.matmul("m", 8, 8), capacity_bytes=64)
    with pytest.raises(pm.DimensionError, match="1000 of m x 1000 of n x 1000 of k combinations"):
        pm.best_tiles(pm.matmul(1000, 1000, 1000), sizes="all", capacity_bytes=64)
    with pytest.raises(pm.DimensionError, match="'all' are 1099511627776"):
        pm.best_tiles(pm.matmul(2**40, 8, 8), grid="m", sizes="all", capacity_bytes=64)


def test_counts_beyond_int64_are_refused() -> None:
    """Tiles of 1 over 2^22 x 2^22 x 2^22 read 2^67 bytes and more: never a number that wrapped around."""
    with pytest.raises(pm.DimensionError, match=r"overflow|beyond 2\^63"):
        pm.best_tiles(pm.matmul(2**22, 2**22, 2**22), capacity_bytes=2**16)
    large = pm.best_tiles(
        pm.matmul(2**22, 2**22, 2**22), sizes={"m": [2**10], "n": [2**10], "k": [8]}, capacity_bytes=2**22
    )
    assert large.bytes == 2 * (2 * 2**66 // 2**10 + 2**44)
    repeated = pm.matmul(64, 64, 64).repeat(2**50)
    with pytest.raises(pm.DimensionError, match=r"overflow|beyond 2\^63"):
        pm.best_tiles(repeated, capacity_bytes=2**16)


# the order


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=40),
    st.integers(1, 12),
)
def test_the_first_places_are_those_of_a_sort(rows: list[tuple[int, int, bool]], count: int) -> None:
    """Fewest bytes, then the smaller footprint, then the later place (the larger tile), of those that fit."""
    moved, held, fits = [np.array(column) for column in zip(*rows, strict=True)]
    expected = sorted(np.flatnonzero(fits).tolist(), key=lambda place: (moved[place], held[place], -place))
    table = Table(moved, held, np.ones(len(rows), bool))
    assert first_of(table, fits, count).tolist() == expected[:count] if expected else inf


def test_formulas_are_used_where_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million sizes of a matmul need no tiling one by one."""
    monkeypatch.setattr(tables, "MOST_ONE_BY_ONE", 0)
    found = pm.best_tiles(pm.matmul(100, 100, 100), sizes="all", capacity_bytes=8192)
    assert found.candidates == 100**3
    rows = pm.fuse(pm.attention(q=40, kv=20, d=2, causal=True))  # of which the first 20 see no key
    found = pm.best_tiles(rows, grid="q", stream="kv", sizes="all", capacity_bytes=2048)
    assert found.candidates == 40 * 20
    sizes = dict(found.sizes)
    assert found.bytes == pm.tile(rows, grid={"q": sizes["q"]}, stream={"kv": sizes["kv"]}).bytes


def test_one_level_at_a_time_is_searched() -> None:
    """Memory's bytes say nothing of tiles inside tiles, so they would be a wrong measure."""
    outer = pm.tile(pm.matmul(64, 64, 64), m=16, n=16, level="l2")
    with pytest.raises(pm.TransformError, match="kernel 'matmul' is tiled at 'l2'"):
        pm.best_tiles(outer, capacity_bytes=500)
