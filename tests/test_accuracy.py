"""The page of results is made from whatever tables are given, and says what has no estimate."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "accuracy.py"


@pytest.fixture(scope="module")
def accuracy() -> ModuleType:
    sys.path.insert(0, str(SCRIPT.parent))  # as a script has it
    spec = importlib.util.spec_from_file_location("accuracy", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table() -> pd.DataFrame:
    same = {"source": "aiconfigurator", "op": "gemm", "dtype": "bf16", "batch": "1", "n": "4096", "k": "4096"}
    more = {"extra": "fw=vllm-1.0", "note": "", "time_us": "600"}
    rows = [{"gpu": gpu, "m": m} for gpu in ("h100-sxm", "H100|H200") for m in ("8", "512", "4096")]
    return pd.DataFrame([same | more | row for row in rows])


def test_every_row_is_on_the_page_with_an_estimate_or_a_reason(accuracy: ModuleType) -> None:
    """3 rows of a chip, 3 of a name that is two; every effect has a line in both tables."""
    page = "\n".join(accuracy.page(table()))
    assert "6 rows, of which 3 have an estimate" in page
    assert "| 3 | chip ambiguous: H100\\|H200 |" in page
    assert page.count("| split-k |") == 2
    assert "| aiconfigurator | h100-sxm | bf16 | 3 |" in page


def test_a_shape_is_held_out_whatever_the_chip(accuracy: ModuleType) -> None:
    """The hash sees the sizes alone."""
    answers = accuracy.pm.validate(table()).answers
    held = [accuracy.is_held(each) for each in answers]
    assert held[:3] == held[3:]
