"""Figures that engineers know by heart, each derived by ``tile`` and ``fuse``: no formula of theirs is typed in."""

from __future__ import annotations

from fractions import Fraction
from itertools import product as combinations
from math import prod
from typing import Any

import pytest
import sympy

import perfmodel as pm


def elements(program: pm.Program, level: str = "memory") -> dict[tuple[str, str], Any]:
    """Elements that a level serves, by tensor and direction, all kernels together."""
    found: dict[tuple[str, str], Any] = {}
    for row in program.traffic(level).rows:
        found[row[1], row[2]] = found.get((row[1], row[2]), 0) + row[3]
    return found


def held(program: pm.Program) -> dict[str, Any]:
    """Bytes of each tensor in a block."""
    return {row[2]: row[3] for row in program.footprint().rows}


# tiles of a matmul


@pytest.mark.parametrize(("side", "read"), [(1, 33_554_432), (4, 8_388_608), (16, 2_097_152), (64, 524_288)])
def test_a_matmul_in_square_tiles_reads_less_by_their_side(side: int, read: int) -> None:
    """n = 256: A once for each of n/T blocks across and B for each of n/T down, 2 n^2 n/T elements."""
    p = pm.tile(pm.matmul(256, 256, 256, dtype="fp32"), m=side, n=side)
    assert p.elements_read == read == 2 * 256**2 * (256 // side)


def test_tiles_of_128_give_32_flops_a_byte_read() -> None:
    """n = 4096, T = 128, fp32: 4.29e9 bytes read, 32 FLOP/B; 4.36e9 bytes and 31.5 FLOP/B with C."""
    p = pm.tile(pm.matmul(4096, 4096, 4096, dtype="fp32"), m=128, n=128)
    assert p.bytes_read == 4 * 2 * 4096**2 * (4096 // 128) == pytest.approx(4.29e9, rel=2e-3)
    assert Fraction(p.flops, p.bytes_read) == 2 * 128 // (2 * 4)  # T multiply-adds for 2 elements of 4 bytes
    assert p.bytes == p.bytes_read + 4 * 4096**2 == pytest.approx(4.36e9, rel=2e-3)
    assert p.intensity == pytest.approx(31.5, rel=2e-3)


def test_a_product_spilled_at_each_block_of_k_moves_three_tiles_where_a_kept_one_moves_two() -> None:
    """Cubes of b: B, C and C again for each of (n/b)^3, which is b/6 FLOP/B in fp32; kept, A and B, which is b/4.

    With k outside, C leaves after each cube and comes back for the next block of k, and A (m, k) stays for all of n.
    Both blocks hold the same three tiles.
    """
    n, b = 4096, 64
    whole = pm.matmul(n, n, n, dtype="fp32")
    spilled = pm.tile(whole, stream={"k": b, "m": b, "n": b}, spill=["C"])
    kept = pm.tile(whole, m=b, n=b, stream={"k": b})
    cubes = (n // b) ** 3
    assert elements(spilled) == {
        ("A", "read"): n * n, ("B", "read"): cubes * b * b, ("C", "read"): cubes * b * b, ("C", "write"): cubes * b * b
    }  # fmt: skip
    assert elements(kept) == {("A", "read"): cubes * b * b, ("B", "read"): cubes * b * b, ("C", "write"): n * n}
    assert spilled.flops == kept.flops == cubes * 2 * b**3
    assert held(spilled) == held(kept) == dict.fromkeys("ABC", 4 * b * b)
    edge = 4 * n * n  # the matrix that moves once
    assert Fraction(spilled.flops, spilled.bytes - edge) == Fraction(b, 6)
    assert Fraction(kept.flops, kept.bytes - edge) == Fraction(b, 4)


# blocks in blocks, on a CPU

# The course notes put blocks of 8 in registers, of 64 in L1 and of 256 in L2, and give no capacities. Taken here:
# 16 registers of 8 lanes of 4 bytes (AVX2), and caches of a size that cores have.
ROOM = {"l2": 2**20, "l1": 48 * 2**10, "registers": 16 * 8 * 4}
SIDES = {"l2": 256, "l1": 64, "registers": 8}


def blocked(n: int, depths: dict[str, int], **sides: int) -> pm.Program:
    """A product in square tiles of the output at every level, streamed along k, each under its capacity."""
    p = pm.matmul(n, n, n, dtype="fp32")
    for level, side in (SIDES | sides).items():
        grid, stream = {"m": side, "n": side}, {"k": depths[level]}
        p = pm.tile(p, grid=grid, stream=stream, level=level, capacity_bytes=ROOM[level])
    return p


DEPTHS = {"l2": 256, "l1": 64, "registers": 1}  # registers hold a column of A and a row of B at a time


def test_three_levels_of_blocks_each_ask_by_their_own_side() -> None:
    """A and B are read n/b times from each level, b the side of the tiles inside it: 8, 64, 256 outwards."""
    n = 2048
    p = blocked(n, DEPTHS)
    for level, side in (("l1", 8), ("l2", 64), ("memory", 256)):
        found = elements(p, level)
        assert found["A", "read"] == found["B", "read"] == n * n * (n // side)
    assert elements(p)["C", "write"] == n * n
    for level, depth in (("l2", 256), ("l1", 64)):  # a trip of k around takes C up and puts it down again
        found = elements(p, level)
        assert found["C", "read"] == found["C", "write"] == n * n * (n // depth)
    assert p.flops == 2 * n**3


def test_blocks_that_fit_the_second_cache_pass_the_ridge_of_the_lectures_cpu() -> None:
    """38.4 FLOP/B: blocks of 64 against memory stay under it, blocks of 256 around them are past it."""
    cpu, n = pm.machine("lecture-cpu"), 4096
    small = pm.tile(pm.matmul(n, n, n, dtype="fp32"), grid={"m": 64, "n": 64}, stream={"k": 64}, level="l1")
    large = blocked(n, DEPTHS)
    assert small.intensity < cpu.ridge("fp32") < large.intensity
    assert (pm.estimate(small, cpu, effects="ideal").bound, pm.estimate(large, cpu, effects="ideal").bound) == (
        "memory", "compute"
    )  # fmt: skip


def test_each_level_holds_its_three_tiles() -> None:
    """Tiles of A, B and C at 4 bytes: 768 KiB of L2, all 48 KiB of L1; 64 + 8 + 8 numbers in registers."""
    found: dict[str, int] = {}
    for _, level, _, _, size in blocked(2048, DEPTHS).footprint().rows:
        found[level] = found.get(level, 0) + size
    assert found == {"l2": 3 * 4 * 256**2, "l1": 3 * 4 * 64**2, "registers": 4 * (8 * 8 + 8 + 8)}
    assert all(found[level] <= room for level, room in ROOM.items())


@pytest.mark.parametrize(("level", "side"), [("l2", 512), ("l1", 128), ("registers", 16)])
def test_tiles_of_twice_the_side_do_not_fit(level: str, side: int) -> None:
    """Each is refused by the level that it overflows, with what it would need."""
    depth = DEPTHS[level] if level == "registers" else side
    needed = 4 * (side * side + 2 * side * depth)
    with pytest.raises(pm.CapacityError, match=f"needs {needed} bytes of '{level}', which has {ROOM[level]}"):
        blocked(2048, DEPTHS | {level: depth}, **{level: side})


# fused chains


def test_a_fused_chain_of_matmuls_repeats_its_first_across_the_second() -> None:
    """(A B) D, tiled along D's columns: every block of them makes its A B again; along rows none does."""
    m, k, n, h = pm.dims("m k n h")
    chain = pm.fuse(pm.sequence(pm.matmul(m, n, k), pm.matmul(m, h, n), join={"C": "A"}))
    first, second = 2 * m * n * k, 2 * m * n * h
    columns = next(label for label, extent in chain.labels.items() if extent == h)
    across = pm.tile(chain, grid={columns: 64})
    assert sympy.expand(chain.flops - first - second) == 0
    assert sympy.expand(across.flops - first * pm.ceil_div(h, 64) - second) == 0
    assert pm.tile(chain, m=64, redundant="forbid").flops == chain.flops
    with pytest.raises(pm.TransformError, match=f"lacks the grid label '{columns}': each block along it would repeat"):
        pm.tile(chain, grid={columns: 64}, redundant="forbid")


def normalised() -> pm.Program:
    """A convolution to a map of 2^30 bytes (fp32, 64 filters), scale and bias by filter, and a 2 x 2 pool."""
    x = pm.tensor("x", {"batch": 1, "group": 1, "c": 3, "h": 2048, "w": 2048}, dtype="fp32")
    weight = pm.tensor("weight", {"group": 1, "f": 64, "c": 3, "r": 3, "s": 3}, dtype="fp32")
    scale, bias = [pm.tensor(name, {"f": 64}, dtype="fp32") for name in ("scale", "bias")]
    made = pm.conv2d(x, weight, padding="same", name="map")
    return pm.program(pm.pool2d(made * scale + bias, kernel=2).named("pooled"))


def after_the_reads(program: pm.Program) -> Fraction:
    """Bytes moved, in maps, without what the convolution reads and the one number a filter of scale and bias.

    4.25 counts the map's way from the convolution's store on: the operands of the convolution are left out, and
    the two vectors of 64 numbers, which four digits do not show.
    """
    inputs = {item.name for item in program.inputs}
    found = sum(row[4] for row in program.traffic().rows if row[1] not in inputs)
    return Fraction(found, program.tensors["map"].bytes)


def test_scale_bias_and_pool_fused_into_a_convolution_leave_its_pooled_map() -> None:
    """In maps of 1 GB, w a write and r a read: one op a kernel w rw rw r w/4, scale and bias together w rw r w/4."""
    p = normalised()
    assert p.tensors["map"].bytes == 2**30
    together = pm.fuse(p, only=["mul", "add"])
    assert [len(kernel.ops) for kernel in together.kernels] == [1, 2, 1]
    quarter = Fraction(1, 4)  # a pool of 2 x 2
    assert after_the_reads(p) == 1 + 2 + 2 + 1 + quarter == Fraction("6.25")
    assert after_the_reads(together) == 1 + 2 + 1 + quarter == Fraction("4.25")
    assert after_the_reads(pm.fuse(p)) == quarter


def test_in_tiles_of_the_pool_the_fused_map_is_never_stored() -> None:
    """A tile of 32 x 32 of the pool holds 64 x 64 of the map, for one filter; nothing is repeated."""
    fused = pm.fuse(normalised())
    p = pm.tile(fused, grid={"p_2": 32, "q_2": 32, "f": 1})
    assert p.flops == fused.flops
    assert after_the_reads(p) == Fraction(1, 4)
    assert held(p)["map"] == 4 * 64 * 64


# halos


@pytest.mark.parametrize("side", [1, 2, 8, 16])
def test_a_3_x_3_tile_reads_its_halo(side: int) -> None:
    """((T+2)^2 - T^2) / T^2 more than it covers, exactly, in numbers and as a formula of the height and width."""
    p = pm.tile(pm.conv2d(height=32 + 2, width=32 + 2, c_in=1, c_out=1, kernel=3), p=side, q=side)
    extra = Fraction((side + 2) ** 2 - side**2, side**2)
    assert Fraction(elements(p)["x", "read"], 32 * 32) - 1 == extra
    h, w = pm.dims("h w")
    formula = pm.tile(pm.conv2d(height=h + 2, width=w + 2, c_in=1, c_out=1, kernel=3), p=side, q=side)
    read = elements(formula)["x", "read"]
    assert sympy.expand(read - (h + 2 * pm.ceil_div(h, side)) * (w + 2 * pm.ceil_div(w, side))) == 0


Axis = dict[str, int]


def places(axis: Axis) -> list[set[int]]:
    """What each tile along one axis reads of it, run through tap by tap."""
    reach = axis["dilation"] * (axis["taps"] - 1)
    outputs = (axis["extent"] + 2 * axis["padding"] - reach - 1) // axis["stride"] + 1
    found = []
    for first in range(0, outputs, axis["tile"]):
        tile = range(first, min(first + axis["tile"], outputs))
        read = {
            axis["stride"] * out + axis["dilation"] * tap - axis["padding"]
            for out in tile
            for tap in range(axis["taps"])
        }
        found.append({place for place in read if 0 <= place < axis["extent"]})
    return found


PADDED = {"extent": 12, "taps": 3, "stride": 1, "dilation": 1, "padding": 1, "tile": 4}
STRIDED = {"extent": 13, "taps": 3, "stride": 2, "dilation": 1, "padding": 1, "tile": 3}
DILATED = {"extent": 14, "taps": 3, "stride": 1, "dilation": 2, "padding": 2, "tile": 5}
RAGGED = {"extent": 11, "taps": 2, "stride": 1, "dilation": 1, "padding": 0, "tile": 4}
APART = {"extent": 15, "taps": 2, "stride": 4, "dilation": 3, "padding": 2, "tile": 2}  # its windows leave gaps


@pytest.mark.parametrize(("down", "along"), list(combinations([PADDED, STRIDED, DILATED, RAGGED, APART], repeat=2)))
def test_halos_in_two_dimensions_are_those_of_brute_force(down: Axis, along: Axis) -> None:
    """Every pair of padded, strided, dilated, ragged and gapped axes: each block's set of elements, block by block."""
    spacing = {key: (down[key], along[key]) for key in ("stride", "dilation", "padding")}
    whole = pm.conv2d(
        height=down["extent"], width=along["extent"], c_in=1, c_out=1, kernel=(down["taps"], along["taps"]), **spacing
    )
    p = pm.tile(whole, p=down["tile"], q=along["tile"])
    blocks = [set(combinations(*pair)) for pair in combinations(places(down), places(along))]
    assert elements(p)["x", "read"] == sum(len(block) for block in blocks)


# Halide's blur


def blur(rows: int, columns: int) -> pm.Program:
    """Sums of 3 along x, then of 3 along y, of an image with a border: two kernels."""
    image = pm.tensor("image", {"y": rows + 2, "x": columns + 2}, dtype="fp32")
    across = pm.sum(pm.window(image, "x", "col", "i", 3), "i", name="blur_x")
    return pm.program(pm.sum(pm.window(across, "y", "row", "j", 3), "j", name="blur_y"))


def scheduled(schedule: str, rows: int, columns: int) -> pm.Program:
    """The three of Ragan-Kelley et al. (PLDI 2013): blur_x for the whole image first, for each point, for each tile."""
    if schedule == "root":
        return blur(rows, columns)
    tile = {"point": {"row": 1, "col": 1}, "tile": {"row": 32, "col": 256}}[schedule]
    return pm.tile(pm.fuse(blur(rows, columns)), **tile)


SCHEDULES = {"root": 1, "point": 3, "tile": Fraction(34, 32)}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_of_a_blur_make_its_first_pass_once_three_times_or_34_times_in_32(schedule: str) -> None:
    """What 32 rows of the result more cost blur_x, over the 3 additions for each of their pixels.

    All that blur_y does is 3 additions a pixel, and the border of two rows costs the same at any height.
    """
    columns = 512

    def of_the_first_pass(rows: int) -> int:
        return scheduled(schedule, rows, columns).flops - 3 * rows * columns

    more = of_the_first_pass(96) - of_the_first_pass(64)
    assert Fraction(more, 3 * 32 * columns) == SCHEDULES[schedule]


def test_schedules_of_a_blur_trade_traffic_for_what_they_hold() -> None:
    """1024 x 1024: at root blur_x goes through memory; at each point it takes 3 numbers; in a tile 256 x 34."""
    rows = columns = 1024
    pixels = rows * columns
    root, point, tile = [scheduled(schedule, rows, columns) for schedule in SCHEDULES]
    assert elements(root) == {
        ("image", "read"): (rows + 2) * (columns + 2), ("blur_x", "write"): (rows + 2) * columns,
        ("blur_x", "read"): (rows + 2) * columns, ("blur_y", "write"): pixels,
    }  # fmt: skip
    assert elements(point) == {("image", "read"): pixels * 3 * 3, ("blur_y", "write"): pixels}
    blocks = (rows // 32) * (columns // 256)
    assert elements(tile) == {("image", "read"): blocks * 34 * 258, ("blur_y", "write"): pixels}
    assert (held(point)["blur_x"], held(tile)["blur_x"]) == (4 * 3, 4 * prod((256, 34)))
    assert tile.bytes < root.bytes < point.bytes


def from_chip(chip: pm.Machine, n: int, sides: dict[str, tuple[int, int]]) -> pm.Program:
    """A product in square tiles at some levels of a chip, each under the capacity that the chip lists."""
    p = pm.matmul(n, n, n, dtype="fp32")
    for level, (side, depth) in sides.items():
        room = chip.level(level).capacity_bytes
        p = pm.tile(p, grid={"m": side, "n": side}, stream={"k": depth}, level=level, capacity_bytes=room)
    return p


def test_capacities_of_three_levels_come_from_the_chip() -> None:
    """H100: 50 MiB of L2, 228 KiB of shared memory and 256 KiB of registers a unit hold three tiles each."""
    chip = pm.machine("h100-sxm")
    p = from_chip(chip, 4096, {"l2": (2048, 64), "shared": (128, 64), "registers": (128, 8)})
    held: dict[str, int] = {}
    for _, level, _, _, size in p.footprint().rows:
        held[level] = held.get(level, 0) + size
    assert held == {
        level: 4 * (side * side + 2 * side * depth)
        for level, side, depth in (("l2", 2048, 64), ("shared", 128, 64), ("registers", 128, 8))
    }
    assert all(size <= chip.level(level).capacity_bytes for level, size in held.items())
    with pytest.raises(pm.CapacityError, match=f"of 'shared', which has {chip.level('shared').capacity_bytes}"):
        from_chip(chip, 4096, {"l2": (2048, 64), "shared": (256, 64)})


def test_a_chip_whose_caches_nobody_gave_has_no_capacity_to_take() -> None:
    """The course notes give the cores and the memory of their CPU alone; what is not given is absent."""
    with pytest.raises(pm.MachineError, match="lecture-cpu lists no on-chip level 'l2'; it lists none"):
        from_chip(pm.machine("lecture-cpu"), 4096, {"l2": (256, 256)})
