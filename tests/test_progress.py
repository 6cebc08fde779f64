"""The line that says how far long work is."""

from __future__ import annotations

import pytest

import perfmodel as pm
from perfmodel.sweeping.progress import Progress


def test_a_bar_says_how_much_is_done_and_left(capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the points in 10 s leaves 10 s; the last one ends the line."""
    times = iter([0.0, 10.0, 20.0])
    shown = Progress(4, show=True, clock=lambda: next(times))
    shown.add(2)
    shown.add(2)
    text = capsys.readouterr().err
    assert "50% 2 of 4 points, 10 s left" in text
    assert text.endswith("100% 4 of 4 points, 0 s left \n")


def test_nothing_is_shown_where_nobody_waits(capsys: pytest.CaptureFixture[str]) -> None:
    """No terminal, or not wanted: not a letter."""
    for show in (None, False):
        pm.sweep(pm.matmul("n", "n", "n"), {"n": range(1, 9)}, metrics="flops", block=1, progress=show)
    assert capsys.readouterr().err == ""


def test_a_sweep_shows_its_bar_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """progress=True shows each block: 8 points on 2 machines are 16 rows."""
    pm.sweep(pm.matmul("n", "n", "n"), {"n": range(1, 9)}, ["l4", "l40s"], "flops", block=8, progress=True)
    assert "16 of 16 points" in capsys.readouterr().err
