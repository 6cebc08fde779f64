"""Labels resized throughout a program, and its padded axes."""

from __future__ import annotations

import perfmodel as pm
from perfmodel.graph.paddings import Padding
from perfmodel.graph.resizing import paddings_of, resized_kernels, valid_axes, valid_shape


def test_axes_follow_the_labels_that_measure_them() -> None:
    """x is read along i and along j: both go with either."""
    x = pm.tensor("x", {"i": 4})
    p = pm.program(pm.einsum("i,j->ij", x, x))
    (op,) = resized_kernels(p.kernels, {"i": 6, "j": 6})[0].ops
    assert dict(op.space) == {"i": 6, "j": 6}
    assert [access.tensor.extents for access in (*op.reads, op.output)] == [(6,), (6,), (6, 6)]


def test_padded_labels_are_padded_anew() -> None:
    """9 is where the values end; the axis runs to 3 * 4."""
    p = pm.pad(pm.matmul(2, 5, 3), n=4)
    (op,) = resized_kernels(p.kernels, {"n": 9})[0].ops
    assert op.padded == (Padding("n", 9, (4,)),)
    assert op.output.tensor.extents == (1, 2, 12)
    (whole,) = resized_kernels(p.kernels, {"n": 8})[0].ops
    assert whole == pm.matmul(2, 8, 3).ops[0]


def test_padded_axes_are_found_wherever_the_label_measures_one() -> None:
    """n is the last axis of B and of C; what is not padded is not listed."""
    p = pm.pad(pm.matmul(2, 5, 3), n=4)
    assert paddings_of(p.kernels) == {"n": Padding("n", 5, (4,))}
    ends = valid_axes(p.kernels)
    assert ends == {("B", 2): 5, ("C", 2): 5}
    assert valid_shape(p.tensors["B"], ends) == (1, 3, 5)
    assert valid_axes(pm.matmul(2, 5, 3).kernels) == {}


def test_what_is_handed_on_ends_where_it_did() -> None:
    """C becomes A: its columns are the k of the next run."""
    p = pm.pad(pm.matmul(2, 5, 5), k=4, n=4)
    assert valid_axes(p.kernels, [("C", "A")]) == {("A", 2): 5, ("B", 1): 5, ("B", 2): 5, ("C", 2): 5}
