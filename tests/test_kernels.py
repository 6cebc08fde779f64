"""Kernels: what they make, what they need, and the stages in them."""

from __future__ import annotations

from perfmodel.graph.building import reduced
from perfmodel.graph.kernels import Kernel
from perfmodel.graph.nodes import mapped, tensor
from perfmodel.graph.tracing import program

x, b = tensor("x", {"m": 4, "n": 8}), tensor("b", {"n": 8})


def test_a_kernel_needs_what_it_does_not_make() -> None:
    """Inputs in order of first use, each once; what passes between its ops is made, not needed."""
    shifted = (x + b).named("shifted")
    ops = program(reduced("sum", shifted * x, "n", name="total")).ops
    kernel = Kernel("all", ops)
    assert kernel.needed == ("x", "b")
    assert kernel.made == ("shifted", "mul", "total")


def test_kernels_of_one_op_need_what_others_make() -> None:
    """Cut between its ops, the program's intermediates cross."""
    kernels = program(mapped("exp", (x + b).named("shifted")).named("y")).kernels
    assert [kernel.needed for kernel in kernels] == [("x", "b"), ("shifted",)]
    assert [kernel.made for kernel in kernels] == [("shifted",), ("y",)]


def test_a_tensor_used_twice_is_needed_once() -> None:
    """x * x reads one tensor."""
    assert program(x * x).kernels[0].needed == ("x",)


def test_stages_are_those_of_the_ops() -> None:
    """In order, each once; an op without a stage stands under its own name."""
    first = mapped("exp", x, stage="softmax")
    ops = program(mapped("neg", mapped("abs", first, stage="softmax"))).ops
    assert Kernel("all", ops).stages == ("softmax", "neg")


def test_a_kernel_runs_once_in_the_first_section_unless_said() -> None:
    """And an empty one needs, makes and stages nothing; kernels are equal by their fields."""
    empty = Kernel("empty", ())
    assert (empty.repeat, empty.section) == (1, 0)
    assert (empty.needed, empty.made, empty.stages) == ((), (), ())
    assert empty == Kernel("empty", (), 1, 0) != Kernel("empty", (), 2)
