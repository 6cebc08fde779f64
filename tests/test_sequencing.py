"""Sequencing: programs one after another, joined or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from reference import differences
from reference_values import inputs, run
from strategies import programs

import perfmodel as pm

n, m, k, h = pm.dims("n m k h")
ADDED = ("flops", "macs", "bytes_read", "bytes_written", "elements_read", "elements_written", "issued_flops")


def vectors(*names: str, dtype: str = "bf16") -> list[pm.Tensor]:
    """Vectors of 4 along a label of their own name."""
    return [pm.tensor(name, {f"{name}_i": 4}, dtype=dtype) for name in names]


def test_joined_axes_take_the_earlier_labels_and_others_names_of_their_own() -> None:
    """C[m, n] becomes A[m, k] of the second: its k is the first's n, and its n a new label."""
    p = pm.sequence(pm.matmul(m, n, k), pm.matmul(m, h, n), join={"C": "A"})
    assert p.labels == {"batch": 1, "m": m, "n": n, "k": k, "n_2": h}
    assert list(p.tensors) == ["A", "B", "B_2", "C", "C_2"]
    assert [item.name for item in p.outputs] == ["C_2"]
    assert [kernel.name for kernel in p.kernels] == ["matmul", "matmul_2"]


def test_joining_writes_once_and_reads_once() -> None:
    """C of m n elements crosses between the two kernels, and fused stays inside: 2 * 2 m n bytes less."""
    p = pm.sequence(pm.matmul(m, n, k), pm.elementwise("relu(x)", n).at(n=n), join={})
    assert p.bytes == 2 * (m * k + k * n + m * n) + 2 * 2 * n
    joined = pm.sequence(pm.matmul(m, n, k), pm.matmul(m, h, n), join={"C": "A"})
    assert joined.bytes - pm.fuse(joined).bytes == 2 * 2 * m * n


def test_a_sequence_of_two_layers_is_the_program_of_their_tensors() -> None:
    """Written in one go or joined, a product after a product costs the same and computes the same."""
    a, b, c = pm.tensor("A", {"m": 2, "k": 3}), pm.tensor("B", {"k": 3, "n": 4}), pm.tensor("D", {"n": 4, "h": 5})
    whole = pm.program(pm.matmul(pm.matmul(a, b, name="C"), c, name="E"))
    second = pm.program(pm.matmul(pm.tensor("C0", {"m": 2, "n": 4}), c, name="E"))
    joined = pm.sequence(pm.program(pm.matmul(a, b, name="C")), second, join={"C": "C0"})
    assert joined.kernels == whole.kernels


def test_later_programs_keep_stages_of_their_own() -> None:
    """Two attentions in a row, fused by stage, are six kernels."""
    p = pm.fuse(pm.sequence(pm.attention(4, 4, 8), pm.attention(4, 4, 8), join={"O": "Q"}), by="stage")
    stages = ["attention.scores", "attention.softmax", "attention.values"]
    assert [kernel.name for kernel in p.kernels] == [*stages, *[f"{stage}_2" for stage in stages]]
    assert len(pm.fuse(p, only="attention").kernels) == 1


def test_repeated_programs_are_not_fused_with_what_follows() -> None:
    """The end of a repeated layer is a place where values must be complete."""
    layer, head = pm.elementwise("exp(x) + 1", 4), pm.elementwise("relu(x) * 2", 4)
    once = pm.sequence(layer, head, join={"y": "x"})
    many = pm.sequence(layer.repeat(3), head, join={"y": "x"})
    assert [len(kernel.ops) for kernel in pm.fuse(once).kernels] == [4]
    assert [len(kernel.ops) for kernel in pm.fuse(many).kernels] == [2, 2]
    assert [kernel.repeat for kernel in pm.fuse(many).kernels] == [3, 1]
    assert [kernel.section for kernel in pm.sequence(head, layer.repeat(3), head, head).kernels[::2]] == [0, 1, 2, 2]


