"""Casting: other formats for tensors and arithmetic, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from reference import differences, whole
from strategies import ODD_BITS, TINY_BLOCKS, programs, staged

import perfmodel as pm

n = pm.dims("n")


def formats(p: pm.Program) -> dict[str, str]:
    """The format of each tensor."""
    return {name: item.format.name for name, item in p.tensors.items()}


def test_every_tensor_is_retyped() -> None:
    """Inputs, intermediates and outputs; the bytes follow: 4 instead of 2 an element."""
    p = pm.softmax(4, 8)
    q = pm.cast(p, "fp32")
    assert set(formats(q).values()) == {"fp32"}
    assert q.bytes == 2 * p.bytes
    assert q.elements_read == p.elements_read


def test_single_tensors_are_retyped_by_name() -> None:
    """W of k x n in NVFP4: rows of n = 40 at 4 bits and 3 scales of 8 bits."""
    p = pm.cast(pm.gemv(40, 64), W="nvfp4", y=pm.format("fp32"))
    assert formats(p) == {"x": "bf16", "W": "nvfp4", "y": "fp32"}
    assert p.bytes == 2 * 64 + 64 * (40 * 4 + 3 * 8) // 8 + 4 * 40


def test_names_win_over_the_format_for_all() -> None:
    """cast(p, "fp8_e4m3", C="bf16") keeps the output wide."""
    assert formats(pm.cast(pm.matmul(2, 3, 4), "fp8_e4m3", C="bf16")) == {"A": "fp8_e4m3", "B": "fp8_e4m3", "C": "bf16"}


def test_a_tensor_may_be_named_like_an_argument() -> None:
    """tensors= takes any name."""
    x, compute = pm.tensor("x", {"i": 4}), pm.tensor("compute", {"i": 4})
    p = pm.cast(pm.program(x * compute), tensors={"compute": "fp32"})
    assert formats(p)["compute"] == "fp32"


def test_arithmetic_follows_the_widest_input() -> None:
    """bf16 activations and int8 weights multiply in bf16; both in int8 accumulate in int32."""
    p = pm.matmul(2, 3, 4)
    mixed, narrow = pm.cast(p, B="int8").ops[0], pm.cast(p, "int8").ops[0]
    assert (mixed.compute.name, mixed.accumulate.name) == ("bf16", "fp32")
    assert (narrow.compute.name, narrow.accumulate.name) == ("int8", "int32")


def test_arithmetic_can_be_said() -> None:
    """Stored as int8, multiplied as fp16, summed as fp16."""
    op = pm.cast(pm.matmul(2, 3, 4), "int8", compute="fp16", accumulate="fp16").ops[0]
    assert (op.compute.name, op.accumulate.name) == ("fp16", "fp16")
    assert pm.cast(pm.matmul(2, 3, 4), compute="fp64").ops[0].accumulate.name == "fp64"


def test_what_was_said_stays_while_the_inputs_do() -> None:
    """Retyping the output alone leaves the arithmetic as it is."""
    p = pm.cast(pm.matmul(2, 3, 4), compute="fp32", accumulate="fp64")
    op = pm.cast(p, C="fp16").ops[0]
    assert (op.compute.name, op.accumulate.name) == ("fp32", "fp64")


def test_only_limits_the_arithmetic_to_some_ops() -> None:
    """Also inside a fused kernel: the scores in fp8, the rest as it was."""
    p = pm.cast(pm.fuse(pm.attention(4, 4, 8)), compute="fp8_e4m3", only="scores")
    assert {op.name: op.compute.name for op in p.ops if op.compute.name != "bf16"} == {"scores": "fp8_e4m3"}


def test_indices_of_look_ups_keep_their_format() -> None:
    """Token numbers up to 50257 do not fit fp8; by name they can be changed."""
    p = pm.embedding(3, 50_257, 8)
    assert formats(pm.cast(p, "fp8_e4m3")) == {"W": "fp8_e4m3", "ids": "int32", "y": "fp8_e4m3"}
    assert pm.cast(p, ids="int64").bytes - p.bytes == (8 - 4) * 3


def test_an_opaque_workload_takes_the_format_that_it_is_cast_to() -> None:
    """Its bytes are given, its arithmetic is of the new format."""
    p = pm.cast(pm.workload(flops=8, bytes_read=4), "fp8_e4m3")
    assert (p.flops_by_format, p.bytes) == ({("matrix", "fp8_e4m3"): 8}, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "cast: nothing to change; expected a format"),
        ({"dtype": "fp9"}, r"no format 'fp9'"),
        ({"D": "fp8"}, "cast: matmul has no tensor 'D'; its tensors are A, B, C"),
        (
            {"dtype": "fp8", "only": "matmul"},
            "cast: only='matmul' limits compute= and accumulate=, and neither is given",
        ),
        ({"compute": "fp8", "only": "matmull"}, "cast: matmul has no kernel, stage or op 'matmull'"),
        ({"compute": 8}, "format: expected a name"),
    ],
)
def test_what_cannot_be_cast_is_refused(arguments: dict[str, Any], message: str) -> None:
    """Unknown formats, tensors and ops, and casts that would do nothing."""
    with pytest.raises(pm.PerfModelError, match=message):
        pm.cast(pm.matmul(2, 3, 4), **arguments)


def test_the_step_is_written_as_it_was_called() -> None:
    """Formats by name."""
    p = pm.cast(pm.matmul(2, 3, 4), pm.format("fp16"), compute="fp32", only="matmul", C="fp8_e4m3")
    assert p.history[-1] == "cast('fp16', compute='fp32', C='fp8_e4m3', only='matmul')"


FORMATS = st.sampled_from(["fp32", "int4", "mxfp4", "nvfp4", TINY_BLOCKS, ODD_BITS])


@settings(max_examples=40)
@given(staged(), FORMATS)
def test_only_bytes_and_formats_change(p: pm.Program, form: Any) -> None:
    """Work, elements and kernels stay; bytes are those of the new format, as the reference walks them."""
    q = pm.cast(p, form)
    assert (q.flops_by_unit, q.macs, q.elements_read, q.elements_written) == (
        p.flops_by_unit, p.macs, p.elements_read, p.elements_written
    )  # fmt: skip
    assert [kernel.name for kernel in q.kernels] == [kernel.name for kernel in p.kernels]
    assert differences(q) == {}


@settings(max_examples=40)
@given(programs(), FORMATS)
def test_casting_and_fusing_commute(p: pm.Program, form: Any) -> None:
    """It does not matter which comes first."""
    assert pm.cast(pm.fuse(p), form) == pm.fuse(pm.cast(p, form))


@settings(max_examples=40)
@given(programs(), FORMATS, st.data())
def test_one_tensor_changes_by_its_own_bytes(p: pm.Program, form: Any, data: st.DataObject) -> None:
    """An input that one kernel reads as a whole: the difference is that of its storage."""
    name = data.draw(st.sampled_from([item.name for item in p.inputs]))
    moved = [t for count in p.counted for t in count.transfers if t.tensor == name]
    q = pm.cast(p, tensors={name: form})
    if [t.bytes for t in moved] == [whole(p.tensors[name])]:
        assert q.bytes - p.bytes == whole(q.tensors[name]) - whole(p.tensors[name])


def test_tiles_that_cannot_be_counted_in_a_format_are_refused() -> None:
    """By the cast, not when the program is shown: a loop by 1 cuts scales, and 64 x 64 of fp32 outgrow their room."""
    x = pm.tensor("x", {"a": "a", "c": "c"})
    with pytest.raises(pm.DimensionError, match=r"^cast: tiles of 'c' cut the 32 elements"):
        pm.cast(pm.tile(pm.program(pm.exp(x)), stream={"c": 1}), "mxfp4")
    with pytest.raises(pm.DimensionError, match=r"^cast: 'max' in mxfp4.* over 'q' and 'kv'"):
        pm.cast(pm.recipes.flash_attention("q", "kv", 64, causal=True), "mxfp4")
    narrow = pm.tile(pm.matmul(64, 64, 64), m=32, n=32, capacity_bytes=16384)
    with pytest.raises(pm.CapacityError, match=r"^cast: "):
        pm.cast(narrow, "fp32")
