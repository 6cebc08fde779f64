"""What is said beside suggestions: that nothing is better, and what the estimate has no cost for."""

from __future__ import annotations

import perfmodel as pm
from perfmodel.suggesting.remarks import costless_rows

A100 = "a100-sxm-80gb"


def test_what_the_estimate_has_no_cost_for_is_said() -> None:
    """Rows that are no whole pieces, which the ideal roofline has no cost of; not where they cost, or are whole."""
    found = pm.suggest(pm.matmul(8192, "n", 4096), A100, n=50257, effects="ideal")
    assert any("n = 50257: rows of 100514 bytes are no whole pieces of 16 bytes" in text for text in found.notes)
    assert "no cost for it here" in found.explain()
    assert not any("rows" in text for text in pm.suggest(pm.matmul(8192, "n", 4096), A100, n=50257).notes)
    lines = costless_rows(pm.gemv(64, "k"), {"k": 4104}, pm.machine("h100-sxm"), "ideal", None)
    assert "no whole lines of 128 bytes" in lines[0]
    assert costless_rows(pm.gemv(64, "k"), {"k": 4096}, pm.machine("h100-sxm"), "ideal", None) == ()


def test_that_nothing_is_better_is_said() -> None:
    """Where what is wanted is the first row, or the only one, the answer says so."""
    first, only = (pm.suggest(pm.gemv("n", 4096), "h100-sxm", within, n=4096) for within in (0.05, 0))
    assert "nothing that is allowed is worth more than what is wanted" in first.notes[0]
    assert "nothing else is allowed" in only.notes[0]
    for each in (first, only):
        assert each.notes[0] in each.explain()
        assert each.notes[0] in repr(each)
        assert each.notes[0] in each.to_dict()["notes"]
    better = pm.suggest(pm.matmul("n", "n", "n"), A100, n=1793)
    assert not any("nothing" in text for text in better.notes)


def test_a_vector_has_no_rows() -> None:
    """Nothing is said of the rows of a program whose tensors have one axis."""
    assert costless_rows(pm.elementwise("x + 1", "n"), {"n": 1001}, pm.machine("h100-sxm"), "ideal", None) == ()