def test_three_programs_join_in_the_order_of_the_mapping() -> None:
    """The first's y goes to the second that has an x, the second's z to the third's u."""
    one, two, three = [pm.elementwise(text, 4) for text in ("exp(a)", "relu(x)", "sqrt(u)")]
    p = pm.sequence(one, two, three, join={"y": "x", "y_2": "u"})
    assert [item.name for item in p.inputs] == ["a"]
    assert [item.name for item in p.outputs] == ["y_3"]


def test_two_results_of_one_label_may_meet_in_one_op() -> None:
    """u[i] and v[i] of the first are a[s] and b[t] of the second's outer product: i and a label of its own."""
    x = pm.tensor("x", {"i": 4})
    first = pm.program(pm.exp(x).named("u"), pm.relu(x).named("v"))
    a, b = pm.tensor("a", {"s": 4}), pm.tensor("b", {"t": 4})
    p = pm.sequence(first, pm.program(pm.einsum("s,t->st", a, b)), join={"u": "a", "v": "b"})
    assert p.labels == {"i": 4, "t": 4}
    assert p.kernels[-1].ops[0].space == (("i", 4), ("t", 4))
    assert p.flops == 4 + 4 * 4  # the relu and the outer product
    assert differences(p) == differences(pm.fuse(p)) == {}
    assert p.at(i=5).labels == {"i": 5, "t": 5}


def test_a_label_that_means_another_axis_is_left_alone() -> None:
    """The later x has an axis i of 4, but is read along j; its own label i is an axis of 5 of another tensor."""
    x, z = pm.tensor("x", {"i": 4}), pm.tensor("z", {"i": 5})
    later = pm.program(pm.exp(x.rename(i="j")), pm.relu(z))
    p = pm.sequence(pm.program(pm.exp(pm.tensor("v", {"m": 4})).named("u")), later, join={"u": "x"})
    assert p.labels == {"m": 4, "j": 4, "i": 5}
    assert differences(p) == {}


def test_shared_inputs_stay_shared() -> None:
    """A table that the repeated layers share, under the name that it has after the sequence."""
    layer = pm.elementwise("x*table", 4).repeat(3, shared="table")
    p = pm.sequence(pm.elementwise("x*table", 4), layer)
    assert p.shared == ("table_2",)
    assert differences(p) == {}


def test_a_sequence_of_one_is_that_program() -> None:
    """Nothing is renamed."""
    p = pm.fuse(pm.softmax(4, 8)).repeat(2)
    assert pm.sequence(p) == p
    assert pm.sequence(p, name="layer").name == "layer"


