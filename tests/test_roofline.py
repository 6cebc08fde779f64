"""The ideal roofline of a kernel: which unit and peak each piece of work runs at, and what has none."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, strategies as st

import perfmodel as pm
from perfmodel.effects import Term, roofline
from perfmodel.effects.roofline import memory_name
from perfmodel.graph.kernel_counts import KernelCount
from perfmodel.graph.kernels import Kernel

H100 = pm.machine("h100-sxm")


def terms(p: pm.Program, machine: pm.Machine) -> dict[str, Term]:
    """The terms of a program of one kernel, by resource."""
    (count,) = p.counted
    return {term.resource: term for term in roofline(count, machine).terms}


def test_work_over_peak_and_bytes_over_bandwidth() -> None:
    """A term is its amount over its rate; memory stands last, under the name of the machine's memory."""
    found = terms(pm.matmul(64, 32, 16), H100)
    assert list(found) == ["matrix bf16", "hbm"]
    assert found["matrix bf16"].amount == 2 * 64 * 32 * 16
    assert found["matrix bf16"].seconds == 2 * 64 * 32 * 16 / H100.peak("bf16")
    assert found["hbm"].amount == 2 * (64 * 16 + 16 * 32 + 64 * 32)
    assert found["hbm"].seconds == found["hbm"].amount / H100.bandwidth_bytes_per_s


def test_units_run_apart() -> None:
    """A fused softmax has vector work and special work: two terms, and one of memory."""
    found = terms(pm.fuse(pm.softmax(8, 16)), H100)
    assert {name: term.amount for name, term in found.items()} == {
        "vector bf16": 4 * 8 * 16,
        "special fp32": 8 * 16,
        "hbm": 2 * 2 * (8 * 16),
    }


def test_ops_of_one_unit_and_format_are_one_term() -> None:
    """Two contractions of a fused attention add up, and the term says which works of the kernel it holds."""
    p = pm.fuse(pm.attention(q=8, kv=8, d=4))
    (count,) = p.counted
    matrix = terms(p, H100)["matrix bf16"]
    assert matrix.amount == 2 * (2 * 8 * 8 * 4)
    assert [count.works[place].unit for place in matrix.works] == ["matrix", "matrix"]


def test_a_contraction_without_a_matrix_unit_runs_on_the_vector_unit() -> None:
    """fp32 on an H100, whose matrix unit has tf32 only: the vector peak, and a remark that says so."""
    (count,) = pm.matmul(64, 64, 64, dtype="fp32").counted
    found = roofline(count, H100)
    assert [term.resource for term in found.terms] == ["vector fp32", "hbm"]
    assert found.terms[0].rate == H100.peak("fp32", unit="vector")
    assert found.remarks == ("h100-sxm has no matrix unit for fp32: contractions run on the vector unit",)
    assert found.unknown == ()


def test_work_without_a_known_rate_is_listed() -> None:
    """bf16 on a V100: no peak of either unit, so no term and a line in unknown; nothing is raised."""
    v100 = pm.machine("v100-sxm2-16gb")
    (count,) = pm.matmul(64, 64, 64).counted
    found = roofline(count, v100)
    assert [term.unit for term in found.terms] == ["memory"]
    assert found.unknown == ("matrix bf16: v100-sxm2-16gb lists no such rate",)
    with pytest.raises(pm.MachineError, match="bf16"):
        v100.peak("bf16")


def test_another_accumulator_is_no_reason_to_leave_the_matrix_unit() -> None:
    """bf16 sums in fp64 exist nowhere: unknown, not the vector unit."""
    (count,) = pm.cast(pm.matmul(64, 64, 64), accumulate="fp64").counted
    assert roofline(count, H100).unknown == ("matrix bf16: h100-sxm lists no such rate",)


def test_accumulators_have_their_own_peaks() -> None:
    """fp16 into fp32 and into fp16 run at different rates on an RTX 4090, in one kernel too."""
    p = pm.matmul(64, 64, 64, dtype="fp16")
    both = pm.fuse(pm.sequence(p, pm.cast(p, accumulate="fp16")))
    found = terms(both, pm.machine("rtx-4090"))
    assert list(found) == ["matrix fp16", "matrix fp16 into fp16", "gddr"]
    slow, fast, _ = found.values()
    assert slow.amount == fast.amount == 2 * 64**3
    assert fast.rate > 1.9 * slow.rate


