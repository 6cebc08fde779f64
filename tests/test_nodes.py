"""Tensors and ops: what they know of themselves, and the maps that expressions make."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from touching import op_of

from perfmodel.errors import DimensionError, ExpressionError, FormatError, LabelError
from perfmodel.expressions import dims
from perfmodel.graph.building import contracted, reduced, window
from perfmodel.graph.indexing import Affine, Axis
from perfmodel.graph.masks import Mask, causal
from perfmodel.graph.nodes import Access, Tensor, applied, mapped, tensor
from perfmodel.graph.operands import Scalar
from perfmodel.number_formats import format

m, n = dims("m n")


def scores(mask: Mask | None = None) -> Tensor:
    """S = Q K^T, restricted by a mask."""
    q, k = tensor("Q", {"q": 4, "d": 8}), tensor("K", {"kv": 6, "d": 8})
    return contracted([q, k], ("q", "kv"), mask=mask, name="S")


# tensors


def test_a_tensor_knows_its_axes() -> None:
    """Labels and extents, outermost first; sizes may be ints, symbols or text; bf16 unless said."""
    x = tensor("x", {"i": 8, "j": n, "k": "2*m"})
    assert (x.labels, x.extents, x.format.name) == (("i", "j", "k"), (8, n, 2 * m), "bf16")
    assert [x.extent(label) for label in x.labels] == [8, n, 2 * m]
    assert tensor("s", {}, "fp32").axes == ()


def test_a_tensor_is_shown_as_it_is_made() -> None:
    """The repr is the call, a result included: its op does not show."""
    assert repr(tensor("x", {"i": m, "j": 64}, "fp8")) == "pm.tensor('x', {'i': m, 'j': 64}, dtype='fp8_e4m3')"
    assert repr(tensor("x", {"i": 4}) * 2) == "pm.tensor('mul', {'i': 4}, dtype='bf16')"


def test_a_tensor_is_a_value() -> None:
    """Equal by name, axes and format, hashable, frozen, and the same after pickling with what made it."""
    x = tensor("x", {"i": 4, "j": n})
    assert x == tensor("x", {"i": 4, "j": n}) != tensor("x", {"i": 4, "j": n}, "fp32")
    assert x not in (tensor("y", {"i": 4, "j": n}), tensor("x", {"j": n, "i": 4}))
    made = mapped("exp", x.roll("i", 1)) + 1
    again = pickle.loads(pickle.dumps(made))
    assert (again, hash(again), again.producer) == (made, hash(made), made.producer)
    with pytest.raises(FrozenInstanceError):
        x.name = "y"  # type: ignore[misc]


@pytest.mark.parametrize(
    "extent", [0, -1, 1.5, True, float("nan"), float("inf"), 10**18, None, "n +", "__import__('os')"]
)
def test_bad_extents_are_refused(extent: Any) -> None:
    """Zero, negative, fractional, truth values, enormous, NaN, and text that is no size; the label is named."""
    with pytest.raises((DimensionError, ExpressionError), match=r"\bi\b"):
        tensor("x", {"i": extent})


@pytest.mark.parametrize("label", ["", "2i", "a b", 3, None, True])
def test_bad_labels_are_refused(label: Any) -> None:
    """Labels are identifiers."""
    with pytest.raises(LabelError, match="a label is a name such as 'm' or 'kv_head'"):
        tensor("x", {label: 4})


def test_bad_names_axes_and_formats_are_refused() -> None:
    """Each with what was expected."""
    with pytest.raises(LabelError, match=r"tensor 'x y': a name is an identifier"):
        tensor("x y", {"i": 4})
    with pytest.raises(LabelError, match=r"tensor 'x': axes map labels to sizes, .* got \('i', 4\)"):
        tensor("x", ("i", 4))  # type: ignore[arg-type]
    with pytest.raises(FormatError, match=r"no format 'b16' \(did you mean 'bf16'\?\)"):
        tensor("x", {"i": 4}, "b16")


def test_an_unknown_label_lists_what_there_is() -> None:
    """With a near miss."""
    x = tensor("x", {"kv_head": 4, "q": 8})
    with pytest.raises(LabelError) as found:
        x.extent("kv_heads")
    assert str(found.value) == (
        "tensor 'x' has no label 'kv_heads'; its labels are kv_head, q (did you mean 'kv_head'?)"
    )


# views


def test_renaming_is_a_view() -> None:
    """The tensor is read under other labels; name, extents and format stay."""
    x = tensor("x", {"i": 4, "j": n}, "fp32")
    seen = x.rename({"i": "a"}, j="b")
    assert (seen.name, seen.labels, seen.extents, seen.format.name) == ("x", ("a", "b"), (4, n), "fp32")
    assert seen.access == Access(x, ("a", "b"))
    assert seen.rename(a="b", b="a").access == Access(x, ("b", "a"))  # both at once


def test_a_mask_is_renamed_with_its_labels() -> None:
    """Scores over kv, seen over s, are restricted over s."""
    assert scores(causal()).rename(kv="s").mask == causal(key="s")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"z": "a"}, "has no label 'z'"),
        ({"i": "2"}, "a label is a name"),
        ({"i": "j"}, r"rename: tensor 'x' would have a label twice in j, j"),
        ({3: "a"}, "has no label 3"),
        ("ia", "rename: expected labels such as"),
        ({"i": None}, "a label is a name"),
    ],
)
def test_bad_renames_are_refused(names: Any, message: str) -> None:
    """Labels that it lacks, that cannot be, or that it would have twice."""
    with pytest.raises(LabelError, match=message):
        tensor("x", {"i": 4, "j": n}).rename(names)


def test_rolling_is_a_view() -> None:
    """One axis is read further along and wraps around; a roll under another label rolls on."""
    x = tensor("x", {"i": 4, "d": n})
    assert x.roll("d", "n/2").access == Access(x, ("i", Affine((("d", 1),), n / 2, n)))
    assert x.rename(d="e").roll("e", -1).access == Access(x, ("i", Affine((("e", 1),), -1, n)))
    assert x.roll("d", 1).rename(d="e").access == Access(x, ("i", Affine((("e", 1),), 1, n)))
    assert x.roll("d", 1).roll("i", 2).access.index == (Affine((("i", 1),), 2, 4), Affine((("d", 1),), 1, n))


@pytest.mark.parametrize("shift", [True, 1.5, float("nan"), "d +", None])
def test_bad_shifts_are_refused(shift: Any) -> None:
    """A shift is a whole number or a formula."""
    with pytest.raises((DimensionError, ExpressionError), match="roll: shift"):
        tensor("x", {"d": 8}).roll("d", shift)


def test_what_cannot_be_rolled_is_refused() -> None:
    """A label that it lacks, one inside a window or roll, and one that a mask lies over."""
    x = tensor("x", {"h": 8})
    with pytest.raises(LabelError, match="tensor 'x' has no label 'w'"):
        x.roll("w", 1)
    for seen, label in ((window(x, "h", "p", "r", 3), "p"), (x.roll("h", 1), "h")):
        with pytest.raises(LabelError, match=f"roll: '{label}' of tensor 'x' is already part of a window or roll"):
            seen.roll(label, 1)
    with pytest.raises(LabelError, match="roll: 'kv' of tensor 'S' is restricted by a mask"):
        scores(causal()).roll("kv", 1)


def test_a_name_belongs_to_the_program() -> None:
    """A named result keeps its op and its view; names are checked."""
    made = mapped("exp", tensor("x", {"i": 4}))
    assert made.named("y").producer is made.producer
    assert made.rename(i="j").named("y").access == Access(made, ("j",))
    with pytest.raises(LabelError, match="a name is an identifier"):
        made.named("y z")


# maps


def test_a_map_broadcasts_over_missing_labels() -> None:
    """The space is the union of the labels in the order of the operand that has most; all of it is written."""
    b, x, c = tensor("b", {"n": 8}), tensor("x", {"m": m, "n": 8}), tensor("c", {"k": 2})
    made = mapped("where", b, x, c)
    assert made.axes == op_of(made).space == (Axis("m", m), Axis("n", 8), Axis("k", 2))
    assert (op_of(made).kind, op_of(made).function, op_of(made).reduced) == ("map", "where", ())
    assert op_of(made).inputs == (b.access, x.access, c.access)


def test_scalars_are_operands_and_no_reads() -> None:
    """Numbers and named arguments stand among the inputs, in their place."""
    x = tensor("x", {"i": 4})
    op = op_of(mapped("where", x, Scalar("alpha"), 2.5))
    assert op.inputs == (x.access, Scalar("alpha"), Scalar(2.5))
    assert op.reads == (x.access,)


def test_a_masked_operand_makes_a_masked_map() -> None:
    """The mask stays while both labels do, is dropped with one of them, and is the op's in both."""
    masked = scores(causal())
    rows = reduced("max", masked, "kv")
    shifted = masked - rows
    assert (shifted.mask, op_of(shifted).mask) == (causal(), causal())
    assert (rows.mask, op_of(rows).mask) == (None, causal())


