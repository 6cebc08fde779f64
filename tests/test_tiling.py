"""``tile``: figures that follow from it, its errors, and what other verbs make of tiled programs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from staging import arrays_of, assert_counts_as_it_runs, assert_same_values, evaluated, loads, stores

import perfmodel as pm
from perfmodel.graph import contracted

# figures of matmul


def test_formulas_keep_their_ceilings() -> None:
    """A is read ceil(n/64) times, B ceil(m/128) times, for any sizes."""
    m, n, k = pm.dims("m n k")
    p = pm.tile(pm.matmul(m, n, k), m=128, n=64)
    assert p.elements_read == m * k * pm.ceil_div(n, 64) + k * n * pm.ceil_div(m, 128)
    assert p.at(m=300, n=100, k=7).elements_read == 300 * 7 * 2 + 7 * 100 * 3


def test_ragged_tiles_move_what_exists_and_issue_whole_tiles() -> None:
    """5 x 7 in tiles of 4: useful FLOPs are those of 5 x 7, issued ones those of 8 x 8."""
    p = pm.tile(pm.matmul(5, 7, 3), m=4, n=4)
    assert (p.flops, p.issued_flops) == (2 * 5 * 7 * 3, 2 * 8 * 8 * 3)
    assert p.elements_written == 5 * 7
    assert p.elements_read == 2 * (5 * 3) + 2 * (3 * 7)  # 2 blocks across, 2 down


def test_streaming_changes_the_footprint_and_not_the_traffic() -> None:
    """A loop over k inside a block moves the same elements, and holds tiles of A and B instead of whole strips."""
    whole = pm.tile(pm.matmul(64, 64, 64), m=16, n=16)
    looped = pm.tile(pm.matmul(64, 64, 64), m=16, n=16, stream={"k": 8})
    assert (loads(looped), stores(looped)) == (loads(whole), stores(whole))
    assert whole.footprint_bytes == 2 * (2 * (16 * 64) + 16 * 16)  # bf16: strips of A and B, and the tile of C
    assert looped.footprint_bytes == 2 * (2 * (16 * 8) + 16 * 16)


def test_double_buffers_stage_inputs_twice() -> None:
    """buffers=2 holds two tiles of each staged input; accumulators stay single."""
    p = pm.tile(pm.matmul(64, 64, 64), m=16, n=16, stream={"k": 8}, buffers=2)
    assert [row[1:] for row in p.footprint().rows] == [
        ("staged", "A", 2 * (16 * 8 * 2)),  # two tiles of 16 x 8 in bf16
        ("staged", "B", 2 * (8 * 16 * 2)),
        ("accumulator", "C", 16 * 16 * 2),
    ]


def test_a_pipeline_stages_as_many_tiles_as_it_has_stages() -> None:
    """Four stages of 128 x 32 and 32 x 128 in bf16 are 64 KiB; the bytes moved are those of one."""
    cut: dict[str, Any] = {"m": 128, "n": 128, "stream": {"k": 32}}
    one, four = [pm.tile(pm.matmul(512, 512, 512), **cut, buffers=stages) for stages in (1, 4)]
    staged = [sum([row[-1] for row in p.footprint().rows if row[1] == "staged"]) for p in (one, four)]
    assert staged == [2 * (128 * 32) * 2, 4 * (2 * (128 * 32) * 2)]
    assert one.bytes == four.bytes
    assert pm.check(four)


def test_a_spilled_accumulator_is_read_and_written_on_each_outer_trip() -> None:
    """With k outside n, C is held whole; spilled, it is read and written once for each of the 64/16 trips of k."""
    cut: dict[str, Any] = {"grid": {"m": 16}, "stream": {"k": 16, "n": 16}}
    held, spilled = [pm.tile(pm.matmul(64, 64, 64), **cut, spill=names) for names in ((), ("C",))]
    assert (loads(held)["C"], stores(held)["C"]) == (0, 64 * 64)
    assert (loads(spilled)["C"], stores(spilled)["C"]) == (4 * 64 * 64, 4 * 64 * 64)
    assert held.footprint_bytes > spilled.footprint_bytes
    runs = [pm.simulate(p, arrays_of(p)) for p in (held, spilled)]
    assert_counts_as_it_runs(spilled, runs[1])
    assert_same_values(*runs)


# softmax and repeated work


def test_a_softmax_cut_along_its_rows_reduction_reads_whole_rows_in_each_block() -> None:
    """n is reduced and kept: each of 64/16 blocks needs the whole row, though it writes only its own part."""
    p = pm.fuse(pm.softmax(8, 64))
    cut = pm.tile(p, grid={"n": 16})
    assert (p.elements_read, cut.elements_read) == (8 * 64, 4 * 8 * 64)
    assert cut.elements_written == p.elements_written == 8 * 64
    assert_counts_as_it_runs(cut, pm.simulate(cut, arrays_of(cut)))


def test_rows_of_a_softmax_cut_apart_move_no_more() -> None:
    """A grid over the rows reads each row once: the traffic is that of one block."""
    p = pm.fuse(pm.softmax(8, 64))
    assert pm.tile(p, m=2).bytes == p.bytes


def test_a_chain_of_matmuls_repeats_its_first_in_each_block_of_the_second() -> None:
    """C = A B inside the kernel of D = C E lacks the columns of E: each of 4 blocks along them computes it again."""
    chain = pm.fuse(_chain())
    cut = pm.tile(chain, grid={"h": 4})
    assert chain.flops == 2 * 8 * 4 * 4 + 2 * 8 * 4 * 16
    assert cut.flops == 4 * (2 * 8 * 4 * 4) + 2 * 8 * 4 * 16  # 16/4 blocks
    with pytest.raises(pm.TransformError, match="lacks the grid label 'h': each block along it would repeat it"):
        pm.tile(chain, grid={"h": 4}, redundant="forbid")


def _chain() -> pm.Program:
    a = pm.tensor("A", {"i": 8, "j": 4})
    b = pm.tensor("B", {"j": 4, "k": 4})
    e = pm.tensor("E", {"k": 4, "h": 16})
    return pm.program(contracted([contracted([a, b], ("i", "k")), e], ("i", "h")))


# convolutions


def test_the_halo_of_a_3_x_3_tile() -> None:
    """Without padding a tile of T x T reads (T + 2)^2: ((T + 2)^2 - T^2) / T^2 more than it covers."""
    p = pm.tile(pm.conv2d(height=34, width=34, c_in=1, c_out=1, kernel=3), p=8, q=8)
    assert loads(p)["x"] == (32 // 8) ** 2 * (8 + 2) ** 2
    assert loads(p)["x"] / 32**2 - 1 == (10**2 - 8**2) / 8**2


def touched(extent: int, size: int, stride: int, taps: int, dilation: int, padding: int) -> int:
    """Elements that all blocks along one axis read, run through one by one."""
    outputs = (extent + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
    found = 0
    for first in range(0, outputs, size):
        places = {
            stride * out + dilation * tap - padding
            for out in range(first, min(first + size, outputs))
            for tap in range(taps)
        }
        found += len([place for place in places if 0 <= place < extent])
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("extent", "stride", "taps", "dilation", "padding"),
    [(9, 1, 3, 1, 1), (10, 2, 3, 1, 1), (11, 3, 2, 1, 0), (12, 1, 3, 2, 2), (13, 2, 3, 3, 3), (7, 1, 1, 1, 2),
     (8, 2, 2, 3, 1), (11, 4, 3, 1, 0)],
)  # fmt: skip
def test_halos_are_those_of_brute_force(
    extent: int, stride: int, taps: int, dilation: int, padding: int, size: int
) -> None:
    """Padded, strided, dilated and ragged tiles read exactly the elements that exist."""
    spacing: dict[str, Any] = {"kernel": taps, "stride": stride, "dilation": dilation, "padding": padding}
    whole = pm.conv2d(height=extent, width=extent, c_in=1, c_out=1, **spacing)
    cut = pm.tile(whole, p=size)
    across = touched(extent, 10**6, stride, taps, dilation, padding)
    expected = touched(extent, size, stride, taps, dilation, padding) * across
    assert loads(cut)["x"] == expected


@pytest.mark.parametrize(
    ("extent", "stride", "taps", "dilation", "padding", "size"),
    [
        *[(9, 1, 3, 1, 1, size) for size in (1, 2, 3, 5)],
        *[(10, 2, 3, 1, 1, size) for size in (1, 2, 3)],
        *[(7, 1, 1, 1, 2, size) for size in (1, 2, 3, 5)],  # more padding than a tile is long: a finite sum stands
    ],
)
def test_formulas_of_halos_are_those_of_brute_force(
    extent: int, stride: int, taps: int, dilation: int, padding: int, size: int
) -> None:
    """The formula in the height, at a height that makes two tiles or more, is what these tiles read."""
    spacing: dict[str, Any] = {"kernel": taps, "stride": stride, "dilation": dilation, "padding": padding}
    h = pm.dims("h")
    formula = loads(pm.tile(pm.conv2d(height=h, width=extent, c_in=1, c_out=1, **spacing), p=size))["x"]
    across = touched(extent, 10**6, stride, taps, dilation, padding)
    assert evaluated(formula, {h: extent}) == touched(extent, size, stride, taps, dilation, padding) * across


@pytest.mark.parametrize(("stride", "taps", "dilation", "padding"), [(3, 2, 1, 0), (2, 2, 3, 1), (1, 3, 2, 2)])
def test_formulas_of_windows_with_gaps_are_hulls_and_say_so(
    stride: int, taps: int, dilation: int, padding: int
) -> None:
    """In symbols the elements between taps are counted, with a note; in ints they are not."""
    spacing: dict[str, Any] = {"kernel": taps, "stride": stride, "dilation": dilation, "padding": padding}
    symbolic = pm.tile(pm.conv2d(height="h", width=11, c_in=1, c_out=1, **spacing), p=2)
    notes = {t.tensor: t.note for item in symbolic.counted for t in item.transfers}
    assert "hull" in notes["x"]
    concrete = symbolic.at(h=11)
    assert evaluated(loads(symbolic)["x"], {pm.dims("h"): 11}) >= loads(concrete)["x"]
    assert not any(t.note for item in concrete.counted for t in item.transfers)


def test_symbols_of_tiles_can_be_bound() -> None:
    """A tile size may be a symbol: A is read ceil(n / T) times."""
    p = pm.tile(pm.matmul("m", "n", "k"), m="T", n="T")
    assert p.at(m=64, n=64, k=64, T=16).elements_read == 2 * 64 * 64 * (64 // 16)


def test_a_strided_convolution_has_a_closed_form_in_symbols() -> None:
    """Padding that a tile covers needs no sum that stands: the formula holds ceilings and floors only."""
    h = pm.dims("h")
    p = pm.tile(pm.conv2d(height=h, width=8, c_in=1, c_out=1, kernel=3, stride=2, padding=1), p=4)
    assert "Sum" not in str(p.elements_read)


# what is refused


@pytest.mark.parametrize(
    ("cut", "kind", "message"),
    [
        ({"k": 8}, pm.TransformError, "tile: 'k' is reduced by 'matmul'"),
        ({"grid": {"k": 8}}, pm.TransformError, "blocks would hold partial results; stream 'k' instead"),
        ({"mm": 8}, pm.LabelError, "tile: matmul has no label 'mm'"),
        ({"grid": {"m": 8}, "stream": {"m": 8}}, pm.TransformError, "'m' is both in the grid and streamed"),
        ({}, pm.TransformError, "tile: no label given"),
        ({"m": 8, "redundant": "no"}, pm.TransformError, "redundant='no' is not one of"),
        ({"m": 8, "buffers": 33}, pm.TransformError, "buffers=33: 1, or up to 32"),
        ({"m": 0}, pm.PerfModelError, "tile: m"),
        ({"m": 1.5}, pm.PerfModelError, "tile: m"),
        ({"m": 8, "spill": ("D",)}, pm.LabelError, "spill='D'"),
        ({"m": 8, "spill": ("C",)}, pm.TransformError, "'C' cannot be spilled"),
        ({"m": 8, "capacity_bytes": 64}, pm.CapacityError, "a block of 'matmul' needs .* bytes of 'shared', which has"),
    ],
)
def test_what_cannot_be_is_refused(cut: dict[str, Any], kind: type[Exception], message: str) -> None:
    """Each error names the label or the option, and the rule."""
    with pytest.raises(kind, match=message):
        pm.tile(pm.matmul(64, 64, 64), **cut)


def test_a_symbol_in_place_of_a_label_gets_a_hint() -> None:
    """Tiles are of labels: the error says which label the symbol measures, and how to bind the symbol."""
    with pytest.raises(pm.LabelError, match=r"M is the symbol that measures m: pm.tile\(p, m=64\) cuts it"):
        pm.tile(pm.matmul("M", 64, 64), M=8)


def test_fuse_refuses_tiled_kernels() -> None:
    """A tile is of a kernel: fuse comes first."""
    p = pm.tile(pm.softmax(8, 64), m=2)
    with pytest.raises(pm.TransformError, match="is tiled; fuse first, then tile"):
        pm.fuse(p)


# other verbs keep tiles


def test_binding_sequences_and_repetitions_keep_tiles() -> None:
    """at(), sequence and repeat count the tiled kernels as tiled."""
    p = pm.tile(pm.matmul(64, 64, 64), m=16, n=16)
    one = p.elements_read
    assert one == 2 * 64**3 // 16
    assert p.repeat(3).elements_read == 3 * one
    assert pm.sequence(p, p).elements_read == 2 * one
    assert pm.sequence(p, p, join={"C": "A"}).elements_read == 2 * one
    assert p.at(m=32).elements_read == 32 * 64 * 4 + 64 * 64 * 2  # A 64/16 times, B 32/16 times
    symbolic = pm.tile(pm.matmul("m", "n", "k"), m=16, n=16)
    assert symbolic.at(m=64, n=64, k=64).elements_read == one


def test_a_tile_is_a_step_of_history() -> None:
    """The program remembers how it was cut."""
    p = pm.tile(pm.matmul(64, 64, 64), m=16, stream={"k": 8})
    assert p.history[-1] == "tile(m=16, stream={'k': 8})"


def test_only_cuts_the_kernels_that_it_names() -> None:
    """Other kernels stay untiled, and so do kernels without the label."""
    p = pm.fuse(pm.attention(8, 8, 4), by="stage")
    cut = pm.tile(p, grid={"q": 2}, only="attention.scores")
    assert [bool(kernel.tiles) for kernel in cut.kernels] == [True, False, False]
    run = pm.simulate(cut, arrays_of(cut))
    np.testing.assert_allclose(run.values["O"], pm.simulate(p, arrays_of(p)).values["O"])


def test_tile_simulate_and_check_take_programs() -> None:
    """What is no program, mapping or name is refused before anything is asked of it."""
    wrong: Any = 3
    p = pm.matmul(8, 8, 8)
    for use in (
        lambda: pm.tile(wrong, m=2),
        lambda: pm.tile(p, grid=wrong),
        lambda: pm.tile(p, m=2, level=wrong),
        lambda: pm.simulate(wrong, {}),
        lambda: pm.simulate(p, wrong),
        lambda: pm.check(wrong),
    ):
        with pytest.raises(pm.PerfModelError):
            use()


def test_a_second_tiling_replaces_the_first() -> None:
    """Tiles of one level are said at once: only n is cut in the end, so A is read for each of 4 blocks."""
    assert loads(pm.tile(pm.tile(pm.matmul(8, 8, 8), m=2), n=2)) == {"A": 4 * 64, "B": 64}


def test_check_sees_a_difference() -> None:
    """Values other than those of the program that it claims to come from are said and make the check false."""
    assert pm.check(pm.tile(pm.matmul("m", "n", "k"), m=16))
    other = pm.program((pm.tensor("x", {"i": 8}) * 2).named("y"), name="double")
    thrice = pm.program((pm.tensor("x", {"i": 8}) * 3).named("y"), name="double")
    found = pm.check(dataclasses.replace(thrice, parent=other))
    assert not found
    assert "value of y" in repr(found)


def test_what_formulas_take_for_granted_is_said_and_binding_is_exact() -> None:
    """A loop of one trip is dropped: the formula says 54 B at 1 x 7 x 2, the program bound there 46."""
    m, n, k = pm.dims("m n k")
    p = pm.tile(pm.matmul(m, n, k), stream={"m": 2, "n": 3, "k": 4})
    assert p.assumptions == (m > 2, n > 3, k > 4)
    assert "formulas hold where m > 2 and n > 3 and k > 4" in p.explain()
    one_trip = {"m": 1, "n": 7, "k": 2}
    assert p.at(one_trip).bytes == pm.tile(pm.matmul(1, 7, 2), stream={"m": 2, "n": 3, "k": 4}).bytes
    assert p.at(one_trip).assumptions == ()


def test_halos_can_be_forbidden() -> None:
    """A producer in front of a window is made again where tiles overlap."""
    x = pm.tensor("x", {"batch": 1, "group": 1, "c": 1, "h": 14, "w": 1})
    taps = pm.tensor("taps", {"group": 1, "f": 1, "c": 1, "r": 3, "s": 1})
    p = pm.fuse(pm.program(pm.conv2d(pm.relu(x), taps)))
    with pytest.raises(pm.TransformError, match="'relu' is repeated where the tiles of its readers overlap"):
        pm.tile(p, p=4, redundant="forbid")
    assert pm.tile(pm.matmul(8, 8, 8), m=4, n=4, redundant="forbid").flops == 2 * 8**3


@pytest.mark.parametrize("level", ["reigsters", "memory", "shraed"])
def test_a_level_is_none_that_is_misspelt(level: str) -> None:
    """Tiles stand inside memory; another name of one's own is a level, a near miss of a known one is not."""
    with pytest.raises(pm.TransformError, match=r"tiles stand inside memory, at .*l2, .*shared, .*registers"):
        pm.tile(pm.matmul(8, 8, 8), m=4, level=level)
    assert pm.tile(pm.matmul(8, 8, 8), m=4, level="cluster").kernels[0].tiles[0].level == "cluster"


