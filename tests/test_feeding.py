"""Operands reach small tiles through the L2: its bandwidth is shared by the units that run, up to a unit's port."""

from __future__ import annotations

import pytest

import perfmodel as pm
from perfmodel.effects.chips import Chip
from perfmodel.effects.feeding import PORT_BYTES, feed_s
from perfmodel.effects.tiles import LINE_BYTES, Tile

A100 = Chip.of(pm.machine("a100-sxm-80gb"))
H100 = Chip.of(pm.machine("h100-sxm"))


def test_all_units_take_their_share() -> None:
    """(128 + 64) lines of 128 bytes at the calibrated bytes a clock."""
    rate = A100.constants.feed_bytes_per_clock * A100.clock_hz
    assert feed_s(Tile(128, 64), A100) == pytest.approx((128 + 64) * LINE_BYTES / rate)


def test_few_units_share_the_same_bandwidth() -> None:
    """Half of the units take twice as much each; more blocks than units take turns, and no more than all units do."""
    full = feed_s(Tile(128, 64), A100)
    assert feed_s(Tile(128, 64), A100, busy=0.5) == pytest.approx(full / 2)
    assert feed_s(Tile(128, 64), A100, busy=3.0) == full


def test_a_lone_unit_takes_what_its_port_does() -> None:
    """64 bytes a clock, however few units run."""
    port = (128 + 64) * LINE_BYTES / (PORT_BYTES * A100.clock_hz)
    assert feed_s(Tile(128, 64), A100, busy=1 / 108) == pytest.approx(port)


def test_clusters_that_share_their_fetches_gain_nothing() -> None:
    """A Hopper's blocks get more than a port of their own gives."""
    assert H100.constants.feed_bytes_per_clock > PORT_BYTES
    assert feed_s(Tile(128, 64), H100, busy=0.1) == feed_s(Tile(128, 64), H100)


def test_fewer_blocks_take_no_longer() -> None:
    """Half the columns of one wave on an A100: the feed of each block is faster, so the product is no slower."""
    half, whole = [pm.estimate(pm.matmul(128, n, 4096), "a100-sxm-80gb", tile=(128, 64)).time_s for n in (3456, 6912)]
    assert half < whole
