"""Rebinding: kernels with sizes, extents or names changed throughout."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings
from strategies import programs

import perfmodel as pm
from perfmodel.graph import Kernel, contracted
from perfmodel.graph.nodes import Op
from perfmodel.graph.operands import Given
from perfmodel.graph.rebinding import (
    affine_sizes,
    changed_kernels,
    given_sizes,
    joined_measures,
    measures,
    with_extents,
    with_names,
    with_sizes,
    with_tensors,
)

n = pm.dims("n")


def only_op(tensor: pm.Tensor) -> Op:
    """The one op of a program."""
    (op,) = pm.program(tensor).ops
    return op


def groups(p: pm.Program) -> list[tuple[set[str], bool]]:
    """Labels that measure the same, and whether more follows from them."""
    return [(set(measure.labels), measure.tied) for measure in measures(p.kernels) if measure.labels]


# which labels go together


def test_labels_of_their_own_stand_alone() -> None:
    """m, n and k of a matmul measure different axes."""
    assert groups(pm.matmul(2, 3, 4)) == [({"batch"}, False), ({"m"}, False), ({"n"}, False), ({"k"}, False)]


def test_a_tensor_under_two_labels_joins_them() -> None:
    """x is read along i and along j, so i and j have one extent."""
    x = pm.tensor("x", {"i": 4})
    assert groups(pm.program(pm.einsum("i,j->ij", x, x))) == [({"i", "j"}, False)]


def test_joins_go_through_several_tensors() -> None:
    """i and j by x, j and l by y: all three."""
    x, y = pm.tensor("x", {"i": 4}), pm.tensor("y", {"j": 4})
    p = pm.program(pm.einsum("i,j->ij", x, x), pm.exp(y.rename(j="l")), pm.exp(y))
    assert ({"i", "j", "l"}, False) in groups(p)


def test_windows_and_rolls_tie_what_they_index() -> None:
    """The outputs and taps of a window, and the axis that it slides over; a roll wraps at its extent."""
    x = pm.relu(pm.tensor("x", {"h": 8}))
    assert groups(pm.program(pm.sum(pm.window(x, "h", "p", "r", 3), "r"))) == [
        ({"h"}, True), ({"p"}, True), ({"r"}, True)
    ]  # fmt: skip
    assert groups(pm.program(pm.exp(pm.tensor("x", {"i": 4, "j": 2}).roll("i", 1)))) == [({"i"}, True), ({"j"}, False)]


def test_a_table_that_is_looked_up_is_free() -> None:
    """Its rows are no label of the look-up, and the labels of the index are free too."""
    table, ids = pm.tensor("W", {"v": 9, "d": 4}), pm.tensor("ids", {"t": 3}, dtype="int32")
    p = pm.program(pm.gather(table, "v", ids))
    assert groups(p) == [({"t"}, False), ({"d"}, False)]


# changing


def test_changed_kernels_change_ops_and_repetitions() -> None:
    """Names and sections stay."""
    op = only_op(pm.exp(pm.tensor("x", {"i": 4})))
    kernel = Kernel("k", (op,), 3, 2)
    (found,) = changed_kernels((kernel,), lambda item: item, lambda repeat, what: repeat * 2)
    assert found == Kernel("k", (op,), 6, 2)
    assert changed_kernels((kernel,), lambda item: item) == (kernel,)


def test_with_tensors_changes_inputs_and_output() -> None:
    """Every tensor that the op touches."""
    op = only_op(pm.exp(pm.tensor("x", {"i": 4})))
    found = with_tensors(op, lambda tensor: tensor.named(tensor.name + "_new"))
    assert [access.tensor.name for access in (*found.reads, found.output)] == ["x_new", "exp_new"]


def test_with_sizes_changes_every_size_of_an_op() -> None:
    """Extents, the steps and padding of a window, the reach of a mask."""
    x = pm.window(pm.tensor("x", {"h": 8}), "h", "p", "r", 3, padding=1)
    op = with_sizes(only_op(pm.sum(x, "r")), lambda size: 2 * size, lambda mask: mask)
    assert [axis.extent for axis in op.space] == [2 * 8, 2 * 3]
    assert affine_sizes(op.reads[0].index[0]) == (2, 2, -2)  # type: ignore[arg-type]
    q, keys = pm.tensor("Q", {"q": 4}), pm.tensor("K", {"kv": 4})
    masked = only_op(contracted([q, keys], ("q", "kv"), mask=pm.causal(window="w")))
    assert with_sizes(masked, lambda size: size, lambda mask: mask.bound({pm.dims("w"): 2})).mask == pm.causal(window=2)


def test_with_extents_changes_labels_and_axes() -> None:
    """The space by its labels, tensors by the number of their axis."""
    op = only_op(pm.exp(pm.tensor("x", {"i": 4, "j": 5})))
    found = with_extents(op, {"i": 6}, {("x", 0): 6, ("exp", 0): 6})
    assert [axis.extent for axis in found.space] == [6, 5]
    assert found.reads[0].tensor.extents == found.output.tensor.extents == (6, 5)


def test_with_names_renames_labels_tensors_and_indices_of_look_ups() -> None:
    """The index tensor of a gather is named in the access of the table."""
    table, ids = pm.tensor("W", {"v": 9, "d": 4}), pm.tensor("ids", {"t": 3}, dtype="int32")
    op = only_op(pm.gather(table, "v", ids))
    found = with_names(op, {"t": "s"}, {"ids": "more"}, {}, "gather_2", "two")
    assert (found.name, found.stage) == ("gather_2", "two")
    assert str(found.reads[0].index[0]) == "more[s]"
    assert found.reads[1].tensor == pm.tensor("more", {"s": 3}, dtype="int32")


def test_with_names_puts_other_tensors_in_the_place_of_joined_inputs() -> None:
    """x becomes the result y of another program, whose axis has another label."""
    op = only_op(pm.exp(pm.tensor("x", {"i": 4})))
    found = with_names(op, {"i": "i"}, {}, {"x": pm.tensor("y", {"m": 4})}, "exp", "")
    assert found.reads[0].tensor == pm.tensor("y", {"m": 4})
    assert found.reads[0].index == ("i",)


def test_given_counts_may_not_become_negative() -> None:
    """A napkin's n - 5 FLOPs at n = 3."""
    op = only_op_of_workload()
    with pytest.raises(pm.DimensionError, match="flops = n - 5 would be -2; a count is zero or more"):
        with_sizes(op, lambda size: size if isinstance(size, int) else int(size.xreplace({n: sympy.Integer(3)})),
                   lambda mask: mask)  # fmt: skip


