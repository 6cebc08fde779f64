"""Traffic: the bars of a program add up to its bytes."""

from __future__ import annotations

import pytest

import perfmodel as pm

ATTENTION = pm.attention(256, 256, 64, heads=2)
STAGED = pm.fuse(ATTENTION, by="stage")


def test_bars_add_up_to_the_bytes() -> None:
    """What is read is plain, what is written hatched."""
    drawn = pm.plot.traffic(ATTENTION, STAGED)
    for place, program in enumerate((ATTENTION, STAGED)):
        here = [each for each in drawn.patches if each.get_height() and round(each.get_x() + 0.3) == place]
        assert sum(each.get_height() for each in here) == program.bytes
        assert sum(each.get_height() for each in here if each.get_hatch()) == program.bytes_written
    assert drawn.get_ylabel() == "moved"
    assert drawn.yaxis.get_major_formatter()(2e9, 0) == "2 GB"


def test_few_tensors_have_a_colour_each() -> None:
    """Six have names and the rest stand together: eight colours are told apart."""
    names = [text.get_text() for text in pm.plot.traffic(ATTENTION).get_legend().get_texts()]
    assert len(names) == 8
    assert names[-2:] == ["others", "written"]


def test_programs_are_called_by_what_differs() -> None:
    """By sizes, and by the steps that made them."""
    sizes = pm.plot.traffic(pm.matmul(64, 64, 64), pm.matmul(64, 64, 128)).get_xticklabels()
    assert [each.get_text() for each in sizes] == ["matmul(m=64 n=64 k=64, bf16)", "matmul(m=64 n=64 k=128, bf16)"]
    steps = pm.plot.traffic(ATTENTION, STAGED).get_xticklabels()
    assert [each.get_text() for each in steps] == ["as described", "fuse(by='stage')"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pm.plot.traffic(), "at least one program"),
        (lambda: pm.plot.traffic(pm.matmul("n", 8, 8)), "holds symbols"),
        (lambda: pm.plot.traffic(3, labels=["x"]), "expected programs"),
        (lambda: pm.plot.traffic(STAGED, labels=["a", "b"]), "2 labels for 1 programs"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message: str) -> None:
    with pytest.raises(pm.PerfModelError, match=message):
        call()