def test_special_operations_fall_back_on_fp32() -> None:
    """Where a chip lists exp and its like in fp32 only, narrower ones run at that rate, with a remark; fp64 none."""
    (count,) = pm.program(pm.exp(pm.tensor("x", {"i": 64}))).counted
    found = roofline(count, H100)
    assert found.terms[0].rate == H100.peak("fp32", unit="special")
    assert found.remarks == ("special operations on bf16 run at the fp32 rate",)
    (wide,) = pm.program(pm.exp(pm.tensor("x", {"i": 64}, dtype="fp64"))).counted
    assert roofline(wide, H100).unknown == ("special fp64: h100-sxm lists no such rate",)


def test_a_narrow_special_rate_is_used_where_it_is_listed() -> None:
    """A chip with its own rate for special bf16 needs no remark."""
    mine = pm.Machine(peak={"special bf16": 2e12, "special fp32": 1e12}, bandwidth_bytes_per_s=1e12)
    (count,) = pm.program(pm.exp(pm.tensor("x", {"i": 64}))).counted
    found = roofline(count, mine)
    assert (found.terms[0].rate, found.remarks) == (2 * 10**12, ())


def test_a_peak_that_serves_all_serves_every_unit() -> None:
    """A machine of one peak: contractions, sums and exps run at it, each as its own unit."""
    mine = pm.Machine(peak=1e12, bandwidth_bytes_per_s=1e9)
    found = terms(pm.fuse(pm.attention(q=8, kv=8, d=4)), mine)
    assert list(found) == ["matrix bf16", "vector bf16", "special bf16", "memory"]
    assert {term.rate for term in found.values()} == {10**12, 10**9}


def test_opaque_work_runs_where_it_says() -> None:
    """A workload's FLOPs run on its unit in its format."""
    p = pm.workload(flops=8e12, bytes_read=1e9, dtype="fp32", unit="vector")
    assert list(terms(p, H100)) == ["vector fp32", "hbm"]


def test_a_kernel_that_only_moves_data_has_one_term() -> None:
    """A look-up has no work: memory alone."""
    assert list(terms(pm.embedding(8, 100, 16), H100)) == ["hbm"]


@pytest.mark.parametrize(("name", "memory"), [("h100-sxm", "hbm"), ("l4", "gddr"), ("tpu-v5e", "hbm")])
def test_the_memory_has_its_kind_as_a_name(name: str, memory: str) -> None:
    """hbm, gddr, ..., or memory where the kind is not known."""
    assert memory_name(pm.machine(name)) == memory
    assert memory_name(pm.Machine(peak=1, bandwidth_bytes_per_s=1)) == "memory"


def test_symbols_give_formulas() -> None:
    """A peak and a bandwidth in symbols give seconds in symbols."""
    peak, bandwidth = pm.reals("peak bandwidth")
    found = terms(pm.matmul(64, 64, 64), pm.Machine(peak=peak, bandwidth_bytes_per_s=bandwidth))
    assert found["matrix bf16"].seconds == 2 * 64**3 / peak
    assert found["memory"].seconds == 3 * 2 * 64**2 / bandwidth


def test_a_roofline_is_a_value() -> None:
    """Equal for equal counts, hashable, and the same after pickling."""
    (count,) = pm.matmul(8, 8, 8).counted
    found = roofline(count, H100)
    assert found == roofline(count, H100)
    assert pickle.loads(pickle.dumps(found)) == found
    nothing = roofline(KernelCount(Kernel("empty", ()), (), ()), H100)
    assert [term.seconds for term in nothing.terms] == [0.0]


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 10**6), st.sampled_from(["bf16", "fp8", "fp32"]))
def test_no_term_is_faster_than_its_rate(m: int, n: int, k: int, dtype: str) -> None:
    """seconds * rate is the amount, to rounding, whatever the unit."""
    for term in terms(pm.matmul(m, n, k, dtype=dtype), H100).values():
        assert term.seconds * term.rate == pytest.approx(term.amount, rel=1e-15)
