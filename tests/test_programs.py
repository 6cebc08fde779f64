"""Programs: values that are bound, repeated, compared and kept, and that remember how they were made."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from strategies import Recipe, composed, programs, recipes

import perfmodel as pm

n, m, k = pm.dims("n m k")


# what it is made of


def test_tensors_stand_inputs_first_then_as_they_are_made() -> None:
    """x and w are read; their product and its exponential are made."""
    p = pm.elementwise("exp(x*w)", 8)
    assert list(p.tensors) == ["x", "w", "mul", "y"]
    assert [item.name for item in p.inputs] == ["x", "w"]
    assert [item.name for item in p.outputs] == ["y"]
    assert [op.name for op in p.ops] == ["mul", "exp"]


def test_labels_have_the_extents_of_the_iteration_spaces() -> None:
    """A matmul has m, n and k, and a batch of 1."""
    assert pm.matmul(m, 4096, "2*k").labels == {"batch": 1, "m": m, "n": 4096, "k": 2 * k}


def test_symbols_are_those_of_every_size_in_order_of_the_labels() -> None:
    """Extents first, then repetitions, windows, masks and given counts."""
    assert pm.matmul(n, m, k).symbols == (n, m, k)
    assert [symbol.name for symbol in pm.attention("q", "kv", 8, causal=True, window="w").symbols] == ["q", "kv", "w"]
    assert [symbol.name for symbol in pm.matmul(2, 3, 4).repeat("layers").symbols] == ["layers"]
    assert [symbol.name for symbol in pm.workload(flops="f", bytes_read="b").symbols] == ["f", "b"]


def test_a_size_that_stands_only_in_a_window_is_a_symbol_too() -> None:
    """With padding "same" the outputs do not depend on the dilation, but the program does."""
    p = pm.conv2d(1, 8, 8, 1, 1, kernel=3, padding="same", dilation="g")
    assert [symbol.name for symbol in p.symbols] == ["g"]
    assert p.at(g=2) == pm.conv2d(1, 8, 8, 1, 1, kernel=3, padding="same", dilation=2)


# binding


def test_at_takes_names_symbols_and_text() -> None:
    """Three ways to say the same, and a size that is itself a formula."""
    p = pm.matmul(n, m, k)
    assert p.at(n=2, m=3, k=4) == p.at({n: 2, m: 3, "k": 4}) == p.at({"n": 2}).at(m=3).at(k=4) == pm.matmul(2, 3, 4)
    assert p.at(n="2*h", m=3, k=4) == pm.matmul("2*h", 3, 4)
    assert p.at({n: m, m: n}) == pm.matmul(m, n, k)


def test_at_resizes_labels_where_a_program_holds_ints() -> None:
    """There are no symbols to bind; labels say which extent is meant."""
    assert pm.matmul(2, 3, 4).at(m=5, k="n") == pm.matmul(5, 3, n)
    p = pm.fuse(pm.attention(4, 4, 8, causal=True), by="stage")
    assert p.at(q=6, kv=9) == pm.fuse(pm.attention(6, 9, 8, causal=True), by="stage")


def test_at_resizes_every_label_that_measures_the_same_axis() -> None:
    """Both sides of a Gram matrix are rows of one tensor, and so have one extent."""
    x = pm.tensor("x", {"i": 4, "k": 8})
    p = pm.program(pm.einsum("ik,jk->ij", x, x), name="gram")
    resized = p.at(i=6)
    assert resized.labels == {"i": 6, "j": 6, "k": 8}
    assert {t.elements for t in resized.counted[0].transfers} == {6 * 8, 6 * 6}
    assert p.at(i=6, j=6) == p.at(j=6) == resized
    with pytest.raises(pm.LabelError, match="i, j of gram measure the same axis; got i=6, j=7"):
        p.at(i=6, j=7)


def test_at_resizes_the_table_of_a_look_up_with_its_other_uses() -> None:
    """A table that is looked up in and multiplied by has one number of rows."""
    table, ids = pm.tensor("W", {"v": 10, "d": 4}), pm.tensor("ids", {"t": 3}, dtype="int32")
    p = pm.program(pm.einsum("td,vd->tv", pm.gather(table, "v", ids), table))
    assert p.at(v=20).tensors["W"].extents == (20, 4)
    assert p.at(v=20).flops == 2 * 3 * 20 * 4


@pytest.mark.parametrize(
    ("make", "values", "message"),
    [
        (lambda: pm.matmul("b", 2, 3), {"m": 4}, "label 'm' of matmul is measured by b; bind b instead"),
        (lambda: pm.matmul(n, 2, 3), {"nn": 4}, r"no symbol or label 'nn'; it has m=n n=2 k=3 \(did you mean 'n'"),
        (lambda: pm.matmul(2, 2, 3), {"heads": 4}, "matmul has no symbol or label 'heads'"),
        (lambda: pm.conv2d(1, 8, 8, 2, 2), {"p": 4}, "label 'p' of conv2d belongs to a window or a roll"),
        (lambda: pm.matmul(n, 2, 3), {"n": 0}, "n = 0: a dimension is a positive integer"),
        (lambda: pm.matmul(n, 2, 3), {"n": -1}, "n = -1: a dimension is a positive integer"),
        (lambda: pm.matmul(n, 2, 3), {"n": 2.5}, "n = 2.5: a dimension is a positive integer"),
        (lambda: pm.matmul(n, 2, 3), {"n": True}, "n = True: a dimension is a positive integer, not a truth value"),
        (lambda: pm.matmul(n, 2, 3), {"n": 10**18}, "a dimension is at most 2\\^52"),
        (lambda: pm.matmul(n, 2, 3), {"n": float("nan")}, "n = nan"),
        (lambda: pm.matmul(n, 2, 3), {"n": "__import__('os')"}, "n"),
        (lambda: pm.matmul(2, 2, 3), {"m": 0}, "m = 0: a dimension is a positive integer"),
        (lambda: pm.matmul(2, 2, 3).repeat("r - 1"), {"r": 1}, "repeat = 0: a dimension is a positive integer"),
        (lambda: pm.conv2d(1, "h", 8, 1, 1), {"h": 2}, "p = 0: a dimension is a positive integer"),
        (lambda: pm.workload(flops="f - 5", bytes_read=1), {"f": 3}, "workload: flops = f - 5 would be -2"),
    ],
)
def test_at_refuses_what_cannot_be(make: Any, values: dict[str, Any], message: str) -> None:
    """Each error is one of the library's own and says what is wrong."""
    with pytest.raises(pm.PerfModelError, match=message):
        make().at(values)