@pytest.mark.parametrize(
    ("arguments", "join", "message"),
    [
        ((), None, "expected at least one program"),
        ((pm.matmul(2, 3, 4), "matmul"), None, "expected programs, got 'matmul'"),
        ((pm.matmul(2, 3, 4), pm.softmax(2, 3)), ["C"], "join maps an output to an input"),
        ((pm.matmul(2, 3, 4), pm.softmax(2, 3)), {"C": "y"}, "no later input 'y' is left to join; later inputs are x"),
        ((pm.matmul(2, 3, 4), pm.softmax(2, 3)), {"c": "x"}, "no earlier output 'c' is left .*did you mean 'C'"),
        ((pm.softmax(2, 3), pm.softmax(3, 2)), {"y": "x"}, r"'y' has extents \(2, 3\) and 'x' has \(3, 2\)"),
        ((pm.softmax(2, 3), pm.softmax(2, 3, dtype="fp32")), {"y": "x"}, "'y' is bf16 and 'x' is fp32; cast one"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: Any, join: Any, message: str) -> None:
    """The error names the output, the input and what there is."""
    with pytest.raises(pm.PerfModelError, match=f"sequence: .*{message}"):
        pm.sequence(*arguments, join=join)


def test_one_input_takes_one_output() -> None:
    """Two outputs for one input would lose one of them."""
    x = pm.tensor("x", {"i": 4})
    first = pm.program(pm.exp(x).named("u"), pm.relu(x).named("v"))
    with pytest.raises(pm.LabelError, match="join gives input 'x' both 'u' and 'v'"):
        pm.sequence(first, pm.elementwise("sqrt(x)", 4), join={"u": "x", "v": "x"})


# laws


@settings(max_examples=30)
@given(programs(steps=4), programs(steps=4))
def test_without_a_join_everything_adds_up(p: pm.Program, q: pm.Program) -> None:
    """Work and traffic are sums, and each has its own ops, tensors and labels."""
    both = pm.sequence(p, q)
    for name in ADDED:
        assert getattr(both, name) == getattr(p, name) + getattr(q, name)
    for name in ("ops", "tensors", "labels", "inputs", "outputs"):
        assert len(getattr(both, name)) == len(getattr(p, name)) + len(getattr(q, name))
    assert both.footprint_bytes == max(p.footprint_bytes, q.footprint_bytes)


@settings(max_examples=50)
@given(programs(steps=4), st.data())
def test_a_joined_sequence_computes_and_costs_one_after_the_other(p: pm.Program, data: st.DataObject) -> None:
    """Joined to one or two results, under labels that may clash, the later program gets their values."""
    outs = data.draw(st.lists(st.sampled_from(p.returned), min_size=1, max_size=2, unique=True))
    later = data.draw(consumers([p.tensors[out] for out in outs]))
    joined = pm.sequence(p, later, join={out: f"z{place}" for place, out in enumerate(outs)})
    assert (joined.flops, joined.bytes) == (p.flops + later.flops, p.bytes + later.bytes)
    assert differences(joined) == differences(pm.fuse(joined)) == {}
    arrays = inputs(p)
    first = run(p, arrays)
    wanted = run(later, {f"z{place}": first[out] for place, out in enumerate(outs)})
    for staged in (joined, pm.fuse(joined)):
        found = list(run(staged, arrays).values())[-len(wanted) :]
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(found, wanted.values(), strict=True))


@st.composite
def consumers(draw: st.DrawFn, made: list[pm.Tensor]) -> pm.Program:
    """A program of inputs z0, z1 like these tensors, whose labels are the same, or others, or clash."""
    seen: list[pm.Tensor] = []
    extents: dict[str, int] = {}
    for place, item in enumerate(made):
        stem = draw(st.sampled_from(["", "out", "a"]))
        axes: dict[str, int] = {}
        for number, (label, extent) in enumerate(item.axes):
            name = f"{stem}{number}" if stem else label
            taken = extents.get(name, extent) != extent or name in axes
            axes[f"z{place}_{number}" if taken else name] = extent
        extents.update(axes)
        seen.append(pm.tensor(f"z{place}", axes, dtype=item.format))
    value = pm.exp(seen[0])
    for other in seen[1:]:
        small = len({*value.labels, *other.labels}) <= 5
        value = value + (other if small else pm.sum(other, other.labels))
    return pm.program(value, *[pm.relu(item) for item in seen], name="later")


@settings(max_examples=30)
@given(programs(steps=3), st.integers(1, 3))
def test_repeating_costs_what_writing_it_out_does(p: pm.Program, times: int) -> None:
    """Three runs in a sequence do and move what repeat(3) says."""
    written, repeated = pm.sequence(*[p] * times), p.repeat(times)
    for name in ADDED:
        assert getattr(written, name) == getattr(repeated, name)


def test_a_carried_layer_repeated_is_the_layer_in_sequence() -> None:
    """Two equal layers, each with weights of its own: the same traffic, and values by running one after the other."""
    x, weight = pm.tensor("x", {"t": 2, "k": 3}), pm.tensor("W", {"k": 3, "n": 3})
    layer = pm.program(pm.relu(pm.matmul(x, weight), name="y"), name="layer")
    written = pm.sequence(layer, layer, join={"y": "x"})
    repeated = layer.repeat(2, carry={"y": "x"})
    for name in ADDED:
        assert getattr(written, name) == getattr(repeated, name)
    arrays = inputs(written)
    between = run(layer, {"x": arrays["x"], "W": arrays["W"]})["y"]
    after = run(layer, {"x": between, "W": arrays["W_2"]})["y"]
    assert np.array_equal(run(written, arrays)["y_2"], after)
