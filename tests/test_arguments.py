"""What descriptors share: each check names the verb, the argument and the value; results keep their own format."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.descriptors.arguments import (
    Dtypes,
    checked_axis,
    checked_tensors,
    divided,
    flag,
    one_of,
    optional_format,
    pair,
    result,
    sizes,
    unused,
)

X = pm.tensor("x", {"m": 4, "n": 8})


def test_one_format_serves_every_tensor() -> None:
    """A plain format is that of each tensor, and says nothing of a result (which takes its widest input)."""
    formats = Dtypes("fp8_e4m3", ("x", "y"), "softmax")
    assert formats["x"].name == formats["y"].name == "fp8_e4m3"
    assert formats.output("y") is None


def test_a_mapping_leaves_the_others_at_the_default() -> None:
    """Tensors that a mapping does not name are bf16, or what the descriptor's own default is."""
    assert Dtypes({"W": "int8"}, ("x", "W"), "gemv")["x"].name == "bf16"
    assert Dtypes({"g": "bf16"}, ("p", "g"), "optimizer_step", default="fp32")["p"].name == "fp32"


def test_a_named_result_goes_before_the_output_format() -> None:
    """A mapping that names the result says its format; else out_dtype does; else nothing is said."""
    formats = Dtypes({"C": "fp32"}, ("A", "B", "C"), "matmul")
    assert formats.output("C", "fp16") == pm.format("fp32")
    assert Dtypes("bf16", ("C",), "matmul").output("C", "fp16") == pm.format("fp16")
    assert Dtypes({}, ("C",), "matmul").output("C") is None


@pytest.mark.parametrize("name", ["w", "weigth", 3, None])
def test_a_tensor_that_is_not_there_is_named(name: object) -> None:
    """A mapping that names no tensor of the descriptor is refused with those that there are."""
    with pytest.raises(pm.FormatError, match=r"gemv: dtype names tensor .*; its tensors are x, weight"):
        Dtypes({name: "int8"}, ("x", "weight"), "gemv")


def test_a_near_miss_of_a_tensor_is_suggested() -> None:
    """A misspelt tensor brings the one that was meant."""
    with pytest.raises(pm.FormatError, match="did you mean 'weight'"):
        Dtypes({"weigth": "int8"}, ("x", "weight"), "gemv")


def test_no_format_is_none() -> None:
    """None stays None; a name becomes its format."""
    assert optional_format(None) is None
    assert optional_format("bf16") == pm.format("bf16")


def test_a_result_has_its_name_and_its_own_format() -> None:
    """What is written takes the format asked for; what it is computed in does not change."""
    made = result(X * 2, "y", pm.format("fp32"))
    assert (made.name, made.format.name) == ("y", "fp32")
    assert made.producer is not None
    assert made.producer.compute.name == "bf16"
    assert pm.program(made).bytes_written == 4 * (4 * 8)  # 4 bytes of each of 4 x 8 elements


def test_a_result_without_a_format_keeps_its_own() -> None:
    """Without a format only the name changes, and an input, which nothing computes, keeps its format too."""
    assert result(X * 2, "y").format.name == "bf16"
    assert result(X, "y", pm.format("fp32")).format.name == "bf16"


def test_sizes_come_back_checked() -> None:
    """Ints, symbols and text become sizes, in the order given."""
    n = pm.dims("n")
    assert sizes("softmax", m=4, n=n, k="2*n") == (4, n, 2 * n)


def test_a_size_is_refused_under_its_own_name() -> None:
    """The message has the verb, the argument and the value."""
    with pytest.raises(pm.DimensionError, match=r"conv2d: width = -1: a dimension is a positive integer"):
        sizes("conv2d", height=4, width=-1)


def test_every_forgotten_size_is_listed() -> None:
    """A size that was not given is an error of our own, which says what is needed."""
    with pytest.raises(pm.LabelError, match="conv2d: width, c_in not given; it needs height, width, c_in"):
        sizes("conv2d", height=4, width=None, c_in=None)