def test_at_refuses_one_name_with_two_values() -> None:
    """A symbol and its name are the same name."""
    with pytest.raises(pm.LabelError, match="'n' is given twice, as 2 and as 3"):
        pm.matmul(n, 2, 3).at({n: 2}, n=3)


def test_at_refuses_a_label_whose_axis_a_window_reads() -> None:
    """h is free in the relu, but the windows of the convolution were counted from it."""
    x = pm.relu(pm.tensor("x", {"h": 8}))
    p = pm.program(pm.sum(pm.window(x, "h", "p", "r", 3), "r"), name="blur")
    with pytest.raises(pm.LabelError, match="label 'h' of blur belongs to a window or a roll"):
        p.at(h=9)


@settings(max_examples=60)
@given(
    recipes(verbs=("map", "reduce", "contract", "mask", "rename", "input")),
    st.fixed_dictionaries({label: st.integers(1, 4) for label in ("a", "b", "c", "q", "kv")}),
)
def test_resized_labels_give_the_program_of_these_sizes(recipe: Recipe, sizes: dict[str, int]) -> None:
    """A program of ints at other sizes is the one that is built with them."""
    p = recipe.program()
    again = Recipe(sizes, recipe.steps, recipe.outputs).program()
    assert p.at({label: sizes[label.split("_")[0]] for label in p.labels}) == again


# repeating


def test_repetitions_multiply() -> None:
    """Three times four runs are twelve."""
    p = pm.matmul(2, 3, 4)
    assert p.repeat(3).repeat(4).flops == 3 * 4 * p.flops
    assert p.repeat(n).flops == n * p.flops
    assert p.repeat(1) == p


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": 0}, "repeat = 0: a dimension is a positive integer"),
        ({"times": 2, "carry": {"C": "Q"}}, r"carry=\{'C': 'Q'\} goes from an output \(C\) to an input \(A, B\)"),
        ({"times": 2, "carry": {"A": "B"}}, "goes from an output"),
        ({"times": 2, "carry": {"C": "B"}}, r"'C' has extents \(1, 2, 3\), 'B' has \(1, 4, 3\)"),
        ({"times": 2, "shared": "AA"}, r"matmul has no input 'AA'; its inputs are A, B \(did you mean 'A'"),
        ({"times": 2, "shared": ("C",)}, "matmul has no input 'C'"),
    ],
)
def test_repeat_refuses_what_cannot_be(arguments: dict[str, Any], message: str) -> None:
    """A carry goes from an output to an input of the same extents; shared tensors are inputs."""
    with pytest.raises(pm.PerfModelError, match=message):
        pm.matmul(2, 3, 4).repeat(**arguments)


