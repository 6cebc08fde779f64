"""Every result shows itself in the same ways."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import perfmodel as pm

P = pm.matmul(512, 512, 512)
ROUNDED = pm.check(pm.cast(pm.matmul("m", "n", "k"), "fp16"), rounding=True)
RESULTS: dict[str, Any] = {
    "program": P,
    "table": P.traffic(),
    "estimate": pm.estimate(P, "h100-sxm"),
    "fit": pm.fits(P, "h100-sxm"),
    "fit of a formula": pm.fits(pm.matmul("n", 8, 8), "h100-sxm"),
    "comparison": pm.compare(P, P, on="h100-sxm"),
    "check": pm.check(P),
    "check with rounding": ROUNDED,
    "best tiles": pm.best_tiles(P, capacity_bytes=2**16),
    "suggestions": pm.suggest(pm.matmul("n", 512, 512), "h100-sxm", n=512, top=2),
    "bound": pm.io_lower_bound(P),
    "gap": pm.io_lower_bound(P).against(pm.tile(P, m=64, n=64)),
    "machine": pm.machine("h100-sxm"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_explains_itself_and_is_a_value(name: str) -> None:
    """Text, notebook, plain data, equality and pickling."""
    found = RESULTS[name]
    assert repr(found)
    said = found.explain()
    assert isinstance(said, str)
    assert repr(said) == str(said)
    assert found._repr_html_().startswith("<")
    json.dumps(found.to_dict())
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_comparison_explains_each_estimate() -> None:
    """The table comes first, then each working, in order."""
    found = pm.compare(P, on=["h100-sxm", "l4"])
    assert found.explain().split("\n\n", 1)[0] == repr(found)
    assert all(str(each.explain()) in found.explain() for each in found.estimates)


def test_best_tiles_explain_what_the_next_best_costs() -> None:
    """The line of the next best has the bytes of the second row of the table."""
    found = RESULTS["best tiles"]
    *_, moved, _ = found.leading[1]
    lines = found.explain().splitlines()
    assert any(line.startswith("  next") and f"m={found.leading[1][0]}" in line for line in lines)
    assert pm.tile(P, grid=dict(zip("mn", found.leading[1], strict=False)), stream={"k": 1}).bytes == moved
    alone = pm.best_tiles(P, capacity_bytes=2**16, top=1)
    assert "  next" not in alone.explain()


def test_a_check_explains_the_differences_allowed() -> None:
    """Each output's largest difference stands beside what its formats allow."""
    (name, (seen, bound)), *_ = ROUNDED.errors.items()
    assert f"differs by {seen:.3g} at most; {bound:.3g} is allowed" in ROUNDED.explain()
    assert ROUNDED.to_dict()["errors"][name] == [seen, bound]


def test_a_table_explains_its_columns() -> None:
    """A range for numbers, entries for text and formulas, nothing for no rows."""
    assert pm.matmul("n", 8, 8).traffic().explain().splitlines()[0].endswith("rows")
    assert P.memory().explain() != P.traffic().explain()
