"""What holding shapes out costs, apart from which shapes they are; constants that all chips share, changed alone."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import perfmodel as pm

FOLDER = Path(__file__).parents[1] / "benchmarks"
SIZES = [(m, n, k) for m in (1, 64, 512, 4096) for n in (1024, 4096) for k in (512, 4096)]


def loaded(name: str) -> Any:
    """A script of the benchmarks as a module, which finds its neighbours as a script does."""
    sys.path.insert(0, str(FOLDER))
    return importlib.import_module(name)


@pytest.fixture
def timings(tmp_path: Path) -> Path:
    """Times that the estimates of an L40S give, 10 % longer, of two frameworks."""
    rows = []
    for m, n, k in SIZES:
        took = pm.estimate(pm.matmul(m, n, k), "l40s").time_s * 1.1e6
        same = {"source": "aiconfigurator", "gpu": "L40S", "op": "gemm", "dtype": "bf16", "batch": 1, "note": ""}
        same |= {"m": m, "n": n, "k": k, "time_us": took}
        rows += [same | {"extra": f"fw={name}-1.0"} for name in ("vllm", "sglang")]
    path = tmp_path / "gemm.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def test_the_rows_of_a_shape_stay_together(timings: Path) -> None:
    """Two frameworks a shape: as many shapes as sizes, and a shape's rows are held out together or not at all."""
    holding, calibrate = loaded("holding"), loaded("calibrate")
    found = calibrate.rows(timings, "L40S")
    numbers = holding.shapes(found)
    assert len(np.unique(numbers)) == len(SIZES)
    assert all(len(set(found["held"][numbers == each])) == 1 for each in numbers)
    assert set(found["protocol"]) == {"aiconfigurator-vllm", "aiconfigurator-sglang"}


def test_a_gap_is_that_of_medians_and_means(timings: Path) -> None:
    """Rows off by 10 % and by 20 %: ten percent worse in both."""
    holding = loaded("holding")
    logs = np.log(np.array([1.1, 1.1, 1.2, 1.2]))
    assert holding.gap(logs, np.array([False, False, True, True])) == pytest.approx((10.0, 10.0))
    found = loaded("calibrate").rows(timings, "L40S")
    gaps = holding.drawn(found, np.full(len(found["m"]), 0.1), draws=5)
    assert gaps == pytest.approx(np.zeros((5, 2)))


def test_the_page_has_a_line_a_chip_in_both_tables(timings: Path) -> None:
    page = "\n".join(loaded("holding").page(timings, ["l40s"], draws=3, rounds=1))
    assert page.count("| `l40s` |") == 2
    assert "a100" not in page.split("## Random fifths")[1]


def test_a_shared_constant_is_changed_and_put_back() -> None:
    """Twice the time that a chip takes to start its blocks shows in an estimate, and only while it is changed."""
    shared = loaded("shared_constants")
    start = next(each for each in shared.CONSTANTS if each.name == "START_S")
    program = pm.matmul(4096, 4096, 64)
    before = pm.estimate(program, "l40s").time_s
    with shared.changed(start, 2.0):
        assert pm.estimate(program, "l40s").time_s > before
    assert pm.estimate(program, "l40s").time_s == before


def test_every_shared_constant_is_a_number_of_its_module() -> None:
    shared = loaded("shared_constants")
    assert all(shared.value(each) > 0 for each in shared.CONSTANTS)
    assert {each.rows for each in shared.CONSTANTS} == set(shared.CHOSEN)


def test_chips_of_one_die_share_what_it_decides(timings: Path) -> None:
    """Two chips fitted together have the same five constants, the mean of both, and three of their own."""
    calibrate = loaded("calibrate")
    found = calibrate.rows(timings, "L40S")
    fits = calibrate.fitted_family({"h100-sxm": found, "h200-sxm": found}, 1)
    one, two = fits["h100-sxm"], fits["h200-sxm"]
    assert all(getattr(one, name) == getattr(two, name) for name in calibrate.OF_THE_DIE)
    assert calibrate.family_of("h200-sxm") == ("h100-sxm", "h200-sxm")
    assert calibrate.family_of("l40s") == ("l40s",)


def test_sheets_of_one_die_have_the_same_constants_of_the_die() -> None:
    """As ``calibrate.py`` reads them off."""
    calibrate = loaded("calibrate")
    for family in calibrate.FAMILIES:
        sheets = [{name: getattr(calibrate.Chip.of(pm.machine(chip)).constants, name) for name in calibrate.OF_THE_DIE}
                  for chip in family]  # fmt: skip
        assert all(each == sheets[0] for each in sheets)
