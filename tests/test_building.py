"""Reductions, contractions, windows and gathers: the ops that they make, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from touching import op_of

from perfmodel.errors import DimensionError, LabelError, PerfModelError
from perfmodel.expressions import bind, dims, floor_div
from perfmodel.graph.building import checked_labels, checked_tensor, contracted, gather, reduced, window
from perfmodel.graph.indexing import Affine, Axis, Gathered
from perfmodel.graph.masks import Mask, causal
from perfmodel.graph.nodes import Tensor, mapped, tensor
from perfmodel.graph.tracing import program
from perfmodel.number_formats import format

m, n, k, h = dims("m n k h")
X = tensor("x", {"m": m, "n": n, "k": 8})
A, B = tensor("a", {"m": m, "k": 8}), tensor("b", {"k": 8, "n": n})


def scores(mask: Mask | None = None) -> Tensor:
    q, kv = tensor("Q", {"q": 4, "d": 8}), tensor("K", {"kv": 6, "d": 8})
    return contracted([q, kv], ("q", "kv"), mask=mask, name="S")


# reductions


@pytest.mark.parametrize("function", ["sum", "max", "min", "prod", "mean"])
def test_a_reduction_keeps_the_other_labels(function: str) -> None:
    """In their order, over one label or several; the space is all of the operand."""
    one, two = reduced(function, X, "n"), reduced(function, X, ["k", "m"])
    assert (one.labels, two.labels) == (("m", "k"), ("n",))
    assert (op_of(one).kind, op_of(one).function, op_of(one).space) == ("reduce", function, X.axes)
    assert op_of(two).reduced == ("m", "k")


def test_a_reduction_over_everything_is_a_scalar() -> None:
    """A tensor of no axes, of one element."""
    total = reduced("sum", X, ("m", "n", "k"), name="total", stage="norm")
    assert (total.name, total.axes, op_of(total).stage) == ("total", (), "norm")
    assert program(total).elements_written == 1


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("z", "sum: tensor 'x' has no label 'z'; its labels are m, n, k"),
        (("m", "kk"), r"no label 'kk'; .* \(did you mean 'k'\?\)"),
        ((), "sum: expected one or more different labels of 'x', got"),
        (("m", "m"), r"sum: expected one or more different labels of 'x', got \('m', 'm'\)"),
        (3, "sum: expected one or more different labels of 'x', got 3"),
        (None, "expected one or more different labels"),
        ([["m"]], r"no label \['m'\]"),
    ],
)
def test_bad_labels_of_a_reduction_are_refused(labels: Any, message: str) -> None:
    """Labels that the tensor lacks, none, one twice, and what is no label at all."""
    with pytest.raises(LabelError, match=message):
        reduced("sum", X, labels)


def test_bad_reductions_are_refused() -> None:
    """Unknown ones with a near miss, and operands that are no tensors."""
    with pytest.raises(LabelError, match=r"no reduction 'summ'; there are sum, max, .* \(did you mean 'sum'\?\)"):
        reduced("summ", X, "n")
    with pytest.raises(LabelError, match="max: expected a tensor, got 3"):
        reduced("max", 3, "n")  # type: ignore[arg-type]
    with pytest.raises(LabelError, match="window: expected a tensor, got 'x'"):
        checked_tensor("x", "window")
    assert checked_labels(["n", "m"], X, "sum") == ("n", "m")


# contractions


def test_a_contraction_sums_what_is_not_kept() -> None:
    """The space is the kept labels in their order, then the summed ones; stage, name and title are passed on."""
    made = contracted([A, B], ("n", "m"), title="matmul", name="C", stage="mlp", stored=format("fp32"))
    op = op_of(made)
    assert (made.name, made.labels, made.format.name) == ("C", ("n", "m"), "fp32")
    assert (op.name, op.kind, op.function, op.stage) == ("matmul", "contract", "multiply-add", "mlp")
    assert op.space == (Axis("n", n), Axis("m", m), Axis("k", 8))
    assert (op_of(contracted([A, B], ("m", "n"))).name, contracted([A, B], ("m",)).name) == ("contract", "contract")


def test_three_tensors_are_contracted_at_once() -> None:
    """One op of three inputs where something is summed: two multiplies and an add a point."""
    scale = tensor("s", {"k": 8})
    p = program(contracted([A, scale, B], ("m", "n")))
    assert p.flops == 3 * m * n * 8
    assert [op.kind for op in p.ops] == ["contract"]


def test_a_product_without_a_sum_is_a_map() -> None:
    """An outer product is one multiply a point; of three tensors, two ops of one multiply each."""
    x, y, z = tensor("x", {"i": m}), tensor("y", {"j": n}), tensor("z", {"i": m})
    outer = op_of(contracted([x, y], ("j", "i")))
    assert (outer.kind, outer.function, outer.space) == ("map", "mul", (Axis("j", n), Axis("i", m)))
    third = contracted([x, z, y], ("j", "i"), title="outer", name="o", stage="s", stored=format("fp32"))
    ops = program(third).ops
    assert [(op.name, op.function, op.stage) for op in ops] == [("mul", "mul", "s"), ("outer", "mul", "s")]
    assert (third.name, third.labels, third.format.name) == ("o", ("j", "i"), "fp32")
    assert program(third).flops == m + m * n  # x z over i, and their product with y


def test_one_tensor_is_summed_or_copied() -> None:
    """A sum where labels are left out; else a copy in another order of axes, which costs no FLOP."""
    assert (op_of(contracted([A], ("m",))).kind, op_of(contracted([A], ("m",))).function) == ("reduce", "sum")
    transposed = contracted([A], ("k", "m"))
    assert (transposed.labels, op_of(transposed).function) == (("k", "m"), "copy")
    assert program(transposed).flops == 0


def test_a_mask_restricts_a_contraction() -> None:
    """Given, or that of an operand; a product of three keeps it to its last op."""
    assert scores(causal()).mask == op_of(scores(causal())).mask == causal()
    out = contracted([scores(causal()), tensor("V", {"kv": 6, "d": 8})], ("q", "d"))
    assert (op_of(out).mask, out.mask) == (causal(), None)
    x, y, z = tensor("x", {"q": 4}), tensor("y", {"kv": 4}), tensor("z", {"q": 4})
    product = contracted([x, z, y], ("q", "kv"), mask=causal())
    assert program(product).flops == 4 + (4 + 3 + 2 + 1)  # x z over q, and their product with y for valid pairs


def test_bad_contractions_are_refused() -> None:
    """No operand, labels of the result that nothing has or that stand twice, extents and masks that differ."""
    with pytest.raises(LabelError, match="matmul: expected at least one tensor"):
        contracted([], (), title="matmul")
    with pytest.raises(LabelError, match="matmul: no operand has the label 'z' of the result; they have m, k, n"):
        contracted([A, B], ("m", "z"), title="matmul")
    with pytest.raises(LabelError, match="matmul: the result would have a label twice in m, n, m"):
        contracted([A, B], ("m", "n", "m"), title="matmul")
    with pytest.raises(DimensionError, match="matmul: label 'k' is 8 in 'a' and 9 in 'c'; one label has one extent"):
        contracted([A, tensor("c", {"k": 9})], ("m",), title="matmul")
    with pytest.raises(LabelError, match="contract: the mask needs labels 'q' and 'kv'; there are m, k, n"):
        contracted([A, B], ("m", "n"), mask=causal())
    with pytest.raises(LabelError, match="two different masks"):
        contracted([scores(causal())], ("q",), mask=causal(window=2))


# windows


@given(
    extent=st.integers(1, 40),
    taps=st.integers(1, 6),
    stride=st.integers(1, 6),
    dilation=st.integers(1, 4),
    padding=st.integers(0, 6),
)
def test_windows_are_as_many_as_fit(extent: int, taps: int, stride: int, dilation: int, padding: int) -> None:
    """Starts are counted one by one, in the padded axis; where none fits it is refused. A symbol counts the same."""
    reach = dilation * (taps - 1) + 1
    starts = range(0, extent + 2 * padding - reach + 1, stride)
    steps = {"stride": stride, "dilation": dilation, "padding": padding}
    if not starts:
        with pytest.raises(
            DimensionError, match=f"window: {taps} taps .* do not fit 'h' = {extent} with padding {padding}"
        ):
            window(tensor("x", {"h": extent}), "h", "p", "r", taps, **steps)
        return
    seen = window(tensor("x", {"c": 3, "h": extent}), "h", "p", "r", taps, **steps)
    assert seen.axes == (Axis("c", 3), Axis("p", len(starts)), Axis("r", taps))
    assert seen.access.index == ("c", Affine((("p", stride), ("r", dilation)), -padding))
    symbolic = window(tensor("x", {"h": h}), "h", "p", "r", taps, **steps)
    assert bind(symbolic.extent("p"), {h: extent}) == len(starts)


def test_a_window_is_a_view() -> None:
    """It costs nothing and keeps what made its tensor; a window of a window is one index of three labels."""
    made = mapped("exp", tensor("x", {"h": 10}))
    seen = window(made, "h", "p", "r", 3, stride=2)
    assert (seen.producer, seen.access.tensor) == (made.producer, made)
    twice = window(seen, "p", "u", "v", 2)
    assert twice.axes == (Axis("u", 3), Axis("v", 2), Axis("r", 3))
    assert twice.access.index == (Affine((("u", 2), ("v", 2), ("r", 1)), 0),)


def test_a_window_over_a_roll_or_other_names() -> None:
    """The index of the view is what the window replaces its label in."""
    x = tensor("x", {"h": 10})
    assert window(x.rename(h="w"), "w", "p", "r", 3).access.index == (Affine((("p", 1), ("r", 1)), 0),)
    assert window(x.roll("h", 4), "h", "p", "r", 3).access.index == (Affine((("p", 1), ("r", 1)), 4, 10),)


def test_symbolic_windows_have_symbolic_numbers() -> None:
    """floor((h + 2 padding - dilation (taps - 1) - 1) / stride) + 1."""
    seen = window(tensor("x", {"h": h}), "h", "p", "r", "k", stride=2, padding="k")
    assert seen.axes == (Axis("p", floor_div(h + 2 * k - (k - 1) - 1, 2) + 1), Axis("r", k))


def test_a_symbolic_window_that_does_not_fit_is_refused_when_bound() -> None:
    """h - 4 windows of 5 taps are no number at h = 4."""
    p = program(reduced("sum", window(tensor("x", {"h": h}), "h", "p", "r", 5), "r"))
    assert p.at(h=5).labels == {"p": 1, "r": 5}
    with pytest.raises(DimensionError, match="p = 0"):
        p.at(h=4)


@pytest.mark.parametrize("field", ["taps", "stride", "dilation", "padding"])
@pytest.mark.parametrize("value", [-1, 1.5, True, float("nan"), float("inf"), None, 10**18])
def test_bad_window_sizes_are_refused(field: str, value: Any) -> None:
    """The message names the field (the taps by their label); only a padding may be 0."""
    sizes = {"taps": 3, field: value}
    with pytest.raises(PerfModelError, match="\\br = " if field == "taps" else field):
        window(tensor("x", {"h": 10}), "h", "p", "r", sizes.pop("taps"), **sizes)


def test_a_padding_of_zero_is_no_padding() -> None:
    """However it is written; zero taps, strides and dilations are refused."""
    x = tensor("x", {"h": 10})
    assert window(x, "h", "p", "r", 3, padding=0.0).access == window(x, "h", "p", "r", 3).access
    for field in ("stride", "dilation"):
        with pytest.raises(DimensionError, match=f"{field} = 0"):
            window(x, "h", "p", "r", 3, **{field: 0})


def test_bad_windows_are_refused() -> None:
    """Labels that the tensor lacks, cannot have or has already, masked ones, and padding that would wrap around."""
    x = tensor("x", {"c": 3, "h": 10})
    refused: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
        (x, ("w", "p", "r", 3), {}, "tensor 'x' has no label 'w'"),
        (x, ("h", "p q", "r", 3), {}, "label 'p q': a label is a name"),
        (x, ("h", "p", 3, 3), {}, "label 3: a label is a name"),
        (x, ("h", "p", "c", 3), {}, "window: 'x' would have a label twice in c, p, c"),
        (x, ("h", "p", "p", 3), {}, "window: 'x' would have a label twice in c, p, p"),
        (3, ("h", "p", "r", 3), {}, "window: expected a tensor, got 3"),
        (scores(causal()), ("kv", "p", "r", 3), {}, "window: 'kv' of tensor 'S' is restricted by a mask"),
        (x.roll("h", 1), ("h", "p", "r", 3), {"padding": 1}, "'h' of 'x' is itself seen through a window or roll"),
        (window(x, "h", "p", "r", 3), ("p", "u", "v", 3), {"padding": 1}, "'p' of 'x' is itself seen through"),
    ]
    for operand, arguments, more, message in refused:
        with pytest.raises(LabelError, match=message):
            window(operand, *arguments, **more)


# gathers

TABLE = tensor("W", {"v": 1000, "d": 64}, "fp8")
IDS = tensor("ids", {"b": 2, "t": n}, "int32")


def test_a_gather_replaces_an_axis_by_those_of_the_index() -> None:
    """A copy in the table's format: no FLOPs, and the index decides where."""
    rows = gather(TABLE, "v", IDS)
    op = op_of(rows)
    assert rows.axes == op.space == (Axis("b", 2), Axis("t", n), Axis("d", 64))
    assert (op.name, op.kind, op.function, rows.format.name) == ("gather", "map", "copy", "fp8_e4m3")
    assert op.reads[0].index == (Gathered("ids", ("b", "t")), "d")
    assert op.reads[1] == IDS.access
    assert gather(TABLE, "d", IDS).labels == ("v", "b", "t")


