"""Doubtful figures reach the caveats of the estimates that read them, and of no others."""

from __future__ import annotations

import pytest

import perfmodel as pm
from perfmodel import machine
from perfmodel.catalogue.figures import with_figure
from perfmodel.catalogue.parts import Source

DOUBTED = [name for name in pm.machines() if machine(name).doubts]
PROGRAMS = {
    "matmul": pm.matmul(256, 28672, 8192),
    "large": pm.matmul(8192, 8192, 8192),
    "fp32": pm.matmul(512, 512, 512, dtype="fp32"),
    "softmax": pm.fuse(pm.softmax(4096, 65536)),
    "levels": pm.tile(pm.tile(pm.matmul(512, 512, 512), m=128, n=128, level="l2"), m=32, n=32),
}


def said(estimate: pm.Estimate, name: str) -> bool:
    return any(text.startswith(f"{name} of {estimate.machine.name} is doubtful: ") for text in estimate.caveats)


def test_a_doubtful_cache_is_said_where_it_matters() -> None:
    """The L40S's L2 is printed as 48 and as 96 MB; a quarter of it changes this product's time, its roofline not."""
    e = pm.estimate(PROGRAMS["matmul"], "l40s")
    assert said(e, "l2 capacity_bytes")
    assert "  note     l2 capacity_bytes of l40s is doubtful" in e.explain()
    assert not said(pm.estimate(PROGRAMS["matmul"], "l40s", "ideal"), "l2 capacity_bytes")
    assert not said(pm.estimate(PROGRAMS["matmul"], "l40s", without="tiles in flight"), "l2 capacity_bytes")
    assert not said(e, "l2 bandwidth_bytes_per_s")  # nothing is read from a cold cache
    assert said(pm.estimate(PROGRAMS["softmax"], "l40s", protocol="warm"), "l2 bandwidth_bytes_per_s")


@pytest.mark.parametrize("name", ["b300-sxm", "l40s", "h20", "h800", "arc-pro-b60"])
def test_each_chip_with_a_doubtful_cache_says_so(name: str) -> None:
    """Of these the last-level cache is doubtful, and the effects read it."""
    assert said(pm.estimate(PROGRAMS["large"], name), "l2 capacity_bytes")


def test_a_doubtful_clock_is_that_of_the_effects() -> None:
    """The clocks of an H20 and an H800 are another chip's: the power effect issues at them, the roofline does not."""
    for name in ("h20", "h800"):
        assert said(pm.estimate(PROGRAMS["large"], name), "vector_hz")
        assert not said(pm.estimate(PROGRAMS["large"], name, "ideal"), "vector_hz")


@pytest.mark.parametrize("name", DOUBTED)
def test_a_doubtful_figure_that_changes_the_time_is_in_the_caveats(name: str) -> None:
    """Whatever figure of whatever chip, and whatever reads it: half of it and a half more are tried."""
    chip = machine(name)
    for program in PROGRAMS.values():
        for protocol in ("cold", "warm"):
            e = pm.estimate(program, chip, protocol=protocol)
            for figure in chip.doubts:
                value = dict(chip.figures)[figure].value
                others = [with_figure(chip, figure, type(value)(value * factor)) for factor in (0.5, 1.5)]
                times = {pm.estimate(program, other, protocol=protocol).time_s for other in others}
                assert times == {e.time_s} or said(e, figure), (program.name, protocol, figure)


def test_any_figure_can_be_doubted() -> None:
    """Each number that the effects read brings its doubt once its sheet has one: nothing is a list of cases."""
    h = machine("h100-sxm")
    read = {"units", "vector_hz", "bandwidth_bytes_per_s", "l2 capacity_bytes", "shared capacity_bytes", "launch_s",
            "matrix_reach", "memory_reach", "step_s", "tile_s", "feed_bytes_per_clock", "cache_reach", "matrix bf16",
            "matrix bf16 rate_per_clock", "compute_capability"}  # fmt: skip
    for figure in dict(h.figures):
        e = pm.estimate(PROGRAMS["large"], doubting(h, figure))
        assert said(e, figure) == (figure in read), figure


def test_a_lenders_doubt_is_the_borrowers() -> None:
    """A Max 1550 borrows the launch of an Arc Pro B60, which the host of the timings hides."""
    e = pm.estimate(PROGRAMS["large"], "max1550")
    assert any(text.startswith("launch_s of arc-pro-b60 is doubtful: ") for text in e.caveats)
    without = pm.estimate(PROGRAMS["large"], "max1550", without="launch")
    assert not any(text.startswith("launch_s") for text in without.caveats)


def test_a_systolic_array_is_read_where_it_pads() -> None:
    """A TPU's padding reads the size of its array; without the padding nothing does."""
    chip, p = machine("tpu-v6e"), pm.matmul(300, 300, 300)
    for figure in ("array_rows", "array_columns"):
        assert said(pm.estimate(p, doubting(chip, figure)), figure)
        assert not said(pm.estimate(p, doubting(chip, figure), without="alignment"), figure)


def test_watts_are_read_only_where_constants_are_lent() -> None:
    """An H800's watts scale the share of the peak that it sustains; a B300 has a share of its own."""
    assert said(pm.estimate(PROGRAMS["large"], "h800"), "tdp_w")
    assert not said(pm.estimate(PROGRAMS["large"], "b300-sxm"), "tdp_w")


def doubting(chip: pm.Machine, figure: str) -> pm.Machine:
    """The chip with one figure marked as doubtful."""
    from dataclasses import fields, replace

    facts = {each.name: getattr(chip, each.name) for each in fields(chip)}
    figures = dict(chip.figures)
    figures[figure] = replace(figures[figure], doubtful=True, source=Source("a rumour"))
    return pm.Machine.from_facts(**facts | {"figures": tuple(figures.items())})


def test_more_memory_than_there_is_is_said() -> None:
    """Three matrices of 10^9 by 10^9 in bf16 are 6 EB; what fits exactly fits, and a formula is not compared."""
    e = pm.estimate(pm.matmul(10**9, 10**9, 10**9), "h100-sxm")
    assert any("6 EB of tensors, and h100-sxm has 85.9 GB" in text for text in e.caveats)
    p = pm.matmul(4096, 4096, 4096)
    room = p.memory_bytes
    for capacity, fits in ((room, True), (room - 1, False)):
        small = machine("h100-sxm").replace(capacity_bytes=capacity)
        assert any("does not fit" in text for text in pm.estimate(p, small).caveats) is not fits
        assert bool(pm.fits(p, small)) is fits
    assert pm.estimate(pm.matmul("n", "n", "n"), "h100-sxm").caveats == ()


def test_a_doubtful_capacity_is_said_where_it_is_too_small() -> None:
    """An H20 has 96 GB or GiB: three times 200,000^2 bytes are 120 GB, more than either."""
    assert said(pm.estimate(pm.matmul(200_000, 200_000, 200_000, dtype="fp8"), "h20"), "capacity_bytes")
    assert not said(pm.estimate(PROGRAMS["matmul"], "h20"), "capacity_bytes")