def test_an_option_that_is_misspelt_is_named() -> None:
    """What is no label may have been meant as any option."""
    for option in ("atomic", "buffers", "capacity_bytes", "spill"):
        with pytest.raises(pm.LabelError, match=rf"has no label '{option[:-1]}'; .* \(did you mean '{option}'\?\)"):
            pm.tile(pm.matmul(8, 8, 8), m=4, **{option[:-1]: 2})


def test_a_label_is_given_once() -> None:
    """Neither size wins silently."""
    with pytest.raises(pm.TransformError, match="'m' is given as a keyword and in grid="):
        pm.tile(pm.matmul(8, 8, 8), m=4, grid={"m": 2})


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"m": 4, "atomic": ["m"]}, r"atomic='m': nothing reduces 'm' here, .* reduced are k"),
        ({"m": 4, "level": "hbm"}, r"level='hbm': tiles stand inside memory, at infinity-cache, .*registers$"),
        ({"m": 4, "level": "dram"}, r"level='dram': tiles stand inside memory, at .*registers$"),
        ({"m": 4, "level": "l22"}, r"level='l22': .*\(did you mean 'l2'\?\)"),
        ({"m": 4, "level": "2"}, r"level='2': a level is a name"),
    ],
)
def test_labels_and_levels_that_do_nothing_are_refused(said: dict[str, Any], message: str) -> None:
    """Blocks along m share no sum, and device memory is where the tiles stand."""
    with pytest.raises(pm.TransformError, match=message):
        pm.tile(pm.matmul(8, 8, 8), **said)