def test_repeat_refuses_to_carry_into_another_format() -> None:
    """What was written as fp32 is not read as bf16."""
    with pytest.raises(pm.FormatError, match="'C' is fp32, 'A' is bf16; cast one of them"):
        pm.matmul(4, 4, 4, out_dtype="fp32").repeat(2, carry={"C": "A"})


def test_repeat_refuses_two_outputs_for_one_input() -> None:
    """The next run can start from one of them only."""
    x = pm.tensor("x", {"i": 4})
    p = pm.program(pm.exp(x).named("a"), pm.relu(x).named("b"))
    with pytest.raises(pm.LabelError, match="gives one input two outputs"):
        p.repeat(2, carry={"a": "x", "b": "x"})


# values


def test_programs_of_equal_kernels_and_outputs_are_equal() -> None:
    """The name and the history do not count, the staging and the formats do."""
    x = pm.tensor("x", {"i": 4})
    one, other = pm.program(pm.exp(x) * 2, name="one"), pm.program(pm.exp(x) * 2, name="other")
    assert one == other
    assert hash(one) == hash(other)
    assert pm.fuse(one) != one
    assert pm.cast(one, x="fp32") != one
    assert one.at() == one


@settings(max_examples=40)
@given(recipes(), st.booleans())
def test_programs_survive_pickling_and_copying(recipe: Recipe, symbolic: bool) -> None:
    """Equal, of equal hash and equal counts, with their history."""
    p = pm.fuse(recipe.symbolic() if symbolic else recipe.program())
    _ = p.bytes
    for again in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p), copy.copy(p)):
        assert again == p
        assert hash(again) == hash(p)
        assert (again.name, again.history, again.bytes, again.flops) == (p.name, p.history, p.bytes, p.flops)


def test_tensors_and_ops_survive_pickling_and_copying() -> None:
    """With how they were made, masks and windows included."""
    scores = pm.attention(pm.tensor("Q", {"q": 4, "d": 2}), pm.tensor("K", {"kv": 4, "d": 2}),
                          pm.tensor("V", {"kv": 4, "d": 2}), causal=True)  # fmt: skip
    for tensor in (scores, pm.window(pm.tensor("x", {"h": n}), "h", "p", "r", 3)):
        for again in (pickle.loads(pickle.dumps(tensor)), copy.deepcopy(tensor)):
            assert again == tensor
            assert again.producer == tensor.producer
            assert again.access == tensor.access


def test_a_program_cannot_be_changed() -> None:
    """A transform makes another one."""
    with pytest.raises(AttributeError):
        pm.matmul(2, 3, 4).name = "other"  # type: ignore[misc]


@settings(max_examples=20)
@given(programs())
def test_fusing_leaves_the_program_as_it_was(p: pm.Program) -> None:
    """Counts before and after making other programs of it are the same."""
    before = (p.kernels, p.bytes, p.flops)
    pm.fuse(p)
    p.repeat(3)
    pm.cast(p, "fp32")
    assert (p.kernels, p.bytes, p.flops) == before


# history


def test_a_program_remembers_its_steps() -> None:
    """From the description to the last transform, each as one would write it."""
    p = pm.cast(pm.fuse(pm.softmax(n, m), only="softmax").at(n=4), "fp32").repeat(3)
    assert p.history == ("softmax", "fuse(only='softmax')", "at(n=4)", "cast('fp32')", "repeat(3)")


def test_pipe_reads_from_left_to_right() -> None:
    """p.pipe(f, ...) is f(p, ...)."""
    p = pm.softmax(4, 8)
    assert p.pipe(pm.fuse).pipe(pm.cast, "fp32", compute="bf16") == pm.cast(pm.fuse(p), "fp32", compute="bf16")


def test_rewritten_keeps_the_outputs_and_adds_a_step() -> None:
    """The form that transforms use."""
    p = pm.softmax(4, 8)
    again = p.rewritten(p.kernels, "nothing()")
    assert again == p
    assert again.history == ("softmax", "nothing()")


@settings(max_examples=15)
@given(composed())
def test_every_program_is_plain_data_on_request(p: pm.Program) -> None:
    """to_dict gives what JSON holds, with the counts in it."""
    found = json.loads(json.dumps(p.to_dict()))
    assert (found["flops"], found["bytes"], found["memory_bytes"]) == (p.flops, p.bytes, p.memory_bytes)
    assert sum(found["traffic"]["elements"]) > 0