@pytest.mark.parametrize(
    ("function", "operands", "message"),
    [
        ("exp", 2, "exp: takes 1 operands, got 2"),
        ("where", 2, "where: takes 3 operands, got 2"),
        ("add", 0, "add: takes 2 operands, got 0"),
    ],
)
def test_the_number_of_operands_is_checked(function: str, operands: int, message: str) -> None:
    """Each function has its own."""
    with pytest.raises(DimensionError, match=message):
        mapped(function, *[tensor("x", {"i": 4})] * operands)


def test_bad_maps_are_refused() -> None:
    """Unknown functions, no tensor at all, operands that are no numbers, extents that differ, and bad names."""
    x = tensor("x", {"i": 4})
    with pytest.raises(ExpressionError, match=r"no function 'expp' \(did you mean 'exp'\?\)"):
        mapped("expp", x)
    with pytest.raises(DimensionError, match="add: needs at least one tensor, got 1, 2"):
        mapped("add", 1, 2)
    for value in (float("nan"), float("inf"), True, "x", None, np.ones(4)):
        with pytest.raises(DimensionError, match="mul: expected a tensor or a finite number"):
            mapped("mul", x, value)
    with pytest.raises(DimensionError, match="add: label 'i' is 4 in 'x' and 5 in 'y'; one label has one extent"):
        mapped("add", x, tensor("y", {"i": 5}))
    with pytest.raises(LabelError, match="tensor '2y': a name is an identifier"):
        mapped("exp", x, name="2y")


