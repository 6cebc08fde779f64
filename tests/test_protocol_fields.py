"""A protocol, a quantizer and a tile hold what their fields mean, and refuse the rest by field, value and rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import perfmodel as pm
from perfmodel.effects.quantizers import Quantizer

BAD_AMOUNTS = (-1, -1e-6, 1j, "a", "", float("nan"), float("inf"), True, None, 10**400, np.array([1.0, 2.0]))


@pytest.mark.parametrize("value", BAD_AMOUNTS, ids=str)
@pytest.mark.parametrize("field", ["launch_s", "host_s", "unit_bytes", "tick_s", "switching"])
def test_an_amount_is_finite_and_not_negative(field: str, value: Any) -> None:
    with pytest.raises(pm.PerfModelError, match=f"Protocol: {field} = .*expected a finite number"):
        pm.Protocol("x", **{field: value})


def test_switching_is_above_zero() -> None:
    with pytest.raises(pm.PerfModelError, match=r"Protocol: switching = 0: .*above 0"):
        pm.Protocol("x", switching=0)


@pytest.mark.parametrize("copies", [(-5, 0, "a"), (1, 1), (0, 1, 1), (1, 1.5, 1), (True, 1, 1), 3, "111", None])
def test_copies_are_three_whole_numbers_from_1_on(copies: Any) -> None:
    with pytest.raises(pm.PerfModelError, match=r"Protocol: copies = .*three whole numbers"):
        pm.Protocol("x", copies=copies)


@pytest.mark.parametrize("rows", [0, -64, 257, 64.0, True, "64", None])
def test_the_least_rows_of_a_tile_are_those_of_some_tile(rows: Any) -> None:
    with pytest.raises(pm.PerfModelError, match=r"Protocol: least_rows = .*whole number from 1 to 256"):
        pm.Protocol("x", least_rows=rows)


@pytest.mark.parametrize(
    ("field", "value"), [("name", 3), ("source", None), ("cold", 1), ("until_l2", "no"), ("quantizer", "fp8")]
)
def test_other_fields_have_their_kind(field: str, value: Any) -> None:
    with pytest.raises(pm.PerfModelError, match=f"Protocol: {field} = .*expected"):
        pm.Protocol(**{"name": "x", field: value})


@pytest.mark.parametrize(("field", "value"), [("passes", 0), ("passes", 1.5), ("row_s", -1), ("other_s", "a")])
def test_a_quantizer_holds_passes_and_seconds(field: str, value: Any) -> None:
    with pytest.raises(pm.PerfModelError, match=f"Quantizer: {field} = .*expected"):
        Quantizer(**{field: value})


def test_what_is_valid_is_kept_as_it_is() -> None:
    made = pm.Protocol("x", copies=(2, 1, 1), launch_s=np.float64(1e-6), quantizer=Quantizer(2))
    assert (made.copies, made.launch_s, made.quantizer) == ((2, 1, 1), 1e-6, Quantizer(2))
    slower = pm.estimate(pm.matmul(64, 64, 64), "h100-sxm", protocol=made)
    assert slower.time_s > pm.estimate(pm.matmul(64, 64, 64), "h100-sxm").time_s


@pytest.mark.parametrize(
    "sides", [(-1, 64), (0, 64), (128, 64, 0), ("x", 64), (2.5, 64), (True, 64), (2**21, 64), (float("nan"), 64), (64,)]
)
def test_a_tile_has_the_sides_of_a_plain_tuple(sides: tuple[Any, ...]) -> None:
    """What ``tile=`` refuses as a tuple, ``Tile`` refuses when it is made."""
    with pytest.raises(pm.DimensionError, match="tile="):
        pm.estimate(pm.matmul(64, 64, 64), "h100-sxm", tile=sides)
    if len(sides) > 1:
        with pytest.raises(pm.DimensionError, match="Tile: "):
            pm.Tile(*sides)


def test_a_tile_of_arrays_is_no_tile_of_one_estimate() -> None:
    with pytest.raises(pm.DimensionError, match="tile="):
        pm.estimate(pm.matmul(64, 64, 64), "h100-sxm", tile=pm.Tile(np.array([64, 128]), 64))