def test_an_index_may_be_renamed_and_computed() -> None:
    """The look-up names the tensor that the program has, under the labels of the view."""
    chosen = mapped("max", IDS, 0).named("chosen")
    rows = gather(TABLE, "v", chosen.rename(t="token").named("seen"))
    read = program(rows).ops[-1].reads[0]
    assert read.index == (Gathered("chosen", ("b", "token")), "d")


def test_bad_gathers_are_refused() -> None:
    """Views of tables, rolled or windowed indices, labels that clash, masked tensors, and what is no tensor."""
    refused: list[tuple[Any, Any, Any, str]] = [
        (TABLE.rename(v="w"), "w", IDS, r"gather: 'W' is a view \(renamed, rolled or windowed\); gather first"),
        (TABLE.roll("v", 1), "v", IDS, "gather: 'W' is a view"),
        (TABLE, "v", IDS.roll("t", 1), "gather: the index 'ids' is rolled or windowed"),
        (TABLE, "v", window(IDS, "t", "p", "r", 3), "gather: the index 'ids' is rolled or windowed"),
        (TABLE, "z", IDS, "tensor 'W' has no label 'z'; its labels are v, d"),
        (TABLE, "v", IDS.rename(t="d"), "gather: 'W' would have a label twice in b, d, d"),
        (scores(causal()), "q", IDS, "gather: 'q' of tensor 'S' is restricted by a mask"),
        (3, "v", IDS, "gather: expected a tensor, got 3"),
        (TABLE, "v", [1, 2], r"gather: expected a tensor, got \[1, 2\]"),
    ]
    for table, label, by, message in refused:
        with pytest.raises(LabelError, match=message):
            gather(table, label, by)
