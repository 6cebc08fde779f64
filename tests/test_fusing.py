"""Fusing: fewer kernels, the same work, and no byte more."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from reference import differences
from reference_values import inputs, run
from strategies import programs, staged

import perfmodel as pm

n = pm.dims("n")


def diamond() -> pm.Program:
    """a, then b and c of a, then d of both; c is long enough that it stands alone."""
    x = pm.tensor("x", {"i": 4})
    a = pm.exp(x, name="a")
    b, c = pm.relu(a, name="b"), pm.square(a, name="c")
    return pm.program((b + c).named("d"), name="diamond")


def names(p: pm.Program) -> list[list[str]]:
    """The ops of each kernel."""
    return [[op.name for op in kernel.ops] for kernel in p.kernels]


def test_everything_becomes_one_kernel_named_like_the_program() -> None:
    """All ops in the order in which they ran."""
    p = pm.fuse(diamond())
    assert names(p) == [["exp", "relu", "square", "add"]]
    assert [kernel.name for kernel in p.kernels] == ["diamond"]


def test_by_stage_makes_the_kernels_of_the_textbooks() -> None:
    """Attention: scores, softmax, weighted sum."""
    p = pm.fuse(pm.attention(n, n, 64), by="stage")
    assert names(p) == [["scores"], ["max", "sub", "exp", "sum", "div"], ["values"]]
    assert [kernel.name for kernel in p.kernels] == ["attention.scores", "attention.softmax", "attention.values"]


def test_only_picks_what_is_fused() -> None:
    """One name for a stage gives the kernel that name; several names, the first one's."""
    p = pm.attention(4, 4, 8)
    softmax = pm.fuse(p, only="softmax")
    assert [kernel.name for kernel in softmax.kernels] == ["scores", "softmax", "values"]
    some = pm.fuse(p, only=["sub", "exp"])
    assert names(some)[2] == ["sub", "exp"]
    assert some.kernels[2].name == "sub"


def test_to_ends_a_kernel_at_each_named_result() -> None:
    """Each has what leads to it and to none before it; what leads to none is one kernel; a tuple shares one."""
    p = pm.attention(4, 4, 8, lse=True)
    assert [kernel.made for kernel in pm.fuse(p, to=["max", "L"]).kernels] == [
        ("S", "max"), ("sub", "exp", "sum", "log", "L"), ("P", "O")
    ]  # fmt: skip
    shared = pm.fuse(p, to=["S", ("O", "L")])
    assert [(kernel.name, len(kernel.ops)) for kernel in shared.kernels] == [("S", 1), ("O", 8)]
    assert shared.history == ("attention", "fuse(to=['S', ('O', 'L')])")
    assert pm.fuse(p, to=()).kernels == pm.fuse(p).kernels


def test_to_stays_within_a_section_and_what_only_names() -> None:
    """What leads to dx of the forward pass stays there; kernels that are not picked stay alone."""
    g = pm.grad(pm.elementwise("sigmoid(sigmoid(x))", 4))
    assert [(kernel.section, len(kernel.ops)) for kernel in pm.fuse(g, to="dx").kernels] == [(0, 2), (1, 6)]
    with pytest.raises(pm.TransformError, match=r"'y' and 'dx' stand in two sections, which stay apart"):
        pm.fuse(g, to=[("y", "dx")])
    p = pm.fuse(pm.softmax(4, 8), only=["max", "sub", "exp"], to="sub")
    assert names(p) == [["max", "sub"], ["exp"], ["sum"], ["div"]]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"to": "summ"}, pm.LabelError, r"fuse: softmax makes no tensor 'summ'; .* \(did you mean 'sum'"),
        ({"to": ["y", "sum"]}, pm.TransformError, r"to='sum' ends no kernel: it leads to 'y'; name it before 'y'"),
        ({"to": ["sum", ("y", "sum")]}, pm.LabelError, r"names 'sum' twice"),
        ({"to": "sum", "only": "max"}, pm.TransformError, r"'sum' ends no kernel: it is not among the kernels of only"),
        ({"to": "sum", "by": "stage"}, pm.TransformError, r"by='stage' and to='sum' each say what is merged"),
        ({"to": 3}, pm.LabelError, r"fuse: to=3: expected a name or several"),
        ({"to": [3]}, pm.LabelError, r"fuse: to=3: expected a name or several"),
    ],
)
def test_results_that_can_end_no_kernel_are_refused(given: dict[str, Any], error: Any, message: str) -> None:
    """Unknown ones, those named twice, and those that an earlier one has."""
    with pytest.raises(error, match=message):
        pm.fuse(pm.softmax(4, 8), **given)