def only_op_of_workload() -> Op:
    """An opaque op of n - 5 FLOPs."""
    (op,) = pm.workload(flops="n - 5", bytes_read=1).ops
    return op


def test_the_sizes_of_given_counts_and_windows_are_listed() -> None:
    """In the order of their fields."""
    assert given_sizes(Given(flops=1, special=2, bytes_read=3, bytes_written=4)) == (1, 2, 3, 4)


# laws


@settings(max_examples=60)
@given(programs())
def test_labels_that_go_together_have_one_extent(p: pm.Program) -> None:
    """Whatever shares an axis of a tensor is as long as it is, and every label is in one group."""
    found = measures(p.kernels)
    assert sorted(label for measure in found for label in measure.labels) == sorted(p.labels)
    for measure in found:
        extents = {p.labels[label] for label in measure.labels}
        extents |= {p.tensors[name].extents[place] for name, place in measure.axes}
        assert len(extents) == 1


@settings(max_examples=40)
@given(programs())
def test_changing_nothing_changes_nothing(p: pm.Program) -> None:
    """Identity on sizes, names and extents gives the same kernels."""
    same = changed_kernels(p.kernels, lambda op: with_sizes(op, lambda size: size, lambda mask: mask))
    assert same == p.kernels
    assert changed_kernels(p.kernels, lambda op: with_extents(op, {}, {})) == p.kernels
    assert changed_kernels(p.kernels, lambda op: with_names(op, {}, {}, {}, op.name, op.stage)) == p.kernels


def test_what_is_one_in_another_program_is_joined() -> None:
    """Split, gated_mlp reads x in parts and makes y along hidden; as described, both are one measure."""
    plain = pm.gated_mlp(8, 8, 8)
    parts = measures(pm.split(plain, hidden=2).kernels)
    (apart,) = [item for item in parts if "hidden" in item.labels]
    assert (("x", 1) in apart.axes, apart.tied) == (False, False)
    (joined,) = [
        item for item in joined_measures(parts, measures(plain.kernels), ["x", "y"]) if "hidden" in item.labels
    ]
    assert (("x", 1) in joined.axes, joined.tied) == (True, True)
