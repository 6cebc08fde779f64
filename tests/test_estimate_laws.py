"""Laws that every ideal estimate keeps, over random programs and machines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import perfmodel as pm

NEARLY = 1 + 1e-12  # each time is a float that was rounded a few times
SIZE = st.integers(1, 3000)
RATE = st.integers(1, 10**16)


@st.composite
def programs(draw: st.DrawFn) -> pm.Program:
    """A program of a few kernels: a descriptor, perhaps another after it, perhaps repeated."""
    m, n, k = draw(SIZE), draw(SIZE), draw(SIZE)
    makers: list[Any] = [
        lambda: pm.matmul(m, n, k, dtype=draw(st.sampled_from(["bf16", "fp32", "fp8_e4m3"]))),
        lambda: pm.gemv(n, k, batch=m),
        lambda: pm.softmax(m, n),
        lambda: pm.rmsnorm(m, n),
        lambda: pm.elementwise("relu(x*w + b)", n),
        lambda: pm.elementwise("sin(x)**2 + cos(x)**2", m),
        lambda: pm.attention(q=m, kv=n, d=64, heads=8, kv_heads=2, causal=draw(st.booleans())),
        lambda: pm.gated_mlp(m, n, k),
        lambda: pm.optimizer_step(n, "adam", copy="bf16"),
        lambda: pm.embedding(m, n, k),
        lambda: pm.workload(flops=m * n, bytes_read=k, special=n),
    ]
    p = draw(st.sampled_from(makers))()
    if draw(st.booleans()):
        p = pm.sequence(p, draw(st.sampled_from(makers))())
    return p.repeat(draw(st.integers(2, 90))) if draw(st.booleans()) else p


@st.composite
def machines(draw: st.DrawFn) -> pm.Machine:
    """A machine whose units have peaks of their own."""
    peak = {unit: draw(RATE) for unit in ("matrix bf16", "vector bf16", "matrix fp8", "vector fp32", "special fp32")}
    return pm.Machine(peak=peak, bandwidth_bytes_per_s=draw(RATE))


def scaled(machine: pm.Machine, peak: int = 1, bandwidth: int = 1) -> pm.Machine:
    """The machine with every peak and the bandwidth so many times as high."""
    rates = {(entry.unit, entry.format): entry.flops_per_s * peak for entry in machine.peaks}
    return pm.Machine(peak=rates, bandwidth_bytes_per_s=machine.bandwidth_bytes_per_s * bandwidth)


@settings(max_examples=60)
@given(programs(), machines())
def test_no_time_beats_the_peak_or_the_bandwidth(p: pm.Program, machine: pm.Machine) -> None:
    """time >= work / peak for every resource, and >= bytes / bandwidth, kernel by kernel and in total."""
    e = pm.estimate(p, machine)
    for kernel in e.kernels:
        for term in kernel.roofline.terms:
            assert kernel.time_s * NEARLY >= term.amount / term.rate
    assert e.time_s * NEARLY >= p.bytes / machine.bandwidth_bytes_per_s
    assert e.bytes_per_s <= machine.bandwidth_bytes_per_s * NEARLY
    assert e.fraction_of_peak <= NEARLY
    assert e.fraction_of_bandwidth <= NEARLY
    assert (e.fraction_of_peak + e.fraction_of_bandwidth) * NEARLY >= 1  # each kernel is at one of its roofs
    assert sum(e.shares.values()) == pytest.approx(e.time_s, rel=1e-12)


@settings(max_examples=60)
@given(programs(), machines(), st.integers(2, 1000))
def test_time_falls_with_the_rates(p: pm.Program, machine: pm.Machine, factor: int) -> None:
    """More peak or more bandwidth never takes longer; both by c take a c-th of the time."""
    base = pm.estimate(p, machine).time_s
    assert pm.estimate(p, scaled(machine, peak=factor)).time_s <= base * NEARLY
    assert pm.estimate(p, scaled(machine, bandwidth=factor)).time_s <= base * NEARLY
    assert pm.estimate(p, scaled(machine, factor, factor)).time_s == pytest.approx(base / factor, rel=1e-12)


@settings(max_examples=60)
@given(programs(), machines())
def test_fusing_never_takes_longer(p: pm.Program, machine: pm.Machine) -> None:
    """Fused, by stage or whole, the ideal time is at most that of one op a kernel."""
    whole, staged = pm.estimate(pm.fuse(p), machine).time_s, pm.estimate(pm.fuse(p, by="stage"), machine).time_s
    apart = pm.estimate(p, machine).time_s
    assert whole <= staged * NEARLY
    assert staged <= apart * NEARLY


@settings(max_examples=60)
@given(SIZE, SIZE, SIZE, st.integers(0, 100), machines())
def test_time_grows_with_every_size(m: int, n: int, k: int, more: int, machine: pm.Machine) -> None:
    """A larger m, n or k never takes less time."""
    for make in (pm.matmul, lambda m, n, k: pm.attention(q=m, kv=n, d=k), lambda m, n, k: pm.softmax(m, n)):
        base = pm.estimate(make(m, n, k), machine).time_s
        for sizes in ((m + more, n, k), (m, n + more, k), (m, n, k + more)):
            assert pm.estimate(make(*sizes), machine).time_s * NEARLY >= base


@settings(max_examples=60)
@given(programs(), programs(), machines())
def test_one_after_the_other_takes_both_times(p: pm.Program, q: pm.Program, machine: pm.Machine) -> None:
    """A sequence takes the sum of its parts, and 3 repetitions three times one."""
    both = pm.estimate(pm.sequence(p, q), machine).time_s
    apart = pm.estimate(p, machine).time_s + pm.estimate(q, machine).time_s
    assert both == pytest.approx(apart, rel=1e-12)
    assert pm.estimate(p.repeat(3), machine).time_s == pytest.approx(3 * pm.estimate(p, machine).time_s, rel=1e-12)


@settings(max_examples=40)
@given(programs(), machines())
def test_the_bound_is_one_of_two_and_agrees_with_the_shares(p: pm.Program, machine: pm.Machine) -> None:
    """compute or memory; a kernel is memory-bound where memory takes longer than any unit, else compute-bound."""
    e = pm.estimate(p, machine)
    assert e.bound in ("compute", "memory")
    assert e.bottleneck in e.shares
    for kernel in e.kernels:
        if kernel.memory.seconds > kernel.compute_s * NEARLY:
            assert kernel.bound == "memory"
        if kernel.compute_s > kernel.memory.seconds * NEARLY:
            assert kernel.bound == "compute"
