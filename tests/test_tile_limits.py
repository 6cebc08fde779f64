"""A tile that no unit can hold is refused, with what it needs, what there is, and the largest that fits."""

from __future__ import annotations

import itertools

import pytest

import perfmodel as pm
from perfmodel import machine
from perfmodel.effects.chips import chip_of
from perfmodel.effects.tile_limits import check_tile, room_of
from perfmodel.effects.tiles import SHAPES, Tile

P = pm.matmul(4096, 4096, 4096)
GPUS = [name for name in pm.machines(kind="gpu") if chip_of(machine(name)) is not None]


@pytest.mark.parametrize("name", GPUS)
def test_the_tiles_of_libraries_fit_every_chip(name: str) -> None:
    """Each tile of the search, with sums of 32 and of 64 bits, passes on each GPU: what is found can be fixed."""
    for shape, accumulate in itertools.product(SHAPES, ("fp32", "int32", "fp64")):
        check_tile(shape, machine(name), pm.format(accumulate))


def test_sums_that_no_register_file_holds_are_refused() -> None:
    """256 x 256 sums of 4 bytes fill the 256 KiB of an H100's SM; one column more, or 8 bytes a sum, do not fit."""
    assert room_of(machine("h100-sxm")).sums == 256 * 256 * 4
    assert pm.estimate(P, "h100-sxm", tile=(256, 256)).tile == Tile(256, 256)
    for tile in ((256, 257), (4096, 4096), (100_000, 100_000)):
        with pytest.raises(pm.CapacityError, match=r"one SM has 262.1 kB of registers.* \(256, 256\)$"):
            pm.estimate(P, "h100-sxm", tile=tile)
    with pytest.raises(pm.CapacityError, match=r"256 x 256 in fp64, take 524.3 kB.* is \((128, 256|256, 128)\)$"):
        pm.estimate(pm.matmul(4096, 4096, 4096, dtype="fp64"), "h100-sxm", tile=(256, 256))


def test_blackwell_keeps_its_sums_in_tensor_memory() -> None:
    """The message names the memory of the chip."""
    with pytest.raises(pm.CapacityError, match=r"512 x 256 in fp32, take 524.3 kB, and one SM has .* tensor memory"):
        pm.estimate(P, "b200-sxm", tile=(512, 256))


def test_operands_that_shared_memory_cannot_hold_are_refused() -> None:
    """A step brings 128 bytes of each row: 2048 + 16 rows are 264 kB, and an H100's block has 227 KiB."""
    with pytest.raises(pm.CapacityError, match=r"2048 \+ 16 rows .* takes 264.2 kB.* 232.4 kB .* \(1024, 16\)$"):
        pm.estimate(P, "h100-sxm", tile=(2048, 16))
    assert pm.estimate(P, "h100-sxm", tile=(1024, 16)).time_s > 0


def test_every_way_to_fix_a_tile_is_held_to_it() -> None:
    """estimate, estimate_many and sweep refuse alike; the roofline alone has no tiles."""
    many = pm.matmul("m", 4096, 4096)
    with pytest.raises(pm.CapacityError, match="4096 x 4096"):
        pm.estimate_many(many, "h100-sxm", {"m": [1, 2]}, tile=(4096, 4096))
    with pytest.raises(pm.CapacityError, match="4096 x 4096"):
        pm.sweep(many, {"m": [1, 2]}, on="h100-sxm", tile=(4096, 4096))
    assert pm.estimate(P, "h100-sxm", "ideal", tile=(4096, 4096)).time_s > 0


def test_a_tile_that_was_found_can_be_given_back() -> None:
    """What the search chose passes, and takes as long."""
    for name in ("h100-sxm", "t4", "mi300x", "arc-pro-b60"):
        found = pm.estimate(P, name)
        assert pm.estimate(P, name, tile=found.tile).time_s == found.time_s


def test_k_has_a_step_for_each_split() -> None:
    """4096 of k are 64 steps of 64: as many splits at most."""
    assert pm.estimate(P, "h100-sxm", tile=(128, 128, 64)).tile == Tile(128, 128, 64)
    for program, sizes in ((P, {}), (pm.matmul(4096, 4096, "k"), {"k": [8192, 4096]})):
        with pytest.raises(pm.DimensionError, match="65 splits of k = 4096, which has 64 steps of 64"):
            pm.estimate_many(program, "h100-sxm", sizes, tile=(128, 128, 65))
    with pytest.raises(pm.DimensionError, match="1000000 splits of k = 4096"):
        pm.estimate(P, "h100-sxm", tile=(128, 128, 10**6))


def test_a_tile_that_is_not_used_is_said_to_be() -> None:
    """A TPU has no tiles here, nor has a softmax."""
    said = "tile=(128, 128): no kernel of matmul has a tile on tpu-v5e with these effects"
    assert said in pm.estimate(P, "tpu-v5e", tile=(128, 128)).not_modelled
    assert any(
        "no kernel of softmax" in text for text in pm.estimate(pm.softmax(8, 8), "h100-sxm", tile=(64, 64)).not_modelled
    )
    assert not any("no kernel" in text for text in pm.estimate(P, "h100-sxm", tile=(128, 128)).not_modelled)
