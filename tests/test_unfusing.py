"""``unfuse``: one op a kernel again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from reference_values import inputs, run
from strategies import composed, programs

import perfmodel as pm


def names(p: pm.Program) -> list[str]:
    """The names of the kernels."""
    return [kernel.name for kernel in p.kernels]


def test_unfusing_undoes_fusing() -> None:
    """softmax in one kernel and back: kernels named like their ops."""
    p = pm.softmax(4, 8)
    back = pm.unfuse(pm.fuse(p))
    assert back == p
    assert names(back) == ["max", "sub", "exp", "sum", "div"]
    assert back.history == ("softmax", "fuse()", "unfuse()")


def test_what_passes_between_ops_is_moved_again() -> None:
    """Fused 2MN; one op a kernel 5MN + 2M read and 3MN + 2M written."""
    m, n = pm.dims("m n")
    p = pm.unfuse(pm.fuse(pm.softmax(m, n)))
    assert p.elements_read == 5 * m * n + 2 * m
    assert p.elements_written == 3 * m * n + 2 * m
    assert "unfuse(): work unchanged; bytes" in p.explain()


def test_only_picks_what_is_unfused() -> None:
    """By the kernel's name, or that of a stage in it."""
    p = pm.fuse(pm.attention(4, 4, 8), by="stage")
    some = pm.unfuse(p, only="attention.softmax")
    assert names(some) == ["attention.scores", "max", "sub", "exp", "sum", "div", "attention.values"]
    assert some.history[-1] == "unfuse(only='attention.softmax')"
    assert pm.unfuse(p, only="softmax") == some


def test_a_kernel_of_one_op_keeps_its_name_and_its_tiles() -> None:
    """There is nothing to take apart."""
    p = pm.tile(pm.matmul(8, 8, 8), m=4)
    assert pm.unfuse(p) == p
    scores = pm.fuse(pm.attention(4, 4, 8), by="stage").kernels[0]
    assert pm.unfuse(pm.fuse(pm.attention(4, 4, 8), by="stage")).kernels[0] == scores


def test_names_are_unique() -> None:
    """A kernel that stays is called like an op that comes free."""
    p = pm.fuse(pm.softmax(4, 8), only=["sub", "exp"])  # a kernel "sub" of sub and exp
    kernels = (*p.kernels[:1], pm.Kernel("exp", p.kernels[1].ops), pm.Kernel("sub", p.kernels[2].ops), *p.kernels[3:])
    assert names(pm.unfuse(p.rewritten(kernels, "renamed"))) == ["max", "sub_2", "exp", "sub", "div"]


def test_repetitions_and_sections_are_kept() -> None:
    """A layer that runs 5 times, and one after it."""
    layer = pm.fuse(pm.softmax(4, 8))
    p = pm.unfuse(pm.sequence(layer.repeat(5), layer, join={"y": "x"}))
    assert [(kernel.section, kernel.repeat) for kernel in p.kernels] == [(0, 5)] * 5 + [(1, 1)] * 5
    assert len(set(names(p))) == 10


def test_a_tiled_kernel_is_refused() -> None:
    """Its tiles belong to all of its ops."""
    p = pm.tile(pm.fuse(pm.softmax(4, 8)), m=2)
    with pytest.raises(pm.TransformError, match="unfuse: kernel 'softmax' is tiled; unfuse first, then tile"):
        pm.unfuse(p)


def test_what_is_no_program_or_no_kernel_is_refused() -> None:
    """As everywhere."""
    with pytest.raises(pm.TransformError, match="unfuse: expected a program, got 3"):
        pm.unfuse(3)  # type: ignore[arg-type]
    with pytest.raises(pm.TransformError, match="unfuse: softmax has no kernel, stage or op 'sup'; its kernels are"):
        pm.unfuse(pm.softmax(4, 8), only="sup")


@settings(max_examples=60)
@given(programs())
def test_unfusing_what_was_fused_restores_the_program(p: pm.Program) -> None:
    """Counts, kernels and values, for any program of one op a kernel."""
    back = pm.unfuse(pm.fuse(p))
    assert (back.flops_by_unit, back.bytes_read, back.bytes_written) == (p.flops_by_unit, p.bytes_read, p.bytes_written)
    assert back == p
    arrays = inputs(p)
    before, after = run(p, arrays), run(back, arrays)
    assert all((before[name] == after[name]).all() or (before[name] != before[name]).any() for name in before)


@settings(max_examples=40)
@given(composed())
def test_unfused_kernels_are_unique_and_hold_one_op(p: pm.Program) -> None:
    """However it was put together; it never moves less."""
    apart = pm.unfuse(p)
    assert [len(kernel.ops) for kernel in apart.kernels] == [1] * len(p.ops)
    assert len(set(names(apart))) == len(p.ops)
    assert apart.flops == p.flops
    assert apart.bytes >= p.bytes
    assert pm.unfuse(apart) == apart
