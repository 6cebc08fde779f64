"""``schedules``: the loops, passes and loads of one block."""

from __future__ import annotations

import pytest

import perfmodel as pm
from perfmodel.graph.schedules import Loop, Schedule
from perfmodel.graph.tiled import Tiled
from perfmodel.graph.tilings import Cut, Tiling


def schedule(program: pm.Program, **stream: int) -> Schedule:
    """The schedule of a program of one kernel with these loops, outermost first."""
    tiling = Tiling(stream=tuple(Cut(*pair) for pair in stream.items()))
    return Tiled(program.kernels[0], tiling, frozenset(program.returned)).schedule


@pytest.mark.parametrize(
    ("program", "label", "passes"),
    [
        (pm.matmul(8, 8, 8), "k", 1),
        (pm.fuse(pm.softmax(8, 8)), "n", 3),  # the maximum, the sum, the quotient
        (pm.fuse(pm.attention(8, 8, 4)), "kv", 3),  # the maximum, the sum, the weighted sum
    ],
)
def test_passes_are_one_and_the_chain_of_reductions_that_wait(program: pm.Program, label: str, passes: int) -> None:
    """A loop runs again for each reduction over it that must end first."""
    loops = [node for node in schedule(program, **{label: 2}).body if isinstance(node, Loop)]
    assert [loop.label for loop in loops] == [label] * passes


def test_a_tensor_is_loaded_at_the_innermost_loop_that_moves_it() -> None:
    """With m outside k, B moves with k only and is loaded in it; with k outside m too, B waits outside of m."""
    (outer,) = schedule(pm.matmul(8, 8, 8), m=2, k=2).body
    assert isinstance(outer, Loop)
    (inner,) = outer.body
    assert isinstance(inner, Loop)
    assert (outer.label, [load.tensor.name for load in outer.loads]) == ("m", [])
    assert (inner.label, [load.tensor.name for load in inner.loads]) == ("k", ["A", "B"])
    (outer,) = schedule(pm.matmul(8, 8, 8), k=2, m=2).body
    assert isinstance(outer, Loop)
    assert (outer.label, [load.tensor.name for load in outer.loads]) == ("k", ["B"])


def test_what_no_loop_moves_is_loaded_once_a_block() -> None:
    """A loop over m leaves B outside."""
    found = schedule(pm.matmul(8, 8, 8), m=2)
    assert [load.tensor.name for load in found.loads] == ["B"]