def test_ops_without_a_stage_are_stages_of_their_own() -> None:
    """Fusing an elementwise chain by stage leaves it as it is."""
    p = pm.elementwise("relu(x*w + b)", 4)
    assert pm.fuse(p, by="stage") == p


def test_a_kernel_of_several_stages_keeps_its_name_by_stage() -> None:
    """What is fused already is not renamed after the first of its stages."""
    p = pm.fuse(pm.attention(4, 4, 8))
    assert pm.fuse(p, by="stage") == p
    partly = pm.fuse(pm.attention(4, 4, 8), only=["scores", "max"])
    assert pm.fuse(partly, by="stage").kernels[0].name == "scores"


def test_fusing_twice_is_fusing_once() -> None:
    """One kernel stays one kernel, under its name."""
    p = pm.fuse(pm.softmax(4, 8))
    assert pm.fuse(p) == p


def test_sections_are_never_merged() -> None:
    """A repeated layer and what follows it stay apart, whole or by stage or named."""
    layer = pm.softmax(4, 8)
    p = pm.sequence(layer.repeat(5), layer, join={"y": "x"})
    for fused in (pm.fuse(p), pm.fuse(p, by="stage"), pm.fuse(p, only=["softmax", "softmax_2"])):
        assert [(kernel.section, kernel.repeat, len(kernel.ops)) for kernel in fused.kernels] == [(0, 5, 5), (1, 1, 5)]
    assert pm.fuse(p).bytes == (5 + 1) * 2 * 2 * 4 * 8


def test_the_ends_of_a_diamond_alone_are_refused() -> None:
    """a and d in one kernel: b and c would have to run between them, while the kernel runs."""
    with pytest.raises(
        pm.TransformError, match=r"'exp' is not convex: '(relu|square)' needs a result of one of its ops"
    ):
        pm.fuse(diamond(), only=["exp", "add"])
    assert names(pm.fuse(diamond(), only=["exp", "relu", "square", "add"])) == [["exp", "relu", "square", "add"]]


def test_one_side_of_a_diamond_is_refused_too() -> None:
    """c stands between a and d still, and the message says to fuse it as well."""
    with pytest.raises(pm.TransformError, match="fuse 'square' too, or fewer kernels"):
        pm.fuse(diamond(), only=["exp", "relu", "add"])


def test_half_a_diamond_is_fine_and_runs_in_another_order() -> None:
    """c and d in one kernel: b has to run before it."""
    p = pm.fuse(diamond(), only=["square", "add"])
    assert names(p) == [["exp"], ["relu"], ["square", "add"]]
    q = pm.fuse(diamond(), only=["exp", "square"])
    assert names(q) == [["exp", "square"], ["relu"], ["add"]]


def test_kernels_that_run_a_different_number_of_times_are_refused() -> None:
    """They cannot be one launch."""
    p = diamond()
    kernels = (*p.kernels[:3], pm.Kernel("add", p.kernels[3].ops, 2, 0))
    with pytest.raises(pm.TransformError, match="'exp' runs 1 times and 'add' 2 times"):
        pm.fuse(p.rewritten(kernels, "by hand"))