def test_a_pair_is_one_size_or_two() -> None:
    """One size serves both axes; 0 is a size only where the descriptor says so."""
    assert pair(3, "kernel") == (3, 3)
    assert pair([3, "k"], "kernel") == (3, pm.dims("k"))
    assert pair((0, 1), "padding", zero=True) == (0, 1)


@pytest.mark.parametrize("value", [(1, 2, 3), (), 0, (1, 0), True, "0", None, (None, 1)])
def test_what_is_no_pair_is_refused(value: object) -> None:
    """Three sizes, none, zero, truth values and None are no pair of kernel sizes."""
    with pytest.raises(pm.PerfModelError, match="conv2d: kernel"):
        pair(value, "conv2d: kernel")


@pytest.mark.parametrize("value", [False, -1, 0.5, float("nan")])
def test_a_padding_of_false_is_no_zero(value: object) -> None:
    """Where zero is allowed, False and other near zeros still are not."""
    with pytest.raises(pm.DimensionError, match="padding"):
        pair(value, "padding", zero=True)


@given(st.integers(2, 10**6), st.integers(1, 1000))
def test_division_is_exact_or_refused(parts: int, share: int) -> None:
    """A whole quotient comes back; anything else is refused with both numbers."""
    whole = parts * share
    assert divided(whole, parts, "heads / kv_heads") == share
    with pytest.raises(pm.DimensionError, match=f"heads / kv_heads = {whole + 1} / {parts}: does not divide"):
        divided(whole + 1, parts, "heads / kv_heads")


def test_symbols_divide_as_formulas() -> None:
    """A quotient of symbols is a formula, and equal sizes give the int 1."""
    c = pm.dims("c")
    assert divided(c, 4, "c_in / groups") == c / 4
    assert divided(c, c, "c_in / groups") == 1
    assert isinstance(divided(c, c, "c_in / groups"), int)


@pytest.mark.parametrize("value", ["saf", None, 3, ["safe"], "SAFE"])
def test_a_word_is_one_of_a_few(value: object) -> None:
    """Anything but the words themselves is refused, with the words."""
    assert one_of("safe", ("safe", "naive"), "softmax: form") == "safe"
    with pytest.raises(pm.ExpressionError, match=r"softmax: form = .*: expected one of safe, naive"):
        one_of(value, ("safe", "naive"), "softmax: form")


@pytest.mark.parametrize("value", ["no", 0, 1, None, "True", []])
def test_a_flag_is_true_or_false_only(value: object) -> None:
    """ "no" is true to Python; here it is refused."""
    assert flag(True, "attention: causal") is True
    with pytest.raises(pm.ExpressionError, match=r"attention: causal = .*: expected True or False"):
        flag(value, "attention: causal")


def test_what_is_no_tensor_is_refused() -> None:
    """The message shows how the call is written and what came instead."""
    checked_tensors("gemv(x, W)", X, axes=2)
    with pytest.raises(pm.LabelError, match=r"gemv\(x, W\): expected tensors, got 4"):
        checked_tensors("gemv(x, W)", X, 4)
    with pytest.raises(pm.LabelError, match=r"needs 3 axes or more; it has m, n"):
        checked_tensors("pool2d(x)", X, axes=3)


@pytest.mark.parametrize("label", ["z", 4, None, ("n",)])
def test_a_label_has_to_be_there(label: object) -> None:
    """A label that the tensor lacks is refused with those that it has."""
    assert checked_axis(X, "n", "softmax") == "n"
    with pytest.raises(pm.LabelError, match=r"softmax: tensor 'x' has no label .*; its labels are m, n"):
        checked_axis(X, label, "softmax")


def test_arguments_of_the_other_form_are_not_ignored() -> None:
    """What only the other form of a descriptor uses is refused; a default is not."""
    unused("matmul", "tensors", batch=(1, 1), k=(None, None), dtype=("bf16", "bf16"))
    with pytest.raises(pm.LabelError, match="matmul: with tensors it takes no batch, k"):
        unused("matmul", "tensors", batch=(pm.dims("b"), 1), k=(4, None))
