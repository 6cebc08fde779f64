"""Repetitions: what of a program runs again, and what one run hands to the next."""

from __future__ import annotations

import perfmodel as pm
from perfmodel.graph.repeating import Repetition


def test_repeat_remembers_what_is_handed_on() -> None:
    """The carry is a part of the program, kept by transforms and bound with its sizes."""
    p = pm.elementwise("x*2 + 1", "n").repeat("layers", carry={"y": "x"})
    staged = pm.tile(pm.fuse(p), i=8).at(n=32, layers=5)
    assert staged.loops == (Repetition(5, (("y", "x"),)),)
    assert staged.kernels[0].repeat == 5


def test_repetitions_nest_from_the_inside_out() -> None:
    """Two runs, three times: the inner repetition first, and a repetition of one is none."""
    p = pm.elementwise("x*2", 4).repeat(2, carry={"y": "x"}).repeat(1).repeat(3)
    assert p.loops == (Repetition(2, (("y", "x"),)), Repetition(3))


def test_sequenced_repetitions_keep_their_kernels_under_new_names() -> None:
    """The second program's x and y become y and y_2, one section later."""
    layer = pm.elementwise("x*2", 4)
    both = [layer.repeat(times, carry={"y": "x"}) for times in (2, 3)]
    p = pm.sequence(*both, join={"y": "x"})
    assert p.loops == (Repetition(2, (("y", "x"),)), Repetition(3, (("y_2", "y"),), 1, 1))


def test_what_is_handed_on_is_resized_together() -> None:
    """y[m, n] becomes x[m, k]: k is as long as n, which both are where one of them is given."""
    p = pm.matmul(2, 4, 4).repeat(3, carry={"C": "A"})
    assert p.at(n=8).labels == {"batch": 1, "m": 2, "n": 8, "k": 8}


def test_programs_that_hand_on_differently_differ() -> None:
    """What is handed on is a part of what is computed."""
    x, z = pm.tensor("x", {"i": 4}), pm.tensor("z", {"i": 4})
    p = pm.program((x * 2 + z).named("y"))
    assert p.repeat(2, carry={"y": "x"}, shared="z") != p.repeat(2, carry={"y": "z"}, shared="x")