# formats

NAMES = st.sampled_from(["fp8_e4m3", "bf16", "fp32", "int8", "int32", "fp64", "mxfp4"])


@given(names=st.lists(NAMES, min_size=2, max_size=2))
def test_an_op_computes_and_stores_in_the_widest_input(names: list[str]) -> None:
    """And accumulates in that format's accumulator; the order of the operands does not matter."""
    x, y = [tensor(f"x{place}", {"i": 4}, name) for place, name in enumerate(names)]
    one, other = op_of(x + y), op_of(y + x)
    assert one.compute == one.output.tensor.format == other.compute
    assert one.compute in (x.format, y.format)
    assert not any(format(name).wider_than(one.compute) for name in names)
    assert one.accumulate.name == one.compute.accumulator


def test_formats_may_be_said() -> None:
    """Stored, computed and accumulated apart from each other."""
    x = tensor("x", {"i": 4}, "fp8")
    bf16, fp16, fp32 = map(format, ("bf16", "fp16", "fp32"))
    made = applied("map", "exp", [x], x.axes, x.axes, None, compute=bf16, accumulate=fp16, stored=fp32)
    op = op_of(made)
    assert (op.compute, op.accumulate, op.output.tensor.format, made.format) == (bf16, fp16, fp32, fp32)
    assert op_of(mapped("exp", x, stored=fp32)).compute == format("fp8")


# ops


def test_an_op_says_what_it_reduces() -> None:
    """The labels of its space that its output lacks, in the order of the space."""
    a, b = tensor("a", {"m": m, "k": 8}), tensor("b", {"k": 8, "n": n})
    assert op_of(contracted([a, b], ("m", "n"))).reduced == ("k",)
    assert op_of(reduced("sum", a, ("k", "m"))).reduced == ("m", "k")


def test_an_op_and_its_tensor_have_names_of_their_own() -> None:
    """Both default to the function; ``name`` is the tensor's and ``title`` the op's."""
    x = tensor("x", {"i": 4})
    plain, named = mapped("exp", x), mapped("exp", x, name="y", stage="softmax")
    assert (plain.name, op_of(plain).name, op_of(plain).stage) == ("exp", "exp", "")
    assert (named.name, op_of(named).name, op_of(named).stage) == ("y", "exp", "softmax")
    titled = applied("map", "exp", [x], x.axes, x.axes, None, title="weights")
    assert (titled.name, op_of(titled).name, op_of(titled).function) == ("weights", "weights", "exp")


def test_the_output_of_an_op_does_not_hold_the_op() -> None:
    """The tensor inside the op is bare, so that ops compare and pickle without what made their inputs."""
    made = mapped("exp", mapped("neg", tensor("x", {"i": 4})))
    assert op_of(made).output.tensor.producer is None
    assert op_of(made).output.tensor == made
