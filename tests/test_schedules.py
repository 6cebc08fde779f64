"""``schedules``: the loops, passes and loads of one block."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from staging import REFUSED, arrays_of, assert_counts_as_it_runs, assert_same_values
from strategies import programs

import perfmodel as pm
from perfmodel.graph import reduced
from perfmodel.graph.needs import Need, needs_of
from perfmodel.graph.schedules import Loop, Schedule, loads_of
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


def test_what_is_made_outside_a_pass_is_not_made_again() -> None:
    """A softmax over n: the shift and the exponential run in pass 2 and again in 3, the maximum in 1 alone."""
    loops = [node for node in schedule(pm.fuse(pm.softmax(8, 8)), n=2).body if isinstance(node, Loop)]
    made = [[need.op.output.tensor.name for need in loop.body if isinstance(need, Need)] for loop in loops]
    assert made == [["max"], ["sub", "exp", "sum"], ["sub", "exp", "y"]]
    assert [[load.tensor.name for load in loop.loads] for loop in loops] == [["x"]] * 3


def test_a_tensor_that_two_ops_read_is_loaded_once() -> None:
    """x and its neighbours: one load, of the hull."""
    x = pm.tensor("x", {"o": 8})
    near = reduced("sum", pm.window(x.rename({"o": "h"}), "h", "o", "t", 3, padding=1), "t")
    p = pm.fuse(pm.program((near + x).named("y")))
    (load,) = loads_of(needs_of(p.kernels[0], Tiling(grid=(Cut("o", 4),)), ["y"]))
    assert [load.part[0].at({"o": number}) for number in (0, 1)] == [(0, 5), (3, 8)]
    assert load.labels == ("o",)


def test_a_sum_is_not_added_to_again_by_a_loop_inside_its_own() -> None:
    """D = sum of A over t beside sums of B over t for each z: z inside t would add to D for every trip of z."""
    a, b = pm.tensor("A", {"o": 4, "t": 4}), pm.tensor("B", {"z": 4, "t": 4})
    both = pm.fuse(pm.program((reduced("sum", a, "t") * reduced("sum", b, "t")).named("E")))
    with pytest.raises(pm.TransformError, match=r"each trip of 'z' inside that loop .* stream 'z' outside 't'"):
        schedule(both, t=2, z=2, o=2)
    f = pm.tensor("F", {"z": 4})
    p = pm.fuse(pm.program((reduced("sum", a, "t") * f).named("E")))  # nothing in the loop over t is moved by z
    for order in (("t", "z", "o"), ("z", "t", "o"), ("t", "o", "z")):
        cut = pm.tile(p, stream=dict.fromkeys(order, 2))
        run = pm.simulate(cut, arrays_of(p))
        assert_counts_as_it_runs(cut, run)
        assert_same_values(run, pm.simulate(p, arrays_of(p)))
    highest = pm.fuse(pm.program((reduced("max", a, "t") * f).named("E")))  # twice the same changes no maximum
    cut = pm.tile(highest, stream={"t": 2, "z": 2, "o": 2})
    assert_same_values(pm.simulate(cut, arrays_of(cut)), pm.simulate(highest, arrays_of(highest)))


def test_a_loop_that_moves_nothing_in_a_pass_is_left_out() -> None:
    """Keys outside, rows inside: the quotients wait for all keys, and run once a tile of rows, not for each of keys."""
    p = pm.online(pm.fuse(pm.attention(8, 9, 2)), "kv")
    keys, rows = schedule(p, kv=3, q=4).body
    assert isinstance(keys, Loop)
    assert isinstance(rows, Loop)
    assert (keys.label, rows.label) == ("kv", "q")
    assert pm.tile(p, stream={"kv": 3, "q": 4}).flops == pm.tile(p, grid={"q": 4}, stream={"kv": 3}).flops


@settings(max_examples=60)
@given(st.data())
def test_every_op_runs_inside_the_loops_that_move_it(data: st.DataObject) -> None:
    """Whatever the loops: each op runs somewhere, in their order, down to the innermost one that moves it."""
    program = pm.fuse(data.draw(programs()))
    kernel = data.draw(st.sampled_from(program.kernels))
    own = sorted({axis.label for op in kernel.ops for axis in op.space})
    loops = data.draw(st.lists(st.sampled_from(own), unique=True, max_size=3)) if own else []
    tiling = Tiling(stream=tuple(Cut(label, 1) for label in loops))
    tiled = Tiled(kernel, tiling, program.leaving & frozenset(kernel.made))
    try:
        found = list(tiled.runs())
    except pm.TransformError as error:
        if not any(reason in str(error) for reason in REFUSED):
            raise
        return
    assert {id(need) for need, _ in found} == {id(need) for need in tiled.needs}
    for need, path in found:
        assert list(path) == [label for label in tiled.loops if label in path]
        moving = [label for label in tiled.loops if label in need.labels]
        assert set(moving) <= set(path)
        assert not path or path[-1] in moving
