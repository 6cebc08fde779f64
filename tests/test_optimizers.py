"""Optimizer steps: what each kind reads and writes a parameter."""

from __future__ import annotations

import pytest

import perfmodel as pm

N = pm.dims("N")


@pytest.mark.parametrize(("kind", "read", "written"), [
    ("sgd", ["p", "g"], ["p_new"]),
    ("momentum", ["p", "g", "m"], ["m_new", "p_new"]),
    ("adam", ["p", "g", "m", "v"], ["m_new", "v_new", "p_new"]),
    ("adamw", ["p", "g", "m", "v"], ["m_new", "v_new", "p_new"]),
])  # fmt: skip
def test_a_fused_step_moves_its_state_once(kind: str, read: list[str], written: list[str]) -> None:
    """Every tensor of a kind is read once and every new value written once, in fp32: 4 bytes a parameter each."""
    p = pm.fuse(pm.optimizer_step(N, kind))
    assert sorted(item.name for item in p.inputs) == sorted(read)
    assert [item.name for item in p.outputs] == written
    assert p.bytes_read == 4 * len(read) * N
    assert p.bytes_written == 4 * len(written) * N


def test_adam_with_a_bf16_copy_moves_thirty_bytes_a_parameter() -> None:
    """Reads p, g, m, v in fp32 (16 B), writes p, m, v in fp32 (12 B) and the copy in bf16 (2 B)."""
    p = pm.fuse(pm.optimizer_step(N, "adam", copy="bf16"))
    assert p.bytes == 4 * 4 * N + 3 * 4 * N + 2 * N == 30 * N
    assert p.outputs[-1].name == "p_copy"


def test_sgd_is_a_multiply_and_a_subtraction() -> None:
    """p - lr g: 2 FLOPs a parameter; momentum adds beta m + g: 4."""
    assert pm.optimizer_step(N, "sgd").flops == 2 * N
    assert pm.optimizer_step(N, "momentum").flops == 4 * N


def test_adam_counts_its_formula() -> None:
    """m: 2 multiplies, an add; v: the same and a square; p: multiply, add eps, divide, subtract; one root."""
    p = pm.optimizer_step(N, "adam")
    assert p.flops == (3 + 4 + 4) * N
    assert p.flops_by_unit["special"] == N
    assert pm.optimizer_step(N, "adamw").flops == p.flops + 2 * N  # decay p, and its addition


def test_scalars_cost_no_traffic() -> None:
    """The learning rate and the betas are arguments of the kernel: no op reads a tensor of that name."""
    p = pm.optimizer_step(N, "adamw")
    assert set(p.tensors) & {"lr", "beta1", "beta2", "eps", "decay"} == set()


def test_state_in_formats_of_its_own() -> None:
    """A bf16 gradient leaves the rest in fp32; 8-bit moments are read and written in 8 bits."""
    p = pm.fuse(pm.optimizer_step(N, "adam", dtype={"g": "bf16"}))
    assert p.bytes == (4 + 2 + 4 + 4) * N + (4 + 4 + 4) * N  # p, g, m, v in; m, v, p out
    q = pm.fuse(pm.optimizer_step(N, "adam", dtype={"m": "int8", "v": "int8"}))
    assert q.bytes == (4 + 4 + 1 + 1) * N + (1 + 1 + 4) * N


def test_one_format_for_everything() -> None:
    """dtype="bf16" holds for the parameters, the gradient and the state."""
    assert pm.fuse(pm.optimizer_step(N, "adam", dtype="bf16")).bytes == 2 * (4 + 3) * N


def test_by_stage_it_is_one_kernel() -> None:
    """All ops of a step are of one stage."""
    assert len(pm.fuse(pm.optimizer_step(N, "adam", copy="bf16"), by="stage").kernels) == 1


@pytest.mark.parametrize(("call", "said"), [
    (lambda: pm.optimizer_step(), "optimizer_step: parameters not given"),
    (lambda: pm.optimizer_step(0), "optimizer_step: parameters = 0"),
    (lambda: pm.optimizer_step(4, "adm"), "did you mean 'adam'"),
    (lambda: pm.optimizer_step(4, None), "optimizer_step: kind = None: expected one of sgd"),
    (lambda: pm.optimizer_step(4, "sgd", dtype={"m": "fp32"}), "dtype names tensor 'm'; its tensors are p, g"),
    (lambda: pm.optimizer_step(4, dtype="fp23"), "no format 'fp23'"),
    (lambda: pm.optimizer_step(4, copy="b16"), "did you mean 'bf16'"),
])  # fmt: skip
def test_a_wrong_call_says_what_is_wrong(call: object, said: str) -> None:
    """Kinds, tensors and formats that do not exist."""
    with pytest.raises(pm.PerfModelError, match=said):
        call()