@pytest.mark.parametrize("by", ["stages", "kernel", 3])
def test_an_unknown_way_is_refused(by: Any) -> None:
    """There is by stage, and all."""
    with pytest.raises(pm.TransformError, match=f"fuse: by={by!r} is not known; by='stage' or nothing"):
        pm.fuse(diamond(), by=by)


def test_the_step_is_written_as_it_was_called() -> None:
    """In the history, to read and to repeat."""
    p = pm.fuse(pm.fuse(pm.softmax(4, 8), only=["sub", "exp"]), by="stage")
    assert p.history == ("softmax", "fuse(only=['sub', 'exp'])", "fuse(by='stage')")


# laws


@settings(max_examples=60)
@given(staged())
def test_fusing_never_adds_bytes_and_never_changes_work(p: pm.Program) -> None:
    """Only what crosses a kernel's boundary changes, and it gets less."""
    fused = pm.fuse(p)
    assert (fused.flops_by_format, fused.macs, fused.issued_flops) == (p.flops_by_format, p.macs, p.issued_flops)
    assert fused.bytes_read <= p.bytes_read
    assert fused.bytes_written <= p.bytes_written
    assert fused.elements_read <= p.elements_read
    assert [op.name for op in fused.ops] == [op.name for op in p.ops]


@settings(max_examples=40)
@given(programs())
def test_by_stage_and_then_all_is_all(p: pm.Program) -> None:
    """Which kernels there were between does not matter; by stage lies between the two."""
    try:
        stages = pm.fuse(p, by="stage")
    except pm.TransformError:  # stages of a random program need not be convex
        return
    whole = pm.fuse(p)
    again = pm.fuse(stages)
    assert (again.flops_by_unit, again.bytes_read, again.bytes_written) == (
        whole.flops_by_unit, whole.bytes_read, whole.bytes_written
    )  # fmt: skip
    assert whole.bytes <= stages.bytes <= p.bytes
    assert differences(stages) == {}


@settings(max_examples=60)
@given(programs(steps=5), st.data())
def test_what_is_not_convex_is_refused_and_nothing_else(p: pm.Program, data: st.DataObject) -> None:
    """A set of kernels can be fused unless some other kernel needs one of them and is needed by one of them."""
    titles = [kernel.name for kernel in p.kernels]
    picked = data.draw(st.lists(st.sampled_from(titles), min_size=1, unique=True))
    after = reachable(p)
    between = [
        other
        for other in set(titles) - set(picked)
        if any(other in after[one] for one in picked) and any(one in after[other] for one in picked)
    ]
    if not between:
        assert differences(pm.fuse(p, only=picked)) == {}
    else:
        with pytest.raises(pm.TransformError, match="is not convex"):
            pm.fuse(p, only=picked)


def reachable(p: pm.Program) -> dict[str, set[str]]:
    """For each kernel, those that need something of it, directly or through others."""
    after: dict[str, set[str]] = {}
    for kernel in reversed(p.kernels):
        users = [other for other in p.kernels if set(kernel.made) & set(other.needed)]
        after[kernel.name] = {name for user in users for name in {user.name, *after[user.name]}}
    return after


def test_every_pair_of_a_softmaxs_kernels_is_fused_or_refused() -> None:
    """max, sub, exp, sum, div in a row, where div also needs exp: neighbours fuse, and so do exp and div not."""
    p = pm.softmax(4, 8)
    fine = set()
    for pair in combinations([kernel.name for kernel in p.kernels], 2):
        try:
            assert differences(pm.fuse(p, only=pair)) == {}
            fine.add(pair)
        except pm.TransformError:
            continue
    assert fine == {("max", "sub"), ("sub", "exp"), ("exp", "sum"), ("sum", "div")}


@settings(max_examples=60)
@given(staged())
def test_fusing_does_not_change_values(p: pm.Program) -> None:
    """The same numbers, bit for bit, on whole-valued inputs."""
    arrays = inputs(p)
    before, after = run(p, arrays), run(pm.fuse(p), arrays)
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name], equal_nan=True) for name in before)