def test_every_level_of_the_chips_that_are_known_has_its_place() -> None:
    """Tiles are taken at each of them, and nest by how far in they are, however they are given."""
    for name in pm.machines():
        for level in pm.machine(name).levels:
            assert pm.tile(pm.matmul(8, 8, 8), m=4, level=level.name).kernels[0].tiles[0].level == level.name
    p = pm.matmul(64, 64, 64)
    for side, level in ((8, "registers"), (32, "l2"), (16, "tensor-memory")):
        p = pm.tile(p, m=side, level=level)
    assert [tiling.level for tiling in p.kernels[0].tiles] == ["l2", "tensor-memory", "registers"]


def test_a_level_of_ones_own_stands_inside_those_that_are_there() -> None:
    """A name that no chip has is one's own chip's."""
    p = pm.tile(pm.tile(pm.matmul(64, 64, 64), m=32, level="l2"), m=8, level="scratch")
    assert [tiling.level for tiling in p.kernels[0].tiles] == ["l2", "scratch"]
    assert sum(row[4] for row in p.traffic("l2").rows) > p.bytes


def test_a_tile_that_would_not_be_whole_is_named() -> None:
    """b = 3 makes tiles of 3/2 rows: it is the tile that is wrong, not a number of runs."""
    p = pm.tile(pm.matmul("m", "n", "k"), m="b/2")
    with pytest.raises(pm.DimensionError, match=r"at: the tile of 'm' = 3/2: a dimension is a positive integer"):
        p.at(b=3)
    assert p.at(b=4).kernels[0].tiles[0].grid == (("m", 2),)
