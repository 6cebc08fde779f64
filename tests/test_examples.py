"""Every file in examples/ runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples() -> None:
    """The list below is not empty: an empty one would pass without running anything."""
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    """A script in examples/ ends without an error, prints something, and warns of nothing."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONWARNINGS": "error"}
    run = subprocess.run([sys.executable, path], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout


def test_the_demo_ends_with_what_it_shows() -> None:
    """The long working comes first: a terminal is left with the tables and the conclusion."""
    path = next(path for path in EXAMPLES if path.name == "llama_decode_table.py")
    said = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout
    working, tables, conclusion = [said.index(word) for word in ("The working", "batch       step", "What it shows")]
    assert working < tables < conclusion
    assert "The working" not in said[tables:]
    assert said[conclusion:].count("\n") == 3  # three lines
